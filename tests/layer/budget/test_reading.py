"""Reading stored results back: by id or path, page by page, and nothing that is not ours."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import gate, res
from tests.strategies import hostile_text
from toolbudget import (
    DirectoryStore,
    Limits,
    MemoryStore,
    Session,
    ToolError,
    ToolInputError,
    _core,
)
from toolbudget.tools import result_tools

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget import StoredResult
    from toolbudget.storage.encoding import Content

LINES: Final = "".join(f"line {number}\n" for number in range(1, 20_001))


def sendable(text: str) -> str:
    """Say by characters what P3 makes of a text."""
    return "".join("\ufffd" if c == "\0" or "\ud800" <= c <= "\udfff" else c for c in text)


def read_all(session: Session, reference: str, *, max_chars: int, is_by_bytes: bool) -> str:
    """Read on as the pages say, to the end."""
    page = session.result_page(
        reference, start_byte=0 if is_by_bytes else None, max_chars=max_chars
    )
    parts = [page.text]
    while page.has_more:
        page = session.result_page(
            reference,
            start_line=page.next_start_line,
            start_byte=page.next_start_byte,
            max_chars=max_chars,
        )
        parts.append(page.text)
    return "".join(parts)


def test_by_id_and_by_path(session: Session) -> None:
    """Both name the same result; a short range comes as it is."""
    small = gate(session, res("t1", LINES))
    path = str(session.result_path("t1"))
    assert path in small["content"]
    for reference in ("t1", path):
        assert session.read_result(reference, start_line=1, end_line=2) == "line 1\nline 2\n"
        assert read_all(session, reference, max_chars=9_000, is_by_bytes=False) == LINES


@given(
    piece=hostile_text(),
    times=st.integers(1, 40),
    max_chars=st.integers(50, 5_000),
    is_by_bytes=st.booleans(),
    is_blocks=st.booleans(),
)
def test_pages_are_the_whole_result(
    new_root: Callable[[], Path],
    piece: str,
    times: int,
    max_chars: int,
    *,
    is_by_bytes: bool,
    is_blocks: bool,
) -> None:
    """Whatever a tool returned, reading on gives all of it, in a form that can be sent."""
    text = piece * times + "x" * 3_000 + piece
    half = len(text) // 2
    blocks = [{"type": "text", "text": text[:half]}, {"type": "text", "text": text[half:]}]
    limits = Limits(max_result_chars=1_000, preview_bytes=1)
    with Session.open(new_root(), "session", limits=limits, durability="process") as session:
        gate(session, res("t1", blocks if is_blocks else text))
        shown = read_all(session, "t1", max_chars=max_chars, is_by_bytes=is_by_bytes)
        assert shown == sendable(text)
        shown.encode("utf-8")


def test_raw_blocks(session: Session) -> None:
    """A result of several blocks is read as its text, and on demand as it is stored."""
    blocks = [{"type": "text", "text": c * 60_000} for c in "ab"]
    gate(session, res("t1", blocks))
    assert session.read_result("t1", start_byte=119_999) == "b\n[Bytes 119999-120000.]"
    raw = session.result_page("t1", raw=True, max_chars=200_000)
    assert json.loads(raw.text) == blocks


def test_a_damaged_json_is_shown_as_it_is(session: Session) -> None:
    """What someone has put in the place of stored JSON is shown, not an error of ours."""
    gate(session, res("t1", [{"type": "text", "text": 60_000 * "a"}] * 2))
    path = session.result_path("t1")
    assert path is not None
    for damaged in ('[{"type":', "{}", "[1]", '[{"type":"text"}]', "[" * 100_000):
        path.write_text(damaged)
        assert session.result_page("t1", max_chars=200_000).text == damaged


def test_forks_and_subagents_read_what_they_inherit(root: Path) -> None:
    """An ancestor's result is read where it was stored; what it stores later is not."""
    with Session.open(root, "main", durability="process") as session:
        gate(session, res("t1", LINES))
        path = str(session.result_path("t1"))
        with session.fork("fork") as fork, fork.fork("again") as again:
            gate(session, res("t2", "a" + LINES))
            later = str(session.result_path("t2"))
            for heir in (fork, again):
                for reference in ("t1", path):
                    assert heir.read_result(reference, end_line=1) == "line 1\n"
                for reference in ("t2", later):
                    with pytest.raises(ToolError, match="not a stored result of this conversation"):
                        heir.read_result(reference)
        with session.subagent("helper") as helper:
            gate(helper, res("t3", "b" + LINES))
            assert helper.read_result("t1", end_line=1) == "line 1\n"
            own = str(helper.result_path("t3"))
            assert session.read_result(own, end_line=1) == "bline 1\n"
    with Session.open(root, "fork", durability="process") as resumed:
        assert resumed.read_result("t1", end_line=1) == "line 1\n"


