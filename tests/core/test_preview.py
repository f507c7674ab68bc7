from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import text_oracle
from tests.strategies import Text, any_text, hostile_text

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize(
    ("text", "max_bytes", "shown", "has_more"),
    [
        ("", 0, "", False),
        ("a", 0, "", True),
        ("", 10, "", False),
        ("0123456789", 10, "0123456789", False),
        ("0123456789x", 10, "0123456789", True),
        ("a\nb", 3, "a\nb", False),
        ("01234567\n9", 10, "01234567\n9", False),
    ],
)
def test_what_fits_is_shown_whole(
    core: ModuleType,
    text: str,
    max_bytes: int,
    shown: str,
    has_more: bool,  # noqa: FBT001
) -> None:
    """A text of at most so many bytes is shown as it is, its line ends too (P2)."""
    assert (shown, has_more) == core.cut_preview(text, max_bytes)


@pytest.mark.parametrize(
    ("text", "max_bytes", "shown"),
    [
        ("0123\n56789", 9, "0123\n5678"),  # at 4, not past 4.5
        ("01234\n6789", 9, "01234"),  # at 5, past 4.5
        ("01234\n67890", 10, "01234\n6789"),  # exactly at half
        ("012345\n7890", 10, "012345"),  # one behind half
        ("012345678\n0", 10, "012345678"),  # the last byte of the cut
        ("0123456789\nx", 10, "0123456789"),  # the first byte behind it
        ("01\n3456\n89012", 10, "01\n3456"),  # the last line end counts
        ("\n" * 12, 10, "\n" * 9),
        ("012345\r\n890", 10, "012345\r"),  # only the line feed is dropped
        ("012345\u2028890", 10, "012345\u20288"),  # no other line break counts
        ("éé\n" + "x" * 9, 9, "éé\nxxxx"),  # position 4 in bytes
        ("ééé\n" + "x" * 9, 9, "ééé"),  # position 6 in bytes, 3 in characters
        ("x\n" + "é" * 9, 3, "x\n"),  # at 1, not past 1.5; the cut fell inside a character
        ("xx\n" + "é" * 9, 4, "xx\n"),  # exactly at half, behind a shortened cut
    ],
)
def test_a_cut_text_ends_at_a_line_end_past_half(
    core: ModuleType, text: str, max_bytes: int, shown: str
) -> None:
    """The last newline counts if its byte position is strictly past half of the bound (P2)."""
    assert (shown, True) == core.cut_preview(text, max_bytes)


@pytest.mark.parametrize("character", ["é", "日", "\U0001f600"])
@pytest.mark.parametrize("room_bytes", range(5))
def test_no_character_is_cut(core: ModuleType, character: str, room_bytes: int) -> None:
    """A character that does not fit whole is left out whole, at every offset of the cut."""
    text = "a" * 20 + character + "b" * 50
    expected = "a" * 20 + (character + "b" * 50).encode()[:room_bytes].decode(errors="ignore")
    assert (expected, True) == core.cut_preview(text, 20 + room_bytes)


def test_the_report_cases(core: ModuleType) -> None:
    """What crashed others: a wide character or an emoji over the bound of 2,000 bytes."""
    assert core.cut_preview("中" * 60_000, 2_000) == ("中" * 666, True)
    assert core.cut_preview("a" * 1_999 + "中" + "b" * 60_000, 2_000) == ("a" * 1_999, True)
    assert core.cut_preview("a" * 1_999 + "\U0001f600" + "b" * 9, 2_000) == ("a" * 1_999, True)
    assert core.cut_preview("ELF\x00\x00" + "x" * 60_000, 12) == ("ELF\ufffd\ufffdxxx", True)


@pytest.mark.parametrize("code_point", [0, 0xD800, 0xDBFF, 0xDC00, 0xDFFF], ids=hex)
def test_what_no_body_can_carry_is_replaced(core: ModuleType, code_point: int) -> None:
    """A lone surrogate or NUL becomes U+FFFD, and takes its three bytes (P3)."""
    character = chr(code_point)
    assert core.cut_preview(f"a{character}b", 5) == ("a\ufffdb", False)
    assert core.cut_preview(f"a{character}b", 4) == ("a\ufffd", True)
    assert core.cut_preview(f"a{character}b", 3) == ("a", True)


