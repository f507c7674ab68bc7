"""The loop's turns: what is asked, what is run, and when it ends."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import answer
from tests.layer.loop.agents import BOTH_WAYS, FunctionTool, call, checked, results_of, run, say
from toolbudget import ConfigError, InvalidMessageError, Session
from toolbudget.loop import (
    AgentLoop,
    Ended,
    ModelRequest,
    ModelResponse,
    RequestReady,
    Responded,
    ScriptedModel,
    TextPiece,
    ToolCalled,
    ToolFinished,
)
from toolbudget.tokens import read_window_count

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from toolbudget.loop import LoopEvent

both_ways = pytest.mark.parametrize("is_async", BOTH_WAYS, ids=["sync", "async"])


@both_ways
def test_calls_are_run_until_there_are_none(session: Session, *, is_async: bool) -> None:
    """Each answer's calls get their results in the next request; the last text is the result."""
    model = ScriptedModel(
        [[call("t1", text="one"), call("t2", text="two")], [call("t3", text="three")], "Done."]
    )
    loop = AgentLoop(model, session=session, tools=[say], system="Be brief.")
    result = run(loop, "Go.", is_async=is_async)
    assert (result.reason, result.text, result.turns) == ("completed", "Done.", 3)
    requests = checked(model)
    assert [len(request.messages) for request in requests] == [1, 3, 5]
    found = results_of(requests[-1])
    assert {name: block["content"] for name, block in found.items()} == {
        "t1": "one",
        "t2": "two",
        "t3": "three",
    }
    assert requests[0].system == "Be brief."
    assert [tool["name"] for tool in requests[0].tools] == ["say"]


@both_ways
def test_results_stand_in_the_order_of_the_calls(session: Session, *, is_async: bool) -> None:
    """However long each call takes, the request is the same."""
    second_is_done = threading.Event()

    def slow(_given: Mapping[str, Any]) -> str:
        assert second_is_done.wait(10)
        return "slow"

    def quick(_given: Mapping[str, Any]) -> str:
        return "quick"

    def tell(event: LoopEvent) -> None:
        if isinstance(event, ToolFinished) and event.name == "quick":
            second_is_done.set()

    model = ScriptedModel([[call("t1", "slow"), call("t2", "quick")], "Done."])
    tools = [FunctionTool("slow", slow), FunctionTool("quick", quick)]
    run(AgentLoop(model, session=session, tools=tools, on_event=tell), "Go.", is_async=is_async)
    assert list(results_of(checked(model)[-1])) == ["t1", "t2"]


@both_ways
def test_calls_run_side_by_side_up_to_the_bound(*, is_async: bool) -> None:
    """Two that wait for each other both end; never are there more at once than allowed."""
    lock, meeting = threading.Lock(), threading.Barrier(2, timeout=10)
    running, most = 0, 0

    def meet(_given: Mapping[str, Any]) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        meeting.wait()
        with lock:
            running -= 1
        return "met"

    model = ScriptedModel([[call(f"t{index}", "meet") for index in range(6)], "Done."])
    loop = AgentLoop(model, tools=[FunctionTool("meet", meet)], max_parallel_calls=2)
    run(loop, "Go.", is_async=is_async)
    assert most == 2
    assert {block["content"] for block in results_of(checked(model)[-1]).values()} == {"met"}


@both_ways
def test_asynchronous_models_and_tools(session: Session, *, is_async: bool) -> None:
    """Tools are awaited either way; a model needs ``arun``."""

    async def greet(given: Mapping[str, Any]) -> str:
        return f"Hello {given['name']}!"

    script = ScriptedModel([[call("t1", "greet", name="Ada")], "Done."])

    async def model(request: ModelRequest) -> ModelResponse:
        return script(request)

    tools = [FunctionTool("greet", greet)]
    loop = AgentLoop(model if is_async else script, session=session, tools=tools)
    assert run(loop, "Go.", is_async=is_async).text == "Done."
    assert results_of(script.requests[-1])["t1"]["content"] == "Hello Ada!"
    if not is_async:
        with pytest.raises(ConfigError, match="model is asynchronous, use arun"):
            AgentLoop(model).run("Go.")


