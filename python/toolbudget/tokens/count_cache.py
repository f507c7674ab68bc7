"""Exact counts that were made before, by the content of the request."""

from __future__ import annotations

import hashlib
import json
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from toolbudget._mutex import Mutex

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CountCache", "cache_of", "key_of"]

_MAX_ENTRIES: Final = 256

_Value = TypeVar("_Value")


class CountCache(Generic[_Value]):
    """Keeps the values that were asked for last; safe for threads."""

    def __init__(self, max_entries: int = _MAX_ENTRIES) -> None:
        """Start empty."""
        self._max_entries = max_entries
        self._values: OrderedDict[bytes, _Value] = OrderedDict()
        self._lock = Mutex()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: bytes) -> _Value | None:
        """Return what is known, and make it the last that is forgotten."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: bytes, value: _Value) -> None:
        """Keep a value; the one that was not asked for the longest time makes room."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._max_entries:
                self._values.popitem(last=False)


_caches: Final[weakref.WeakKeyDictionary[object, CountCache[object]]] = weakref.WeakKeyDictionary()
_caches_lock: Final = Mutex()


def cache_of(client: object) -> CountCache[object] | None:
    """Return the cache of a client, which lives as long as it; ``None`` if it cannot have one.

    Counts are not shared: the same name of a model may mean another one elsewhere.
    """
    try:
        with _caches_lock:
            return _caches.setdefault(client, CountCache())
    except TypeError:  # neither weakly referable nor hashable
        return None


def key_of(request: Mapping[str, object]) -> bytes | None:
    """Return a digest of a request, or ``None`` if it cannot be written as JSON.

    The order of keys counts, as it does for the provider.
    """
    try:
        text = json.dumps(request, default=_plain)
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode("ascii")).digest()


def _plain(value: object) -> object:
    """Return what JSON can hold of an SDK object."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(type(value).__name__)
    return dump(mode="json")
