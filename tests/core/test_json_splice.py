from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import any_text
from toolbudget import InvalidMessageError
from toolbudget._core.pure.json import Splice, replace_contents, splice
from toolbudget._core.pure.rewrite import replace_content

PATH = ("content", 1, "content")
BIG = b'"cache_control":{"ttl":123456789012345678901}'


def replaced(document: bytes, text: str) -> bytes:
    """Replace the content of the second block of a message."""
    return splice(document, replace_contents(document, {PATH: text}))


def message(content: bytes) -> bytes:
    """Write a message whose every form would be lost by a JSON library."""
    return (
        b'{ "n":1.00,"big":123456789012345678901234567890, "s":"\\u0041\\ud800\\/",\r\n'
        b'\t"content":[{"x":NaN},{"type":"tool_result","content" : %b , "is_error":false}] , '
        b'"x":1,"x":2 }' % content
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'"a long text"', b'"short"'),
        (b"null", b'"short"'),
        (b'[{"type":"text","text":"long"}]', b'[{"type":"text","text":"short"}]'),
        (
            b'[{"type":"text","text":"a","cache_control":1},{"type":"text","text":"b",%b}]' % BIG,
            b'[{"type":"text","text":"short",%b}]' % BIG,
        ),
        (
            b'[{"type":"text","text":"a","cache_control":{"type":"x"}},{"type":"text","text":"b"}]',
            b'[{"type":"text","text":"short","cache_control":{"type":"x"}}]',
        ),
    ],
)
def test_only_the_content_changes(content: bytes, expected: bytes) -> None:
    """A content keeps its form, and every byte around it stays what it was."""
    assert replaced(message(content), "short") == message(expected)


@given(any_text(), any_text())
def test_any_text_arrives_in_ascii(before: str, after: str) -> None:
    """Whatever the texts hold, the new one is ASCII and a parser reads it back unchanged."""
    document = json.dumps({"content": [0, {"content": before}], "z": before}).encode()
    output = replaced(document, after)
    assert output.isascii()
    assert json.loads(output) == {"content": [0, {"content": after}], "z": before}


@given(st.lists(any_text(max_size=5), min_size=1, max_size=5), st.randoms())
def test_many_contents_in_one_pass(texts: list[str], random: object) -> None:
    """Several contents of one document are replaced together, in whatever order they are named."""
    contents = [[{"type": "text", "text": text}] if len(text) % 2 else text for text in texts]
    document = json.dumps([{"content": content} for content in contents]).encode()
    named = [((index, "content"), f"new {index}") for index in range(len(texts))]
    random.shuffle(named)  # type: ignore[attr-defined]
    output = splice(document, replace_contents(document, dict(named)))
    assert json.loads(output) == [
        {"content": replace_content(content, f"new {index}")}
        for index, content in enumerate(contents)
    ]


def test_a_byte_order_mark_stays() -> None:
    """Positions count from the first byte, also where the text begins behind a mark."""
    document = b'\xef\xbb\xbf{"content":"long"}'
    splices = replace_contents(document, {("content",): "s"}, start=3)
    assert splice(document, splices) == b'\xef\xbb\xbf{"content":"s"}'


def test_a_missing_content_is_refused() -> None:
    """There is nothing to replace where the text has no value."""
    with pytest.raises(InvalidMessageError, match=r"no value at: \('content',\)"):
        replace_contents(b"{}", {("content",): "s"})


@pytest.mark.parametrize(
    "value",
    [b"1" * 5_000, b"[" * 100_000 + b"]" * 100_000, b"1.50E+2", b'{ "type" : "\\u0065" }'],
    ids=["long integer", "deep", "number form", "white space and escapes"],
)
def test_a_cache_control_is_copied(value: bytes) -> None:
    """What a replaced list carries on keeps every byte, also where Python could not decode it."""
    first = b'{"type":"text","text":"a","cache_control":%b}' % value
    second = b'{"text":"b","cache_control":null}'
    document = b'{"content": [%b , %b ],"n":1}' % (first, second)
    output = splice(document, replace_contents(document, {("content",): "s"}))
    expected = b'{"content": [{"type":"text","text":"s","cache_control":%b}],"n":1}' % value
    assert output == expected


def test_numbers_in_a_cache_control_stay() -> None:
    """What a replaced list carries on is written as a parser understands it."""
    document = b'{"content":[{"type":"text","text":"a","cache_control":NaN}]}'
    output = splice(document, replace_contents(document, {("content",): "s"}))
    assert math.isnan(json.loads(output)["content"][0]["cache_control"])


def test_splices_may_touch() -> None:
    """Neighbouring spans, empty ones and those at both ends are put together in order."""
    changes = [Splice(0, 1, b"A"), Splice(1, 1, b"B"), Splice(1, 2, b""), Splice(3, 3, b"C")]
    assert splice(b"xyz", changes) == b"ABzC"
