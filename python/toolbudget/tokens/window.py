"""When the context is nearly full: thresholds, and how much room is left (SPEC T6)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from toolbudget.tokens._checks import config_error, share, whole_number
from toolbudget.tokens.usage import WindowCount, read_window_count

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ContextWindow", "WindowCheck", "WindowState"]

WindowState: TypeAlias = Literal["ok", "near", "over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCheck:
    """How full the context is.

    Attributes:
        state: ``ok``; ``near``, time to clear old results; ``over``, time to summarise.
        used_tokens: What is in the context.
        reported_tokens: The part of it that the last response reported; the rest is estimated.
        size_tokens: The model's whole window.
        available_tokens: The window without what is reserved for the answer.
        near_tokens: From so many used tokens on the state is ``near``.
        over_tokens: From so many used tokens on it is ``over``.

    Example:
        >>> from toolbudget import ContextWindow
        >>> print(ContextWindow().check_tokens(150_000).explain)
        near: 150,000 of 180,000 tokens used (83 %), 15,600 until over at 165,600; room for an...
    """

    state: WindowState
    used_tokens: int
    reported_tokens: int
    size_tokens: int
    available_tokens: int
    near_tokens: int
    over_tokens: int

    @property
    def estimated_tokens(self) -> int:
        """The part of the used tokens that no response has reported yet."""
        return self.used_tokens - self.reported_tokens

    @property
    def free_tokens(self) -> int:
        """What may still be added without touching the reserve; 0 if that is used up."""
        return max(self.available_tokens - self.used_tokens, 0)

    @property
    def output_room_tokens(self) -> int:
        """Head-room for the answer: what the whole window has left; 0 if it is full."""
        return max(self.size_tokens - self.used_tokens, 0)

    @property
    def used_share(self) -> float:
        """Used tokens as a share of the available ones; above 1 the reserve is being used."""
        return self.used_tokens / self.available_tokens

    @property
    def explain(self) -> str:
        """The state and its numbers in one line."""
        percent = _percent(self.used_tokens, self.available_tokens)
        used = f"{self.used_tokens:,} of {self.available_tokens:,} tokens used ({percent} %)"
        room = f"room for an answer of {self.output_room_tokens:,}"
        return f"{self.state}: {used}, {self._distance()}; {room}"

    def _distance(self) -> str:
        if self.state == "over":
            return f"over since {self.over_tokens:,}"
        name, limit = (
            ("near", self.near_tokens) if self.state == "ok" else ("over", self.over_tokens)
        )
        return f"{limit - self.used_tokens:,} until {name} at {limit:,}"


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """A model's context window, and the thresholds at which a host acts.

    Both thresholds are shares of what is *available*: the size without what is reserved for the
    answer. (Of the whole size, ``over`` would come only when the reserve is already being used: of
    200,000 that is at 184,000, but an answer of 20,000 fits only up to 180,000.)

    Args:
        size: Tokens of the whole window, at least 1.
        reserve_output: Tokens kept free for the answer, at least 0 and less than ``size``.
        near: Share above 0 from which the state is ``near``.
        over: Share from which it is ``over``; at least ``near`` and at most 1.

    Raises:
        ConfigError: An argument is anything else; the message names it and its value.

    Example:
        >>> from toolbudget import ContextWindow
        >>> window = ContextWindow(size=1_000, reserve_output=200)
        >>> usage = {"input_tokens": 600, "output_tokens": 60}
        >>> window.check([{"role": "assistant", "content": "ls", "usage": usage}]).state
        'near'
    """

    size: int = 200_000
    reserve_output: int = 20_000
    near: float = 0.8
    over: float = 0.92

    def __post_init__(self) -> None:
        if whole_number(self.size, "size") < 1:
            raise config_error("size", "at least 1", self.size)
        reserve = whole_number(self.reserve_output, "reserve_output")
        if not 0 <= reserve < self.size:
            requirement = f"at least 0 and less than size ({self.size})"
            raise config_error("reserve_output", requirement, self.reserve_output)
        if not 0 < share(self.near, "near") <= 1:
            raise config_error("near", "above 0 and at most 1", self.near)
        if not share(self.near, "near") <= share(self.over, "over") <= 1:
            requirement = f"at least near ({self.near}) and at most 1"
            raise config_error("over", requirement, self.over)

    @property
    def available_tokens(self) -> int:
        """The size without the reserve.

        Example:
            >>> from toolbudget import ContextWindow
            >>> ContextWindow().available_tokens
            180000
        """
        return self.size - self.reserve_output

    @property
    def near_tokens(self) -> int:
        """From so many used tokens on the state is ``near``."""
        return math.ceil(share(self.near, "near") * self.available_tokens)

    @property
    def over_tokens(self) -> int:
        """From so many used tokens on the state is ``over``."""
        return math.ceil(share(self.over, "over") * self.available_tokens)

    def check(self, messages: Sequence[object]) -> WindowCheck:
        """Count as ``token_count_with_estimation`` does, and compare with the thresholds.

        Args:
            messages: API messages, transcript records or SDK objects, also mixed. Tools and system
                prompt are not in them: without a reported usage they are not counted.

        Raises:
            InvalidMessageError: It is no sequence of messages.

        Example:
            >>> from toolbudget import ContextWindow
            >>> ContextWindow().check([{"role": "user", "content": "hello"}]).state
            'ok'
        """
        return self.check_count(read_window_count(messages))

    def check_tokens(self, used_tokens: int) -> WindowCheck:
        """Compare a count that the host has, as from ``count_tokens``, with the thresholds.

        Args:
            used_tokens: Tokens in the context, at least 0.

        Raises:
            ConfigError: It is no such number.

        Example:
            >>> from toolbudget import ContextWindow
            >>> ContextWindow().check_tokens(165_600).state
            'over'
        """
        used = whole_number(used_tokens, "used_tokens")
        if used < 0:
            raise config_error("used_tokens", "at least 0", used_tokens)
        return self.check_count(WindowCount(used, 0))

    def check_count(self, count: WindowCount) -> WindowCheck:
        """Compare a count, known and estimated tokens apart, with the thresholds.

        Args:
            count: As a :class:`ContextMeter` or ``read_window_count`` gives it.

        Example:
            >>> from toolbudget import ContextWindow
            >>> from toolbudget.tokens import WindowCount
            >>> ContextWindow().check_count(WindowCount(150_000, 20_000)).estimated_tokens
            20000
        """
        return WindowCheck(
            state=self.state_of(count.tokens),
            used_tokens=count.tokens,
            reported_tokens=count.reported_tokens,
            size_tokens=self.size,
            available_tokens=self.available_tokens,
            near_tokens=self.near_tokens,
            over_tokens=self.over_tokens,
        )

    def state_of(self, used_tokens: int) -> WindowState:
        """Tell the state at a number of used tokens.

        Args:
            used_tokens: Tokens in the context.

        Example:
            >>> from toolbudget import ContextWindow
            >>> ContextWindow().state_of(143_999), ContextWindow().state_of(144_000)
            ('ok', 'near')
        """
        if used_tokens >= self.over_tokens:
            return "over"
        return "near" if used_tokens >= self.near_tokens else "ok"


def _percent(part: int, whole: int) -> int:
    return (200 * part + whole) // (2 * whole)
