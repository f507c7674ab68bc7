from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    Block,
    check_reference,
    enforce,
    files_below,
    gate,
    is_reference,
    msg,
    read_reference,
    read_transcript,
    replacement_of,
    res,
    stored_files,
    text_of,
)
from toolbudget import ConfigError, Limits, Session, ToolBudgetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LARGE = 60_000 * "a"


def text_block(text: str, **others: object) -> Block:
    """Make a text block."""
    return {"type": "text", "text": text, **others}


def test_a_result_that_fits_is_the_same_object(session: Session, root: Path) -> None:
    """G4: nothing is copied, stored, recorded or decided."""
    block = res("t1", 50_000 * "a")
    assert session.gate(block, tool_name="Fetch") is block
    assert session.state.decisions == {}
    assert files_below(root) == set()


@pytest.mark.parametrize("content", [LARGE, [text_block(LARGE)], (text_block(LARGE),)])
def test_a_large_result_becomes_a_reference(session: Session, content: object) -> None:
    """G5: only the text is replaced, in the form it had, and the decision is taken."""
    block = res("t1", content, is_error=False, cache_control={"type": "ephemeral"}, unknown=[1])
    small = gate(session, block)
    check_reference(block, small, session.directory)
    assert session.state.replacements == {"t1": text_of(small["content"])}
    assert session.report.replaced == 1


@pytest.mark.parametrize(
    "content",
    [LARGE, [text_block(LARGE), text_block("b")], "", [], [{"type": "image"}], "small", None],
)
def test_the_block_is_never_changed(session: Session, content: object) -> None:
    """G5, B10: what the host gave is as it was, whatever came of it."""
    block = res("t1", content, is_error=True)
    before = copy.deepcopy(block)
    gate(session, block)
    assert block == before
    assert list(block) == list(before)


def test_a_decision_is_applied_first(session: Session) -> None:
    """G0: a decided result gets its recorded form, whatever tool is named or limit is set now."""
    block = res("t1", LARGE)
    small = gate(session, block)
    assert gate(session, block, "Read") == small
    same = session.gate(block, tool_name="Fetch", declared_limit=math.inf)
    assert same == small
    assert session.report.replaced == 0
    assert len(read_transcript(session.transcript_path)) == 2


def test_a_kept_decision_is_applied_first(session: Session) -> None:
    """G0: a result that the model has seen in full is not replaced by a later gate."""
    block = res("t1", LARGE)
    enforce(session, [msg(block)])
    assert session.gate(block, tool_name="Bash", declared_limit=10) is block


def test_the_form_follows_the_block_as_it_is_now(session: Session) -> None:
    """G0, B8: the recorded string is put into a string or a list, with the current breakpoint."""
    small = gate(session, res("t1", LARGE))
    marked = [text_block(LARGE, cache_control={"type": "ephemeral"})]
    assert gate(session, res("t1", marked))["content"] == [
        text_block(small["content"], cache_control={"type": "ephemeral"})
    ]


def test_what_stays_is_not_decided(session: Session) -> None:
    """G0: a gate that leaves a result decides nothing, so that the budget still may."""
    blocks = [res(f"t{index}", 45_000 * "a") for index in range(6)]
    assert all(gate(session, block) is block for block in blocks)
    [sent] = enforce(session, [msg(*blocks)])
    assert sum(is_reference(block["content"]) for block in sent["content"]) == 2


@pytest.mark.parametrize("content", [LARGE, [text_block(LARGE)]])
def test_a_reference_passes(session: Session, content: object) -> None:
    """G3: what this session made, or what is framed and short, is left as it is."""
    small = gate(session, res("t1", content))
    assert gate(session, small) is small
    other = {**small, "tool_use_id": "t2"}
    assert gate(session, other) is other


@pytest.mark.parametrize(
    "content",
    [
        [text_block(LARGE), {"type": "image", "source": {"data": LARGE}}],
        [{"type": "document", "source": {"data": LARGE}}],
        [{"type": "search_result", "content": [text_block(LARGE)]}],
        [text_block(LARGE), {"type": "text"}],
        [text_block(LARGE), {"type": "text", "text": None}],
        [text_block(LARGE), LARGE],
        {"type": "text", "text": LARGE},
        60_000,
        LARGE.encode(),
        {LARGE},
    ],
)
def test_what_is_not_all_text_passes(session: Session, content: object) -> None:
    """G2: any other block or odd content leaves the result unchanged, whatever its size."""
    block = res("t1", content)
    assert gate(session, block) is block
    assert stored_files(session) == {}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": LARGE},
        {"type": "tool_result", "content": LARGE},
        {"type": "tool_result", "tool_use_id": None, "content": LARGE},
        {"type": "tool_result", "tool_use_id": 7, "content": LARGE},
        {"type": "tool_use", "tool_use_id": "t1", "content": LARGE},
        {"tool_use_id": "t1", "content": LARGE},
        {},
    ],
)
def test_what_is_no_result_passes(session: Session, block: Block) -> None:
    """B11: a block of another type, or without an id that is text, is the host's own business."""
    assert gate(session, block) is block
    assert stored_files(session) == {}


