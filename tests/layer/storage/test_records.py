from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.storage.record_samples import ENTRY, FOREIGN_LINE, HASH, LINE
from tests.strategies import any_text, hostile_text
from toolbudget.errors import TranscriptError
from toolbudget.storage.records import (
    ContentReplacementRecord,
    beginning_of_record,
    content_replacement,
    encode_decisions,
    encode_record,
    header_line,
    is_header,
    parse_foreign_line,
    parse_line,
    parse_record,
)


def sealed(fields: dict[str, object]) -> bytes:
    """Make a record with a valid checksum, as someone could who knows the format."""
    body = json.dumps({"type": "content-replacement", **fields})[:-1].encode("ascii")
    return body + b',"check":"' + xxhash.xxh3_64_hexdigest(body).encode() + b'"}'


hashes = st.text("0123456789abcdef", min_size=32, max_size=32)
sizes = st.integers(min_value=0, max_value=2**53)
ids = any_text(max_size=20)
fingerprinted = st.lists(st.tuples(ids, sizes, hashes), max_size=4)
names = st.none() | st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
own_entries = st.builds(
    ContentReplacementRecord,
    kind=st.just("tool-result"),
    tool_use_id=ids,
    replacement=hostile_text(),
    size=sizes,
    hash=hashes,
    file=names,
    file_digest=st.none() | hashes,
)
inherited_entries = st.builds(
    ContentReplacementRecord,
    kind=st.just("tool-result"),
    tool_use_id=ids,
    replacement=hostile_text(),
    size=st.none(),
    hash=st.none(),
)
records = st.builds(
    content_replacement,
    session_id=ids,
    timestamp=ids,
    agent_id=st.none() | ids,
    inherited_from=st.none() | ids,
    replacements=st.lists(own_entries | inherited_entries, max_size=3),
    frozen=fingerprinted,
    withdrawn=fingerprinted,
)


