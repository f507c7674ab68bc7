"""A dict that is never changed, and is copied and pickled like any other."""

from __future__ import annotations

from typing import NoReturn, TypeVar

__all__ = ["ReadOnlyDict"]

_Value = TypeVar("_Value")


class ReadOnlyDict(dict[str, _Value]):
    """A dict that refuses to be changed.

    ``types.MappingProxyType`` would do, if it could be copied, pickled and written as JSON, as
    ``dataclasses.asdict`` and a queue between processes ask.

    Example:
        >>> import copy
        >>> counts = ReadOnlyDict({"empty": 2})
        >>> copy.deepcopy(counts) == counts == {"empty": 2}
        True
    """

    __slots__ = ()

    def _refuse(self, *_arguments: object, **_options: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} cannot be changed: {self!r}")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[ReadOnlyDict[_Value]], tuple[dict[str, _Value]]]:
        """Make a copy from a plain dict, not item by item."""
        return type(self), (dict(self),)