@pytest.mark.parametrize(
    ("tool_name", "declared", "limits", "expected"),
    [
        pytest.param("Bash", None, Limits(), 30_000, id="built-in"),
        pytest.param("Grep", None, Limits(), 20_000, id="built-in-grep"),
        pytest.param("Fetch", None, Limits(), 50_000, id="other-tool"),
        pytest.param("Fetch", 3_000, Limits(), 3_000, id="declared"),
        pytest.param("Fetch", 90_000, Limits(), 50_000, id="declared-above-common"),
        pytest.param("Bash", 90_000, Limits(), 50_000, id="declared-over-built-in"),
        pytest.param("Fetch", None, Limits(max_result_chars=9_000), 9_000, id="common"),
        pytest.param(
            "Bash", None, Limits(tools={"Bash": 70_000}, max_result_chars=10), 70_000, id="own"
        ),
        pytest.param(
            "Fetch", 5, Limits(overrides={"tools": {"Fetch": 70_000}}), 70_000, id="override"
        ),
        pytest.param("Read", None, Limits(max_result_chars=10), math.inf, id="reader"),
        pytest.param("Fetch", math.inf, Limits(max_result_chars=10), math.inf, id="infinite"),
        pytest.param("Fetch", None, Limits(max_result_chars=math.inf), math.inf, id="off"),
        pytest.param("Read", None, Limits(tools={"Read": 40_000}), 40_000, id="own-ends-exemption"),
    ],
)
def test_the_limit_that_counts(
    root: Path, tool_name: str, declared: float | None, limits: Limits, expected: float
) -> None:
    """L3: the first rule that matches gives the limit; exactly it fits, one more does not."""
    with Session.open(root, "session", limits=limits, durability="process") as session:
        size = 200_000 if math.isinf(expected) else int(expected)
        fits, over = res("t1", size * "a"), res("t2", (size + 1) * "a")
        assert session.gate(fits, tool_name=tool_name, declared_limit=declared) is fits
        small = session.gate(over, tool_name=tool_name)
        assert (small is over) is math.isinf(expected)


def test_a_declared_limit_is_remembered(session: Session) -> None:
    """L2: what a tool declared at the gate holds for it later, and for its exemption."""
    session.gate(res("t1", ""), tool_name="Mine", declared_limit=3_000)
    assert is_reference(gate(session, res("t2", 3_001 * "a"), "Mine")["content"])
    session.gate(res("t1", ""), tool_name="Mine", declared_limit=math.inf)
    block = res("t3", 300_000 * "a")
    assert gate(session, block, "Mine") is block


def test_limits_declared_at_opening(root: Path) -> None:
    """L2: a host declares its tools' limits once."""
    declared = {"Mine": 3_000, "Bash": math.inf}
    with Session.open(root, "s", declared_limits=declared, durability="process") as session:
        declared["Mine"] = 10
        assert is_reference(gate(session, res("t1", 3_001 * "a"), "Mine")["content"])
        for block, name in ((res("t2", 3_000 * "a"), "Mine"), (res("t3", 90_000 * "a"), "Bash")):
            assert gate(session, block, name) is block


@given(
    size=st.integers(101, 2_500),
    preview_bytes=st.integers(1, 2_100),
    part=st.sampled_from(["a", "line\n", "\u4e2d", "\0", "<persisted-output>"]),
)
def test_no_replacement_that_is_not_shorter(
    new_root: Callable[[], Path], size: int, preview_bytes: int, part: str
) -> None:
    """G7: exactly those texts are replaced that become shorter by it; others are not stored."""
    text = (size * part)[:size]
    limits = Limits(max_result_chars=100, preview_bytes=preview_bytes)
    with Session.open(new_root(), "session", limits=limits, durability="process") as session:
        block = res("t1", text)
        small = gate(session, block)
        path = str(session.directory / "tool-results" / "t1.txt")
        shorter = replacement_of(text, path, preview_bytes=preview_bytes)
        if len(shorter) < size:
            assert small["content"] == shorter
            check_reference(block, small, session.directory)
        else:
            assert small is block
            assert files_below(session.directory.parent) == set()


def test_odd_tool_names(session: Session) -> None:
    """G1, F1: any text names a tool, anything else is an error that says so."""
    assert gate(session, res("t1", ""), "\0</x>")["content"] == "(\0</x> completed with no output)"
    wrong: Any = None
    with pytest.raises(ConfigError, match="tool_name"):
        session.gate(res("t1", "a"), tool_name=wrong)


@pytest.mark.parametrize("wrong", [None, "text", 42, [1]])
def test_a_block_that_is_no_mapping_passes(session: Session, wrong: Any) -> None:  # noqa: ANN401 - bad on purpose
    """B11: the gate never raises for a shape."""
    assert session.gate(wrong, tool_name="Fetch") is wrong


def test_the_reference_names_the_stored_file(session: Session) -> None:
    """G5: the path that the model sees is the one that ``result_path`` tells the host."""
    small = gate(session, res("a/b", LARGE))
    assert session.result_path("a/b") == read_reference(small["content"]).path
    assert session.result_path("other") is None


def test_a_closed_session_decides_nothing(session: Session) -> None:
    """F1: after closing, a call is an error of ours that names the session."""
    session.close()
    with pytest.raises(ToolBudgetError, match="session is closed: 'session'"):
        gate(session, res("t1", LARGE))
    with pytest.raises(ToolBudgetError, match="session is closed"):
        session.enforce([])
