from __future__ import annotations

import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import any_text
from toolbudget.storage.names import (
    candidate_names,
    collision_name,
    result_name,
    session_name,
)

PLAIN_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")
DEVICES = {
    *("CON", "PRN", "AUX", "NUL"),
    *(f"COM{number}" for number in range(10)),
    *(f"LPT{number}" for number in range(10)),
}
DIGEST = "99aa06d3014798d86001c324468d497f"
HOSTILE_IDS = [
    "../../etc/cron.d/x",
    "..\\x",
    "/abs/x",
    "a/b",
    "a\\b",
    ".",
    "..",
    "",
    " ",
    "a\0b",
    "a\nb",
    "toolu_1\n",
    "-rf",
    "--",
    "x.",
    "x ",
    " x",
    "a:b",
    "a::$DATA",
    "C:\\x",
    "con.txt",
    "aux.",
    "~",
    "$(id)",
    "%2e%2e",
    "é",
    "e\u0301",
    "\ufb01",
    "\u212a",
    "\u202egpj.exe",
    "\ud800",
    "\udfff",
    "\u0130",
    "\u017f",
    "functions.bash:0",
    "x" * 101,
    "y" * 1_000_000,
    "call_1__thought__" + 1400 * "A",
    "com\u00b9",
]


@pytest.mark.parametrize(
    "tool_use_id",
    [
        "toolu_01A09q90qw90lq917835lq9",
        "call_0",
        "chatcmpl-tool-5d1f",
        "3f2c9a52-7f0e-4b8e-9a39-0d6f1f0c2b11",
        "_",
        "0",
        "x" * 100,
        "CONSOLE",
        "com10",
        "call-0123456789abcdef0123456789abcdef01234567",
    ],
)
def test_ordinary_id_is_its_own_name(tool_use_id: str) -> None:
    """Ids as providers give them are found again by eye."""
    assert result_name(tool_use_id) == tool_use_id
    assert session_name(tool_use_id) == tool_use_id


@pytest.mark.parametrize("tool_use_id", HOSTILE_IDS, ids=lambda value: repr(value[:20]))
def test_hostile_id_gets_a_safe_name(tool_use_id: str) -> None:
    """No id leads out of the directory, is an option of a command, or is too long for a name."""
    name = result_name(tool_use_id)
    assert SAFE_NAME.fullmatch(name)
    assert name != tool_use_id
    assert name.upper() not in DEVICES


def test_hostile_ids_have_different_names_on_every_file_system() -> None:
    """Ids that look alike after cleaning are told apart by their hash, also where case is lost."""
    assert len({result_name(hostile).lower() for hostile in HOSTILE_IDS}) == len(HOSTILE_IDS)


@pytest.mark.parametrize("device", sorted(DEVICES))
def test_device_names_are_avoided_on_every_system(device: str) -> None:
    """A file that Windows takes for a device could be neither synced nor deleted there."""
    for spelling in (device, device.lower(), device.capitalize()):
        assert result_name(spelling).upper() not in DEVICES


def test_hashed_name_begins_with_what_can_be_read() -> None:
    """A person finds the file of an odd id by its readable part."""
    assert result_name("functions.bash:0").startswith("functions_bash_0-")
    assert result_name("../../etc/passwd").startswith("etc_passwd-")


def test_no_id_can_take_the_name_of_another() -> None:
    """An id chosen to equal another one's hashed name gets a name of its own."""
    for hostile in HOSTILE_IDS:
        name = result_name(hostile)
        for twin in (name, name.upper(), name.lower()):
            assert result_name(twin).lower() != name.lower()


@given(any_text())
def test_name_of_any_id_is_safe_and_stable(tool_use_id: str) -> None:
    """Whatever the id, its name is safe; and an ordinary id keeps its own."""
    name = result_name(tool_use_id)
    assert SAFE_NAME.fullmatch(name)
    assert name.upper() not in DEVICES
    assert name == result_name(tool_use_id)
    if PLAIN_ID.fullmatch(tool_use_id) and tool_use_id.upper() not in DEVICES:
        assert name == tool_use_id


@given(st.sets(st.text(string.ascii_letters + string.punctuation, max_size=6), max_size=30))
def test_different_ids_have_different_names(tool_use_ids: set[str]) -> None:
    """Two results never share a file because of their ids."""
    assert len({result_name(each) for each in tool_use_ids}) == len(tool_use_ids)


def test_collision_name_carries_the_hash_of_the_content() -> None:
    """The second name tells which content it holds, so that a replayed turn finds it."""
    assert collision_name("call_0", DIGEST) == f"call_0-{DIGEST}"


def test_candidate_names_end() -> None:
    """The plain name comes first, then the content's hash, then a few numbers, all different."""
    names = list(candidate_names("call_0", ".json", lambda: DIGEST))
    assert names[:3] == [
        "call_0.json",
        f"call_0-{DIGEST}.json",
        f"call_0-{DIGEST}-2.json",
    ]
    assert 3 < len(set(names)) == len(names) < 20


def test_candidate_names_ask_for_the_hash_only_when_needed() -> None:
    """A free plain name costs no hash of the content."""

    def never() -> str:
        pytest.fail("the hash was asked for")

    assert next(candidate_names("call_0", ".txt", never)) == "call_0.txt"


def test_longest_names_fit_into_any_file_system() -> None:
    """Names stay below 143 bytes, which is all that eCryptfs leaves of 255."""
    longest = max(candidate_names(result_name("x" * 100), ".json", lambda: DIGEST), key=len)
    assert len(longest) <= 143
