from __future__ import annotations

import json
import re
import tracemalloc
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import text_oracle
from tests.strategies import Text, any_text

if TYPE_CHECKING:
    from types import ModuleType

# Under this limit the beginning is shown instead.
LEAST_BYTES = 240

_NOTE = re.compile(
    r"\[JSON, shown in part: ([0-9,]+) values?(, cut off at the end|, other text from character"
    r" [0-9,]+ on)?; ([0-9,]+) bytes in all\]"
)
_CUT_STRING = re.compile(r"(.*)\[\.\.\. ([0-9,]+) characters?\]", re.DOTALL)
_FOLDED = re.compile(r"[\[{]\.\.\. ([0-9,]+) (?:items?|keys?) \.\.\.[\]}]")
_LEFT_OUT = re.compile(r"\[\.\.\. ([0-9,]+) (?:items?|keys?|values?) left out \.\.\.\]")


class Preview(NamedTuple):
    """What is shown of a text, and whether anything was left out."""

    text: str
    has_more: bool


class Page(NamedTuple):
    """A preview taken apart again."""

    value_count: int
    end: str | None
    size_bytes: int
    values: list[Any]


def show(core: ModuleType, text: str, max_bytes: int) -> Preview:
    """Preview a text in the style that is tested here."""
    return Preview(*core.json_preview(text, max_bytes))


def number_in(text: str) -> int:
    """Read a number with commas."""
    return int(text.replace(",", ""))


def read(preview: str) -> Page:
    """Read note and values of a preview; all that is shown is valid JSON."""
    note, _, shown = preview.partition("\n")
    match = _NOTE.fullmatch(note)
    assert match, note
    values, decoder, at = [], json.JSONDecoder(), 0
    while at < len(shown):
        value, end = decoder.raw_decode(shown, at)
        assert shown[end : end + 1] in {"", "\n"}
        values.append(value)
        at = end + 1
    return Page(number_in(match[1]), match[2], number_in(match[3]), values)


def assert_part(shown: Any, whole: Any) -> None:  # noqa: ANN401
    """Hold that a shown value is a part of the whole one, and that what is missing is counted."""
    if isinstance(whole, str):
        cut = _CUT_STRING.fullmatch(shown)
        assert shown == whole or (
            cut and whole.startswith(cut[1]) and number_in(cut[2]) == len(whole)
        )
    elif isinstance(whole, (dict, list)) and isinstance(shown, str):
        folded = _FOLDED.fullmatch(shown)
        assert folded
        assert number_in(folded[1]) == len(whole)
    elif isinstance(whole, dict):
        left_out = _LEFT_OUT.fullmatch(shown.pop("...", "[... 0 keys left out ...]"))
        assert left_out
        assert len(shown) + number_in(left_out[1]) == len(whole)
        for (key, value), (whole_key, whole_value) in zip(
            shown.items(), whole.items(), strict=False
        ):
            assert_part(key, whole_key)
            assert_part(value, whole_value)
    elif isinstance(whole, list):
        assert_parts(shown, whole, len(whole))
    else:
        assert (type(shown), shown) == (type(whole), whole)


def assert_parts(shown: list[Any], whole: list[Any], count: int) -> None:
    """Hold that the first and the last items are shown, and that all are counted."""
    marks = [index for index, item in enumerate(shown) if _is_mark(item)]
    assert len(marks) <= 1
    first = marks[0] if marks else len(shown)
    last = len(shown) - first - len(marks)
    left_out = number_in(_LEFT_OUT.fullmatch(shown[first])[1]) if marks else 0  # type: ignore[index]
    assert first + left_out + last == count
    for item, whole_item in zip(shown[:first], whole, strict=False):
        assert_part(item, whole_item)
    for item, whole_item in zip(reversed(shown[first + 1 :]), reversed(whole), strict=False):
        assert_part(item, whole_item)


