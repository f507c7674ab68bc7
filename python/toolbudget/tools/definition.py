"""What a tool is: a plain function with the description and schema that a model is given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, ParamSpec, TypeVar

from toolbudget._display import shown
from toolbudget._threads import in_thread
from toolbudget.errors import ConfigError, ToolError, ToolInputError
from toolbudget.tools._input import Parameter, check_input, schema_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

__all__ = ["Parameter", "Tool", "ToolResult", "tool"]

P = ParamSpec("P")
R_co = TypeVar("R_co", bound="ToolResult", covariant=True)

# What both providers take for a name.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool found, made or ran; each tool has a result of its own with more fields.

    Attributes:
        text: What the model is to see.
        is_error: Whether the model should take it for a failure.
    """

    text: str
    is_error: bool = False


@dataclass(frozen=True)
class Tool(Generic[P, R_co]):
    """A function that a model can call.

    Called as it is, it is the plain function. :meth:`run` takes the input of a model, which is
    checked first, and :meth:`answer` a whole ``tool_use`` block; :meth:`arun` and :meth:`aanswer`
    do the same in an event loop.

    Attributes:
        name: What the model calls it.
        description: What the model is told it does.
        parameters: What it is told, in order.
        function: The function itself.
        async_function: Its asynchronous twin; without one it is run in a thread.

    Raises:
        ConfigError: No provider would take the name.

    Example:
        >>> from toolbudget.tools import Parameter, ToolResult, tool
        >>> @tool(Parameter("name", "string", "Who to greet.", is_required=True))
        ... def greet(name: str) -> ToolResult:
        ...     "Greet someone."
        ...     return ToolResult(text=f"Hello {name}!")
        >>> greet("Ada").text, greet.run({"name": "Ada"}).text
        ('Hello Ada!', 'Hello Ada!')
        >>> greet.run({"name": 7})
        Traceback (most recent call last):
            ...
        toolbudget.errors.ToolInputError: greet: name must be text: 7
    """

    name: str
    description: str
    parameters: tuple[Parameter, ...]
    function: Callable[P, R_co]
    async_function: Callable[P, Awaitable[R_co]] | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ConfigError(f"name of a tool must match {_NAME.pattern}: {shown(self.name)}")
        # So that help(), doctest and inspect.signature show the function itself.
        for attribute in ("__doc__", "__module__", "__name__", "__qualname__"):
            object.__setattr__(self, attribute, getattr(self.function, attribute, None))
        object.__setattr__(self, "__wrapped__", self.function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function."""
        return self.function(*args, **kwargs)

    @property
    def input_schema(self) -> dict[str, object]:
        """The JSON Schema of the input."""
        return schema_of(self.parameters)

    def to_anthropic(self) -> dict[str, object]:
        """Return the definition for ``tools`` of Anthropic's Messages API."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }

    def to_openai(self, *, api: Literal["chat", "responses"] = "chat") -> dict[str, object]:
        """Return the definition for ``tools`` of OpenAI's APIs.

        ``strict`` is off: it would make the model give every parameter in every call.

        Args:
            api: ``"chat"`` for Chat Completions, which nests it, or ``"responses"``.

        Raises:
            ConfigError: There is no such ``api``.
        """
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.input_schema,
            "strict": False,
        }
        if api == "chat":
            return {"type": "function", "function": function}
        if api == "responses":
            return {"type": "function", **function}
        raise ConfigError(f"api must be 'chat' or 'responses': {shown(api)}")

    def run(self, given: Mapping[str, object]) -> R_co:
        """Call the function with the input of a model.

        Args:
            given: The ``input`` of a ``tool_use`` block.

        Raises:
            ToolInputError: It is not what the schema asks for; nothing has been done.
            ToolError: The tool could not do it.
        """
        call: Callable[..., R_co] = self.function
        return call(**check_input(self.name, self.parameters, given))

    async def arun(self, given: Mapping[str, object]) -> R_co:
        """Do what :meth:`run` does without blocking the event loop.

        A cancelled call still runs to its end in the background, if the tool has no asynchronous
        twin that does better.
        """
        arguments = check_input(self.name, self.parameters, given)
        call: Callable[..., Awaitable[R_co]] | None = self.async_function
        if call is not None:
            return await call(**arguments)
        function: Callable[..., R_co] = self.function
        return await in_thread(function, **arguments)

    def answer(self, tool_use: Mapping[str, object]) -> dict[str, object]:
        """Run one ``tool_use`` block and return its ``tool_result`` block, also of a failure.

        Raises:
            ToolInputError: The block has no id, or calls another tool.

        Example:
            >>> from toolbudget.tools import ToolResult, tool
            >>> @tool()
            ... def ping() -> ToolResult:
            ...     "Say whether you are there."
            ...     return ToolResult(text="pong")
            >>> ping.answer({"type": "tool_use", "id": "t1", "name": "ping", "input": {}})
            {'type': 'tool_result', 'tool_use_id': 't1', 'content': 'pong'}
        """
        tool_use_id = self._id_of(tool_use)
        try:
            return _block_of(tool_use_id, self.run(_input_of(tool_use)))
        except ToolError as error:
            return _block_of(tool_use_id, error)

    async def aanswer(self, tool_use: Mapping[str, object]) -> dict[str, object]:
        """Do what :meth:`answer` does without blocking the event loop.

        Example:
            >>> import asyncio
            >>> from toolbudget.tools import ToolResult, tool
            >>> @tool()
            ... def ping() -> ToolResult:
            ...     "Say whether you are there."
            ...     return ToolResult(text="pong")
            >>> call = {"type": "tool_use", "id": "t1", "name": "ping", "input": {}}
            >>> asyncio.run(ping.aanswer(call))["content"]
            'pong'
        """
        tool_use_id = self._id_of(tool_use)
        try:
            return _block_of(tool_use_id, await self.arun(_input_of(tool_use)))
        except ToolError as error:
            return _block_of(tool_use_id, error)

    def _id_of(self, tool_use: Mapping[str, object]) -> str:
        tool_use_id, name = tool_use.get("id"), tool_use.get("name")
        if not isinstance(tool_use_id, str):
            raise ToolInputError(f"{self.name}: a call must have an id: {shown(tool_use_id)}")
        if name != self.name:
            raise ToolInputError(f"{self.name}: the call is for another tool: {shown(name)}")
        return tool_use_id


