import math
import re
from typing import Any

import pytest

from toolbudget.errors import ConfigError
from toolbudget.limits import DeclaredLimits


def test_built_in_limits_are_the_base() -> None:
    """Without declarations each tool has its built-in limit."""
    declared = DeclaredLimits()
    assert declared.for_tool("Bash") == 30_000
    assert declared.for_tool("Read") == math.inf
    assert declared.for_tool("WebFetch") == 100_000


def test_host_declarations_go_before_the_built_in_ones() -> None:
    """A host knows its tools better, both to limit a reader and to exempt another tool."""
    declared = DeclaredLimits({"Read": 100_000, "Query": math.inf})
    assert declared.for_tool("Read") == 100_000
    assert declared.for_tool("Query") == math.inf
    assert declared.for_tool("Bash") == 30_000


def test_later_declaration_is_remembered() -> None:
    """What a gate call declares counts for that tool from then on."""
    declared = DeclaredLimits({"Query": 5})
    assert declared.declare("Query", 7) == 7
    assert declared.for_tool("Query") == 7
    assert DeclaredLimits().for_tool("Query") == 100_000


def test_host_mapping_is_copied() -> None:
    """Neither side sees the other's later changes."""
    limits = {"Query": 5.0}
    declared = DeclaredLimits(limits)
    declared.declare("Query", 6)
    limits["Other"] = 7
    assert limits["Query"] == 5
    assert declared.for_tool("Other") == 100_000


@pytest.mark.parametrize("value", [0, -1, math.nan, None, True, "5"])
def test_unusable_declarations_are_refused(value: object) -> None:
    """A bad declaration is an error that names it, and nothing is remembered."""
    untyped: Any = value
    expected = f"declared_limits['Query'] (argument) must be a positive number: {value!r}"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        DeclaredLimits({"Query": untyped})
    declared = DeclaredLimits()
    expected = f"declared_limit (argument) must be a positive number: {value!r}"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        declared.declare("Query", untyped)
    assert declared.for_tool("Query") == 100_000


def test_declarations_must_be_a_mapping() -> None:
    """What is no mapping of names to limits is refused."""
    value: Any = ["Query"]
    with pytest.raises(ConfigError, match=r"^declared_limits \(argument\) must be a mapping"):
        DeclaredLimits(value)
