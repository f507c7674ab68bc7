"""Limits that come from outside at run time, such as remote flags (L4).

They are the opposite of what a user sets: nobody is there to see an exception, so a value that
cannot be used is ignored, the next rule decides, and one line is logged.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolbudget._display import shown
from toolbudget.limits.tool_limits import NO_TOOL_LIMITS, ToolLimits
from toolbudget.limits.validation import ARGUMENT, config_error

__all__ = ["NO_OVERRIDES", "OverrideProvider", "OverrideReader", "Overrides"]

OverrideProvider: TypeAlias = Mapping[str, object] | Callable[[], Mapping[str, object]]

# A provider whose bad values differ at every call must not fill the memory or the log.
_MAX_LOGGED: Final = 1_000
_logger = logging.getLogger("toolbudget")


@dataclass(frozen=True, slots=True)
class Overrides:
    """The overrides that counted when the provider was read: a snapshot for one call.

    Attributes:
        tools: Limits by tool name, in the unit of the ``Limits``; each finite and above 0.
        message: The aggregate limit in that unit, or ``None`` if there is no valid override.

    Example:
        >>> from toolbudget.limits import Limits
        >>> limits = Limits(overrides={"tools": {"Bash": 9_000, "Grep": -1}})
        >>> limits.read_overrides()
        Overrides(tools={'Bash': 9000}, message=None)
    """

    tools: Mapping[str, float] = NO_TOOL_LIMITS
    message: float | None = None


NO_OVERRIDES: Final = Overrides()


class OverrideReader:
    """Reads one provider, and remembers what it has logged about it."""

    __slots__ = ("_logged", "_provider")

    def __init__(self, provider: OverrideProvider | None) -> None:
        """Keep the provider, not a copy: a mapping may change from call to call.

        Raises:
            ConfigError: It is neither a mapping nor a callable, or it is an async function.
        """
        if not (provider is None or isinstance(provider, Mapping) or callable(provider)):
            raise config_error("overrides", ARGUMENT, "a mapping or a callable", provider)
        if inspect.iscoroutinefunction(provider):
            raise config_error("overrides", ARGUMENT, "a callable that is not async", provider)
        self._provider = provider
        self._logged: dict[tuple[str, str], object] = {}

    def read(self) -> Overrides:
        """Ask the provider once; what it gives that cannot be used is left out and logged once."""
        if self._provider is None:
            return NO_OVERRIDES
        message: float | None = None
        tools: dict[str, float] = {}
        for key, value in self._provided(self._provider).items():
            if key == "message":
                message = self._number(value, "overrides['message']")
            elif key == "tools":
                tools = self._tools(value)
            else:
                self._ignore("entry of overrides", "only 'tools' and 'message' are read", key)
        return Overrides(ToolLimits(tools), message)

    def _provided(self, provider: OverrideProvider) -> dict[object, object]:
        try:
            provided = provider if isinstance(provider, Mapping) else provider()
        except Exception as error:  # noqa: BLE001 - foreign code, whose fault must not end the host
            self._ignore("overrides", "the provider failed", error)
            return {}
        return self._copied(provided, "overrides")

    def _tools(self, value: object) -> dict[str, float]:
        tools: dict[str, float] = {}
        for name, limit in self._copied(value, "overrides['tools']").items():
            if not isinstance(name, str):
                self._ignore("entry of overrides['tools']", "its key is not text", name)
                continue
            number = self._number(limit, f"overrides['tools'][{shown(name)}]")
            if number is not None:
                tools[name] = number
        return tools

    def _copied(self, value: object, field: str) -> dict[object, object]:
        """Copy a mapping, so that one that changes meanwhile is read only once."""
        if not isinstance(value, Mapping):
            self._ignore(field, "it is not a mapping", value)
            return {}
        try:
            return dict(value)
        except Exception as error:  # noqa: BLE001 - foreign code, whose fault must not end the host
            self._ignore(field, "it cannot be read", error)
            return {}

    def _number(self, value: object, field: str) -> float | None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            # The plain number, whatever operators a subclass has.
            number = int.__pos__(value) if isinstance(value, int) else float.__pos__(value)
            if 0 < number < math.inf:
                return number
        self._ignore(field, "it is not a finite positive int or float", value)
        return None

    def _ignore(self, field: str, reason: str, value: object) -> None:
        text = shown(value)
        if len(self._logged) >= _MAX_LOGGED:
            return
        # One atomic step, so that of two threads only one logs.
        token = object()
        if self._logged.setdefault((field, text), token) is token:
            traceback = value if isinstance(value, Exception) else None
            _logger.warning("%s ignored, %s: %s", field, reason, text, exc_info=traceback)
