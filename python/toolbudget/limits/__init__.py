"""How large tool results may be: defaults, what a user sets, and what changes at run time.

Example:
    >>> from toolbudget.limits import Limits
    >>> Limits(tools={"Bash": 80_000}).for_tool("Bash")
    80000
"""

from __future__ import annotations

from toolbudget.limits.declared import DeclaredLimits
from toolbudget.limits.defaults import (
    BUILT_IN_DECLARED_LIMITS,
    DEFAULT_DECLARED_LIMIT_CHARS,
    DEFAULT_MAX_RESULT_SIZE_CHARS,
    MAX_TOOL_RESULTS_PER_MESSAGE_CHARS,
    PREVIEW_SIZE_BYTES,
    Unit,
    built_in_declared_limit,
)
from toolbudget.limits.effective import EffectiveSetting, effective_settings
from toolbudget.limits.environment import (
    Durability,
    PreviewStyle,
    durability_from_environment,
)
from toolbudget.limits.limits import Accounting, Limits, LimitsArguments
from toolbudget.limits.overrides import OverrideProvider, Overrides

__all__ = [
    "BUILT_IN_DECLARED_LIMITS",
    "DEFAULT_DECLARED_LIMIT_CHARS",
    "DEFAULT_MAX_RESULT_SIZE_CHARS",
    "MAX_TOOL_RESULTS_PER_MESSAGE_CHARS",
    "PREVIEW_SIZE_BYTES",
    "Accounting",
    "DeclaredLimits",
    "Durability",
    "EffectiveSetting",
    "Limits",
    "LimitsArguments",
    "OverrideProvider",
    "Overrides",
    "PreviewStyle",
    "Unit",
    "built_in_declared_limit",
    "durability_from_environment",
    "effective_settings",
]
