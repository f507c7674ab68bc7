"""A model that reads a stored result back to its end, through the gate and the budget."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.builders import answer, call, msg, res, stored_files
from toolbudget import Limits, Session
from toolbudget.tools import read_file, result_tools

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.tools import Tool, ToolResult

CONTINUE: Final = re.compile(r"\[.*Continue with (start_line|start_byte)=(\d+)\.\]\Z")
NOTE: Final = re.compile(r"\n?\[(?:Line|Lines|Bytes) [^\]]*\]\Z")
PATH: Final = re.compile(r"Full output saved to: (\S+)")


def by_id(session: Session, shown: str) -> tuple[Tool[..., ToolResult], dict[str, Any]]:
    """Read with the library's reader, by the id of the result."""
    assert "t1" in shown
    return result_tools(session)[0], {"tool_use_id": "t1"}


def by_path(session: Session, shown: str) -> tuple[Tool[..., ToolResult], dict[str, Any]]:
    """Read with the library's reader, by the path in the reference."""
    match = PATH.search(shown)
    assert match is not None
    return result_tools(session)[0], {"tool_use_id": match[1]}


def as_file(_session: Session, shown: str) -> tuple[Tool[..., ToolResult], dict[str, Any]]:
    """Read with the reader of files."""
    match = PATH.search(shown)
    assert match is not None
    return read_file, {"path": match[1]}


@pytest.mark.parametrize("way", [by_id, by_path, as_file])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("".join(f"{number}: é {'x' * 70}\n" for number in range(6_000)), id="lines"),
        pytest.param("ab🎉" * 100_000, id="one-line"),
        pytest.param("short\n" + "y" * 300_000 + "\nend\n", id="mixed"),
        pytest.param("\n" * 300_000 + "x", id="empty-lines"),
        pytest.param("<persisted-output>\n" + "z\n" * 150_000 + "</persisted-output>", id="framed"),
    ],
)
def test_reading_on_stores_nothing_and_ends(
    root: Path,
    text: str,
    way: Callable[[Session, str], tuple[Tool[..., ToolResult], dict[str, Any]]],
) -> None:
    """LOOP 29: it gets the whole text in pages, none of which is ever stored or changed."""
    limits = Limits(max_result_chars=10_000, max_message_chars=20_000)
    with Session.open(root, "session", limits=limits, durability="process") as session:
        small = session.gate(res("t1", text), tool_name="Fetch")
        history: list[dict[str, Any]] = [answer(call("t1", "Fetch")), msg(small)]
        files = stored_files(session)
        tool, where = way(session, small["content"])
        given, whole = dict(where), ""
        for turn in range(20):
            request = {"type": "tool_use", "id": f"r{turn}", "name": tool.name, "input": given}
            page = tool.answer(request)
            assert session.gate(page, tool_name=tool.name) is page
            history += [answer(request), msg(page)]
            sent = session.enforce(history)
            assert sent == history
            assert stored_files(session) == files
            content = sent[-1]["content"][0]["content"]
            whole += NOTE.sub("", content) if turn or CONTINUE.search(content) else content
            following = CONTINUE.search(content)
            if following is None:
                break
            given = {**where, following[1]: int(following[2])}
        else:
            pytest.fail("it never ends")
        # A page's own line ends with it; the note has another only where the text has none.
        assert whole.replace("\n", "") == text.replace("\n", "")
        assert whole.count("\n") in range(text.count("\n") - turn - 1, text.count("\n") + 1)
