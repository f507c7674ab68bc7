"""The tools that give a model its own stored results back, bound to one session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolbudget.storage.page_note import page_with_note
from toolbudget.storage.search import MAX_MATCHES, SearchHits
from toolbudget.storage.search_note import hits_with_notes
from toolbudget.storage.text_page import MAX_PAGE_CHARS, TextPage
from toolbudget.tools._read_file import RANGE_PARAMETERS
from toolbudget.tools.definition import Parameter, Tool, ToolResult, tool

if TYPE_CHECKING:
    from toolbudget.budget.session import Session

__all__ = ["ReadResultResult", "SearchResultsResult", "result_tools"]

_RESULT: Final = "The result's tool_use_id, or the path that stands for it in the conversation."

# With 50 matches that is about what a page may have.
_MAX_CONTEXT_LINES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResultResult(ToolResult):
    """What ``read_result`` found.

    Attributes:
        page: What is shown of the stored result and where it goes on.
    """

    page: TextPage


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResultsResult(ToolResult):
    """What ``search_results`` found.

    Attributes:
        hits: The lines, with the ids of their results as paths.
    """

    hits: SearchHits


def result_tools(session: Session) -> tuple[Tool[..., ToolResult], ...]:
    r"""Return the tools with which a model reads its own stored results.

    Both are exempt from the limits (L2), so that what they give is never stored again; each limits
    itself and says how to go on.

    Args:
        session: The conversation whose results, and those that it inherited, are read.

    Example:
        >>> import tempfile, toolbudget
        >>> from toolbudget.tools import result_tools
        >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
        >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "line\n" * 20_000}
        >>> _ = session.gate(block, tool_name="Fetch")
        >>> read_result = result_tools(session)[0]
        >>> print(read_result.run({"tool_use_id": "t1", "start_line": 20_000}).text)
        line
        [Line 20000, bytes 99995-100000.]
    """
    return _read_result_tool(session), _search_results_tool(session)


def _read_result_tool(session: Session) -> Tool[..., ReadResultResult]:
    @tool(
        Parameter("tool_use_id", "string", _RESULT, is_required=True),
        *RANGE_PARAMETERS,
        Parameter(
            "max_chars",
            "integer",
            "The most characters to show.",
            minimum=1,
            maximum=MAX_PAGE_CHARS,
        ),
        Parameter("raw", "boolean", "Show the stored JSON of a result of several blocks."),
        description=(
            "Read an earlier tool result that was too large for the conversation, all of it or a "
            "range of lines. A long one is shown in part; the last line then says how to continue."
        ),
    )
    def read_result(
        tool_use_id: str,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        start_byte: int | None = None,
        max_chars: int = MAX_PAGE_CHARS,
        raw: bool = False,
    ) -> ReadResultResult:
        """Read a stored result back."""
        page = session.result_page(
            tool_use_id,
            start_line=start_line,
            end_line=end_line,
            start_byte=start_byte,
            max_chars=max_chars,
            raw=raw,
        )
        return ReadResultResult(text=page_with_note(page, end_line=end_line), page=page)

    return read_result


def _search_results_tool(session: Session) -> Tool[..., SearchResultsResult]:
    @tool(
        Parameter(
            "pattern", "string", "A regular expression, as ripgrep takes it.", is_required=True
        ),
        Parameter("tool_use_id", "string", "Search only this result: its tool_use_id or path."),
        Parameter(
            "context_lines",
            "integer",
            "How many lines before and after a match to show.",
            minimum=0,
            maximum=_MAX_CONTEXT_LINES,
        ),
        description=(
            "Search earlier tool results that were too large for the conversation. Shows "
            f"{MAX_MATCHES} matching lines as id:line: text and says how many more there are."
        ),
    )
    def search_results(
        pattern: str, *, tool_use_id: str | None = None, context_lines: int = 2
    ) -> SearchResultsResult:
        """Search stored results."""
        hits = session.result_hits(pattern, tool_use_id=tool_use_id, context_lines=context_lines)
        text = hits_with_notes(
            hits,
            pattern,
            remedy="a longer pattern, or one tool_use_id",
            max_chars=MAX_PAGE_CHARS,
        )
        return SearchResultsResult(text=text, hits=hits)

    return search_results
