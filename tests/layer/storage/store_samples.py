"""What the tests of the stores put, and how they look at what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import xxhash

from toolbudget.storage.names import collision_name, result_name

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BLOCKS", "TEXT", "TEXT_BYTES", "digest_of", "files_in", "second_name"]

TEXT = "line one\nline two\r\n\0\u65e5\ud800"
TEXT_BYTES = TEXT.encode("utf-8", "surrogatepass")
BLOCKS: list[dict[str, object]] = [
    {"type": "text", "text": "one"},
    {"type": "text", "text": "two", "citations": []},
]


def digest_of(data: bytes) -> str:
    """Give the hash as the store should."""
    return xxhash.xxh3_128_hexdigest(data)


def files_in(directory: Path) -> dict[str, bytes]:
    """Give the content of all regular files below a directory, by relative path."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def second_name(tool_use_id: str, content: bytes) -> str:
    """Give the file name for an id whose plain name is taken."""
    return collision_name(result_name(tool_use_id), digest_of(content)) + ".txt"
