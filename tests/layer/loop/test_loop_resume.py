"""Going on after a kill: the transcript alone says where the conversation was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.loop.agents import FunctionTool, call, checked, results_of, say
from toolbudget import ConfigError, InvalidMessageError, Session
from toolbudget.loop import AgentLoop, ModelResponse, ScriptedModel, ToolFinished

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from toolbudget.loop import LoopEvent, ModelRequest

PROJECT: Final = Path(__file__).parents[3]
# Kills its own process in the second of three calls, when the results of the others are recorded.
KILLED: Final = """
    import os, signal, sys, threading
    from tests.layer.loop.agents import FunctionTool, call
    from toolbudget import Session
    from toolbudget.loop import AgentLoop, ScriptedModel, ToolFinished

    others = threading.Semaphore(0)

    def die(_given):
        for _ in range(3):  # the first turn's, and two of this one
            others.acquire()
        os.kill(os.getpid(), signal.SIGKILL)

    def tell(event):
        if isinstance(event, ToolFinished):
            others.release()

    big = FunctionTool("big", lambda given: given["letter"] * 90_000)
    calls = [call("t1", "big", letter="a"), call("t2", "die"), call("t3", "big", letter="b")]
    first = [call("t0", "big", letter="z")]
    session = Session.open(sys.argv[1], "killed")
    tools = [big, FunctionTool("die", die)]
    AgentLoop(ScriptedModel([first, calls]), session=session, tools=tools, on_event=tell).run("Go.")
"""


def record_of(session: Session) -> list[dict[str, Any]]:
    """Give the messages that a session's transcript holds."""
    assert session.transcript is not None
    return [dict(record) for record in session.transcript.messages()]


def test_a_killed_process_goes_on_within_parallel_calls(tmp_path: Path) -> None:
    """What was recorded is there, what was not has a result that says so; nothing runs again."""
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path)],
        check=False,
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
    )
    assert killed.returncode == -signal.SIGKILL
    with Session.open(tmp_path, "killed") as session:
        model = ScriptedModel(["Done."])
        assert AgentLoop(model, session=session).run().text == "Done."
        found = results_of(checked(model)[0])
        assert list(found) == ["t0", "t1", "t2", "t3"]
        assert "the program ended" in found["t2"]["content"]
        for name, letter in {"t0": "z", "t1": "a", "t3": "b"}.items():
            path = session.result_path(name)
            assert path is not None
            assert path.read_text() == letter * 90_000
        assert [record["type"] for record in record_of(session)].count("user") == 5


@pytest.mark.parametrize("kept", range(1, 12))
def test_every_prefix_of_a_transcript_can_be_gone_on_with(tmp_path: Path, kept: int) -> None:
    """Wherever the process ends, the API takes the next request, and no record is lost."""
    replies: list[Any] = [
        [call("t1", text="one"), call("t2", text="x" * 150_000)],
        [call("t3", text="three")],
        "Done.",
        [call("t4", text="four")],
        "Done again.",
    ]
    with Session.open(tmp_path, "whole", durability="process") as session:
        loop = AgentLoop(ScriptedModel(replies), session=session, tools=[say])
        loop.run("Go.")
        loop.run("Again.")
        whole = record_of(session)
        whole_messages = loop.messages
    assert len(whole) == 11
    with Session.open(tmp_path, "whole") as session:
        assert AgentLoop(ScriptedModel([]), session=session).messages == whole_messages
    with Session.open(tmp_path, "cut", durability="process") as session:
        assert session.transcript is not None
        for record in whole[:kept]:
            session.transcript.append({**record, "sessionId": "cut"})
    with Session.open(tmp_path, "cut", durability="process") as session:
        model = ScriptedModel(["Resumed."])
        loop = AgentLoop(model, session=session)
        loop.run("Go on.")
        checked(model)
        assert {record["uuid"] for record in whole[:kept]} <= {
            record["uuid"] for record in loop.messages
        }


