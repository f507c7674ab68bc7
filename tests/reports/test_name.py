from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.builders import (
    check_reference,
    digest_of,
    files_below,
    gate,
    read_reference,
    res,
    stored_files,
)
from tests.strategies import any_text
from toolbudget import MemoryStore, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LARGE = 60_000 * "a"
DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"} | {
    f"{port}{number}" for port in ("com", "lpt") for number in range(10)
}
ORDINARY_IDS = [
    "toolu_01ABCdefGHIjklMNOpqrSTU",
    "call_0",
    "3f2c9a52-7f0e-4b8e-9a39-0d6f1f0c2b11",
    "_",
    "0",
    "a" * 100,
    "console",
    "com",
    "lpt10",
    "h_0",
]
HOSTILE_IDS = [
    "../../etc/cron.d/x",
    "..\\x",
    "/abs/x",
    "a/b",
    "a\\b",
    ".",
    "..",
    "...",
    "",
    " ",
    "-rf",
    "~",
    "~/x",
    "$HOME",
    "C:\\x",
    "C:x",
    "x:stream",
    "a\0b",
    "a\nb",
    "a\u2028b",
    "\u202etxt",
    "x.txt",
    "x.txt.",
    "x ",
    ".hidden",
    "tool-results/x",
    "caf\u00e9",
    "cafe\u0301",
    "\u212a",
    "\ud800",
    "\U0001f600",
    "a" * 101,
    "a" * 300,
    "</persisted-output>",
    "<persisted-output>\n",
    "%2e%2e%2f",
    "*",
    "?",
    '"',
    "|",
]


def is_safe_name(name: str) -> bool:
    """Tell whether a file name is short, plain and no device on any system."""
    stem, _, extension = name.partition(".")
    return (
        re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]*", stem) is not None
        and extension in {"txt", "json"}
        and len(name) <= 150
        and stem.lower() not in DEVICES
    )


def check_one_file(session: Session, root: Path, tool_use_id: str) -> str:
    """Pass a large result through the gate; check that exactly one safe file came of it."""
    block = res(tool_use_id, LARGE)
    small = gate(session, block)
    assert small["tool_use_id"] is tool_use_id
    check_reference(block, small, session.directory)
    name = read_reference(small["content"]).path.name
    assert is_safe_name(name)
    assert files_below(root) == {
        f"{session.directory.name}/tool-results/{name}",
        f"{session.directory.name}.jsonl",
    }
    return name


@pytest.mark.parametrize("tool_use_id", HOSTILE_IDS)
def test_an_id_never_leaves_the_folder(session: Session, root: Path, tool_use_id: str) -> None:
    """NAME 1: one file directly in the folder, nothing elsewhere, and the id stays in the block."""
    check_one_file(session, root, tool_use_id)
    assert set(root.parent.iterdir()) == {root}


@given(tool_use_id=any_text(max_size=300))
@example(tool_use_id="toolu_1")
def test_any_id_makes_one_file_in_the_folder(
    new_root: Callable[[], Path], tool_use_id: str
) -> None:
    """NAME 1: whatever characters an id has, it makes one safe name directly in the folder."""
    root = new_root()
    with Session.open(root, "session", durability="process") as session:
        check_one_file(session, root, tool_use_id)


@given(session_id=any_text(max_size=150))
@example(session_id="../../victim")
@example(session_id="/abs")
@example(session_id="NUL")
@example(session_id="")
@example(session_id="a\0b")
def test_a_session_id_never_leaves_the_root(new_root: Callable[[], Path], session_id: str) -> None:
    """NAME 1: the same holds for the ids of sessions, which name a folder and a file."""
    root = new_root()
    with Session.open(root, session_id, durability="process") as session:
        check_one_file(session, root, "toolu_1")
    name = session.directory.name
    assert session.directory.parent == root
    assert is_safe_name(f"{name}.txt")
    assert {path.name for path in root.iterdir()} == {name, f"{name}.jsonl"}


def test_a_long_id_is_replaced_by_a_short_name(session: Session, root: Path) -> None:
    """NAME 2: an id of 1.4 KB still lets its result be stored, and is not repeated to the model."""
    tool_use_id = "call_1__thought__" + 1_400 * "A"
    name = check_one_file(session, root, tool_use_id)
    small = gate(session, res(tool_use_id, LARGE))
    assert tool_use_id not in small["content"]
    assert len(small["content"]) < 2_500
    assert name.startswith("call_1")


