"""Values in a shape that a host may hand in and nobody planned for."""

from __future__ import annotations

import math
from collections import OrderedDict, UserDict
from typing import Any

from hypothesis import strategies as st

__all__ = ["SdkObject", "Text", "odd_values", "rarely", "shaped"]


class Text(str):
    """A text whose overridden methods must not be asked."""

    __slots__ = ()

    def __len__(self) -> int:
        """Lie about the length."""
        return 3

    def __getitem__(self, key: object) -> str:
        """Lie about the characters."""
        return "?"


class Fields(dict[str, Any]):
    """A dict of a subclass."""


class SdkObject:
    """What a client library hands out: fields are attributes."""

    def __init__(self, **fields: object) -> None:
        """Take any fields."""
        vars(self).update(fields)


def _nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def odd_values() -> st.SearchStrategy[object]:
    """Give what stands where text or a list was expected."""
    return st.sampled_from(
        [
            None,
            True,
            0,
            -1,
            -0.0,
            10**400,
            math.nan,
            math.inf,
            -math.inf,
            b"bytes",
            {},
            {"type": "text", "text": "a mapping, not a list"},
            (),
            [],
            [None],
            [7, "text"],
            [[{"type": "text", "text": "nested"}]],
            # What has no hash, where a kind or an id was expected.
            ["text"],
            {"type": ["text"], "text": "of no kind"},
            [{"type": {}, "text": "of no kind"}],
            {"": {"type": ["string", "null"]}},
            _nested(60),
            SdkObject(type="text", text="an object"),
            "",
            " \x1c\x1f",
            "\ud800",
            "\x00",
            Text("a subclass"),
        ]
    )


def rarely(odd: st.SearchStrategy[Any], usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Take an odd value in about one of fifteen cases."""
    return st.integers(0, 14).flatmap(lambda number: odd if number == 14 else usual)


def shaped(blocks: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[object]:
    """Give dicts, and now and then the same as another mapping, in another form or as an object."""
    others = st.sampled_from(
        [
            UserDict,
            OrderedDict,
            Fields,
            lambda block: SdkObject(**block),
            lambda block: {Text(key): block[key] for key in block},
            lambda block: dict(reversed(block.items())),
            lambda block: {"": 0, 1: 2, **block, "x" * 3_000: math.nan},
        ]
    )
    return rarely(st.builds(lambda make, block: make(block), others, blocks), blocks)