def test_a_resumed_conversation_is_the_same_request(tmp_path: Path) -> None:
    """Byte for byte, although the results were recorded in the order in which they came."""
    with Session.open(tmp_path, "s", durability="process") as session:
        model = ScriptedModel(
            [
                [call(f"t{index}", text="x" * (60_000 + index)) for index in range(6)],
                "Done.",
                "Yes.",
            ]
        )
        loop = AgentLoop(model, session=session, tools=[say])
        loop.run("Go.")
        loop.run("More?")
    with Session.open(tmp_path, "s", durability="process") as session:
        again = ScriptedModel(["Yes."])
        AgentLoop(again, session=session, tools=[say]).run("And more?")
    before, now = model.requests[-1].messages, again.requests[-1].messages
    assert list(now[: len(before)]) == list(before)


@given(order=st.permutations(range(5)))
def test_requests_do_not_depend_on_who_was_first(
    new_root: Callable[[], Path], order: list[int]
) -> None:
    """In whatever order parallel results come, and after a resume, they stand as called."""
    calls = [call(f"t{index}", text=str(index)) for index in range(5)]
    done = [threading.Event() for _ in range(6)]
    turn_of = {index: place for place, index in enumerate(order)}

    def wait_for_turn(given: Mapping[str, Any]) -> str:
        place = turn_of[int(given["text"])]
        assert place == 0 or done[place - 1].wait(10)
        return f"result {given['text']}"

    def tell(event: LoopEvent) -> None:
        if isinstance(event, ToolFinished):
            done[turn_of[int(event.tool_use_id[1:])]].set()

    root = new_root()
    with Session.open(root, "s", durability="process") as session:
        tools = [FunctionTool("say", wait_for_turn)]
        model = ScriptedModel([calls, "Done."])
        AgentLoop(model, session=session, tools=tools, on_event=tell).run("Go.")
        recorded = [list(results_in(record)) for record in record_of(session)]
    assert [name for names in recorded for name in names] == [f"t{index}" for index in order]
    assert list(results_of(checked(model)[-1])) == [f"t{index}" for index in range(5)]
    with Session.open(root, "s", durability="process") as session:
        again = ScriptedModel(["Yes."])
        AgentLoop(again, session=session).run("And?")
    assert list(again.requests[0].messages[:3]) == list(model.requests[-1].messages)


