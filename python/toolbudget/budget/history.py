"""What a session keeps of the messages that it has enforced, so that it need not do it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from toolbudget import _core as core
from toolbudget.budget.summary import Sums
from toolbudget.errors import InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolbudget._core.pure import Change, Outline, Plan, PlanOptions
    from toolbudget._core.pure.shape import Chain
    from toolbudget.budget.journal import Journal

__all__ = ["HISTORY_MODES", "History", "HistoryMode", "Turn"]

HistoryMode: TypeAlias = Literal["verified", "append_only"]

HISTORY_MODES: Final = ("verified", "append_only")


class _Past:
    """The beginning of a conversation that nothing which follows can change any more.

    All of it is decided, and every group of it has ended. It ends before an assistant message.
    """

    __slots__ = (
        "_ids",
        "_is_changed",
        "_open_chains",
        "_summed",
        "inputs",
        "outputs",
        "sums",
        "token",
    )

    def __init__(self, token: object) -> None:
        """Begin without messages; it is of use as long as the token stays equal."""
        self.token = token
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.sums = Sums()
        # How many of the messages are summed up.
        self._summed = 0
        self._is_changed = False
        self._ids: set[str] = set()
        self._open_chains: set[Chain] = set()

    def is_independent_of(self, outline: Outline) -> bool:
        """Tell whether what follows has no call, result, answer or open group in common with it."""
        return self._ids.isdisjoint(outline.ids) and (
            not self._open_chains or self._open_chains.isdisjoint(outline.chains)
        )

    def sum_up(self, journal: Journal, options: PlanOptions) -> bool:
        """Count what became past in the last turn; ``False`` if anything of it is undecided."""
        if self._summed == len(self.inputs):
            return True
        closed = self.inputs[self._summed :]
        plan = core.plan(closed, journal.state.known(journal.fingerprints), options)
        if plan.decides:
            return False
        self.sums.add(plan, options.limit, options.accounting)
        self._summed = len(self.inputs)
        return True

    def join(self, output: list[Any]) -> list[Any] | None:
        """Return the whole output, given what follows; ``None`` if nothing is changed here."""
        return self.outputs + output if self._is_changed else None

    def grow(self, part: list[Any], output: list[Any], outline: Outline) -> None:
        """Take over the messages before the boundary, if no id of them occurs behind it."""
        boundary, ids, ids_before, _, open_chains = outline
        new_ids = set(ids[:ids_before])
        if boundary == 0 or not new_ids.isdisjoint(ids[ids_before:]):
            return
        closed = part[:boundary]
        self._is_changed |= output is not part and not core.begins_with(output, closed)
        self.inputs += closed
        self.outputs += output[:boundary]
        self._ids |= new_ids
        self._open_chains.update(open_chains)

    def rewritten(self) -> Iterator[object]:
        """Yield each changed message followed by what it has become."""
        for message, output in zip(self.inputs, self.outputs, strict=True):
            if message is not output:
                yield from (message, output)


class Turn:
    """One enforcement: what of its messages is looked at, and what comes back."""

    def __init__(
        self, messages: Sequence[Any], past: _Past | None, rewritten: list[object]
    ) -> None:
        """Begin with what is kept of the turn before."""
        self._messages = messages
        self._part = messages
        self._past = past
        self._outline: Outline | None = None
        self._rewritten = rewritten

    @property
    def sums(self) -> Sums:
        """What was counted in the messages that were not looked at."""
        return Sums() if self._past is None else self._past.sums

    def plan(self, journal: Journal, options: PlanOptions, token: object) -> Plan:
        """Decide about what follows the past, or about everything if that is not sure to do.

        Raises:
            InvalidMessageError: The messages cannot be a message list.
        """
        past = self._past
        if past is not None:
            if past.token == token:
                plan = self._plan_tail(past, journal, options)
                if plan is not None:
                    return plan
            self._past = self._outline = None
            self._part = self._messages
            self._rewritten = [*self._rewritten, *past.rewritten()]
        known = journal.state.known(journal.fingerprints)
        return core.plan(self._messages, known, options)

    def _plan_tail(self, past: _Past, journal: Journal, options: PlanOptions) -> Plan | None:
        messages = self._messages
        if type(messages) is not list or not core.begins_with(messages, past.inputs):
            return None
        tail = messages[len(past.inputs) :]
        try:
            outline = core.outline(tail)
            if not past.is_independent_of(outline) or not past.sum_up(journal, options):
                return None
            plan = core.plan(tail, journal.state.known(journal.fingerprints), options)
        except InvalidMessageError:
            # Looking at everything finds it too, and names its place in the whole list.
            return None
        self._part, self._outline = tail, outline
        return plan

    def rewrite(self, changes: Sequence[Change]) -> list[Any]:
        """Return the whole output; a list in which nothing changes is the same object."""
        part = self._part
        output, self._rewritten = core.rewrite_again(part, changes, self._rewritten)
        self._output = output
        if self._past is None:
            return output if isinstance(output, list) else list(output)
        tail = cast("list[Any]", output)
        joined = self._past.join(tail)
        if joined is not None:
            return joined
        messages = cast("list[Any]", self._messages)
        return messages if output is part else messages[: len(self._past.inputs)] + tail

    def looked_at(self) -> tuple[list[Any], int, tuple[Any, ...]]:
        """Return the messages as a list, how many of its first ones count, and what follows them.

        The list only grows, so that this stays what it is.
        """
        past = [] if self._past is None else self._past.inputs
        return past, len(past), tuple(self._part)

    def next_past(self, token: object) -> _Past | None:
        """Return what the next turn need not look at."""
        part, output, past = self._part, self._output, self._past
        if type(part) is not list or type(output) is not list:
            return None
        if past is not None and past.token != token:
            return None
        outline = self._outline or core.outline(part)
        past = past or _Past(token)
        past.grow(part, output, outline)
        return past if past.inputs else None

    @property
    def rewritten(self) -> list[object]:
        """Each changed message that was looked at, followed by what it has become."""
        return self._rewritten


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
        self._rewritten = turn.rewritten
        if self.mode == "append_only":
            self._past = turn.next_past(token)

    def forget(self) -> None:
        """Let go of every message."""
        self._past = None
        self._rewritten = []
