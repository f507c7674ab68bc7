"""From the history to the messages of the next request: pipeline or budget, then the API's form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from toolbudget.messages.api import normalize_messages_for_api

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolbudget.budget.session import Session
    from toolbudget.loop.model import ModelRequest
    from toolbudget.pipeline import Pipeline, PipelineResult

    Parameters: TypeAlias = Mapping[str, Any] | Callable[[Sequence[Any]], Mapping[str, Any]]

__all__ = ["Shaped", "Shaper"]


@dataclass(frozen=True, slots=True)
class Shaped:
    """A request, and what was done for it."""

    request: ModelRequest
    report: object


class Shaper:
    """Makes requests of a history, by the pipeline if there is one, else by the budget."""

    def __init__(
        self,
        frame: ModelRequest,
        parameters: Parameters | None,
        *,
        session: Session | None,
        pipeline: Pipeline | None,
    ) -> None:
        """Take what is the same in every request as a request without messages."""
        self._frame = frame
        self._parameters = parameters
        self._session = session
        self._pipeline = pipeline

    def shape(self, records: Sequence[Any]) -> Shaped:
        """Make the next request."""
        if self._pipeline is not None:
            return self._by_pipeline(self._pipeline.run(records))
        if self._session is None:
            return self._shaped(records, None)
        messages = self._session.enforce(records)
        return self._shaped(messages, self._session.report)

    async def ashape(self, records: Sequence[Any]) -> Shaped:
        """Do what :meth:`shape` does without blocking the event loop."""
        if self._pipeline is not None:
            return self._by_pipeline(await self._pipeline.arun(records))
        if self._session is None:
            return self._shaped(records, None)
        messages = await self._session.aenforce(records)
        return self._shaped(messages, self._session.report)

    def recover(self, records: Sequence[Any], error: Exception) -> Shaped | None:
        """Make a shorter request of what was refused; ``None`` if there is no way."""
        if self._pipeline is None:
            return None
        result = self._pipeline.recover_from_overflow(records, error)
        return None if result is None else self._by_pipeline(result)

    async def arecover(self, records: Sequence[Any], error: Exception) -> Shaped | None:
        """Do what :meth:`recover` does without blocking the event loop."""
        if self._pipeline is None:
            return None
        result = await self._pipeline.arecover_from_overflow(records, error)
        return None if result is None else self._by_pipeline(result)

    def _by_pipeline(self, result: PipelineResult) -> Shaped:
        return self._shaped(result.messages, result)

    def _shaped(self, messages: Sequence[Any], report: object) -> Shaped:
        given = self._parameters
        parameters = given(messages) if callable(given) else given
        request = replace(
            self._frame,
            messages=normalize_messages_for_api(messages),
            parameters=dict(parameters or {}),
        )
        return Shaped(request, report)
