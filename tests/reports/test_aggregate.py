from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.builders import (
    Message,
    answer,
    call,
    check_references,
    enforce,
    gate,
    is_reference,
    msg,
    read_reference,
    replacement_of,
    res,
    results_in,
    text_of,
    turn,
)
from toolbudget import Limits, MemoryStore, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

Accounting = Literal["visible", "originals"]


class Chosen(NamedTuple):
    """What the rule of B6 comes to for one group."""

    indices: set[int]
    preview_bytes: int
    visible: int


def choose(
    texts: Sequence[str],
    paths: Sequence[str],
    limits: Limits,
    *,
    frozen: int = 0,
    standing: int = 0,
) -> Chosen:
    """Say B5 and B6 a second time, for the fresh results of one group."""
    counts_previews = limits.accounting == "visible"
    fixed = frozen + (standing if counts_previews else 0)
    shrinks = counts_previews and fixed <= limits.max_message_chars
    percents = (100, 50, 25, 10, 0) if shrinks else (100,)
    largest_first = sorted(range(len(texts)), key=lambda index: (-len(texts[index]), index))
    chosen = Chosen(set(), limits.preview_bytes, 0)
    for percent in percents:
        chosen = Chosen(set(), limits.preview_bytes * percent // 100, 0)
        visible = fixed + sum(map(len, texts))
        for index in largest_first:
            if visible <= limits.max_message_chars:
                break
            shorter = replacement_of(texts[index], paths[index], preview_bytes=chosen.preview_bytes)
            if len(shorter) < len(texts[index]):
                visible -= len(texts[index]) - (len(shorter) if counts_previews else 0)
                chosen.indices.add(index)
        chosen = chosen._replace(visible=visible)
        if visible <= limits.max_message_chars:
            break
    return chosen


def visible_chars(messages: Sequence[Message]) -> int:
    """Sum the characters of all results."""
    return sum(len(text_of(block["content"])) for block in results_in(messages))


def test_fewest_and_largest_results_are_replaced(session: Session) -> None:
    """AGG 27: six of 45,000 are too many together: the first two go, and then the sum fits."""
    messages = [msg(*(res(f"t{index}", 45_000 * "a") for index in range(6)))]
    sent = enforce(session, messages)
    assert check_references(messages, sent, session.directory) == ["t0", "t1"]
    assert 4 * 45_000 < visible_chars(sent) <= 200_000
    assert session.report.over_limit_chars == 0


def test_the_largest_go_first_and_ties_in_order_of_appearance(session: Session) -> None:
    """AGG 27: the order is by size, then by place, whatever the ids are called."""
    sizes = {"z": 30_000, "b": 80_000, "a": 80_000, "y": 90_000, "c": 80_000}
    messages = [msg(*(res(name, size * "x") for name, size in sizes.items()))]
    sent = enforce(session, messages)
    assert check_references(messages, sent, session.directory) == ["b", "y"]


TEXTS = st.lists(
    st.builds(
        lambda size, part: (part * size)[:size],
        st.integers(1, 2_500) | st.sampled_from([100, 1_000, 2_000, 2_400]),
        st.sampled_from(["x", "line\n", "\u4e2d", "\U0001f600\n", "<persisted-output>"]),
    ),
    max_size=8,
)


@given(
    earlier=TEXTS,
    texts=TEXTS,
    limit=st.integers(1, 8_000),
    preview_bytes=st.integers(1, 2_200),
    accounting=st.sampled_from(["visible", "originals"]),
    is_list=st.booleans(),
)
@example(
    earlier=[],
    texts=["x" * 2_400] * 8,
    limit=6_000,
    preview_bytes=2_000,
    accounting="visible",
    is_list=False,
)
def test_the_choice_is_what_the_rule_says(  # noqa: PLR0917 - the columns of one case
    new_root: Callable[[], Path],
    earlier: list[str],
    texts: list[str],
    limit: int,
    preview_bytes: int,
    accounting: Accounting,
    is_list: bool,  # noqa: FBT001 - given by name
) -> None:
    """AGG 27: for any sizes, the choice equals a second reading of the rule, and is minimal.

    A first call decides about some results, a second about more of the same message.
    """
    limits = Limits(max_message_chars=limit, preview_bytes=preview_bytes, accounting=accounting)

    def results(prefix: str, contents: list[str]) -> Message:
        forms: list[object] = [
            [{"type": "text", "text": text}] if is_list else text for text in contents
        ]
        return msg(*(res(f"{prefix}{index}", form) for index, form in enumerate(forms)))

    with Session.open(new_root(), "session", limits=limits, durability="process") as session:
        folder = session.directory / "tool-results"
        frozen = standing = 0
        history: list[Message] = []
        for prefix, contents in (("e", earlier), ("t", texts)):
            paths = [str(folder / f"{prefix}{index}.txt") for index in range(len(contents))]
            expected = choose(contents, paths, limits, frozen=frozen, standing=standing)
            history.append(results(prefix, contents))
            sent = enforce(session, history)
            replaced = check_references(history[-1:], sent[-1:], session.directory)
            assert replaced == [f"{prefix}{index}" for index in sorted(expected.indices)]
            for index in expected.indices:
                assert text_of(sent[-1]["content"][index]["content"]) == replacement_of(
                    contents[index], paths[index], preview_bytes=expected.preview_bytes
                )
            assert session.report.over_limit_chars == max(0, expected.visible - limit)
            kept = [block for block in results_in(sent) if not is_reference(block["content"])]
            frozen = sum(len(text_of(block["content"])) for block in kept)
            standing = visible_chars(sent) - frozen


@pytest.mark.parametrize(("slack", "expected"), [(0, ["t0"]), (1, ["t0"]), (-1, ["t0", "t1"])])
def test_a_sum_that_fits_exactly_is_enough(root: Path, slack: int, expected: list[str]) -> None:
    """AGG 27: as soon as the sum with the previews equals the limit, no more is replaced."""
    texts = [5_000 * "a", 4_000 * "b", 3_000 * "c"]
    shown = len(replacement_of(texts[0], "memory:/t0.txt", preview_bytes=100))
    limits = Limits(max_message_chars=shown + 7_000 + slack, preview_bytes=100)
    with Session.open(root, "session", limits=limits, store=MemoryStore()) as session:
        sent = enforce(
            session, [msg(*(res(f"t{index}", text) for index, text in enumerate(texts)))]
        )
        replaced = [one["tool_use_id"] for one in results_in(sent) if is_reference(one["content"])]
        assert replaced == expected


def test_previews_shrink_until_the_message_fits(session: Session) -> None:
    """AGG 27: many results just above a preview still fit, by shorter previews for all chosen."""
    messages = [msg(*(res(f"t{index:03}", 2_500 * "a") for index in range(100)))]
    sent = enforce(session, messages)
    replaced = check_references(messages, sent, session.directory)
    assert visible_chars(sent) <= 200_000 < visible_chars(sent) + 2_500
    assert replaced == [f"t{index:03}" for index in range(len(replaced))]
    labels = {
        read_reference(block["content"]).label
        for block in results_in(sent)
        if is_reference(block["content"])
    }
    assert labels == {"1000 bytes"}


def test_the_last_step_has_no_preview(root: Path) -> None:
    """AGG 27: at the last step only the path stays, without an empty preview or its label."""
    limits = Limits(max_message_chars=1_000)
    with Session.open(root, "session", limits=limits, store=MemoryStore()) as session:
        sent = enforce(session, [msg(*(res(f"t{index}", 900 * "a") for index in range(8)))])
    assert [block["content"] for block in results_in(sent)] == [
        "<persisted-output>\n"
        f"Output too large (900 bytes). Full output saved to: memory:/t{index}.txt\n"
        "</persisted-output>"
        for index in range(8)
    ]


def test_each_message_is_judged_alone(session: Session) -> None:
    """AGG 27: two messages of 150,000 are two, not one of 300,000."""
    messages = [*turn("Fetch", t1=150_000 * "a"), *turn("Fetch", t2=150_000 * "b")]
    assert session.enforce(messages) is messages


def records_of_one_answer() -> list[Message]:
    """Make the records of one streamed answer: its parts and results reach the file mixed."""
    records: list[Message] = []
    for index in range(6):
        part = answer(call(f"t{index}", "Fetch"), message_id="message_1")
        result = msg(res(f"t{index}", 45_000 * "a"))
        records += [
            {"type": "assistant", "message": part, "uuid": f"a{index}"},
            {"type": "progress", "data": index},
            {"type": "user", "message": result, "uuid": f"u{index}"},
            {"type": "system", "content": "note"},
            {"type": "attachment", "attachment": {}},
        ]
    return records


def test_one_streamed_answer_has_one_message_of_results(session: Session) -> None:
    """AGG 27: records with one ``message.id`` are one answer, so their results count together."""
    records = records_of_one_answer()
    sent = session.enforce(records)
    users = [index for index, record in enumerate(records) if record["type"] == "user"]
    replaced = [index for index in users if sent[index] is not records[index]]
    assert replaced == users[:2]
    assert session.report.groups == 1


def test_other_messages_do_not_split(session: Session) -> None:
    """AGG 27: text from the user and system messages between results leave them one message."""
    messages = [
        msg(res("t1", 120_000 * "a")),
        {"role": "system", "content": "note"},
        {"role": "user", "content": "hello"},
        msg(res("t2", 100_000 * "b")),
    ]
    assert check_references(
        [messages[0], messages[3]],
        [enforce(session, messages)[index] for index in (0, 3)],
        session.directory,
    ) == ["t1"]


@pytest.mark.parametrize(
    "other", [{"isSidechain": True}, {"agentId": "a1"}, {"isSidechain": True, "agentId": "a1"}]
)
def test_chains_are_grouped_apart(session: Session, other: dict[str, object]) -> None:
    """AGG 27: what a sub-agent was sent is no part of the main conversation's message."""
    records: list[Message] = [
        {"type": "user", "message": msg(res("t1", 150_000 * "a"))},
        {"type": "user", "message": msg(res("t2", 150_000 * "b")), **other},
        {"type": "assistant", "message": answer(message_id="m1"), **other},
        {"type": "user", "message": msg(res("t3", 60_000 * "c"))},
    ]
    sent = session.enforce(records)
    assert [sent[index] is records[index] for index in range(4)] == [False, True, True, True]


def test_exempt_results_do_not_count(session: Session) -> None:
    """AGG 27: what a reader read is neither replaced nor counted."""
    messages = [
        answer(call("r1", "Read"), call("t1", "Fetch")),
        msg(res("r1", 500_000 * "a"), res("t1", 190_000 * "b")),
    ]
    assert session.enforce(messages) is messages
    assert session.report.skipped_by_reason == {"exempt": 1}


def test_what_was_read_counts_when_its_call_has_gone(session: Session) -> None:
    """AGG 27: once its call has left the list, an exempt result is one that was kept."""
    messages = [answer(call("r1", "Read")), msg(res("r1", 500_000 * "a"))]
    session.enforce(messages)
    shorter = [messages[1], msg(res("t1", 50_000 * "b"))]
    sent = enforce(session, shorter)
    assert check_references(shorter, sent, session.directory) == ["t1"]
    assert session.report.over_limit_chars > 300_000


def test_a_result_that_stands_twice_counts_twice(session: Session) -> None:
    """AGG 27: both occurrences in a message go together, and a later message follows them."""
    twice = res("t1", 90_000 * "a")
    messages = [msg(twice, res("t2", 60_000 * "b"), twice), *turn("Fetch"), msg(twice)]
    sent = enforce(session, messages)
    assert check_references(messages, sent, session.directory) == ["t1", "t1", "t1"]
    first, _, second, third = (block["content"] for block in results_in(sent))
    assert first == second == third


def test_a_later_message_follows_a_kept_one(session: Session) -> None:
    """AGG 27: what one message keeps is not replaced in the next, even if that is too large."""
    again = res("t1", 150_000 * "a")
    messages = [msg(again), answer(), msg(again, res("t2", 60_000 * "b"))]
    sent = enforce(session, messages)
    assert check_references(messages, sent, session.directory) == ["t2"]


def test_what_was_seen_is_accepted_over_the_limit(root: Path) -> None:
    """AGG 27: results kept under a larger limit stay, and the excess is reported."""
    messages = [msg(res("t1", 150_000 * "a"))]
    with Session.open(root, "session", durability="process") as session:
        session.enforce(messages)
    limits = Limits(max_message_chars=100_000)
    with Session.open(root, "session", limits=limits, durability="process") as session:
        assert session.enforce(messages) is messages
        assert session.report.over_limit_chars == 50_000


def test_standing_references_count(session: Session) -> None:
    """AGG 27: what the gate left in a message counts with the length that the model sees."""
    small = gate(session, res("t1", 60_000 * "a"))
    length = len(small["content"])
    rest = [res("t2", 100_000 * "b"), res("t3", (100_000 - length) * "c")]
    fits = [msg(small, *rest)]
    assert session.enforce(fits) is fits
    with Session.open(session.directory.parent, "other", durability="process") as other:
        over = [msg(small, *rest, res("t4", "d"))]
        assert check_references(over, enforce(other, over), other.directory) == ["t2"]


def test_off_is_off(root: Path) -> None:
    """AGG 27: with an infinite limit nothing is replaced, whatever the sum."""
    limits = Limits(max_message_chars=math.inf)
    with Session.open(root, "session", limits=limits, durability="process") as session:
        messages = [msg(*(res(f"t{index}", 400_000 * "a") for index in range(5)))]
        assert session.enforce(messages) is messages
        assert session.report.over_limit_chars == 0
