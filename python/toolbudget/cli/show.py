"""``toolbudget show``: the replaced results of a session, and what is stored of them."""

from __future__ import annotations

import json
import os
import re
import time
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import click

from toolbudget.cli.failure import EXIT_DONE, EXIT_FAILED, CommandError, reason_of
from toolbudget.cli.option_types import read_folder, read_path
from toolbudget.cli.show_calls import calls_of
from toolbudget.cli.show_result import print_lines, print_matches, print_result
from toolbudget.cli.wording import count, printable
from toolbudget.storage._paths import absolute_path
from toolbudget.storage._session_files import RESULTS_NAME
from toolbudget.storage._session_places import NothingThereError, find_sessions
from toolbudget.storage.names import session_name
from toolbudget.storage.replaced import replaced_results

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.cli.show_calls import ToolCall
    from toolbudget.storage._session_files import SessionPlace
    from toolbudget.storage.replaced import ReplacedResult

__all__ = ["command", "path_of"]

_LINES: Final = re.compile(r"([1-9][0-9]{0,14})(?:(-)([1-9][0-9]{0,14})?)?")
_MAX_NAMED: Final = 5
_MAX_CLOSE: Final = 3


def _read_lines(
    _context: click.Context, option: click.Parameter, text: str | None
) -> tuple[int, int | None] | None:
    """Read a range of lines: ``10``, ``10-20`` or ``10-``.

    Raises:
        BadParameter: It is none; the message names the option and the value.
    """
    if text is None:
        return None
    match = _LINES.fullmatch(text)
    if match is None:
        wanted = "must be lines from 1 on, as in 10-20, 10- or 10"
        raise click.BadParameter(f"{wanted}: {text!r}", param=option)
    first = int(match[1])
    if not match[2]:
        return first, first
    last = int(match[3]) if match[3] else None
    if last is not None and last < first:
        raise click.BadParameter(f"ends before it begins: {text!r}", param=option)
    return first, last


@click.command("show", short_help="List a session's replaced results, or show one of them.")
@click.argument("session", metavar="SESSION", callback=read_path)
@click.argument("tool_use_id", metavar="[ID]", required=False)
@click.option(
    "--root",
    metavar="ROOT",
    callback=read_folder,
    help="The folder of all sessions; SESSION is then a session's id.",
)
@click.option(
    "--lines",
    "line_range",
    metavar="FIRST-LAST",
    callback=_read_lines,
    help="Only these lines of ID: 10-20, 10- or 10.",
)
@click.option(
    "--grep",
    "pattern",
    metavar="PATTERN",
    help="Only lines that match a regular expression; without ID, those of all results.",
)
@click.option(
    "-C",
    "--context",
    "context_lines",
    metavar="N",
    type=click.IntRange(min=0, max=1000),
    default=0,
    help="With --grep: so many lines around each match.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: the table.")
def command(
    *,
    session: str,
    tool_use_id: str | None,
    root: str | None,
    line_range: tuple[int, int | None] | None,
    pattern: str | None,
    context_lines: int,
    as_json: bool,
) -> int:
    """List the results of a session that were replaced; with ID, show one as it was stored.

    SESSION is a session's folder or its transcript ROOT/SESSION.jsonl. ID is a result's id, or the
    name or path of its file. On a terminal the result is paged ($PAGER) and control characters are
    shown as escapes; into a pipe go exactly the stored bytes.

    Only reads, takes no lock, and may look at a session in use. With --grep the exit code is 1 if
    nothing matches.

    \b
    Examples:
      toolbudget show ~/agent/sessions/demo
      toolbudget show ~/agent/sessions/demo toolu_01 --lines 10-20
      toolbudget show ~/agent/sessions/demo --grep 'error|failed' -C 2
    """  # noqa: D301 - click's mark for lines that stay as they are
    _check(tool_use_id, line_range, pattern, context_lines, as_json=as_json)
    place = _place_of(session, root)
    failures: list[str] = []

    def on_failure(path: Path, error: Exception) -> None:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        failures.append(f"cannot read {path}: {reason}")

    found = replaced_results(place, on_failure=on_failure)
    if tool_use_id is not None:
        _tell(failures)
        one = _choose(found, tool_use_id, place)
        if pattern is not None:
            return print_matches([one], place.root, pattern, context_lines, is_one=True)
        if line_range is not None:
            return print_lines(one, place.root, line_range)
        return print_result(one, place.root)
    if pattern is not None:
        _tell(failures)
        stored = [one for one in found if one.file is not None]
        return print_matches(stored, place.root, pattern, context_lines, is_one=False)
    calls = calls_of(place, on_failure) if found else {}
    if as_json:
        click.echo(json.dumps(_to_json(place, found, calls, failures), indent=2))
    else:
        from toolbudget.cli.show_view import show_results

        show_results(place, found, calls, now_s=time.time())
        _tell(failures)
    return EXIT_FAILED if failures else EXIT_DONE


