"""The pipeline: every stage of a turn in its order, one failing without the others."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from toolbudget._display import shown
from toolbudget._threads import in_thread
from toolbudget.errors import ConfigError
from toolbudget.pipeline.checks import check_callable, check_methods, check_turn
from toolbudget.pipeline.overflow import read_overflow
from toolbudget.pipeline.stage import STAGE_ORDER, AsyncStage, RecoveringStage
from toolbudget.pipeline.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolbudget.budget.session import Session
    from toolbudget.pipeline.report import PipelineResult
    from toolbudget.pipeline.stage import Stage, StageResult, TurnContext
    from toolbudget.tokens import ContextWindow

__all__ = ["Pipeline"]

_PLACE: Final = {name: place for place, name in enumerate(STAGE_ORDER)}


class Pipeline:
    """Takes a history through its stages before each request.

    The order is fixed, whatever order the stages are given in: tool-result budget, history snip,
    microcompact, context collapse, autocompact. Each sees what the one before left. One that fails,
    or gives what could not be sent, is passed over and reported.

    Whatever an earlier turn has cut out of the history is cut out again before the stages run,
    from the session's records: so the host may keep its whole history, or go on with what
    it was given; and a resumed session sends the same bytes.

    Not to be used by two threads at once: the turns of one conversation follow each other.

    Args:
        stages: At most one of each name.
        session: Where decisions are recorded. ``None``: nothing is stored or recorded, and stages
            that cut something out do nothing.
        window: The model's context window, for the stages that act when it fills up.
        clock: The host's clock, in seconds since the epoch.

    Raises:
        ConfigError: A stage has a name that is none of :data:`STAGE_ORDER`, there are two of one
            name, or another argument lacks what a turn will call.

    Example:
        >>> import tempfile
        >>> from toolbudget import Session
        >>> from toolbudget.pipeline import Budget, Pipeline
        >>> session = Session.open(tempfile.mkdtemp(), "demo")
        >>> pipeline = Pipeline([Budget()], session=session)
        >>> result = pipeline.run([{"role": "user", "content": "hello"}])
        >>> result.messages
        [{'role': 'user', 'content': 'hello'}]
    """

    def __init__(
        self,
        stages: Iterable[Stage],
        *,
        session: Session | None,
        window: ContextWindow | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if session is not None:
            check_methods("session", session, "enforce", "reapply", "record_edit")
        if window is not None:
            check_methods("window", window, "check_tokens")
        check_callable("clock", clock)
        self.stages: Final[tuple[Stage, ...]] = _in_order(stages)
        self.session: Final = session
        self.window: Final = window
        self._clock = clock
        self._last_run_s: float | None = None
        self._memory: dict[str, Any] = {}

    def for_session(self, session: Session | None) -> Pipeline:
        """Return a pipeline of the same stages for another conversation, such as a fork.

        The stages are the same objects: a collapse algorithm that keeps something about its
        conversation needs a stage of its own, in a pipeline that is made anew.

        Example:
            >>> import tempfile
            >>> from toolbudget import Session
            >>> from toolbudget.pipeline import Budget, Pipeline
            >>> session = Session.open(tempfile.mkdtemp(), "demo")
            >>> pipeline = Pipeline([Budget()], session=session)
            >>> pipeline.for_session(session.fork("other")).stages == pipeline.stages
            True
        """
        return Pipeline(self.stages, session=session, window=self.window, clock=self._clock)

    def run(
        self,
        messages: Sequence[Any],
        *,
        now_s: float | None = None,
        idle_s: float | None = None,
        used_tokens: int | None = None,
    ) -> PipelineResult:
        """Take the history through the stages; what comes back is the only thing to send.

        Args:
            messages: Everything that the next request would hold, as the host keeps it. Neither the
                list nor anything in it is changed.
            now_s: The time now, in seconds since the epoch; ``None`` asks the clock.
            idle_s: Seconds since the last request; ``None`` takes them from the run before, else
                from the time stamp of the last answer.
            used_tokens: What is in the context, if the host knows it better than by the usage in
                the messages and the estimate.

        Raises:
            InvalidMessageError: ``messages`` cannot be a message list.
            ConfigError: Another argument is no such number. No stage has run then.
        """
        turn = self._begin(messages, now_s, idle_s, used_tokens)
        for stage in self.stages:
            turn.enter(stage)
            try:
                turn.accept(stage.run(turn.context))
            except Exception as error:  # noqa: BLE001 - a stage that fails is passed over
                turn.pass_over(error)
        return turn.finish()

    async def arun(
        self,
        messages: Sequence[Any],
        *,
        now_s: float | None = None,
        idle_s: float | None = None,
        used_tokens: int | None = None,
    ) -> PipelineResult:
        """Do what :meth:`run` does without blocking the event loop.

        A stage with an ``arun`` of its own is awaited, the others run in a thread.
        """
        turn = self._begin(messages, now_s, idle_s, used_tokens)
        for stage in self.stages:
            turn.enter(stage)
            try:
                if isinstance(stage, AsyncStage):
                    turn.accept(await stage.arun(turn.context))
                else:
                    turn.accept(await in_thread(stage.run, turn.context))
            except Exception as error:  # noqa: BLE001 - a stage that fails is passed over
                turn.pass_over(error)
        return turn.finish()

    def recover_from_overflow(
        self, messages: Sequence[Any], error: object, *, now_s: float | None = None
    ) -> PipelineResult | None:
        """Make room because the provider has refused the request as too long.

        The budget runs as always. Then the stages that can make room do so in their order, whatever
        their thresholds say, until as many tokens are gone as the error names.

        Args:
            messages: The history whose request was refused.
            error: The exception, or its text.
            now_s: The time now, in seconds since the epoch; ``None`` asks the clock.

        Returns:
            What to send instead; ``None`` if the error says something else, or no stage could do
            anything: then the error is the host's to handle.

        Raises:
            InvalidMessageError: ``messages`` cannot be a message list.
            ConfigError: ``now_s`` is no such number. No stage has run then.
        """
        overflow = read_overflow(error)
        if overflow is None:
            return None
        turn = self._begin(messages, now_s, None, None)
        turn.want(overflow.excess_tokens)
        for stage in self.stages:
            recover = _recovery_of(stage)
            if recover is None or turn.has_enough:
                continue
            turn.enter(stage)
            try:
                turn.accept(recover(turn.context))
            except Exception as failure:  # noqa: BLE001 - a stage that fails is passed over
                turn.pass_over(failure)
        return turn.finish_recovery()

    async def arecover_from_overflow(
        self, messages: Sequence[Any], error: object, *, now_s: float | None = None
    ) -> PipelineResult | None:
        """Do what :meth:`recover_from_overflow` does without blocking the event loop.

        A stage with an ``arecover_from_overflow`` of its own is awaited.
        """
        overflow = read_overflow(error)
        if overflow is None:
            return None
        turn = self._begin(messages, now_s, None, None)
        turn.want(overflow.excess_tokens)
        for stage in self.stages:
            recover = _recovery_of(stage)
            if recover is None or turn.has_enough:
                continue
            turn.enter(stage)
            arecover = getattr(stage, "arecover_from_overflow", None)
            try:
                if arecover is not None:
                    turn.accept(await arecover(turn.context))
                else:
                    turn.accept(await in_thread(recover, turn.context))
            except Exception as failure:  # noqa: BLE001 - a stage that fails is passed over
                turn.pass_over(failure)
        return turn.finish_recovery()

    def _begin(
        self,
        messages: Sequence[Any],
        now_s: float | None,
        idle_s: float | None,
        used_tokens: int | None,
    ) -> Turn:
        check_turn(now_s, idle_s, used_tokens)
        now_s = self._clock() if now_s is None else now_s
        if idle_s is None and self._last_run_s is not None:
            idle_s = now_s - self._last_run_s
        turn = Turn(
            messages,
            session=self.session,
            window=self.window,
            now_s=now_s,
            idle_s=idle_s,
            used_tokens=used_tokens,
            memory=self._memory,
        )
        self._last_run_s = now_s
        return turn


def _recovery_of(stage: Stage) -> Callable[[TurnContext], StageResult | None] | None:
    """Return how a stage makes room: the budget by what it always does, some not at all."""
    if stage.name == "budget":
        return stage.run
    return stage.recover_from_overflow if isinstance(stage, RecoveringStage) else None


def _in_order(stages: Iterable[Stage]) -> tuple[Stage, ...]:
    """Sort stages by their names.

    Raises:
        ConfigError: They are no stages, or the name of one is unknown, or there twice.
    """
    if not isinstance(stages, Iterable):
        raise ConfigError(f"stages (argument) must be a list of stages: {shown(stages)}")
    given = list(stages)
    names: set[str] = set()
    for stage in given:
        if isinstance(stage, type):
            raise ConfigError(f"stages (argument) must be objects, not classes: {shown(stage)}")
        name = getattr(stage, "name", None)
        if name not in STAGE_ORDER:
            wanted = ", ".join(map(repr, STAGE_ORDER))
            raise ConfigError(f"stages (argument): name must be one of {wanted}: {shown(name)}")
        if name in names:
            raise ConfigError(f"stages (argument) must have each stage once: {shown(name)}")
        if not callable(getattr(stage, "run", None)):
            raise ConfigError(f"stages (argument): stage has no method run: {shown(stage)}")
        names.add(name)
    return tuple(sorted(given, key=lambda stage: _PLACE[stage.name]))