def results_in(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of the calls that a record brings results of."""
    for block in record["message"]["content"]:
        if isinstance(block, dict) and block["type"] == "tool_result":
            yield block["tool_use_id"]


def test_a_budget_in_force_is_found_again(tmp_path: Path) -> None:
    """A resumed turn counts what it has used, and takes the next decision as it would have been."""

    def reply(request: ModelRequest) -> ModelResponse:
        block = {"type": "text", "text": f"part {len(request.messages)}"}
        return ModelResponse([block], "end_turn", {"output_tokens": 3_000})

    def play(root: Path, *, resumes: bool) -> tuple[str, Any]:
        seen = 0

        def stop(request: ModelRequest) -> ModelResponse:
            nonlocal seen
            seen += 1
            if resumes and seen == 3:
                raise ConnectionError
            return reply(request)

        session = Session.open(root, "s", durability="process")
        loop = AgentLoop(ScriptedModel(stop), session=session)
        if not resumes:
            return str(loop.run("+10k Go.").completion), loop.messages
        with pytest.raises(ConnectionError):
            loop.run("+10k Go.")
        session.close()
        session = Session.open(root, "s", durability="process")
        loop = AgentLoop(ScriptedModel(reply), session=session)
        return str(loop.run().completion), loop.messages

    completion, messages = play(tmp_path / "whole", resumes=False)
    again, resumed = play(tmp_path / "resumed", resumes=True)
    assert "continuation_count=2, pct=90" in completion
    assert again.rpartition("duration_ms")[0] == completion.rpartition("duration_ms")[0]
    assert [record["message"]["content"] for record in resumed] == [
        record["message"]["content"] for record in messages
    ]


def test_a_fork_goes_its_own_way(tmp_path: Path) -> None:
    """It begins with the messages it is given, in its own transcript, with the same prefix."""
    with Session.open(tmp_path, "main", durability="process") as session:
        model = ScriptedModel([[call("t1", text="x" * 150_000)], "Done."])
        loop = AgentLoop(model, session=session, tools=[say])
        loop.run("Go.")
        fork = session.fork("fork")
        forked = ScriptedModel(["Forked."])
        other = AgentLoop(forked, session=fork, messages=loop.messages)
        other.run("What if?")
        fork.close()
        before, now = model.requests[-1].messages, checked(forked)[-1].messages
        assert list(now[: len(before)]) == list(before)
        assert len(record_of(session)) == 4
    with Session.open(tmp_path, "fork") as fork:
        resumed = AgentLoop(ScriptedModel([]), session=fork)
        resumed.run()
        assert resumed.messages == other.messages
        with pytest.raises(ConfigError, match="for a session without any, and it has: 6"):
            AgentLoop(ScriptedModel([]), session=fork, messages=loop.messages).run()


def test_a_sub_agent_keeps_its_own_transcript(tmp_path: Path) -> None:
    """Its messages are marked as its own, shared ones too; it is never told to go on."""
    with Session.open(tmp_path, "main", durability="process") as session:
        loop = AgentLoop(ScriptedModel(["Done."]), session=session)
        loop.run("Go.")
        agent = session.subagent("explore")
        model = ScriptedModel([[call("t1", text="one")], "Found."])
        sub = AgentLoop(model, session=agent, tools=[say], messages=loop.messages)
        assert sub.run("+500k Explore.").turns == 2
        checked(model)
        assert {record["agentId"] for record in record_of(agent)} == {"explore"}
        agent.close()
        agent = Session.open(tmp_path, "main", agent_id="explore", parent=session)
        again = AgentLoop(ScriptedModel([]), session=agent)
        again.run()
        assert again.messages == sub.messages
        agent.close()


def test_an_adopted_conversation_may_be_plain_messages() -> None:
    """API messages become records; what is no message is named by its index."""
    history = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]
    model = ScriptedModel(["Fine."])
    AgentLoop(model, messages=history).run("How are you?")
    assert [message["role"] for message in checked(model)[0].messages] == [
        "user",
        "assistant",
        "user",
    ]
    with pytest.raises(InvalidMessageError, match="message 1 is not a user's or a model's"):
        AgentLoop(model, messages=[history[0], {"role": "system", "content": "x"}]).run("Go.")


@pytest.mark.parametrize("owner", [[], {}, ["s"], 7], ids=repr)
def test_a_record_without_a_clear_owner_is_nobodys(tmp_path: Path, owner: object) -> None:
    """Whatever stands in the place of the session's id, the conversation goes on."""
    with Session.open(tmp_path, "s", durability="process") as session:
        assert session.transcript is not None
        message = {"role": "user", "content": "theirs"}
        session.transcript.append({"type": "user", "sessionId": owner, "message": message})
        loop = AgentLoop(ScriptedModel(["Done."]), session=session)
        loop.run("Go.")
        assert len(loop.messages) == 2


def test_an_ephemeral_session_keeps_no_messages(tmp_path: Path) -> None:
    """Its conversation lives as long as the loop."""
    with Session.open(tmp_path, "s", ephemeral=True) as session:
        loop = AgentLoop(ScriptedModel(["Done."]), session=session)
        loop.run("Go.")
        assert len(loop.messages) == 2
        assert not session.transcript_path.exists()


def test_messages_go_where_the_records_go(tmp_path: Path) -> None:
    """A transcript of another program is left alone."""
    theirs = tmp_path / "s.jsonl"
    theirs.write_text('{"type":"user","message":{"role":"user","content":"theirs"}}\n')
    with Session.open(tmp_path, "s", durability="process") as session:
        AgentLoop(ScriptedModel(["Done."]), session=session).run("Go.")
        agent = session.subagent("helper")
        AgentLoop(ScriptedModel(["Helped."]), session=agent).run("Help.")
        agent.close()
    assert theirs.read_text().count("\n") == 1
    with Session.open(tmp_path, "s", durability="process") as session:
        loop = AgentLoop(ScriptedModel([]), session=session)
        assert loop.run().text == "Done."
        assert len(loop.messages) == 2


def test_a_late_result_of_an_answered_call_is_dropped(session: Session) -> None:
    """A call has one result, the first."""

    def again(_given: Mapping[str, Any]) -> str:
        return "first"

    model = ScriptedModel([[call("t1", "again")], "Done."])
    loop = AgentLoop(model, session=session, tools=[FunctionTool("again", again)])
    loop.run("Go.")
    late = {"type": "tool_result", "tool_use_id": "t1", "content": "second"}
    assert loop._conversation.answer(late) is False
    assert len(loop.messages) == 4
