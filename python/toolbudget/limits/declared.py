"""The limit that each tool is declared to have (L2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolbudget.limits.defaults import built_in_declared_limit
from toolbudget.limits.validation import named_limits, positive_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolbudget.limits.defaults import Unit

__all__ = ["DeclaredLimits"]


class DeclaredLimits:
    """What the host has declared for its tools, on top of the built-in limits.

    A declaration goes before the built-in limit of that tool, and a later one before an earlier
    one. Several threads may use one object.

    Example:
        >>> from toolbudget.limits import DeclaredLimits
        >>> declared = DeclaredLimits({"WebFetch": 40_000})
        >>> declared.declare("Read", 100_000)
        100000
        >>> declared.for_tool("WebFetch"), declared.for_tool("Read"), declared.for_tool("Bash")
        (40000, 100000, 30000)
    """

    __slots__ = ("_limits", "version")

    def __init__(self, declared_limits: Mapping[str, float] | None = None) -> None:
        """Take the host's limits by tool name; ``math.inf`` exempts a tool.

        Raises:
            ConfigError: It is no mapping, a name is no text, or a limit is no positive number.
        """
        self.version = 0
        """Another number after each declaration that changed something."""
        self._limits: dict[str, float] = {}
        if declared_limits is not None:
            self._limits = named_limits(declared_limits, "declared_limits")

    def for_tool(self, name: str, unit: Unit = "chars") -> float:
        """Give the declared limit of a tool, ``math.inf`` if it is a reader.

        What the host has declared counts in the unit of its limits, whichever that is; ``unit``
        says which one a built-in limit is wanted in.
        """
        declared = self._limits.get(name)
        return built_in_declared_limit(name, unit) if declared is None else declared

    def copy(self) -> DeclaredLimits:
        """Give an equal object that goes on separately."""
        return DeclaredLimits(self._limits)

    def declare(self, name: str, declared_limit: float) -> float:
        """Remember what a tool declares, and give it back as a plain number.

        Raises:
            ConfigError: The limit is no positive number.
        """
        number = positive_number(declared_limit, "declared_limit")
        if self._limits.get(name) != number:
            self._limits[name] = number
            self.version += 1
        return number
