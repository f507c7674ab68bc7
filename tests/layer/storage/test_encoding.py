from __future__ import annotations

import json
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import any_text, hostile_text
from toolbudget.storage import encoding
from toolbudget.storage.encoding import encode_content, is_stored_as_json, measure_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget.storage.encoding import Content

CHUNK_BYTES = 1 << 20


def text_block(text: str, **more: object) -> dict[str, object]:
    """Give a text block, with other keys if asked for."""
    return {"type": "text", "text": text, **more}


def stored(content: object) -> bytes:
    """Give the whole stored form of anything."""
    return b"".join(encode_content(cast("Content", content)))


def json_values() -> st.SearchStrategy[Any]:
    """Give every value that JSON can tell without loss."""
    simple = st.none() | st.booleans() | st.integers() | hostile_text()
    return st.recursive(
        simple | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text(), inner, max_size=3),
        max_leaves=8,
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("text", False),
        ("", False),
        ([text_block("one")], False),
        ((text_block("one"),), False),
        ([text_block("one", cache_control={"type": "ephemeral"})], False),
        ([MappingProxyType(text_block("one"))], False),
        ([text_block("one", citations=[])], True),
        ([text_block("one"), text_block("two")], True),
        ([], True),
        ([{"type": "image", "source": {}}], True),
        ([{"type": "text"}], True),
        ([{"type": "text", "text": None}], True),
        ([{"text": "one"}], True),
    ],
)
def test_json_is_for_what_one_text_cannot_tell(content: Content, *, expected: bool) -> None:
    """One plain text is stored as it is; several blocks or other keys make a JSON list."""
    assert is_stored_as_json(content) is expected


@given(hostile_text())
def test_text_is_stored_byte_for_byte(text: str) -> None:
    """No line end is translated, nothing added; lone surrogates and NULs stay."""
    expected = text.encode("utf-8", "surrogatepass")
    assert stored(text) == expected
    assert stored([text_block(text)]) == expected


@given(st.lists(st.dictionaries(any_text(), json_values(), max_size=3), min_size=2, max_size=4))
def test_blocks_are_read_back_the_same(blocks: list[dict[str, object]]) -> None:
    """Nothing of a block list is lost, in one line without needless characters."""
    written = stored(blocks).decode("utf-8", "surrogatepass")
    assert json.loads(written) == blocks
    assert written == json.dumps(blocks, ensure_ascii=False, separators=(",", ":"))
    assert "\n" not in written


def test_mappings_and_tuples_are_stored_as_objects_and_lists() -> None:
    """Blocks need not be dicts."""
    block = MappingProxyType({"type": "x", "nested": MappingProxyType({"items": (1, 2)})})
    assert stored((block,)) == b'[{"type":"x","nested":{"items":[1,2]}}]'
    assert stored([]) == b"[]"


def circular() -> list[dict[str, object]]:
    """Give a block that holds itself."""
    block: dict[str, object] = {}
    block["self"] = block
    return [block]


def nested() -> list[dict[str, object]]:
    """Give a block nested far deeper than any encoder goes."""
    value: list[object] = []
    for _ in range(200_000):
        value = [value]
    return [{"deep": value}]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        pytest.param([{"value": math.nan}], ValueError, id="nan"),
        pytest.param([{"value": -math.inf}], ValueError, id="infinity"),
        pytest.param([{"value": b"bytes"}], TypeError, id="bytes-inside"),
        pytest.param([{"value": object()}], TypeError, id="object"),
        pytest.param([{("a", "tuple"): 1}], TypeError, id="tuple-as-key"),
        pytest.param(circular(), ValueError, id="circular"),
        pytest.param(nested(), RecursionError, id="nested"),
        pytest.param(42, TypeError, id="number"),
        pytest.param(None, TypeError, id="none"),
        pytest.param(b"bytes", TypeError, id="bytes"),
        pytest.param({"type": "text"}, TypeError, id="one-block"),
    ],
)
def test_what_json_cannot_tell_is_an_error(content: object, error: type[Exception]) -> None:
    """A value without a JSON form is refused, not stored as something else."""
    with pytest.raises(error):
        stored(content)


@pytest.mark.parametrize("unit", ["a", "\u00e9", "\u65e5", "\U0001f600", "\ud83d", "\ud83d\ude00"])
def test_chunks_are_bounded_and_cut_no_character(unit: str) -> None:
    """A long text comes in pieces of at most 1 MiB that together are the text."""
    text = unit * (3 * CHUNK_BYTES // len(unit) + 1)
    chunks = list(encode_content(text))
    assert max(map(len, chunks)) <= CHUNK_BYTES
    assert b"".join(chunks) == text.encode("utf-8", "surrogatepass")


def test_chunks_of_blocks_are_bounded_and_few() -> None:
    """Many small blocks make few writes, and a large block among them no large one."""
    blocks = [text_block("\u65e5" * size) for size in (*[10] * 50_000, 2_000_000, *[10] * 10)]
    chunks = list(encode_content(blocks))
    assert max(map(len, chunks)) <= CHUNK_BYTES
    assert len(chunks) < 40
    assert json.loads(b"".join(chunks)) == blocks


def test_size_and_hash_are_those_of_the_stored_bytes() -> None:
    """Whatever the chunks, the hash is XXH3-128 of the whole."""
    content = [text_block("\ud800" * 600_000), text_block("two")]
    written = stored(content)
    assert measure_chunks(encode_content(content)) == (
        len(written),
        xxhash.xxh3_128_hexdigest(written),
    )


def test_short_text_is_not_copied_before_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of one chunk is encoded as it is."""
    monkeypatch.setattr(encoding, "_CHUNK_BYTES", 16)
    assert list(encode_content("a" * 16)) == [b"a" * 16]
    assert list(encode_content("a" * 17)) == [b"a" * 16, b"a"]
    assert list(encode_content("\u00e9" * 5)) == ["\u00e9".encode() * 4, "\u00e9".encode()]


def test_str_subclass_is_stored_as_text() -> None:
    """A text of a host's own class is a text."""

    class Text(str):
        __slots__ = ()

    assert not is_stored_as_json(Text("text"))
    assert stored(Text("text")) == b"text"


def test_block_that_raises_is_the_callers_to_handle() -> None:
    """An error of the host's own mapping is not hidden."""

    class Broken(Mapping[str, object]):
        def __getitem__(self, key: str) -> object:
            raise LookupError("broken block")

        def __iter__(self) -> Iterator[str]:
            return iter(["type"])

        def __len__(self) -> int:
            return 1

    with pytest.raises(LookupError, match="broken block"):
        stored([Broken(), Broken()])
