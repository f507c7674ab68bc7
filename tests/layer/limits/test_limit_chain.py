import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget.limits import (
    BUILT_IN_DECLARED_LIMITS,
    DEFAULT_DECLARED_LIMIT_CHARS,
    DEFAULT_MAX_RESULT_SIZE_CHARS,
    MAX_TOOL_RESULTS_PER_MESSAGE_CHARS,
    PREVIEW_SIZE_BYTES,
    Limits,
    Overrides,
    built_in_declared_limit,
)

NAMES = ("Bash", "Read", "WebFetch")
FINITE = st.one_of(st.integers(1, 10**6), st.floats(0.5, 1e6))
POSITIVE = st.one_of(FINITE, st.just(math.inf))


def chain(
    *,
    own: float | None,
    declared: float,
    override: float | None,
    max_result_chars: float,
) -> float:
    """Say L3 a second time, as the list of rules that it is."""
    rules = (
        (own is not None, own),
        (math.isinf(declared), math.inf),
        (override is not None, override),
        (math.isinf(max_result_chars), math.inf),
        (declared <= max_result_chars, declared),
        (True, max_result_chars),
    )
    limit = next(value for applies, value in rules if applies)
    assert limit is not None
    return limit


def test_constants() -> None:
    """The defaults are the numbers of L1."""
    assert DEFAULT_MAX_RESULT_SIZE_CHARS == 50_000
    assert MAX_TOOL_RESULTS_PER_MESSAGE_CHARS == 200_000
    assert PREVIEW_SIZE_BYTES == 2_000


def test_limits_start_from_the_constants() -> None:
    """A Limits object without arguments has the documented defaults."""
    limits = Limits()
    assert (limits.max_result_chars, limits.max_message_chars) == (50_000, 200_000)
    assert (limits.preview_bytes, limits.preview_style) == (2_000, "head")
    assert (limits.accounting, limits.reader_hint) == ("visible", None)
    assert (limits.tools, limits.overrides) == ({}, None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Bash", 30_000),
        ("bash", 30_000),
        ("Grep", 20_000),
        ("grep", 20_000),
        ("Read", math.inf),
        ("read_file", math.inf),
        ("read_result", math.inf),
        ("search_results", math.inf),
        ("WebFetch", 100_000),
        ("BASH", 100_000),
        ("", 100_000),
    ],
)
def test_built_in_declared_limits(name: str, expected: float) -> None:
    """Each tool of L2 has its limit, and every other name the common one."""
    assert built_in_declared_limit(name) == expected


def test_built_in_limits_are_read_only() -> None:
    """No host can change the built-in limits of another one in the same process."""
    with pytest.raises(TypeError):
        BUILT_IN_DECLARED_LIMITS["Bash"] = 1  # type: ignore[index]
    assert DEFAULT_DECLARED_LIMIT_CHARS == 100_000


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Bash", 30_000), ("Grep", 20_000), ("Read", math.inf), ("WebFetch", 50_000)],
)
def test_default_limit_of_a_result(name: str, expected: float) -> None:
    """By default the smaller of the declared limit and 50,000 counts, and readers are infinite."""
    assert Limits().for_tool(name) == expected


def test_own_limit_goes_before_all_other_rules() -> None:
    """What the user sets for a tool counts as it is, larger, smaller, or ending an exemption."""
    limits = Limits(
        max_result_chars=10,
        tools={"Bash": 1_000_000, "Read": 60_000, "WebFetch": math.inf},
        overrides={"tools": {"Bash": 5, "Read": 5, "WebFetch": 5}},
    )
    assert limits.for_tool("Bash") == 1_000_000
    assert limits.for_tool("Read") == 60_000
    assert limits.for_tool("WebFetch") == math.inf


def test_declared_infinite_goes_before_an_override() -> None:
    """An override cannot end the exemption of a reader."""
    limits = Limits(overrides={"tools": {"Read": 5, "MyReader": 5}})
    assert limits.for_tool("Read") == math.inf
    assert limits.for_tool("MyReader", math.inf) == math.inf


def test_override_counts_as_it_is() -> None:
    """A valid override is bounded by neither the declared limit nor the common one."""
    limits = Limits(overrides={"tools": {"Bash": 90_000, "WebFetch": 7}})
    assert limits.for_tool("Bash") == 90_000
    assert limits.for_tool("WebFetch") == 7