def path_of(found: ReplacedResult, place: SessionPlace) -> Path | None:
    """Return where the stored result is, by its record."""
    if found.file is None:
        return None
    return place.root / found.session / RESULTS_NAME / found.file


def _check(
    tool_use_id: str | None,
    line_range: tuple[int, int | None] | None,
    pattern: str | None,
    context_lines: int,
    *,
    as_json: bool,
) -> None:
    """Refuse options that say nothing together.

    Raises:
        UsageError: They do not go together.
    """
    if line_range is not None and pattern is not None:
        raise click.UsageError("--lines and --grep exclude each other")
    if line_range is not None and tool_use_id is None:
        raise click.UsageError("--lines needs the ID of a result")
    if context_lines and pattern is None:
        raise click.UsageError("-C needs --grep")
    if as_json and (tool_use_id is not None or pattern is not None):
        raise click.UsageError("--json lists all results: it goes without ID and --grep")


def _place_of(session: str, root: str | None) -> SessionPlace:
    """Return the one session that is meant.

    Raises:
        UsageError: There are several.
        CommandError: There is none.
    """
    if root is None:
        folder, places = _sessions_at(session)
    else:
        folder, places = find_sessions(absolute_path(root) / session_name(session))
    if not places:
        raise CommandError(f"no sessions in {folder}")
    if len(places) > 1:
        names = ", ".join(place.name for place in places[:_MAX_NAMED])
        more = ", …" if len(places) > _MAX_NAMED else ""
        raise click.UsageError(
            printable(f"{folder} holds {count(len(places), 'session')}; name one: {names}{more}")
        )
    return places[0]


def _sessions_at(path: str) -> tuple[Path, list[SessionPlace]]:
    try:
        return find_sessions(path)
    except NothingThereError as error:
        if os.path.basename(path) != path:  # noqa: PTH119 - of the word as it was typed
            raise
        raise CommandError(f"{error}; the id of a session goes with --root ROOT") from error


def _choose(found: list[ReplacedResult], wanted: str, place: SessionPlace) -> ReplacedResult:
    """Return the latest result that an id, file name or path stands for.

    Raises:
        CommandError: There is none, or nothing of it is stored.
    """
    known = [
        one for one in found if wanted in {one.tool_use_id, one.file, str(path_of(one, place))}
    ]
    if not known:
        names = list(dict.fromkeys(one.tool_use_id for one in found))
        begun = [name for name in names if name.startswith(wanted)]
        close = begun[:_MAX_CLOSE] or get_close_matches(wanted, names, n=_MAX_CLOSE)
        hint = f"; close to it: {', '.join(close)}" if close else ""
        raise CommandError(f"no replaced result {wanted!r} in session {place.name}{hint}")
    stored = [one for one in known if one.file is not None]
    if not stored:
        raise CommandError(f"another program has replaced {wanted!r}: no record names a file of it")
    others = {one.file for one in stored[:-1]} - {stored[-1].file}
    if others:
        names = sorted(name for name in others if name)
        click.echo(
            printable(f"The latest of several; name a file for another: {', '.join(names)}"),
            err=True,
        )
    return stored[-1]


def _tell(failures: list[str]) -> None:
    for failure in failures:
        click.echo(printable(failure), err=True)


def _to_json(
    place: SessionPlace,
    found: list[ReplacedResult],
    calls: dict[str, ToolCall],
    failures: list[str],
) -> dict[str, object]:
    """Return the table.

    Keys: ``session``, ``directory``, ``transcript``; ``count``, ``missing_count``, ``file_bytes``
    of all files that are there; ``failures``; ``results``.
    """
    files = {(one.session, one.file): one.file_bytes or 0 for one in found}
    return {
        "session": place.name,
        "directory": str(place.directory),
        "transcript": str(place.transcript),
        "count": len(found),
        "missing_count": sum(one.is_missing for one in found),
        "file_bytes": sum(files.values()),
        "failures": failures,
        "results": [_result_json(one, calls.get(one.tool_use_id), place) for one in found],
    }


def _result_json(
    found: ReplacedResult, call: ToolCall | None, place: SessionPlace
) -> dict[str, object]:
    path = path_of(found, place)
    return {
        "tool_use_id": found.tool_use_id,
        "tool": None if call is None else call.tool,
        "turn": None if call is None else call.turn,
        "size_chars": found.size_chars,
        "file": found.file,
        "path": None if path is None else str(path),
        "file_bytes": found.file_bytes,
        "missing": found.is_missing,
        "recorded_at": found.recorded_at,
        "records": str(found.records_path),
        "line": found.line,
        "agent": found.agent,
        "style": found.style,
        "replaced": found.is_replaced,
        "cleared": found.is_cleared,
        "inherited_from": None if found.session == place.name else found.session,
    }
