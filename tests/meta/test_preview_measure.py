from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

from benches.preview_measure import Shown, measure, without_ci_lines
from benches.preview_quality import STYLES, labelled_logs

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

NOTHING = Shown(one=False, three=False, half=False)
ALL = Shown(one=True, three=True, half=True)
LONG = "the first of two lines that begin alike for more than forty characters, and end so"


def shown(passage: str, preview: str) -> Shown:
    """Measure a passage that stands between other lines."""
    text = f"before it\n{passage}\nbehind it\n"
    return measure(text, len("before it\n"), len(f"before it\n{passage}"), preview)


@pytest.mark.parametrize(
    "preview",
    [
        LONG,
        f"one\n  12: {LONG}\ntwo",
        f"\x1b[31m{LONG}\x1b[0m",
        LONG.replace(" ", "   "),
        f"{LONG} (x3)",
        f"{LONG} …",
        f"7:{LONG[:40]}…",
        f"{LONG[:60]} [+22 chars]",
        LONG[:50],
        f"… {LONG[-45:]}",
        f"7: …{LONG[10:55]}…",
    ],
)
def test_a_line_is_shown_in_every_usual_form(preview: str) -> None:
    """A number before it, other blanks, codes, a repeat mark or a cut change nothing."""
    assert shown(LONG, preview) == ALL


@pytest.mark.parametrize(
    "preview",
    ["", "other", LONG[:39], f"{LONG[:39]}…", f"{LONG[:60]} is another line", f"{LONG}, and more"],
)
def test_another_line_is_not_taken_for_it(preview: str) -> None:
    """A line that only begins alike, or too short a piece, does not count."""
    assert shown(LONG, preview) == NOTHING


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((), NOTHING),
        ((3,), Shown(one=True, three=False, half=False)),
        ((0, 2, 4), Shown(one=True, three=True, half=False)),
        ((0, 1, 2, 3), ALL),
    ],
)
def test_three_lines_and_half_are_counted(numbers: tuple[int, ...], expected: Shown) -> None:
    """Of eight lines, three are three and four are half."""
    lines = [f"line number {number} of the passage" for number in range(8)]
    assert shown("\n".join(lines), "\n".join(lines[number] for number in numbers)) == expected


def test_short_lines_are_not_asked_for() -> None:
    """Lines without a message count only if the passage has no others."""
    assert shown(f"}}\n{LONG}", LONG) == ALL
    assert shown(f"}}\n{LONG}", "}") == NOTHING
    assert shown("}\n{", "{") == Shown(one=False, three=False, half=True)
    assert shown("}\n{", "}\n{") == ALL


def test_a_passage_may_end_inside_a_line() -> None:
    """What was marked up to the middle of a line is shown by the whole line."""
    text = f"{LONG} and the rest of it\n"
    assert measure(text, 0, len(LONG), text) == ALL


def test_the_lines_of_a_ci_system_go_around_the_passage_only() -> None:
    """Folds and exit lines go, and the passage still stands where it is said to."""
    noise = 'travis_fold:start:a\r\x1b[0Kfold\nThe command "make" exited with 1.\n'
    text, start, end = without_ci_lines(noise + noise + noise, len(noise), 2 * len(noise))
    assert text[start:end] == noise
    assert "exited" not in text[:start] + text[end:]


@pytest.fixture(scope="module")
def scorer(corpus: Path) -> ModuleType:
    """Give the scorer that the labelled logs came with, if it is there."""
    path = corpus.parent / "score_previews.py"
    spec = importlib.util.spec_from_file_location("score_previews", path)
    if not path.is_file() or spec is None or spec.loader is None:
        pytest.skip(f"no scorer stands beside the corpus: {path.name}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("style", STYLES)
def test_the_measure_agrees_with_the_scorer_of_the_logs(
    corpus: Path, scorer: ModuleType, style: str
) -> None:
    """Both find the same lines in every preview of every labelled log."""
    differing = []
    for log in labelled_logs(corpus / "ci_logs", is_plain=False):
        preview = STYLES[style](log.text, 2_000)
        raw = log.text.encode()
        start, end = (len(log.text[:place].encode()) for place in (log.start, log.end))
        one, three, share = scorer.score(raw, start, end, preview)
        theirs = Shown(one=one, three=three, half=share >= 0.5)
        ours = measure(log.text, log.start, log.end, preview)
        if theirs != ours:
            differing.append((log.name, theirs, ours))
    assert differing == []
