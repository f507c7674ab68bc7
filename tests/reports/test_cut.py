from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import toolbudget
from tests.builders import (
    check_reference,
    check_references,
    enforce,
    files_below,
    gate,
    msg,
    preview_of,
    read_reference,
    replacement_of,
    res,
    results_in,
    stored_files,
    text_of,
    wire_safe,
)
from tests.strategies import any_text, hostile_text
from toolbudget import Limits, Session, StoreError, generate_preview

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EMOJI = "\U0001f600"
HAN = "\u4e2d"
PROGRESS = 9_000 * "10%\r20%\r" + "\u001b[32mok\u001b[0m\r\n"


def preview_in(session: Session, text: str) -> str:
    """Pass a large text through the gate and give the preview that the model sees of it."""
    block = res("t1", text)
    small = gate(session, block)
    check_reference(block, small, session.directory)
    preview = read_reference(small["content"]).preview
    assert preview is not None
    return preview


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(60_000 * HAN, 666 * HAN, id="all-wide"),
        pytest.param(1_999 * "a" + HAN + 60_000 * "b", 1_999 * "a", id="last-byte"),
        pytest.param(1_998 * "a" + HAN + 60_000 * "b", 1_998 * "a", id="last-two-bytes"),
        pytest.param(1_997 * "a" + HAN + 60_000 * "b", 1_997 * "a" + HAN, id="just-fits"),
        pytest.param(60_000 * "\u00e9", 1_000 * "\u00e9", id="two-bytes-each"),
    ],
)
def test_a_cut_falls_between_characters(session: Session, text: str, expected: str) -> None:
    """CUT 10: a limit in bytes inside a wide character leaves the whole character out."""
    assert preview_in(session, text) == expected


@pytest.mark.parametrize("before", [1_996, 1_997, 1_998, 1_999, 2_000])
def test_an_emoji_is_whole_or_absent(session: Session, before: int) -> None:
    """CUT 11: the cut never leaves half an emoji, so that the request is valid JSON in UTF-8."""
    preview = preview_in(session, before * "a" + EMOJI + 60_000 * "b")
    assert preview == before * "a" + (EMOJI if before == 1_996 else "")
    assert json.loads(json.dumps(preview, ensure_ascii=False).encode()) == preview


@given(text=hostile_text(), max_bytes=st.integers(0, 40))
@example(text="a\ud83d\ude00b", max_bytes=4)
@example(text="\n", max_bytes=0)
def test_a_preview_is_what_the_rule_says(text: str, max_bytes: int) -> None:
    """CUT 10, 11, 12, 17: every preview equals a second, character-wise reading of the rule."""
    preview = generate_preview(text, max_bytes)
    assert preview == preview_of(text, max_bytes)
    assert len(preview.text.encode()) <= max_bytes
    assert wire_safe(text).startswith(preview.text)


@given(core=hostile_text(), filler=st.sampled_from(["a", HAN, EMOJI, "\ud83d", "\0", "\n", "<"]))
def test_any_large_text_gives_a_request_that_can_be_sent(
    new_root: Callable[[], Path], core: str, filler: str
) -> None:
    """CUT 10, 11, 12: what is sent is strict UTF-8 without NUL, and the file has every byte."""
    text = core + "x" + 60_000 * filler + core
    with Session.open(new_root(), "session", durability="process") as session:
        block = res("t1", text)
        small = gate(session, block)
        check_reference(block, small, session.directory)
        assert small["content"] == replacement_of(
            text, str(session.directory / "tool-results" / "t1.txt")
        )
        assert stored_files(session) == {"t1.txt": text.encode("utf-8", "surrogatepass")}
    assert b"\0" not in json.dumps(small, ensure_ascii=False).encode()
    assert "\0" not in small["content"]


def test_a_nul_ends_nothing(session: Session) -> None:
    """CUT 12: the preview goes on behind a NUL and has none itself; the file keeps it."""
    text = "ELF\0\0" + 60_000 * "x"
    preview = preview_in(session, text)
    assert preview == "ELF\ufffd\ufffd" + (2_000 - 9) * "x"
    assert stored_files(session)["t1.txt"] == text.encode()


def test_a_small_result_with_a_nul_is_left_alone(session: Session) -> None:
    """CUT 12: results that stay are not rewritten, whatever is in them."""
    block = res("t1", "a\0b")
    messages = [msg(block)]
    assert gate(session, block) is block
    assert session.enforce(messages) is messages


LEGACY = b"\xb3\xc9\xb9\xa6" * 20_000