class TestWireForm:
    """Every byte of a record is as the format says."""

    @given(
        session_id=st.none() | ids,
        agent_id=st.none() | ids,
        timestamp=ids,
        replacements=st.lists(own_entries, max_size=2),
        frozen=fingerprinted,
        marks=st.sampled_from([{}, {"seen": True}]),
    )
    def test_decisions_that_are_partly_encoded_give_the_same_line(
        self,
        *,
        session_id: str | None,
        agent_id: str | None,
        timestamp: str,
        replacements: list[ContentReplacementRecord],
        frozen: list[tuple[str, int, str]],
        marks: dict[str, object],
    ) -> None:
        """Whoever reads a session cannot tell by which way it was written."""
        record = content_replacement(
            session_id=session_id,
            agent_id=agent_id,
            timestamp=timestamp,
            replacements=replacements,
            frozen=frozen,
        )
        line = encode_decisions(
            beginning_of_record(session_id, agent_id),
            timestamp=timestamp,
            replacements=replacements,
            frozen=json.dumps(frozen, separators=(",", ":")).encode(),
            marks=marks,
        )
        assert line == encode_record({**record, **marks})

    @pytest.mark.parametrize(
        ("replacement", "size"),
        [
            *((chr(code), 1) for code in range(0x82)),
            ("caf\u00e9", 4),
            ("\ud83d", 1),
            ("\U0001f600", 1),
            ("many digits", 2**70),
        ],
    )
    def test_entries_are_encoded_alike_whatever_their_text(
        self, replacement: str, size: int
    ) -> None:
        """Each character is written as the standard library escapes it, be it the only odd one."""
        entry = replace(ENTRY, replacement=replacement, size=size)
        beginning = beginning_of_record("s1", None)
        line = encode_decisions(beginning, timestamp="t", replacements=[entry], frozen=b"[]")
        record = content_replacement(session_id="s1", timestamp="t", replacements=[entry])
        assert line == encode_record(record)

    def test_keys_stand_in_the_order_of_the_format(self) -> None:
        """The line begins and ends as the format shows, whatever the order of the mapping."""
        shuffled = dict(reversed(content_replacement(session_id="s1", timestamp="t").items()))
        line = encode_record({**shuffled, "agentId": "a1", "note": 1})
        assert line.startswith(
            b'{"type":"content-replacement","sessionId":"s1","agentId":"a1","timestamp":"t",'
            b'"replacements":[],"frozen":[],"note":1,"check":"'
        )

    def test_an_entry_has_the_keys_of_the_format(self) -> None:
        """A replaced result is named by its camel-case keys, in their order."""
        assert list(ENTRY.to_json()) == [
            *("kind", "toolUseId", "replacement", "size", "hash", "file", "fileDigest")
        ]

    def test_the_check_is_the_hash_of_the_bytes_before_it(self) -> None:
        """The last key is XXH3-64, in 16 hex digits, of what stands before it."""
        body, _, tail = LINE.rpartition(b',"check"')
        assert tail == b':"%b"}' % xxhash.xxh3_64_hexdigest(body).encode()
        assert re.fullmatch(rb':"[0-9a-f]{16}"\}', tail)

    def test_the_check_is_computed_not_taken_over(self) -> None:
        """A check in the mapping is replaced by the right one."""
        record = {**content_replacement(session_id="s1", timestamp="t"), "check": "f" * 16}
        assert parse_line(encode_record(record)).records[0].is_ours

    def test_a_record_without_an_agent_or_withdrawals_does_not_name_them(self) -> None:
        """Optional keys are absent, never null."""
        assert set(content_replacement(session_id="s", timestamp="t")) == {
            *("type", "sessionId", "timestamp", "replacements", "frozen")
        }

    def test_other_records_carry_no_check(self) -> None:
        """A message is written as it is given."""
        assert encode_record({"type": "user", "n": 1}) == b'{"type":"user","n":1}\n'

    def test_the_header_names_type_version_and_session(self) -> None:
        """The header has the exact form of the format."""
        assert json.loads(header_line('s"1')) == {
            "type": "toolbudget-session",
            "version": 1,
            "sessionId": 's"1',
        }
        assert header_line("s").startswith(b'{"type":"toolbudget-session","version":1,"sessionId":')

    def test_a_record_stays_small_whatever_was_replaced(self) -> None:
        """Row 22: a replaced result of millions of characters costs a record of a few KB."""
        entry = ContentReplacementRecord("tool-result", "t", "x" * 2_200, 5_000_000, HASH, "t.txt")
        line = encode_record(
            content_replacement(session_id="s", timestamp="t", replacements=[entry])
        )
        assert len(line) < 4_096

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", {1, 2}, object()])
    def test_what_is_no_json_is_refused(self, value: object) -> None:
        """A record that JSON cannot hold raises, and names the reason."""
        with pytest.raises(TranscriptError, match="cannot be written as JSON"):
            encode_record({"type": "user", "value": value})

    def test_endless_nesting_is_refused(self) -> None:
        """A record that contains itself raises the same error."""
        record: dict[str, object] = {"type": "user"}
        record["self"] = record
        with pytest.raises(TranscriptError, match="cannot be written as JSON"):
            encode_record(record)

    @given(records)
    def test_a_line_is_ascii_and_one_line_for_every_reader(self, record: dict[str, object]) -> None:
        """Nothing in a record can end its line: neither for bytes nor for Unicode readers."""
        line = encode_record(record)
        assert line.isascii()
        assert line.decode().splitlines() == [line.decode().removesuffix("\n")]

    @given(ids)
    def test_a_header_is_recognised_whatever_the_session_is_called(self, session_id: str) -> None:
        """Writing and recognising the header fit together."""
        assert is_header(header_line(session_id))

    @pytest.mark.parametrize(
        "line",
        [
            b'{"type":"toolbudget-session","version":2,"sessionId":"s"}',
            b'{"type":"toolbudget-session","version":true,"sessionId":"s"}',
            b'{"type":"toolbudget-session","version":1,"sessionId":7}',
            b'{"type":"toolbudget-session","version":1,"sessionId":"s"',
            b'{"type":"toolbudget-session","version":1,"sessionId":"s"}{}',
            b'{"type":"user","sessionId":"s"}',
            b"[]",
            b"",
        ],
    )
    def test_nothing_else_is_a_header(self, line: bytes) -> None:
        """A newer, torn or other line does not make a file ours."""
        assert not is_header(line)