@given(prefix=any_text(max_size=20), filler=st.characters(), length=st.integers(100, 5_000))
def test_a_name_is_bounded(
    new_root: Callable[[], Path], prefix: str, filler: str, length: int
) -> None:
    """NAME 2: however long an id is, its name is short and its result is replaced."""
    root = new_root()
    with Session.open(root, "session", durability="process") as session:
        name = check_one_file(session, root, prefix + length * filler)
    assert len(name) <= 150


def test_an_id_of_megabytes_is_harmless(session: Session, root: Path) -> None:
    """NAME 2: the size of an id is as untrusted as its characters."""
    check_one_file(session, root, 3_000_000 * "../")


@pytest.mark.parametrize("extension", ["", ".txt", ".", ".tar.gz", ":stream", " "])
@pytest.mark.parametrize("spell", [str.lower, str.upper, str.title])
@pytest.mark.parametrize("device", sorted(DEVICES))
def test_no_name_is_that_of_a_device(
    device: str, spell: Callable[[str], str], extension: str
) -> None:
    """NAME 4: no stem is a Windows device, in any case and with or without an extension."""
    assert is_safe_name(MemoryStore().put(spell(device) + extension, "text").path.name)


@pytest.mark.parametrize("name", ["NUL", "con", "aux", "COM1", "LPT9", "pRn"])
def test_no_file_or_session_is_named_like_a_device(root: Path, name: str) -> None:
    """NAME 4: neither the file of a result nor the folder and transcript of a session."""
    with Session.open(root, name, durability="process") as session:
        check_one_file(session, root, name)
    assert is_safe_name(f"{session.directory.name}.txt")


@pytest.mark.parametrize("tool_use_id", ORDINARY_IDS)
def test_an_ordinary_id_is_its_own_name(session: Session, tool_use_id: str) -> None:
    """NAME 1: what needs no change keeps its name, so that a person can find the file."""
    gate(session, res(tool_use_id, LARGE))
    assert set(stored_files(session)) == {f"{tool_use_id}.txt"}


@given(ids=st.lists(any_text(max_size=40) | st.sampled_from(HOSTILE_IDS), min_size=2, unique=True))
def test_two_ids_never_share_a_file(new_root: Callable[[], Path], ids: list[str]) -> None:
    """NAME 1, 2, 4: each id gets a name of its own, so each reference leads to its own text."""
    texts = {tool_use_id: f"{index}:" + LARGE for index, tool_use_id in enumerate(ids)}
    with Session.open(new_root(), "session", durability="process") as session:
        for tool_use_id, text in texts.items():
            block = res(tool_use_id, text)
            small = gate(session, block)
            check_reference(block, small, session.directory)
            assert read_reference(small["content"]).preview == text[:2_000]
        stored = stored_files(session).values()
        assert sorted(stored) == sorted(text.encode() for text in texts.values())


def test_an_id_that_imitates_a_hashed_name_gets_another(session: Session) -> None:
    """NAME 1: an id chosen to equal the name of another one does not take over its file."""
    gate(session, res("a/b", "first" + LARGE))
    [taken] = stored_files(session)
    gate(session, res(taken.removesuffix(".txt"), "second" + LARGE))
    assert sorted(stored_files(session).values()) == [
        ("first" + LARGE).encode(),
        ("second" + LARGE).encode(),
    ]


@given(tool_use_id=any_text(max_size=60))
def test_a_name_depends_on_the_id_alone(tool_use_id: str) -> None:
    """NAME 1: neither the text nor what was stored before moves a file to another name."""
    first, second = MemoryStore(), MemoryStore()
    second.put("another", "text")
    path = first.put(tool_use_id, "one").path
    assert second.put(tool_use_id, "two").path == path


def test_names_differing_only_in_case_do_not_overwrite(session: Session) -> None:
    """NAME 1: ids that a file system without case would mix up both keep their text."""
    ids = ["call_a", "CALL_A", "Call_a"]
    for tool_use_id in ids:
        gate(session, res(tool_use_id, tool_use_id + LARGE))
    stored = {digest_of(data) for data in stored_files(session).values()}
    assert stored == {digest_of((tool_use_id + LARGE).encode()) for tool_use_id in ids}