def test_bytes_are_no_text(session: Session) -> None:
    """CUT 13: bytes in a result pass as odd content: nothing is decoded, stored or cut."""
    block = res("t1", LEGACY)
    messages = [msg(block, res("t2", 210_000 * "a"))]
    assert gate(session, block) is block
    [sent] = enforce(session, messages)
    assert sent["content"][0] is block
    assert session.report.skipped_by_reason == {"not_text": 1}
    assert set(stored_files(session)) == {"t2.txt"}


def test_functions_of_text_refuse_bytes() -> None:
    """CUT 13: asked directly for bytes, the functions raise instead of guessing an encoding."""
    content: Any = LEGACY
    with pytest.raises(TypeError):
        generate_preview(content)
    with pytest.raises(TypeError):
        toolbudget.build_replacement(content, "/results/t1.txt")
    with pytest.raises(StoreError, match="bytes"):
        toolbudget.persist_tool_result(content, "t1", store=toolbudget.MemoryStore())


def test_legacy_bytes_as_surrogates_come_back_exactly(session: Session) -> None:
    """CUT 13: a host that decodes with ``surrogateescape`` loses nothing in the file."""
    text = LEGACY.decode("ascii", "surrogateescape")
    assert preview_in(session, text) == 666 * "\ufffd"
    [stored] = stored_files(session).values()
    assert stored.decode("utf-8", "surrogatepass") == text


def test_one_huge_line_has_a_bounded_preview(session: Session) -> None:
    """CUT 14: without any line break the preview is neither empty nor longer than its limit."""
    block = res("t1", 5_000_000 * "x")
    small = gate(session, block)
    assert read_reference(small["content"]).preview == 2_000 * "x"
    assert len(small["content"]) < 2_300


def test_a_few_huge_lines_have_a_bounded_preview(session: Session) -> None:
    """CUT 14: a first line longer than the limit is cut inside."""
    assert preview_in(session, "\n".join(3 * [100_000 * "y"])) == 2_000 * "y"


@pytest.mark.parametrize(("limit", "size"), [(60, 61), (200, 1_000), (200, 201), (1, 2)])
def test_a_replacement_that_gains_nothing_is_not_made(root: Path, limit: int, size: int) -> None:
    """CUT 16: with a small limit the notice would be longer than the text, which then stays."""
    limits = Limits(max_result_chars=limit)
    with Session.open(root, "session", limits=limits, durability="process") as session:
        block = res("t1", size * "a")
        assert gate(session, block) is block
        assert files_below(root) == set()


@given(sizes=st.lists(st.integers(1, 700), max_size=8), limit=st.integers(1, 900))
def test_no_message_becomes_longer(
    new_root: Callable[[], Path], sizes: list[int], limit: int
) -> None:
    """CUT 16: the same for the sum: only what becomes shorter is replaced, also without preview."""
    messages = [msg(*(res(f"t{index}", size * "a") for index, size in enumerate(sizes)))]
    limits = Limits(max_message_chars=limit)
    with Session.open(new_root(), "session", limits=limits, durability="process") as session:
        sent = enforce(session, messages)
        check_references(messages, sent, session.directory)
        visible = sum(len(block["content"]) for block in results_in(sent))
        assert session.report.over_limit_chars == max(0, visible - limit)


@given(
    text=hostile_text().flatmap(lambda part: st.integers(0, 40).map(lambda times: part * times)),
    limit=st.integers(1, 3_000),
    preview_bytes=st.integers(1, 3_000),
)
def test_no_replacement_is_longer_than_its_text(
    new_root: Callable[[], Path], text: str, limit: int, preview_bytes: int
) -> None:
    """CUT 16, 17: a text over the limit is replaced if, and only if, that makes it shorter."""
    limits = Limits(max_result_chars=limit, preview_bytes=preview_bytes)
    with Session.open(new_root(), "session", limits=limits, durability="process") as session:
        block = res("t1", text)
        small = gate(session, block)
        path = str(session.directory / "tool-results" / "t1.txt")
        shorter = replacement_of(text, path, preview_bytes=preview_bytes)
        if not text or text.isspace():
            assert small["content"] == "(Fetch completed with no output)"
        elif len(text) <= limit or len(shorter) >= len(text):
            assert small is block
            assert stored_files(session) == {}
        else:
            assert small == {**block, "content": shorter}
            check_reference(block, small, session.directory)


