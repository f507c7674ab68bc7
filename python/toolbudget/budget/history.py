"""What a session keeps of the messages that it has enforced, so that it need not do it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from toolbudget import _core as core
from toolbudget.budget.summary import NOTHING, Sums
from toolbudget.budget.taking import take, unchanged
from toolbudget.errors import InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolbudget._core.pure import Change, Known, Outline, Plan, PlanOptions
    from toolbudget._core.pure.shape import Chain
    from toolbudget.budget.journal import Journal

__all__ = ["HISTORY_MODES", "History", "HistoryMode", "Turn"]

HistoryMode: TypeAlias = Literal["verified", "append_only"]

HISTORY_MODES: Final = ("verified", "append_only")


class _Past:
    """The beginning of a conversation that nothing which follows can change any more.

    All of it is decided, and every group of it has ended. It ends before an assistant message.
    """

    __slots__ = ("_ids", "_is_changed", "_open_chains", "inputs", "outputs", "sums", "token")

    def __init__(self, token: object) -> None:
        """Begin without messages; it is of use as long as the token stays equal."""
        self.token = token
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.sums = Sums()
        self._is_changed = False
        self._ids: set[str] = set()
        self._open_chains: set[Chain | None] = set()

    def is_independent_of(self, outline: Outline) -> bool:
        """Tell whether what follows has no call, result, answer or open group in common with it."""
        if self.inputs and outline.first_chain is None:
            # Without the answer that ended it, the last message may change again.
            return False
        open_chains, first_chain = self._open_chains, outline.first_chain
        is_answered = len(open_chains) == 1 and first_chain in open_chains
        if not is_answered and not (open_chains - {first_chain}).isdisjoint(outline.chains):
            return False
        return self._ids.isdisjoint(outline.ids)

    def join(self, output: list[Any]) -> list[Any] | None:
        """Return the whole output, given what follows; ``None`` if nothing is changed here."""
        return self.outputs + output if self._is_changed else None

    def grow(self, closed: list[Any], output: list[Any], outline: Outline) -> None:
        """Take over messages and what has become of them."""
        self._is_changed |= output is not closed
        self.inputs += closed
        self.outputs += output
        self._ids.update(outline.ids[: outline.ids_before])
        self._open_chains.discard(outline.first_chain)
        self._open_chains.update(outline.open_chains)

    def rewritten(self) -> Iterator[object]:
        """Yield each changed message followed by what it has become."""
        for message, output in zip(self.inputs, self.outputs, strict=True):
            if message is not output:
                yield from (message, output)


class Turn:
    """One enforcement: what of its messages is looked at, and what comes back.

    Attributes:
        rewritten: Each changed message that was looked at, followed by what it has become.
    """

    __slots__ = ("_messages", "_part", "_past", "rewritten")

    def __init__(
        self, messages: Sequence[Any], past: _Past | None, rewritten: list[object]
    ) -> None:
        """Begin with what is kept of the turn before."""
        self._messages = messages
        self._part = messages
        self._past = past
        self.rewritten = rewritten

    @property
    def sums(self) -> Sums:
        """What was counted in the messages that were not looked at."""
        return NOTHING if self._past is None else self._past.sums

    def plan(self, journal: Journal, options: PlanOptions, token: object) -> Plan:
        """Decide about what follows the past, or about everything if that is not sure to do.

        Raises:
            InvalidMessageError: The messages cannot be a message list.
        """
        past = self._past
        if past is not None:
            plan = self._plan_rest(past, journal, options) if past.token == token else None
            if plan is not None:
                return plan
            self.rewritten = [*self.rewritten, *past.rewritten()]
            self._past = None
        known = journal.state.known(journal.fingerprints)
        self._part = take(self._messages)
        return core.plan(self._part, known, options)

    def _plan_rest(self, past: _Past, journal: Journal, options: PlanOptions) -> Plan | None:
        messages = self._messages
        if type(messages) is not list or not core.begins_with(messages, past.inputs):
            return None
        rest = messages[len(past.inputs) :]
        known = journal.state.known(journal.fingerprints, is_part=True)
        try:
            outline = core.outline(rest)
            if not past.is_independent_of(outline):
                return None
            if outline.boundary and self._close(past, rest, outline, known, options):
                rest = rest[outline.boundary :]
            plan = core.plan(rest, known, options)
        except InvalidMessageError:
            # Looking at everything finds it too, and names its place in the whole list.
            return None
        self._part = rest
        return plan

    def _close(
        self,
        past: _Past,
        rest: list[Any],
        outline: Outline,
        known: Known,
        options: PlanOptions,
    ) -> bool:
        """Make the messages before the boundary part of the past, if all of them is decided."""
        ids, ids_before = outline.ids, outline.ids_before
        if not set(ids[:ids_before]).isdisjoint(ids[ids_before:]):
            return False
        closed = output = rest[: outline.boundary]
        plan = core.plan(closed, known, options)
        if plan.decides:
            return False
        if plan.changes:
            output = cast("list[Any]", core.rewrite_again(closed, plan.changes, self.rewritten)[0])
        past.sums.add(plan, options)
        past.grow(closed, output, outline)
        return True

    def rewrite(self, changes: Sequence[Change]) -> list[Any]:
        """Return the whole output; a list in which nothing changes is the same object."""
        output: Sequence[Any]
        part, past = self._part, self._past
        if changes:
            output, self.rewritten = core.rewrite_again(part, changes, self.rewritten)
        else:
            output, self.rewritten = part, []
        rest = cast("list[Any]", output)
        joined = None if past is None else past.join(rest)
        if joined is not None:
            return joined
        beginning: list[Any] = [] if past is None else past.inputs
        if output is part:
            return unchanged(self._messages, part, beginning=beginning)
        return [*beginning, *rest] if beginning else rest

    def looked_at(self) -> tuple[Sequence[Any], int, Sequence[Any]]:
        """Return the past as a list, how many of its messages count, and what follows them.

        The first list only grows and the second one is nobody else's, so that this stays what it
        is.
        """
        past = [] if self._past is None else self._past.inputs
        return past, len(past), self._part

    def next_past(self, token: object) -> _Past:
        """Return what the next turn need not look at."""
        past = self._past
        if past is not None and past.token == token:
            return past
        if past is not None:
            self.rewritten = [*self.rewritten, *past.rewritten()]
        return _Past(token)


class History:
    """What is kept from turn to turn.

    Args:
        mode: ``verified`` looks at every message in every turn. ``append_only`` relies on the host
            not to change a message in place once a later assistant message follows it.
    """

    def __init__(self, mode: HistoryMode) -> None:
        """Begin without a turn."""
        self.mode: Final = mode
        self._past: _Past | None = None
        self._rewritten: list[object] = []

    def begin(self, messages: Sequence[Any]) -> Turn:
        """Begin a turn; what it began with is gone unless :meth:`keep` follows."""
        past, self._past = self._past, None
        if self.mode == "append_only" and type(messages) is tuple:
            messages = list(messages)
        return Turn(messages, past, self._rewritten)

    def keep(self, turn: Turn, token: object) -> None:
        """Take over what the next turn can use."""
        past = turn.next_past(token) if self.mode == "append_only" else None
        self._past, self._rewritten = past, turn.rewritten

    def forget(self) -> None:
        """Let go of every message."""
        self._past = None
        self._rewritten = []
