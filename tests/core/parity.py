"""Comparing what two cores make of the same input, down to types and identities."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["assert_same", "differences", "outcome"]


def assert_same(expected: object, actual: object) -> None:
    """Fail with the places where two results differ."""
    found = list(differences(expected, actual, "result"))
    assert found == []


def differences(expected: object, actual: object, where: str) -> Iterator[str]:
    """Yield every place where two results differ: in type, in value, in the order of keys.

    What the host handed in must be the same object in both.
    """
    if type(expected) is not type(actual):
        yield f"{where}: {type(expected)} is not {type(actual)}"
    elif isinstance(expected, BaseException):
        yield from _values(_of_error(expected), _of_error(actual), where)
    elif dataclasses.is_dataclass(expected):
        # What a core remembers is its own affair.
        for name in (field.name for field in dataclasses.fields(expected) if field.compare):
            pair = _plain(getattr(expected, name)), _plain(getattr(actual, name))
            yield from differences(pair[0], pair[1], f"{where}.{name}")
    elif isinstance(expected, dict) and isinstance(actual, dict):
        yield from differences(list(expected), list(actual), f"{where}.keys")
        for key in expected.keys() & actual.keys():
            yield from differences(expected[key], actual[key], f"{where}[{key!r:.20}]")
    elif isinstance(expected, (list, tuple)) and isinstance(actual, (list, tuple)):
        if len(expected) != len(actual):
            yield f"{where}: {len(expected)} items, not {len(actual)}"
        for index, pair in enumerate(zip(expected, actual, strict=False)):
            yield from differences(*pair, f"{where}[{index}]")
    else:
        yield from _values(expected, actual, where)


def _plain(value: object) -> object:
    """Give what a core may keep in a form of its own as a list."""
    is_own = type(value).__name__ in {"Choices", "PlanItems", "TotalsOfGroups"}
    return list(cast("Iterable[object]", value)) if is_own else value


def _values(expected: object, actual: object, where: str) -> Iterator[str]:
    if expected is not actual and expected != actual:
        yield f"{where}: {expected!r:.200} is not {actual!r:.200}"


def _of_error(error: object) -> tuple[type, str]:
    return type(error), str(error)


def outcome(call: Callable[..., object], *arguments: Any) -> object:  # noqa: ANN401
    """Call a function and give what it returns or raises."""
    try:
        return call(*arguments)
    except Exception as error:  # noqa: BLE001 - an error is a result like any other here
        return error
