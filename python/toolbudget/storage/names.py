"""File and directory names for ids that providers and hosts chose.

An ordinary id is its own name. Any other becomes a readable stem and a hash of the exact id, so
that no id leaves its directory and no two ids share a name. Pure: nothing here looks at the disk.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "candidate_names",
    "collision_name",
    "extension_of",
    "is_name",
    "result_name",
    "session_name",
]

_PLAIN: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
_STEM_MAX_CHARS: Final = 32
# An id may be megabytes long; its beginning is enough for a stem.
_STEM_SOURCE_CHARS: Final = 256
_STEM_OF_NOTHING: Final = "id"

_MAX_NUMBERED_NAMES: Final = 9

_HASH_CHARS: Final = 32
_CHECK_CHARS: Final = 8
_HASHED: Final = re.compile(rf".+-[0-9a-f]{{{_HASH_CHARS + _CHECK_CHARS}}}")
_HASHED_MIN_CHARS: Final = _HASH_CHARS + _CHECK_CHARS + 2

# Windows opens the device whatever the extension, so no result may be named so on any system: it
# could be neither synced nor deleted there.
_DEVICE_NAMES: Final = frozenset(
    {"con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}
)


def result_name(tool_use_id: str) -> str:
    """Return the file name, without extension, under which a result is stored.

    The same id gives the same name for ever; different ids give different names, except that ids
    differing only in case share one on a file system that ignores case.

    Args:
        tool_use_id: Any string, as the provider gave it.

    Returns:
        At most 100 characters of ``[A-Za-z0-9_-]``, never beginning with ``-`` and never the name
        of a Windows device.

    Example:
        >>> result_name("toolu_01ABC")
        'toolu_01ABC'
        >>> result_name("../../etc/passwd")
        'etc_passwd-3754d6cb3a38e1185e5b382d5f3ef3f1c7264419'
    """
    if _PLAIN.fullmatch(tool_use_id) and not _is_reserved(tool_use_id):
        return tool_use_id
    stem = _UNSAFE.sub("_", tool_use_id[:_STEM_SOURCE_CHARS]).strip("-_")[:_STEM_MAX_CHARS]
    name = f"{stem or _STEM_OF_NOTHING}-{_hash(tool_use_id)[:_HASH_CHARS]}"
    return name + _check(name)


def session_name(session_id: str) -> str:
    """Return the directory name of a session (or the file name part of an agent), by the same rule.

    Example:
        >>> session_name("3f2c9a52-7f0e-4b8e-9a39-0d6f1f0c2b11")
        '3f2c9a52-7f0e-4b8e-9a39-0d6f1f0c2b11'
    """
    return result_name(session_id)


def is_name(name: str) -> bool:
    """Tell whether some id has this name: it is what the rule gives, however it came about.

    Example:
        >>> is_name(session_name("../evil")), is_name("../evil"), is_name("con")
        (True, False, False)
    """
    return bool(_PLAIN.fullmatch(name)) and name.lower() not in _DEVICE_NAMES


def collision_name(name: str, digest: str) -> str:
    """Return the name to use when ``name`` is taken by something else.

    Args:
        name: What :func:`result_name` gave.
        digest: Hash of the bytes to store, in hex digits.

    Example:
        >>> collision_name("call_0", "99aa06d3014798d86001c324468d497f")
        'call_0-99aa06d3014798d86001c324468d497f'
    """
    return f"{name}-{digest}"


def extension_of(*, is_json: bool) -> str:
    """Return the extension of a result's file, with its dot.

    Example:
        >>> extension_of(is_json=False)
        '.txt'
    """
    return ".json" if is_json else ".txt"


def candidate_names(name: str, extension: str, digest: Callable[[], str]) -> Iterator[str]:
    """Yield the file names to try for one result, until one is free or holds the same bytes.

    Args:
        name: What :func:`result_name` gave.
        extension: With its dot.
        digest: Gives the hash of the bytes to store; asked only if the plain name is taken.

    Example:
        >>> names = candidate_names("call_0", ".txt", lambda: "99aa06d3014798d86001c324468d497f")
        >>> next(names), next(names)
        ('call_0.txt', 'call_0-99aa06d3014798d86001c324468d497f.txt')
    """
    yield name + extension
    second_name = collision_name(name, digest())
    yield second_name + extension
    for number in range(2, _MAX_NUMBERED_NAMES + 1):
        yield f"{second_name}-{number}{extension}"


def _is_reserved(name: str) -> bool:
    """Tell whether a name that looks ordinary belongs to a device or to another id."""
    lowered = name.lower()
    if lowered in _DEVICE_NAMES:
        return True
    # Without this, an id chosen to equal the hashed name of another id would share its directory.
    if len(name) < _HASHED_MIN_CHARS:
        return False
    return (
        bool(_HASHED.fullmatch(lowered)) and _check(name[:-_CHECK_CHARS]) == lowered[-_CHECK_CHARS:]
    )


def _check(name: str) -> str:
    """Return the digits that mark a hashed name, the same for names that differ only in case."""
    return _hash(name.lower())[:_CHECK_CHARS]


def _hash(text: str) -> str:
    # Not imported above: ordinary ids need no hash, and loading OpenSSL takes milliseconds.
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
