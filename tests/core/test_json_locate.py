from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import any_text
from toolbudget import InvalidMessageError
from toolbudget._core.pure.json import locate

if TYPE_CHECKING:
    from toolbudget._core.pure.json import Path

KEYS = ("content", "message", "a", 'quote"and\\slash', "caf\u00e9")


def scalars() -> st.SearchStrategy[object]:
    """Give JSON values that hold no others, NaN and infinities among them."""
    return st.none() | st.booleans() | st.integers() | st.floats() | any_text(max_size=8)


def documents() -> st.SearchStrategy[object]:
    """Give JSON values with a few keys that occur again and again."""
    keys = st.sampled_from(KEYS) | any_text(max_size=3)
    return st.recursive(
        scalars(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
        max_leaves=20,
    )


def paths_in(value: object) -> list[Path]:
    """List the path of every value in a document."""
    found: list[Path] = [()]
    members: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        members = list(value.items())
    elif isinstance(value, list):
        members = list(enumerate(value))
    for key, member in members:
        found += [(key, *path) for path in paths_in(member)]
    return found


def value_at(value: object, path: Path) -> object:
    """Follow a path into a decoded document."""
    for key in path:
        value = value[key]  # type: ignore[index]
    return value


@given(documents(), st.sampled_from([None, 1, "\t"]), st.data())
def test_spans_hold_the_values_that_a_parser_sees(
    document: object, indent: int | str | None, data: st.DataObject
) -> None:
    """The text of each span, decoded by itself, is the value that stands at the path."""
    text = json.dumps(document, ensure_ascii=data.draw(st.booleans()), indent=indent)
    encoded = text.encode("utf-8", "surrogatepass")
    paths = data.draw(st.lists(st.sampled_from(paths_in(document)), max_size=5))
    spans = locate(encoded, paths)
    assert set(spans) == set(paths)
    for path in paths:
        start, end = spans[path]
        # By their representation, because NaN equals nothing.
        assert repr(json.loads(encoded[start:end])) == repr(value_at(document, path))
        assert encoded[start:end] == encoded[start:end].strip()


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        (b'{"a":1,"a":22}', ("a",), b"22"),
        (b'{"a":{"b":1},"a":{"b":2,"b":3}}', ("a", "b"), b"3"),
        (b'{"a":1,"\\u0061" : 2}', ("a",), b"2"),
        (b' [ 1 , [ ] , { } , "x" ] ', (3,), b'"x"'),
        (b'{"a":"}]{[\\"\\\\","b":[NaN,-Infinity,1e5]}', ("b", 1), b"-Infinity"),
        (b'{"a":[1,2]}', ("a",), b"[1,2]"),
    ],
)
def test_the_value_that_counts(text: bytes, path: Path, expected: bytes) -> None:
    """Of several values under one key the last counts, however its key is written."""
    start, end = locate(text, [path])[path]
    assert text[start:end] == expected


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (b'{"a":{"b":1},"a":{"c":2}}', ("a", "b")),
        (b'{"a":{"b":1},"a":3}', ("a", "b")),
        (b"[1]", (1,)),
        (b"[1]", ("a",)),
        (b'{"0":1}', (0,)),
        (b'"text"', ("a",)),
    ],
)
def test_what_is_not_there_is_left_out(text: bytes, path: Path) -> None:
    """A path that leads nowhere, or only into a value that a later one overrides, has no span."""
    assert locate(text, [path]) == {}


def test_a_path_may_lead_through_another() -> None:
    """A value and one inside it can be asked for together."""
    text = b'{"a": [10, {"b": 2}]}'
    spans = locate(text, [("a",), ("a", 1, "b"), ()])
    assert {path: text[slice(*span)] for path, span in spans.items()} == {
        (): text,
        ("a",): b'[10, {"b": 2}]',
        ("a", 1, "b"): b"2",
    }


def test_a_start_skips_what_stands_before() -> None:
    """The outermost value may begin anywhere in the bytes."""
    text = b'\xef\xbb\xbf {"a":7}'
    assert locate(text, [("a",)], start=3)["a",] == (9, 10)


def test_depth_costs_no_recursion() -> None:
    """A value nested a million deep is stepped over like any other."""
    deep = b"[" * 1_000_000 + b"]" * 1_000_000
    text = b'{"deep":' + deep + b',"a":1}'
    assert locate(text, [("a",)])["a",].end == len(text) - 1


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        (b'{"a":1', 6),
        (b'{"a" 1}', 5),
        (b'{"b":[1,"c}', 6),
        (b'{"b":,"a":1}', 5),
        (b"{a:1}", 1),
        (b'{"a":1]', 6),
        (b'["x', 1),
        (b"", 0),
    ],
)
def test_damaged_text_is_refused(text: bytes, offset: int) -> None:
    """Text that no parser could have accepted is refused with the position of the damage."""
    with pytest.raises(InvalidMessageError, match=rf"not JSON at byte {offset}: b"):
        locate(text, [("a",), (0,)])
