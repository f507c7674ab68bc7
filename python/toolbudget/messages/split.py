"""One block per record, as displays and searches want it (M3)."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from toolbudget._core.pure.shape import (
    check_sequence,
    field,
    is_mapping,
    plain_text,
    read_message,
    text_field,
)
from toolbudget.messages.plain import clone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget._core.pure.shape import Chain, Message
    from toolbudget.messages.types import Record

__all__ = ["UUID_NAMESPACE", "derive_uuid", "normalize_messages"]

# Any fixed one does; this is the one that RFC 9562 sets aside for ids of other systems.
UUID_NAMESPACE: Final = uuid.NAMESPACE_OID
_PARENT_KEYS: Final = ("parentUuid", "logicalParentUuid")
_CALLER_KEY: Final = "sourceToolAssistantUUID"


def derive_uuid(record_uuid: str, block_index: int) -> str:
    """Derive the uuid of a record that was split off: uuid5 of ``"{uuid}:{index}"``.

    Args:
        record_uuid: The uuid of the record that was split; it need not be a real UUID.
        block_index: The block's place in that record, from 0.

    Example:
        >>> from toolbudget import messages
        >>> import uuid
        >>> derived = messages.derive_uuid("5db3a478-7e8c-4059-92f7-947291cfa43a", 1)
        >>> name = "5db3a478-7e8c-4059-92f7-947291cfa43a:1"
        >>> derived == str(uuid.uuid5(uuid.NAMESPACE_OID, name))
        True
    """
    # A lone surrogate has no UTF-8 of its own.
    name = f"{record_uuid}:{block_index}".encode("utf-8", "backslashreplace").decode("utf-8")
    return str(uuid.uuid5(UUID_NAMESPACE, name))


def normalize_messages(messages: Sequence[object]) -> list[Record]:
    """Split messages so that each holds one block; a text becomes a text block.

    Records of one block keep their uuid until a record of their chain is split; that record's parts
    and all records after it get derived ones (:func:`derive_uuid`), the same at every call, also
    when the list has grown. References to them (``parentUuid``, ``logicalParentUuid``,
    ``sourceToolAssistantUUID``) follow. Every part keeps the other keys of its record; pasted
    images take their numbers along. Make requests of the messages as they were: parts without a
    ``message.id`` to share may count as answers of their own.

    Args:
        messages: Transcript records, API messages or SDK objects. What is no message of a user or
            assistant passes through, and so does a message without blocks.

    Returns:
        A new list. Records that stay as they are, and all blocks, are shared with the input;
        objects become dicts. Normalising it again gives the same.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list; the error names the index.

    Example:
        >>> from toolbudget import messages
        >>> texts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
        >>> for part in messages.normalize_messages([{"role": "user", "content": texts}]):
        ...     print(part)
        {'role': 'user', 'content': [{'type': 'text', 'text': 'one'}]}
        {'role': 'user', 'content': [{'type': 'text', 'text': 'two'}]}
    """
    split = _Split()
    parts: list[Record] = []
    for index, element in enumerate(check_sequence(messages)):
        message = read_message(element, index)
        record = cast("Record", element if is_mapping(element) else clone(element))
        if message is None:
            parts.append(split.relinked(record))
        else:
            parts.extend(split.parts(record, message))
    return parts


class _Place(NamedTuple):
    """Where the parts of a record went: its new uuids, in order, and that of each call."""

    uuids: list[str]
    calls: dict[str, str]


class _Split:
    """What must be known of the records before: split chains, and uuids that were replaced."""

    def __init__(self) -> None:
        self._split_chains: set[Chain] = set()
        self._places: dict[str, _Place] = {}

    def parts(self, record: Record, message: Message) -> list[Record]:
        text = plain_text(message.content)
        if text is not None:
            blocks: Sequence[object] = [{"type": "text", "text": text}]
        elif isinstance(message.content, (list, tuple)):
            blocks = message.content
        else:
            return [self.relinked(record)]
        if len(blocks) > 1:
            self._split_chains.add(message.chain)
        relinked = self.relinked(record)
        uuids = self._new_uuids(record, message, blocks)
        has_its_form = isinstance(message.content, list) and not message.is_object
        if not blocks or (len(blocks) == 1 and has_its_form and not uuids):
            return [relinked]
        parts = [_with_block(relinked, block) for block in blocks]
        _share_out_pastes(parts, blocks)
        for position, (part, part_uuid) in enumerate(zip(parts, uuids, strict=False)):
            part["uuid"] = part_uuid
            if position and "parentUuid" in part:
                part["parentUuid"] = uuids[position - 1]
        return parts

    def relinked(self, record: Record) -> Record:
        """Let a record's references follow those that got other uuids."""
        changed: Record = {}
        for key in _PARENT_KEYS:
            place = self._places.get(text_field(record, key) or "")
            if place is not None:
                changed[key] = place.uuids[-1]
        place = self._places.get(text_field(record, _CALLER_KEY) or "")
        if place is not None:
            names = _result_ids(record)
            changed[_CALLER_KEY] = next(
                (place.calls[name] for name in names if name in place.calls), place.uuids[0]
            )
        return {**record, **changed} if changed else record

    def _new_uuids(self, record: Record, message: Message, blocks: Sequence[object]) -> list[str]:
        old = text_field(record, "uuid")
        if old is None or not blocks or message.chain not in self._split_chains:
            return []
        uuids = [derive_uuid(old, index) for index in range(len(blocks))]
        calls = {
            text_field(block, "id") or "": new
            for block, new in zip(blocks, uuids, strict=True)
            if text_field(block, "type") == "tool_use"
        }
        self._places[old] = _Place(uuids, calls)
        return uuids


def _with_block(record: Record, block: object) -> Record:
    content = [block if is_mapping(block) else clone(block)]
    inner = field(record, "message")
    if is_mapping(inner):
        return {**record, "message": {**inner, "content": content}}
    if hasattr(inner, "content"):
        return {**record, "message": {**clone(inner), "content": content}}
    return {**record, "content": content}


def _result_ids(record: Record) -> list[str]:
    content = field(field(record, "message"), "content")
    blocks = content if isinstance(content, (list, tuple)) else ()
    return [name for block in blocks if (name := text_field(block, "tool_use_id")) is not None]


def _share_out_pastes(parts: list[Record], blocks: Sequence[object]) -> None:
    """Give each image its own number, if every image of the record has one."""
    numbers = field(parts[0], "imagePasteIds")
    images = [index for index, block in enumerate(blocks) if text_field(block, "type") == "image"]
    if len(parts) == 1 or not isinstance(numbers, list) or len(numbers) != len(images):
        return
    for part in parts:
        del part["imagePasteIds"]
    for index, number in zip(images, numbers, strict=True):
        parts[index]["imagePasteIds"] = [number]
