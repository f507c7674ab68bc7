import enum
import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget.errors import ConfigError, ToolBudgetError
from toolbudget.limits import Limits

HUGE = 10**400  # beyond any float
STYLES = "'head' or 'head_tail' or 'salient' or 'json' or 'outline' or 'auto'"
CHARACTER_LIMITS = ("max_result_chars", "max_message_chars")


def limits_with(**arguments: object) -> Limits:
    """Make limits of arguments whose types may be wrong."""
    untyped: dict[str, Any] = arguments
    return Limits(**untyped)


class Size(enum.IntEnum):
    """An int that is more than an int."""

    SMALL = 1_000


BAD_NUMBERS = [
    pytest.param(0, "0", id="zero"),
    pytest.param(0.0, "0.0", id="zero-float"),
    pytest.param(-0.0, "-0.0", id="minus-zero"),
    pytest.param(-1, "-1", id="negative"),
    pytest.param(-0.5, "-0.5", id="negative-float"),
    pytest.param(math.nan, "nan", id="nan"),
    pytest.param(-math.inf, "-inf", id="minus-infinite"),
    pytest.param(None, "None", id="none"),
    pytest.param(True, "True", id="true"),
    pytest.param(False, "False", id="false"),
    pytest.param("50", "'50'", id="text"),
    pytest.param("off", "'off'", id="off"),
    pytest.param(b"50", "b'50'", id="bytes"),
    pytest.param([50], "[50]", id="list"),
    pytest.param(50j, "50j", id="complex"),
    pytest.param(Decimal(50), "Decimal('50')", id="decimal"),
    pytest.param(np.float64(math.nan), "np.float64(nan)", id="numpy-nan"),
    pytest.param(np.int64(-1), "np.int64(-1)", id="numpy-negative"),
    pytest.param(np.True_, "np.True_", id="numpy-bool"),
    pytest.param(Fraction(HUGE * 10 + 1, 10), None, id="fraction-beyond-float"),
    pytest.param(-HUGE, None, id="huge-negative"),
    pytest.param(-(10**5_000), "<int>", id="int-beyond-display"),
]


@pytest.mark.parametrize("field", CHARACTER_LIMITS)
@pytest.mark.parametrize(("value", "shown"), BAD_NUMBERS)
def test_unusable_limit_is_refused(field: str, value: object, shown: str | None) -> None:
    """A limit that means nothing is an error that names field, source and value."""
    with pytest.raises(ConfigError) as caught:
        limits_with(**{field: value})
    message = str(caught.value)
    assert message.startswith(f"{field} (argument) must be a positive number: ")
    if shown is not None:
        assert message == f"{field} (argument) must be a positive number: {shown}"


@pytest.mark.parametrize(("value", "shown"), BAD_NUMBERS)
def test_unusable_tool_limit_is_refused(value: object, shown: str | None) -> None:
    """The error about one tool's limit names that tool."""
    with pytest.raises(ConfigError) as caught:
        limits_with(tools={"Grep": 5, "Bash": value})
    message = str(caught.value)
    assert message.startswith("tools['Bash'] (argument) must be a positive number: ")
    if shown is not None:
        assert message.endswith(f": {shown}")


def test_error_is_a_value_error_of_ours() -> None:
    """Both a caller who knows the library and one who does not can catch the error."""
    with pytest.raises(ValueError, match="max_result_chars") as caught:
        Limits(max_result_chars=0)
    assert isinstance(caught.value, ToolBudgetError)


@pytest.mark.parametrize("field", CHARACTER_LIMITS)
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(1, 1, id="one"),
        pytest.param(0.5, 0.5, id="below-one"),
        pytest.param(math.inf, math.inf, id="infinite"),
        pytest.param(HUGE, HUGE, id="huge"),
        pytest.param(Size.SMALL, 1_000, id="int-enum"),
        pytest.param(Fraction(5, 2), 2.5, id="fraction"),
        pytest.param(np.int64(7), 7, id="numpy-int"),
        pytest.param(np.uint8(7), 7, id="numpy-byte"),
        pytest.param(np.float32(7.5), 7.5, id="numpy-float"),
        pytest.param(np.float64(math.inf), math.inf, id="numpy-infinite"),
    ],
)
def test_real_numbers_are_kept_plain(field: str, value: object, expected: float) -> None:
    """Every real number above 0 is taken, and leaves its own type behind."""
    kept = getattr(limits_with(**{field: value}), field)
    assert kept == expected
    assert type(kept) is type(expected)