def _is_mark(item: object) -> bool:
    return isinstance(item, str) and _LEFT_OUT.fullmatch(item) is not None


_TEXTS = st.text(st.sampled_from('abc é日😀"\\\n\t\x00/{}[],:'), max_size=12)
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False),
    _TEXTS,
    st.builds(str.__mul__, _TEXTS, st.integers(0, 300)),
)
VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=8),
        st.builds(list.__mul__, st.lists(_SCALARS, max_size=3), st.integers(0, 50)),
        st.dictionaries(_TEXTS, inner, max_size=8),
    ),
    max_leaves=12,
)
_INDENTS = st.sampled_from([None, 0, 2])
DOCUMENTS = st.tuples(VALUES, _INDENTS, st.booleans()).map(
    lambda parts: (parts[0], json.dumps(parts[0], indent=parts[1], ensure_ascii=parts[2]))
)


@given(text=DOCUMENTS.map(lambda pair: pair[1]) | any_text(), max_bytes=st.integers(-5, 6_000))
def test_a_preview_keeps_its_limit_and_is_safe(core: ModuleType, text: str, max_bytes: int) -> None:
    """It takes at most so many bytes, and is what a request can carry (P3)."""
    preview = show(core, text, max_bytes)
    assert len(preview.text.encode()) <= max(0, max_bytes)
    assert "\x00" not in preview.text
    assert not re.search("</?persisted-output", preview.text, re.IGNORECASE)


@given(text=DOCUMENTS.map(lambda pair: pair[1]) | any_text(), max_bytes=st.integers(0, 6_000))
def test_a_text_that_fits_is_shown_whole(core: ModuleType, text: str, max_bytes: int) -> None:
    """What fits comes back as it is, made safe."""
    safe = text_oracle.make_wire_safe(text)
    fits = len(safe.encode()) <= max_bytes
    preview = show(core, text, max_bytes)
    assert preview.has_more is not fits
    if fits:
        assert safe == preview.text


@given(value=VALUES, max_bytes=st.integers(LEAST_BYTES, 4_000))
def test_what_is_shown_is_part_of_the_document(
    core: ModuleType, value: object, max_bytes: int
) -> None:
    """It is JSON again, with first keys, first and last items, beginnings, and true counts (P4)."""
    text = json.dumps([value] * 40, ensure_ascii=False)
    preview = show(core, text, max_bytes)
    if not preview.has_more or preview == core.cut_preview(text, max_bytes):
        return
    page = read(preview.text)
    assert (page.value_count, page.end) == (1, None)
    assert len(text.encode()) == page.size_bytes
    assert_part(page.values[0], [value] * 40)


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity", "true", "false", "null"])
def test_every_name_that_json_writes_is_a_value(core: ModuleType, name: str) -> None:
    """Python and JavaScript write numbers that have no numeral by name, one with a sign."""
    preview = show(
        core, "\n".join(f'{{"number": {name}, "of": "{"x" * 30}"}}' for _ in range(40)), 240
    )
    assert "40 values;" in preview.text


@pytest.mark.parametrize("name", ["-NaN", "-", "-null", "+Infinity", "-Infinityx", "Infinite"])
def test_what_only_looks_like_a_name_is_other_text(core: ModuleType, name: str) -> None:
    """The values before it are shown."""
    text = f'["{"x" * 600}"]\n{name}\n'
    assert "1 value, other text" in show(core, text, 240).text


@given(
    value=VALUES,
    count=st.integers(40, 90),
    between=st.sampled_from(["\n", "\n\n", " ", "\r\n"]),
    max_bytes=st.integers(LEAST_BYTES, 4_000),
)
def test_values_one_after_the_other_are_counted(
    core: ModuleType, value: object, count: int, between: str, max_bytes: int
) -> None:
    """JSON Lines and other rows of values show the first and the last ones."""
    values = [value, *({"number": number} for number in range(count))]
    text = between.join(json.dumps(value, ensure_ascii=False) for value in values)
    preview = show(core, text, max_bytes)
    if not preview.has_more or preview == core.cut_preview(text, max_bytes):
        return
    page = read(preview.text)
    assert (page.value_count, page.end) == (len(values), None)
    assert_parts(page.values, values, len(values))


