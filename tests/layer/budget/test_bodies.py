"""A session on raw bytes: the same decisions, state, files and reports as on message lists."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import answer, is_reference, msg, res, results_in, stored_files, turn
from tests.strategies import json_lists
from toolbudget import (
    ContentReplacementState,
    InvalidMessageError,
    Limits,
    MemoryStore,
    Session,
    StoreError,
)

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 10_000


def opened(root: Path, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open the session with a limit that two of our results exceed."""
    options.setdefault("limits", Limits(max_message_chars=LIMIT))
    return Session.open(root, "session", durability="process", **options)


def body_of(messages: list[Any], **others: object) -> bytes:
    """Write a request body."""
    return json.dumps({"model": "m", "messages": messages, **others}).encode()


def messages_of(body: bytes) -> Any:  # noqa: ANN401 - any JSON
    """Read the messages of a request body."""
    return json.loads(body)["messages"]


def test_what_changes_is_the_content_alone(tmp_path: Path) -> None:
    """V2: numbers, escapes, blanks and the order of keys stay as they are."""
    big = "x" * (LIMIT + 1)
    before = b'{ "max_tokens":1.50E+2,\t"x":"\\u0041\\/", "messages" : [ {"content":[{"content":'
    after = b',"tool_use_id":"t1","is_error" : false, "type":"tool_result"}], "role":"user"} ] }\n'
    session = opened(tmp_path)
    output = session.enforce_json(before + json.dumps(big).encode() + after)
    assert output.startswith(before + b'"<persisted-output>\\n')
    assert output.endswith(after)
    assert stored_files(session) == {"t1.txt": big.encode()}


def test_a_list_stays_a_list_with_its_breakpoint(tmp_path: Path) -> None:
    """W3: one text block stands for the others, with the last breakpoint as it was written."""
    blocks = (
        b'[{"type":"text","text":"%s","cache_control":{"n":1e2}},{"text":"b","type":"text"}]'
        % (b"a" * LIMIT)
    )
    body = (
        b'[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":%s}]}]'
        % blocks
    )
    output = opened(tmp_path).enforce_json(body)
    [[block]] = [message["content"] for message in json.loads(output)]
    assert [is_reference(part["text"]) for part in block["content"]] == [True]
    assert b'"cache_control":{"n":1e2}}]' in output


def test_records_stay_lines(tmp_path: Path) -> None:
    """V2: a transcript comes back with every line where it was."""
    records = [
        {"type": "summary", "summary": "s"},
        *(
            {"type": message["role"], "message": message}
            for message in turn("Bash", t1=30_000 * "a")
        ),
    ]
    lines = [json.dumps(record).encode() for record in records]
    output = opened(tmp_path).enforce_json(b"\r\n".join([*lines, b""]))
    assert output.split(b"\r\n")[:2] == lines[:2]
    assert is_reference(json.loads(output.split(b"\r\n")[2])["message"]["content"][0]["content"])


def test_nothing_to_change_is_the_same_object(tmp_path: Path) -> None:
    """The body itself comes back, whole or as its only piece."""
    session = opened(tmp_path)
    body = body_of(turn("Bash", t1="small"))
    assert session.enforce_json(body) is body
    [piece] = session.enforce_json_segments(body)
    assert piece is body


@pytest.mark.parametrize(
    "body", [b'{"messages":[NaN]}', b"\xef\xbb\xbf[]", b'["\xff"]', b"[5]", b'{"messages":5}', b"["]
)
def test_what_is_wrong_decides_nothing(tmp_path: Path, body: bytes) -> None:
    """V2: an error names the byte; state, files and the next call are as if it had not been."""
    session = opened(tmp_path)
    with pytest.raises(InvalidMessageError, match=r" at byte \d+$"):
        session.enforce_json(body)
    assert session.state == ContentReplacementState()
    assert not list(tmp_path.rglob("*.jsonl"))
    assert session.enforce_json(b"[]") == b"[]"


