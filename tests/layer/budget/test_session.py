from __future__ import annotations

import copy
import pickle
import shutil
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolbudget
from tests.builders import (
    Message,
    answer,
    call,
    check_references,
    enforce,
    files_below,
    gate,
    is_reference,
    msg,
    read_reference,
    res,
    turn,
)
from toolbudget import (
    ConfigError,
    Limits,
    MemoryStore,
    Session,
    create_content_replacement_state,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


HUGE = 210_000 * "a"


def test_opening_makes_nothing(root: Path) -> None:
    """S5: until something is decided, no folder and no file is made."""
    with Session.open(root, "session") as session:
        assert session.directory == root / "session"
        assert session.transcript_path == root / "session.jsonl"
        session.enforce([{"role": "user", "content": "hello"}])
        gate(session, res("t1", "small"))
    assert not root.exists()


def test_keeping_makes_no_folder_of_results(session: Session, root: Path) -> None:
    """S5: the folder of results is made at the first store, not before."""
    enforce(session, turn("Fetch", t1="small"))
    assert files_below(root) == {"session.jsonl"}
    assert not (session.directory / "tool-results").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"durability": "fast"},
        {"transcript": "main"},
        {"declared_limits": {"Bash": 0}},
        {"unrecorded": "yes"},
    ],
)
def test_options_are_checked(root: Path, arguments: dict[str, Any]) -> None:
    """L5: an option that cannot be used is an error before anything is made."""
    with pytest.raises(ConfigError, match=next(iter(arguments)).removesuffix("_limits")):
        Session.open(root, "session", **arguments)
    assert not root.exists()


@pytest.mark.parametrize("root", [None, 7, "", b"/tmp/x"])
def test_a_root_is_checked(root: Any) -> None:  # noqa: ANN401 - also what it cannot be
    """L5: a root that names no folder as text is an error."""
    with pytest.raises(ConfigError, match=r"root .argument. must name a folder"):
        Session.open(root, "session")


@pytest.mark.parametrize("session_id", [None, 7, b"x", ["s"]])
def test_a_session_id_is_text(root: Path, session_id: Any) -> None:  # noqa: ANN401 - bad on purpose
    """F1: an id of another type is refused by name."""
    with pytest.raises(ConfigError, match="session_id"):
        Session.open(root, session_id)


def test_the_input_is_never_mutated(session: Session) -> None:
    """B10: neither the list nor anything in it changes; the output shares what is unchanged."""
    messages: list[Message] = [
        answer(call("t1", "Fetch"), call("t2", "Fetch")),
        msg(res("t1", HUGE), {"type": "text", "text": "hi"}, res("t2", "small")),
        {"role": "user", "content": "hello"},
        msg(res("t3", "small")),
    ]
    before = copy.deepcopy(messages)
    identities = [id(message) for message in messages]
    sent = enforce(session, messages)
    assert messages == before
    assert [id(message) for message in messages] == identities
    is_shared = [new is old for new, old in zip(sent, messages, strict=True)]
    assert is_shared == [True, False, True, True]
    assert sent[1]["content"][1] is messages[1]["content"][1]
    assert sent[1]["content"][2] is messages[1]["content"][2]
    assert sent[1]["content"] is not messages[1]["content"]


def test_the_output_is_not_tied_to_the_state(session: Session) -> None:
    """B8: what a host does to an output changes no later one."""
    messages = turn("Fetch", t1=[{"type": "text", "text": HUGE}])
    sent = enforce(session, messages)
    expected = copy.deepcopy(sent)
    sent[1]["content"][0]["content"][0]["text"] = "changed"
    sent[1]["content"].clear()
    assert enforce(session, messages) == expected


def test_counts_orders_and_ids_stay(session: Session) -> None:
    """B10: no message or block is added, dropped, merged, split or moved."""
    messages = [
        msg(res("t1", HUGE), res("t2", HUGE)),
        msg(),
        msg(res("t3", HUGE), {"type": "text", "text": "x"}, res("t1", HUGE)),
    ]
    sent = enforce(session, messages)
    assert [message["role"] for message in sent] == 3 * ["user"]
    assert [
        [(block["type"], block.get("tool_use_id")) for block in message["content"]]
        for message in sent
    ] == [
        [(block["type"], block.get("tool_use_id")) for block in message["content"]]
        for message in messages
    ]


