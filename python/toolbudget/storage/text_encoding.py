r"""How the bytes of a file become text that can be sent: by its mark, else as UTF-8.

Nothing is guessed that would change characters: what UTF-8 cannot decode shows as ``\xNN``. Lone
surrogates and NUL, which no request may hold, show as U+FFFD, as they do in previews.
"""

from __future__ import annotations

import codecs
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

__all__ = ["SAMPLE_BYTES", "TextEncoding", "detect_encoding", "looks_binary", "sendable"]

SAMPLE_BYTES: Final = 8_192
"""How much of a file's beginning tells what it is; git looks at about as much."""

_REPLACEMENT: Final = "\ufffd"
# As in text, where now and then a byte is of another encoding; most of a binary file is not UTF-8.
_MAX_UNDECODABLE_SHARE: Final = 0.3
_MAX_CHARACTER_BYTES: Final = 4
_SURROGATE_BYTES: Final = 3
_VISIBLE: Final = "toolbudget.visible"


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """One encoding of a file.

    Attributes:
        label: What the reader is told.
        codec: Python's name for it.
        unit_bytes: How many bytes a character has at least, and what positions are multiples of.
        mark_bytes: How many bytes at the beginning only say what the encoding is.
    """

    label: str
    codec: str
    unit_bytes: int = 1
    mark_bytes: int = 0

    def decode(self, data: bytes) -> str:
        """Return whole characters as text that can be sent, however broken they are."""
        text = data.decode(self.codec, _VISIBLE)
        return text.replace("\0", _REPLACEMENT) if "\0" in text else text

    def is_exact(self, data: bytes) -> bool:
        """Tell whether bytes can be decoded and sent as they are."""
        try:
            return "\0" not in data.decode(self.codec)
        except UnicodeDecodeError:
            return False

    def count_line_ends(self, data: bytes) -> int:
        r"""Count the line ends, which are ``\n`` whatever stands before them."""
        return data.count(b"\n") if self.unit_bytes == 1 else self.decode(data).count("\n")

    def whole_bytes(self, data: bytes, max_bytes: int) -> int:
        """Return how many bytes, at most ``max_bytes``, end at the end of a character.

        The bytes must go on behind ``max_bytes``, or end there.
        """
        end = max_bytes - max_bytes % self.unit_bytes
        if max_bytes >= len(data):
            return len(data)
        if end + self.unit_bytes > len(data):
            return end
        if self.unit_bytes == 1:
            for start in range(end, max(end - _MAX_CHARACTER_BYTES, -1), -1):
                if not _is_continuation(data[start]):
                    return start
            return end
        return end - self.unit_bytes if self._is_half(data, end, "\udc00", "\udfff") else end

    def next_character(self, data: bytes, position: int) -> int:
        """Return the position itself, or where the character ends that it is within."""
        if self.unit_bytes > 1:
            is_within = self._is_half(data, position, "\udc00", "\udfff") and self._is_half(
                data, position - self.unit_bytes, "\ud800", "\udbff"
            )
            return position + self.unit_bytes if is_within else position
        for start in range(position - 1, max(position - _MAX_CHARACTER_BYTES, -1), -1):
            if not _is_continuation(data[start]):
                return max(position, start + _character_bytes(data, start))
        return position

    def _is_half(self, data: bytes, position: int, first: str, last: str) -> bool:
        """Whether one half of a pair of surrogates stands at a position."""
        if not self.codec.startswith("utf-16"):
            return False
        unit = data[max(position, 0) : position + self.unit_bytes]
        return first <= unit.decode(self.codec, "surrogatepass") <= last


_UTF_8: Final = TextEncoding("UTF-8", "utf-8")
# Longer marks first: that of UTF-32 begins with that of UTF-16.
_BY_MARK: Final = {
    codecs.BOM_UTF32_LE: TextEncoding("UTF-32 (little endian)", "utf-32-le", 4, 4),
    codecs.BOM_UTF32_BE: TextEncoding("UTF-32 (big endian)", "utf-32-be", 4, 4),
    codecs.BOM_UTF8: TextEncoding("UTF-8 with a byte order mark", "utf-8", 1, 3),
    codecs.BOM_UTF16_LE: TextEncoding("UTF-16 (little endian)", "utf-16-le", 2, 2),
    codecs.BOM_UTF16_BE: TextEncoding("UTF-16 (big endian)", "utf-16-be", 2, 2),
}


def detect_encoding(sample: bytes) -> TextEncoding:
    r"""Return the encoding that a file's beginning says it has, else UTF-8.

    Example:
        >>> detect_encoding(b"\xff\xfea\x00").label
        'UTF-16 (little endian)'
        >>> detect_encoding(b"plain").decode(b"caf\xe9")
        'caf\\xe9'
    """
    for mark, encoding in _BY_MARK.items():
        if sample.startswith(mark):
            return encoding
    return _UTF_8


def sendable(text: str) -> str:
    r"""Return a text with U+FFFD for what no request may hold: lone surrogates and NUL.

    Example:
        >>> ascii(sendable("a\ud800b"))
        "'a\\ufffdb'"
    """
    return _UTF_8.decode(text.encode("utf-8", "surrogatepass"))


def looks_binary(sample: bytes, encoding: TextEncoding) -> bool:
    """Tell from a file's beginning whether it is no text at all.

    It is none if it holds a NUL character, or if much of it cannot be decoded.
    """
    body = sample[encoding.mark_bytes :]
    if len(sample) >= SAMPLE_BYTES:
        # The sample may end within a character.
        body = body[: encoding.whole_bytes(body, len(body) - _MAX_CHARACTER_BYTES)]
    if encoding.unit_bytes == 1 and b"\0" in body:
        return True
    kept = body.decode(encoding.codec, "ignore")
    kept_bytes = len(kept.encode(encoding.codec, "surrogatepass"))
    return len(body) - kept_bytes > len(body) * _MAX_UNDECODABLE_SHARE


def _is_continuation(byte: int) -> bool:
    return byte & 0xC0 == 0x80  # noqa: PLR2004 - UTF-8's own mark


def _character_bytes(data: bytes, start: int) -> int:
    """Return how many bytes the character at a position has, 0 for a broken one."""
    for size in range(1, _MAX_CHARACTER_BYTES + 1):
        with suppress(UnicodeDecodeError):
            data[start : start + size].decode("utf-8", "surrogatepass")
            return size
    return 0


def _show(error: UnicodeError) -> tuple[str, int]:
    r"""Stand in for what cannot be decoded: U+FFFD for a lone surrogate, else ``\xNN``."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start, end = error.object, error.start, error.end
    if error.encoding == "utf-8":
        found = data[start : start + _SURROGATE_BYTES]
        if len(found) == _SURROGATE_BYTES and _is_surrogate(found):
            return _REPLACEMENT, start + _SURROGATE_BYTES
    elif len(data) - start >= (2 if error.encoding.startswith("utf-16") else _MAX_CHARACTER_BYTES):
        return _REPLACEMENT, end
    return "".join(f"\\x{byte:02x}" for byte in data[start:end]), end


def _is_surrogate(found: bytes) -> bool:
    return found[0] == 0xED and found[1] >= 0xA0 and _is_continuation(found[2])  # noqa: PLR2004 - UTF-8


codecs.register_error(_VISIBLE, _show)
