"""The beginning and the end of bytes that go by, in bounded memory."""

from __future__ import annotations

from typing import Final

__all__ = ["HeadTail", "cut_end", "cut_start"]

# A character of UTF-8 has at most so many bytes behind its first one.
_MAX_CONTINUATIONS: Final = 3
_CONTINUATION_MASK: Final = 0b1100_0000
_CONTINUATION: Final = 0b1000_0000


class HeadTail:
    """Keeps the first and the last bytes of a stream, and counts what lies between them.

    Args:
        head_bytes: So many of the beginning are kept.
        tail_bytes: So many of what follows are kept.

    Example:
        >>> kept = HeadTail(head_bytes=4, tail_bytes=3)
        >>> kept.add(b"abcdef")
        >>> kept.add(b"ghij")
        >>> kept.head(), kept.tail(), kept.left_out_bytes
        (b'abcd', b'hij', 3)
    """

    def __init__(self, *, head_bytes: int, tail_bytes: int) -> None:
        self.total_bytes = 0
        self.line_ends = 0
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.total_bytes += len(chunk)
        self.line_ends += chunk.count(b"\n")
        room_bytes = self._head_bytes - len(self._head)
        if room_bytes > 0:
            self._head += chunk[:room_bytes]
            chunk = chunk[room_bytes:]
        if len(chunk) >= self._tail_bytes:
            self._tail[:] = chunk[len(chunk) - self._tail_bytes :]
            return
        self._tail += chunk
        # Cut only now and then: each cut moves all that stays.
        if len(self._tail) > 2 * self._tail_bytes:
            self._cut_tail()

    @property
    def left_out_bytes(self) -> int:
        """How many bytes are neither in the head nor in the tail."""
        tail_bytes = min(len(self._tail), self._tail_bytes)
        return self.total_bytes - len(self._head) - tail_bytes

    def whole(self) -> bytes | None:
        """Return everything, if nothing is left out."""
        return None if self.left_out_bytes else self.head() + self.tail()

    def head(self) -> bytes:
        """Return the first bytes."""
        return bytes(self._head)

    def tail(self) -> bytes:
        """Return the last bytes."""
        self._cut_tail()
        return bytes(self._tail)

    def _cut_tail(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_bytes)]


def cut_end(data: bytes) -> bytes:
    r"""Drop the beginning of a UTF-8 character at the end of bytes that were cut there.

    Example:
        >>> cut_end("a\u65e5".encode()[:3])
        b'a'
    """
    for back in range(1, min(_MAX_CONTINUATIONS, len(data)) + 1):
        first = data[-back]
        if first & _CONTINUATION_MASK == _CONTINUATION:
            continue
        return data[:-back] if _character_bytes(first) > back else data
    return data


def cut_start(data: bytes) -> bytes:
    r"""Drop the rest of a UTF-8 character at the beginning of bytes that were cut there.

    Example:
        >>> cut_start("\u65e5b".encode()[1:])
        b'b'
    """
    start = 0
    while start < min(_MAX_CONTINUATIONS, len(data)):
        if data[start] & _CONTINUATION_MASK != _CONTINUATION:
            break
        start += 1
    return data[start:]


def _character_bytes(first: int) -> int:
    """Return the length that the first byte of a character says; 1 for what is none."""
    for length, least, most in ((2, 0xC2, 0xDF), (3, 0xE0, 0xEF), (4, 0xF0, 0xF4)):
        if least <= first <= most:
            return length
    return 1
