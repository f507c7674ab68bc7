"""A panic in the native core is an exception of ours, and nothing is left half done by it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

from tests.builders import msg, res
from tests.faults.bugs import without_short_way
from tests.faults.cores import running_on
from tests.faults.harness import Harness, Outcome, Scale
from tests.faults.native_fuzz import FUNCTIONS
from tests.faults.panic_sessions import (
    entries_of_conversation,
    entries_of_turn,
    tried_conversation,
    tried_together,
)
from toolbudget import _core
from toolbudget._core import _native
from toolbudget._core.pure import Change, Fingerprint, GroupTotals, Key, Known, Plan, PlanOptions
from toolbudget.budget.engine import Engine
from toolbudget.errors import ToolBudgetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

__all__ = ["HARNESS"]

_FUZZED_CALLS: Final = {Scale.BOUNDED: 20_000, Scale.SOAK: 1_000_000}
_TEXT: Final = "line\n" * 900
_KEY: Final = Key("t1", Fingerprint(3, "a9"))
_MESSAGES: Final = [msg(res("t1", _TEXT), res("t2", "kept"))]
_OPTIONS: Final = PlanOptions(
    limit=1_000,
    preview_bytes=100,
    expected_path=lambda name, _is_json: f"/s/{name}.txt",
    is_stored_as_json=lambda _content: False,
    is_exempt_tool=lambda _name: False,
)

# What every function of the core is called with.
_ARGUMENTS: Final[dict[str, tuple[tuple[object, ...], dict[str, object]]]] = {
    "begins_with": ((_MESSAGES, _MESSAGES), {}),
    "build_replacement": ((_TEXT, "/s/t.txt"), {"preview_bytes": 100}),
    "collect": ((_MESSAGES, lambda _name: False), {}),
    "columns": ((_MESSAGES, Known({}, {}), lambda _name: False), {}),
    "cut_preview": ((_TEXT, 100), {}),
    "estimate_tokens": (([_TEXT],), {}),
    "fingerprint": (([_TEXT],), {}),
    "head_tail_preview": ((_TEXT, 300), {}),
    "is_framed_reference": ((_TEXT,), {}),
    "json_preview": ((_TEXT, 300), {}),
    "kept_json": (([_KEY], [_KEY]), {"max_id_bytes": 9, "max_part_chars": 9}),
    "measure": (([_TEXT], "tokens"), {}),
    "outline": ((_MESSAGES,), {}),
    "plan": ((_MESSAGES, Known({}, {}), _OPTIONS), {}),
    "replace_content": ((_TEXT, "short"), {}),
    "rewrite": ((_MESSAGES, [Change(0, 0, "short")]), {}),
    "rewrite_again": ((_MESSAGES, [Change(0, 0, "short")], []), {}),
    "salient_preview": ((_TEXT, 300), {}),
    "select_largest": (([10, 30, 20],), {"total": 60, "limit": math.inf}),
    "show_preview": (([_TEXT], 300, "auto"), {}),
    "table_preview": ((_TEXT, 300), {}),
    "totals_over": (([GroupTotals(fresh=9), GroupTotals()], 5, "visible"), {}),
    "utf8_length": ((_TEXT,), {}),
}
_BODY: Final = json.dumps({"messages": _MESSAGES}).encode()
# What comes behind a past.
_PAST_ARGUMENTS: Final[dict[str, tuple[object, ...]]] = {
    "plan_rest": (_MESSAGES, Known({}, {}), _OPTIONS, []),
}
# What comes behind the body, or behind the scan of one.
_JSON_ARGUMENTS: Final[dict[str, tuple[object, ...]]] = {
    "scan_json": (),
    "plan_json": (Known({}, {}), _OPTIONS),
    "rewrite_json": ([Change(0, 0, "short")],),
    "rewrite_json_segments": ([Change(0, 0, "short")],),
}


class _LetThroughError(BaseException):
    """What a panic is without the guard: no ``Exception``."""


def _run(scale: Scale, bug: str | None) -> Outcome:
    tries, violations = 0, []
    core = _core.load("native")
    with _seeded(bug, core), running_on(core), tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        for name, problem in chain(_entry_points(core), _sessions(root)):
            tries += 1
            violations += [f"{name}: {problem}"] if problem else []
            if bug and violations:
                return Outcome(tries, tuple(violations))
        sessions = tries - len(FUNCTIONS)
    calls = _FUZZED_CALLS[scale] * len(FUNCTIONS)
    violations += _fuzz(calls)
    detail = f"{len(FUNCTIONS)} functions, {sessions} sessions, {calls:,} fuzzed calls"
    return Outcome(tries + calls, tuple(violations), detail)


def _entry_points(core: ModuleType) -> Iterator[tuple[str, str | None]]:
    """Try every function that the native core has, and only those."""
    for name in FUNCTIONS:
        yield name, _problem_of_entry_point(name, core)


def _problem_of_entry_point(name: str, core: ModuleType) -> str | None:
    if name not in _ARGUMENTS | _JSON_ARGUMENTS | _PAST_ARGUMENTS:
        return "is not tried"
    function = getattr(core, name)
    arguments, options = _arguments_of(name, core)
    _native._panic_after(1)
    try:
        function(*arguments, **options)
    except ToolBudgetError as error:
        if str(error) != "internal error in the native core: asked for by a test":
            return f"another error: {error}"
    except BaseException as error:  # noqa: BLE001 - that it is an Exception is what is tested
        return f"the host got {type(error).__name__}"
    finally:
        is_unused = _native._panic_after(0) > 0
    if is_unused:
        return "is not guarded"
    pure = _core.load("python")
    expected_arguments, options = _arguments_of(name, pure)
    expected = _plain(getattr(pure, name)(*expected_arguments, **options))
    return None if _plain(function(*arguments, **options)) == expected else "differs afterwards"


def _arguments_of(name: str, core: ModuleType) -> tuple[tuple[object, ...], dict[str, object]]:
    """Return what a function is called with; a scan and a past are of the core that made it."""
    if name in _ARGUMENTS:
        return _ARGUMENTS[name]
    if name in _PAST_ARGUMENTS:
        return (core.Past(), *_PAST_ARGUMENTS[name]), {}
    others = _JSON_ARGUMENTS[name]
    return ((_BODY if name == "scan_json" else core.scan_json(_BODY)), *others), {}


def _plain(result: object) -> object:
    """Return what a result says, in objects that both cores have."""
    if isinstance(result, Plan):
        said = (result.choices, result.kept, result.adoptions, result.changes, result.totals)
        return [list(part) for part in said], result.candidates, result.chars_before
    if isinstance(result, tuple):
        return [_plain(part) for part in result]
    if isinstance(result, list):
        return [bytes(part) if isinstance(part, memoryview) else part for part in result]
    return getattr(result, "body", result)


def _sessions(root: Path) -> Iterator[tuple[str, str | None]]:
    with tempfile.TemporaryDirectory() as folder:
        entries = entries_of_conversation(Path(folder))
    # A panic of the short way fails no call: the texts are stored call by call.
    with without_short_way(), tempfile.TemporaryDirectory() as folder:
        entries_together = entries_of_turn(Path(folder))
    for entry in range(1, entries + 1):
        yield f"conversation, entry {entry}", tried_conversation(root / f"{entry}", entry)
    for entry in range(1, entries_together + 1):
        for in_tasks in (False, True):
            name = f"{'tasks' if in_tasks else 'threads'}, entry {entry}"
            with without_short_way():
                problem = tried_together(root / name, entry, in_tasks=in_tasks)
            yield name, problem


def _fuzz(calls: int) -> list[str]:
    """Call the core with odd objects, in a process that may end by it."""
    command = [sys.executable, "-m", "tests.faults.native_fuzz", str(calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = done.stdout.splitlines()
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        found.append(f"fuzzing ended with {done.returncode}: {last[0]}")
    return found


@contextmanager
def _seeded(bug: str | None, core: ModuleType) -> Iterator[None]:
    with ExitStack() as stack:
        if bug == "unguarded":
            for name in FUNCTIONS:
                unguarded = _unguarded(getattr(core, name))
                stack.enter_context(mock.patch.object(core, name, unguarded))
        elif bug == "left-locked":
            stack.enter_context(mock.patch.object(Engine, "_deciding", _left_locked))
        yield


def _unguarded(function: Callable[..., object]) -> Callable[..., object]:
    def call(*arguments: object, **options: object) -> object:
        try:
            return function(*arguments, **options)
        except ToolBudgetError as error:
            raise _LetThroughError from error

    return call


@contextmanager
def _left_locked(engine: Any) -> Iterator[None]:  # noqa: ANN401
    """Give the lock back only where nothing went wrong."""
    engine._lock.acquire()
    yield
    engine._lock.release()


HARNESS: Final = Harness(
    name="panics",
    promise="a panic is an exception, and nothing is half done",
    run=_run,
    bugs=("unguarded", "left-locked"),
)
