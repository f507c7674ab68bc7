"""Changing a few values in JSON text while every other byte stays as it is.

The text is bytes that a JSON parser has accepted; nothing here checks it. Positions
are byte offsets. What is skipped is never decoded, and depth of nesting costs no recursion.
"""

from __future__ import annotations

from toolbudget._core.pure.json.locate import Path, Span, locate
from toolbudget._core.pure.json.splice import Splice, replace_contents, splice

__all__ = ["Path", "Span", "Splice", "locate", "replace_contents", "splice"]
