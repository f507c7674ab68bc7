from __future__ import annotations

import copy
import math

import pytest

from toolbudget import Limits
from toolbudget.errors import ConfigError
from toolbudget.limits import DeclaredLimits


@pytest.mark.parametrize(
    ("unit", "result", "message", "declared"),
    [
        ("chars", 50_000, 200_000, {"Bash": 30_000, "grep": 20_000, "Fetch": 100_000}),
        ("tokens", 12_500, 50_000, {"Bash": 7_500, "grep": 5_000, "Fetch": 25_000}),
        ("bytes", 50_000, 200_000, {"Bash": 30_000, "grep": 20_000, "Fetch": 100_000}),
    ],
)
def test_defaults_by_unit(unit: str, result: int, message: int, declared: dict[str, float]) -> None:
    """L7: the defaults of each unit; built-in declared limits are divided by 4 for tokens."""
    limits = Limits(unit=unit)  # type: ignore[arg-type]
    assert (limits.max_result_chars, limits.max_message_chars) == (result, message)
    assert type(limits.max_result_chars) is int
    for name, limit in declared.items():
        assert limits.for_tool(name) == min(limit, result)
        assert DeclaredLimits().for_tool(name, limits.unit) == limit
    assert limits.for_tool("Read") == math.inf
    assert limits.is_exempt("Read")


def test_a_number_that_is_given_counts_as_it_is() -> None:
    """What a host sets is in the unit, also if it is the number of the default."""
    limits = Limits(unit="tokens", max_result_chars=50_000, tools={"Bash": 40_000})
    assert (limits.max_result_chars, limits.max_message_chars) == (50_000, 50_000)
    assert (limits.for_tool("Bash"), limits.for_tool("Fetch", 45_000)) == (40_000, 45_000)


def test_the_environment_is_in_the_unit() -> None:
    """A variable is a number of the unit; one that is not set leaves the default of the unit."""
    limits = Limits.from_environment({"TOOLBUDGET_MAX_RESULT_CHARS": "9000"}, unit="tokens")
    assert (limits.max_result_chars, limits.max_message_chars) == (9_000, 50_000)


def test_copies_keep_the_unit() -> None:
    """Copies have the same numbers."""
    limits = Limits(unit="tokens")
    assert copy.copy(limits) == copy.deepcopy(limits) == limits
    assert limits != Limits(unit="chars", max_result_chars=12_500, max_message_chars=50_000)


@pytest.mark.parametrize("value", ["words", "", None, 1, "Tokens"])
def test_an_unknown_unit_is_refused(value: object) -> None:
    """The error names the field and the value."""
    with pytest.raises(ConfigError, match=r"unit \(argument\) must be 'chars' or 'tokens' or"):
        Limits(unit=value)  # type: ignore[arg-type]
