"""The JSON form of whatever a host sends: dicts, SDK objects, and values nobody planned for.

Nothing here raises for what a value is, and nothing is changed. The order of keys is kept, since it
decides the bytes; what has no JSON form stands as its ``repr`` without memory addresses.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Leaf", "Path", "as_plain", "json_text", "leaves"]

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices that lead to a value."""

_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")
# Deeper than any parser goes; it ends objects that make new objects without end.
_MAX_DEPTH: Final = 10_000
_MAX_LEAF_DEPTH: Final = 32
_JSON_TYPES: Final = frozenset({dict, list, tuple, str, int, float, bool, type(None)})
# In the order in which a client library prefers them: the first leaves out what was never set.
_CONVERTERS: Final = ("to_dict", "model_dump")


class Leaf(NamedTuple):
    """A value without members, and where it stands."""

    path: Path
    text: str
    """Its JSON form."""

    @property
    def shown(self) -> str:
        """The characters of a text, the JSON form of anything else."""
        value = json.loads(self.text) if self.text.startswith('"') else None
        return value if isinstance(value, str) else self.text


class _Open(NamedTuple):
    """A container that is being written, kept alive until its closing bracket."""

    value: object
    closing: str


class _Literal(NamedTuple):
    text: str


class _Value(NamedTuple):
    value: object


def json_text(value: object) -> str:
    r"""Return the compact JSON form of any value; characters beyond ASCII stand as they are.

    Example:
        >>> json_text({"b": (1, 1.0), "a": {"x"}, "t": "caf\u00e9"})
        '{"b":[1,1.0],"a":["\'x\'"],"t":"café"}'
    """
    try:
        return _ENCODER.encode(value)
    except Exception:  # noqa: BLE001, S110 - deep, circular or hostile: the slow way takes anything
        pass
    try:
        return _write(value)
    except Exception:  # noqa: BLE001 - changed by another thread meanwhile, or hostile beyond reason
        return json.dumps(f"<{type(value).__name__}>")


def as_plain(value: object) -> object:
    """Return what JSON would see of a value: a dict, a list or a scalar, not looked into further.

    Example:
        >>> from types import MappingProxyType, SimpleNamespace
        >>> as_plain(MappingProxyType({"a": 1})), as_plain(SimpleNamespace(type="text", text="x"))
        ({'a': 1}, {'type': 'text', 'text': 'x'})
    """
    if type(value) in _JSON_TYPES:
        return value
    try:
        return _convert(value)
    except Exception:  # noqa: BLE001 - a host's own class may raise anything
        return _shown(value)


def leaves(value: object) -> Iterator[Leaf]:
    """Yield the innermost values in the order of the JSON text; an empty container is one, too.

    Example:
        >>> [(leaf.path, leaf.text) for leaf in leaves({"a": [True, {}], "b": "x"})]
        [(('a', 0), 'true'), (('a', 1), '{}'), (('b',), '"x"')]
    """
    todo: list[tuple[Path, object]] = [((), value)]
    while todo:
        path, node = todo.pop()
        plain = as_plain(node)
        members = _members(plain) if len(path) < _MAX_LEAF_DEPTH else []
        if members:
            todo.extend(((*path, key), member) for key, member in reversed(members))
        else:
            yield Leaf(path, json_text(plain))


def _members(plain: object) -> list[tuple[str | int, object]]:
    try:
        if isinstance(plain, dict):
            return [(_key(key), member) for key, member in plain.items()]
        if isinstance(plain, (list, tuple)):
            return list(enumerate(plain))
    except Exception:  # noqa: BLE001 - a subclass may raise anything
        return []
    return []


def _convert(value: object) -> object:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    return _shown(value) if isinstance(value, type) else _convert_object(value)


def _convert_object(value: object) -> object:
    if isinstance(value, AbstractSet):
        return sorted(map(_shown, value))
    for name in _CONVERTERS:
        converted = _call(value, name)
        if converted is not None:
            return converted
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    # Only what looks like a message or block: other objects may lead to half the host's memory.
    attributes = _attributes(value)
    return attributes if {"type", "role"} & attributes.keys() else _shown(value)


def _call(value: object, name: str) -> dict[object, object] | None:
    """Call a method that should return a mapping; ``None`` if there is none that does."""
    method = getattr(type(value), name, None)
    try:
        converted = method(value) if callable(method) else None
        return dict(converted.items()) if isinstance(converted, Mapping) else None
    except Exception:  # noqa: BLE001 - a host's own method may raise anything
        return None


def _attributes(value: object) -> dict[str, object]:
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    found.update(getattr(value, "__dict__", {}))
    return {name: member for name, member in found.items() if not name.startswith("_")}


def _slots(kind: type) -> Iterable[str]:
    slots: object = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else map(str, slots)  # type: ignore[call-overload]


def _shown(value: object) -> str:
    try:
        return _ADDRESS.sub("", repr(value))
    except Exception:  # noqa: BLE001 - a host's own repr may raise anything
        return f"<{type(value).__name__}>"


def _write(value: object) -> str:
    """Write JSON without recursion, so that neither depth nor circles end it."""
    pieces: list[str] = []
    open_ids: set[int] = set()
    todo: list[_Value | _Literal | _Open] = [_Value(value)]
    while todo:
        task = todo.pop()
        if isinstance(task, _Literal):
            pieces.append(task.text)
        elif isinstance(task, _Open):
            open_ids.remove(id(task.value))
            pieces.append(task.closing)
        elif id(task.value) in open_ids or len(open_ids) >= _MAX_DEPTH:
            pieces.append('"<circular>"')
        else:
            plain = as_plain(task.value)
            if not isinstance(plain, (dict, list, tuple)):
                pieces.append(_scalar(plain))
                continue
            is_object = isinstance(plain, dict)
            open_ids.add(id(task.value))
            pieces.append("{" if is_object else "[")
            todo.append(_Open(task.value, "}" if is_object else "]"))
            todo.extend(_member_tasks(plain))
    return "".join(pieces)


def _member_tasks(plain: object) -> list[_Value | _Literal]:
    """List what is to be written inside a container, last first."""
    tasks: list[_Value | _Literal] = []
    for position, (key, member) in enumerate(_members(plain)):
        if position:
            tasks.append(_Literal(","))
        if isinstance(plain, dict):
            tasks.append(_Literal(f"{_ENCODER.encode(key)}:"))
        tasks.append(_Value(member))
    return tasks[::-1]


def _key(key: object) -> str:
    """Write a key as JSON does."""
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, (bool, int, float)):
        return _scalar(key)
    return _shown(key)


def _scalar(value: object) -> str:
    """Write a value without members."""
    try:
        return _ENCODER.encode(value)
    except ValueError:  # an int with more digits than the interpreter prints
        return f"{value:#x}"


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=as_plain)
