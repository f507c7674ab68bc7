"""The numbers everything starts from (L1 and L2).

Sizes are characters of text (Unicode code points) unless the name says bytes.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BUILT_IN_DECLARED_LIMITS",
    "DEFAULT_DECLARED_LIMIT_CHARS",
    "DEFAULT_MAX_RESULT_SIZE_CHARS",
    "MAX_TOOL_RESULTS_PER_MESSAGE_CHARS",
    "PREVIEW_SIZE_BYTES",
    "built_in_declared_limit",
]

DEFAULT_MAX_RESULT_SIZE_CHARS: Final = 50_000
MAX_TOOL_RESULTS_PER_MESSAGE_CHARS: Final = 200_000
PREVIEW_SIZE_BYTES: Final = 2_000
DEFAULT_DECLARED_LIMIT_CHARS: Final = 100_000

# Readers are infinite: they limit themselves, and storing what a reader returned would make the
# model read the stored file with the same reader, for ever.
BUILT_IN_DECLARED_LIMITS: Final[Mapping[str, float]] = MappingProxyType(
    {
        "Bash": 30_000,
        "bash": 30_000,
        "Grep": 20_000,
        "grep": 20_000,
        "Read": math.inf,
        "read_file": math.inf,
        "read_result": math.inf,
        "search_results": math.inf,
    }
)


def built_in_declared_limit(name: str) -> float:
    """Give the limit in characters that a tool has when its host declares none.

    Args:
        name: The tool's name, as it stands in the ``tool_use`` block; case matters.

    Returns:
        Characters of text; ``math.inf`` for a tool that reads files or stored results.

    Example:
        >>> from toolbudget.limits import built_in_declared_limit
        >>> built_in_declared_limit("Grep"), built_in_declared_limit("WebFetch")
        (20000, 100000)
    """
    return BUILT_IN_DECLARED_LIMITS.get(name, DEFAULT_DECLARED_LIMIT_CHARS)
