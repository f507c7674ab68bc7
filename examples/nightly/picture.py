"""A small picture without any library: the nightly's duration, night by night."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Final

from examples.nightly.dice import Dice

__all__ = ["bar_chart"]

_WIDTH: Final = 240
_HEIGHT: Final = 80
_BAR_PIXELS: Final = 8


def bar_chart(seed: str) -> str:
    """Draw a bar chart, black on white, and give it as a PNG in base64."""
    dice = Dice(f"chart {seed}")
    heights = [dice.number(12, _HEIGHT - 4) for _ in range(_WIDTH // _BAR_PIXELS)]
    rows = b"".join(_row(heights, y) for y in range(_HEIGHT))
    header = struct.pack(">IIBBBBB", _WIDTH, _HEIGHT, 1, 0, 0, 0, 0)
    chunks = _chunk(b"IHDR", header) + _chunk(b"IDAT", _deflate(rows)) + _chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chunks).decode("ascii")


def _row(heights: list[int], y: int) -> bytes:
    """One bar is one byte wide: seven black pixels and a white gap, or all white."""
    return b"\x00" + bytes(0x01 if _HEIGHT - y <= height else 0xFF for height in heights)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _deflate(data: bytes) -> bytes:
    """Wrap without compressing: compressors of other versions would give other bytes."""
    stored = struct.pack("<BHH", 1, len(data), len(data) ^ 0xFFFF) + data
    return b"\x78\x01" + stored + struct.pack(">I", zlib.adler32(data))
