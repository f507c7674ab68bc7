"""Running what a model calls: whatever happens, a call gets one result."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from toolbudget._core.pure.shape import field
from toolbudget._threads import in_thread
from toolbudget.errors import ConfigError, ToolBudgetError
from toolbudget.messages.plain import shown
from toolbudget.tools.definition import Tool

if TYPE_CHECKING:
    from toolbudget.budget.session import Session

__all__ = ["AgentTool", "Answer", "ToolOutput", "Tools", "error_result"]

Block: TypeAlias = dict[str, Any]


@runtime_checkable
class ToolOutput(Protocol):
    """What a tool may give back, beside a text and a list of blocks."""

    @property
    def text(self) -> str:
        """What the model is to see."""
        ...

    @property
    def is_error(self) -> bool:
        """Whether the model should take it for a failure."""
        ...


class AgentTool(Protocol):
    """What the loop needs of a tool; a ``toolbudget.tools.Tool`` is one."""

    @property
    def name(self) -> str:
        """What the model calls it."""
        ...

    @property
    def description(self) -> str:
        """What the model is told it does."""
        ...

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the input."""
        ...

    def run(self, given: Mapping[str, Any], /) -> object:
        """Do it: check the input, and give back a text, blocks, an output, or an awaitable of one.

        A whole ``tool_result`` block is taken too. What it raises becomes the result, marked as an
        error.
        """
        ...


class Answer(NamedTuple):
    """A call, its result, and what a strict session raised about it."""

    call: Mapping[str, Any]
    result: Block
    failure: Exception | None = None


class Tools:
    """The tools of a loop, by name."""

    def __init__(self, tools: Iterable[AgentTool], session: Session | None) -> None:
        """Take the tools.

        Raises:
            ConfigError: Two of them have one name, or one lacks what a tool needs.
        """
        self._session = session
        self._tools: dict[str, AgentTool] = {}
        for one in tools:
            name = field(one, "name")
            if not isinstance(name, str) or not callable(field(one, "run")):
                raise ConfigError(f"tools (argument) must have a name and run: {shown(one)}")
            if name in self._tools:
                raise ConfigError(f"tools (argument) must have a name each: {shown(name)}")
            self._tools[name] = one

    @property
    def definitions(self) -> tuple[Block, ...]:
        """What a model is told of them."""
        return tuple(
            {"name": name, "description": one.description, "input_schema": one.input_schema}
            for name, one in self._tools.items()
        )

    def answer(self, call: Mapping[str, Any]) -> Answer:
        """Run one call to its result, through the gate."""
        try:
            output = _start(self._named(call), call)
            if inspect.isawaitable(output):
                output = asyncio.run(_waited_for(output))
            result = _result(call, output)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a tool may raise anything
            result = error_result(call, _explained(call, error))
        if self._session is None:
            return Answer(call, result)
        try:
            return Answer(call, self._session.gate(result, **_gate_arguments(call)))
        except ToolBudgetError as error:
            return Answer(call, result, error)

    async def aanswer(self, call: Mapping[str, Any]) -> Answer:
        """Do what :meth:`answer` does; a tool that is not asynchronous runs in a thread."""
        try:
            one = self._named(call)
            output: object
            if isinstance(one, Tool) and not inspect.iscoroutinefunction(one.function):
                output = await one.aanswer(call)
            elif inspect.iscoroutinefunction(one.run):
                output = _start(one, call)
            else:
                output = await in_thread(_start, one, call)
            if inspect.isawaitable(output):
                output = await output
            result = _result(call, output)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            result = error_result(call, _explained(call, error))
        if self._session is None:
            return Answer(call, result)
        try:
            return Answer(call, await self._session.agate(result, **_gate_arguments(call)))
        except ToolBudgetError as error:
            return Answer(call, result, error)

    def _named(self, call: Mapping[str, Any]) -> AgentTool:
        one = self._tools.get(call["name"])
        if one is None:
            names = ", ".join(self._tools) or "none"
            raise ToolBudgetError(f"there is no tool {call['name']!r}; there are: {names}")
        return one


def _start(one: AgentTool, call: Mapping[str, Any]) -> object:
    if isinstance(one, Tool) and not inspect.iscoroutinefunction(one.function):
        return one.answer(call)  # some tools want to know which call it is
    return one.run(call.get("input") or {})


def error_result(call: Mapping[str, Any], text: str) -> Block:
    """Make the result of a call that failed, or that did not run."""
    return {**_frame(call), "content": text, "is_error": True}


def _frame(call: Mapping[str, Any]) -> Block:
    block: Block = {"type": "tool_result", "tool_use_id": call["id"]}
    if call.get("toolset_name") is not None:  # the API wants it echoed
        block["toolset_name"] = call["toolset_name"]
    return block


def _result(call: Mapping[str, Any], output: object) -> Block:
    if output is None:
        return {**_frame(call), "content": ""}
    if isinstance(output, str):
        return {**_frame(call), "content": output}
    if isinstance(output, Mapping) and output.get("type") == "tool_result":
        return _sendable({**_frame(call), **output, "tool_use_id": call["id"]})
    if isinstance(output, Sequence) and not isinstance(output, (bytes, bytearray)):
        blocks = list(output)
        if all(isinstance(block, Mapping) for block in blocks):
            return _sendable({**_frame(call), "content": blocks})
    elif isinstance(output, ToolOutput):
        block = {**_frame(call), "content": output.text}
        return {**block, "is_error": True} if output.is_error else block
    kind = type(output).__name__
    raise TypeError(f"it gave back neither a text nor blocks, but {kind}: {shown(output)}")


def _sendable(block: Block) -> Block:
    """Return a block as it is; raise if it is no JSON, which can neither be sent nor recorded."""
    json.dumps(block, allow_nan=False)
    return block


def _explained(call: Mapping[str, Any], error: BaseException) -> str:
    """Say to the model what went wrong; our own errors are written for it."""
    text = str(error)
    if isinstance(error, ToolBudgetError) and text:
        return text
    kind = type(error).__name__
    return f"{call['name']} failed: {kind}: {text}" if text else f"{call['name']} failed: {kind}"


def _gate_arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    caller = call.get("caller")
    return {"tool_name": call["name"], "caller": caller if isinstance(caller, Mapping) else None}


async def _waited_for(output: Awaitable[object]) -> object:
    return await output
