from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolbudget
from tests.builders import (
    replacement_of,
)
from tests.strategies import hostile_text
from toolbudget import (
    ConfigError,
)


@given(text=hostile_text(), preview_bytes=st.integers(0, 60))
def test_building_a_replacement(text: str, preview_bytes: int) -> None:
    """P1, P2, P3: every replacement equals a second reading of its shape."""
    path = "/results/t1.txt"
    expected = replacement_of(text, path, preview_bytes=preview_bytes)
    assert toolbudget.build_replacement(text, path, preview_bytes=preview_bytes) == expected


def test_the_shape_of_a_replacement() -> None:
    """P1: word by word."""
    text = 84_275 * "a"
    assert toolbudget.build_replacement(text, "/path/to/tool-results/toolu_01ABC.txt") == (
        "<persisted-output>\n"
        "Output too large (82.3KB). Full output saved to: "
        "/path/to/tool-results/toolu_01ABC.txt\n"
        "\n"
        "Preview (first 2KB):\n" + 2_000 * "a" + "\n"
        "...\n"
        "</persisted-output>"
    )


@pytest.mark.parametrize(
    ("preview_bytes", "label"),
    [(1, "1 bytes"), (1_000, "1000 bytes"), (1_024, "1KB"), (2_000, "2KB"), (1_536, "1.5KB")],
)
def test_the_label_says_the_limit(preview_bytes: int, label: str) -> None:
    """P2: of the step's bytes, not of the length that is shown."""
    text = toolbudget.build_replacement(9_000 * "a\n", "/t", preview_bytes=preview_bytes)
    assert f"\nPreview (first {label}):\n" in text


@pytest.mark.parametrize("style", ["tail", "", None, 7])
def test_an_unknown_style_is_refused(style: Any) -> None:  # noqa: ANN401 - bad on purpose
    """L5: a style that does not exist is an error that names it."""
    with pytest.raises(ConfigError, match=r"style \(argument\)"):
        toolbudget.build_replacement("text", "/t", style=style)


LOG = 900 * "test: ok\n" + "E   assert 1 == 2\n" + 98 * "test: ok\n"
TABLE = "id,name,size\n" + 900 * "7,a name,12\n"


@pytest.mark.parametrize(
    ("style", "text", "label"),
    [
        ("head", LOG, "first 500 bytes"),
        ("head_tail", LOG, "start and end, at most 500 bytes"),
        ("salient", LOG, "selected lines, at most 500 bytes"),
        ("auto", LOG, "selected lines, at most 500 bytes"),
        ("json", f"[{900 * '1, '}2]", "JSON in part, at most 500 bytes"),
        ("json", TABLE, "first and last rows, at most 500 bytes"),
        # Nothing to select, no JSON, no need to leave anything out: the beginning is what is shown.
        ("salient", 900 * "\n", "first 500 bytes"),
        ("json", LOG, "first 500 bytes"),
        ("salient", "short", "first 500 bytes"),
    ],
)
def test_the_label_says_what_is_shown(style: Any, text: str, label: str) -> None:  # noqa: ANN401 - a literal
    """P1, P4: a label never claims the beginning of a text where other parts are shown."""
    lines = toolbudget.build_replacement(text, "/t", preview_bytes=500, style=style).split("\n")
    assert f"Preview ({label}):" == lines[3]
    assert (lines[-2] == "...") is (text != "short")


@pytest.mark.parametrize("style", ["head_tail", "salient", "json", "auto"])
def test_without_a_preview_all_styles_are_alike(style: Any) -> None:  # noqa: ANN401 - a literal
    """P1: with a preview of 0 bytes there is no label."""
    expected = toolbudget.build_replacement(LOG, "/t", preview_bytes=0)
    assert toolbudget.build_replacement(LOG, "/t", preview_bytes=0, style=style) == expected


@pytest.mark.parametrize("max_bytes", [-1, 1.5, "5", None, True])
def test_a_preview_of_no_size_is_refused(max_bytes: Any) -> None:  # noqa: ANN401 - bad on purpose
    """L5: the size of a preview is a whole number of at least 0."""
    with pytest.raises(ConfigError, match="max_bytes"):
        toolbudget.generate_preview("text", max_bytes)


def test_a_preview_of_the_defaults() -> None:
    """P2: 2,000 bytes, and whether more was left out."""
    assert toolbudget.generate_preview(2_000 * "a") == (2_000 * "a", False)
    assert toolbudget.generate_preview(2_001 * "a") == (2_000 * "a", True)
    assert toolbudget.generate_preview("a", max_bytes=0) == ("", True)
    assert toolbudget.generate_preview("", max_bytes=0) == ("", False)