class TestRoundTrip:
    """What was written is read back, exactly."""

    @given(records)
    def test_every_record_comes_back(self, record: dict[str, object]) -> None:
        """Ids, replacements and fingerprints survive as far as JSON can express them."""
        parsed = parse_line(encode_record(record))
        assert parsed.skipped_lines == parsed.dropped_entries == 0
        (found,) = parsed.records
        assert found.is_ours
        again = content_replacement(
            session_id=found.session_id,
            timestamp=str(found.raw["timestamp"]),
            agent_id=found.agent_id,
            inherited_from=found.inherited_from,
            replacements=found.replacements,
            frozen=found.frozen,
            withdrawn=found.withdrawn,
        )
        # Lone surrogates survive; two that form a pair are the character in any JSON.
        assert again == json.loads(json.dumps(record))

    @given(own_entries | inherited_entries)
    def test_an_entry_comes_back(self, entry: ContentReplacementRecord) -> None:
        """An entry survives its own JSON form."""
        assert ContentReplacementRecord.from_json(entry.to_json()) == entry

    @pytest.mark.parametrize("value", [None, [], "x", {}, {"kind": "tool-result"}])
    def test_a_malformed_entry_is_refused(self, value: object) -> None:
        """Reading a single entry says that it is malformed."""
        with pytest.raises(TranscriptError, match="malformed"):
            ContentReplacementRecord.from_json(value)

    def test_a_record_read_before_needs_no_bytes(self) -> None:
        """Without its bytes a record counts as verified, as those that a transcript gave."""
        (record,) = parse_record(json.loads(LINE)).records
        assert record.is_ours
        assert record.replacements == (ENTRY,)


class TestForeignRecords:
    """Records of other programs: no checksum, no fingerprints."""

    def test_they_match_by_id_alone(self) -> None:
        """Fingerprints and kept results that another program names are not taken over."""
        entry = {**ENTRY.to_json(), "toolUseId": "toolu_9"}
        line = json.dumps(
            {
                "type": "content-replacement",
                "replacements": [entry],
                "frozen": [["t", 1, HASH]],
                "withdrawn": [["t", 1, HASH]],
            }
        )
        (record,) = parse_line(line.encode()).records
        assert not record.is_ours
        assert record.session_id is record.agent_id is None
        assert (record.frozen, record.withdrawn) == ((), ())
        assert record.replacements == (
            ContentReplacementRecord("tool-result", "toolu_9", ENTRY.replacement, None, None),
        )

    def test_one_that_is_not_for_us_does_not_belong_to_us(self) -> None:
        """Row 24: session and agent decide whose a record is; no session means this one."""
        (record,) = parse_line(FOREIGN_LINE).records
        assert record.belongs_to("s1", None)
        assert not record.belongs_to("s2", None)
        assert not record.belongs_to("s1", "agent")

    def test_other_lines_are_not_even_decoded(self) -> None:
        """In a foreign file a line without a record only has to look like one object."""
        assert parse_foreign_line(b'{"type":"user", no json at all}') == ((), 0, 0)
        assert parse_foreign_line(b"  \r") == ((), 0, 0)
        assert parse_foreign_line(b'\xef\xbb\xbf{"type":"user"}') == ((), 0, 0)

    @pytest.mark.parametrize("line", [b'{"type":"con', b"\x00\x00", b"garbage", b'"text"'])
    def test_torn_lines_are_counted(self, line: bytes) -> None:
        """In a foreign file a line that is visibly no object counts as skipped."""
        assert parse_foreign_line(line) == ((), 1, 0)

    def test_records_are_found(self) -> None:
        """In a foreign file records of both kinds are read as anywhere."""
        for line in (LINE, FOREIGN_LINE):
            assert parse_foreign_line(line) == parse_line(line)
            assert len(parse_line(line).records) == 1


