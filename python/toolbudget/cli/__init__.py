"""The command ``toolbudget``: one module per command, and what they share."""

from __future__ import annotations

from toolbudget.cli.main import main

__all__ = ["main"]
