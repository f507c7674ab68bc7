import math
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget.errors import ConfigError
from toolbudget.limits import Limits, durability_from_environment

RESULT = "TOOLBUDGET_MAX_RESULT_CHARS"
MESSAGE = "TOOLBUDGET_MAX_MESSAGE_CHARS"
PREVIEW = "TOOLBUDGET_PREVIEW_BYTES"
STYLE = "TOOLBUDGET_PREVIEW_STYLE"
STYLES = "'head' or 'head_tail' or 'salient' or 'json' or 'outline' or 'auto'"
DURABILITY = "TOOLBUDGET_DURABILITY"
FIELDS = {
    RESULT: "max_result_chars",
    MESSAGE: "max_message_chars",
    PREVIEW: "preview_bytes",
    STYLE: "preview_style",
}


def test_unset_variables_leave_the_defaults() -> None:
    """An environment that says nothing gives the same limits as no arguments."""
    assert Limits.from_environment({"PATH": "/bin"}) == Limits()


def test_every_variable_counts() -> None:
    """No variable is read and then ignored."""
    environ = {RESULT: "1000", MESSAGE: "2000", PREVIEW: "300", STYLE: "head"}
    expected = Limits(
        max_result_chars=1_000, max_message_chars=2_000, preview_bytes=300, preview_style="head"
    )
    assert Limits.from_environment(environ) == expected


def test_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a mapping the variables of the process count, as they are at the call."""
    monkeypatch.setenv(RESULT, "1234")
    assert Limits.from_environment().max_result_chars == 1_234
    monkeypatch.delenv(RESULT)
    assert Limits.from_environment().max_result_chars == 50_000


def test_constructor_reads_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits made by hand do not depend on where they are made."""
    monkeypatch.setenv(RESULT, "abc")
    assert Limits().max_result_chars == 50_000


@pytest.mark.parametrize("variable", [RESULT, MESSAGE])
@pytest.mark.parametrize("text", ["off", "OFF", "Off", " off", "oFf\t\n"])
def test_off_makes_a_limit_infinite(variable: str, text: str) -> None:
    """The word off, in any case and with blanks around, switches either limit off."""
    limits = Limits.from_environment({variable: text})
    assert getattr(limits, FIELDS[variable]) == math.inf


@pytest.mark.parametrize("variable", [RESULT, MESSAGE])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50000", 50_000),
        ("50_000", 50_000),
        ("+50000", 50_000),
        ("050000", 50_000),
        (" 50000\n", 50_000),
        ("1e5", 100_000),
        ("1E5", 100_000),
        ("1e+5", 100_000),
        ("2.5e4", 25_000),
        ("50000.0", 50_000),
        ("0.5", 0.5),
        ("1_0.2_5", 10.25),
        ("5e-1", 0.5),
    ],
)
def test_number_forms(variable: str, text: str, expected: float) -> None:
    """Decimal numbers are read as Python reads them; whole ones become ints."""
    kept = getattr(Limits.from_environment({variable: text}), FIELDS[variable])
    assert kept == expected
    assert type(kept) is type(expected)


@pytest.mark.parametrize("variable", [RESULT, MESSAGE])
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0",
        "0.0",
        "-1",
        "-off",
        "abc",
        "nan",
        "inf",
        "infinity",
        "-inf",
        "none",
        "true",
        "false",
        "on",
        "unlimited",
        "50k",
        "50 000",
        "50,000",
        "50.000,0",
        "5_",
        "_5",
        "5__0",
        "1.",
        ".5",
        "1e",
        "1e5.0",
        "0x10",
        "0b1",
        "\u0665\u0660",
        "\uff15\uff10",
        "1e400",
        "1e-400",
        "50000 # characters",
        "'50000'",
        "9" * 5_000,
    ],
)
def test_unusable_text_is_refused(variable: str, text: str) -> None:
    """Text that is neither a number above 0 nor off is an error that names the variable."""
    with pytest.raises(ConfigError) as caught:
        Limits.from_environment({variable: text})
    message = str(caught.value)
    start = f"{FIELDS[variable]} ({variable}) must be a positive number or 'off': "
    assert message.startswith(start)
    assert len(text) > 100 or message == start + repr(text)


@pytest.mark.parametrize(("text", "expected"), [("1", 1), ("2_000", 2_000), ("2e3", 2_000)])
def test_preview_bytes(text: str, expected: int) -> None:
    """A whole number in any form is read as preview size."""
    assert Limits.from_environment({PREVIEW: text}).preview_bytes == expected


@pytest.mark.parametrize("text", ["", "0", "-5", "0.5", "2000.5", "off", "2KB", "nan", "1e400"])
def test_unusable_preview_bytes_are_refused(text: str) -> None:
    """A preview cannot be switched off, and holds a whole number of bytes."""
    expected = f"preview_bytes ({PREVIEW}) must be a whole number of at least 1: {text!r}"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        Limits.from_environment({PREVIEW: text})