@both_ways
def test_a_large_result_goes_through_the_gate(session: Session, *, is_async: bool) -> None:
    """The request and the transcript hold the reference, the store holds the text."""
    text = "a line of output\n" * 10_000
    model = ScriptedModel([[call("t1", text=text)], "Done."])
    run(AgentLoop(model, session=session, tools=[say]), "Go.", is_async=is_async)
    shown = results_of(checked(model)[-1])["t1"]["content"]
    assert shown.startswith("<persisted-output>")
    path = session.result_path("t1")
    assert path is not None
    assert path.read_text() == text
    # Once in the model's call, which is its own; the result is not in the transcript.
    assert session.transcript_path.read_text().count(text.replace("\n", "\\n")) == 1


@both_ways
def test_the_budget_holds_for_the_results_of_one_answer(
    session: Session, *, is_async: bool
) -> None:
    """Five results below their own limit are together too much: the largest are replaced."""
    big = FunctionTool("big", lambda given: given["letter"] * 45_000)
    calls = [call(f"t{letter}", "big", letter=letter) for letter in "abcde"]
    model = ScriptedModel([calls, "Done."])
    run(AgentLoop(model, session=session, tools=[big]), "Go.", is_async=is_async)
    sizes = [len(block["content"]) for block in results_of(checked(model)[-1]).values()]
    assert sum(sizes) <= 200_000
    assert sorted(sizes)[1:] == [45_000] * 4


@both_ways
def test_without_a_session_nothing_is_stored(*, is_async: bool) -> None:
    """Everything goes out as it is, and the history is kept in memory."""
    model = ScriptedModel([[call("t1", text="x" * 300_000)], "Done.", "Again."])
    loop = AgentLoop(model, tools=[say])
    run(loop, "Go.", is_async=is_async)
    assert len(results_of(checked(model)[-1])["t1"]["content"]) == 300_000
    run(loop, "And now?", is_async=is_async)
    assert [record["type"] for record in loop.messages] == ["user", "assistant"] * 3
    assert len(checked(model)[-1].messages) == 5


@both_ways
def test_the_bound_of_turns_ends_a_run_that_can_go_on(session: Session, *, is_async: bool) -> None:
    """It ends behind results, and goes on from there."""
    model = ScriptedModel([[call("t1", text="one")], [call("t2", text="two")], "Done."])
    loop = AgentLoop(model, session=session, tools=[say], max_turns=2)
    assert run(loop, "Go.", is_async=is_async).reason == "max_turns"
    assert len(model.requests) == 2
    assert run(loop, is_async=is_async).reason == "completed"
    assert len(checked(model)) == 3


@both_ways
def test_with_nothing_to_go_on_with_the_model_is_not_asked(*, is_async: bool) -> None:
    """A finished conversation stays finished, and gives its last text again."""
    model = ScriptedModel(["Done."])
    loop = AgentLoop(model)
    run(loop, "Go.", is_async=is_async)
    again = run(loop, is_async=is_async)
    assert (again.reason, again.text, again.turns) == ("completed", "Done.", 0)
    with pytest.raises(ConfigError, match="no conversation to go on with"):
        run(AgentLoop(model), is_async=is_async)


def test_a_paused_answer_is_one_message_with_what_follows() -> None:
    """A tool that the provider runs may take more than one request."""
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    seen: list[ModelRequest] = []

    def model(request: ModelRequest) -> ModelResponse:
        seen.append(request)
        if len(seen) == 1:
            return ModelResponse([search], "pause_turn", id="m1")
        return ModelResponse([found, {"type": "text", "text": "Found."}], "end_turn", id="m2")

    events: list[LoopEvent] = []
    loop = AgentLoop(model, on_event=events.append)
    assert loop.run("Search.").text == "Found."
    assert list(seen[1].messages[1:]) == [{"role": "assistant", "content": [search]}]
    ready = [event.transition for event in events if isinstance(event, RequestReady)]
    assert ready == ["user_input", "pause"]