def tool(
    *parameters: Parameter, name: str | None = None, description: str | None = None
) -> Callable[[Callable[P, R_co]], Tool[P, R_co]]:
    """Make a tool of a function.

    Args:
        parameters: What it is told, in order.
        name: What the model calls it, else the function's name.
        description: What the model is told it does, else the first paragraph of the docstring.
    """

    def make(function: Callable[P, R_co]) -> Tool[P, R_co]:
        lines = (function.__doc__ or "").strip().partition("\n\n")[0].splitlines()
        told = " ".join(line.strip() for line in lines) if description is None else description
        return Tool(name or function.__name__, told, _checked(parameters), function)

    return make


def _block_of(tool_use_id: str, outcome: ToolResult | ToolError) -> dict[str, object]:
    """Make the block that answers a call."""
    block: dict[str, object] = {"type": "tool_result", "tool_use_id": tool_use_id}
    if isinstance(outcome, ToolError):
        return {**block, "content": str(outcome), "is_error": True}
    block["content"] = outcome.text
    return {**block, "is_error": True} if outcome.is_error else block


def _input_of(tool_use: Mapping[str, object]) -> Any:  # noqa: ANN401 - checked when it is run
    given = tool_use.get("input")
    return {} if given is None else given


def _checked(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    names = [parameter.name for parameter in parameters]
    if len(set(names)) != len(names):
        raise ConfigError(f"a tool has two parameters of one name: {shown(names)}")
    return tuple(parameters)
