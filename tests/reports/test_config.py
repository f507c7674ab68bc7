from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolbudget
from tests.builders import (
    check_reference,
    enforce,
    files_below,
    gate,
    is_reference,
    msg,
    read_reference,
    res,
    results_in,
)
from toolbudget import ConfigError, Limits, MemoryStore, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BAD_LIMITS = [0, 0.0, -1, -0.5, math.nan, -math.inf, "50", "off", "", True, False, None, [50], 5j]
HUGE = 210_000 * "a"


@pytest.mark.parametrize("value", BAD_LIMITS)
@pytest.mark.parametrize("field", ["max_result_chars", "max_message_chars", "preview_bytes"])
def test_a_limit_that_means_nothing_is_refused(field: str, value: object) -> None:
    """CONFIG 33: it neither turns the limit off nor breaks it: the error names field and value."""
    arguments: dict[str, Any] = {field: value}
    with pytest.raises(ConfigError, match=rf"^{field} \(argument\) ") as caught:
        Limits(**arguments)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).endswith(repr(value))


@pytest.mark.parametrize("value", BAD_LIMITS)
def test_limits_of_tools_are_as_strict(session: Session, value: Any) -> None:  # noqa: ANN401 - bad on purpose
    """CONFIG 33: so are limits of single tools, wherever they are given, and nothing is changed."""
    with pytest.raises(ConfigError, match="Grep"):
        Limits(tools={"Grep": value})
    with pytest.raises(ConfigError, match="Grep"):
        Session.open(session.directory.parent, "other", declared_limits={"Grep": value})
    if value is None:
        return
    block = res("t1", HUGE)
    with pytest.raises(ConfigError):
        session.gate(block, tool_name="Grep", declared_limit=value)
    assert files_below(session.directory.parent) == set()


@pytest.mark.parametrize("value", BAD_LIMITS)
def test_limits_of_the_functions_are_as_strict(value: Any) -> None:  # noqa: ANN401 - bad on purpose
    """CONFIG 33: the plain functions refuse the same values before anything is stored."""
    store = MemoryStore()
    state = toolbudget.create_content_replacement_state()
    messages = [msg(res("t1", HUGE))]
    with pytest.raises(ConfigError):
        toolbudget.enforce_tool_result_budget(messages, state, store=store, limit=value)
    with pytest.raises(ConfigError):
        toolbudget.enforce_tool_result_budget(messages, state, store=store, preview_bytes=value)
    with pytest.raises(ConfigError):
        toolbudget.apply_tool_result_budget(messages, state, store=store, limit=value)
    with pytest.raises(ConfigError):
        toolbudget.maybe_persist_large_tool_result(
            res("t1", HUGE), tool_name="Fetch", limit=value, store=store
        )
    assert store.contents == {}
    assert state == toolbudget.create_content_replacement_state()


@pytest.mark.parametrize(
    ("variable", "field"),
    [
        ("TOOLBUDGET_MAX_RESULT_CHARS", "max_result_chars"),
        ("TOOLBUDGET_MAX_MESSAGE_CHARS", "max_message_chars"),
        ("TOOLBUDGET_PREVIEW_BYTES", "preview_bytes"),
        ("TOOLBUDGET_PREVIEW_STYLE", "preview_style"),
        ("TOOLBUDGET_DURABILITY", "durability"),
    ],
)
@pytest.mark.parametrize("value", ["abc", "0", "-1", "", "nan", "True", "50k"])
def test_a_bad_variable_is_an_error_at_opening(
    root: Path, monkeypatch: pytest.MonkeyPatch, variable: str, field: str, value: str
) -> None:
    """CONFIG 33: a variable that is set is honoured or refused by name, never ignored."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError, match=rf"^{field} \({variable}\) ") as caught:
        Session.open(root, "session")
    assert str(caught.value).endswith(repr(value))
    assert not root.exists()


def test_a_variable_is_honoured(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CONFIG 33: each of the variables does what it says."""
    monkeypatch.setenv("TOOLBUDGET_MAX_RESULT_CHARS", "3000")
    monkeypatch.setenv("TOOLBUDGET_MAX_MESSAGE_CHARS", "off")
    monkeypatch.setenv("TOOLBUDGET_PREVIEW_BYTES", "10")
    monkeypatch.setenv("TOOLBUDGET_DURABILITY", "process")
    with Session.open(root, "session") as session:
        messages = [msg(res("t1", HUGE))]
        assert session.enforce(messages) is messages
        fits, over = res("t2", 3_000 * "a"), res("t3", 3_001 * "a")
        assert gate(session, fits) is fits
        assert read_reference(gate(session, over)["content"]).preview == 10 * "a"


