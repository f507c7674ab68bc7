from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolbudget
from tests.core.size_oracle import size_in
from toolbudget import Limits, MemoryStore, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.core.size_oracle import Unit

UNITS: tuple[Unit, ...] = ("chars", "tokens", "bytes")
TEXTS = {
    "english": "The tests of the parser have passed. " * 80,
    "chinese": "\u6784\u5efa\u5931\u8d25\uff1a\u6d4b\u8bd5\u6ca1\u6709\u901a\u8fc7\u3002" * 200,
    "emoji": "\U0001f600 ok\n" * 500,
}


def block(tool_use_id: str, content: object) -> dict[str, Any]:
    """Make a result."""
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}


def texts_of(message: dict[str, Any]) -> list[str]:
    """Read the texts of a message's results."""
    return [item["content"] for item in message["content"]]


def open_session(root: Path, unit: Unit, **limits: Any) -> Session:  # noqa: ANN401 - as Limits
    """Open a session that syncs nothing."""
    given = Limits(unit=unit, **limits)
    return Session.open(root, "s", limits=given, durability="process")


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("form", ["text", "blocks"])
def test_the_gate_at_exactly_the_limit(
    new_root: Callable[[], Path], unit: Unit, text: str, form: Literal["text", "blocks"]
) -> None:
    """G4: a result of just the limit stays, in whatever unit; with one more it is replaced."""
    size = size_in(unit, text)
    half = len(text) // 2
    blocks = [{"type": "text", "text": part} for part in (text[:half], text[half:])]
    content = text if form == "text" else blocks
    for limit, stays in ((size, True), (size - 1, False)):
        with open_session(new_root(), unit, tools={"Fetch": limit}) as session:
            given = block("t1", content)
            assert (session.gate(given, tool_name="Fetch") is given) is stays
        gated = toolbudget.maybe_persist_large_tool_result(
            given, tool_name="Fetch", limit=limit, unit=unit, store=MemoryStore()
        )
        assert (gated is given) is stays


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_budget_at_exactly_the_limit(
    new_root: Callable[[], Path], unit: Unit, text: str
) -> None:
    """B5: a group of just the limit is kept, whether it comes as objects or as bytes."""
    messages = [{"role": "user", "content": [block("t1", text), block("t2", text)]}]
    size = 2 * size_in(unit, text)
    for limit, replaced in ((size, 0), (size - 1, 1)):
        with open_session(new_root(), unit, max_message_chars=limit) as session:
            sent = session.enforce(messages)
            assert session.report.replaced == replaced
            assert sum(size_in(unit, shown) for shown in texts_of(sent[0])) <= limit
        with open_session(new_root(), unit, max_message_chars=limit) as session:
            body = json.dumps({"messages": messages}).encode()
            session.enforce_json(body)
            assert session.report.replaced == replaced


@pytest.mark.parametrize("unit", UNITS)
def test_what_is_over_is_told_in_the_unit(root: Path, unit: Unit) -> None:
    """A kept result that alone exceeds a later limit: the report says by how much, in the unit."""
    messages = [{"role": "user", "content": [block("t1", TEXTS["chinese"])]}]
    with open_session(root, unit, max_message_chars=10_000_000) as session:
        session.enforce(messages)
    with open_session(root, unit, max_message_chars=100) as session:
        assert session.enforce(messages) == messages
        assert session.report.over_limit_chars == size_in(unit, TEXTS["chinese"]) - 100
        assert session.report.chars_before == len(TEXTS["chinese"])
        body = json.dumps({"messages": messages}, ensure_ascii=False).encode()
        assert session.enforce_json(body) is body
        assert session.report.over_limit_chars == size_in(unit, TEXTS["chinese"]) - 100


def test_the_order_is_that_of_characters(root: Path) -> None:
    """B6: the result with the most characters goes first, though another one has more bytes."""
    few_bytes, many_bytes = "a" * 5_000, "\u6d4b" * 4_000
    content = [block("many", many_bytes), block("few", few_bytes)]
    with open_session(root, "bytes", max_message_chars=16_000) as session:
        sent = session.enforce([{"role": "user", "content": content}])
    assert [len(text) > 3_000 for text in texts_of(sent[0])] == [True, False]


def test_a_failed_store_is_counted_in_the_unit(new_root: Callable[[], Path]) -> None:
    """A result that could not be stored is kept, and counts towards what is over."""

    class Full:
        def put(self, tool_use_id: str, content: object) -> Any:  # noqa: ANN401, ARG002
            raise OSError(28, "no space left")

    for unit in UNITS:
        limits = Limits(unit=unit, max_message_chars=50)
        with Session.open(new_root(), "s", limits=limits, store=Full()) as session:
            session.enforce([{"role": "user", "content": [block("t1", TEXTS["emoji"])]}])
            assert session.report.over_limit_chars == size_in(unit, TEXTS["emoji"]) - 50


@given(
    st.lists(st.sampled_from(list(TEXTS.values())), min_size=1, max_size=4),
    st.sampled_from(UNITS),
    st.integers(200, 12_000),
)
def test_what_is_shown_is_within_the_limit_or_reported(
    texts: list[str], unit: Unit, limit: int
) -> None:
    """The plain function bounds what the model sees, or says by how much it is over."""
    content = [block(f"t{index}", text) for index, text in enumerate(texts)]
    done = toolbudget.enforce_tool_result_budget(
        [{"role": "user", "content": content}],
        toolbudget.create_content_replacement_state(),
        store=MemoryStore(),
        limit=limit,
        unit=unit,
    )
    shown = sum(size_in(unit, text) for text in texts_of(done.messages[0]))
    assert max(0, shown - limit) == done.report.over_limit_chars


def test_the_default_limit_of_a_function_is_that_of_its_unit() -> None:
    """50,000 tokens, not 200,000."""
    text = TEXTS["chinese"] * 20
    assert 50_000 < size_in("tokens", text) < 200_000
    done = toolbudget.enforce_tool_result_budget(
        [{"role": "user", "content": [block("t1", text)]}],
        toolbudget.create_content_replacement_state(),
        store=MemoryStore(),
        unit="tokens",
    )
    assert done.report.replaced == 1
