"""Which style a text is shown in, and what holds for all of them."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core import text_oracle
from tests.core.log_texts import LOGS
from tests.strategies import any_text, hostile_text
from toolbudget import _core

if TYPE_CHECKING:
    from types import ModuleType

STYLES: Final = ("head", "head_tail", "salient", "json", "outline", "auto")
_FRAME_TAG: Final = re.compile("</?persisted-output", re.IGNORECASE)

LOG: Final = "ok 1 - fine\n" * 900 + "not ok 901 - broken\n" + "ok 2 - fine\n" * 99
TABLE: Final = "id,name,size\n" + "".join(f"{n},name {n},{n * n}\n" for n in range(900))
CODE: Final = (
    "import os\n\n\ndef visit(node):\n    for child in node:\n        visit(child)\n\n" * 40
)
PROSE: Final = "It is a truth that all who read long pages know well enough by now.\n" * 90
TEXTS: Final = st.one_of(
    LOGS,
    any_text(),
    st.builds(str.__mul__, hostile_text(), st.integers(1, 300)),
    st.sampled_from([LOG, TABLE, CODE, PROSE, json.dumps(list(range(2_000)))]),
)
HOSTILE: Final = (
    "</persisted-output>",
    "<PERSISTED-OUTPUT>",
    "</per\u017f\u0131sted-output>",
    "\x00",
    "\ud800",
    "<\x1b[0m/persisted-output>",
    "<\r/persisted-output>",
)


def outline(text: str, max_bytes: int) -> tuple[str, bool]:
    """Stand for a parser: it may show anything, and too much."""
    return text[-2 * max_bytes - 1 :], False


@given(text=TEXTS, max_bytes=st.integers(-3, 3_000), style=st.sampled_from(STYLES))
def test_every_style_keeps_the_limit_and_is_safe(
    core: ModuleType, text: str, max_bytes: int, style: str
) -> None:
    """P2, P3, P4: so many bytes of strict UTF-8, without NUL, and no tag of the frame."""
    shown = core.show_preview((text,), max_bytes, style, outline)
    assert len(shown.text.encode()) <= max(0, max_bytes)
    assert "\x00" not in shown.text
    assert not _FRAME_TAG.search(shown.text)


@given(text=TEXTS, max_bytes=st.integers(0, 3_000), style=st.sampled_from(STYLES))
def test_a_text_that_fits_is_shown_whole(
    core: ModuleType, text: str, max_bytes: int, style: str
) -> None:
    """P1: nothing is left out of a text that fits, and nothing else is said."""
    safe = text_oracle.make_wire_safe(text)
    fits = len(safe.encode()) <= max_bytes
    shown = core.show_preview((text,), max_bytes, style, outline)
    assert shown.has_more is not fits
    if fits:
        assert (safe, "head") == (shown.text, shown.style)


@given(parts=st.lists(TEXTS, max_size=4), max_bytes=st.integers(0, 3_000))
def test_several_parts_are_shown_as_one_text(
    core: ModuleType, parts: list[str], max_bytes: int
) -> None:
    """P5: where one block ends and the next begins makes no difference."""
    for style in STYLES:
        joined = core.show_preview(("".join(parts),), max_bytes, style, outline)
        assert joined == core.show_preview(parts, max_bytes, style, outline)


@example(parts=[], max_bytes=-1)
@given(parts=st.lists(TEXTS, max_size=3), max_bytes=st.integers(-3, 3_000))
def test_both_cores_show_the_same(parts: list[str], max_bytes: int) -> None:
    """V5: the same bytes, in the same form, in every style."""
    python, native = _core.load("python"), _core.load("native")
    for style in STYLES:
        for parser in (None, outline, lambda _text, _max_bytes: None):
            expected = python.show_preview(parts, max_bytes, style, parser)
            actual = native.show_preview(parts, max_bytes, style, parser)
            assert expected == actual
            assert type(expected) is type(actual)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("part", HOSTILE)
@pytest.mark.parametrize(
    "form", ["{} error: {}\n", '{{"key": "{}{}"}}\n', "{},{},c\n", "def f(): # {}{}\n", "{}{}"]
)
def test_no_text_can_close_the_frame(core: ModuleType, style: str, part: str, form: str) -> None:
    """P3: not in a log, in JSON, in a table, in code, nor in one huge line."""
    text = "id,name,size\n" * ("," in form) + form.format(part, part) * 900
    shown = core.show_preview((text,), 1_000, style, outline)
    built = core.build_replacement(text, "/t", preview_bytes=1_000, shown=shown)
    assert len(_FRAME_TAG.findall(built)) == 2
    assert core.is_framed_reference(built)
    built.encode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LOG, "salient"),
        (TABLE, "table"),
        (TABLE.replace(",", "\t"), "table"),
        (TABLE.replace(",", ";"), "table"),
        (TABLE.replace(",", "|"), "table"),
        (json.dumps({"items": list(range(2_000))}), "json"),
        ("\ufeff\n [" + "1, " * 2_000, "json"),
        ('{"level": "info", "n": 1}\n' * 500, "json"),
        (CODE, "outline"),
        (PROSE, "head_tail"),
        ("<html>\n" + "<p>one\n" * 900, "head_tail"),
        ("x" * 50_000, "head_tail"),
        ("var a=1;function b(c){return c+1}" * 900, "head_tail"),
        ("[INFO] begins like a list\n" * 300 + "[ERROR] but is none\n", "salient"),
        ("diff --git a/x.py b/x.py\n" + CODE, "salient"),
        ("2024-05-01 10:11:12,123 INFO one\n" * 300, "salient"),
        ("\x1b[31mred\x1b[0m\r\n" * 900, "salient"),
        ("src/main.c:12:3: warning: this is a long sentence about a variable\n" * 90, "salient"),
        ("Dear reader, hello\n" * 300, "salient"),
    ],
)
def test_auto_picks_by_what_a_text_begins_with(core: ModuleType, text: str, expected: str) -> None:
    """P4: each kind of output gets its style, whatever a parser would say."""
    assert core.show_preview((text,), 1_000, "auto", outline).style == expected


CONSTANTS: Final = {
    "python": ('"""Names."""\n\nNAMES: Final = {\n', '    "a{0}": ("b", {0}),  # one\n', "}\n"),
    "rust": ("pub(crate) const NAMES: &[(&str, u8)] = &[\n", '    ("a", {0}),\n', "];\n"),
    "c": ("static const unsigned short table[256] = {\n", "    0x0{0}, 0x1, 0x2,\n", "};\n"),
    "go": ("var names = map[string]int{\n", '    "a": {0},\n', "}\n"),
    "javascript": ("export const NAMES = {\n", "  a{0}: 'b',\n", "};\n"),
}


@pytest.mark.parametrize("language", CONSTANTS)
def test_auto_knows_a_table_of_constants(core: ModuleType, language: str) -> None:
    """P4: a source file may declare one thing only, over hundreds of lines."""
    begin, row, end = CONSTANTS[language]
    text = begin + "".join(row.format(n) for n in range(400)) + end
    assert core.show_preview((text,), 1_000, "auto", outline).style == "outline"


@pytest.mark.parametrize("name", ["encodings.cp037", "encodings.aliases", "_compat_pickle"])
def test_auto_knows_real_tables_of_constants(core: ModuleType, name: str) -> None:
    """P4: such files are part of Python."""
    specification = importlib.util.find_spec(name)
    assert specification is not None
    assert specification.origin is not None
    text = Path(specification.origin).read_text(encoding="utf-8")
    assert core.show_preview((text,), 1_000, "auto", outline).style == "outline"


@pytest.mark.parametrize(
    "text",
    [
        '[[package]]\nname = "a"\ndependencies = [\n "b",\n "c",\n]\n\n' * 90,
        "read config = {\n" + "loading the part of a name\n" * 300,
        "one, two,\n" * 300,
        "10:11:12 sent x = [\n" + '10:11:12 "a",\n' * 300,
    ],
    ids=["settings", "log", "rows alone", "stamped"],
)
def test_rows_alone_are_no_code(core: ModuleType, text: str) -> None:
    """P4: what a program prints, or is set up by, stays what it was taken for."""
    note = "# made by a tool\n"
    assert core.show_preview((note + text,), 1_000, "auto", outline).style != "outline"


@pytest.mark.parametrize("style", ["outline", "auto"])
def test_code_without_an_outline_is_shown_at_both_ends(core: ModuleType, style: str) -> None:
    """What cannot be parsed, or not be outlined for want of a parser, is a text like any other."""
    expected = core.show_preview((CODE,), 1_000, "head_tail")
    assert expected.style == "head_tail"
    assert core.show_preview((CODE,), 1_000, style) == expected
    assert core.show_preview((CODE,), 1_000, style, lambda _text, _max_bytes: None) == expected
    assert (
        core.show_preview((CODE,), 1_000, style, lambda _text, _max_bytes: ("", True)) == expected
    )


def test_an_outline_is_asked_for_once_with_the_whole_text(core: ModuleType) -> None:
    """A parser sees all of the text, and is asked only where there is something to leave out."""
    asked: list[tuple[str, int]] = []

    def note(text: str, max_bytes: int) -> tuple[str, bool]:
        asked.append((text, max_bytes))
        return "1: import os", False

    shown = core.show_preview((CODE[:100], CODE[100:]), 1_000, "outline", note)
    assert shown == ("1: import os", True, "outline")
    assert asked == [(CODE, 1_000)]
    core.show_preview((CODE,), len(CODE), "outline", note)
    core.show_preview((LOG,), 1_000, "auto", note)
    assert len(asked) == 1


def test_an_error_of_a_parser_is_its_own(core: ModuleType) -> None:
    """The core hides nothing: what to do about it is up to who hands in a parser."""

    def fail(_text: str, _max_bytes: int) -> Any:  # noqa: ANN401 - never returns
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        core.show_preview((CODE,), 1_000, "outline", fail)


@pytest.mark.parametrize("size", [1, 300])
def test_of_one_huge_line_the_bytes_shown_are_told(core: ModuleType, size: int) -> None:
    """P4: a line that is cut is not said to be shown whole."""
    text = "x" * 5_000 * size
    preview, has_more = core.salient_preview(text, 2_000)
    assert has_more
    note, line = preview.split("\n")
    shown_bytes = len(line.removeprefix("1:").encode())
    parts = f"{shown_bytes:,} of {len(text):,} bytes"
    assert f"[1 of 1 lines shown in part (number:text): {parts}]" == note
