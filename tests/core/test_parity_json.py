"""Bodies as bytes: both cores say the same, and what decoding, deciding and encoding would say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.harness import State, enforce, plan_options
from tests.core.parity import assert_same, outcome
from tests.strategies import bodies, broken_bodies
from toolbudget import _core
from toolbudget.errors import InvalidMessageError

if TYPE_CHECKING:
    from types import ModuleType

    from toolbudget._core.pure import Change, JsonScan, Plan

python = _core.load("python")
native = _core.load("native")

LIMITS = st.sampled_from([1, 300, 650, 1_500, 200_000])
UNITS = st.sampled_from(["chars", "tokens", "bytes"])


def changes_of(core: ModuleType, plan: Plan) -> list[Change]:
    """Give what a plan comes to if every store succeeds."""
    changes = list(plan.changes)
    for choice in plan.choices:
        places = [*choice.occurrences, *(candidate for candidate, _ in choice.followers)]
        changes += [
            core.Change(place.message_index, place.block_index, choice.replacement)
            for place in places
        ]
    return changes


def run(
    core: ModuleType,
    body: bytes,
    limit: float,
    state: State,
    earlier: JsonScan | None = None,
    *,
    unit: str = "chars",
) -> tuple[Plan, bytes, list[bytes], JsonScan]:
    """Do a whole call on bytes: scan, plan, rewrite in both ways."""
    scan = core.scan_json(body, earlier)
    plan = core.plan_json(scan, state.known(core), plan_options(core, limit=limit, unit=unit))
    changes = changes_of(core, plan)
    pieces = [bytes(piece) for piece in core.rewrite_json_segments(scan, changes)]
    return plan, core.rewrite_json(scan, changes), pieces, scan


def messages_in(body: bytes) -> list[Any]:
    """Read a body as a host without this library would."""
    text = body.decode()
    decoder = json.JSONDecoder()
    values: list[Any] = []
    position = 0
    while text[position:].strip(" \t\r\n"):
        position += len(text[position:]) - len(text[position:].lstrip(" \t\r\n"))
        value, position = decoder.raw_decode(text, position)
        values.append(value)
    if len(values) == 1 and isinstance(values[0], list):
        return values[0]
    if len(values) == 1 and "messages" in values[0]:
        messages: list[Any] = values[0]["messages"]
        return messages
    return values


def can_be_read(body: bytes) -> bool:
    """Tell whether the standard library reads a body: it refuses long integers, and no text."""
    try:
        messages_in(body)
    except ValueError:
        return False
    return bool(body.strip())


@given(body=bodies(), limit=LIMITS, unit=UNITS)
def test_both_cores_do_the_same(body: bytes, limit: float, unit: str) -> None:
    """Plans, bytes and pieces are the same, down to types."""
    expected = outcome(lambda: run(python, body, limit, State(), unit=unit)[:3])
    assert_same(expected, outcome(lambda: run(native, body, limit, State(), unit=unit)[:3]))


@given(body=broken_bodies())
def test_both_cores_refuse_the_same(body: bytes) -> None:
    """What is wrong with a body, and at which byte, does not depend on the core."""
    seen = [outcome(lambda core=core: core.scan_json(body).body) for core in (python, native)]
    assert_same(*seen)
    assert isinstance(seen[0], (bytes, InvalidMessageError))


@given(body=bodies().filter(can_be_read), limit=LIMITS, unit=UNITS)
def test_bytes_are_decided_about_as_objects_are(
    core: ModuleType, body: bytes, limit: float, unit: str
) -> None:
    """What decoding gives is what the object path gives for what was decoded."""
    done = enforce(core, messages_in(body), plan_options(core, limit=limit, unit=unit))
    plan, output, pieces, _ = run(core, body, limit, State(), unit=unit)
    assert messages_in(output) == done.messages
    assert [choice.key for choice in plan.choices] == [choice.key for choice in done.plan.choices]
    assert list(plan.kept) == list(done.plan.kept)
    assert list(plan.changes) == list(done.plan.changes)
    assert list(plan.totals) == list(done.plan.totals)
    assert b"".join(pieces) == output


@given(body=bodies(), limit=LIMITS)
def test_every_other_byte_stays(core: ModuleType, body: bytes, limit: float) -> None:
    """Outside of what was put in, the bytes are those of the body, in their order."""
    _, output, pieces, _ = run(core, body, limit, State())
    kept, new = pieces[::2], pieces[1::2]
    position = 0
    for piece in kept:
        found = body.find(piece, position)
        assert found >= position
        position = found + len(piece)
    assert body.startswith(kept[0])
    assert body.endswith(kept[-1])
    assert all(piece.isascii() or b"cache_control" in piece for piece in new)
    assert (output is body) == (not new)


@given(body=bodies(), cut=st.floats(0, 1), limit=LIMITS, data=st.data())
def test_an_earlier_scan_changes_nothing(
    core: ModuleType, body: bytes, cut: float, limit: float, data: st.DataObject
) -> None:
    """Whatever stood in the body before, the result is that of a scan from the beginning."""
    moved = body.replace(b"{", b'{"a": [0], ', 1)
    others = (body, body[: int(cut * len(body))], moved, moved[: int(cut * len(moved))] + b"]}")
    other = data.draw(st.one_of(bodies(), broken_bodies(), st.sampled_from(others)))
    try:
        earlier = core.scan_json(other)
    except InvalidMessageError:
        return
    expected = outcome(lambda: run(core, body, limit, State())[:3])
    assert_same(expected, outcome(lambda: run(core, body, limit, State(), earlier)[:3]))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON: expecting a value at byte 0"),
        (b" \n", "not JSON: expecting a value at byte 2"),
        (b"\xef\xbb\xbf[]", "body begins with a byte order mark at byte 0"),
        (b'["\xff"]', "body is not UTF-8 at byte 2"),
        (b'[,"\xff"]', "body is not UTF-8 at byte 3"),
        (b'{"a":NaN}', "not JSON: expecting a value at byte 5"),
        (b'{"a":-Infinity}', "not JSON: expecting a value at byte 5"),
        (b'{"a":1,}', "not JSON: expecting a name in double quotes at byte 7"),
        (b'["\xc3\xa9\n"]', "not JSON: control character in a string at byte 4"),
        (b'["\\x"]', "not JSON: invalid escape at byte 2"),
        (b'["\\u12x4"]', "not JSON: invalid escape at byte 3"),
        (b'["abc', "not JSON: unterminated string at byte 1"),
        (b"[{}] 1", "not JSON: extra data at byte 5"),
        (b"5", "neither a request body nor a list of messages nor records at byte 0"),
        (b'{"messages": {}}', "messages is not a list at byte 13"),
        (b'{"messages": [{}, 3]}', "message 1 is not an object at byte 18"),
        (b"[null]", "message 0 is not an object at byte 1"),
        (b"{}\n7\n", "message 1 is not an object at byte 3"),
    ],
)
def test_the_byte_is_named(core: ModuleType, body: bytes, message: str) -> None:
    """An error says what is wrong, and where."""
    with pytest.raises(InvalidMessageError) as raised:
        core.scan_json(body)
    assert str(raised.value) == message


@given(
    text=st.lists(
        st.sampled_from([*'[]{},:"\\a01.e-u \n\u00e9', "true", "null", "\\u12ab", "\\ud83d"]),
        max_size=9,
    ).map("".join)
)
def test_the_standard_library_names_the_same_byte(core: ModuleType, text: str) -> None:
    """Where ``json`` refuses text, the place is the same, but for a comma too many."""
    body = f'[{{"a":{text}}}]'
    try:
        json.loads(body, parse_constant=pytest.fail)
    except json.JSONDecodeError as error:
        if "trailing comma" in error.msg:
            return
        offset = len(body[: error.pos].encode())
        refused = outcome(core.scan_json, body.encode())
        assert str(refused).endswith(f" at byte {offset}")
    else:
        assert core.scan_json(body.encode()).body == body.encode()


@pytest.mark.parametrize("nest", [(b"[", b"]"), (b'{"a":', b"}")], ids=["lists", "objects"])
def test_depth_costs_no_recursion(core: ModuleType, nest: tuple[bytes, bytes]) -> None:
    """A body nested 200,000 deep is passed through, and cut off it is refused."""
    deep = nest[0] * 200_000 + b"1" + nest[1] * 200_000
    result = b'{"type":"tool_result","tool_use_id":"t1","content":"%s"}' % (b"x" * 3_000)
    body = b'{"deep":%s,"messages":[{"role":"user","content":[%s,%s]}]}' % (deep, deep, result)
    plan, output, _, _ = run(core, body, 1_000, State())
    assert len(plan.choices) == 1
    assert output.count(nest[1]) >= 400_000
    with pytest.raises(InvalidMessageError):
        core.scan_json(body[:-3])
