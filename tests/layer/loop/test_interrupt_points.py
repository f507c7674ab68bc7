"""Ctrl-C wherever Python looks for it in a run: afterwards the loop runs again."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from tests.layer.budget.test_interrupt_points import Interrupt
from toolbudget.loop import AgentLoop

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget.loop import ModelRequest

# Python reports what is raised in a finaliser and goes on: there, nothing is interrupted.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

# Where a run begins and ends.
BEGINNING = ("loop/agent", "_mutex", "contextlib")
WITHIN = ("loop/drive", "loop/turns", "loop/conversation")


def reply(_request: ModelRequest) -> dict[str, Any]:
    """Answer at once."""
    return {"content": "Done.", "usage": {"output_tokens": 1}}


async def reply_later(request: ModelRequest) -> dict[str, Any]:
    """Answer at once, as a coroutine."""
    return reply(request)


def counted(
    model: Callable[[ModelRequest], Any], asked: list[ModelRequest]
) -> Callable[[ModelRequest], Any]:
    """Note what a model is asked."""

    def ask(request: ModelRequest) -> object:
        asked.append(request)
        return model(request)

    return ask


def require_free(
    call: Callable[[AgentLoop], Any], model: Callable[[ModelRequest], Any], names: tuple[str, ...]
) -> None:
    """Interrupt a call at each of its points; the next one must be answered."""
    kept = []
    for nth in count(1):
        asked: list[ModelRequest] = []
        loop = AgentLoop(counted(model, asked))
        assert call(loop).text == "Done."
        interrupt = Interrupt(nth, names)
        with interrupt:
            call(loop)
        kept.append(interrupt.error)
        assert call(loop).text == "Done."
        assert loop.usage.output_tokens <= len(asked)
        if not interrupt.has_hit:
            assert nth > 10
            return


def test_a_run() -> None:
    """No interrupt leaves the loop saying that a run is going on."""
    require_free(lambda loop: loop.run("Go."), reply, BEGINNING + WITHIN)


def test_a_run_in_a_task() -> None:
    """Nor one that ends a task."""
    require_free(lambda loop: asyncio.run(loop.arun("Go.")), reply_later, BEGINNING)
