"""Making a text shorter by what it is: cutting, picking by words, outlining source code.

Outlines need the extra ``code``: ``pip install 'toolbudget[code]'``.

Example:
    >>> from toolbudget.pruning import truncate_tool_result
    >>> len(truncate_tool_result("x" * 9_000, 500)) < 600
    True
"""

from __future__ import annotations

from toolbudget.pruning.guess import guess_language
from toolbudget.pruning.languages import LANGUAGES, language_of_path, resolve_language
from toolbudget.pruning.outline import OUTLINE_VERSION, outline_code, outline_preview
from toolbudget.pruning.relevance import prune_by_relevance
from toolbudget.pruning.savings import Savings, measure_savings, total_savings
from toolbudget.pruning.truncate import truncate_tool_result

__all__ = [
    "LANGUAGES",
    "OUTLINE_VERSION",
    "Savings",
    "guess_language",
    "language_of_path",
    "measure_savings",
    "outline_code",
    "outline_preview",
    "prune_by_relevance",
    "resolve_language",
    "total_savings",
    "truncate_tool_result",
]
