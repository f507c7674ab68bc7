"""Searching stored results: those of the conversation, with what stands around a match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.builders import gate, res
from toolbudget import MemoryStore, Session, ToolError, ToolInputError, _core
from toolbudget.tools import result_tools

if TYPE_CHECKING:
    from pathlib import Path

LINES: Final = "".join(f"line {number}\n" for number in range(1, 20_001))

native_only: Final = pytest.mark.skipif(
    _core.NAME != "native", reason="the pure core does not search"
)


@pytest.mark.skipif(_core.NAME == "native", reason="the native core does search")
def test_the_pure_core_says_what_is_missing(session: Session) -> None:
    """Without the native core there is a clear error that names the remedy."""
    gate(session, res("t1", LINES))
    with pytest.raises(ToolError, match="searching needs the native core"):
        session.search_results("x")


@native_only
@pytest.mark.parametrize("is_in_memory", [False, True])
def test_what_is_found(root: Path, *, is_in_memory: bool) -> None:
    """Matches come with their ids and lines, in the order in which results were stored."""
    store = MemoryStore() if is_in_memory else None
    with Session.open(root, "session", store=store, durability="process") as session:
        gate(session, res("t2", LINES + "\0needle one\nbehind\n"))
        gate(session, res("t1", [{"type": "text", "text": t} for t in (LINES, "needle é\n\ud800")]))
        assert session.search_results("needle", context_lines=1).splitlines() == [
            "t2-20000- line 20000",
            "t2:20001: \ufffdneedle one",
            "t2-20002- behind",
            "t1-20000- line 20000",
            "t1:20001: needle é",
            "t1-20002- " + 3 * "\ufffd",
        ]
        assert session.search_results("needle", context_lines=0, max_matches=1) == (
            "t2:20001: \ufffdneedle one\n[1 more matching lines; there are matches in 2 files. "
            "To see less: a longer pattern, or one tool_use_id.]"
        )
        path = str(session.result_path("t1"))
        for reference in ("t1", path):
            found = session.search_results("needle", tool_use_id=reference, context_lines=0)
            assert found == f"{reference}:20001: needle é"
        assert session.search_results("needle two") == "[Nothing matches 'needle two'.]"


@native_only
def test_only_what_is_ours_is_searched(root: Path) -> None:
    """A fork finds what it inherited and its own, not what others stored."""
    with Session.open(root, "main", durability="process") as session:
        gate(session, res("t1", LINES + "needle"))
        with session.fork("fork") as fork:
            gate(session, res("t2", LINES + "needle"))
            gate(fork, res("t3", LINES + "needle"))
            hits = fork.result_hits("needle", context_lines=0)
            assert [line.path for line in hits.lines] == ["t1", "t3"]
            assert (hits.matches, hits.files, hits.is_partial) == (2, 2, False)


@native_only
def test_an_id_that_came_again(session: Session) -> None:
    """Both results are searched; the earlier one is named by its path, which can be read."""
    gate(session, res("t1", LINES + "needle one"))
    earlier = str(session.result_path("t1"))
    gate(session, res("t1", LINES + "needle two"))
    found = session.search_results("needle", context_lines=0)
    assert found == f"{earlier}:20001: needle one\nt1:20001: needle two"
    assert session.read_result(earlier, start_line=20_001).startswith("needle one")


@native_only
def test_what_is_gone(session: Session, tmp_path: Path) -> None:
    """A result that is gone, or not ours any more, does not hide what the others hold."""
    for name in ("t1", "t2", "t3"):
        gate(session, res(name, LINES + f"needle {name}"))
    first, second = session.result_path("t1"), session.result_path("t2")
    assert first is not None
    assert second is not None
    first.unlink()
    second.unlink()
    (tmp_path / "secret").write_text("needle secret")
    second.symlink_to(tmp_path / "secret")
    text = session.search_results("needle", context_lines=0)
    assert text == "t3:20001: needle t3\n[Could not be read: 2.]"
    with pytest.raises(ToolError, match="the stored result is gone"):
        session.search_results("needle", tool_use_id="t1")


@native_only
def test_refused_input(session: Session) -> None:
    """What cannot be searched for is an error, also as a model gives it."""
    gate(session, res("t1", LINES))
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"pattern": "("}, "invalid pattern at character 0, unclosed group: '\\('"),
        ({"pattern": "x", "context_lines": -1}, "context_lines must be at least 0: -1"),
        ({"pattern": "x", "max_matches": 0}, "max_matches must be at least 1: 0"),
    )
    for arguments, complaint in refused:
        with pytest.raises(ToolInputError, match=complaint):
            session.search_results(**arguments)
    search_results = result_tools(session)[1]
    call = {"type": "tool_use", "id": "s1", "name": "search_results"}
    given = {"pattern": "line 7777$", "context_lines": 1}
    answer = search_results.answer({**call, "input": given})
    assert answer["content"] == "t1-7776- line 7776\nt1:7777: line 7777\nt1-7778- line 7778"
    answer = search_results.answer({**call, "input": {"pattern": "x", "tool_use_id": "t2"}})
    assert answer["content"] == "not a stored result of this conversation: 't2'"


@native_only
def test_bounded_and_never_stored_again(session: Session) -> None:
    """The most that a search may show is about a page, and it is exempt (LOOP 29)."""
    gate(session, res("t1", ("needle" + "x" * 5_000 + "\n") * 1_000))
    tool = result_tools(session)[1]
    call = {
        "type": "tool_use",
        "id": "s1",
        "name": "search_results",
        "input": {"pattern": "needle"},
    }
    answer = tool.answer(call)
    assert 10_000 < len(str(answer["content"])) < 60_000
    assert session.gate(answer, tool_name=tool.name) is answer