def test_must_reapply_needs_no_disk(session: Session) -> None:
    """B8: a recorded replacement is put in again without any file, also through a broken store."""
    messages = turn("Fetch", t1=HUGE)
    before = enforce(session, messages)
    shutil.rmtree(session.directory)
    session.transcript_path.unlink()
    assert enforce(session, messages) == before
    assert files_below(session.directory.parent) == set()
    assert session.report.failures == ()


def test_an_edit_in_place_is_noticed(session: Session) -> None:
    """V3: a history that was edited in place is read as it is now, not as it was."""
    messages = turn("Fetch", t1=HUGE, t2=[{"type": "text", "text": "small"}])
    enforce(session, messages)
    messages[1]["content"][0]["content"] = "short"
    messages[1]["content"][1]["content"][0]["text"] = 220_000 * "b"
    sent = enforce(session, messages)
    assert check_references(messages, sent, session.directory) == ["t2"]


def test_an_ephemeral_session_leaves_no_record(root: Path) -> None:
    """R7: it stores files in the same place, and what it decided is forgotten with it."""
    messages = turn("Fetch", t1=HUGE)
    with Session.open(root, "session", ephemeral=True, durability="process") as session:
        sent = enforce(session, messages)
        assert check_references(messages, sent, session.directory) == ["t1"]
        assert enforce(session, messages) == sent
        assert session.report.replaced == 0
    assert files_below(root) == {"session/tool-results/t1.txt"}
    with Session.open(root, "session", durability="process") as session:
        assert session.state == create_content_replacement_state()


def test_an_ephemeral_session_reads_records(session: Session, root: Path) -> None:
    """R3: opened on a conversation with records, it follows them."""
    messages = turn("Fetch", t1=HUGE)
    sent = enforce(session, messages)
    before = session.transcript_path.read_bytes()
    with Session.open(root, "session", ephemeral=True, durability="process") as other:
        more = [*messages, *turn("Fetch", t2=HUGE)]
        assert enforce(other, more)[:2] == sent
    assert session.transcript_path.read_bytes() == before


def test_a_store_of_the_hosts_own(root: Path) -> None:
    """S5, B6: a store need only have ``put``; its path is what the model is shown."""

    class Shelf:
        def __init__(self) -> None:
            self.memory = MemoryStore()
            self.ids: list[str] = []

        def put(self, tool_use_id: str, content: Any) -> toolbudget.StoredResult:  # noqa: ANN401 - any content
            self.ids.append(tool_use_id)
            return self.memory.put(tool_use_id, content)

    shelf = Shelf()
    with Session.open(root, "session", store=shelf, durability="process") as session:
        small = gate(session, res("t1", 60_000 * "a"))
        sent = enforce(session, turn("Fetch", t2=HUGE, t3="small"))
    assert shelf.ids == ["t1", "t2"]
    assert set(shelf.memory.contents) == {"memory:/t1.txt", "memory:/t2.txt"}
    assert str(read_reference(small["content"]).path) == "memory:/t1.txt"
    assert str(read_reference(sent[1]["content"][0]["content"]).path) == "memory:/t2.txt"
    assert files_below(root) == {"session.jsonl"}


def test_a_long_path_of_a_store_may_gain_nothing(root: Path) -> None:
    """B6, G7: a path that turns out so long that nothing is gained leaves the result in full."""

    class Far:
        def put(self, tool_use_id: str, content: Any) -> toolbudget.StoredResult:  # noqa: ANN401 - any content
            stored = MemoryStore().put(tool_use_id, content)
            shown = 5_000 * "far/" + stored.path.name
            return toolbudget.StoredResult(stored.path, stored.size_bytes, stored.digest, shown)

    limits = Limits(max_result_chars=3_000, max_message_chars=3_000)
    with Session.open(root, "session", limits=limits, store=Far()) as session:
        block = res("t1", 9_000 * "a")
        messages = [msg(block)]
        assert gate(session, block) is block
        assert session.enforce(messages) is messages
        assert session.report.over_limit_chars == 6_000
        assert is_reference(gate(session, res("t2", 90_000 * "a"))["content"])


def test_an_exempt_result_is_recorded_as_kept(session: Session, root: Path) -> None:
    """B3: it stays what it is when its call has left the list, also after reopening."""
    messages = [answer(call("r1", "Read")), msg(res("r1", HUGE))]
    session.enforce(messages)
    assert session.state.seen_ids == {"r1"}
    for opened in (session, Session.open(root, "session", durability="process")):
        rest = messages[1:]
        assert opened.enforce(rest) is rest


