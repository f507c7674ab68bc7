from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolbudget
from tests.builders import (
    Message,
    answer,
    call,
    digest_of,
    is_reference,
    msg,
    read_transcript,
    replacement_of,
    res,
    results_in,
    text_of,
    turn,
)
from toolbudget import (
    Candidate,
    ConfigError,
    ContentReplacementRecord,
    DirectoryStore,
    MemoryStore,
    StoredResult,
    StoreError,
    Transcript,
    apply_tool_result_budget,
    collect_candidates_by_message,
    create_content_replacement_state,
    enforce_tool_result_budget,
    maybe_persist_large_tool_result,
    partition_by_prior_decision,
    reconstruct_content_replacement_state,
    select_fresh_to_replace,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


HUGE = 210_000 * "a"
LIMIT = 3_000


class BrokenStore:
    """A store that never stores."""

    def put(self, tool_use_id: str, content: Any) -> StoredResult:  # noqa: ANN401 - any content
        """Fail."""
        raise StoreError(f"cannot store {tool_use_id!r} of {len(content)}")


def fake(tool_use_id: str, size: int) -> Candidate:
    """Make a candidate of which only the size matters."""
    return Candidate(tool_use_id=tool_use_id, content="", size=size)


def test_without_a_state_the_input_comes_back() -> None:
    """B1: when the feature is off, nothing is looked at, not even whether it is a message list."""
    messages: list[Any] = [42, *turn("Fetch", t1=HUGE)]
    store = MemoryStore()
    assert apply_tool_result_budget(messages, None, store=store) is messages
    assert store.contents == {}


def test_one_enforcement() -> None:
    """B5, B6, D3: what is over the limit is stored and replaced; the state holds all decisions."""
    store, state = MemoryStore(), create_content_replacement_state()
    messages = turn("Fetch", t1=HUGE, t2="small")
    done = enforce_tool_result_budget(messages, state, store=store)
    content = done.messages[1]["content"][0]["content"]
    assert content == replacement_of(HUGE, "memory:/t1.txt")
    assert store.contents == {"memory:/t1.txt": HUGE.encode()}
    assert done.newly_replaced == (
        ContentReplacementRecord(
            kind="tool-result",
            tool_use_id="t1",
            replacement=content,
            size=len(HUGE),
            hash=digest_of(HUGE.encode()),
            file="t1.txt",
            file_digest=digest_of(HUGE.encode()),
        ),
    )
    assert state.seen_ids == {"t1", "t2"}
    assert state.replacements == {"t1": content}
    again = enforce_tool_result_budget(messages, state, store=BrokenStore())
    assert again.messages == done.messages
    assert again.newly_replaced == ()


def test_the_state_changes_after_the_store() -> None:
    """B9: while results are being stored, none of them counts as decided."""
    state = create_content_replacement_state()

    class Watching:
        def put(self, tool_use_id: str, content: Any) -> StoredResult:  # noqa: ANN401 - any content
            assert state == create_content_replacement_state()
            return MemoryStore().put(tool_use_id, content)

    messages = turn("Fetch", t1=HUGE, t2=HUGE + "b", t3="small")
    done = enforce_tool_result_budget(messages, state, store=Watching())
    assert done.report.failures == ()
    assert state.seen_ids == {"t1", "t2", "t3"}


def test_a_store_that_fails_keeps_the_result() -> None:
    """F2, B9: it is decided: kept; the report says why."""
    state = create_content_replacement_state()
    messages = turn("Fetch", t1=HUGE)
    done = enforce_tool_result_budget(messages, state, store=BrokenStore())
    assert done.messages is messages
    assert [failure.tool_use_id for failure in done.report.failures] == ["t1"]
    assert list(state.decisions.values()) == [None]


@pytest.mark.parametrize("exempt_tools", [{"Fetch"}, ["Fetch"], ("Fetch", "Other"), {"Fetch": 1}])
def test_exempt_tools_are_named(exempt_tools: Any) -> None:  # noqa: ANN401 - any collection
    """B3: only the named tools are exempt; by itself no tool is, not even Read."""
    store = MemoryStore()
    messages = turn("Fetch", t1=HUGE)
    done = enforce_tool_result_budget(
        messages, create_content_replacement_state(), store=store, exempt_tools=exempt_tools
    )
    assert done.messages is messages
    reads = turn("Read", t1=HUGE)
    done = enforce_tool_result_budget(
        reads, create_content_replacement_state(), store=store, exempt_tools=exempt_tools
    )
    assert is_reference(done.messages[1]["content"][0]["content"])


def test_options_of_an_enforcement() -> None:
    """B6: limit, preview and accounting are those of the call."""
    messages = turn("Fetch", t1=5_000 * "a", t2=5_000 * "b", t3=900 * "c")
    replaced = {}
    for accounting in ("visible", "originals"):
        done = enforce_tool_result_budget(
            messages,
            create_content_replacement_state(),
            store=MemoryStore(),
            limit=5_950,
            preview_bytes=100,
            accounting=accounting,
        )
        replaced[accounting] = [one.tool_use_id for one in done.newly_replaced]
        assert f"Preview (first 100 bytes):\n{100 * 'a'}\n..." in text_of(
            done.messages[1]["content"][0]["content"]
        )
    assert replaced == {"visible": ["t1", "t2"], "originals": ["t1"]}
    off = enforce_tool_result_budget(
        messages, create_content_replacement_state(), store=MemoryStore(), limit=math.inf
    )
    assert off.messages is messages


@pytest.mark.parametrize("value", ["sum", None, 1])
def test_a_wrong_accounting_is_refused(value: Any) -> None:  # noqa: ANN401 - bad on purpose
    """L5: an option that means nothing is an error that names it."""
    state = create_content_replacement_state()
    with pytest.raises(ConfigError, match="accounting"):
        enforce_tool_result_budget([], state, store=MemoryStore(), accounting=value)


def test_a_hosts_own_transcript_gets_the_records(tmp_path: Path) -> None:
    """R2: the decisions are recorded before they are handed out, and a resume reproduces them."""
    path = tmp_path / "mine.jsonl"
    transcript = Transcript(path, session_id="mine", durability="process")
    store, state = MemoryStore(), create_content_replacement_state()
    messages = [*turn("Fetch", t1=HUGE, t2="small"), *turn("Fetch", t3=HUGE)]
    sent = apply_tool_result_budget(messages[:2], state, store=store, transcript=transcript)
    sent = apply_tool_result_budget(messages, state, store=store, transcript=transcript)
    apply_tool_result_budget(messages, state, store=store, transcript=transcript)
    _, *records = read_transcript(path)
    assert [record["sessionId"] for record in records] == ["mine", "mine"]
    assert [[one["toolUseId"] for one in record["replacements"]] for record in records] == [
        ["t1"],
        ["t3"],
    ]
    resumed = reconstruct_content_replacement_state(messages, transcript.records())
    assert resumed == state
    assert apply_tool_result_budget(messages, resumed, store=BrokenStore()) == sent


def test_a_transcript_without_a_session_names_none(tmp_path: Path) -> None:
    """R2: a host whose transcript belongs to no session still gets records that it can read."""
    transcript = Transcript(tmp_path / "mine.jsonl", durability="process")
    state = create_content_replacement_state()
    messages = turn("Fetch", t1=HUGE)
    sent = apply_tool_result_budget(messages, state, store=MemoryStore(), transcript=transcript)
    resumed = reconstruct_content_replacement_state(messages, transcript.records())
    assert apply_tool_result_budget(messages, resumed, store=BrokenStore()) == sent


def test_a_transcript_that_cannot_be_written_keeps_the_result(tmp_path: Path) -> None:
    """F3: without a record no replacement is handed out, and the decision to keep holds."""
    (tmp_path / "mine.jsonl").write_bytes(b'{"type":"user"}\n')
    transcript = Transcript(tmp_path / "mine.jsonl", session_id="mine", durability="process")
    state = create_content_replacement_state()
    messages = turn("Fetch", t1=HUGE)
    sent = apply_tool_result_budget(messages, state, store=MemoryStore(), transcript=transcript)
    assert sent is messages
    assert list(state.decisions.values()) == [None]


@pytest.mark.parametrize(("size", "is_replaced"), [(5_000, False), (5_001, True)])
def test_the_gate_as_a_function(size: int, *, is_replaced: bool) -> None:
    """G4, G5: without a session, by the limit that is given."""
    store = MemoryStore()
    block = res("t1", size * "a", is_error=True)
    small = maybe_persist_large_tool_result(block, tool_name="Fetch", limit=5_000, store=store)
    if is_replaced:
        shorter = replacement_of(size * "a", "memory:/t1.txt")
        assert small == {**block, "content": shorter}
    else:
        assert small is block
    assert len(store.contents) == is_replaced


def test_the_gate_as_a_function_by_the_rules() -> None:
    """G1 to G6: empty, not all text, a reference, exempt, and a store that fails."""
    store = MemoryStore()

    def pass_gate(block: Message, *, limit: float = 50, where: Any = store) -> Message:  # noqa: ANN401 - any store
        return dict(
            maybe_persist_large_tool_result(block, tool_name="Fetch", limit=limit, store=where)
        )

    assert pass_gate(res("t1", " "))["content"] == "(Fetch completed with no output)"
    for block, limit in (
        (res("t1", [{"type": "image", "source": HUGE}]), 50),
        (res("t1", "<persisted-output>\n" + 100 * "a" + "\n</persisted-output>"), 50),
        (res("t1", HUGE), math.inf),
    ):
        assert pass_gate(block, limit=limit) == block
    assert pass_gate(res("t1", HUGE), where=BrokenStore()) == res("t1", HUGE)
    assert store.contents == {}
    first = pass_gate(res("t1", HUGE))
    assert pass_gate(res("t1", HUGE)) == first
    assert pass_gate(first) == first
    assert pass_gate(res("t1", HUGE + "b"))["content"] != first["content"]
    assert len(store.contents) == 2


def test_the_gate_as_a_function_names_a_reader_nothing() -> None:
    """L3: the limit that is given counts for any tool, also one that is a reader by name."""
    small = maybe_persist_large_tool_result(
        res("t1", HUGE), tool_name="Read", limit=50_000, store=MemoryStore()
    )
    assert is_reference(small["content"])


def test_candidates_by_message() -> None:
    """B2, B3: the text results of each API user message, without exempt ones and references."""
    reference = "<persisted-output>\nsaved\n</persisted-output>"
    messages = [
        answer(call("r1", "Read"), call("t1", "Fetch"), message_id="m1"),
        msg(res("t1", "one"), res("r1", "read"), res("x1", reference)),
        answer(message_id="m1"),
        msg(res("t2", [{"type": "text", "text": "tw"}, {"type": "text", "text": "o"}])),
        answer(message_id="m2"),
        msg(res("t3", ""), res("t4", [{"type": "image"}]), res("t5", None)),
        answer(),
        msg(res("t6", "six")),
        answer(),
        msg(res("x2", reference)),
    ]
    groups = collect_candidates_by_message(messages, exempt_tools={"Read"})
    assert [[(one.tool_use_id, one.size) for one in group] for group in groups] == [
        [("t1", 3), ("t2", 3)],
        [("t6", 3)],
    ]
    assert groups[0][1].content is messages[3]["content"][0]["content"]
    assert groups[0][0].tool_name == "Fetch"
    [first, *_] = collect_candidates_by_message(messages)
    assert [one.tool_use_id for one in first] == ["t1", "r1", "t2"]


def test_partition_by_earlier_decisions() -> None:
    """B4, D1: by id and text together."""
    state = create_content_replacement_state()
    enforce_tool_result_budget(turn("Fetch", t1=HUGE, t2="small"), state, store=MemoryStore())
    later = turn("Fetch", t1=HUGE, t2="small", t3="new")
    later[1]["content"] += [res("t1", HUGE + "b"), res("t2", "other")]
    [candidates] = collect_candidates_by_message(later)
    partition = partition_by_prior_decision(candidates, state)
    assert [one.tool_use_id for one in partition.must_reapply] == ["t1"]
    assert partition.must_reapply[0].replacement == state.replacements["t1"]
    assert [one.tool_use_id for one in partition.frozen] == ["t2"]
    assert [one.tool_use_id for one in partition.fresh] == ["t3", "t1", "t2"]


@given(
    sizes=st.lists(st.integers(1, 30), max_size=10),
    frozen_size=st.integers(0, 100),
    limit=st.integers(1, 200) | st.floats(0.5, 200) | st.just(math.inf),
)
def test_the_plain_rule(sizes: list[int], frozen_size: int, limit: float) -> None:
    """B6: the largest go first, ties in order of appearance, until the rest fits."""
    candidates = [fake(str(index), size) for index, size in enumerate(sizes)]
    chosen = select_fresh_to_replace(candidates, frozen_size, limit)
    order = sorted(candidates, key=lambda one: -one.size)
    assert chosen == order[: len(chosen)]
    left = frozen_size + sum(sizes) - sum(one.size for one in chosen)
    assert left <= limit or len(chosen) == len(candidates)
    assert not chosen or left + chosen[-1].size > limit


def test_persisting_as_a_function(tmp_path: Path) -> None:
    """S1, S4: a text goes to its own file; the same again is success, another gets another name."""
    store = DirectoryStore(tmp_path / "tool-results", durability="process")
    first = toolbudget.persist_tool_result("text", "t1", store=store)
    again = toolbudget.persist_tool_result("text", "t1", store=store)
    other = toolbudget.persist_tool_result("other", "t1", store=store)
    assert first.path == toolbudget.get_tool_result_path(tmp_path / "tool-results", "t1")
    assert (first.path.read_text(), other.path.read_text()) == ("text", "other")
    assert (first.is_new, again.is_new, other.is_new) == (True, False, True)
    assert (first.size_bytes, first.digest) == (4, digest_of(b"text"))
    as_json = toolbudget.get_tool_result_path("/d", "a/b", is_json=True)
    assert (as_json.suffix, str(as_json.parent)) == (".json", "/d")


def test_the_functions_do_what_a_session_does(tmp_path: Path) -> None:
    """SPEC 15: a host that owns its parts sends the same bytes as one with a session."""
    messages = [*turn("Fetch", **{f"t{index}": 45_000 * "a" for index in range(6)})]
    with toolbudget.Session.open(tmp_path, "session", durability="process") as session:
        sent = session.enforce(messages)
        state = create_content_replacement_state()
        store = DirectoryStore(session.directory / "tool-results", durability="process")
        done = enforce_tool_result_budget(messages, state, store=store)
        assert done.messages == sent
        assert state == session.state
        assert len([one for one in results_in(sent) if is_reference(one["content"])]) == 2


def test_arguments_of_a_wrong_kind_are_refused(tmp_path: Path) -> None:
    """L5: what cannot be used is refused by name before anything is decided."""
    state, store = toolbudget.create_content_replacement_state(), toolbudget.MemoryStore()
    unusable: list[tuple[str, Callable[[], object]]] = [
        (
            "exempt_tools",
            lambda: toolbudget.enforce_tool_result_budget(
                [], state, store=store, exempt_tools="Bash"
            ),
        ),
        (
            "state",
            lambda: toolbudget.enforce_tool_result_budget([], cast("Any", None), store=store),
        ),
        ("limits", lambda: toolbudget.Session.open(tmp_path, "s", limits=cast("Any", {}))),
        ("root", lambda: toolbudget.Session.open("", "s")),
        ("root", lambda: toolbudget.Session.open(cast("Any", None), "s")),
        ("redact", lambda: toolbudget.Session.open(tmp_path, "s", redact=cast("Any", 5))),
        ("on_event", lambda: toolbudget.Session.open(tmp_path, "s", on_event=cast("Any", 5))),
        ("store", lambda: toolbudget.Session.open(tmp_path, "s", store=cast("Any", object()))),
    ]
    for name, use in unusable:
        with pytest.raises(toolbudget.ConfigError, match=name):
            use()
    assert list(tmp_path.iterdir()) == []
