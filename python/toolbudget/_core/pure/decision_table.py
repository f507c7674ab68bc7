"""The decisions of a conversation, by id and fingerprint."""

# ruff: noqa: SLF001 - a copy is made by its own class

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from toolbudget._core.pure.decision import Key
from toolbudget._core.pure.fingerprint import Fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["DecisionTable", "read_key", "read_replacement"]

_Default = TypeVar("_Default")


class DecisionTable(Mapping[str, Mapping[Fingerprint, str | None]]):
    """What was decided about each id: by fingerprint its replacement, or ``None`` if it was kept.

    The first decision about a result stands. What is handed out cannot change it. Everything comes
    in the order in which it was decided, by id; a comparison does not look at the order. Ids and
    replacements are held as plain texts, whatever a subclass overrides.

    Args:
        decisions: What is decided from the beginning.

    Example:
        >>> table = DecisionTable()
        >>> table.decide(Key("t1", Fingerprint(3, "06b05ab6733a618578af5f94892f3950")), None)
        True
        >>> list(table), table.counts()
        (['t1'], (0, 1))
    """

    __slots__ = ("_by_id",)

    def __init__(self, decisions: Iterable[tuple[Key, str | None]] = (), /) -> None:
        """Start with these decisions."""
        self._by_id: dict[str, dict[Fingerprint, str | None]] = {}
        self.decide_all(decisions)

    def decide(self, key: Key, replacement: str | None, /) -> bool:
        """Take a decision over; tell whether there was none about the same result.

        Raises:
            TypeError: The key or the replacement is none.
        """
        tool_use_id, fingerprint = read_key(key)
        return self._add(tool_use_id, fingerprint, read_replacement(replacement))

    def decide_all(
        self, decisions: Iterable[tuple[Key, str | None]], /, *kept: Iterable[Key]
    ) -> None:
        """Take decisions over, then keep results; all of them, or none if anything is wrong.

        Raises:
            TypeError: A key or a replacement is none.
        """
        read = [(read_key(key), read_replacement(text)) for key, text in decisions]
        keys = [read_key(key) for group in kept for key in group]
        for (tool_use_id, fingerprint), replacement in read:
            self._add(tool_use_id, fingerprint, replacement)
        for tool_use_id, fingerprint in keys:
            self._add(tool_use_id, fingerprint, None)

    def keep_entries(self, entries: Iterable[tuple[str, int, str]], /) -> None:
        """Keep results that are given as a record has them: id, size in characters, and hash.

        Raises:
            TypeError: An entry is none; then nothing was kept.
        """
        self.decide_all((), [Key(name, Fingerprint(size, text)) for name, size, text in entries])

    def decide_anew(self, key: Key, replacement: str | None, /) -> None:
        """Decide whatever was decided before: from now on this is the last decision about the id.

        Raises:
            TypeError: The key or the replacement is none.
        """
        tool_use_id, fingerprint = read_key(key)
        text = read_replacement(replacement)
        self._by_id.get(tool_use_id, {}).pop(fingerprint, None)
        self._add(tool_use_id, fingerprint, text)

    def withdraw(self, key: Key, /) -> bool:
        """Take back that a result was kept; tell whether it was.

        Raises:
            TypeError: The key is none.
        """
        tool_use_id, fingerprint = read_key(key)
        by_fingerprint = self._by_id.get(tool_use_id, {})
        if by_fingerprint.get(fingerprint, "") is not None:
            return False
        del by_fingerprint[fingerprint]
        if not by_fingerprint:
            del self._by_id[tool_use_id]
        return True

    def decision(self, key: Key, default: _Default, /) -> str | _Default | None:
        """Return the decision about one result, or ``default`` if there is none.

        Raises:
            TypeError: The key is none.
        """
        tool_use_id, fingerprint = read_key(key)
        return self._by_id.get(tool_use_id, {}).get(fingerprint, default)

    def decisions(self) -> list[tuple[Key, str | None]]:
        """Return every decision."""
        return [
            (Key(tool_use_id, fingerprint), replacement)
            for tool_use_id, by_fingerprint in self._by_id.items()
            for fingerprint, replacement in by_fingerprint.items()
        ]

    def counts(self) -> tuple[int, int]:
        """Return how many results were replaced, and how many were kept."""
        by_fingerprint = self._by_id.values()
        kept = sum(text is None for decided in by_fingerprint for text in decided.values())
        return sum(map(len, by_fingerprint)) - kept, kept

    def copy(self) -> Self:
        """Return an equal table that goes on separately."""
        other = type(self)()
        other._by_id = {name: dict(decided) for name, decided in self._by_id.items()}
        return other

    def __getitem__(self, tool_use_id: str, /) -> Mapping[Fingerprint, str | None]:
        """Return the decisions about one id.

        Raises:
            KeyError: There are none.
        """
        if not isinstance(tool_use_id, str):
            raise KeyError(tool_use_id)
        # No copy: of an id that every call shares one would be made for each result.
        return MappingProxyType(self._by_id[_plain(tool_use_id)])

    def __contains__(self, tool_use_id: object, /) -> bool:
        """Tell whether there are decisions about an id."""
        return isinstance(tool_use_id, str) and _plain(tool_use_id) in self._by_id

    def __iter__(self) -> Iterator[str]:
        """Iterate over the ids that there are now."""
        return iter(list(self._by_id))

    def __len__(self) -> int:
        """Count the ids."""
        return len(self._by_id)

    def __repr__(self) -> str:
        """Name the counts; texts may be secret."""
        replaced, kept = self.counts()
        return f"DecisionTable(replaced={replaced}, kept={kept})"

    def __reduce__(self) -> tuple[type[Self], tuple[list[tuple[Key, str | None]]]]:
        """Let it be copied and pickled."""
        return type(self), (self.decisions(),)

    def _add(self, tool_use_id: str, fingerprint: Fingerprint, replacement: str | None) -> bool:
        by_fingerprint = self._by_id.get(tool_use_id)
        if by_fingerprint is None:
            self._by_id[tool_use_id] = {fingerprint: replacement}
            return True
        if fingerprint in by_fingerprint:
            return False
        by_fingerprint[fingerprint] = replacement
        return True


