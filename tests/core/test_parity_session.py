"""Whole sessions on either core leave the same messages, records, files and state behind."""

from __future__ import annotations

import dataclasses
import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.harness import canonical
from tests.core.parity import assert_same, outcome
from tests.strategies import message_lists
from toolbudget import Limits, Session, _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import ModuleType

python = _core.load("python")
native = _core.load("native")

# What a host does: a method, and how much of the conversation there is by then.
Step: TypeAlias = tuple[str, int]


class Run(NamedTuple):
    """A conversation and what its host does with it."""

    messages: list[Any]
    steps: list[Step]
    limits: Limits
    redact: Callable[[str], str] | None


def shout(text: str) -> str:
    """Redact in a way that makes text longer now and then."""
    if "b" in text[:1]:
        raise ValueError(text[:9])
    return text.upper()


def runs() -> st.SearchStrategy[Run]:
    """Give conversations that grow, are gated, resumed and adopted, under small limits."""
    methods = st.sampled_from(["enforce", "enforce", "enforce", "gate", "reopen", "mark_seen"])
    limits = st.builds(
        Limits,
        max_result_chars=st.sampled_from([150, 300, 50_000]),
        max_message_chars=st.sampled_from([1, 300, 650, 1_500, 200_000]),
        preview_bytes=st.sampled_from([1, 40, 300, 2_000]),
        accounting=st.sampled_from(["visible", "visible", "originals"]),
        reader_hint=st.sampled_from([None, "Use read_result to see more"]),
    )
    return st.builds(
        Run,
        message_lists(),
        st.lists(st.tuples(methods, st.integers(0, 10)), min_size=1, max_size=5),
        limits,
        st.sampled_from([None, None, shout]),
    )


@contextmanager
def running_on(core: ModuleType) -> Iterator[None]:
    """Let every layer above use one core."""
    with pytest.MonkeyPatch.context() as patch:
        for name in python.__all__:
            patch.setattr(_core, name, getattr(core, name))
        yield


def open_session(root: Path, run: Run) -> Session:
    """Open the session of a run; nothing here is about power loss."""
    return Session.open(
        root,
        "session",
        limits=run.limits,
        declared_limits={"Read": float("inf")},
        durability="process",
        redact=run.redact,
    )


def take(session: Session, method: str, messages: list[Any]) -> object:
    """Take one step and give all that a host could see of it."""
    if method == "gate":
        blocks = [
            block
            for message in messages
            if isinstance(message, dict) and isinstance(message.get("content"), list)
            for block in message["content"]
        ]
        seen = [canonical(outcome(gate, session, block)) for block in blocks]
    else:
        seen = [canonical(outcome(getattr(session, method), messages))]
    report = dataclasses.replace(session.report, elapsed_s=0.0)
    return seen, report, session.state.to_json()


def gate(session: Session, block: Any) -> object:  # noqa: ANN401 - hosts hand in anything
    """Pass one block through the gate."""
    return session.gate(block, tool_name="Bash")


def carry_out(core: ModuleType, root: Path, run: Run) -> object:
    """Carry out a run from an empty folder and give what can be seen of it then."""
    shutil.rmtree(root, ignore_errors=True)
    seen = []
    with running_on(core):
        session = open_session(root, run)
        for method, length in run.steps:
            if method == "reopen":
                session.close()
                session = open_session(root, run)
            else:
                seen.append(take(session, method, run.messages[:length]))
        session.close()
    return seen, files_of(root)


def files_of(root: Path) -> dict[str, object]:
    """Read every file of a run; what tells only when it was written is left out."""
    files: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        if path.suffix == ".jsonl":
            lines = path.read_bytes().splitlines()
            files[path.name] = [without_clock(json.loads(line)) for line in lines]
        elif path.is_file():
            files[path.name] = path.read_bytes()
    return files


def without_clock(record: dict[str, Any]) -> dict[str, Any]:
    """Drop the time, and the checksum over it."""
    return {name: record[name] for name in record if name not in {"timestamp", "check"}}


@given(run=runs())
def test_sessions_are_the_same(tmp_path_factory: pytest.TempPathFactory, run: Run) -> None:
    """Outputs, reports, states, records and stored files do not tell which core was at work."""
    root = tmp_path_factory.getbasetemp() / "parity-root"
    expected = carry_out(python, root, run)
    assert_same(expected, carry_out(native, root, run))


@given(run=runs(), swaps=st.booleans())
def test_a_session_may_go_on_with_the_other_core(
    tmp_path_factory: pytest.TempPathFactory, run: Run, *, swaps: bool
) -> None:
    """What one core recorded is applied by the other, byte for byte."""
    root = tmp_path_factory.getbasetemp() / "handed-over-root"
    shutil.rmtree(root, ignore_errors=True)
    first, second = (native, python) if swaps else (python, native)
    with running_on(first), open_session(root, run) as session:
        handed_out = outcome(session.enforce, run.messages)
    with running_on(second), open_session(root, run) as session:
        assert canonical(handed_out) == canonical(outcome(session.enforce, run.messages))
        assert session.report.replaced == 0
