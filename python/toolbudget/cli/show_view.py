"""The replaced results of a session as a table for a person."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from toolbudget._core.pure.replacement import format_size
from toolbudget.cli.console import open_console
from toolbudget.cli.sessions_view import age_words
from toolbudget.cli.wording import count, grouped, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.cli.show_calls import ToolCall
    from toolbudget.storage._session_files import SessionPlace
    from toolbudget.storage.replaced import ReplacedResult

__all__ = ["show_results"]

# As wide as everything that is known needs.
_WIDE_COLUMNS: Final = 140
_MAX_ID_COLUMNS: Final = 44
_MIN_ID_COLUMNS: Final = 12
_MAX_TOOL_COLUMNS: Final = 24
_MAX_NOTE_COLUMNS: Final = 24
# Numbers, ages, and what separates columns.
_OTHER_COLUMNS: Final = 28
_MINUTES: Final = len("2026-11-30T15:00")


def show_results(
    place: SessionPlace,
    found: Sequence[ReplacedResult],
    calls: dict[str, ToolCall],
    *,
    now_s: float,
) -> None:
    """Print every replaced result, and what they come to."""
    out = open_console()
    if not found:
        text = f"No replaced results in session {printable(place.name)}"
        out.print(Text(text), soft_wrap=True)
        return
    rows = [_Row.of(one, calls.get(one.tool_use_id), place, now_s) for one in found]
    is_wide = out.width >= _WIDE_COLUMNS
    out.print(_wide_table(rows) if is_wide else _narrow_table(rows, out.width))
    files = {(one.session, one.file): one.file_bytes for one in found if one.file_bytes is not None}
    sums = f"{count(len(found), 'result')}, {count(len(files), 'file')}"
    out.print(Text(f"  {sums}, {format_size(sum(files.values()))}", "bold"))
    missing = sum(one.is_missing for one in found)
    if missing:
        text = f"  {count(missing, 'file')} missing; toolbudget doctor says more"
        out.print(Text(text, "red"), soft_wrap=True)


class _Row(NamedTuple):
    """What is told of one result, safe to show."""

    tool_use_id: str
    tool: str
    chars: str
    size: str
    file: str
    when: str
    age: str
    turn: str
    notes: Text

    @classmethod
    def of(
        cls, found: ReplacedResult, call: ToolCall | None, place: SessionPlace, now_s: float
    ) -> _Row:
        return cls(
            tool_use_id=shorten(found.tool_use_id, _MAX_ID_COLUMNS),
            tool=shorten((call and call.tool) or "", _MAX_TOOL_COLUMNS),
            chars="" if found.size_chars is None else grouped(found.size_chars),
            size="" if found.file_bytes is None else format_size(found.file_bytes),
            file=shorten(found.file or "", _MAX_ID_COLUMNS),
            when=printable(found.recorded_at or "")[:_MINUTES].replace("T", " "),
            age=_age(found.recorded_at, now_s),
            turn="" if call is None else grouped(call.turn),
            notes=_notes(found, place),
        )


def _wide_table(rows: Sequence[_Row]) -> Table:
    has_calls = any(row.turn for row in rows)
    table = _table("id", *(["tool"] if has_calls else []), "chars", "size", "file", "recorded")
    _add_columns(table, *(["turn"] if has_calls else []), "")
    for row in rows:
        tool = [Text(row.tool)] if has_calls else []
        turn = [row.turn] if has_calls else []
        cells: list[str | Text] = [
            Text(row.tool_use_id),
            *tool,
            row.chars,
            row.size,
            Text(row.file),
            Text(row.when),
        ]
        table.add_row(*cells, *turn, row.notes)
    return table


def _narrow_table(rows: Sequence[_Row], width: int) -> Table:
    """Return a table in which ids come first: whoever reads it wants to name one."""
    has_calls = any(row.turn for row in rows)
    note_columns = max(row.notes.cell_len for row in rows)
    left = width - _OTHER_COLUMNS - note_columns
    widest_id = max(cell_len(row.tool_use_id) for row in rows)
    tool_columns = 0
    if has_calls:
        widest_tool = max(cell_len(row.tool) for row in rows)
        tool_columns = min(widest_tool, max(left - widest_id, _MIN_ID_COLUMNS))
    id_columns = max(left - tool_columns, _MIN_ID_COLUMNS)
    table = _table("id", *(["tool"] if has_calls else []), "size", "age")
    _add_columns(table, *(["turn"] if has_calls else []), "")
    for row in rows:
        tool = [Text(shorten(row.tool, tool_columns))] if has_calls else []
        turn = [row.turn] if has_calls else []
        cells: list[str | Text] = [
            Text(shorten(row.tool_use_id, id_columns)),
            *tool,
            row.size,
            row.age,
        ]
        table.add_row(*cells, *turn, row.notes)
    return table


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), header_style="bold")
    _add_columns(table, *headings)
    return table


def _add_columns(table: Table, *headings: str) -> None:
    for heading in headings:
        is_number = heading in {"chars", "size", "age", "turn"}
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=True)


def _age(timestamp: str | None, now_s: float) -> str:
    """Return how long ago a record was written; nothing if it does not say so."""
    try:
        recorded = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return ""
    if recorded.tzinfo is None:
        recorded = recorded.replace(tzinfo=UTC)
    return age_words(now_s - recorded.timestamp())


def _notes(found: ReplacedResult, place: SessionPlace) -> Text:
    if found.is_missing:
        return Text("file missing", "red")
    words = []
    if found.is_cleared:
        words.append("cleared")
    elif not found.is_replaced:
        words.append("kept original")
    if found.file is None:
        words.append("by another program")
    if found.session != place.name:
        words.append(f"from {found.session}")
    if found.agent is not None:
        words.append(f"agent {found.agent}")
    if found.style is not None:
        words.append(found.style)
    return Text(
        shorten(", ".join(words), _MAX_NOTE_COLUMNS), "yellow" if found.is_cleared else "dim"
    )