def test_infinite_common_limit_passes_what_nothing_names() -> None:
    """With an infinite max_result_chars only named tools are limited."""
    limits = Limits(
        max_result_chars=math.inf, tools={"Grep": 9}, overrides={"tools": {"WebFetch": 8}}
    )
    assert limits.for_tool("Bash") == math.inf
    assert limits.for_tool("Bash", 10) == math.inf
    assert limits.for_tool("Grep") == 9
    assert limits.for_tool("WebFetch") == 8


def test_infinite_common_limit_exempts_nothing() -> None:
    """The aggregate limit still sees every tool when the per-result limit is off."""
    limits = Limits(max_result_chars=math.inf)
    assert not limits.is_exempt("Bash")
    assert limits.is_exempt("Read")


@pytest.mark.parametrize(
    ("tools", "name", "declared", "expected"),
    [
        ({}, "Read", None, True),
        ({}, "Bash", None, False),
        ({}, "Bash", math.inf, True),
        ({}, "Read", 100_000, False),
        ({"Read": 100_000}, "Read", None, False),
        ({"Bash": 100_000}, "Bash", math.inf, False),
        ({"Bash": math.inf}, "Bash", None, True),
        ({"Bash": math.inf}, "Bash", 10, True),
    ],
)
def test_exemption(
    tools: Mapping[str, float], name: str, declared: float | None, *, expected: bool
) -> None:
    """A tool is exempt by the user's infinite limit, or by a declared one that the user leaves."""
    assert Limits(tools=tools).is_exempt(name, declared) is expected


def test_overrides_make_and_end_no_exemption() -> None:
    """Exemption follows from what user and host say, not from remote flags."""
    limits = Limits(overrides={"tools": {"Read": 5, "Bash": math.inf}})
    assert limits.is_exempt("Read")
    assert not limits.is_exempt("Bash")


def test_message_limit() -> None:
    """The aggregate limit is the user's, infinite to switch it off, unless an override is valid."""
    assert Limits().message_limit() == 200_000
    assert Limits(max_message_chars=math.inf).message_limit() == math.inf
    assert Limits(max_message_chars=math.inf, overrides={"message": 7}).message_limit() == 7
    assert Limits(max_message_chars=9, overrides={"message": math.inf}).message_limit() == 9


def test_given_snapshot_is_used_instead_of_the_provider() -> None:
    """A call that has read the provider once decides everything by what it read then."""
    limits = Limits(overrides={"tools": {"Bash": 1}, "message": 1})
    snapshot = Overrides()
    assert limits.for_tool("Bash", overrides=snapshot) == 30_000
    assert limits.message_limit(snapshot) == 200_000


@given(
    name=st.sampled_from(NAMES),
    tools=st.dictionaries(st.sampled_from(NAMES), POSITIVE),
    declared=st.none() | POSITIVE,
    overrides=st.dictionaries(st.sampled_from(NAMES), FINITE),
    max_result_chars=POSITIVE,
)
def test_chain_equals_the_list_of_rules(
    name: str,
    tools: dict[str, float],
    declared: float | None,
    overrides: dict[str, float],
    max_result_chars: float,
) -> None:
    """For every combination the first rule of L3 that matches decides."""
    limits = Limits(max_result_chars=max_result_chars, tools=tools, overrides={"tools": overrides})
    expected = chain(
        own=tools.get(name),
        declared=built_in_declared_limit(name) if declared is None else declared,
        override=overrides.get(name),
        max_result_chars=max_result_chars,
    )
    assert limits.for_tool(name, declared) == expected


@given(
    name=st.sampled_from(NAMES),
    tools=st.dictionaries(st.sampled_from(NAMES), POSITIVE),
    declared=st.none() | POSITIVE,
    overrides=st.dictionaries(st.sampled_from(NAMES), FINITE),
)
def test_exempt_results_pass_the_gate(
    name: str,
    tools: dict[str, float],
    declared: float | None,
    overrides: dict[str, float],
) -> None:
    """With a finite common limit exempt and infinite are the same, whatever the overrides say."""
    limits = Limits(tools=tools, overrides={"tools": overrides})
    assert limits.is_exempt(name, declared) == math.isinf(limits.for_tool(name, declared))
