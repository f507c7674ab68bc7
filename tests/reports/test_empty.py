from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import Block, enforce, files_below, gate, msg, res, turn
from toolbudget import Session, create_content_replacement_state

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WHITE_SPACE = "".join(
    character for character in map(chr, range(sys.maxunicode + 1)) if character.isspace()
)
NO_CONTENT: Block = {"type": "tool_result", "tool_use_id": "t1"}


def text_block(text: str) -> Block:
    """Make a text block."""
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(NO_CONTENT, id="no-key"),
        pytest.param(res("t1", None), id="none"),
        pytest.param(res("t1", ""), id="empty"),
        pytest.param(res("t1", " \n\t"), id="blank"),
        pytest.param(res("t1", WHITE_SPACE), id="all-white-space"),
        pytest.param(res("t1", 300_000 * "\n"), id="large-and-blank"),
    ],
)
def test_an_empty_result_says_so(session: Session, root: Path, block: Block) -> None:
    """EMPTY 36: the placeholder names the tool; it is neither stored nor recorded."""
    assert gate(session, block, "Write") == {
        **block,
        "content": "(Write completed with no output)",
    }
    assert files_below(root) == set()
    assert session.state == create_content_replacement_state()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param([], id="no-block"),
        pytest.param((), id="tuple"),
        pytest.param([text_block("")], id="empty-block"),
        pytest.param([text_block(" "), text_block("\n")], id="blank-blocks"),
    ],
)
def test_an_empty_list_stays_a_list(session: Session, content: object) -> None:
    """EMPTY 36: in a list the placeholder is the one text block."""
    assert gate(session, res("t1", content), "Write")["content"] == [
        text_block("(Write completed with no output)")
    ]


@pytest.mark.parametrize(
    ("is_error", "expected"),
    [
        (True, "(Write failed with no output)"),
        (False, "(Write completed with no output)"),
        (None, "(Write completed with no output)"),
    ],
)
def test_a_failure_is_not_called_a_success(
    session: Session, *, is_error: bool | None, expected: str
) -> None:
    """EMPTY 36: an empty error is said to have failed, and keeps its mark and other keys."""
    block = res("t1", "", is_error=is_error, cache_control={"type": "ephemeral"})
    small = gate(session, block, "Write")
    assert small == {**block, "content": expected}
    assert list(small) == list(block)


@pytest.mark.parametrize("tool_name", ["Read", "read_file", "memory", "Bash"])
def test_exempt_tools_get_one_too(session: Session, tool_name: str) -> None:
    """EMPTY 36: no limit is involved, so exemption is neither."""
    small = gate(session, res("t1", ""), tool_name)
    assert small["content"] == f"({tool_name} completed with no output)"


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "image", "source": {}}],
        [{"type": "tool_reference", "tool_name": "WebFetch"}],
        [{"type": "text"}],
        [text_block(""), {"type": "document"}],
        0,
        False,
        {},
    ],
)
def test_what_is_no_text_is_not_empty(session: Session, content: object) -> None:
    """EMPTY 36: only what is known to show nothing gets the placeholder."""
    block = res("t1", content)
    assert gate(session, block, "Write") is block


@given(
    parts=st.lists(st.text(WHITE_SPACE, max_size=5), max_size=4),
    is_list=st.booleans(),
    is_error=st.booleans(),
    tool_name=st.text(max_size=10),
)
def test_any_blank_result_gets_the_same_placeholder_every_time(
    new_root: Callable[[], Path], parts: list[str], tool_name: str, *, is_list: bool, is_error: bool
) -> None:
    """EMPTY 36: it depends on the block and the tool's name alone, every turn and after resume."""
    content: object = [text_block(part) for part in parts] if is_list else "".join(parts)
    block = res("t1", content, is_error=is_error)
    text = f"({tool_name} {'failed' if is_error else 'completed'} with no output)"
    root = new_root()
    for _ in range(2):
        with Session.open(root, "session", durability="process") as session:
            for _ in range(2):
                small = gate(session, block, tool_name)
                assert small["content"] == ([text_block(text)] if is_list else text)
                assert gate(session, small, tool_name) is small
                messages = [msg(small)]
                assert session.enforce(messages) is messages


@given(text=st.text(WHITE_SPACE, max_size=3), other=st.characters())
def test_one_visible_character_is_output(
    new_root: Callable[[], Path], text: str, other: str
) -> None:
    """EMPTY 36: a single character that is no white space leaves the result as it is."""
    block = res("t1", text + other + text)
    with Session.open(new_root(), "session", durability="process") as session:
        assert (gate(session, block) is block) is not other.isspace()


def test_the_budget_makes_no_placeholder(session: Session) -> None:
    """EMPTY 36: what was sent empty stays so; only the gate sees a result before the model."""
    messages = [*turn("Write", t1="", t2=[]), msg(NO_CONTENT)]
    assert session.enforce(messages) is messages
    assert session.report.skipped_by_reason == {"empty": 3}


def test_a_blank_result_that_was_sent_stays(session: Session) -> None:
    """EMPTY 36: if the model has seen white space, a replay through the gate shows it again."""
    block = res("t1", " \n")
    messages = [*turn("Write"), msg(block)]
    assert enforce(session, messages) == messages
    assert gate(session, block, "Write") is block
