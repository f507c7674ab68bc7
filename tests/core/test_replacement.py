from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core import text_oracle
from tests.strategies import hostile_text

if TYPE_CHECKING:
    from types import ModuleType


def test_the_exact_text(core: ModuleType) -> None:
    """The replacement has the documented shape, line by line (P1)."""
    text = "first line\nsecond line\n" + "x" * 84_252
    built = core.build_replacement(text, "/path/to/tool-results/t1.txt", preview_bytes=24)
    assert built == (
        "<persisted-output>\n"
        "Output too large (82.3KB). Full output saved to: /path/to/tool-results/t1.txt\n"
        "\n"
        "Preview (first 24 bytes):\n"
        "first line\nsecond line\n"
        "...\n"
        "</persisted-output>"
    )


def test_the_dots_stand_only_where_text_was_left_out(core: ModuleType) -> None:
    """A text that the preview shows whole has no line of dots."""
    assert core.build_replacement("whole", "/t.txt", preview_bytes=2_000) == (
        "<persisted-output>\n"
        "Output too large (5 bytes). Full output saved to: /t.txt\n"
        "\n"
        "Preview (first 2KB):\n"
        "whole\n"
        "</persisted-output>"
    )


@pytest.mark.parametrize("text", ["", "x", "x" * 3_000])
def test_no_preview(core: ModuleType, text: str) -> None:
    """With a preview of 0 bytes, blank line, label and dots are left out."""
    size = {0: "0 bytes", 1: "1 bytes", 3_000: "2.9KB"}[len(text)]
    assert core.build_replacement(text, "/t.txt", preview_bytes=0) == (
        "<persisted-output>\n"
        f"Output too large ({size}). Full output saved to: /t.txt\n"
        "</persisted-output>"
    )


@pytest.mark.parametrize("preview_bytes", [0, 1])
def test_the_hint_stands_behind_the_path(core: ModuleType, preview_bytes: int) -> None:
    """The host's reader is named on the line after the path, with or without a preview (P6)."""
    hint = "Use read_result to see more"
    built = core.build_replacement("xyz", "/t", preview_bytes=preview_bytes, reader_hint=hint)
    assert built.split("\n")[1:3] == [
        "Output too large (3 bytes). Full output saved to: /t",
        hint,
    ]
    without = core.build_replacement("xyz", "/t", preview_bytes=preview_bytes)
    assert without == built.replace(hint + "\n", "")


@pytest.mark.parametrize(
    ("size_bytes", "label"),
    [
        (0, "0 bytes"),
        (1, "1 bytes"),
        (1_023, "1023 bytes"),
        (1_024, "1KB"),
        (1_075, "1KB"),  # 1.0498
        (1_076, "1.1KB"),  # 1.0507
        (1_280, "1.3KB"),  # 1.25 exactly: half goes up, not to the even digit
        (1_792, "1.8KB"),  # 1.75 exactly
        (2_000, "2KB"),  # 1.953
        (84_275, "82.3KB"),
        (50_000, "48.8KB"),
        (1_047_552, "1023KB"),
        (1_048_576, "1MB"),
        (1_310_720, "1.3MB"),  # 1.25 exactly
        (5_000_000, "4.8MB"),
        (1_073_741_824, "1GB"),
        (1_342_177_280, "1.3GB"),  # 1.25 exactly
        (5 * 1_073_741_824 + 53_687_091, "5GB"),  # 5.04999: a float would round it up
        (5 * 1_073_741_824 + 53_687_092, "5.1GB"),  # 5.0500000004
        (2_048 * 1_073_741_824, "2048GB"),  # no larger unit
        (10**30, "931322574615478515625GB"),  # exact: no float takes part
    ],
)
def test_size_labels(core: ModuleType, size_bytes: int, label: str) -> None:
    """Units of 1024, one decimal, rounded half up on integers, ``.0`` dropped (P1)."""
    built = core.build_replacement("", "/t", preview_bytes=0, size_bytes=size_bytes)
    assert f"Output too large ({label}). " in built


@given(size_bytes=st.integers(0, 2**45))
def test_size_labels_by_rule(core: ModuleType, size_bytes: int) -> None:
    """Every size has the label that the rule gives."""
    built = core.build_replacement("", "/t", preview_bytes=0, size_bytes=size_bytes)
    assert f"Output too large ({text_oracle.label(size_bytes)}). " in built


@pytest.mark.parametrize(
    ("preview_bytes", "label"),
    [
        (1, "1 bytes"),
        (1_000, "1000 bytes"),
        (1_023, "1023 bytes"),
        (2_000, "2KB"),
        (1_536, "1.5KB"),
    ],
)
def test_the_label_of_a_preview_says_the_bound(
    core: ModuleType, preview_bytes: int, label: str
) -> None:
    """It is the limit of the step that is named, not the length that a line end left (P2)."""
    text = ("x" * 600 + "\n") * 100
    built = core.build_replacement(text, "/t", preview_bytes=preview_bytes)
    assert f"\nPreview (first {label}):\n" in built


