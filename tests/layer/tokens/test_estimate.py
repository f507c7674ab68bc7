from __future__ import annotations

import pytest

from tests.strategies import Text
from toolbudget.errors import ConfigError
from toolbudget.tokens import estimate_tokens


def test_nothing_is_no_token() -> None:
    """Only what has no characters, or is a single blank, is no token."""
    assert estimate_tokens("") == 0
    assert all(estimate_tokens(chr(code)) > 0 for code in range(0x3000) if chr(code) not in " \t")


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        pytest.param(25 * "\u4f60\u597d\u4e16\u754c", 60, 200, id="chinese"),
        pytest.param("The quick brown fox jumps over the lazy dog.", 8, 13, id="english"),
        pytest.param(100 * "\U0001f600", 200, 400, id="emoji"),
        pytest.param(100 * "a", 10, 30, id="one letter"),
        pytest.param(50_000 * " ", 390, 1_000, id="blanks"),
    ],
)
def test_scripts_weigh_differently(text: str, least: int, most: int) -> None:
    """TOKENS 34: scripts other than Latin are not a quarter of their characters."""
    assert least <= estimate_tokens(text) <= most


def test_a_subclass_counts_as_the_text_it_holds() -> None:
    """Overridden methods take no part."""
    assert estimate_tokens(Text("some words")) == estimate_tokens("some words")


@pytest.mark.parametrize("value", [None, b"bytes", 7, ["text"]])
def test_what_is_no_text_is_refused(value: object) -> None:
    """The error names the value."""
    with pytest.raises(ConfigError, match=r"text .*: .*"):
        estimate_tokens(value)  # type: ignore[arg-type]