@pytest.mark.parametrize(
    ("tool_name", "limit"),
    [("Fetch", 50_000), ("Bash", 30_000), ("bash", 30_000), ("Grep", 20_000), ("grep", 20_000)],
)
def test_the_limit_of_a_result_is_inclusive(session: Session, tool_name: str, limit: int) -> None:
    """CUT 17: exactly the limit is untouched, one character more is replaced."""
    fits = res("t1", limit * "a")
    assert gate(session, fits, tool_name) is fits
    over = res("t2", (limit + 1) * "a")
    check_reference(over, gate(session, over, tool_name), session.directory)


def test_the_limit_of_a_message_is_inclusive(root: Path) -> None:
    """CUT 17: the same for the sum of a message."""
    for size, replaced in ((200_000, 0), (200_001, 1)):
        with Session.open(root, str(size), durability="process") as session:
            session.enforce([msg(res("t1", size * "a"))])
            assert session.report.replaced == replaced


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(60_000 * "a", 2_000 * "a", id="no-line-break"),
        pytest.param(1_000 * "a" + "\n" + 60_000 * "b", None, id="at-half"),
        pytest.param(1_001 * "a" + "\n" + 60_000 * "b", 1_001 * "a", id="past-half"),
        pytest.param(1_999 * "a" + "\n" + 60_000 * "b", 1_999 * "a", id="last-byte"),
        pytest.param(2_000 * "a" + "\n" + 60_000 * "b", 2_000 * "a", id="behind"),
        pytest.param("a\n" + 60_000 * "b", None, id="far-before-half"),
        pytest.param(500 * HAN + "\n" + 60_000 * "b", 500 * HAN, id="half-in-bytes"),
    ],
)
def test_the_length_of_a_preview(session: Session, text: str, expected: str | None) -> None:
    """CUT 17: 2,000 bytes, or up to the last line break strictly past half of them."""
    assert preview_in(session, text) == (text[:2_000] if expected is None else expected)


@pytest.mark.parametrize(
    ("size_bytes", "label"),
    [
        (50_001, "48.8KB"),
        (51_200, "50KB"),
        (84_275, "82.3KB"),
        (1_048_575, "1024KB"),
        (1_048_576, "1MB"),
        (1_630_536, "1.6MB"),
    ],
)
def test_the_size_stands_at_the_start(session: Session, size_bytes: int, label: str) -> None:
    """CUT 17: the first line says the size of the whole, in bytes."""
    small = gate(session, res("t1", size_bytes * "a"))
    assert small["content"].split("\n")[1].startswith(f"Output too large ({label}). ")


def test_a_head_preview_says_that_the_end_is_missing(session: Session) -> None:
    """CUT 15, in the style ``head``: the total size, the part shown and the omission are said."""
    text = 9_000 * "ok 1234\n" + "FATAL: pool exhausted\n"
    small = gate(session, res("t1", text))
    reference = read_reference(small["content"])
    assert (reference.size, reference.label, reference.has_more) == ("70.3KB", "2KB", True)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PROGRESS, id="progress"),
        pytest.param(10_000 * "one\r\ntwo\r\n", id="crlf"),
        pytest.param(20_000 * "one\ntwo", id="no-final-line-break"),
        pytest.param("\ufeff" + 60_000 * "x", id="byte-order-mark"),
        pytest.param(10_000 * "\x85\u2028\u2029\v\f\x1c" + "\x1a", id="all-line-breaks"),
        pytest.param(" \n" * 500 + 60_000 * "x" + " \n\t", id="white-space-around"),
    ],
)
def test_a_file_has_every_byte(session: Session, text: str) -> None:
    """CUT 20: no line end is translated, no code removed, nothing added, in file and preview."""
    preview = preview_in(session, text)
    assert stored_files(session) == {"t1.txt": text.encode()}
    assert text.startswith(preview)


CONTROLS = st.sampled_from(["\r", "\r\n", "\x1b[0m", "\x1a", "\ufeff"])


@given(parts=st.lists(any_text(max_size=8) | CONTROLS, max_size=8))
def test_any_text_comes_back_exactly(new_root: Callable[[], Path], parts: list[str]) -> None:
    """CUT 20: the stored bytes are the text's UTF-8, for every text and also in a list."""
    text = "".join(parts)
    content = [{"type": "text", "text": text + 60_000 * "x"}]
    with Session.open(new_root(), "session", durability="process") as session:
        small = gate(session, res("t1", content))
        assert stored_files(session) == {
            "t1.txt": text_of(content).encode("utf-8", "surrogatepass")
        }
    assert re.search(r"\n\nPreview \(first 2KB\):\n", text_of(small["content"]))
