from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    Message,
    answer,
    call,
    check_reference,
    check_references,
    digest_of,
    enforce,
    gate,
    msg,
    read_reference,
    res,
    results_in,
    stored_files,
    text_of,
)
from toolbudget import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

A, B = 160_000 * "a", 150_000 * "b"


def test_two_results_of_one_id_keep_their_own_text(root: Path) -> None:
    """PAIR 3: in one message, each is previewed and stored as itself, whichever came first."""
    for pair in ([A, B], [B, A]):
        with Session.open(root, pair[0][0], durability="process") as session:
            messages = [msg(*(res("t1", text) for text in pair), res("t2", 60_000 * "c"))]
            sent = enforce(session, messages)
            replaced = check_references(messages, sent, session.directory)
            assert replaced == ["t1", "t1"]
            shown = [read_reference(block["content"]) for block in sent[0]["content"][:2]]
            assert [reference.preview for reference in shown] == [text[:2_000] for text in pair]
            assert shown[0].path != shown[1].path


def test_two_results_of_one_id_at_the_gate(session: Session) -> None:
    """PAIR 3: the second is never given the first one's preview, nor does it take its file."""
    first, second = gate(session, res("t1", A)), gate(session, res("t1", B))
    check_reference(res("t1", A), first, session.directory)
    check_reference(res("t1", B), second, session.directory)
    stored = {digest_of(data) for data in stored_files(session).values()}
    assert stored == {digest_of(A.encode()), digest_of(B.encode())}
    assert read_reference(first["content"]).path.name == "t1.txt"


def test_an_id_that_restarts_every_turn(session: Session, root: Path) -> None:
    """PAIR 3: servers that number from 0 in every turn get each result's own decision, for good."""
    messages: list[Message] = []
    sent: list[Message] = []
    for number, letter in enumerate("abcd"):
        messages += [answer(call("call_0", "Fetch")), msg(res("call_0", 210_000 * letter))]
        sent = enforce(session, messages)
        assert check_references(messages, sent, session.directory) == (number + 1) * ["call_0"]
    with Session.open(root, "session", durability="process") as resumed:
        assert enforce(resumed, messages) == sent
    assert len(stored_files(session)) == 4


def test_the_same_result_twice_is_one(session: Session) -> None:
    """PAIR 3: an id that comes again with the same text has one decision and one file."""
    small = gate(session, res("t1", A))
    assert gate(session, res("t1", A[:-1] + "a")) == small
    assert set(stored_files(session)) == {"t1.txt"}


def test_a_text_that_was_edited_is_another_result(session: Session) -> None:
    """PAIR 3: what a host has redacted or cleared gets neither the old preview nor the old file."""
    messages = [msg(res("t1", 210_000 * "s"))]
    enforce(session, messages)
    cleared = [msg(res("t1", "[cleared]"))]
    assert session.enforce(cleared) is cleared
    redacted = [msg(res("t1", 209_999 * "s" + "*"))]
    sent = enforce(session, redacted)
    assert check_references(redacted, sent, session.directory) == ["t1"]
    assert read_reference(sent[0]["content"][0]["content"]).path.name != "t1.txt"


def test_one_text_under_two_ids_has_two_files(session: Session) -> None:
    """PAIR 3: equal texts do not join two results."""
    for name in ("t1", "t2"):
        check_reference(res(name, A), gate(session, res(name, A)), session.directory)
    assert set(stored_files(session)) == {"t1.txt", "t2.txt"}


RESULTS = st.lists(
    st.tuples(
        st.sampled_from(["t1", "t1", "t2"]),
        st.sampled_from("abc"),
        st.sampled_from([60_000, 60_001, 90_000, 150_000]),
        st.booleans(),
    ),
    min_size=1,
    max_size=8,
)


@given(results=RESULTS, passes_gate=st.booleans())
def test_each_reference_tells_its_own_text(
    new_root: Callable[[], Path],
    results: list[tuple[str, str, int, bool]],
    *,
    passes_gate: bool,
) -> None:
    """PAIR 3: however ids and texts are paired, a reference leads to the text it stands for.

    One (id, text) has one form everywhere.
    """
    blocks = []
    for name, letter, size, is_list in results:
        text = size * letter
        blocks.append(res(name, [{"type": "text", "text": text}] if is_list else text))
    messages = [msg(*blocks)]
    root = new_root()
    with Session.open(root, "session", durability="process") as session:
        if passes_gate:
            messages = [msg(*(gate(session, block) for block in blocks))]
        sent = enforce(session, messages)
        check_references([msg(*blocks)], sent, session.directory)
        shown: dict[tuple[str, str], str] = {}
        for old, new in zip(blocks, results_in(sent), strict=True):
            key = old["tool_use_id"], text_of(old["content"])
            assert shown.setdefault(key, text_of(new["content"])) == text_of(new["content"])
            if new is not old:
                assert read_reference(new["content"]).preview == key[1][:2_000]
    with Session.open(root, "session", durability="process") as resumed:
        assert enforce(resumed, [msg(*blocks)]) == sent