def test_a_state_is_a_copy(session: Session) -> None:
    """D3: a host that holds a state sees no later decision in it, and changes none by it."""
    state = session.state
    enforce(session, turn("Fetch", t1=HUGE))
    assert state == create_content_replacement_state()
    assert session.state != state


def test_a_session_is_a_context_manager(root: Path) -> None:
    """F1: leaving it closes it, also after an error; closing twice is harmless."""
    with pytest.raises(LookupError), Session.open(root, "session") as session:
        raise LookupError
    session.close()
    with pytest.raises(toolbudget.ToolBudgetError, match="closed"):
        session.enforce([])


def test_secrets_stay_out_of_representations(session: Session) -> None:
    """F5: neither a state nor its repr, nor the report's failures, show a text."""
    enforce(session, turn("Fetch", t1="s3cr3t" + HUGE))
    assert "s3cr3t" not in repr(session.state)
    assert "s3cr3t" not in repr(session)


def test_a_representation_names_the_place(root: Path) -> None:
    """A line of a log tells which conversation it is about, also after it has ended."""
    with Session.open(root, "it's 1") as session:
        agent = session.subagent("explore")
    assert repr(session) == f'Session({str(root)!r}, "it\'s 1")'
    assert repr(agent) == f"Session({str(root)!r}, \"it's 1\", agent_id='explore')"


def test_a_copy_of_the_messages_is_the_same_conversation(session: Session) -> None:
    """D1: what counts is the text, not the object: a history that was saved and loaded agrees."""
    messages = turn("Fetch", t1=HUGE, t2="small")
    sent = enforce(session, messages)
    assert enforce(session, pickle.loads(pickle.dumps(messages))) == sent  # noqa: S301 - our own


@given(st.lists(st.integers(0, 3_000), max_size=20), st.integers(1, 5_000))
def test_twice_is_once(new_root: Callable[[], Path], sizes: list[int], limit: int) -> None:
    """B10: enforcing what was handed out gives it back."""
    limits = Limits(max_message_chars=limit, preview_bytes=100)
    with Session.open(new_root(), "session", limits=limits, durability="process") as session:
        messages = [msg(*(res(f"t{index}", size * "a") for index, size in enumerate(sizes)))]
        sent = session.enforce(messages)
        assert session.enforce(sent) is sent
        assert session.enforce(messages) == sent


def calls_made(action: Callable[[], object]) -> int:
    """Count the Python and C calls of an action: a measure of work that no other load disturbs."""
    count = 0

    def note(*_event: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("size", [10, 2_500])
@pytest.mark.parametrize("is_one_message", [True, False])
def test_cost_is_linear_in_the_number_of_blocks(
    root: Path, size: int, *, is_one_message: bool
) -> None:
    """B12: four times the results are at most a little more than four times the work."""
    work = []
    for count in (200, 800):
        blocks = [res(f"t{index}", size * "x") for index in range(count)]
        messages = [msg(*blocks)] if is_one_message else [msg(block) for block in blocks]
        limits = Limits(max_message_chars=count * size // 2)
        with Session.open(root, f"s{count}", limits=limits, store=MemoryStore()) as session:
            work += [calls_made(partial(session.enforce, messages)) for _ in range(2)]
    assert work[2] < 4.5 * work[0]
    assert work[3] < 4.5 * work[1]


def test_each_session_counts_its_own_turn(tmp_path: Path) -> None:
    """C3: the turn's budget belongs to a session; a fork begins with none."""
    with Session.open(tmp_path, "a") as session, session.fork("b") as fork:
        session.turn_budget.snapshot_output_tokens_for_turn(500_000)
        session.turn_budget.add_output_tokens(10)
        assert session.turn_budget.turn_output_tokens == 10
        assert session.turn_budget.current_turn_token_budget == 500_000
        assert fork.turn_budget.turn_output_tokens == 0
        assert fork.turn_budget.current_turn_token_budget is None


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_session_has_no_second_object_that_closes_it(
    session: Session, duplicate: Callable[[object], object]
) -> None:
    """S10: one that shares the lock would give it back while the other goes on."""
    enforce(session, [msg(res("t1", HUGE))])
    with pytest.raises(TypeError, match="open it again, or fork it"):
        duplicate(session)
    assert session._lock.is_held
