"""A read-only mapping of tool names to limits that can be hashed, pickled and copied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

__all__ = ["NO_TOOL_LIMITS", "ToolLimits"]


class ToolLimits(Mapping[str, float]):
    """Limits by tool name: equal to any mapping with the same items, and never changed.

    ``types.MappingProxyType`` would do, if it could be hashed, copied and pickled.

    Example:
        >>> from toolbudget.limits import Limits
        >>> tools = Limits(tools={"Bash": 10_000}).tools
        >>> tools == {"Bash": 10_000}, hash(tools) == hash(Limits(tools=tools).tools)
        (True, True)
    """

    __slots__ = ("_limits",)

    def __init__(self, limits: Mapping[str, float]) -> None:
        """Copy ``limits``, whose names and values the caller has checked."""
        self._limits = dict(limits)

    def __getitem__(self, name: str) -> float:
        """Give the limit of the tool, or raise ``KeyError``."""
        return self._limits[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order in which they were given."""
        return iter(self._limits)

    def __len__(self) -> int:
        """Count the tools."""
        return len(self._limits)

    def __hash__(self) -> int:
        """Hash the items, whatever their order."""
        return hash(frozenset(self._limits.items()))

    def __repr__(self) -> str:
        """Show the items as a dict shows them."""
        return repr(self._limits)


NO_TOOL_LIMITS: Final = ToolLimits({})
