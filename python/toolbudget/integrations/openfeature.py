"""Limits that change at run time, from whatever flag service speaks OpenFeature.

Needs the extra ``flags``. OpenFeature is the standard for such services: GrowthBook, LaunchDarkly,
flagd, ConfigCat and others have providers for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

try:
    from openfeature.exception import ErrorCode
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"limits from a flag service need the packages of the extra 'flags', which are not "
        f"installed (pip install 'toolbudget[flags]'): {error.name!r}",
        name=error.name,
    ) from error

if TYPE_CHECKING:
    from collections.abc import Callable

    from openfeature.client import OpenFeatureClient
    from openfeature.evaluation_context import EvaluationContext

__all__ = ["DEFAULT_FLAG", "openfeature_overrides"]

DEFAULT_FLAG: Final = "toolbudget-limits"
"""The flag that is asked for: an object ``{"tools": {name: limit}, "message": limit}``."""


def openfeature_overrides(
    client: OpenFeatureClient,
    *,
    flag: str = DEFAULT_FLAG,
    context: EvaluationContext | Callable[[], EvaluationContext] | None = None,
) -> Callable[[], Mapping[str, object]]:
    """Make a provider of overrides for ``Limits`` that asks a flag service once per call.

    A flag that does not exist overrides nothing. If the service fails, nothing is overridden
    either, and that is logged once; values that cannot be limits are ignored one by one.

    Args:
        client: The host's client.
        flag: The key of an object flag.
        context: What the service may decide by, such as the user; a callable is asked each time.

    Returns:
        What ``Limits(overrides=…)`` takes.

    Example:
        >>> from openfeature import api
        >>> from openfeature.provider.in_memory_provider import InMemoryFlag, InMemoryProvider
        >>> import toolbudget
        >>> flag = InMemoryFlag("low", {"low": {"message": 90_000, "tools": {"Bash": 9_000}}})
        >>> api.set_provider(InMemoryProvider({"toolbudget-limits": flag}))
        >>> limits = toolbudget.Limits(overrides=openfeature_overrides(api.get_client()))
        >>> limits.message_limit(), limits.for_tool("Bash"), limits.for_tool("Fetch")
        (90000, 9000, 50000)
    """

    def read() -> Mapping[str, object]:
        asked = context() if callable(context) else context
        found = client.get_object_details(flag, {}, asked)
        if found.error_code is ErrorCode.FLAG_NOT_FOUND:
            return {}
        if found.error_code is not None:
            raise LookupError(f"flag {flag!r}: {found.error_code.value}: {found.error_message}")
        if not isinstance(found.value, Mapping):
            raise TypeError(f"flag {flag!r} is no object: {found.value!r:.80}")
        return found.value

    return read
