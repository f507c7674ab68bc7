"""What is hostile about JSON, at every place of the blocks it is read by, against `json`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.harness import State, plan_options
from tests.core.parity import outcome
from toolbudget import _core
from toolbudget._core.pure import Key

if TYPE_CHECKING:
    from types import ModuleType

cores: Final = pytest.mark.parametrize("core", [_core.load("python"), _core.load("native")])

ESCAPES: Final = (
    *(f"\\{letter}" for letter in '"\\/bfnrt'),
    *("\\u0000", "\\u001F", "\\u00e9", "\\u65E5", "\\uFFFF", "\\u005c", "\\u0022"),
    *("\\ud83d\\ude00", "\\uD83D\\uDE00", "\\ud83d", "\\ude00", "\\ude00\\ud83d"),
    *("\\ud83d\\u0041", "\\ud83d\\\\ude00", "\\ud83d\\ud83d\\ude00", "\\ud83d\\n"),
)
PLAIN: Final = ("n", "u0041", "\x7f", "é", "日本", "\U0001f600", " ", "{}[],:", "x" * 70)
# Lengths around those of the blocks of 16, 32 and 64 bytes, and around that of decoded pieces.
GAPS: Final = st.integers(0, 140) | st.sampled_from([4_094, 4_095, 16_318, 16_319, 16_383])
# Never blank: a result without a text is not kept.
CONTENTS: Final = st.builds(
    lambda gap, pieces: "a" + "-" * gap + "".join(pieces),
    GAPS,
    st.lists(st.sampled_from(ESCAPES + PLAIN), max_size=60),
)


@cores
@given(contents=st.lists(CONTENTS, min_size=1, max_size=4))
def test_a_text_has_the_hash_of_what_json_reads(core: ModuleType, contents: list[str]) -> None:
    """Whatever escapes stand in it, and wherever; pairs of surrogates are one character."""
    blocks = [
        f'{{"type":"tool_result","tool_use_id":"t{place}","content":"{content}"}}'
        for place, content in enumerate(contents)
    ]
    joined = ",".join(blocks)
    body = f'{{"messages":[{{"role":"user","content":[{joined}]}}]}}'
    read = json.loads(body)["messages"][0]["content"]
    scan = core.scan_json(body.encode())
    plan = core.plan_json(scan, State().known(core), plan_options(core, limit=10**9))
    assert list(plan.kept) == [
        Key(block["tool_use_id"], core.fingerprint((block["content"],))) for block in read
    ]


IN_STRINGS: Final = (
    *(piece.encode() for piece in (*ESCAPES, *PLAIN)),
    *(b"\0", b"\x1f", b"\n", b"\t", b"\\", b'"', b"\\x", b"\\u", b"\\u1", b"\\u12", b"\\u123"),
    *(b"\\u12G4", b"\\u-123", b"\\u 123", b"\\u1_23", b"\\ud83d\\u", b"\\ud83d\\udeg0", b"\\U0041"),
    *(b"\xff", b"\x80", b"\xc0\x80", b"\xc3", b"\xe6\x97", b"\xed\xa0\xbd", b"\xf0\x9f\x98"),
    *(b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80"),
)
NUMBERS: Final = st.text("0123456789+-.eE", min_size=1, max_size=8) | st.sampled_from(
    ["-0", "-0.0e-0", "1E+400", "-", "01", "-01", "1.", ".5", "1e", "1e+", "0x1", "1_0", "+1"]
)
STRINGS: Final = st.builds(
    lambda gap, pieces, tail: b'"' + b"-" * gap + b"".join(pieces) + b"-" * tail + b'"',
    st.integers(0, 140),
    st.lists(st.sampled_from(IN_STRINGS), max_size=3),
    st.integers(0, 70),
)
DEEP: Final = st.builds(
    lambda opened, closed: b"".join(opened) + b"1" + b"".join(closed),
    st.lists(st.sampled_from([b"[", b'{"a":', b"[ "]), max_size=70),
    st.lists(st.sampled_from([b"]", b"}", b" ]"]), max_size=3),
)


def nested(kinds: list[bool], inner: bytes) -> bytes:
    """Put a value into lists and objects, the outermost one first."""
    opened = b"".join(b'{"a":' if is_object else b"[1," for is_object in kinds)
    return opened + inner + b"".join(b"}" if is_object else b"]" for is_object in reversed(kinds))


VALUES: Final = st.one_of(
    STRINGS,
    NUMBERS.map(str.encode),
    DEEP,
    st.sampled_from([b"nul", b"truee", b"null", b"\x0b1", b"\xc2\xa01", b'{"a":1,"a":[2],"a":3}']),
)


def refused_at(body: bytes) -> int | None:
    """Give the byte at which decoding and the standard library refuse a body, if they do."""
    try:
        json.loads(body.decode())
    except UnicodeDecodeError as error:
        return error.start
    except json.JSONDecodeError as error:
        return len(body.decode()[: error.pos].encode())
    return None


@cores
@given(
    value=st.builds(nested, st.just([]) | st.lists(st.booleans(), max_size=130), VALUES),
    is_name=st.booleans(),
)
def test_a_value_is_refused_where_json_refuses_it(
    core: ModuleType, value: bytes, *, is_name: bool
) -> None:
    """At the same byte, and what `json` reads is passed through as it is."""
    body = b"[{%s:1}]" % value if is_name and value[:1] == b'"' else b'[{"a":%s,"b":[]}]' % value
    expected = refused_at(body)
    seen = outcome(lambda: core.scan_json(body).body)
    assert seen == body if expected is None else str(seen).endswith(f" at byte {expected}")
