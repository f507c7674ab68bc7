"""Request bodies for the benches: text like source code, so that one byte in forty is an escape."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["BODIES", "HOSTILE", "BodyWorkload", "body", "growing", "lines"]

_WORDS: Final = (
    "def ",
    "return ",
    "self.",
    "    ",
    "value",
    " = ",
    "error: ",
    "(x, y)",
    " the ",
    '"',
)
_LINE_CHARS: Final = 45
_POOL_CHARS: Final = 1 << 20
_BODY_BYTES: Final = 1_000_000


def _make_pool() -> str:
    dice = random.Random(7)  # noqa: S311 - the same text in every run
    lines: list[str] = []
    size_chars = 0
    while size_chars < _POOL_CHARS:
        line = ""
        while len(line) < _LINE_CHARS:
            line += dice.choice(_WORDS)
        lines.append(line)
        size_chars += len(line) + 1
    return "\n".join(lines)


_POOL: Final = _make_pool()


def _messages(size_bytes: int, results: int, chars: int) -> list[Any]:
    turns = max(1, round(size_bytes / (results * (chars * 1.04 + 200))))
    messages: list[Any] = []
    for turn in range(turns):
        ids = [f"toolu_{turn:012}{number:012}" for number in range(results)]
        calls = [{"type": "tool_use", "id": name, "name": "Bash", "input": {}} for name in ids]
        blocks = []
        for number, name in enumerate(ids):
            start = (turn * results + number) * 7_919 % (_POOL_CHARS - chars)
            text = _POOL[start : start + chars]
            blocks.append({"type": "tool_result", "tool_use_id": name, "content": text})
        messages.append({"role": "assistant", "content": calls})
        messages.append({"role": "user", "content": blocks})
    return messages


def body(size_bytes: int, results: int, chars: int) -> bytes:
    """Make a request of about so many bytes: turns of so many results of so many characters."""
    request = {"model": "m", "messages": _messages(size_bytes, results, chars)}
    return json.dumps(request, separators=(",", ":")).encode()


def growing(size_bytes: int, results: int, chars: int, *, more: int) -> list[bytes]:
    """Make a request of about so many bytes, and those of the turns after it, one turn longer each.

    As a host sends them: what was in the one before stands unchanged in the next.
    """
    turn_bytes = results * (chars * 1.04 + 200)
    messages = _messages(int(size_bytes + (more + 0.5) * turn_bytes), results, chars)
    encoded = [json.dumps(message, separators=(",", ":")).encode() for message in messages]
    first = len(messages) - 2 * more
    counts = range(first, len(messages) + 1, 2)
    return [b'{"model":"m","messages":[%s]}' % b",".join(encoded[:count]) for count in counts]


def lines(size_bytes: int) -> bytes:
    """Make a transcript, one record a line."""
    records = (
        {"type": message["role"], "uuid": str(index), "message": message}
        for index, message in enumerate(_messages(size_bytes, 10, 4_000))
    )
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _filled(item: bytes, size_bytes: int = 1_000_000) -> bytes:
    items = b",".join([item] * (size_bytes // (len(item) + 1)))
    return b'{"messages":[],"x":[%s]}' % items


_ONE_BYTE_RESULT: Final = b'{"type":"tool_result","tool_use_id":"t","content":"x"}'

HOSTILE: Final = {
    "empty lists": _filled(b"[]"),
    "empty objects": _filled(b"{}"),
    "digits": _filled(b"7"),
    "one-byte strings": _filled(b'"a"'),
    "900 deep": _filled(b"[" * 900 + b"]" * 900),
    "backslashes": _filled(b'"%s"' % (b"\\\\" * 499_000)),
    "quotes": _filled(b'"%s"' % (b'\\"' * 499_000)),
    "unicode escapes": _filled(b'"%s"' % (b"\\u65e5" * 166_000)),
    "one-byte results": b'[{"role":"user","content":[%s]}]'
    % b",".join([_ONE_BYTE_RESULT] * 20_000),
}
"""Bodies made to be slow to read."""


@dataclass(frozen=True)
class BodyWorkload:
    """A request body of 1 MB, of which every byte is looked at in each phase."""

    name: str
    results: int
    size_chars: int

    def body(self) -> bytes:
        """Make the body."""
        return body(_BODY_BYTES, self.results, self.size_chars)

    @property
    def units(self) -> int:
        """How many bytes it has."""
        return len(self.body())

    def first(self, core: ModuleType) -> Callable[[], object]:
        """Scan with nothing known: every text is hashed."""
        request = self.body()
        return lambda: core.scan_json(request)

    def scan(self, core: ModuleType) -> Callable[[], object]:
        """Scan after a body of other messages with the same results: none of them is hashed."""
        request = self.body()
        return _taking_turns(
            core, [request.replace(b'{"role":', b'{"n":%d,"role":' % number) for number in (1, 2)]
        )

    def repeat(self, core: ModuleType) -> Callable[[], object]:
        """Scan after a body with another beginning: the messages are compared, none is read."""
        request = self.body()
        return _taking_turns(core, [b'{"a":%d,' % number + request[1:] for number in (1, 10)])


def _taking_turns(core: ModuleType, bodies: list[bytes]) -> Callable[[], object]:
    """Scan one of two bodies after the other one."""
    scan = core.scan_json(bodies[1])

    def work() -> None:
        nonlocal scan
        bodies.reverse()
        scan = core.scan_json(bodies[1], scan)

    return work


BODIES: Final = (
    BodyWorkload("body of 10 x 4,000", 10, 4_000),
    BodyWorkload("body of 10 x 400", 10, 400),
)
