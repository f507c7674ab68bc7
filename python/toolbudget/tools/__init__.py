"""Tools for agents, each a plain function that carries the schema a model is given."""

from __future__ import annotations

from toolbudget.tools._bash import BashResult, BashTool, abash, bash, bash_tool
from toolbudget.tools.definition import Parameter, Tool, ToolResult, tool

__all__ = [
    "BashResult",
    "BashTool",
    "Parameter",
    "Tool",
    "ToolResult",
    "abash",
    "bash",
    "bash_tool",
    "tool",
]
