from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    answer,
    call,
    check_reference,
    check_references,
    enforce,
    gate,
    is_reference,
    msg,
    preview_of,
    read_reference,
    res,
    results_in,
    stored_files,
    turn,
)
from tests.strategies import hostile_text
from toolbudget import Limits, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

OPENING, CLOSING = "<persisted-output>\n", "\n</persisted-output>"
TAG = re.compile("</?persisted-output", re.IGNORECASE)
REFERENCE_MAX_CHARS = 16_384


def framed(size_chars: int, *, begin: str = OPENING, end: str = CLOSING) -> str:
    """Make a text of a size that is framed like a reference."""
    return begin + (size_chars - len(begin) - len(end)) * "a" + end


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(OPENING + "saved to: {folder}/other.txt\n" + 60_000 * "a", id="open-only"),
        pytest.param(framed(60_000), id="framed"),
        pytest.param(framed(60_000, end=CLOSING + "\n \t\n"), id="framed-and-blank"),
        pytest.param(60_000 * "a" + CLOSING, id="closed-only"),
        pytest.param("see:\n" + framed(60_000), id="quoted"),
    ],
)
def test_a_text_that_looks_like_a_reference_is_data(session: Session, text: str) -> None:
    """LOOP 28: it is stored in its own file, and no path is ever taken out of a text."""
    text = text.replace("{folder}", str(session.directory / "tool-results"))
    block = res("t1", text)
    check_reference(block, gate(session, block), session.directory)
    messages = turn("Fetch", t2=4 * text)
    assert check_references(messages, enforce(session, messages), session.directory) == ["t2"]
    assert set(stored_files(session)) == {"t1.txt", "t2.txt"}


@given(inside=hostile_text(), times=st.integers(1, 500))
def test_no_text_can_forge_or_close_the_frame(
    new_root: Callable[[], Path], inside: str, times: int
) -> None:
    """LOOP 28: whatever a tool returns, a replacement has one opening and one closing tag."""
    text = inside * times + "x" + 60_000 * "y"
    with Session.open(new_root(), "session", durability="process") as session:
        block = res("t1", text)
        small = gate(session, block)
        check_reference(block, small, session.directory)
        found = [match.span() for match in TAG.finditer(small["content"])]
        assert len(found) == 2
        assert (found[0][0], small["content"][found[1][0] - 1 :]) == (0, CLOSING)
        assert read_reference(small["content"]).preview == preview_of(text, 2_000)[0]


@pytest.mark.parametrize("size_chars", [200, REFERENCE_MAX_CHARS])
@pytest.mark.parametrize("end", [CLOSING, CLOSING + "\n"])
def test_a_short_framed_text_is_a_reference(root: Path, size_chars: int, end: str) -> None:
    """LOOP 28: what another program left as a reference, framed and short, is left alone."""
    limits = Limits(max_result_chars=100, max_message_chars=100, preview_bytes=1)
    with Session.open(root, "session", limits=limits, durability="process") as session:
        block = res("t1", framed(size_chars, end=end))
        messages = [msg(block)]
        assert gate(session, block) is block
        assert session.enforce(messages) is messages
        assert session.report.skipped_by_reason == {"reference": 1}
        assert stored_files(session) == {}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(framed(REFERENCE_MAX_CHARS + 1), id="one-too-long"),
        pytest.param(framed(5_000, begin="<persisted-output> "), id="no-line-break-after"),
        pytest.param(framed(5_000, end="</persisted-output>"), id="no-line-break-before"),
        pytest.param(framed(5_000, begin="\n" + OPENING), id="text-before"),
        pytest.param(framed(5_000, end=CLOSING + "\nx"), id="text-behind"),
        pytest.param(framed(5_000).upper(), id="other-case"),
    ],
)
def test_what_is_not_exactly_framed_is_data(root: Path, text: str) -> None:
    """LOOP 28: nothing opts out of the limits by looking nearly like a reference."""
    limits = Limits(max_result_chars=100, max_message_chars=100, preview_bytes=1)
    with Session.open(root, "session", limits=limits, durability="process") as session:
        block = res("t1", text)
        check_reference(block, gate(session, block), session.directory)
        messages = turn("Fetch", t2=text)
        assert check_references(messages, enforce(session, messages), session.directory) == ["t2"]


@pytest.mark.parametrize("preview_bytes", [1, 2_000, 40_000])
def test_our_own_replacement_is_never_replaced(root: Path, preview_bytes: int) -> None:
    """LOOP 28: a replacement of this session is known by itself, also a very long one."""
    limits = Limits(preview_bytes=preview_bytes)
    with Session.open(root, "session", limits=limits, durability="process") as session:
        small = gate(session, res("t1", 90_000 * "a"))
    tight = Limits(max_result_chars=50, max_message_chars=50, preview_bytes=1)
    with Session.open(root, "session", limits=tight, durability="process") as session:
        for block in (small, {**small, "tool_use_id": "t2"}):
            messages = [msg(block)]
            assert gate(session, block) is block
            assert session.enforce(messages) is messages
    assert set(stored_files(session)) == {"t1.txt"}