@pytest.mark.parametrize("body", [bytearray(b"[]"), memoryview(b"[]"), "[]", None])
def test_only_bytes_are_a_body(tmp_path: Path, body: Any) -> None:  # noqa: ANN401 - anything else
    """What could change meanwhile, or is no bytes, is refused."""
    problem = f"body must be bytes, not {type(body).__name__}: "
    with pytest.raises(InvalidMessageError, match=problem) as raised:
        opened(tmp_path).enforce_json(body)
    assert str(raised.value) == f"{problem}{body!r}"


class HostileBytes(bytes):
    """Says something else of itself than what it holds, or raises."""

    __slots__ = ()

    def __len__(self) -> int:
        """Give a wrong size."""
        return 3

    def __getitem__(self, key: object) -> Any:  # noqa: ANN401 - as the base
        """Raise, as the others do."""
        raise RuntimeError

    __eq__ = __iter__ = __contains__ = __add__ = __getitem__  # type: ignore[assignment]
    decode = find = startswith = count = index = strip = __getitem__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("size_chars", [5, 9_000])
def test_a_subclass_of_bytes_is_what_it_holds(tmp_path: Path, size_chars: int) -> None:
    """V5: what it says of itself takes no part, on either core, also if it comes again."""
    body = json.dumps(turn("Fetch", t1=size_chars * "a")).encode()
    expected = opened(tmp_path / "plain").enforce_json(body)
    session = opened(tmp_path / "plain")
    for one in (body, HostileBytes(body), HostileBytes(body)):
        assert type(session.enforce_json(one)) is bytes
        assert session.enforce_json(one) == expected
        assert b"".join(session.enforce_json_segments(one)) == expected
    session.mark_seen_json(HostileBytes(body))


def test_a_refused_request_is_withdrawn(tmp_path: Path) -> None:
    """B13: what was kept for the last body is fresh again."""
    session = opened(tmp_path)
    answered = [*turn("Fetch", t0=9_000 * "a"), answer()]
    messages = [*answered, *turn("Fetch", t1=9_000 * "a")]
    session.enforce_json(body_of(messages))
    session.withdraw()
    assert session.state.seen_ids == {"t0"}
    messages[-1]["content"].append(res("t2", 5_000 * "b"))
    # The token of what stands is another one now, so nothing that was remembered is believed.
    replaced = [
        block["tool_use_id"]
        for block in results_in(messages_of(session.enforce_json(body_of(messages))))
        if is_reference(block["content"])
    ]
    assert replaced == ["t1"]


def test_a_store_that_fails_leaves_the_content(tmp_path: Path) -> None:
    """G6: the request goes out in full, and the report says why."""

    class Full(MemoryStore):
        def put(self, tool_use_id: str, content: Any) -> Any:  # noqa: ANN401 - as the store's
            raise StoreError(28, f"cannot store {tool_use_id}: {len(content)}")

    session = opened(tmp_path, store=Full())
    body = body_of(turn("Bash", t1=30_000 * "a"))
    assert session.enforce_json(body) is body
    assert [failure.stage for failure in session.report.failures] == ["store"]


def test_numbers_that_python_cannot_hold_are_never_stored_otherwise(tmp_path: Path) -> None:
    """S1: a result whose stored form would be another one is kept."""
    block = b'{"type":"text","text":"%s","n":1e400}' % (b"a" * 2 * LIMIT)
    result = b'{"type":"tool_result","tool_use_id":"t1","content":[%s]}' % block
    body = b'[{"role":"user","content":[%s]}]' % result
    session = opened(tmp_path)
    assert session.enforce_json(body) is body
    assert [failure.stage for failure in session.report.failures] == ["store"]


def test_a_sub_agent_fills_its_gaps_from_bytes(tmp_path: Path) -> None:
    """R7: a sub-agent without its first record takes its parent's replacements over."""
    parent = opened(tmp_path)
    messages = turn("Bash", t1=30_000 * "a")
    output = messages_of(parent.enforce_json(body_of(messages)))
    agent = opened(tmp_path, agent_id="a1", parent=parent)
    assert messages_of(agent.enforce_json(body_of(messages))) == output
    assert agent.report.replaced == 0