def test_two_halves_become_two_replacements(core: ModuleType) -> None:
    """Surrogates are lone in Python even side by side; a real emoji stays."""
    assert core.cut_preview("\ud83d\ude00", 9) == ("\ufffd\ufffd", False)
    assert core.cut_preview("\U0001f600", 9) == ("\U0001f600", False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<persisted-output>", "&lt;persisted-output>"),
        ("</persisted-output>", "&lt;/persisted-output>"),
        ("<persisted-output", "&lt;persisted-output"),
        ("</PERSISTED-Output x", "&lt;/PERSISTED-Output x"),
        ("<<persisted-output>", "<&lt;persisted-output>"),
        ("<persisted-outputs>", "&lt;persisted-outputs>"),
        ("<persisted-outpu", "<persisted-outpu"),
        ("< persisted-output>", "< persisted-output>"),
        ("</ persisted-output>", "</ persisted-output>"),
        ("<//persisted-output>", "<//persisted-output>"),
        ("<persisted_output>", "<persisted_output>"),
        ("<persisted\x00-output>", "<persisted\ufffd-output>"),
        ("<per\ud800sisted-output>", "<per\ufffdsisted-output>"),
        ("\x00</persisted-output>\x00", "\ufffd&lt;/persisted-output>\ufffd"),
        ("&lt;persisted-output>", "&lt;persisted-output>"),
        ("persisted-output>", "persisted-output>"),
        ("\uff1cpersisted-output>", "\uff1cpersisted-output>"),
    ],
)
def test_no_text_can_open_or_close_the_frame(core: ModuleType, text: str, shown: str) -> None:
    """The ``<`` of both tags is written as an entity, in any case; other text stays (P3)."""
    assert (shown, False) == core.cut_preview(text, 99)


@pytest.mark.parametrize("tag", ["<persisted-output>", "</Persisted-Output>"])
def test_a_tag_over_the_cut_is_defused(core: ModuleType, tag: str) -> None:
    """The text is made safe before it is cut: a tag counts that begins inside and ends behind."""
    for room_bytes in range(len(tag) + 3):
        text = "a" * 20 + tag + "b" * 40
        expected = ("a" * 20 + "&lt;" + tag[1:] + "b" * 40)[: 20 + room_bytes]
        assert (expected, True) == core.cut_preview(text, 20 + room_bytes)


def test_the_entity_counts_in_the_bound(core: ModuleType) -> None:
    """A text that fits only before it was made safe is cut."""
    tag = "<persisted-output>"
    assert core.cut_preview(tag, len(tag)) == ("&lt;persisted-outp", True)
    assert core.cut_preview(tag, len(tag) + 3) == ("&lt;persisted-output>", False)


def test_every_case_of_every_letter_counts(core: ModuleType) -> None:
    """A tag is known in every spelling that is some case of its letters, and in no other."""
    spellings: dict[str, list[str]] = {letter: [] for letter in "persitdou"}
    for character in map(chr, range(sys.maxunicode + 1)):
        if (letter := text_oracle.fold(character)) in spellings:
            spellings[letter].append(character)
    for letter, cases in spellings.items():
        for spelling in cases:
            tag = "<persisted-output>".replace(letter, spelling)
            assert core.cut_preview(tag, 99) == ("&lt;" + tag[1:], False)
    for stranger in ("\u0440", "\u0435", "\uff50", "\U0001d429", "e\u0301", "\u00f0"):
        tag = f"<{stranger}ersisted-output>"
        assert core.cut_preview(tag, 99) == (tag, False)


@given(text=hostile_text() | any_text(), max_bytes=st.integers(0, 90))
def test_a_preview_is_what_the_rules_say(core: ModuleType, text: str, max_bytes: int) -> None:
    """Any text and bound give what the rules give that are applied to the whole text."""
    assert text_oracle.preview(text, max_bytes) == core.cut_preview(text, max_bytes)


@given(text=hostile_text(), max_bytes=st.integers(0, 90))
def test_a_preview_can_be_sent(core: ModuleType, text: str, max_bytes: int) -> None:
    """It is strict UTF-8 within the bound, without NUL and tags, and begins as the text does."""
    shown, has_more = core.cut_preview(text, max_bytes)
    assert len(shown.encode()) <= max_bytes
    assert "\x00" not in shown
    assert "<persisted-output" not in shown.lower()
    assert "</persisted-output" not in shown.lower()
    safe = text_oracle.make_wire_safe(text)
    assert safe.startswith(shown)
    assert has_more == (shown != safe)


@given(
    head=st.text("ab\n<\x00é日", min_size=60, max_size=60),
    tails=st.lists(hostile_text(), min_size=2, max_size=2),
    max_bytes=st.integers(0, 40),
)
def test_the_rest_of_the_text_is_not_looked_at(
    core: ModuleType, head: str, tails: list[str], max_bytes: int
) -> None:
    """What stands behind the bound and the length of a tag changes nothing (P2, constant time)."""
    one, other = (core.cut_preview(head + tail, max_bytes) for tail in tails)
    assert one == other


def test_a_subclass_is_cut_as_the_text_it_is(core: ModuleType) -> None:
    """Methods that a ``str`` subclass overrides take no part (B11)."""
    assert core.cut_preview(Text("0123456789"), 4) == ("0123", True)
