"""Request bodies and transcripts as raw bytes: decided about like message lists, changed in place.

A body is one of three things: an object with ``messages``, a list of messages, or objects one after
the other, as the lines of a transcript.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from toolbudget._core.pure.fingerprint import FingerprintCache
from toolbudget._core.pure.json import Splice, locate, replace_contents, splice
from toolbudget._core.pure.json.decode import MalformedError, decode, skip_text_blanks
from toolbudget._core.pure.plan import Plan, plan
from toolbudget._core.pure.shape import field, is_mapping
from toolbudget.errors import InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolbudget._core.pure.decision import Known, PlanOptions
    from toolbudget._core.pure.json import Path
    from toolbudget._core.pure.rewrite import Change

__all__ = [
    "JsonScan",
    "decode_json_content",
    "plan_json",
    "rewrite_json",
    "rewrite_json_segments",
    "scan_json",
]

_BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True, eq=False)
class JsonScan:
    """What a body holds.

    Attributes:
        body: The bytes.
        messages: Its messages or records, decoded.
        has_known_messages: Whether these are surely those of the scan before, and no others.
    """

    body: bytes
    messages: Sequence[object]
    has_known_messages: ClassVar[bool] = False
    _list_path: Path
    _starts: list[int] | None

    def splices(self, changes: Iterable[Change]) -> list[Splice]:
        """Work out what changes come to in the bytes, in the order of the bytes."""
        by_start: dict[int, dict[Path, str]] = {}
        for change in changes:
            start, path = self._place_of(change)
            by_start.setdefault(start, {})[path] = change.replacement
        found: list[Splice] = []
        for start, replacements in by_start.items():
            found += replace_contents(self.body, replacements, start=start)
        return sorted(found)

    def _place_of(self, change: Change) -> tuple[int, Path]:
        index = change.message_index
        start, path = (0, (*self._list_path, index))
        if self._starts is not None:
            start, path = self._starts[index], ()
        if is_mapping(field(self.messages[index], "message")):
            path = (*path, "message")
        return start, (*path, "content", change.block_index, "content")


def scan_json(body: bytes, earlier: JsonScan | None = None) -> JsonScan:
    """Read a body.

    Args:
        body: A request body, a list of messages, or the records of a transcript, as JSON in UTF-8.
        earlier: The scan of the body before, which must not be used afterwards, unless it comes
            back itself: it does if the bytes are the same. What is in the result does not depend
            on it.

    Raises:
        InvalidMessageError: It is malformed, or holds no messages; the message names the byte.

    Example:
        >>> scan_json(b'{"messages": [{"role": "user"}]}').messages
        [{'role': 'user'}]
    """
    # The native core saves time with it in other cases too.
    if type(earlier) is JsonScan and earlier.body == body:
        return earlier
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise InvalidMessageError(f"body is not UTF-8 at byte {error.start}") from None
    if text.startswith(_BYTE_ORDER_MARK):
        raise InvalidMessageError("body begins with a byte order mark at byte 0")
    start = skip_text_blanks(text, 0)
    try:
        value, end = decode(text, start)
        if not isinstance(value, (dict, list)):
            problem = "neither a request body nor a list of messages nor records"
            raise _malformed(problem, text, start)
        end = skip_text_blanks(text, end)
        if isinstance(value, dict) and not ("messages" in value and end == len(text)):
            return _scan_records(body, text, start)
    except MalformedError as error:
        raise _malformed(f"not JSON: {error.problem}", text, error.position) from None
    if isinstance(value, list):
        if end < len(text):
            raise _malformed("not JSON: extra data", text, end)
        return _scan_list(body, value, ())
    return _scan_list(body, value["messages"], ("messages",))


def plan_json(scan: JsonScan, known: Known, options: PlanOptions) -> Plan:
    """Decide about every result of a body that is not decided yet, as :func:`plan` does.

    The plan has no fingerprints: the scan keeps what the next call can use.
    """
    result = plan(scan.messages, known, options)
    result.fingerprints = FingerprintCache()
    return result


def rewrite_json(scan: JsonScan, changes: Sequence[Change]) -> bytes:
    """Return the body with changes made; every other byte stays.

    Without changes the body itself comes back.
    """
    return splice(scan.body, scan.splices(changes)) if changes else scan.body


def rewrite_json_segments(scan: JsonScan, changes: Sequence[Change]) -> list[bytes | memoryview]:
    """Return the pieces that :func:`rewrite_json` would join, without copying the body."""
    if not changes:
        return [scan.body]
    view = memoryview(scan.body)
    pieces: list[bytes | memoryview] = []
    position = 0
    for change in scan.splices(changes):
        pieces += (view[position : change.start], change.data)
        position = change.end
    pieces.append(view[position:])
    return pieces


def decode_json_content(data: bytes) -> object:
    """Decode the content of a result, of which the text has been accepted.

    Example:
        >>> decode_json_content(b'[{"type": "text", "text": "a"}]')
        [{'type': 'text', 'text': 'a'}]
    """
    return decode(data.decode(), 0)[0]


def _scan_records(body: bytes, text: str, start: int) -> JsonScan:
    records: list[object] = []
    starts: list[int] = []
    position = start
    start_bytes = start  # what is skipped in front is ASCII
    while position < len(text):
        record, end = decode(text, position)
        records.append(record)
        starts.append(start_bytes)
        end = skip_text_blanks(text, end)
        start_bytes += len(text[position:end].encode())
        position = end
    for index, record in enumerate(records):
        if not isinstance(record, dict):
            problem = f"message {index} is not an object at byte {starts[index]}"
            raise InvalidMessageError(problem)
    return JsonScan(body, records, (), starts)


def _scan_list(body: bytes, messages: object, path: Path) -> JsonScan:
    if not isinstance(messages, list):
        raise _wrong("messages is not a list", body, path)
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise _wrong(f"message {index} is not an object", body, (*path, index))
    return JsonScan(body, messages, path, None)


def _wrong(problem: str, body: bytes, path: Path) -> InvalidMessageError:
    return InvalidMessageError(f"{problem} at byte {locate(body, [path])[path].start}")


def _malformed(problem: str, text: str, position: int) -> InvalidMessageError:
    return InvalidMessageError(f"{problem} at byte {len(text[:position].encode())}")
