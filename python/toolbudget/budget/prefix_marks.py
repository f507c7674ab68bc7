"""What is remembered of a request: digests of its parts, never the parts themselves.

A part is a message, or one parameter such as ``system`` or ``tools``. It has a frame (everything
but its blocks) and blocks; text content counts as one text block, as it does for the provider.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import xxhash

from toolbudget._core.pure.fingerprint import fingerprint
from toolbudget._core.pure.shape import plain_text
from toolbudget.budget.prefix_json import Path, as_plain, json_text, leaves

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

__all__ = [
    "UNSENT_PARAMETERS",
    "Mark",
    "Part",
    "PartMarks",
    "Request",
    "Snapshot",
    "as_parameter",
    "items_of",
    "leaf_digest",
    "mark_part",
    "prompt_order",
    "sent_message",
    "split_request",
    "take_snapshot",
    "without_markers",
]

UNSENT_PARAMETERS: Final = frozenset(
    {
        "max_completion_tokens",
        "max_output_tokens",
        "max_tokens",
        "metadata",
        "n",
        "seed",
        "service_tier",
        "stop",
        "stop_sequences",
        "store",
        "stream",
        "stream_options",
        "temperature",
        "timeout",
        "top_k",
        "top_p",
        "user",
    }
)
"""Parameters of a request that are no part of the prompt, so that no prefix depends on them."""

_FIRST_PARAMETERS: Final = ("model", "tools", "system")
_MESSAGE_KEYS: Final = ("messages", "input")
_MARKER: Final = "cache_control"
_MAX_LEAVES: Final = 16
_LEAF_BYTES: Final = 4


class Mark(bytes):
    """One frame or block in a few dozen bytes.

    It is its digest, that of its ``cache_control`` markers, its size, and a short digest of each
    of its first leaves, packed into one object: a conversation has thousands of blocks.
    """

    __slots__ = ()

    @property
    def digest(self) -> bytes:
        """XXH3-128 of its JSON form without markers."""
        return self[:16]

    @property
    def markers(self) -> bytes:
        """Digest of the markers in it."""
        return self[16:23]

    @property
    def is_text(self) -> bool:
        """Whether it was text content."""
        return bool(self[23])

    @property
    def size_chars(self) -> int:
        """Characters of its JSON form without markers."""
        return int.from_bytes(self[24:32], "big")

    @property
    def leaves(self) -> list[bytes]:
        """Digests of path and value of its first leaves."""
        return [self[start : start + _LEAF_BYTES] for start in range(32, len(self), _LEAF_BYTES)]


class PartMarks(NamedTuple):
    """The marks of one message or parameter."""

    frame: Mark
    blocks: tuple[Mark, ...]

    @property
    def digest(self) -> bytes:
        """All of it but markers: equal for equal parts."""
        return b"".join(mark.digest for mark in (self.frame, *self.blocks))

    @property
    def markers(self) -> bytes:
        """All of its markers."""
        return b"".join(mark.markers for mark in (self.frame, *self.blocks))

    @property
    def size_chars(self) -> int:
        """Characters of all of it."""
        return sum(mark.size_chars for mark in (self.frame, *self.blocks))


class Part(NamedTuple):
    """One message or parameter, taken apart."""

    frame: object
    blocks: tuple[object, ...]
    is_text: bool
    path: Path
    """From what was given to the message in it: ``("message",)`` for a transcript record."""

    def block_path(self, block_index: int) -> Path:
        """Return the way to a block from what was given."""
        return (*self.path, "content", *(() if self.is_text else (block_index,)))


class Request(NamedTuple):
    """What a request body holds, in the order in which it makes the prompt."""

    parameters: Mapping[str, object]
    messages_key: str
    messages: object


class Snapshot(NamedTuple):
    """All marks of one request or message list."""

    parameters: Mapping[str, PartMarks] | None
    """``None`` for a message list."""
    messages: tuple[PartMarks, ...]


def take_snapshot(messages: object, parameters: Mapping[str, object] | None = None) -> Snapshot:
    """Mark every message, and every parameter if there are any; holds no reference to them."""
    marked = tuple(mark_part(sent_message(message)) for message in items_of(messages))
    if parameters is None:
        return Snapshot(None, marked)
    return Snapshot(
        {name: mark_part(as_parameter(value)) for name, value in parameters.items()}, marked
    )


def split_request(body: object) -> Request:
    """Take a request body apart; keys that are no part of the prompt are left out.

    Example:
        >>> list(split_request({"messages": [], "system": "s", "tools": [], "top_p": 1}).parameters)
        ['tools', 'system']
    """
    plain = as_plain(body)
    if not isinstance(plain, dict):
        return Request({}, "messages", body)
    messages_key = next((key for key in _MESSAGE_KEYS if key in plain), "messages")
    names = {key for key in plain if isinstance(key, str)} - UNSENT_PARAMETERS
    order = prompt_order(names - {messages_key, _MARKER})
    return Request({name: plain[name] for name in order}, messages_key, plain.get(messages_key, ()))


def prompt_order(names: AbstractSet[str]) -> list[str]:
    """Put names of parameters into the order in which they make the prompt, then the alphabet's."""
    first = [name for name in _FIRST_PARAMETERS if name in names]
    return [*first, *sorted(names - {*first})]


