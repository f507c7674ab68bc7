"""What POSIX refuses, and the error that says so."""

from __future__ import annotations

import errno
import os
from typing import Final

from tests.faults.model_nodes import Directory, File, Node, SymbolicLink

__all__ = [
    "check_name",
    "entry",
    "error",
    "linkable",
    "not_a_link",
    "require_directory",
    "require_free",
    "require_replaceable",
    "require_text",
    "size_bytes",
    "walk",
]

_MAX_NAME_BYTES: Final = 255
_MAX_LINKS_FOLLOWED: Final = 40


def error(number: int, name: str | None = None) -> OSError:
    """Make the error that the system would raise."""
    return OSError(number, os.strerror(number), name)


def check_name(name: str) -> None:
    """Refuse what can be no name of an entry."""
    require_text(name)
    encoded = os.fsencode(name)
    if not encoded:
        raise error(errno.ENOENT, name)
    if b"/" in encoded or encoded == b"..":
        raise ValueError(f"the model takes one level at a time: {name!r}")
    if len(encoded) > _MAX_NAME_BYTES:
        raise error(errno.ENAMETOOLONG, name)


def require_free(directory: Directory, name: str) -> None:
    """Refuse a name that is taken, and every name where there is no directory any more."""
    check_name(name)
    if name == "." or name in directory.entries:
        raise error(errno.EEXIST, name)
    if directory.is_removed:
        raise error(errno.ENOENT, name)


def require_text(*names: str) -> None:
    """Refuse what cannot even be passed to the system."""
    for name in names:
        if b"\0" in os.fsencode(name):
            raise ValueError("embedded null byte")


def entry(directory: Directory, name: str) -> Node:
    """Find a name in a directory."""
    node = directory.entries.get(name)
    if node is None:
        raise error(errno.ENOENT, name)
    return node


def require_directory(node: Node, name: str | None = None) -> Directory:
    """Take only a directory."""
    if not isinstance(node, Directory):
        raise error(errno.ENOTDIR, name)
    return node


def not_a_link(node: Node, name: str) -> File | Directory:
    """Take anything but a symbolic link."""
    if isinstance(node, SymbolicLink):
        raise error(errno.ELOOP, name)
    return node


def linkable(node: Node, name: str) -> File:
    """Take only what may have several names."""
    if not isinstance(node, File):
        raise error(errno.EPERM, name)
    return node


def require_replaceable(node: Node, before: Node | None, name: str) -> None:
    """Refuse to put a node where another one stands that it cannot replace."""
    if isinstance(node, Directory):
        if before is None:
            return
        if require_directory(before, name).entries:
            raise error(errno.ENOTEMPTY, name)
    elif isinstance(before, Directory):
        raise error(errno.EISDIR, name)


def size_bytes(node: Node) -> int:
    """Give the size of a node."""
    if isinstance(node, File):
        return len(node.content)
    return len(node.target) if isinstance(node, SymbolicLink) else len(node.entries)


def walk(top: Directory, path: str) -> Node:
    """Follow a path from the top, symbolic links too."""
    node: Node = top
    steps = path.split("/")[::-1]
    links_left = _MAX_LINKS_FOLLOWED
    while steps:
        name = steps.pop()
        if name in {"", "."}:
            continue
        directory = require_directory(node, path)
        check_name(name)
        node = entry(directory, name)
        if isinstance(node, SymbolicLink):
            if not links_left:
                raise error(errno.ELOOP, path)
            links_left -= 1
            steps += node.target.split("/")[::-1]
            node = top if node.target.startswith("/") else directory
    return node