def test_without_blocking_the_loop(tmp_path: Path) -> None:
    """The twin for tasks gives the same bytes and a report of its own."""
    session = opened(tmp_path)
    body = body_of(turn("Bash", t1=30_000 * "a"))

    async def both() -> tuple[bytes, int]:
        output = await session.aenforce_json(body)
        return output, session.report.replaced

    output, replaced = asyncio.run(both())
    assert (replaced, is_reference(messages_of(output)[-1]["content"][0]["content"])) == (1, True)
    assert session.enforce_json(body) == output


def test_bodies_from_many_threads(tmp_path: Path) -> None:
    """V2: scanning lets other threads run; every one of them gets the same bytes."""
    session = opened(tmp_path)
    body = body_of([*turn("Bash", t1=30_000 * "a"), answer(), msg(res("t2", "b" * 9_000))])
    outputs: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: outputs.append(session.enforce_json(body)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outputs) == 8
    assert len(set(outputs)) == 1


def twin_of(body: bytes) -> bytes:
    """Give the same bytes as another object."""
    return bytes(bytearray(body))


def test_the_same_body_gives_the_same_object_again(tmp_path: Path) -> None:
    """V3: what went out once is not made anew, whichever object holds the body."""
    session = opened(tmp_path)
    body = body_of([*turn("Bash", t1=30_000 * "a"), answer(), msg(res("t2", "b" * 900))])
    output = session.enforce_json(body)
    pieces = session.enforce_json_segments(body)
    for again in (body, twin_of(body), twin_of(body)):
        assert session.enforce_json(again) is output
        assert session.enforce_json_segments(again) == pieces
        report = session.report
        assert (report.replaced, report.reapplied, report.frozen) == (0, 1, 1)
    pieces.clear()
    assert b"".join(session.enforce_json_segments(body)) == output


def test_an_unchanged_twin_comes_back_itself(tmp_path: Path) -> None:
    """What comes back is the object that was given, not an equal one from before."""
    session = opened(tmp_path)
    body = body_of(turn("Bash", t1="small"))
    for again in (body, twin_of(body), twin_of(body)):
        assert session.enforce_json(again) is again
        [piece] = session.enforce_json_segments(again)
        assert piece is again


def test_a_longer_body_gives_another_output(tmp_path: Path) -> None:
    """What is known about a body is not taken for what holds for the next one."""
    session = opened(tmp_path)
    messages = turn("Bash", t1=30_000 * "a")
    for _ in range(3):
        session.enforce_json(body_of(messages))
    messages += [answer(), *turn("Bash", t2=30_000 * "b")]
    output = messages_of(session.enforce_json(body_of(messages)))
    assert [is_reference(block["content"]) for block in results_in(output)] == [True, True]


def test_known_messages_behind_another_beginning(tmp_path: Path) -> None:
    """What was decided is put into the body of now; one turn more is decided about."""
    session = opened(tmp_path)
    messages = [*turn("Bash", t1=30_000 * "a"), answer()]
    replaced = messages_of(session.enforce_json(body_of(messages)))
    for system in ("another", "a longer one", ""):
        before = b'{"system": "%s", ' % system.encode()
        output = session.enforce_json(before + body_of(messages)[1:])
        assert output.startswith(before)
        assert messages_of(output) == replaced
        report = session.report
        assert (report.replaced, report.reapplied, report.frozen) == (0, 1, 0)
    longer = [*messages, *turn("Bash", t2=30_000 * "b")]
    output = b" " + session.enforce_json(b" " + body_of(longer))
    assert messages_of(output)[: len(messages)] == replaced
    assert [is_reference(block["content"]) for block in results_in(messages_of(output))] == [
        True,
        True,
    ]
    assert messages_of(session.enforce_json(b"  " + body_of(messages))) == replaced
    assert session.report.reapplied == 1


def test_a_tool_that_becomes_exempt_is_counted_as_such(tmp_path: Path) -> None:
    """B3: for counting, exemption is asked for at every call, also about the same body."""
    session = opened(tmp_path)
    body = body_of(turn("Fetch", t1=900 * "a"))
    for _ in range(3):
        session.enforce_json(body)
    assert (session.report.frozen, session.report.skipped) == (1, 0)
    session.gate(res("t9", "x"), tool_name="Fetch", declared_limit=float("inf"))
    session.enforce_json(body)
    assert (session.report.frozen, session.report.skipped_by_reason) == (0, {"exempt": 1})


