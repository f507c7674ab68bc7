"""The conversation that every library gets, before it is in anybody's message types."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

__all__ = ["EXCHANGES_BEFORE", "MODEL_TOOL", "Call", "Conversation", "Exchange"]

# No library has a rule of its own for a tool of this name.
MODEL_TOOL: Final = "run_query"
EXCHANGES_BEFORE: Final = 49
EXCHANGES_AFTER: Final = 8
SMALL_RESULTS: Final = 3
SMALL_CHARS: Final = 1_000
LEVELS: Final = ("INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR")
WORDS: Final = ("order", "user", "cache", "index", "query", "worker", "batch", "lease", "shard")


@dataclass(frozen=True)
class Call:
    """A tool call and what came back."""

    id: str
    command: str
    result: str


@dataclass(frozen=True)
class Exchange:
    """A prompt, the calls that the model makes, and their results.

    Before the prompt stands the model's answer to what came before.
    """

    answer: str
    prompt: str
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Conversation:
    """Ordinary exchanges, one with large results, ordinary ones again.

    The texts of each seed are its own, so that no library remembers those of an earlier one.
    """

    seed: int
    large_results: int
    large_chars: int

    def before(self) -> list[Exchange]:
        """Make the history; with the large exchange it is 200 messages where results share one."""
        return [self._ordinary(number) for number in range(EXCHANGES_BEFORE)]

    def large(self) -> Exchange:
        """Make the exchange with the large results."""
        return self._exchange(EXCHANGES_BEFORE, self.large_results, self.large_chars)

    def after(self) -> list[Exchange]:
        """Make what follows."""
        first = EXCHANGES_BEFORE + 1
        return [self._ordinary(number) for number in range(first, first + EXCHANGES_AFTER)]

    def _ordinary(self, number: int) -> Exchange:
        return self._exchange(number, SMALL_RESULTS, SMALL_CHARS)

    def _exchange(self, number: int, results: int, size_chars: int) -> Exchange:
        calls = tuple(
            Call(
                f"call_{number}_{index}",
                f"query {number}.{index}",
                _log(f"{self.seed} {number} {index}", size_chars),
            )
            for index in range(results)
        )
        return Exchange(f"That was step {number}.", f"Now do step {number}.", calls)


def _log(seed: str, size_chars: int) -> str:
    """Make lines of a log, the same in every run and different in every result."""
    dice = random.Random(seed)  # noqa: S311 - a workload, no secret
    lines: list[str] = []
    length = 0
    while length < size_chars:
        words = " ".join(dice.choices(WORDS, k=6))
        line = f"12:{dice.randrange(60):02} {dice.choice(LEVELS)} {dice.randrange(10**6)} {words}\n"
        lines.append(line)
        length += len(line)
    return "".join(lines)[:size_chars]
