"""One stored result on a terminal or into a pipe: all of it, some lines, or what matches."""

from __future__ import annotations

import codecs
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from toolbudget.cli.failure import EXIT_DONE, EXIT_FAILED, CommandError
from toolbudget.cli.wording import count, grouped, printable
from toolbudget.errors import ToolError, ToolInputError
from toolbudget.storage._session_files import RESULTS_NAME
from toolbudget.storage.search import check_pattern, search_text
from toolbudget.storage.text_page import read_page
from toolbudget.storage.text_source import BytesSource, open_stored, text_of_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from toolbudget.storage.replaced import ReplacedResult
    from toolbudget.storage.search import SearchHits
    from toolbudget.storage.text_page import TextSource

__all__ = ["print_lines", "print_matches", "print_result", "safe_text"]

_CHUNK_BYTES: Final = 1 << 18
_MAX_MATCHES: Final = 10_000
_UNSAFE: Final = re.compile(r"[^\n\t\x20-\x7e]")


class _CannotPrintError(Exception):
    """Output failed, not the reading around it, which has errors of the same type."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def safe_text(text: str) -> str:
    r"""Write all but line ends and tabs that could move a terminal's cursor as escapes.

    Example:
        >>> safe_text("caf\u00e9\t1\r\n\x1b[31m2\n")
        'café\t1\n\\x1b[31m2\n'
    """
    return _UNSAFE.sub(lambda match: printable(match[0]), text.replace("\r\n", "\n"))


def print_result(found: ReplacedResult, root: Path) -> int:
    """Page a result on a terminal; else write its bytes as they are stored.

    Raises:
        ToolError: It is gone, or cannot be read.
    """
    is_paged = sys.stdout.isatty()
    with _open(found, root, is_raw=not is_paged) as source:
        _print_part(source, 0, None, is_paged=is_paged)
    return EXIT_DONE


def print_lines(found: ReplacedResult, root: Path, line_range: tuple[int, int | None]) -> int:
    """Print some lines of a result, paged on a terminal.

    Raises:
        CommandError: The first of them is past the last line.
        ToolError: The result is gone, or cannot be read.
    """
    first, last = line_range
    with _open(found, root, is_raw=False) as source:
        try:
            begin = 0 if first == 1 else _start_of(source, first)
        except ToolInputError as error:
            raise CommandError(str(error).replace("start_line", "--lines", 1)) from error
        try:
            end = None if last is None else _start_of(source, last + 1)
        except ToolInputError:
            end = None
        _print_part(source, begin, end, is_paged=sys.stdout.isatty())
    return EXIT_DONE


def print_matches(
    results: Sequence[ReplacedResult],
    root: Path,
    pattern: str,
    context_lines: int,
    *,
    is_one: bool,
) -> int:
    """Print the lines that match, with their numbers; say what could not be searched.

    Raises:
        CommandError: The pattern is none.
        ToolError: The native core is missing, or the only result is gone.
    """
    matches, unreadable, room = 0, 0, _MAX_MATCHES
    _require_pattern(pattern)
    for found in {(one.session, one.file): one for one in results}.values():
        try:
            with _open(found, root, is_raw=False) as source:
                hits = _search(source, pattern, room, context_lines)
        except ToolError as error:
            if is_one or found.file_bytes is not None:
                raise
            click.echo(printable(str(error)), err=True)
            unreadable += 1
            continue
        matches += hits.matches
        room -= min(hits.matches, room)
        _print_hits(hits, "" if is_one else printable(found.tool_use_id))
    if matches > _MAX_MATCHES:
        shown = f"only {grouped(_MAX_MATCHES)} of them are shown"
        click.echo(f"At least {count(matches, 'line')} match; {shown}", err=True)
    return EXIT_DONE if matches and not unreadable else EXIT_FAILED


def _require_pattern(pattern: str) -> None:
    """Refuse a pattern that is none also where there is nothing to search."""
    try:
        check_pattern(pattern)
    except ToolInputError as error:
        raise CommandError(str(error).replace("pattern", "--grep", 1)) from error


def _search(source: TextSource, pattern: str, room: int, context_lines: int) -> SearchHits:
    return search_text(
        pattern, source.read, label="", max_matches=max(room, 1), context_lines=context_lines
    )


def _print_hits(hits: SearchHits, label: str) -> None:
    before = None
    for line in hits.lines:
        if before is not None and line.line > before + 1 and not hits.lines[0].is_match:
            click.echo("--")
        before = line.line
        mark = ":" if line.is_match else "-"
        prefix = f"{label}{mark}" if label else ""
        click.echo(f"{prefix}{line.line}{mark} {safe_text(line.text)}")


@contextmanager
def _open(found: ReplacedResult, root: Path, *, is_raw: bool) -> Iterator[TextSource]:
    """Open the file of a result; no link is followed below the root.

    Raises:
        ToolError: It is gone, or cannot be read.
        OSError: What was read cannot be printed.
    """
    name = found.file or ""
    try:
        with open_stored(str(root), (found.session, RESULTS_NAME, name)) as source:
            if name.endswith(".json") and not is_raw:
                yield BytesSource(text_of_blocks(source.read(0, source.size_bytes)))
            else:
                yield source
    except _CannotPrintError as error:
        raise error.cause from None


def _start_of(source: TextSource, line: int) -> int:
    return read_page(source, start_line=line, max_chars=1).start_byte


def _print_part(source: TextSource, begin: int, end: int | None, *, is_paged: bool) -> None:
    chunks = _chunks(source, begin, end)
    if is_paged:
        click.echo_via_pager(_shown(chunks))
        return
    for chunk in chunks:
        _write(chunk)
    _write(b"")


def _write(chunk: bytes) -> None:
    out = sys.stdout.buffer
    try:
        out.write(chunk) if chunk else out.flush()
    except OSError as error:
        raise _CannotPrintError(error) from error


def _chunks(source: TextSource, begin: int, end: int | None) -> Iterator[bytes]:
    position = begin
    while end is None or position < end:
        wanted_bytes = _CHUNK_BYTES if end is None else min(_CHUNK_BYTES, end - position)
        chunk = source.read(position, wanted_bytes)
        if not chunk:
            return
        yield chunk
        position += len(chunk)


def _shown(chunks: Iterator[bytes]) -> Iterator[str]:
    decoder = codecs.lookup("utf-8").incrementaldecoder("backslashreplace")
    for chunk in chunks:
        yield safe_text(decoder.decode(chunk))
    yield safe_text(decoder.decode(b"", final=True))