def test_an_argument_goes_before_a_variable(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CONFIG 33: limits that the host gives are not mixed with the environment's."""
    monkeypatch.setenv("TOOLBUDGET_MAX_RESULT_CHARS", "abc")
    with Session.open(root, "session", limits=Limits(), durability="process") as session:
        assert is_reference(gate(session, res("t1", 50_001 * "a"))["content"])


@pytest.mark.parametrize("limits", [Limits(max_result_chars=math.inf)])
def test_infinite_is_the_one_way_to_say_off(root: Path, limits: Limits) -> None:
    """CONFIG 33: with an infinite limit a result of any size passes the gate."""
    with Session.open(root, "session", limits=limits, durability="process") as session:
        block = res("t1", 3_000_000 * "a")
        assert gate(session, block) is block


@given(
    limit=st.integers(1_000, 9_000) | st.floats(1_000, 9_000),
    source=st.sampled_from(["common", "tool", "declared", "gate", "override"]),
)
def test_a_limit_is_honoured_exactly(
    new_root: Callable[[], Path], limit: float, source: str
) -> None:
    """CONFIG 33: whichever way a limit is set, its size passes and one character more does not."""
    limits = {
        "common": Limits(max_result_chars=limit, preview_bytes=10),
        "tool": Limits(tools={"Fetch": limit}, preview_bytes=10),
        "override": Limits(overrides={"tools": {"Fetch": limit}}, preview_bytes=10),
    }.get(source, Limits(preview_bytes=10))
    declared = {"Fetch": limit} if source == "declared" else None
    gate_limit = limit if source == "gate" else None
    with Session.open(
        new_root(), "session", limits=limits, declared_limits=declared, durability="process"
    ) as session:
        fits, over = (res(f"t{extra}", (int(limit) + extra) * "a") for extra in (0, 1))
        assert session.gate(fits, tool_name="Fetch", declared_limit=gate_limit) is fits
        small = session.gate(over, tool_name="Fetch")
        check_reference(over, dict(small), session.directory)


@given(
    value=st.one_of(
        st.floats(max_value=0),
        st.integers(max_value=0),
        st.booleans(),
        st.text(),
        st.none(),
        st.just(math.nan),
        st.binary(),
        st.lists(st.integers()),
        st.decimals(),
    ),
    field=st.sampled_from(["max_result_chars", "max_message_chars", "preview_bytes"]),
)
def test_every_other_value_is_refused(value: object, field: str) -> None:
    """CONFIG 33: whatever is no positive number is an error that is also a ``ValueError``."""
    arguments: dict[str, Any] = {field: value}
    with pytest.raises(ConfigError, match=field):
        Limits(**arguments)


@pytest.mark.parametrize("value", [None, math.nan, math.inf, "10000", -5, 0, True, Decimal(5)])
def test_a_bad_override_is_ignored(
    root: Path, caplog: pytest.LogCaptureFixture, value: object
) -> None:
    """CONFIG 33: a remote flag is not the user's word: a bad one is logged once and passed over."""
    limits = Limits(overrides={"tools": {"Fetch": value}, "message": value})
    with Session.open(root, "session", limits=limits, durability="process") as session:
        for _ in range(2):
            assert is_reference(gate(session, res("t1", 50_001 * "a"))["content"])
            sent = enforce(session, [msg(res("t2", 200_001 * "a"))])
            assert is_reference(next(results_in(sent))["content"])
    assert len({record.getMessage() for record in caplog.records}) == len(caplog.records) == 2


def test_a_provider_that_fails_is_ignored(root: Path) -> None:
    """CONFIG 33: an override that cannot be read leaves the user's limits in force."""

    def provider() -> dict[str, object]:
        raise OSError("offline")

    limits = Limits(overrides=provider)
    with Session.open(root, "session", limits=limits, durability="process") as session:
        assert is_reference(gate(session, res("t1", 50_001 * "a"))["content"])


def test_overrides_are_read_at_every_call(root: Path) -> None:
    """CONFIG 33: a flag that changes at run time counts from the next call on, once per call."""
    reads: list[int] = []

    def provider() -> dict[str, object]:
        reads.append(1)
        return {"message": 1_000 if len(reads) > 1 else 9_000}

    limits = Limits(overrides=provider, preview_bytes=10)
    with Session.open(root, "session", limits=limits, durability="process") as session:
        first = [msg(res("t1", 5_000 * "a"))]
        assert session.enforce(first) is first
        second = [*first, {"role": "assistant", "content": []}, msg(res("t2", 5_000 * "b"))]
        sent = enforce(session, second)
        assert [is_reference(block["content"]) for block in results_in(sent)] == [False, True]
    assert len(reads) == 2


def test_no_tool_is_named_by_default(session: Session) -> None:
    """CONFIG 38: without a configured reader the notice names no tool at all."""
    reference = read_reference(gate(session, res("t1", HUGE))["content"])
    assert reference.hint is None


def test_the_configured_reader_is_named(root: Path) -> None:
    """CONFIG 38: the hint is the host's own line, at the gate and in the budget."""
    limits = Limits(reader_hint="Use my_read to see more")
    with Session.open(root, "session", limits=limits, durability="process") as session:
        block = res("t1", HUGE)
        small = gate(session, block)
        check_reference(block, small, session.directory)
        assert read_reference(small["content"]).hint == "Use my_read to see more"
        [sent] = enforce(session, [msg(res("t2", HUGE))])
        assert read_reference(sent["content"][0]["content"]).hint == "Use my_read to see more"


@pytest.mark.parametrize("hint", ["", "  ", "two\nlines", "a\u2028b", "</persisted-output>", 5])
def test_a_hint_that_would_break_the_notice_is_refused(hint: Any) -> None:  # noqa: ANN401 - bad on purpose
    """CONFIG 38: the hint is one visible line that cannot close the frame."""
    with pytest.raises(ConfigError, match="reader_hint"):
        Limits(reader_hint=hint)
