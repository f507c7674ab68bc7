"""Tools, scripts and readings of requests for the tests of the loop."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, Final

from tests.layer.messages.api_rules import refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolbudget.loop import AgentLoop, LoopResult, ModelRequest, ScriptedModel

__all__ = [
    "BOTH_WAYS",
    "FunctionTool",
    "Gate",
    "call",
    "checked",
    "results_of",
    "run",
    "say",
]

BOTH_WAYS: Final = [False, True]


class FunctionTool:
    """A tool of a function that takes the input as it is."""

    description = "made for a test"
    input_schema: Final[dict[str, Any]] = {"type": "object"}

    def __init__(self, name: str, function: Callable[[Mapping[str, Any]], object]) -> None:
        self.name = name
        self._function = function

    def run(self, given: Mapping[str, Any]) -> object:
        """Call the function."""
        return self._function(given)


class Gate:
    """Lets the test say when a tool returns; a tool that is held says that it has begun."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def tool(self, name: str = "hold") -> FunctionTool:
        """Give a tool that waits for the test."""

        def hold(_given: Mapping[str, Any]) -> str:
            self.has_begun.set()
            assert self.may_end.wait(10)
            return "late"

        return FunctionTool(name, hold)


say: Final = FunctionTool("say", lambda given: given["text"])
"""A tool that says what it is told to."""


def call(tool_use_id: str, name: str = "say", /, **given: object) -> dict[str, Any]:
    """Make a block that calls a tool."""
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": given}


def run(
    loop: AgentLoop, user_input: str | list[Any] | None = None, *, is_async: bool = False
) -> LoopResult:
    """Run a loop, with threads or with tasks."""
    return asyncio.run(loop.arun(user_input)) if is_async else loop.run(user_input)


def results_of(request: ModelRequest) -> dict[str, dict[str, Any]]:
    """Give the results in a request by the ids of their calls."""
    return {
        block["tool_use_id"]: block
        for message in request.messages
        for block in message["content"]
        if block["type"] == "tool_result"
    }


def checked(model: ScriptedModel) -> list[ModelRequest]:
    """Give what a model was asked, each request read by a second reading of the API's rules."""
    for request in model.requests:
        assert refusals(request.messages) == []
        assert request.messages[0]["role"] == request.messages[-1]["role"] == "user"
    return model.requests