def test_a_body_is_adopted(tmp_path: Path) -> None:
    """R3: every undecided text result of a body is kept, for good."""
    session = opened(tmp_path)
    body = body_of(turn("Bash", t1=30_000 * "a"))
    session.mark_seen_json(body)
    assert (session.report.frozen, session.report.replaced) == (1, 0)
    assert session.withdraw() == 0
    assert session.enforce_json(body) is body
    with pytest.raises(InvalidMessageError, match=r" at byte \d+$"):
        session.mark_seen_json(b'{"messages": [')


def test_segments_without_blocking_the_loop(tmp_path: Path) -> None:
    """The twin for tasks gives the same pieces and a report of its own."""
    session = opened(tmp_path)
    body = body_of(turn("Bash", t1=30_000 * "a"))

    async def both() -> tuple[list[bytes | memoryview], int]:
        pieces = await session.aenforce_json_segments(body)
        return pieces, session.report.replaced

    pieces, replaced = asyncio.run(both())
    assert replaced == 1
    assert b"".join(pieces) == session.enforce_json(body)


STEPS = st.sampled_from(
    [
        *("list", "bytes", "bytes", "bytes", "segments", "segments"),
        *("mark_seen", "mark_seen_json", "withdraw", "reopen", "gate"),
    ]
)


@given(
    messages=json_lists(),
    # Few lengths, so that the same body comes again.
    steps=st.lists(st.tuples(STEPS, st.sampled_from([*range(11), 4, 4, 8, 8, 8])), max_size=8),
    limit=st.sampled_from([1, 300, 650, 1_500]),
)
def test_both_paths_in_any_mix_decide_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    messages: list[Any],
    steps: list[tuple[str, int]],
    limit: float,
) -> None:
    """Outputs, reports, states and files do not tell whether a step was about a list or bytes."""
    root = tmp_path_factory.getbasetemp() / "mixed"
    expected = carry_out(root, messages, [(replace_path(step), n) for step, n in steps], limit)
    assert carry_out(root, messages, steps, limit) == expected


def replace_path(step: str) -> str:
    """Give the step on a list that a step on bytes stands for."""
    if step == "mark_seen_json":
        return "mark_seen"
    return "list" if step in {"bytes", "segments"} else step


def carry_out(
    root: Path, messages: list[Any], steps: list[tuple[str, int]], limit: float
) -> object:
    """Carry out the steps from an empty folder and give all that a host could see."""
    shutil.rmtree(root, ignore_errors=True)
    limits = Limits(max_message_chars=limit, preview_bytes=40)
    session = opened(root, limits=limits)
    seen: list[object] = []
    for step, length in steps:
        if step == "reopen":
            session.close()
            session = opened(root, limits=limits)
            continue
        seen.append(take(session, step, messages[:length]))
        report = session.report
        seen += [
            dataclasses.replace(report, elapsed_s=0.0, failures=()),
            list(map(str, report.failures)),
            session.state.to_json(),
        ]
    session.close()
    files = {path.name: path.read_bytes() for path in root.rglob("*.txt")}
    return seen, files


def take(session: Session, step: str, messages: list[Any]) -> object:
    """Take one step; what comes back is decoded."""
    if step == "list":
        return session.enforce(messages)
    if step == "bytes":
        return messages_of(session.enforce_json(body_of(messages)))
    if step == "segments":
        return messages_of(b"".join(session.enforce_json_segments(body_of(messages))))
    if step == "mark_seen":
        session.mark_seen(messages)
    elif step == "mark_seen_json":
        session.mark_seen_json(body_of(messages))
    elif step == "gate":
        block = res("g1", "x" * 40 * len(messages))
        return session.gate(block, tool_name="Fetch", declared_limit=len(messages) * 30 or 1)
    else:
        session.withdraw()
    return None