def test_foreign_paths_are_refused(root: Path, tmp_path: Path) -> None:
    """Neither another session's results nor any other file is read, however it is named."""
    with (
        Session.open(root, "session", durability="process") as session,
        Session.open(root, "other", durability="process") as other,
    ):
        gate(session, res("t1", LINES))
        gate(other, res("t9", LINES))
        (tmp_path / "t1.txt").write_text("secret")
        own = str(session.result_path("t1"))
        for path in (
            str(other.result_path("t9")),
            str(tmp_path / "t1.txt"),
            "/etc/passwd",
            own.replace("/session/", "/session/../other/"),
            own.replace("t1.txt", "../../../t1.txt"),
            own + "/",
            own.removeprefix("/"),
            "t1.txt",
            "",
            "\0",
            str(session.transcript_path),
        ):
            with pytest.raises(ToolError, match="not a stored result of this conversation"):
                session.read_result(path)
        with pytest.raises(ToolInputError, match="tool_use_id must be text: None"):
            session.read_result(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "native_message"),
    [("(", "invalid pattern at character 0, unclosed group"), ("x" * 5_001, "at most 5,000")],
)
def test_a_pattern_that_is_none_is_told_before_anything_is_stored(
    session: Session, pattern: str, native_message: str
) -> None:
    """A model that is told that nothing matches would believe it."""
    message = native_message
    if _core.NAME != "native" and len(pattern) == 1:
        message = "searching needs the native core"
    with pytest.raises(ToolError, match=message):
        session.search_results(pattern)


def test_planted_files_are_not_followed(session: Session, tmp_path: Path) -> None:
    """A link or FIFO in the place of a result is an error that nothing waits for."""
    gate(session, res("t1", LINES))
    path = session.result_path("t1")
    assert path is not None
    (tmp_path / "secret").write_text("secret")
    path.unlink()
    path.symlink_to(tmp_path / "secret")
    with pytest.raises(ToolError, match="cannot read the stored result"):
        session.read_result("t1")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ToolError, match="FIFO"):
        session.read_result("t1")
    path.unlink()
    with pytest.raises(ToolError, match="the stored result is gone"):
        session.read_result("t1")


def test_shown_paths(root: Path) -> None:
    """A model in a container names the path that it was shown."""

    def shown(path: Path) -> str:
        return f"/mnt/{path.relative_to(root)}"

    with Session.open(root, "main", display_path=shown, durability="process") as session:
        small = gate(session, res("t1", LINES))
        path = "/mnt/main/tool-results/t1.txt"
        assert path in small["content"]
        assert session.read_result(path, end_line=1) == "line 1\n"
        with session.fork("fork") as fork:
            assert fork.read_result(path, end_line=1) == "line 1\n"


def test_a_broken_mapping_of_paths(root: Path) -> None:
    """If the host's mapping fails later, results are still found by id and by their own path."""
    is_broken = False

    def shown(path: Path) -> str:
        return "" if is_broken else f"/mnt/{path.name}"

    with Session.open(root, "main", display_path=shown, durability="process") as session:
        gate(session, res("t1", LINES))
        is_broken = True
        for reference in ("t1", str(session.result_path("t1"))):
            assert session.read_result(reference, end_line=1) == "line 1\n"
        with pytest.raises(ToolError, match="not a stored result of this conversation"):
            session.read_result("/mnt/t1.txt")


def test_stores_of_the_host(root: Path, tmp_path: Path) -> None:
    """A store of ours in another place is read too; what a host's own class does is its own."""

    class Own:
        def put(self, tool_use_id: str, content: Content) -> StoredResult:
            """Keep it somewhere."""
            return MemoryStore().put(tool_use_id, content)

    memory = MemoryStore()
    for store in (DirectoryStore(tmp_path / "elsewhere", durability="process"), memory):
        name = type(store).__name__
        with Session.open(root, name, store=store, durability="process") as session:
            gate(session, res("t1", LINES))
            assert read_all(session, "t1", max_chars=9_000, is_by_bytes=False) == LINES
            path = str(store.directory / "t1.txt")
            assert session.read_result(path, end_line=1) == "line 1\n"
    with (
        Session.open(root, "MemoryStore", store=MemoryStore(), durability="process") as session,
        pytest.raises(ToolError, match=r"the stored result is gone: 'memory:/t1\.txt'"),
    ):
        session.read_result("t1")
    with Session.open(root, "own", store=Own(), durability="process") as session:
        gate(session, res("t1", LINES))
        with pytest.raises(ToolError, match=r"the host's own store keeps the results: Own"):
            session.read_result("t1")


def test_as_a_model_calls_it(session: Session) -> None:
    """The tool's answer is the page, or an error that the model can act on."""
    gate(session, res("t1", LINES))
    read_result = result_tools(session)[0]
    call = {"type": "tool_use", "id": "r1", "name": "read_result"}
    answer = read_result.answer({**call, "input": {"tool_use_id": "t1", "end_line": 1}})
    assert answer == {"type": "tool_result", "tool_use_id": "r1", "content": "line 1\n"}
    answer = read_result.answer({**call, "input": {"tool_use_id": "t1", "max_chars": 50_001}})
    assert answer["content"] == "read_result: max_chars must be at most 50000: 50001"
    answer = read_result.answer({**call, "input": {"tool_use_id": "t2"}})
    assert answer["content"] == "not a stored result of this conversation: 't2'"
    assert answer["is_error"] is True
