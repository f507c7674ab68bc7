from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.storage.record_samples import ENTRY, FOREIGN_LINE, LINE
from toolbudget.storage.json_lines import decode_json, decode_line
from toolbudget.storage.records import parse_foreign_line, parse_line


class TestDamage:
    """A damaged line costs at most itself."""

    @given(position=st.integers(0, len(LINE) - 1), change=st.integers(1, 255))
    def test_a_changed_byte_is_noticed(self, position: int, change: int) -> None:
        """Whatever byte changes, the line no longer counts as ours, nor as something else."""
        damaged = LINE[:position] + bytes([LINE[position] ^ change]) + LINE[position + 1 :]
        # Where the change cuts off or renames the checksum, what is left never had one.
        without_fingerprint = replace(ENTRY, size=None, hash=None, file=None, file_digest=None)
        for record in parse_line(damaged).records:
            assert not record.is_ours
            assert set(record.replacements) <= {without_fingerprint}

    def test_a_wrong_check_skips_the_line(self) -> None:
        """A record that was altered does not count, nor does it pass as another program's."""
        assert parse_line(LINE.replace(b"toolu_1", b"toolu_2")) == ((), 1, 0)
        assert parse_line(re.sub(rb'"check":"\w+"', b'"check":7', LINE)) == ((), 1, 0)
        assert parse_line(LINE[:-1] + b',"more":1}') == ((), 1, 0)

    @pytest.mark.parametrize(
        "line",
        [
            b"\xef\xbb\xbf" + LINE,
            b"\x00" * 4096 + LINE,
            b"\x00\x00\xef\xbb\xbf " + LINE,
            LINE + b"\r",
            LINE + b"\x00\x00",
            b"\t " + LINE + b" \t",
        ],
    )
    def test_marks_blanks_and_nuls_around_a_record_do_not_matter(self, line: bytes) -> None:
        """A byte order mark, CRLF line ends and NUL runs leave the record readable."""
        parsed = parse_line(line)
        assert parsed == parse_line(LINE)
        assert parsed.records[0].is_ours

    @pytest.mark.parametrize(
        "line", [b'{"type":"con', b"\x00" * 9, b"\xff\xfe", b"7", b"[1]", b'"x"', b"{}}", b"{" * 9]
    )
    def test_what_is_no_object_is_skipped(self, line: bytes) -> None:
        """A torn, garbled or NUL-filled line is counted."""
        assert parse_line(line) == ((), 1, 0)

    @pytest.mark.parametrize("line", [b"", b"  ", b"\r", b'{"type":"user"}', b"{}"])
    def test_lines_without_records_are_no_damage(self, line: bytes) -> None:
        """Blank lines and other records are not counted."""
        assert parse_line(line) == ((), 0, 0)

    @pytest.mark.parametrize("opening", ["[", '{"a":'])
    def test_deep_nesting_is_a_bad_line(self, opening: str) -> None:
        """Hundreds of thousands of levels cost the line, not the process."""
        assert parse_line(opening.encode() * 200_000) == ((), 1, 0)
        closed = opening * 200_000 + "1" + ("]" if opening == "[" else "}") * 200_000
        assert (
            parse_line(b'{"type":"content-replacement","x":' + closed.encode() + b"}").records == ()
        )

    def test_endless_digits_are_a_bad_line(self) -> None:
        """A number that Python refuses to convert costs the line."""
        assert parse_line(b'{"type":"user","n":' + b"9" * 5_000 + b"NaN}") == ((), 1, 0)

    def test_lenient_json_is_read(self) -> None:
        """NaN and lone surrogate escapes, which other writers produce, do not cost the line."""
        entry = rb'{"toolUseId":"\ud800","replacement":"r"}'
        parsed = parse_line(b'{"type":"content-replacement","x":NaN,"replacements":[%b]}' % entry)
        assert parsed.skipped_lines == 0
        assert parsed.records[0].replacements[0].tool_use_id == "\ud800"

    def test_integers_stay_exact_where_asked(self) -> None:
        """Numbers beyond 64 bits are only rounded where nobody looks at them."""
        assert decode_json(b"123456789012345678901234567890", exact_integers=True) == int(
            "1234567890" * 3
        )


