"""Tools for agents, each a plain function that carries the schema a model is given."""

from __future__ import annotations

from toolbudget.tools.definition import Parameter, Tool, ToolResult, tool

__all__ = ["Parameter", "Tool", "ToolResult", "tool"]