@given(value=VALUES, cut=st.floats(0.5, 1), max_bytes=st.integers(LEAST_BYTES, 4_000))
def test_a_document_may_end_anywhere(
    core: ModuleType, value: object, cut: float, max_bytes: int
) -> None:
    """What was read before the end is shown as JSON, and the note says that the rest is missing."""
    whole = json.dumps({"one": [value] * 40, "two": [1] * 400})
    text = whole[: int(len(whole) * cut)]
    preview = show(core, text, max_bytes)
    if not preview.has_more or preview == core.cut_preview(text, max_bytes):
        return
    page = read(preview.text)
    assert (page.end is None) is (text == whole)
    assert next(iter(page.values[0])) == "one"


def test_a_document_that_ends_early_shows_its_last_items(core: ModuleType) -> None:
    """The last item that is there, whole or not, is shown as the last one."""
    text = json.dumps([{"id": number, "name": "n" * 50} for number in range(900)])[:40_000]
    page = read(show(core, text, 900).text)
    assert page.end == ", cut off at the end"
    assert page.values[0][0]["id"] == 0
    assert 500 < page.values[0][-1]["id"] < 900


def test_text_behind_a_document_is_told(core: ModuleType) -> None:
    """A log line behind the document does not hide it."""
    text = json.dumps({"ids": list(range(900))})
    page = read(show(core, f"{text}\nok: 900 rows\n", 500).text)
    assert page.value_count == 1
    assert page.end == f", other text from character {len(text) + 2:,} on"
    assert page.values[0]["ids"][0] == 0


@pytest.mark.parametrize(
    "text",
    [
        "[INFO] started\n" * 900,
        "{color: red}\n" * 900,
        "2024-05-01 one\n" * 900,
        '"quoted" words\n' * 900,
        "\n" * 9_000,
        '{"a": 1}\n' + "plain\n" * 900,
        '"' + "a line of a text that a quote begins\n" * 900,
    ],
)
def test_what_is_no_json_shows_its_beginning(core: ModuleType, text: str) -> None:
    """Text that only looks like JSON at first is shown as any other text."""
    preview = show(core, text, 500)
    if preview.text.startswith("[JSON"):
        assert read(preview.text).value_count == 0  # blanks are no values
    else:
        assert core.cut_preview(text, 500) == preview


@given(text=DOCUMENTS.map(lambda pair: pair[1]), max_bytes=st.integers(0, LEAST_BYTES - 1))
def test_with_little_room_the_beginning_is_shown(
    core: ModuleType, text: str, max_bytes: int
) -> None:
    """Too little room for a note and some values: the beginning (P2)."""
    assert core.cut_preview(text, max_bytes) == show(core, text, max_bytes)


def test_a_subclass_of_str_counts_as_its_text(core: ModuleType) -> None:
    """Methods of a subclass take no part."""
    text = json.dumps(list(range(9_000)))
    assert show(core, text, 500) == show(core, Text(text), 500)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "' + "x" * 50_000_000 + '"}',
        "[" * 300_000,
        "[" * 200_000 + "]" * 200_000,
        '["' + "\\n" * 500_000,
        "[" + "1," * 150_000 + "1]",
        "1" * 20_000_000,
        "[]" * 150_000,
    ],
    ids=["one string", "only open", "deep", "escapes", "many items", "one number", "many values"],
)
def test_memory_does_not_grow_with_the_text(core: ModuleType, text: str) -> None:
    """However long, deep or wide the text, the work takes little beside it."""
    tracemalloc.start()
    try:
        show(core, text, 2_000)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 1_000_000
