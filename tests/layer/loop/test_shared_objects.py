"""Host code may do what it likes with what it is handed: the history is the loop's own."""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from tests.layer.loop.agents import BOTH_WAYS, FunctionTool, call, run
from toolbudget.loop import AgentLoop, RequestReady

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolbudget import Session
    from toolbudget.loop import LoopEvent, ModelRequest

HANDS = ["input", "blocks", "block", "events", "request", "response", "words"]


def ruin(value: object) -> None:
    """Change in place whatever can be changed below a value."""
    if isinstance(value, dict):
        children = list(value.values())
        value["ruined"] = True
    elif isinstance(value, list):
        children = list(value)
        value.append("ruined")
    elif dataclasses.is_dataclass(value):
        children = [getattr(value, one.name) for one in dataclasses.fields(value)]
    else:
        children = list(value) if isinstance(value, tuple) else []
    for child in children:
        ruin(child)


class Host:
    """A model, a tool and a hook; one of their hands ruins what it has been given or gave."""

    def __init__(self, hand: str) -> None:
        self.hand = hand
        self.sent: list[list[Any]] = []
        self.given: list[object] = []

    def ask(self, request: ModelRequest) -> object:
        """Call a tool twice, then end; what was handed out before is ruined first."""
        self.sent.append(copy.deepcopy(list(request.messages)))
        if self.hand == "request":
            ruin(request.messages)
        for one in self.given:
            ruin(one)
        number = len(self.sent)
        content: list[Any] = [call(f"t{number}", "work", path="a.py", lines=[1, {"to": 2}])]
        if number > 2:
            content = [{"type": "text", "text": "Done."}]
        return self._kept("response", {"role": "assistant", "content": content})

    def work(self, given: Mapping[str, Any]) -> object:
        """Give back blocks, or a whole result."""
        if self.hand == "input":
            ruin(given)
        blocks = [{"type": "text", "text": "seen", "citations": [{"line": 1}]}]
        if self.hand == "block":
            return self._kept("block", {"type": "tool_result", "content": blocks})
        return self._kept("blocks", blocks)

    def hear(self, event: LoopEvent) -> None:
        """Ruin what happened; a request that is ready is still to be sent as it is."""
        if self.hand == "events" and not isinstance(event, RequestReady):
            ruin(event)

    def words(self) -> list[Any]:
        """Say something in blocks."""
        content: list[Any] = [{"type": "text", "text": "Go on.", "citations": []}]
        self._kept("words", content)
        return content

    def _kept(self, hand: str, value: object) -> object:
        if self.hand == hand:
            self.given.append(value)
        return value


@pytest.mark.parametrize("is_async", BOTH_WAYS, ids=["sync", "async"])
@pytest.mark.parametrize("hand", HANDS)
def test_nothing_that_is_handed_out_is_the_history(
    session: Session, hand: str, *, is_async: bool
) -> None:
    """Each request begins with the one before, also that of a process that resumes."""
    host = Host(hand)
    tools = [FunctionTool("work", host.work)]
    loop = AgentLoop(host.ask, session=session, tools=tools, on_event=host.hear)
    assert run(loop, host.words(), is_async=is_async).text == "Done."
    run(loop, "More.", is_async=is_async)
    run(AgentLoop(host.ask, session=session), "And more.", is_async=is_async)
    for before, after in zip(host.sent, host.sent[1:], strict=False):
        assert after[: len(before)] == before
    assert "ruined" not in repr(host.sent)
    calls = [block for message in host.sent[-1] for block in message["content"]]
    inputs = [block["input"] for block in calls if block["type"] == "tool_use"]
    assert inputs == [{"path": "a.py", "lines": [1, {"to": 2}]}] * 2
