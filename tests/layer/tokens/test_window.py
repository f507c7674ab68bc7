"""When the context counts as nearly full."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.tokens.usage_oracle import tokens_of
from toolbudget import ConfigError, ContextWindow
from toolbudget.tokens import ContextMeter, WindowCount


@pytest.mark.parametrize(
    ("used_tokens", "state"),
    [
        (0, "ok"),
        (143_999, "ok"),
        (144_000, "near"),
        (165_599, "near"),
        (165_600, "over"),
        (180_001, "over"),
        (10**9, "over"),
    ],
)
def test_thresholds_are_shares_of_what_is_available(used_tokens: int, state: str) -> None:
    """T6 with its defaults: 80 and 92 % of the 180,000 tokens beside the reserve."""
    window = ContextWindow()
    assert (window.available_tokens, window.near_tokens, window.over_tokens) == (
        180_000,
        144_000,
        165_600,
    )
    assert window.check_tokens(used_tokens).state == state
    assert window.state_of(used_tokens) == state


def test_the_numbers_of_a_check() -> None:
    """Known, estimated, free, and what is left for the answer."""
    estimate = tokens_of(8_000)
    usage = {"input_tokens": 150_000, "output_tokens": 1_000}
    check = ContextWindow().check(
        [
            {"role": "assistant", "content": "", "usage": usage},
            {"role": "user", "content": "x" * 8_000},
        ]
    )
    assert check.state == "near"
    assert (check.used_tokens, check.reported_tokens, check.estimated_tokens) == (
        151_000 + estimate,
        151_000,
        estimate,
    )
    assert (check.size_tokens, check.available_tokens) == (200_000, 180_000)
    assert (check.free_tokens, check.output_room_tokens) == (29_000 - estimate, 49_000 - estimate)
    assert check.used_share == pytest.approx((151_000 + estimate) / 180_000)


@pytest.mark.parametrize(
    ("used_tokens", "line"),
    [
        (
            9_000,
            (
                "ok: 9,000 of 180,000 tokens used (5 %), 135,000 until near at 144,000;"
                " room for an answer of 191,000"
            ),
        ),
        (
            150_000,
            (
                "near: 150,000 of 180,000 tokens used (83 %), 15,600 until over at 165,600;"
                " room for an answer of 50,000"
            ),
        ),
        (
            230_000,
            (
                "over: 230,000 of 180,000 tokens used (128 %), over since 165,600;"
                " room for an answer of 0"
            ),
        ),
    ],
)
def test_a_check_explains_itself_in_one_line(used_tokens: int, line: str) -> None:
    """State, numbers and head-room for a log."""
    assert ContextWindow().check_tokens(used_tokens).explain == line


def test_a_full_window_has_no_negative_room() -> None:
    """What is over is not room."""
    check = ContextWindow(size=100, reserve_output=10).check_tokens(150)
    assert (check.free_tokens, check.output_room_tokens) == (0, 0)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"size": 0}, "size"),
        ({"size": -1}, "size"),
        ({"size": 1.5}, "size"),
        ({"size": True}, "size"),
        ({"size": "200000"}, "size"),
        ({"size": None}, "size"),
        ({"reserve_output": -1}, "reserve_output"),
        ({"reserve_output": 200_000}, "reserve_output"),
        ({"size": 20_000}, "reserve_output"),
        ({"reserve_output": math.inf}, "reserve_output"),
        ({"near": 0}, "near"),
        ({"near": -0.5}, "near"),
        ({"near": 80}, "near"),
        ({"near": math.nan}, "near"),
        ({"near": "0.8"}, "near"),
        ({"near": True}, "near"),
        ({"near": 0.95}, "over"),
        ({"over": 1.01}, "over"),
        ({"over": math.nan}, "over"),
        ({"over": None}, "over"),
    ],
    ids=repr,
)
def test_an_unusable_argument_is_named(arguments: dict[str, Any], field: str) -> None:
    """The message has the field and, at its end, the value."""
    with pytest.raises(ConfigError, match=rf"^{field} \(argument\) must be .*: \S+$") as caught:
        ContextWindow(**arguments)
    offending = {"size": 20_000, "reserve_output": 20_000, "near": 0.8, "over": 0.92} | arguments
    assert str(caught.value).endswith(f": {offending[field]!r}")


@pytest.mark.parametrize("used_tokens", [-1, 1.0, None, True])
def test_a_count_that_is_none_is_an_error(used_tokens: Any) -> None:  # noqa: ANN401
    """A host's own count is checked too."""
    with pytest.raises(ConfigError, match=r"^used_tokens "):
        ContextWindow().check_tokens(used_tokens)


def test_extreme_windows_are_legal() -> None:
    """One token, no reserve, thresholds at the end; numpy's numbers."""
    tiny = ContextWindow(size=1, reserve_output=0, near=1, over=1)
    assert (tiny.state_of(0), tiny.state_of(1)) == ("ok", "over")
    by_numpy: dict[str, Any] = {"size": np.int64(1000), "near": np.float64(0.5)}
    assert ContextWindow(reserve_output=0, **by_numpy).near_tokens == 500


@given(
    size=st.integers(1, 10**7),
    data=st.data(),
    percents=st.tuples(st.integers(1, 100), st.integers(1, 100)).map(sorted),
    used_tokens=st.integers(0, 2 * 10**7),
)
def test_every_state_is_that_of_exact_shares(
    size: int, data: st.DataObject, percents: list[int], used_tokens: int
) -> None:
    """No rounding of a decimal moves a threshold."""
    reserve = data.draw(st.integers(0, size - 1))
    near, over = percents
    window = ContextWindow(
        size=size, reserve_output=reserve, near=float(f"{near}e-2"), over=float(f"{over}e-2")
    )
    used_share = Fraction(used_tokens, size - reserve) * 100
    expected = "over" if used_share >= over else "near" if used_share >= near else "ok"
    assert window.check_tokens(used_tokens).state == expected


def test_a_meter_and_a_window_work_together() -> None:
    """A host that counts as it goes checks without its list."""
    meter = ContextMeter()
    meter.add({"role": "user", "content": "x" * 3_000})
    window = ContextWindow(size=tokens_of(3_000), reserve_output=0)
    assert meter.count == WindowCount(0, tokens_of(3_000))
    assert window.check_count(meter.count).state == "over"