def items_of(messages: object) -> Iterable[object]:
    """Return the messages of a list; anything else counts as one odd message."""
    plain = as_plain(messages)
    return plain if isinstance(plain, (list, tuple)) else (messages,)


def sent_message(element: object) -> Part:
    """Take apart what is sent of one element: of a transcript record, the message in it."""
    plain = as_plain(element)
    if isinstance(plain, dict) and _may_wrap(plain.get("type")):
        inner = as_plain(plain.get("message"))
        if isinstance(inner, dict):
            return _take_apart(inner, ("message",))
    return _take_apart(plain, ())


def _may_wrap(kind: object) -> bool:
    return kind is None or plain_text(kind) in ("user", "assistant")


def as_parameter(value: object) -> Part:
    """Take apart a parameter; its value counts as content."""
    return _take_apart({"content": as_plain(value)}, ())


def _take_apart(plain: object, path: Path) -> Part:
    if not isinstance(plain, dict):
        return Part(plain, (), is_text=False, path=path)
    content = as_plain(plain.get("content"))
    if isinstance(content, str):
        block = {"type": "text", "text": content}
        return Part({**plain, "content": []}, (block,), is_text=True, path=path)
    if isinstance(content, (list, tuple)):
        return Part({**plain, "content": []}, tuple(content), is_text=False, path=path)
    return Part(plain, (), is_text=False, path=path)


def mark_part(part: Part) -> PartMarks:
    """Mark a message or parameter."""
    blocks = tuple(_mark(block, is_text=part.is_text) for block in part.blocks)
    return PartMarks(_mark(part.frame, is_text=False), blocks)


def without_markers(block: object) -> tuple[object, list[object]]:
    """Return a block without the ``cache_control`` of it and of blocks in its content, and those.

    Elsewhere, as in the arguments of a call, the word is data like any other.

    Example:
        >>> without_markers({"type": "text", "cache_control": {"type": "ephemeral"}})
        ({'type': 'text'}, [[-1, {'type': 'ephemeral'}]])
    """
    plain = as_plain(block)
    if not isinstance(plain, dict):
        return plain, []
    markers: list[object] = []
    body = _drop_marker(plain, -1, markers)
    content = as_plain(body.get("content"))
    if isinstance(content, (list, tuple)):
        inner = [as_plain(member) for member in content]
        if any(isinstance(member, dict) and _MARKER in member for member in inner):
            stripped = [
                _drop_marker(member, index, markers) if isinstance(member, dict) else member
                for index, member in enumerate(inner)
            ]
            body = {**body, "content": stripped}
    return body, markers


def _drop_marker(
    block: dict[object, object], index: int, markers: list[object]
) -> dict[object, object]:
    if _MARKER not in block:
        return block
    markers.append([index, block[_MARKER]])
    return {key: value for key, value in block.items() if key != _MARKER}


def leaf_digest(path: Path, text: str) -> bytes:
    """Digest one leaf: enough to tell which of a few has changed."""
    data = f"{json_text(path)}{text}".encode("utf-8", "surrogatepass")
    return xxhash.xxh3_64_digest(data)[:_LEAF_BYTES]


def _mark(value: object, *, is_text: bool) -> Mark:
    body, markers = without_markers(value)
    size_chars, digest = fingerprint([json_text(body)])
    marker_text = json_text(markers).encode("utf-8", "surrogatepass")
    first = (leaf_digest(leaf.path, leaf.text) for leaf in islice(leaves(body), _MAX_LEAVES))
    return Mark(
        bytes.fromhex(digest)
        + xxhash.xxh3_64_digest(marker_text)[:7]
        + bytes([is_text])
        + size_chars.to_bytes(8, "big")
        + b"".join(first)
    )
