"""Edits of a history: which messages were cut out, and what stands in their place.

An edit is recorded as an entry under ``edits`` of a record of decisions::

    {"kind": "snip", "start": 1, "count": 12, "digest": "…", "messages": […], "lastAnswer": "…"}

``digest`` is about what identifies the messages (roles, texts, calls, ids of results) and not about
the texts of results, which the budget and its followers change.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import xxhash

from toolbudget._core.pure.shape import field as field_of
from toolbudget._core.pure.shape import is_mapping, plain_text, read_message, text_field
from toolbudget.budget.read_only import ReadOnlyDict
from toolbudget.errors import TranscriptError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["EDITS", "KEPT_ORIGINAL", "SPAN_KINDS", "ContextEdit"]
__all__ += ["message_digest", "read_edits", "span_digest"]

EDITS: Final = "edits"
"""The key of a record that holds edits."""
KEPT_ORIGINAL: Final = "original"
"""The kind of an entry that says where the full text of a result is, and decides nothing."""
SPAN_KINDS: Final = frozenset({"snip", "compact", "collapse"})
"""Kinds that put messages in the place of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEdit:
    """Messages that were cut out of a history.

    Attributes:
        kind: ``snip``, ``compact`` or ``collapse``.
        start: Index of the first of them, in the history with all earlier edits in it.
        count: How many there are.
        digest: Which they are; see :func:`span_digest`.
        messages: What stands in their place, exactly.
        last_answer: Digest of the last answer at that time: as long as it is the last one, the
            usage it reports is about the history before the edit.
        info: What the stage wants to know about it later.
    """

    kind: str
    start: int
    count: int
    digest: str
    messages: tuple[Mapping[str, Any], ...]
    last_answer: str | None = None
    info: Mapping[str, Any] = field(default_factory=ReadOnlyDict)

    def to_json(self) -> dict[str, object]:
        """Give the entry as it stands in a record."""
        entry: dict[str, object] = {
            "kind": self.kind,
            "start": self.start,
            "count": self.count,
            "digest": self.digest,
            "messages": [dict(message) for message in self.messages],
            "lastAnswer": self.last_answer,
            "info": dict(self.info) or None,
        }
        return {key: value for key, value in entry.items() if value is not None}

    def as_read_back(self) -> ContextEdit:
        """Return it as a later process will read it, sharing nothing with what it was made of.

        Raises:
            TranscriptError: It cannot be written as JSON.
        """
        try:
            entry = json.loads(json.dumps(self.to_json(), allow_nan=False))
        except (TypeError, ValueError, RecursionError) as error:
            raise TranscriptError(f"edit cannot be written as JSON: {error}") from error
        read = _read_edit(entry)
        if read is None:
            raise TranscriptError(f"edit would not be read back: {self.kind!r}")
        return read


def read_edits(raw: Mapping[str, object]) -> Iterator[ContextEdit]:
    """Yield the edits of a record of ours; what is malformed or of an unknown kind is left out."""
    entries = raw.get(EDITS)
    for entry in entries if isinstance(entries, list) else ():
        edit = _read_edit(entry)
        if edit is not None:
            yield edit


def _read_edit(entry: Any) -> ContextEdit | None:  # noqa: ANN401 - whatever a record holds
    match entry:
        case {
            "kind": str(kind),
            "start": int(start),
            "count": int(count),
            "digest": str(digest),
            "messages": list(messages),
        } if kind in SPAN_KINDS and start >= 0 and count > 0:
            pass
        case _:
            return None
    if not all(isinstance(message, dict) for message in messages):
        return None
    info, last_answer = entry.get("info"), entry.get("lastAnswer")
    return ContextEdit(
        kind=kind,
        start=start,
        count=count,
        digest=digest,
        messages=tuple(messages),
        last_answer=last_answer if isinstance(last_answer, str) else None,
        info=info if isinstance(info, dict) else {},
    )


def span_digest(messages: Sequence[object]) -> str:
    """Return the digest of messages that stand in a row.

    Example:
        >>> text = {"role": "user", "content": "hello"}
        >>> block = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
        >>> span_digest([text]) == span_digest([block])
        True
    """
    return xxhash.xxh3_128_hexdigest("".join(map(message_digest, messages)).encode("ascii"))


def message_digest(element: object) -> str:
    """Return the digest of what identifies one message: not the texts of its results."""
    message = read_message(element, 0)
    if message is None:
        return xxhash.xxh3_128_hexdigest(b"")
    parts = [message.role, *map(_identity_of, _blocks_of(message.content))]
    try:
        data = json.dumps(parts, ensure_ascii=True, separators=(",", ":"), default=str)
    except Exception:  # noqa: BLE001 - nested without an end, or a host's own object: it has no name
        data = json.dumps([message.role, len(parts)])
    return xxhash.xxh3_128_hexdigest(data.encode("ascii"))


def _blocks_of(content: object) -> Sequence[object]:
    text = plain_text(content)
    if text is not None:
        return ({"type": "text", "text": text},)
    return content if isinstance(content, (list, tuple)) else (content,)


def _identity_of(block: object) -> object:
    kind = text_field(block, "type")
    if kind == "text":
        return [kind, text_field(block, "text")]
    if kind == "tool_use":
        return [kind, text_field(block, "id"), text_field(block, "name")]
    if kind == "tool_result":
        return [kind, text_field(block, "tool_use_id"), field_of(block, "is_error") is True]
    if kind == "thinking":
        return [kind, text_field(block, "thinking")]
    if is_mapping(block):
        return [kind, {str(key): value for key, value in block.items() if key != "cache_control"}]
    return [kind]
