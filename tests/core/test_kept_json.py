"""The kept results of a record as JSON, on both cores, against the standard library."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.harness import plan_options, result, user
from toolbudget import _core
from toolbudget._core.pure import Fingerprint, Key, Known

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from types import ModuleType

PIECES: Final = ("t", "toolu_01", '"', "\\", "/", "\0", "\n\r\t\b\f", "\x1f\x7f", "\x80é", "日")
PIECES_OF_PAIRS: Final = ("\U0001f600", "\ud83d", "\ude00", "\U0010ffff", "\udfff", "\ud800")
ODD_IDS: Final = st.lists(
    st.sampled_from((*PIECES, *PIECES_OF_PAIRS, "long" * 90)) | st.characters(), max_size=4
).map("".join)
TEXTS: Final = st.sampled_from(["kept", "also kept", "é", "x" * 500])

cores: Final = pytest.mark.parametrize("core", [_core.load("python"), _core.load("native")])


def is_pair(first: str, second: str) -> bool:
    """Tell whether JSON makes one character of two surrogates."""
    return "\ud800" <= first <= "\udbff" and "\udc00" <= second <= "\udfff"


def expected(
    keys: Sequence[Key], left_out: Collection[Key], id_bytes: int, part_chars: int
) -> list[bytes]:
    """Put together what the standard library writes, by the rules of the format."""
    parts: list[list[Any]] = [[]]
    chars = 0
    for place, key in enumerate(keys):
        (name, (size_chars, text_hash)) = key
        most_bytes = sum(1 if name.isascii() else 12 for _ in name)
        has_pair = any(map(is_pair, name, name[1:]))
        if key in left_out or key in keys[:place] or has_pair or most_bytes > id_bytes:
            continue
        if chars > part_chars:
            parts.append([])
            chars = 0
        parts[-1].append([name, size_chars, text_hash])
        chars += len(name) + 32
    return [json.dumps(part, separators=(",", ":")).encode() for part in parts]


@cores
@given(
    results=st.lists(st.tuples(ODD_IDS, TEXTS), max_size=12),
    left_out=st.sets(st.integers(0, 11), max_size=2),
    id_bytes=st.sampled_from([0, 3, 12, 36, 300, 1 << 25]),
    part_chars=st.sampled_from([0, 40, 120, 1 << 22]),
)
def test_what_a_plan_keeps_is_written_as_the_standard_library_writes_it(
    core: ModuleType,
    results: list[tuple[str, str]],
    left_out: set[int],
    id_bytes: int,
    part_chars: int,
) -> None:
    """Whatever the ids: each result once, only what a record can hold, in parts as they fit."""
    messages = [user(result(name, text)) for name, text in results]
    kept = core.plan(messages, Known({}, {}), plan_options(core)).kept
    keys = list(kept)
    others = {key for place, key in enumerate(keys) if place in left_out}
    others.add(Key("t", Fingerprint(3, "é")))  # no text has it, a record of another program may
    wanted = expected(keys, others, id_bytes, part_chars)
    limits = {"max_id_bytes": id_bytes, "max_part_chars": part_chars}
    assert core.kept_json(kept, others, **limits) == wanted
    assert core.kept_json(keys, others, **limits) == wanted


@cores
def test_a_result_that_is_kept_twice_is_written_once(core: ModuleType) -> None:
    """A session that meets a result again records it as one."""
    block = result("t1", "kept")
    messages = [user(block), user(result("t2", "kept")), user(block)]
    plan = core.plan(messages, Known({}, {}), plan_options(core))
    [part] = core.kept_json(plan.kept, (), max_id_bytes=99, max_part_chars=99)
    assert [entry[0] for entry in json.loads(part)] == ["t1", "t2"]