class TestGluedLines:
    """Objects that share a line, and what is left of a torn one in front of them."""

    RECORDS = (LINE, FOREIGN_LINE)

    @pytest.mark.parametrize("record", RECORDS)
    @pytest.mark.parametrize(
        "torn",
        [
            b'{"type":"con',
            b'{"type":"content-replacement","sessionId":"s',
            LINE[:200],
            b'{"type":"user","message":{"content":"caf\xc3',
            b'{"a":[',
            b"\xff\xfe\x00garbage",
            b'{"type":"con' + b"\x00" * 100,
        ],
    )
    def test_a_record_behind_a_torn_line_counts(self, torn: bytes, record: bytes) -> None:
        """The whole record behind the damage counts, and the line counts as damaged."""
        expected = parse_line(record)
        assert parse_line(torn + record) == expected._replace(skipped_lines=1)
        assert parse_foreign_line(torn + record) == expected._replace(skipped_lines=1)

    def test_whole_objects_on_one_line_all_count(self) -> None:
        """Nothing is lost of a line that lacks only a line end in its middle."""
        line = b'{"type":"user"}' + LINE + b" " + FOREIGN_LINE + b"\x00" + LINE
        parsed = parse_line(line)
        assert [record.is_ours for record in parsed.records] == [True, False, True]
        assert parsed.skipped_lines == 0

    def test_a_record_before_a_torn_line_counts(self) -> None:
        """A record counts although something torn is glued to its end."""
        parsed = parse_line(LINE + LINE[:99])
        assert parsed.records == parse_line(LINE).records
        assert parsed.skipped_lines == 1

    def test_a_damaged_record_does_not_hide_the_next(self) -> None:
        """A record with a wrong checksum is left out of a glued line alone."""
        damaged = LINE.replace(b"toolu_1", b"toolu_2")
        parsed = parse_line(damaged + LINE)
        assert parsed.records == parse_line(LINE).records
        assert parsed.skipped_lines == 1

    def test_a_line_that_can_be_read_is_never_searched(self) -> None:
        """A record inside another object is that object's data, however valid."""
        line = b'{"type":"user","toolUseResult":' + LINE + b"}"
        assert parse_line(line) == parse_foreign_line(line) == ((), 0, 0)
        assert parse_line(line + line) == ((), 0, 0)

    @pytest.mark.parametrize("following", [b',"message":"to', b"]}", b" }garbage"])
    def test_a_record_inside_a_torn_object_does_not_count(self, following: bytes) -> None:
        """Data of another program does not become a record by a crash."""
        line = b'{"type":"user","x":[{"toolUseResult":' + LINE + following
        assert parse_line(line).records == ()

    def test_quoted_records_do_not_count(self) -> None:
        """A record quoted in a torn message is text."""
        line = json.dumps({"type": "user", "text": LINE.decode()}).encode()
        assert parse_line(line[:-2]) == ((), 1, 0)
        assert parse_line(b'{"type":"us' + line[:-2]) == ((), 1, 0)

    def test_a_line_of_many_beginnings_is_given_up(self) -> None:
        """A line made of torn records is read in bounded time."""
        assert parse_line(b'{"type":"content-replacement","a":["' * 200_000) == ((), 1, 0)

    @given(st.binary(max_size=60), st.binary(max_size=60))
    def test_garbage_around_a_record_loses_only_itself(self, before: bytes, after: bytes) -> None:
        """Whatever is glued in front of a record, and whatever object behind it, it counts."""
        expected = parse_line(LINE).records
        assert parse_line(before.replace(b"\n", b"") + LINE).records == expected
        assert parse_line(LINE + after.replace(b"\n", b"")).records == expected

    @given(st.lists(st.sampled_from([LINE, FOREIGN_LINE, b'{"type":"user","x":[{}]}']), max_size=5))
    def test_glued_objects_are_told_apart(self, pieces: list[bytes]) -> None:
        """Any number of whole objects on a line are found, each with its own bytes."""
        found = decode_line(b"".join(pieces))
        assert [json_object.data for json_object in found.objects] == pieces
        assert not found.is_damaged
