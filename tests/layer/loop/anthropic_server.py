"""The provider's messages endpoint over a mock transport, whole answers and streamed ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import anthropic
import httpx2

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Server", "client_of", "too_long"]

Block = dict[str, Any]
USAGE: Final = {"input_tokens": 12, "cache_read_input_tokens": 300, "output_tokens": 7}


class Server:
    """Answers with the next reply of a script: blocks, or an error with its status.

    Attributes:
        bodies: Every request that has come.
        headers: Its headers.
    """

    def __init__(self, replies: Sequence[list[Block] | httpx2.Response]) -> None:
        self._replies = iter(replies)
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[httpx2.Headers] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request over HTTP."""
        assert request.url.path == "/v1/messages"
        body = json.loads(request.content)
        self.bodies.append(body)
        self.headers.append(request.headers)
        reply = next(self._replies)
        if isinstance(reply, httpx2.Response):
            return reply
        message = self._message(reply)
        if not body.get("stream"):
            return httpx2.Response(200, json=message)
        stream = "".join(
            f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in _sse(message)
        )
        return httpx2.Response(200, text=stream, headers={"content-type": "text/event-stream"})

    def _message(self, content: list[Block]) -> dict[str, Any]:
        has_calls = any(block["type"] == "tool_use" for block in content)
        return {
            "id": f"msg_{len(self.bodies)}",
            "type": "message",
            "role": "assistant",
            "model": "some-model",
            "content": content,
            "stop_reason": "tool_use" if has_calls else "end_turn",
            "stop_sequence": None,
            "usage": USAGE,
        }


def _sse(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the events of a streamed answer, texts and inputs in two pieces each."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**USAGE, "output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        at: dict[str, Any] = {"index": index}
        if block["type"] == "tool_use":
            whole, empty = json.dumps(block["input"]), {**block, "input": {}}
            kind, key = "input_json_delta", "partial_json"
        elif block["type"] == "thinking":
            whole, empty = block["thinking"], {**block, "thinking": "", "signature": ""}
            kind, key = "thinking_delta", "thinking"
        else:
            whole, empty = block["text"], {**block, "text": ""}
            kind, key = "text_delta", "text"
        yield {"type": "content_block_start", **at, "content_block": empty}
        for piece in (whole[:5], whole[5:]):
            yield {"type": "content_block_delta", **at, "delta": {"type": kind, key: piece}}
        if block["type"] == "thinking":
            delta = {"type": "signature_delta", "signature": block["signature"]}
            yield {"type": "content_block_delta", **at, "delta": delta}
        yield {"type": "content_block_stop", **at}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
        "usage": {"output_tokens": USAGE["output_tokens"]},
    }
    yield {"type": "message_stop"}


def too_long(status: int = 400) -> httpx2.Response:
    """Make the refusal of a prompt that is too long."""
    message = "prompt is too long: 208310 tokens > 200000 maximum"
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    return httpx2.Response(status, json=error)


def client_of(server: Server, *, is_async: bool) -> Any:  # noqa: ANN401 - either client
    """Give a client of the real SDK that retries nothing."""
    transport = httpx2.MockTransport(server.answer)
    if is_async:
        http = httpx2.AsyncClient(transport=transport)
        return anthropic.AsyncAnthropic(api_key="key", http_client=http, max_retries=0)
    return anthropic.Anthropic(
        api_key="key", http_client=httpx2.Client(transport=transport), max_retries=0
    )