@pytest.mark.parametrize("text", ["head", "HEAD", " Head "])
def test_preview_style(text: str) -> None:
    """A style is a word, in any case and with blanks around."""
    assert Limits.from_environment({STYLE: text}).preview_style == "head"


@pytest.mark.parametrize("text", ["head", "head_tail", "salient", "json", "outline", "auto"])
def test_every_preview_style_can_be_had(text: str) -> None:
    """The environment and the argument know the same styles (P4)."""
    assert Limits.from_environment({STYLE: text}).preview_style == text


@pytest.mark.parametrize("text", ["", "off", "tail", "head tail"])
def test_unusable_preview_style_is_refused(text: str) -> None:
    """A style that is not known is an error that names the variable."""
    expected = f"preview_style ({STYLE}) must be {STYLES}: {text!r}"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        Limits.from_environment({STYLE: text})


def test_arguments_go_before_the_environment() -> None:
    """What the code says wins, field by field."""
    limits = Limits.from_environment(
        {RESULT: "1000", MESSAGE: "2000"}, max_result_chars=7, accounting="originals"
    )
    assert (limits.max_result_chars, limits.max_message_chars) == (7, 2_000)
    assert limits.accounting == "originals"


@pytest.mark.parametrize(
    ("variable", "value"), [(RESULT, 7), (MESSAGE, 7), (PREVIEW, 7), (STYLE, "head")]
)
def test_argument_hides_an_unusable_variable(variable: str, value: object) -> None:
    """A variable that does not count cannot fail."""
    arguments: dict[str, Any] = {FIELDS[variable]: value}
    limits = Limits.from_environment({variable: "abc"}, **arguments)
    assert getattr(limits, FIELDS[variable]) == value


def test_unusable_argument_is_named_as_argument() -> None:
    """A bad argument is not replaced by a good variable, and not blamed on it."""
    none: Any = None
    expected = "max_result_chars (argument) must be a positive number: None"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        Limits.from_environment({RESULT: "1000"}, max_result_chars=none)


def test_arguments_equal_to_defaults_still_count() -> None:
    """An argument that equals the default beats the environment, too."""
    limits = Limits.from_environment({RESULT: "1000"}, max_result_chars=50_000)
    assert limits.max_result_chars == 50_000


def test_subclass_makes_its_own_kind() -> None:
    """The environment makes the class it is asked of."""

    class HostLimits(Limits):
        """Limits of some host."""

    assert type(HostLimits.from_environment({})) is HostLimits


@given(st.decimals(min_value=0, max_value=10**30, allow_nan=False, places=3))
def test_plain_decimals_have_their_value(number: Decimal) -> None:
    """A decimal number is read to the float nearest to it, or refused if it is 0."""
    environ = {RESULT: f"{number:f}"}
    if number == 0:
        with pytest.raises(ConfigError):
            Limits.from_environment(environ)
    else:
        assert Limits.from_environment(environ).max_result_chars == float(number)


@given(st.integers(1))
def test_whole_numbers_are_exact(number: int) -> None:
    """A whole number of any length is read without rounding, with or without underscores."""
    assert Limits.from_environment({RESULT: str(number)}).max_result_chars == number
    assert Limits.from_environment({MESSAGE: f"{number:_}"}).max_message_chars == number


@given(st.text(st.characters(exclude_characters="\0")))
def test_text_is_a_positive_number_or_an_error(text: str) -> None:
    """Whatever a variable holds, the result is a usable limit or a ConfigError."""
    try:
        limits = Limits.from_environment({RESULT: text})
    except ConfigError:
        return
    assert limits.max_result_chars > 0


@pytest.mark.parametrize("word", ["full", "data", "process"])
def test_durability_is_read(word: str) -> None:
    """Each level can be asked for by argument and by variable."""
    assert durability_from_environment(environ={DURABILITY: f" {word.upper()} "}) == word
    level: Any = word
    assert durability_from_environment(level, environ={DURABILITY: "abc"}) == word


def test_durability_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results survive a power loss unless somebody asks for less."""
    assert durability_from_environment(environ={}) == "full"
    monkeypatch.setenv(DURABILITY, "data")
    assert durability_from_environment() == "data"


@pytest.mark.parametrize("text", ["", "off", "none", "0", "fsync"])
def test_unusable_durability_is_refused(text: str) -> None:
    """A level that is not known is an error that names where it came from."""
    choices = "'full' or 'data' or 'process'"
    expected = f"durability ({DURABILITY}) must be {choices}: {text!r}"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        durability_from_environment(environ={DURABILITY: text})
    level: Any = text
    expected = f"durability (argument) must be {choices}: {text!r}"
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}$"):
        durability_from_environment(level, environ={})