@both_ways
def test_words_behind_a_paused_answer_are_answered(*, is_async: bool) -> None:
    """The provider's tool failed, the user says something else: first the answer is ended."""
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    paused = {"content": [search], "stop_reason": "pause_turn"}
    last = [{**found, "tool_use_id": "s2"}, {"type": "text", "text": "Found."}]
    ended = {"content": last, "stop_reason": "end_turn"}
    again = {**paused, "content": [found, {**search, "id": "s2"}]}
    model = ScriptedModel([paused, RuntimeError("overloaded"), again, ended, "I hurry."])
    loop = AgentLoop(model)
    with pytest.raises(RuntimeError):
        run(loop, "Search.", is_async=is_async)
    assert run(loop, "Hurry.", is_async=is_async).text == "I hurry."
    assert model.requests[-1].messages[-1]["content"] == [{"type": "text", "text": "Hurry."}]


@pytest.mark.parametrize("kept", [2, 3, 4])
def test_words_behind_a_paused_answer_are_found_after_a_kill(kept: int) -> None:
    """Whichever of the answers was the last one recorded, the words are answered in the end."""
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    text = {"type": "text", "text": "Found."}
    paused, again, ended = (
        [search],
        [found, {**search, "id": "s2"}],
        [{**found, "tool_use_id": "s2"}, text],
    )
    reasons = ["pause_turn", "pause_turn", "end_turn"]
    answers = [
        {"role": "assistant", "content": content, "stop_reason": reason}
        for content, reason in zip([paused, again, ended], reasons, strict=True)
    ]
    words = {"role": "user", "content": "Hurry."}
    said = [{"role": "user", "content": "Search."}, answers[0], words, *answers[1:]]
    replies: list[Any] = [
        {"content": one["content"], "stop_reason": one["stop_reason"]} for one in answers[1:]
    ][kept - 2 :]
    model = ScriptedModel([*replies, "I hurry."])
    loop = AgentLoop(model, messages=said[: kept + 1])
    assert loop.run().text == "I hurry."
    assert model.requests[-1].messages[-1]["content"] == [{"type": "text", "text": "Hurry."}]
    assert AgentLoop(ScriptedModel([]), messages=loop.messages).run().text == "I hurry."


def test_events_tell_the_run_in_order(session: Session) -> None:
    """Requests, answers, calls and results come as they happen, the end last."""
    events: list[LoopEvent] = []
    model = ScriptedModel([[call("t1", text="one")], "Done."])
    result = AgentLoop(model, session=session, tools=[say], on_event=events.append).run("Go.")
    assert [type(event) for event in events] == [
        RequestReady,
        Responded,
        ToolCalled,
        ToolFinished,
        RequestReady,
        TextPiece,
        Responded,
        Ended,
    ]
    assert events[-1] == Ended(result)
    ready = [event.transition for event in events if isinstance(event, RequestReady)]
    assert ready == ["user_input", "tool_results"]


