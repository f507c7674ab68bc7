"""Conversations of the usual shape in which any value, at any depth, may be another one."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, TypeAlias

from hypothesis import strategies as st

from tests.strategies.shapes import odd_values

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["mutated"]

Place: TypeAlias = tuple[Any, ...]


@st.composite
def mutated(draw: st.DrawFn, lists: st.SearchStrategy[list[Any]]) -> list[Any]:
    """Take a list of dicts, and put odd values in the place of some, or leave some out."""
    elements = copy.deepcopy(draw(lists))
    for _ in range(draw(st.integers(1, 3))):
        # The elements themselves stay: a list of anything else is refused as a whole.
        places = [place for place in _places(elements, ()) if len(place) > 1]
        if not places:
            break
        *holders, last = draw(st.sampled_from(places))
        parent: Any = elements
        for key in holders:
            parent = parent[key]
        if draw(st.integers(0, 4)) == 0:
            del parent[last]
        else:
            parent[last] = copy.deepcopy(draw(odd_values()))
    return elements


def _places(value: object, place: Place) -> Iterator[Place]:
    children: Any = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list):
        children = enumerate(value)
    for key, child in children:
        yield (*place, key)
        yield from _places(child, (*place, key))
