"""The gate's short way for small results: nothing that the long way would do is left out."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import gate, msg, res
from tests.strategies import Text
from toolbudget import EnforcementReport, Limits, Session, ToolBudgetError

if TYPE_CHECKING:
    from pathlib import Path

FRAMED = "<persisted-output>\nsaved\n</persisted-output>"
LARGE = "a" * 60_000

CONTENTS: list[object] = [
    "small",
    "four",
    "",
    " \n\t",
    "\x1f",
    "<b>",
    FRAMED,
    LARGE,
    Text("small"),
    None,
    7,
    [],
    [{"type": "text", "text": "small"}],
    [{"type": "image"}],
]
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["tool_result", "tool_result", Text("tool_result"), "text", 7]),
        "content": st.sampled_from(CONTENTS),
        "tool_use_id": st.sampled_from(["t1", "t1", "kept", "replaced", "", Text("t1"), 7]),
        "toolset_name": st.just("s"),
        "is_error": st.booleans(),
    },
)


def without_time(report: EnforcementReport) -> EnforcementReport:
    """Leave out what differs from call to call."""
    return dataclasses.replace(report, elapsed_s=0.0)


@pytest.fixture(scope="module")
def experienced(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Open a session that knows a kept and a replaced result."""
    root = tmp_path_factory.mktemp("root")
    session = Session.open(root, "demo", declared_limits={"Short": 4.0})
    session.gate(res("replaced", LARGE), tool_name="Fetch")
    session.enforce([msg(res("kept", "small"))])
    return session


@given(
    block=FIELDS | st.sampled_from([None, "text", [], res("t1", "small"), res("t1", "small")]),
    tool_name=st.sampled_from(["Bash", "Read", "Short", "memory", ""]),
)
def test_what_fits_at_once_fits(experienced: Session, block: Any, tool_name: str) -> None:  # noqa: ANN401
    """G0 to G5: where the short way says yes, the long one changes, decides and reports nothing."""
    engine = experienced._engine
    if not engine.fits_at_once(block, tool_name):
        return
    before = experienced.state
    result, report = engine.gate(block, tool_name, None, None)
    assert result is block
    assert without_time(report) == EnforcementReport()
    assert experienced.state == before
    assert experienced.gate(block, tool_name=tool_name) is block
    assert without_time(experienced.report) == EnforcementReport()


@pytest.mark.parametrize("size_chars", [1, 4, 49_999, 50_000])
def test_a_small_text_fits_at_once(session: Session, size_chars: int) -> None:
    """G4: the most frequent call takes the short way, up to the limit."""
    block = res("t1", "a" * size_chars)
    assert session._engine.fits_at_once(block, "Fetch")
    assert not session._engine.fits_at_once(res("t1", "a" * 50_001), "Fetch")
    assert session.gate(block, tool_name="Fetch") is block
    assert 0.0 < session.report.elapsed_s < 1.0


def test_a_declared_limit_counts_from_its_call_on(session: Session) -> None:
    """L2: what was worked out for a tool is forgotten when it declares another limit."""
    block = res("t1", "a" * 3_000)
    assert gate(session, block, "Custom") is block
    assert session.gate(block, tool_name="Custom", declared_limit=2_000) is not block
    other = res("t2", "a" * 3_000)
    assert gate(session, other, "Custom") is not other


def test_overrides_are_read_at_every_call(root: Path) -> None:
    """L4: a limit that comes from outside may change between two calls."""
    tools = {"Fetch": 100}
    limits = Limits(overrides={"tools": tools})
    with Session.open(root, "demo", limits=limits) as session:
        block = res("t1", "a" * 2_500)
        tools["Fetch"] = 5_000
        assert gate(session, block) is block
        tools["Fetch"] = 100
        assert gate(session, block) is not block


def test_a_closed_session_is_refused(session: Session) -> None:
    """A small result too needs a session that is open."""
    session.close()
    with pytest.raises(ToolBudgetError, match="closed"):
        session.gate(res("t1", "small"), tool_name="Fetch")


def test_a_hook_is_refused(root: Path) -> None:
    """A session is not used by its own hook, be the result as small as it may."""
    errors: list[Exception] = []

    def redact(text: str) -> str:
        try:
            session.gate(res("t2", "small"), tool_name="Fetch")
        except ToolBudgetError as error:
            errors.append(error)
        return text

    with Session.open(root, "demo", redact=redact) as session:
        session.gate(res("t1", LARGE), tool_name="Fetch")
    assert len(errors) == 1


def test_each_thread_sees_the_report_of_its_own_small_call(session: Session) -> None:
    """A report belongs to the caller, whichever way its call took."""
    session.gate(res("t1", LARGE), tool_name="Fetch")
    seen: list[int] = []

    def other() -> None:
        session.gate(res("t2", "small"), tool_name="Fetch")
        seen.append(session.report.replaced)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [0]
    assert session.report.replaced == 1


def test_owed_records_are_written(session: Session) -> None:
    """A call that would write what an append has failed to write does not take the short way."""
    engine = session._engine
    block = res("t2", "small")
    assert engine.fits_at_once(block, "Fetch")
    recorder = engine._journal._recorder
    assert recorder is not None
    session.enforce([msg(res("t1", "kept"))])
    [(key, replacement)] = session.state.decisions.items()
    recorder.unrecorded[key] = replacement
    assert not engine.fits_at_once(block, "Fetch")
    assert session.gate(block, tool_name="Fetch") is block
    assert engine.fits_at_once(block, "Fetch")