def read_key(key: Key) -> Key:
    """Return a key of plain values.

    Raises:
        TypeError: It is none.
    """
    parts: tuple[Any, Any] = key
    try:
        tool_use_id, fingerprint = parts
        size_chars, text_hash = fingerprint
    except (TypeError, ValueError):
        raise _not_a_key(key) from None
    if type(tool_use_id) is str and type(size_chars) is int and type(text_hash) is str:
        return key if type(fingerprint) is Fingerprint else _key(tool_use_id, size_chars, text_hash)
    if not (
        isinstance(tool_use_id, str) and isinstance(size_chars, int) and isinstance(text_hash, str)
    ):
        raise _not_a_key(key)
    return _key(_plain(tool_use_id), int.__index__(size_chars), _plain(text_hash))


def read_replacement(replacement: str | None) -> str | None:
    """Return the plain text of a replacement; ``None`` stays.

    Raises:
        TypeError: It is none.
    """
    if replacement is None or type(replacement) is str:
        return replacement
    if isinstance(replacement, str):
        return _plain(replacement)
    raise TypeError(f"replacement must be text or None: {replacement!r:.80}")


def _key(tool_use_id: str, size_chars: int, text_hash: str) -> Key:
    return Key(tool_use_id, Fingerprint(size_chars, text_hash))


def _plain(text: str) -> str:
    return text if type(text) is str else str.__str__(text)


def _not_a_key(key: object) -> TypeError:
    return TypeError(f"key must be an id with the size and hash of a text: {key!r:.80}")
