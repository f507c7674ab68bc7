"""One turn of the pipeline: what a stage is given, and what becomes of its answer."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from toolbudget.budget.adopted_changes import AdoptedChanges
from toolbudget.errors import ToolBudgetError
from toolbudget.pipeline.budget_stage import places_of_texts
from toolbudget.pipeline.difference import difference_of, has_changed_at, sent_messages
from toolbudget.pipeline.idle import idle_seconds
from toolbudget.pipeline.replay import Replay, last_answer_digest, replay
from toolbudget.pipeline.report import PipelineResult, StageReport
from toolbudget.pipeline.stage import StageResult, TurnContext
from toolbudget.pipeline.validity import RefusedStageError, check_stage_result
from toolbudget.tokens import estimate_tokens_for_messages, read_window_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolbudget.budget.session import Session
    from toolbudget.pipeline.report import StageStatus
    from toolbudget.pipeline.stage import Stage
    from toolbudget.tokens import ContextWindow

__all__ = ["Turn"]

# Under which name a pipeline remembers the last answer whose usage is about more than is sent now,
# and what is in the context beside the messages.
_AFTER_CHANGE: Final = "after-change"
# And what another process has changed and no finished turn has announced.
_ADOPTED: Final = "adopted"
# And what the last finished turn has given to be sent.
_SENT: Final = "sent"
_logger: Final = logging.getLogger("toolbudget")


class Turn:
    """Keeps the running state of one turn.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.
    """

    def __init__(
        self,
        messages: Sequence[Any],
        *,
        session: Session | None,
        window: ContextWindow | None,
        now_s: float,
        idle_s: float | None,
        used_tokens: int | None,
        memory: dict[str, Any],
    ) -> None:
        self._estimate_tokens = estimate_tokens_for_messages(messages)  # it reads every message
        self.context = TurnContext(
            messages=messages,
            session=session,
            window=window,
            now_s=now_s,
            idle_s=idle_seconds(messages, now_s) if idle_s is None else idle_s,
            memory=memory,
        )
        self._given_tokens = used_tokens
        self._replay: Replay | None = None
        self._stage: Stage | None = None
        self._started_s = 0.0
        self._saved_tokens = 0
        self._has_changed = False
        self._adopted_at: int | None = None
        # What the budget has changed in its history, whose places shift when cuts are put in again.
        self._unplaced: list[Any] = []

    def want(self, excess_tokens: int) -> None:
        """Say that the provider has refused the request, and by how much it was too long."""
        self.context.wanted_tokens = excess_tokens

    @property
    def has_enough(self) -> bool:
        """Whether as much has gone as the provider wants."""
        return self._saved_tokens > (self.context.wanted_tokens or 0)

    def enter(self, stage: Stage) -> None:
        """Begin with a stage; what was decided earlier holds for all but the budget."""
        if stage.name != "budget":
            self._put_earlier_in()
        self._stage = stage
        self._started_s = time.perf_counter()

    def accept(self, result: StageResult | None) -> None:
        """Go on with what a stage gave, if that can be sent."""
        context = self.context
        if result is None:
            self._report("unchanged")
            return
        if not isinstance(result, StageResult):
            raise RefusedStageError(f"stage gave no StageResult: {type(result).__name__}")
        before, after = context.messages, result.messages
        if after is before:
            self._report("unchanged", result)
            return
        check_stage_result(before, after)
        difference = difference_of(before, after)
        if difference.first_index is None:
            self._report("unchanged", result)
            return
        context.messages = after
        self._estimate_tokens += difference.added_tokens
        context.used_tokens = max(context.used_tokens + difference.added_tokens, 0)
        if result.is_announced:
            self._saved_tokens -= difference.added_tokens
            self._has_changed = True
        places = (difference.first_index,) if result.is_announced else result.seen_changes
        is_placed = self._replay is not None
        if not is_placed:
            self._unplaced += [after[place] for place in places if place < len(after)]
        self._report(
            "changed",
            result,
            added_tokens=difference.added_tokens,
            broken_at=self._first_broken(places, before, after) if is_placed else None,
        )

    def pass_over(self, error: Exception) -> None:
        """Go on with what the stage before left."""
        _logger.warning("stage %s passed over: %s", self._stage and self._stage.name, error)
        self._report("refused" if isinstance(error, RefusedStageError) else "failed", error=error)

    def finish(self) -> PipelineResult:
        """Give what is to be sent."""
        result = self._result()
        self._remember(result)
        return result

    def finish_recovery(self) -> PipelineResult | None:
        """Give what is to be sent instead of a refused request; ``None`` if that is the same."""
        result = self._result()
        # The budget too may have made room: in a request that went out when it had failed.
        if not self._has_changed and result.prefix_broken_at is None:
            return None
        self._remember(result)
        return result

    def _result(self) -> PipelineResult:
        edits = self._put_earlier_in()
        context = self.context
        messages = context.messages
        return PipelineResult(
            messages=messages if type(messages) is list else list(messages),
            reports=tuple(context.reports),
            used_tokens=context.used_tokens,
            check=context.check,
            replayed_edits=edits.applied,
            adopted_at=self._adopted_at,
        )

    def _remember(self, result: PipelineResult) -> None:
        memory = self.context.memory
        # What is about messages that another process is ahead by has changed nothing yet.
        memory[_ADOPTED] = AdoptedChanges(edits=self._put_earlier_in().ahead)
        memory[_SENT] = tuple(result.messages)
        if self._has_changed:
            beside_tokens = result.used_tokens - self._estimate_tokens
            memory[_AFTER_CHANGE] = last_answer_digest(result.messages), beside_tokens

    def _put_earlier_in(self) -> Replay:
        """Put in again what earlier turns have decided, and measure what is left."""
        if self._replay is not None:
            return self._replay
        context = self.context
        self._put_texts_in()
        edits = () if context.session is None else context.session.context_edits
        context.known_edits = len(edits)
        adopted = self._adopted()
        done = self._replay = replay(context.messages, edits, adopted.edits)
        self._estimate_tokens += difference_of(context.messages, done.messages).added_tokens
        if self._unplaced:
            known = set(map(id, self._unplaced))
            places = [place for place, one in enumerate(done.messages) if id(one) in known]
            broken_at = self._first_broken(places, done.messages, done.messages)
            context.reports[-1] = replace(context.reports[-1], prefix_broken_at=broken_at)
        self._adopted_at = self._first_adopted(done, adopted)
        context.messages = done.messages
        if self._given_tokens is not None:
            context.used_tokens = self._given_tokens
        else:
            context.used_tokens = self._used_tokens(is_usage_stale=done.is_usage_stale)
        return done

    def _first_broken(
        self, places: Iterable[int], before: Sequence[Any], after: Sequence[Any]
    ) -> int | None:
        """Return the first of the changed places that was in a request in another form.

        Before the first turn of a pipeline, what stands before the last answer has been in one; if
        it begins with a refusal, all.
        """
        sent: tuple[Any, ...] | None = self.context.memory.get(_SENT)
        if sent is not None:
            return next((place for place in places if has_changed_at(place, sent, after)), None)
        is_refused = self.context.wanted_tokens is not None
        count = len(before) if is_refused else sent_messages(before)
        return next((place for place in places if place < count), None)

    def _adopted(self) -> AdoptedChanges:
        """Return what another process has changed since the last turn that came to its end."""
        context = self.context
        pending: AdoptedChanges = context.memory.setdefault(_ADOPTED, AdoptedChanges())
        if context.session is not None:
            pending.add(context.session.take_adopted_changes())
        return pending

    def _first_adopted(self, done: Replay, adopted: AdoptedChanges) -> int | None:
        """Return the first message that another process has changed since it was sent from here.

        Before the first turn of a pipeline nothing is known of what was sent but that results with
        a decision have been.
        """
        sent: tuple[Any, ...] | None = self.context.memory.get(_SENT)
        texts = adopted.texts if sent is None else adopted.texts | adopted.texts_of_undecided
        places = sorted([*places_of_texts(done.messages, texts), *done.adopted_at])
        if sent is None:
            return places[0] if places else None
        changed = (place for place in places if has_changed_at(place, sent, done.messages))
        return next(changed, None)

    def _put_texts_in(self) -> None:
        """Do what the budget does first, if there is none or it has failed: what was seen stays."""
        context = self.context
        is_done = any(one.name == "budget" and one.error is None for one in context.reports)
        if context.session is None or is_done:
            return
        try:
            messages = context.session.reapply(context.messages)
        except ToolBudgetError as error:  # it is closed, or in use by its own hook
            _logger.warning("earlier decisions not put in again: %s", error)
            return
        self._estimate_tokens += difference_of(context.messages, messages).added_tokens
        context.messages = messages

    def _used_tokens(self, *, is_usage_stale: bool) -> int:
        """Tell what is in the context; the usage of an answer before the last change is too much.

        So it is when the request that was changed has failed, and is made once more.
        """
        context = self.context
        after_change: tuple[str | None, int] = context.memory.get(_AFTER_CHANGE, (None, 0))
        digest, beside_tokens = after_change
        if digest is not None and digest == last_answer_digest(context.messages):
            return max(self._estimate_tokens + beside_tokens, 0)
        if is_usage_stale:
            return self._estimate_tokens
        return read_window_count(context.messages).tokens

    def _report(
        self,
        status: StageStatus,
        result: StageResult | None = None,
        *,
        added_tokens: int = 0,
        broken_at: int | None = None,
        error: Exception | None = None,
    ) -> None:
        assert self._stage is not None  # noqa: S101 - a stage is entered before it answers
        self.context.reports.append(
            StageReport(
                name=self._stage.name,
                status=status,
                changed=0 if result is None else result.changed,
                detail="" if result is None else result.detail,
                tokens_before=self._estimate_tokens - added_tokens,
                tokens_after=self._estimate_tokens,
                prefix_broken_at=broken_at,
                error=error,
                elapsed_s=time.perf_counter() - self._started_s,
            )
        )
