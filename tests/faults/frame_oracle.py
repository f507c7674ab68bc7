"""What a replacement may look like, said a second time without a line of what makes one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.builders import size_label, text_of, wire_safe
from tests.faults.breakouts import LARGEST_REFERENCE_CHARS

if TYPE_CHECKING:
    from tests.faults.breakouts import Content

__all__ = ["Expected", "fold", "is_short_reference", "problem_of"]

_OPENING: Final = "<persisted-output>\n"
_CLOSING: Final = "\n</persisted-output>"
# The capital with a dot and the small letter without one, and the long s.
_ODD_CASES: Final = str.maketrans({"\u0130": "i", "\u0131": "i", "\u017f": "s"})
_SAVED: Final = "Output too large ({}). Full output saved to: "
# More than the lines of a frame take beside path, hint and preview.
_FRAME_CHARS: Final = 200


class Expected(NamedTuple):
    """What is known about a result beside what was made of it.

    Attributes:
        content: What was to be stored.
        limit: The largest size, in characters, that may stay.
        preview_bytes: The largest preview.
        folder: Where full texts are.
    """

    content: Content
    limit: float
    preview_bytes: int
    folder: Path


def fold(text: str) -> str:
    """Take all letters for one that are one in any case; a letter with a mark is another one."""
    return text.translate(_ODD_CASES).lower()


def is_short_reference(text: str) -> bool:
    """Tell whether a text counts as another program's reference."""
    is_framed = text.startswith(_OPENING) and text.rstrip().endswith(_CLOSING)
    return is_framed and len(text) <= LARGEST_REFERENCE_CHARS


def problem_of(expected: Expected, emitted: Content) -> str | None:
    """Say what is wrong with what was made of a result; ``None`` if nothing is."""
    if type(emitted) is not type(expected.content):
        return "another form"
    original, text = text_of(expected.content), text_of(emitted)
    if text == original:
        return _problem_of_kept(expected, original)
    if is_short_reference(original):
        return "a reference was replaced"
    return _problem_of_frame(text) or _problem_of_parts(expected, original, text)


def _problem_of_kept(expected: Expected, text: str) -> str | None:
    if is_short_reference(text) or len(text) <= expected.limit:
        return None
    shown_chars = expected.preview_bytes + len(str(expected.folder)) + 2 * _FRAME_CHARS
    return "opted out of the budget" if len(text) > shown_chars else None


def _problem_of_frame(text: str) -> str | None:
    folded = fold(text)
    if folded.count("<persisted-output") != 1 or not text.startswith(_OPENING):
        return "not exactly one opening tag, at the start"
    if folded.count("</persisted-output") != 1 or not text.endswith(_CLOSING):
        return "not exactly one closing tag, at the end"
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return "not wire-safe"
    return None


def _problem_of_parts(expected: Expected, original: str, text: str) -> str | None:
    size = size_label(len(original.encode("utf-8", "surrogatepass")))
    saved, _, rest = text.removeprefix(_OPENING).partition("\n")
    start = _SAVED.format(size)
    if not saved.startswith(start):
        return "the second line is not the path line"
    path = Path(saved.removeprefix(start))
    if path.parent != expected.folder or path.is_symlink() or not path.is_file():
        return "the path line names no file of the session"
    if not _is_stored(path, expected.content, original):
        return "the file named does not hold the original"
    _, _, shown = rest.removesuffix(_CLOSING.removeprefix("\n")).partition("):\n")
    preview = shown.removesuffix("\n").removesuffix("\n...")
    if len(preview.encode()) > expected.preview_bytes:
        return "the preview is too long"
    window = wire_safe(original[: expected.preview_bytes + 100])
    return None if window.startswith(preview) else "the preview is not the beginning of the text"


def _is_stored(path: Path, content: Content, text: str) -> bool:
    stored = path.read_bytes()
    if path.suffix == ".json":
        return bool(json.loads(stored.decode("utf-8", "surrogatepass")) == content)
    return stored == text.encode("utf-8", "surrogatepass")