def test_a_callback_that_raises_changes_nothing(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged, as the session's own callback is."""

    def fail(event: LoopEvent) -> None:
        raise ValueError(type(event).__name__)

    assert AgentLoop(ScriptedModel(["Done."]), session=session, on_event=fail).run("Go.").turns == 1
    assert "on_event raised for RequestReady" in caplog.text


def test_usage_adds_up_over_runs(session: Session) -> None:
    """Tokens are those that the responses report, and output goes to the turn's budget."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": None, "output_tokens": 7}
    replies = [ModelResponse([{"type": "text", "text": "Yes."}], "end_turn", usage)] * 3
    loop = AgentLoop(ScriptedModel(replies), session=session)
    assert loop.run("One.").usage.output_tokens == 7
    loop.run("Two.")
    assert loop.run("Three.").usage.responses == 1
    assert (loop.usage.responses, loop.usage.input_tokens, loop.usage.output_tokens) == (3, 30, 21)
    assert session.turn_budget.turn_output_tokens == 7


def test_an_id_that_every_response_has_is_none() -> None:
    """Some servers give the same id each time; the messages stay apart."""
    replies = [
        ModelResponse([call("call_0", text="one")], "tool_use", id="same"),
        ModelResponse([call("call_0", text="two")], "tool_use", id="same"),
        ModelResponse([{"type": "text", "text": "Done."}], "end_turn", id="same"),
    ]
    model = ScriptedModel(replies)
    AgentLoop(model, tools=[say]).run("Go.")
    roles = [message["role"] for message in checked(model)[-1].messages]
    assert roles == ["user", "assistant", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"max_turns": 0}, r"max_turns \(argument\) must be a whole number above 0: 0"),
        ({"max_parallel_calls": True}, r"max_parallel_calls \(argument\) .*: True"),
        ({"tools": [say, say]}, "must have a name each: 'say'"),
        ({"tools": ["say"]}, "must have a name and run: 'say'"),
        ({"tools": None}, r"tools \(argument\) .*: None"),
        ({"tools": "say"}, r"tools \(argument\) .*: 'say'"),
        ({"messages": 5}, r"messages \(argument\) .*: 5"),
        ({"messages": "Go."}, r"messages \(argument\) .*: 'Go.'"),
        ({"session": "main"}, r"session \(argument\) .*: 'main'"),
        ({"pipeline": 5}, r"pipeline \(argument\) .*: 5"),
        ({"system": 5}, r"system \(argument\) .*: 5"),
        ({"on_event": 5}, r"on_event \(argument\) .*: 5"),
        ({"model": "claude"}, r"model \(argument\) must be callable: 'claude'"),
    ],
)
def test_arguments_are_checked_at_the_door(arguments: dict[str, Any], problem: str) -> None:
    """The error names the argument and the value."""
    model = arguments.pop("model", ScriptedModel([]))
    with pytest.raises(ConfigError, match=problem):
        AgentLoop(model, **arguments)


@pytest.mark.parametrize(
    "beginning",
    [
        [answer({"type": "text", "text": "Hello!"})],
        [{"role": "system", "content": "Be brief."}, answer({"type": "text", "text": "Hello!"})],
        [{"type": "assistant", "message": answer({"type": "text", "text": "Hello!"})}],
    ],
)
def test_a_beginning_by_the_model_is_refused(tmp_path: Path, beginning: list[Any]) -> None:
    """Providers want the user first; nothing of it is recorded."""
    session = Session.open(tmp_path, "s", durability="process")
    with pytest.raises(ConfigError, match=r"^messages \(argument\) must begin with the user's: "):
        AgentLoop(ScriptedModel([]), session=session, messages=beginning)
    assert session.transcript is not None
    assert list(session.transcript.messages()) == []


@pytest.mark.parametrize("nothing", ["", " \n", [], [{"type": "text", "text": " "}]])
def test_an_empty_input_is_refused(nothing: Any) -> None:  # noqa: ANN401
    """No provider takes an empty text."""
    loop = AgentLoop(ScriptedModel([]))
    with pytest.raises(ConfigError, match="user_input"):
        loop.run(nothing)
    assert loop.messages == []


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (None, "no content: None"),
        ({"content": 7}, "neither text nor a list of blocks: 7"),
        ({"content": [{"type": "tool_use", "name": "say", "input": {}}]}, "an id and a name"),
        ({"content": [call("t1"), call("t1", text="other")]}, "have one id: 't1'"),
    ],
)
def test_a_response_that_is_none_is_an_error(reply: object, problem: str) -> None:
    """What the model gave is named, and the conversation can be gone on with."""
    replies = iter([reply, "Done."])

    def model(_request: ModelRequest) -> object:
        given = next(replies)
        return {"content": given} if isinstance(given, str) else given

    loop = AgentLoop(model, tools=[say])
    with pytest.raises(InvalidMessageError, match=problem):
        loop.run("Go.")
    assert loop.run().text == "Done."


def test_one_run_at_a_time(tmp_path: Path) -> None:
    """A run within a run would mix two turns."""
    del tmp_path
    loop: AgentLoop

    def model(_request: ModelRequest) -> object:
        with pytest.raises(ConfigError, match="is going on"):
            loop.run("Me too.")
        return {"content": "Done."}

    loop = AgentLoop(model)
    assert loop.run("Go.").text == "Done."


def test_a_clients_plain_objects_are_read_like_json(session: Session) -> None:
    """Attributes instead of keys, in the response, its blocks and its usage."""
    block = SimpleNamespace(type="text", text="Hello.")
    usage = SimpleNamespace(input_tokens=3, cache_read_input_tokens=40, output_tokens=2)
    reply = SimpleNamespace(content=[block], stop_reason="end_turn", usage=usage)
    loop = AgentLoop(lambda _request: reply, session=session)
    result = loop.run("Go.")
    assert (result.text, result.usage.input_tokens, result.usage.output_tokens) == ("Hello.", 3, 2)
    assert read_window_count(loop.messages).reported_tokens == 45