def test_number_of_a_wider_type_does_not_become_infinite() -> None:
    """A finite long double beyond float is refused, because infinite would switch the limit off."""
    wide = np.longdouble("1e4000")
    if not np.isfinite(wide):
        pytest.skip("long double is no wider than float here")
    with pytest.raises(ConfigError, match="max_result_chars"):
        limits_with(max_result_chars=wide)


def test_huge_limits_decide() -> None:
    """An int that no float can hold works as a limit in every place."""
    limits = Limits(
        max_result_chars=HUGE,
        max_message_chars=HUGE,
        tools={"Bash": HUGE},
        overrides={"tools": {"Grep": HUGE}, "message": HUGE + 1},
    )
    assert limits.for_tool("Bash") == HUGE
    assert limits.for_tool("Grep") == HUGE
    assert limits.for_tool("WebFetch", HUGE + 1) == HUGE
    assert limits.for_tool("WebFetch") == 100_000
    assert limits.message_limit() == HUGE + 1
    assert not limits.is_exempt("Bash")


@given(st.one_of(st.integers(), st.floats(), st.fractions()))
def test_positive_numbers_and_only_they_are_taken(value: float | Fraction) -> None:
    """Among real numbers exactly those above 0 make a limit, with their value."""
    if value > 0:
        expected = value if isinstance(value, int) else float(value)
        assert limits_with(max_message_chars=value).max_message_chars == expected
    else:
        with pytest.raises(ConfigError):
            limits_with(max_message_chars=value)


@given(st.one_of(st.text(), st.binary(), st.booleans(), st.none(), st.lists(st.integers())))
def test_other_types_are_refused(value: object) -> None:
    """What is not a number is refused with a message on one line."""
    with pytest.raises(ConfigError) as caught:
        limits_with(max_result_chars=value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("value", [1, 2_000, 10**30, np.int32(5), Size.SMALL])
def test_preview_bytes_are_whole(value: object) -> None:
    """A whole number of at least 1 is taken, and kept as a plain int."""
    kept = limits_with(preview_bytes=value).preview_bytes
    assert kept == value
    assert type(kept) is int


@pytest.mark.parametrize(
    "value", [0, -1, 2_000.0, 0.5, math.inf, math.nan, None, True, "2000", np.float64(5)]
)
def test_unusable_preview_bytes_are_refused(value: object) -> None:
    """Anything but a whole number of at least 1 is refused."""
    expected = f"preview_bytes (argument) must be a whole number of at least 1: {value!r}"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        limits_with(preview_bytes=value)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("accounting", "all", "must be 'visible' or 'originals': 'all'"),
        ("accounting", None, "must be 'visible' or 'originals': None"),
        ("accounting", True, "must be 'visible' or 'originals': True"),
        ("preview_style", "tail", f"must be {STYLES}: 'tail'"),
        ("preview_style", "HEAD", f"must be {STYLES}: 'HEAD'"),
        ("preview_style", ["head"], f"must be {STYLES}: ['head']"),
    ],
)
def test_unknown_choice_is_refused(field: str, value: object, expected: str) -> None:
    """A word that is no choice is refused with the choices there are."""
    with pytest.raises(ConfigError) as caught:
        limits_with(**{field: value})
    assert str(caught.value) == f"{field} (argument) {expected}"


def test_choices_are_taken() -> None:
    """Every documented choice is usable."""
    assert Limits(accounting="originals").accounting == "originals"
    assert Limits(accounting="visible", preview_style="head").preview_style == "head"