def test_the_size_is_that_of_the_text_in_bytes(core: ModuleType) -> None:
    """Bytes of UTF-8 with ``surrogatepass``, of the text as stored, not of the safe preview."""
    built = core.build_replacement("\ud800é<persisted-output>\x00", "/t", preview_bytes=0)
    assert "(24 bytes)" in built  # 3 + 2 + 18 + 1


def test_the_path_and_the_preview_are_put_in_as_they_are(core: ModuleType) -> None:
    """Signs that mean something in a template mean nothing here."""
    text = r"{0} %s $1 \g<0> &amp;"
    built = core.build_replacement(text, r"/t/{path}/%d/\1.txt", preview_bytes=99)
    assert built.endswith(f"\n{text}\n</persisted-output>")
    assert r"saved to: /t/{path}/%d/\1.txt" in built


@given(
    text=hostile_text(),
    path=st.text("abc/.-_", min_size=1),
    preview_bytes=st.integers(0, 99),
    reader_hint=st.none() | st.just("Use my_read to see more"),
)
def test_a_replacement_is_what_the_rules_say(
    core: ModuleType, text: str, path: str, preview_bytes: int, reader_hint: str | None
) -> None:
    """Any text gives the one string of the rules, and that string is known as a reference."""
    expected = text_oracle.replacement(text, path, preview_bytes, reader_hint)
    built = core.build_replacement(text, path, preview_bytes=preview_bytes, reader_hint=reader_hint)
    assert expected == built
    assert core.is_framed_reference(built)


@given(text=hostile_text(), preview_bytes=st.integers(0, 99))
def test_a_frame_has_one_opening_and_one_closing_tag(
    core: ModuleType, text: str, preview_bytes: int
) -> None:
    """No text can end the frame early or begin another one inside it (P3)."""
    built = core.build_replacement(text, "/t", preview_bytes=preview_bytes).lower()
    assert built.count("<persisted-output") == 1
    assert built.count("</persisted-output") == 1
    built.encode("utf-8", "strict")


FRAME = "<persisted-output>\nOutput too large (9KB). Full output saved to: /s/x.txt\n"


@pytest.mark.parametrize(
    "text",
    [
        FRAME + "</persisted-output>",
        FRAME + "</persisted-output>\n",
        FRAME + "</persisted-output> \t\r\n\x0b\x0c",
        FRAME + "</persisted-output>\x1c\x1d\x1e\x1f",
        FRAME + "</persisted-output>\u0085\u00a0\u1680\u2000\u2028\u2029\u202f\u205f\u3000",
        "<persisted-output>\n\n</persisted-output>",
        FRAME + "</persisted-output>\nmore\n</persisted-output>",
        FRAME + "\x00\ud800\n</persisted-output>",
    ],
)
def test_a_frame_is_known(core: ModuleType, text: str) -> None:
    """The tags at both ends make a reference; white space of any kind may follow (P1, S8)."""
    assert core.is_framed_reference(text)
    assert text_oracle.is_frame(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<persisted-output>",
        FRAME,
        FRAME + "</persisted-output",
        FRAME + "</persisted-output>.",
        FRAME + "</persisted-output>\u200b",  # zero width, but no white space
        FRAME + "</persisted-output>\ufeff",
        FRAME + "x</persisted-output>",
        FRAME + "</Persisted-Output>",
        " " + FRAME + "</persisted-output>",
        "\n" + FRAME + "</persisted-output>",
        FRAME.replace("<p", "<P") + "</persisted-output>",
        FRAME.replace("output>\n", "output>") + "</persisted-output>",
        FRAME.replace("output>\n", "output> \n") + "</persisted-output>",
        "<persisted-output></persisted-output>",
    ],
)
def test_what_only_looks_like_a_frame_is_data(core: ModuleType, text: str) -> None:
    """Anything before the frame, behind it, or in the place of its line breaks makes it data."""
    assert not core.is_framed_reference(text)


@pytest.mark.parametrize("tail", ["", "\n", "\x1f" * 40])
def test_a_frame_is_bounded(core: ModuleType, tail: str) -> None:
    """At most 16,384 characters, the white space counted: a larger text is plain data (S8)."""
    end = "\n</persisted-output>" + tail
    room_chars = 16_384 - len(FRAME) - len(end)
    largest = FRAME + "é" * room_chars + end
    assert len(largest) == core.REFERENCE_MAX_CHARS
    assert core.is_framed_reference(largest)
    assert not core.is_framed_reference(FRAME + "é" * (room_chars + 1) + end)