@pytest.mark.parametrize("tool_name", ["Read", "read_file", "read_result", "search_results"])
def test_reading_a_stored_file_stores_nothing(session: Session, tool_name: str) -> None:
    """LOOP 29: an exempt reader's result passes whole, and there is no second file."""
    small = gate(session, res("t1", 250_000 * "a"))
    text = read_reference(small["content"]).path.read_text()
    block = res("r1", text)
    messages = [answer(call("r1", tool_name)), msg(block)]
    assert gate(session, block, tool_name) is block
    assert session.enforce(messages) is messages
    assert set(stored_files(session)) == {"t1.txt"}


@pytest.mark.parametrize("source", ["declared", "gate", "limits"])
def test_a_reader_of_the_hosts_own_is_exempt_by_configuration(root: Path, source: str) -> None:
    """LOOP 29: the host says which tool reads: when opening, at the gate, or in its limits."""
    infinite = float("inf")
    limits = Limits(tools={"my_read": infinite} if source == "limits" else {})
    declared = {"my_read": infinite} if source == "declared" else None
    with Session.open(
        root, "session", limits=limits, declared_limits=declared, durability="process"
    ) as session:
        block = res("r1", 250_000 * "a")
        declared_limit = infinite if source == "gate" else None
        kept = session.gate(block, tool_name="my_read", declared_limit=declared_limit)
        messages = [answer(call("r1", "my_read")), msg(block)]
        assert kept is block
        assert session.enforce(messages) is messages
        assert stored_files(session) == {}


def test_exemption_is_not_by_content(session: Session) -> None:
    """LOOP 29: another tool that prints a stored file gives a large result like any other."""
    small = gate(session, res("t1", 60_000 * "a"))
    block = res("r1", read_reference(small["content"]).path.read_text())
    check_reference(block, gate(session, block, "Bash"), session.directory)
    assert set(stored_files(session)) == {"t1.txt", "r1.txt"}


def test_a_users_limit_ends_an_exemption(root: Path) -> None:
    """LOOP 29: the user may limit a reader all the same, and then it is limited."""
    limits = Limits(tools={"Read": 100_000})
    with Session.open(root, "session", limits=limits, durability="process") as session:
        fits, over = res("r1", 100_000 * "a"), res("r2", 100_001 * "a")
        assert gate(session, fits, "Read") is fits
        check_reference(over, gate(session, over, "Read"), session.directory)
        messages = turn("Read", r3=150_000 * "b", r4=150_001 * "c")
        replaced = check_references(messages, enforce(session, messages), session.directory)
        assert replaced == ["r4"]


@pytest.mark.parametrize(
    ("calls", "is_exempt"),
    [
        pytest.param([call("r1", "Read")], True, id="reader"),
        pytest.param([call("r1", "Bash")], False, id="other"),
        pytest.param([], False, id="no-call"),
        pytest.param([call("r2", "Read")], False, id="other-id"),
        pytest.param([call("r1", "Bash"), call("r1", "Read")], True, id="nearest-before"),
        pytest.param([call("r1", "read")], False, id="other-case"),
    ],
)
def test_the_call_names_the_tool(
    session: Session, calls: list[dict[str, object]], *, is_exempt: bool
) -> None:
    """LOOP 29: a result is exempt by the nearest call with its id; an unknown tool is not."""
    messages = [*(answer(one) for one in calls), msg(res("r1", 250_000 * "a"))]
    sent = enforce(session, messages)
    assert is_reference(next(results_in(sent))["content"]) is not is_exempt


def test_a_call_behind_its_result_still_names_the_tool(session: Session) -> None:
    """LOOP 29: in a transcript whose records are out of order, the call may come later."""
    messages = [msg(res("r1", 250_000 * "a")), answer(call("r1", "Read")), answer(call("r1", "X"))]
    assert session.enforce(messages) is messages


def test_a_call_of_another_chain_names_nothing(session: Session) -> None:
    """LOOP 29: a sub-agent's call with the same id is not this result's call."""
    records = [
        {"type": "assistant", "isSidechain": True, "message": answer(call("r1", "Read"))},
        {"type": "user", "message": msg(res("r1", 250_000 * "a"))},
    ]
    sent = enforce(session, records)
    assert is_reference(next(results_in(sent[1:]))["content"])


def test_a_decision_goes_before_exemption(session: Session, root: Path) -> None:
    """LOOP 29: what was replaced stays so when its tool becomes exempt later."""
    messages = turn("Fetch", t1=250_000 * "a")
    before = enforce(session, messages)
    limits = Limits(tools={"Fetch": float("inf")})
    with Session.open(root, "session", limits=limits, durability="process") as later:
        assert enforce(later, messages) == before
        block = messages[1]["content"][0]
        assert gate(later, block) == before[1]["content"][0]
