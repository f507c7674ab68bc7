"""The output of a running command: kept at both ends, and stored in full as it arrives."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Final

import xxhash

from toolbudget._core.pure import Fingerprint
from toolbudget.tools._head_tail import HeadTail

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget.storage.result import ResultStream, StoredResult
    from toolbudget.tools._process import Stream

__all__ = ["Output"]

# A line that is longer is passed on in pieces, so that nothing waits for its end for ever.
_LONGEST_LINE_BYTES: Final = 1 << 16


class Output:
    """Takes what comes from both streams, in order of arrival and by whole lines.

    Args:
        kept_bytes: So much is kept of both streams together, half of it at each end.
        single_bytes: So much of each stream by itself.
        store_from_bytes: The first byte beyond it begins the storing of everything.
        open_stream: Begins to store; ``None`` stores nothing.
    """

    def __init__(
        self,
        *,
        kept_bytes: int,
        single_bytes: int,
        store_from_bytes: int,
        open_stream: Callable[[], ResultStream] | None,
    ) -> None:
        half, part = kept_bytes // 2, single_bytes // 2
        self.both = HeadTail(head_bytes=kept_bytes - half, tail_bytes=half)
        self.single: dict[Stream, HeadTail] = {
            "stdout": HeadTail(head_bytes=part, tail_bytes=part),
            "stderr": HeadTail(head_bytes=part, tail_bytes=part),
        }
        self.failure: Exception | None = None
        """Why the output is not stored, if storing failed."""
        self._unfinished: dict[Stream, bytes] = {"stdout": b"", "stderr": b""}
        self._store_from_bytes = store_from_bytes
        self._open_stream = open_stream
        self._stream: ResultStream | None = None
        self._text = _TextMeasure()

    def take(self, source: Stream, chunk: bytes) -> None:
        """Take a piece of one stream."""
        self.single[source].add(chunk)
        held = self._unfinished[source]
        line_end = chunk.rfind(b"\n") + 1
        rest = chunk[line_end:] if line_end else held + chunk
        if len(rest) > _LONGEST_LINE_BYTES:
            self._unfinished[source] = b""
            self._pass_on(held + chunk)
            return
        self._unfinished[source] = rest
        if line_end:
            self._pass_on(held + chunk[:line_end])

    def finish(self) -> None:
        """Take what is left of the last lines, which had no end."""
        for source, rest in self._unfinished.items():
            self._unfinished[source] = b""
            if rest:
                self._pass_on(rest)

    def fingerprint(self) -> Fingerprint:
        """Return size and hash of the whole text, as any result's text has them."""
        return self._text.result()

    def store(self) -> StoredResult | None:
        """Store the whole output under its final name; ``None`` if that fails or is not wanted."""
        if self._stream is None and self.failure is None:
            self._begin_to_store(self.both.whole() or b"")
        if self._stream is None:
            return None
        try:
            return self._stream.commit()
        except Exception as error:  # noqa: BLE001 - a host's own store may raise anything
            self.failure = error
            return None
        finally:
            self.close()

    def close(self) -> None:
        """Give up what is not stored."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _pass_on(self, chunk: bytes) -> None:
        was_small = self.both.total_bytes <= self._store_from_bytes
        is_small = self.both.total_bytes + len(chunk) <= self._store_from_bytes
        if was_small and not is_small:
            self._begin_to_store(self.both.whole() or b"")
        self.both.add(chunk)
        self._text.add(chunk)
        if not is_small:
            self._write(chunk)

    def _begin_to_store(self, earlier: bytes) -> None:
        if self._open_stream is None:
            return
        try:
            self._stream = self._open_stream()
        except Exception as error:  # noqa: BLE001 - a host's own store may raise anything
            self.failure = error
            return
        if earlier:
            self._write(earlier)

    def _write(self, chunk: bytes) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(chunk)
        except Exception as error:  # noqa: BLE001 - a host's own store may raise anything
            # The command goes on: what is kept of its output is worth more than nothing.
            self.failure = error
            self.close()


class _TextMeasure:
    """Size and hash of a text that comes as bytes, with U+FFFD for what is no UTF-8."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_between = True
        self._size_chars = 0
        self._hasher = xxhash.xxh3_128()

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self._is_between and chunk.isascii():
            self._size_chars += len(chunk)
            self._hasher.update(chunk)
            return
        self._add_text(self._decoder.decode(chunk))
        self._is_between = not self._decoder.getstate()[0]

    def result(self) -> Fingerprint:
        """Return both for what came so far, which is taken to be all."""
        self._add_text(self._decoder.decode(b"", final=True))
        return Fingerprint(self._size_chars, self._hasher.hexdigest())

    def _add_text(self, text: str) -> None:
        self._size_chars += len(text)
        self._hasher.update(text.encode("utf-8"))