@pytest.mark.parametrize(
    "hint",
    ["Use my_read to see more", "x", "siehe `lies` \N{EM DASH} <b>", 500 * "\N{GRINNING FACE}"],
)
def test_reader_hint_is_kept(hint: str) -> None:
    """One line of text is taken as it is."""
    assert Limits(reader_hint=hint).reader_hint == hint


@pytest.mark.parametrize(
    ("hint", "requirement"),
    [
        ("", "one line of text"),
        (" \t", "one line of text"),
        ("a\nb", "one line of text"),
        ("a\n", "one line of text"),
        ("a\r\nb", "one line of text"),
        ("a\x0bb", "one line of text"),
        ("a\x85b", "one line of text"),
        ("a\u2028b", "one line of text"),
        (5, "one line of text"),
        (b"a", "one line of text"),
        ("a\0b", "free of NUL and lone surrogates"),
        ("a\ud800b", "free of NUL and lone surrogates"),
        ("a" + chr(0xDFFF), "free of NUL and lone surrogates"),
        ("</persisted-output>", "free of <persisted-output> tags"),
        ("see <Persisted-OUTPUT x", "free of <persisted-output> tags"),
    ],
)
def test_unusable_reader_hint_is_refused(hint: object, requirement: str) -> None:
    """A hint that would break the frame of a replacement, or shows nothing, is refused."""
    expected = f"reader_hint (argument) must be {requirement}: {hint!r}"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        limits_with(reader_hint=hint)


@pytest.mark.parametrize("hint", [501 * "x", "Use my_read" + 100_000 * " or your_read"])
def test_a_hint_that_is_a_text_is_refused(hint: str) -> None:
    """It stands in every replacement for good: one longer than all else there is a mistake."""
    expected = f"reader_hint (argument) must be at most 500 characters, not {len(hint)}: "
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}") as caught:
        limits_with(reader_hint=hint)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [None, 5, "Bash", [("Bash", 5)], {"Bash"}])
def test_tools_must_be_a_mapping(value: object) -> None:
    """What is no mapping is refused, even if a dict could be made of it."""
    expected = f"tools (argument) must be a mapping of tool names to limits: {value!r}"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        limits_with(tools=value)


def test_tool_names_must_be_text() -> None:
    """A key that can match no tool is refused instead of being ignored."""
    with pytest.raises(ConfigError, match=r"^tools \(argument\) .* text as keys: 5$"):
        limits_with(tools={5: 10})


@pytest.mark.parametrize("value", [5, "flags", [], True])
def test_overrides_must_be_a_provider(value: object) -> None:
    """What can never give an override is refused at once."""
    expected = f"overrides (argument) must be a mapping or a callable: {value!r}"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        limits_with(overrides=value)


def test_async_provider_is_refused() -> None:
    """A provider that nobody would await is an error at once, not one that never counts."""

    async def flags() -> dict[str, object]:
        raise AssertionError

    with pytest.raises(ConfigError, match=r"^overrides \(argument\) must be .* not async: "):
        limits_with(overrides=flags)


def test_message_stays_short() -> None:
    """A huge value does not make a huge message."""
    with pytest.raises(ConfigError) as caught:
        limits_with(max_result_chars="x" * 1_000_000)
    assert len(str(caught.value)) < 300


def test_unknown_argument_is_a_type_error() -> None:
    """A misspelt option is refused as Python refuses it."""
    with pytest.raises(TypeError, match="max_results_chars"):
        limits_with(max_results_chars=5)


@pytest.mark.parametrize("declared", [0, -1, math.nan, True, "5"])
def test_unusable_declared_limit_is_refused(declared: object) -> None:
    """A host's declared limit is checked where it is given."""
    untyped: Any = declared
    expected = f"declared (argument) must be a positive number: {declared!r}"
    pattern = f"^{re.escape(expected)}$"
    with pytest.raises(ConfigError, match=pattern):
        Limits().for_tool("Bash", untyped)
    with pytest.raises(ConfigError, match=pattern):
        Limits().is_exempt("Bash", untyped)