class TestHostileRecords:
    """A record with a valid checksum may still be made to hurt."""

    OWN = ENTRY.to_json()
    BAD_ENTRIES: tuple[object, ...] = (
        None,
        7,
        [],
        {**OWN, "toolUseId": 7},
        {**OWN, "replacement": None},
        {**OWN, "kind": None},
        {key: value for key, value in OWN.items() if key != "kind"},
        {**OWN, "size": True},
        {**OWN, "size": -1},
        {**OWN, "size": 1e3},
        {**OWN, "size": 10**30},
        {**OWN, "size": None},
        {**OWN, "hash": None},
        {**OWN, "hash": "XYZ"},
        {**OWN, "file": {}},
        {**OWN, "fileDigest": []},
    )
    BAD_FINGERPRINTS: tuple[object, ...] = (
        None,
        {},
        [],
        "text",
        ["t", 1],
        ["t", 1, HASH, 1],
        [1, 1, HASH],
        ["t", False, HASH],
        ["t", -1, HASH],
        ["t", 10**30, HASH],
        ["t", 1, "short"],
        ["t", 1, None],
    )

    @pytest.mark.parametrize("bad", BAD_ENTRIES)
    def test_a_malformed_replacement_costs_itself(self, bad: object) -> None:
        """The entries beside a malformed one count, and it is counted."""
        parsed = parse_line(sealed({"replacements": [bad, self.OWN]}))
        assert parsed.records[0].replacements == (ENTRY,)
        assert (parsed.skipped_lines, parsed.dropped_entries) == (0, 1)

    @pytest.mark.parametrize("bad", BAD_FINGERPRINTS)
    @pytest.mark.parametrize("key", ["frozen", "withdrawn"])
    def test_a_malformed_fingerprint_costs_itself(self, bad: object, key: str) -> None:
        """The same for results that are only named."""
        parsed = parse_line(sealed({key: [bad, ["t", 1, HASH]]}))
        assert getattr(parsed.records[0], key) == (("t", 1, HASH),)
        assert (parsed.skipped_lines, parsed.dropped_entries) == (0, 1)

    @pytest.mark.parametrize("value", [7, "text", {}, True])
    def test_what_should_be_a_list_counts_as_one_malformed_entry(self, value: object) -> None:
        """A record whose lists are something else has no entries."""
        parsed = parse_line(sealed({"replacements": value, "frozen": value}))
        assert not parsed.records[0].replacements
        assert not parsed.records[0].frozen
        assert parsed.dropped_entries == 2

    @pytest.mark.parametrize("key", ["sessionId", "agentId"])
    @pytest.mark.parametrize("value", [7, [], {}, True])
    def test_an_owner_that_is_no_text_skips_the_record(self, key: str, value: object) -> None:
        """Whose a record is must be clear, else it is nobody's."""
        assert parse_line(sealed({key: value})) == ((), 1, 0)

    @pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a\\b", "..", ".", "", "a\0b", "a\nb"])
    def test_a_file_name_never_leads_elsewhere(self, name: str) -> None:
        """The decision stays, but a name that could leave the directory is forgotten."""
        (record,) = parse_line(sealed({"replacements": [{**self.OWN, "file": name}]})).records
        assert record.replacements == (replace(ENTRY, file=None),)

    @given(
        value=st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | any_text(max_size=8),
            lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text(), inner),
            max_leaves=12,
        ),
        key=st.sampled_from(
            ["sessionId", "agentId", "replacements", "frozen", "withdrawn", "inheritedFrom"]
        ),
        is_ours=st.booleans(),
    )
    def test_no_value_of_any_field_raises(self, value: object, key: str, *, is_ours: bool) -> None:
        """Any JSON value may stand anywhere; the record is read or skipped."""
        plain = json.dumps({"type": "content-replacement", key: value}).encode()
        parsed = parse_line(sealed({key: value}) if is_ours else plain)
        assert len(parsed.records) + parsed.skipped_lines == 1
