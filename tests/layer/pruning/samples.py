"""Source texts of our own in each language, and what is declared in them, read off by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from toolbudget.pruning import LANGUAGES

FOLDER: Final = Path(__file__).parent / "samples"
# What a function holds: enough of it makes any outline shorter than its text.
PADDING_LINES: Final = 60
COMMENTS: Final = {"bash": "#", "python": "#", "ruby": "#"}


class Sample(NamedTuple):
    """A source text and the lines that its outline must have behind the first one."""

    language: str
    text: str
    lines: list[str]


def load(language: str) -> Sample:
    """Read one; comments behind the text make it long enough to be outlined."""
    text = (FOLDER / f"{language}.txt").read_text("utf-8")
    mark = COMMENTS.get(language, "//")
    padding = "".join(f"\n{mark} {number} says nothing.\n" for number in range(PADDING_LINES))
    lines = (FOLDER / f"{language}.outline").read_text("utf-8").splitlines()
    return Sample(language, text + padding, lines)


SAMPLES: Final = [load(language) for language in LANGUAGES]
