"""Tools for agents, each a plain function that carries the schema a model is given.

Example:
    >>> from toolbudget.tools import read_file
    >>> read_file.name, read_file.to_anthropic()["name"]
    ('read_file', 'read_file')
"""

from __future__ import annotations

from toolbudget.storage.text_page import TextPage
from toolbudget.tools._bash import BashResult, BashTool, abash, bash, bash_tool
from toolbudget.tools._grep import GrepResult, agrep, grep
from toolbudget.tools._read_file import ReadFileResult, aread_file, read_file
from toolbudget.tools._result_tools import ReadResultResult, SearchResultsResult, result_tools
from toolbudget.tools.definition import Parameter, Tool, ToolResult, tool

__all__ = [
    "BashResult",
    "BashTool",
    "GrepResult",
    "Parameter",
    "ReadFileResult",
    "ReadResultResult",
    "SearchResultsResult",
    "TextPage",
    "Tool",
    "ToolResult",
    "abash",
    "agrep",
    "aread_file",
    "bash",
    "bash_tool",
    "grep",
    "read_file",
    "result_tools",
    "tool",
]
