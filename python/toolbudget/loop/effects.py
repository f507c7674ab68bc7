"""What the loop's steps ask for; a driver carries it out, with threads or with tasks.

The steps are written once, as a generator that neither blocks nor awaits: it yields one of these
and is sent what came of it, or has thrown into it what was raised.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from toolbudget.loop.calls import Answer
    from toolbudget.loop.events import LoopResult
    from toolbudget.loop.model import ModelRequest

__all__ = ["AskModel", "Effect", "RunCalls", "Steps", "Work"]


@dataclass(frozen=True, slots=True)
class Work:
    """Something that may wait for the disk: ``acall`` does the same on an event loop."""

    call: Callable[[], object]
    acall: Callable[[], Awaitable[object]] | None = None


@dataclass(frozen=True, slots=True)
class AskModel:
    """A request to the model; what comes of it is the model's reply."""

    request: ModelRequest


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Calls to be run side by side.

    ``deliver`` is called with each answer as it comes, and may wait for the disk.
    """

    calls: Sequence[Mapping[str, Any]]
    deliver: Callable[[Answer], object]


Effect: TypeAlias = Work | AskModel | RunCalls
Steps: TypeAlias = Generator[Effect, Any, "LoopResult"]
