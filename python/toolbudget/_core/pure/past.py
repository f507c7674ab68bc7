"""The beginning of a conversation that nothing which follows can change any more."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, cast

from toolbudget._core.pure.choose import excess, totals_over
from toolbudget._core.pure.outline import begins_with, outline
from toolbudget._core.pure.plan import plan
from toolbudget._core.pure.rewrite import rewrite_again
from toolbudget.errors import InvalidMessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolbudget._core.pure.decision import Known, PlanOptions
    from toolbudget._core.pure.outline import Outline
    from toolbudget._core.pure.plan import Plan
    from toolbudget._core.pure.shape import Chain

__all__ = ["Past", "Sums", "plan_rest"]


class Sums(NamedTuple):
    """What a report counts in messages about which nothing was left to decide."""

    groups: int = 0
    candidates: int = 0
    reapplied: int = 0
    skipped: Mapping[str, int] = MappingProxyType({})
    chars_before: int = 0
    chars_gained: int = 0
    over_limit_chars: int = 0

    def plus(self, plan: Plan, options: PlanOptions) -> Sums:
        """Add what a plan that decides nothing has counted."""
        limit, accounting = options.limit, options.accounting
        over = totals_over(plan.totals, limit, accounting)
        return Sums(
            self.groups + len(plan.totals),
            self.candidates + plan.candidates,
            self.reapplied + len(plan.changes),
            Counter(self.skipped) + Counter(plan.skipped),
            self.chars_before + plan.chars_before,
            self.chars_gained + plan.chars_gained,
            self.over_limit_chars + excess(over, limit, accounting),
        )


class Past:
    """The beginning of a conversation that nothing which follows can change any more.

    All of it is decided, and every group of it has ended. It ends before an assistant message. It
    begins empty, and grows when :func:`plan_rest` finds that more has ended.

    Attributes:
        inputs: Its messages; the list only grows.
        outputs: What has become of each of them.
        sums: What was counted in it.

    Example:
        >>> past = Past()
        >>> past.inputs, past.join([{"role": "user"}])
        ([], None)
    """

    __slots__ = ("_ids", "_is_changed", "_open_chains", "inputs", "outputs", "sums")

    def __init__(self) -> None:
        """Begin without messages."""
        self.inputs: list[object] = []
        self.outputs: list[object] = []
        self.sums = Sums()
        self._is_changed = False
        self._ids: set[str] = set()
        self._open_chains: set[Chain | None] = set()

    def join(self, output: list[object], /) -> list[object] | None:
        """Return the whole output, given what follows; ``None`` if nothing is changed here."""
        return self.outputs + output if self._is_changed else None

    def rewritten(self) -> list[object]:
        """Return each changed message followed by what it has become."""
        pairs = zip(self.inputs, self.outputs, strict=True)
        return [one for pair in pairs if pair[0] is not pair[1] for one in pair]

    def is_independent_of(self, rest: Outline) -> bool:
        """Tell whether what follows has no call, result, answer or open group in common with it."""
        if self.inputs and rest.first_chain is None:
            # Without the answer that ended it, the last message may change again.
            return False
        left = self._open_chains - {rest.first_chain}
        return left.isdisjoint(rest.chains) and self._ids.isdisjoint(rest.ids)

    def close(
        self,
        rest: list[object],
        drawn: Outline,
        known: Known,
        options: PlanOptions,
        earlier: list[object],
    ) -> bool:
        """Take over what stands before the boundary of the rest, if all of it is decided."""
        ids, ids_before = drawn.ids, drawn.ids_before
        if not set(ids[:ids_before]).isdisjoint(ids[ids_before:]):
            return False
        closed = output = rest[: drawn.boundary]
        settled = plan(closed, known, options)
        if settled.decides:
            return False
        if settled.changes:
            rewritten, _ = rewrite_again(closed, settled.changes, earlier)
            output = cast("list[object]", rewritten)
            self._is_changed = True
        self.sums = self.sums.plus(settled, options)
        self.inputs += closed
        self.outputs += output
        self._ids.update(ids[:ids_before])
        self._open_chains.discard(drawn.first_chain)
        self._open_chains.update(drawn.open_chains)
        return True


def plan_rest(
    past: Past,
    messages: list[object],
    known: Known,
    options: PlanOptions,
    earlier: list[object],
) -> tuple[Plan, list[object]] | None:
    """Decide about what follows the past in a list, which looks at nothing else.

    What has ended meanwhile becomes a part of the past before that.

    Args:
        past: A beginning of earlier lists. If this raises, it is not to be used again.
        messages: The whole list.
        known: What was decided before; what was decided about the past still holds.
        options: Those that the past was made with.
        earlier: Changed messages, each followed by what it has become: what is still the same is
            used again.

    Returns:
        The plan and the messages that it is about; ``None`` if only a plan of the whole list is
        sure to be right: it does not begin with the past, something of the past occurs again, or
        it cannot be a message list.

    Example:
        >>> from toolbudget._core.pure import Known, PlanOptions
        >>> options = PlanOptions(
        ...     limit=9,
        ...     preview_bytes=100,
        ...     expected_path=lambda name, is_json: f"/{name}.txt",
        ...     is_stored_as_json=lambda content: False,
        ...     is_exempt_tool=lambda name: False,
        ... )
        >>> messages = [{"role": "user", "content": "hello"}]
        >>> plan, rest = plan_rest(Past(), messages, Known({}, {}), options, [])
        >>> plan.decides, rest == messages
        (False, True)
    """
    if not begins_with(messages, past.inputs):
        return None
    rest = messages[len(past.inputs) :]
    try:
        drawn = outline(rest)
        if not past.is_independent_of(drawn):
            return None
        if drawn.boundary and past.close(rest, drawn, known, options, earlier):
            rest = rest[drawn.boundary :]
        return plan(rest, known, options), rest
    except InvalidMessageError:
        # A plan of the whole list finds it too, and names its place there.
        return None
