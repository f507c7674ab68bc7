"""The text of an outline: one line for each entry, and what is left out where room is short."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget.pruning._entry import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from toolbudget.pruning._entry import Entry
    from toolbudget.pruning._walk import Outlined

__all__ = ["Measures", "render"]

_INDENT: Final = "  "
_SHOWN_ERROR_LINES: Final = 3
_MAX_IMPORTS_CHARS: Final = 120
_LEFT_OUT: Final = "…"
# What one word in the head of the outline is called, and of several.
_NAMES: Final = {
    "module": ("module line", "module lines"),
    "import": ("import", "imports"),
    "export": ("export", "exports"),
    "type": ("type", "types"),
    "function": ("function", "functions"),
    "constant": ("constant", "constants"),
}


class Measures(NamedTuple):
    """What the head of an outline says about the text.

    Attributes:
        language: Its language.
        lines: How many lines it has.
        text_bytes: Its UTF-8 bytes.
        parsed_lines: How many lines were parsed.
    """

    language: str
    lines: int
    text_bytes: int
    parsed_lines: int


def render(
    outline: Outlined,
    measures: Measures,
    *,
    comment_mark: str,
    room: int,
    length: Callable[[str], int],
) -> str | None:
    """Write an outline that takes at most ``room``.

    If not everything fits, imports that follow each other come together on one line. Then what is
    outside of types goes before what is inside, what is public before what is not, and comments
    come last; in the outline itself everything keeps its place.

    Args:
        outline: What to show.
        measures: What the head says about the text.
        comment_mark: What a comment begins with in this language.
        room: How long the outline may be, as ``length`` counts.
        length: Counts a text: its characters or its bytes.

    Returns:
        The outline, or ``None`` if not one entry has room.
    """
    page = _Page(outline.entries, outline, measures, comment_mark)
    everything = frozenset(range(len(outline.entries)))
    whole = page.written(everything, everything)
    if length(whole) <= room:
        return whole
    page = page._replace(entries=_with_joined_imports(outline.entries))
    shown, commented = _chosen(page, room, length)
    return page.written(shown, commented) if shown else None


class _Page(NamedTuple):
    """Entries, and what is needed to write them down."""

    entries: Sequence[Entry]
    outline: Outlined
    measures: Measures
    comment_mark: str

    def written(self, shown: AbstractSet[int], commented: AbstractSet[int]) -> str:
        """Write the head, and those entries that are shown."""
        width = max(len(_label(self.entries[index])) for index in shown)
        lines = [self.head(shown)]
        for index, entry in enumerate(self.entries):
            if index in shown:
                comment = self.comment(entry) if index in commented else ""
                lines.append(self.line(entry, width) + comment)
        return "\n".join(lines)

    def head(self, shown: AbstractSet[int]) -> str:
        """Say what the outline is of, what it leaves out, and what could not be understood."""
        of = self.measures
        parts = [f"{of.language} outline of {of.lines:,} lines, {of.text_bytes:,} bytes"]
        left_out = Counter(
            entry.kind for index, entry in enumerate(self.entries) if index not in shown
        )
        counts = [f"{count:,} {_NAMES[kind][count != 1]}" for kind, count in left_out.items()]
        parts.append(f"left out: {', '.join(['bodies', *counts])}")
        if of.parsed_lines < of.lines:
            parts.append(f"only the first {of.parsed_lines:,} lines are outlined")
        if self.outline.error_lines:
            lines = [f"{line:,}" for line in self.outline.error_lines[:_SHOWN_ERROR_LINES]]
            more = [_LEFT_OUT] if len(self.outline.error_lines) > _SHOWN_ERROR_LINES else []
            parts.append(f"not understood: line {', '.join([*lines, *more])}")
        title = f" {self.outline.title}" if self.outline.title else ""
        return f"[{'; '.join(parts)}]{title}"

    def line(self, entry: Entry, width: int) -> str:
        return f"{_label(entry):<{width}} {_INDENT * entry.depth}{entry.text}"

    def comment(self, entry: Entry) -> str:
        return f"  {self.comment_mark} {entry.comment}" if entry.comment else ""


def _chosen(page: _Page, room: int, length: Callable[[str], int]) -> tuple[set[int], set[int]]:
    """Choose the entries that are shown, and those whose comments are shown too."""
    entries = page.entries
    width = max(len(_label(entry)) for entry in entries)
    # The head is longest when everything is left out.
    room -= length(page.head(frozenset()))
    order = sorted(range(len(entries)), key=lambda index: (_rank(entries[index]), index))
    shown: set[int] = set()
    for index in order:
        entry = entries[index]
        cost = length(page.line(entry, width)) + 1
        if cost <= room and (entry.parent < 0 or entry.parent in shown):
            shown.add(index)
            room -= cost
    commented: set[int] = set()
    for index in order:
        cost = length(page.comment(entries[index]))
        if index in shown and cost <= room:
            commented.add(index)
            room -= cost
    return shown, commented


def _label(entry: Entry) -> str:
    if entry.first_line == entry.last_line:
        return f"{entry.first_line}"
    return f"{entry.first_line}-{entry.last_line}"


def _rank(entry: Entry) -> tuple[int, bool]:
    """Tell how late an entry comes when room is short."""
    is_private = any(word.startswith("_") for word in entry.text.split("(")[0].split())
    if entry.kind in {"module", "export"}:
        return 0, False
    if entry.kind in {"type", "function"}:
        return 2 * entry.depth + is_private, is_private
    if entry.kind == "import":
        return 1, True
    return 2 * entry.depth + 3, is_private


def _with_joined_imports(entries: Sequence[Entry]) -> list[Entry]:
    """Put imports that follow each other on one line."""
    joined: list[Entry] = []
    counts: list[int] = []
    moved: dict[int, int] = {-1: -1}
    for index, entry in enumerate(entries):
        last = joined[-1] if joined else None
        follows = last is not None and last.kind == entry.kind == "import"
        if follows and last is not None and last.depth == entry.depth:
            joined[-1] = last._replace(last_line=entry.last_line, text=f"{last.text}; {entry.text}")
            counts[-1] += 1
        else:
            joined.append(entry._replace(parent=moved[entry.parent]))
            counts.append(1)
        moved[index] = len(joined) - 1
    return [
        entry._replace(text=_shortened_imports(entry.text, count)) if count > 1 else entry
        for entry, count in zip(joined, counts, strict=True)
    ]


def _shortened_imports(text: str, count: int) -> str:
    if len(text) <= _MAX_IMPORTS_CHARS:
        return text
    return f"{shortened(text, _MAX_IMPORTS_CHARS)} ({count:,} imports)"
