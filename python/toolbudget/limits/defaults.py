"""The numbers everything starts from (L1 and L2).

Sizes are characters of text (Unicode code points) unless the name says bytes.
"""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BUILT_IN_DECLARED_LIMITS",
    "CHARS_PER_TOKEN",
    "DEFAULT_DECLARED_LIMIT_CHARS",
    "DEFAULT_MAX_RESULT_SIZE_CHARS",
    "DEFAULT_MESSAGE_LIMIT",
    "DEFAULT_RESULT_LIMIT",
    "MAX_TOOL_RESULTS_PER_MESSAGE_CHARS",
    "PREVIEW_SIZE_BYTES",
    "READER_HINT_MAX_CHARS",
    "DefaultLimit",
    "Unit",
    "built_in_declared_limit",
]

DEFAULT_MAX_RESULT_SIZE_CHARS: Final = 50_000
MAX_TOOL_RESULTS_PER_MESSAGE_CHARS: Final = 200_000
PREVIEW_SIZE_BYTES: Final = 2_000
# A quarter of a usual preview. The hint stands in every replacement, the shrunken ones too, and
# stays in the context: a longer one would outweigh what it stands beside, and with one of 16,384
# characters other programs would not take the replacement for a reference.
READER_HINT_MAX_CHARS: Final = 500
DEFAULT_DECLARED_LIMIT_CHARS: Final = 100_000

Unit: TypeAlias = Literal["chars", "tokens", "bytes"]

CHARS_PER_TOKEN: Final = 4
"""How many characters of a default limit make one token of it (L7)."""


class DefaultLimit(int):
    """A limit that nobody has set: its number is the same in characters and bytes.

    Being an object of its own it differs from the same number given by a host, which counts as it
    is in every unit.
    """

    __slots__ = ()

    def in_unit(self, unit: Unit) -> int:
        """Give the plain number for a unit.

        Example:
            >>> DefaultLimit(50_000).in_unit("tokens")
            12500
        """
        return int(self) // CHARS_PER_TOKEN if unit == "tokens" else int(self)


DEFAULT_RESULT_LIMIT: Final = DefaultLimit(DEFAULT_MAX_RESULT_SIZE_CHARS)
DEFAULT_MESSAGE_LIMIT: Final = DefaultLimit(MAX_TOOL_RESULTS_PER_MESSAGE_CHARS)

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


def built_in_declared_limit(name: str, unit: Unit = "chars") -> float:
    """Give the limit that a tool has when its host declares none.

    Args:
        name: The tool's name, as it stands in the ``tool_use`` block; case matters.
        unit: What the limit counts. Tokens are a quarter of the characters; bytes are as many.

    Returns:
        The limit in the unit; ``math.inf`` for a tool that reads files or stored results.

    Example:
        >>> from toolbudget.limits import built_in_declared_limit
        >>> built_in_declared_limit("Grep"), built_in_declared_limit("WebFetch")
        (20000, 100000)
        >>> built_in_declared_limit("Grep", "tokens"), built_in_declared_limit("Read", "tokens")
        (5000, inf)
    """
    limit_chars = BUILT_IN_DECLARED_LIMITS.get(name, DEFAULT_DECLARED_LIMIT_CHARS)
    is_divided = unit == "tokens" and limit_chars != math.inf  # infinity // 4 is no number
    return limit_chars // CHARS_PER_TOKEN if is_divided else limit_chars
