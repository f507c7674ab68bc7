"""What a session keeps of the messages that it has enforced, so that it need not do it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from toolbudget import _core as core
from toolbudget.budget.taking import take, unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget._core.pure import Change, Known, Plan, PlanOptions
    from toolbudget.budget.journal import Journal

__all__ = ["HISTORY_MODES", "History", "HistoryMode", "Turn"]

HistoryMode: TypeAlias = Literal["verified", "append_only"]

HISTORY_MODES: Final = ("verified", "append_only")


class Turn:
    """One enforcement: what of its messages is looked at, and what comes back.

    Args:
        messages: Everything that the next request would hold.
        past: What need not be looked at, as long as the token stays equal. Its list of messages
            only grows.
        token: The one that the past was made with.
        rewritten: Each changed message that was looked at, followed by what it has become.
        known: What was known to the turn before, as long as the token stays equal.

    Attributes:
        part: What is looked at: a list that is nobody else's, or cannot be changed.
        token: The one that the plan was made with, once it is made.
    """

    __slots__ = ("_token", "known", "messages", "part", "past", "rewritten", "token")

    def __init__(
        self,
        messages: Sequence[Any],
        past: core.Past | None,
        token: object,
        rewritten: list[object],
        known: Known | None,
    ) -> None:
        """Begin with what is kept of the turn before."""
        self.messages = messages
        self.part = messages
        self.past = past
        self._token = self.token = token
        self.rewritten = rewritten
        self.known = known

    def plan(self, journal: Journal, options: PlanOptions, token: object) -> Plan:
        """Decide about what follows the past, or about everything if that is not sure to do.

        Raises:
            InvalidMessageError: The messages cannot be a message list.
        """
        self.token = token
        past, messages = self.past, self.messages
        if past is not None:
            if self._token == token and type(messages) is list:
                known = self.known
                if known is None or known.fingerprints is not journal.fingerprints:
                    known = journal.state.known(journal.fingerprints, is_part=True)
                    self.known = known
                planned = core.plan_rest(past, messages, known, options, self.rewritten)
                if planned is not None:
                    plan, self.part = planned
                    return plan
            self._rewrite_anew(past)
            self.past = self.known = None
        known = journal.state.known(journal.fingerprints)
        self.part = take(messages)
        return core.plan(self.part, known, options)

    def _rewrite_anew(self, past: core.Past) -> None:
        self.rewritten = [*self.rewritten, *past.rewritten()]

    def rewrite(self, changes: Sequence[Change]) -> list[Any]:
        """Return the whole output; a list in which nothing changes is the same object."""
        part, past = self.part, self.past
        output: Any = part
        if changes:
            output, self.rewritten = core.rewrite_again(part, changes, self.rewritten)
        elif self.rewritten:
            self.rewritten = []
        joined = None if past is None else past.join(output)
        if joined is not None:
            return joined
        beginning: list[Any] = [] if past is None else past.inputs
        if output is part:
            return unchanged(self.messages, part, beginning=beginning)
        return [*beginning, *output] if beginning else cast("list[Any]", output)

    def begin_past(self) -> core.Past:
        """Return the past of the next turn, if this one's is of no use to it."""
        if self.past is not None:
            # For the next turn only: this one has been counted with it.
            self._rewrite_anew(self.past)
        return core.Past()


class History:
    """What is kept from turn to turn.

    Args:
        mode: ``verified`` looks at every message in every turn. ``append_only`` relies on the host
            not to change a message in place once a later assistant message follows it.
    """

    def __init__(self, mode: HistoryMode) -> None:
        """Begin without a turn."""
        self.mode: Final = mode
        self._past: core.Past | None = None
        self._token: object = None
        self._known: Known | None = None
        self._rewritten: list[object] = []

    def begin(self, messages: Sequence[Any]) -> Turn:
        """Begin a turn; what it began with is gone unless :meth:`keep` follows."""
        past, self._past = self._past, None
        if self.mode == "append_only" and type(messages) is tuple:
            messages = list(messages)
        return Turn(messages, past, self._token, self._rewritten, self._known)

    def keep(self, turn: Turn, token: object) -> None:
        """Take over what the next turn can use."""
        is_same = self._token == token
        if self.mode == "append_only":
            past = turn.past
            self._past = past if is_same and past is not None else turn.begin_past()
        self._known = turn.known if is_same else None
        self._token, self._rewritten = token, turn.rewritten

    def forget(self) -> None:
        """Let go of every message."""
        self._past = None
        self._token = self._known = None
        self._rewritten = []
