"""Limits of a flag service, through the real OpenFeature client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from toolbudget import Limits

pytest.importorskip("openfeature", reason="the extra flags is not installed")

from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.provider.in_memory_provider import InMemoryFlag, InMemoryProvider

from toolbudget.integrations.openfeature import openfeature_overrides

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def serve() -> Iterator[Callable[[object], Any]]:
    """Give a way to let a service say something, and get a client of it."""

    def serve_flag(value: object) -> Any:  # noqa: ANN401 - the library's client
        flags: dict[str, InMemoryFlag[Any]] = {}
        if value is not None:
            flags["toolbudget-limits"] = InMemoryFlag("on", {"on": value})
        api.set_provider(InMemoryProvider(flags))
        return api.get_client()

    yield serve_flag
    api.clear_providers()


def test_what_the_service_says_counts_from_the_next_call_on(serve: Callable[..., Any]) -> None:
    """L4: the flag is read once per call, so that a change of it needs no restart."""
    limits = Limits(overrides=openfeature_overrides(serve({"message": 90_000})))
    assert (limits.message_limit(), limits.for_tool("Bash")) == (90_000, 30_000)
    serve({"tools": {"Bash": 70_000.0}})
    assert (limits.message_limit(), limits.for_tool("Bash")) == (200_000, 70_000)


@pytest.mark.parametrize("value", [None, {}, {"message": "x", "tools": {"Bash": -1}}, "text", 5])
def test_what_cannot_be_a_limit_falls_through(
    serve: Callable[..., Any], value: object, caplog: pytest.LogCaptureFixture
) -> None:
    """No flag, no value, or one of a wrong type: the host's own limits, and one line in the log."""
    limits = Limits(overrides=openfeature_overrides(serve(value)))
    for _ in range(3):
        assert (limits.message_limit(), limits.for_tool("Bash")) == (200_000, 30_000)
    is_fine = value in (None, {})
    records = [record for record in caplog.records if record.name == "toolbudget"]
    assert bool(records) != is_fine
    assert len(records) <= 2


def test_the_context_is_asked_each_time(serve: Callable[..., Any]) -> None:
    """A service may decide by user; who that is may change."""
    users = iter(["low", "high", "high"])
    answers = {"low": {"message": 10}, "high": {"message": 20}}
    client = serve(None)

    def decide(_flag: object, context: EvaluationContext) -> object:
        from openfeature.flag_evaluation import FlagResolutionDetails

        return FlagResolutionDetails(answers[str(context.targeting_key)])

    flag: InMemoryFlag[Any] = InMemoryFlag(
        "on",
        {"on": {}},
        context_evaluator=decide,  # type: ignore[arg-type]
    )
    api.set_provider(InMemoryProvider({"mine": flag}))
    provider = openfeature_overrides(
        client, flag="mine", context=lambda: EvaluationContext(next(users))
    )
    limits = Limits(overrides=provider)
    assert [limits.message_limit() for _ in range(3)] == [10, 20, 20]
