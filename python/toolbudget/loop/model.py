"""What a model is to the loop: a callable that is given a request and gives back a response."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from toolbudget._core.pure.shape import field as field_of
from toolbudget._core.pure.shape import text_field
from toolbudget.errors import InvalidMessageError
from toolbudget.messages.plain import clone, content_blocks, shown
from toolbudget.tokens._records import read_usage

__all__ = ["Model", "ModelReply", "ModelRequest", "ModelResponse", "read_response"]

Block: TypeAlias = dict[str, Any]


def _ignore(text: str) -> None:
    """Take a piece of a streamed text that nobody listens to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What a model is asked.

    Attributes:
        messages: As the API accepts them: alternating roles, every call answered, no empty text.
        system: The system prompt, a text or blocks.
        tools: Definitions of the tools, each with ``name``, ``description`` and ``input_schema``.
        parameters: More parameters of the request, such as a stage of a pipeline asks for.
        on_text: To be called with each piece of text of a streamed response.

    Example:
        >>> from toolbudget.loop import ModelRequest
        >>> ModelRequest(messages=[{"role": "user", "content": "hello"}]).tools
        ()
    """

    messages: Sequence[Mapping[str, Any]]
    system: str | Sequence[Mapping[str, Any]] | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    on_text: Callable[[str], object] = field(default=_ignore, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """What a model answered.

    Attributes:
        content: Its blocks.
        stop_reason: Why it stopped, as the provider says.
        usage: Tokens, as the provider reports them; ``None`` if it reports none.
        id: The provider's id of the response.
        model: The model that answered.

    Example:
        >>> from toolbudget.loop import ModelResponse
        >>> ModelResponse([{"type": "text", "text": "Done."}], "end_turn").text
        'Done.'
    """

    content: list[Block]
    stop_reason: str | None = None
    usage: Mapping[str, Any] | None = None
    id: str | None = None
    model: str | None = None

    @property
    def text(self) -> str:
        """The texts of its blocks, a line break between two."""
        parts = [block for block in self.content if text_field(block, "type") == "text"]
        texts = [text_field(part, "text") for part in parts]
        return "\n".join(text for text in texts if text)

    @property
    def calls(self) -> list[Block]:
        """Its calls of tools of the host."""
        return [block for block in self.content if text_field(block, "type") == "tool_use"]


ModelReply: TypeAlias = ModelResponse | Mapping[str, Any] | object
"""A response: ours, the provider's JSON, or a client's object with ``content``."""


class Model(Protocol):
    """Any callable, synchronous or asynchronous."""

    def __call__(self, request: ModelRequest, /) -> ModelReply | Awaitable[ModelReply]:
        """Answer one request."""
        ...


def read_response(reply: object) -> ModelResponse:
    """Read what a model gave back; nothing of it is shared.

    Raises:
        InvalidMessageError: It has no content, or one that is neither text nor blocks, or a call
            in it has no id, no name, or the id of another one.
    """
    content = field_of(reply, "content")
    if content is None:
        raise InvalidMessageError(f"the model's response has no content: {shown(reply)}")
    usage = _plain_usage(field_of(reply, "usage"))
    blocks = content_blocks(content, "the model's response")
    _check_calls(blocks)
    return ModelResponse(
        blocks,
        text_field(reply, "stop_reason"),
        usage,
        text_field(reply, "id"),
        text_field(reply, "model"),
    )


def _plain_usage(usage: object) -> dict[str, Any] | None:
    copied = clone(usage)
    if copied is None or isinstance(copied, dict):
        return copied
    # A client's object that no copy can be made of: at least what everybody counts is kept.
    names = (
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "output_tokens",
    )
    tokens = read_usage(usage)
    return dict(zip(names, tokens, strict=True)) if any(tokens) else None


def _check_calls(blocks: Sequence[Block]) -> None:
    known: set[str] = set()
    for block in blocks:
        if text_field(block, "type") != "tool_use":
            continue
        name = text_field(block, "id")
        if not name or not text_field(block, "name"):
            raise InvalidMessageError(f"a call must have an id and a name: {shown(block)}")
        if name in known:
            raise InvalidMessageError(f"two calls of a response have one id: {name!r}")
        known.add(name)
