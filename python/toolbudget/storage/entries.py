"""The entries of a record: a replaced result, or one that is only named.

Pure, and strict about types: an entry that is not exactly as the format says is ``None``, so that
whatever stands in a damaged or hostile record costs that entry alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from toolbudget.errors import TranscriptError

__all__ = [
    "ContentReplacementRecord",
    "Fingerprinted",
    "fingerprinted_entry",
    "foreign_entry",
    "own_entry",
]

_HASH: Final = re.compile(r"[0-9a-f]{32}")
_UNUSABLE_IN_A_NAME: Final = re.compile(r"[/\\\x00-\x1f]")

Fingerprinted = tuple[str, int, str]
"""A result that a record names without replacing it: id, size in characters, hash."""


@dataclass(frozen=True, slots=True)
class ContentReplacementRecord:
    """One replaced result, as a record names it.

    Attributes:
        kind: What was replaced, ``"tool-result"``.
        tool_use_id: The id of the call, exactly as the provider gave it.
        replacement: The string that stands in for the text, exactly.
        size: Characters of the replaced text; ``None`` if another program wrote the record.
        hash: XXH3-128 of the replaced text, 32 hex digits; ``None`` together with ``size``.
        file: The bare name of the file in ``tool-results``, where known.
        file_digest: The digest of the stored bytes, where known.
        style: The form of the preview in ``replacement``; ``None`` if it is nothing but the
            beginning of the text, or not known.
        style_version: Which version of that form made it; ``None`` together with ``style``.

    Example:
        >>> record = ContentReplacementRecord("tool-result", "toolu_1", "…", size=None, hash=None)
        >>> ContentReplacementRecord.from_json(record.to_json()) == record
        True
    """

    kind: str
    tool_use_id: str
    replacement: str
    size: int | None
    hash: str | None
    file: str | None = None
    file_digest: str | None = None
    style: str | None = None
    style_version: int | None = None

    def to_json(self) -> dict[str, object]:
        """The entry as it stands in a record; what is unknown is left out.

        Example:
            >>> ContentReplacementRecord("tool-result", "t", "r", size=None, hash=None).to_json()
            {'kind': 'tool-result', 'toolUseId': 't', 'replacement': 'r'}
        """
        entry: dict[str, object] = {
            "kind": self.kind,
            "toolUseId": self.tool_use_id,
            "replacement": self.replacement,
            "size": self.size,
            "hash": self.hash,
            "file": self.file,
            "fileDigest": self.file_digest,
            "style": self.style,
            "styleVersion": self.style_version,
        }
        return {key: value for key, value in entry.items() if value is not None}

    @classmethod
    def from_json(cls, value: object) -> ContentReplacementRecord:
        """Read an entry back.

        Raises:
            TranscriptError: A field is missing or of a wrong type.

        Example:
            >>> entry = {"kind": "tool-result", "toolUseId": "t", "replacement": "r"}
            >>> ContentReplacementRecord.from_json(entry).size is None
            True
        """
        entry = own_entry(value)
        if entry is None:
            raise TranscriptError(f"replacement entry is malformed: a {type(value).__name__}")
        return entry


def foreign_entry(value: object) -> ContentReplacementRecord | None:
    """Read an entry of another program: it matches by id alone, whatever else it says."""
    if not isinstance(value, dict):
        return None
    kind, tool_use_id = value.get("kind", "tool-result"), value.get("toolUseId")
    replacement = value.get("replacement")
    if not (isinstance(kind, str) and isinstance(tool_use_id, str)):
        return None
    if not isinstance(replacement, str):
        return None
    return ContentReplacementRecord(kind, tool_use_id, replacement, size=None, hash=None)


def own_entry(value: object) -> ContentReplacementRecord | None:
    """Read an entry of ours; one without a fingerprint was inherited from another program."""
    entry = foreign_entry(value)
    if entry is None or not isinstance(value, dict) or "kind" not in value:
        return None
    size, digest = value.get("size"), value.get("hash")
    file, file_digest = value.get("file"), value.get("fileDigest")
    is_inherited = size is None and digest is None
    if not is_inherited and not (_is_size(size) and _is_hash(digest)):
        return None
    if not isinstance(file, str | None) or not isinstance(file_digest, str | None):
        return None
    style, style_version = _style(value)
    return replace(
        entry,
        size=size,
        hash=digest,
        file=_bare_name(file),
        file_digest=file_digest,
        style=style,
        style_version=style_version,
    )


def fingerprinted_entry(value: object) -> Fingerprinted | None:
    """Read an entry that names a result without replacing it: ``[id, size, hash]``."""
    match value:
        case [str(tool_use_id), size, digest] if _is_size(size) and _is_hash(digest):
            return tool_use_id, size, digest
        case _:
            return None


def _style(value: dict[str, object]) -> tuple[str, int] | tuple[None, None]:
    """Read which form a preview has; what a later version may have written is no damage."""
    style, version = value.get("style"), value.get("styleVersion")
    if isinstance(style, str) and type(version) is int:
        return style, version
    return None, None


def _is_size(value: object) -> TypeGuard[int]:
    return type(value) is int and value >= 0


def _is_hash(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _HASH.fullmatch(value) is not None


def _bare_name(name: str | None) -> str | None:
    """Keep a name that can only mean a file of its own directory; none may lead elsewhere."""
    if not name or name in {".", ".."} or _UNUSABLE_IN_A_NAME.search(name):
        return None
    return name
