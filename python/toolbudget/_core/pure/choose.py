"""Choosing among the fresh results of one group: largest first, previews counted, shrinking."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.replacement import FRAME_CHARS, build_replacement
from toolbudget._core.pure.shown import show_preview
from toolbudget._core.pure.size import utf8_length
from toolbudget._core.pure.unit import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from toolbudget._core.pure.candidate import Candidate
    from toolbudget._core.pure.decision import Accounting, Key, PlanOptions
    from toolbudget._core.pure.shown import Shown

__all__ = ["Choice", "Fresh", "GroupTotals", "Prepared", "choose", "excess", "totals_over"]

# Shares of `preview_bytes`, tried in this order until the group fits.
PREVIEW_STEPS_PERCENT: Final = (100, 50, 25, 10, 0)


@dataclass(slots=True)
class GroupTotals:
    """Sizes of one group by kind, in the unit of its limit; exempt results are in none of them."""

    frozen: int = 0
    standing: int = 0
    fresh: int = 0  # before the choice: all fresh ones; choices are taken off in `gained`
    gained: int = 0

    def visible(self, accounting: Accounting) -> int:
        """What the limit bounds: with ``originals`` neither previews nor standing replacements."""
        standing = self.standing if accounting == "visible" else 0
        return self.frozen + standing + self.fresh - self.gained


def totals_over(
    totals: Sequence[GroupTotals], limit: float, accounting: Accounting
) -> list[GroupTotals]:
    """Return the totals of the groups that are over a limit.

    Example:
        >>> totals_over([GroupTotals(frozen=5), GroupTotals(frozen=9)], 8, "visible")
        [GroupTotals(frozen=9, standing=0, fresh=0, gained=0)]
    """
    return [item for item in totals if item.visible(accounting) > limit]


def excess(over: Iterable[GroupTotals], limit: float, accounting: Accounting) -> int:
    """Return by how much groups are over a limit that each of them is over, together.

    Example:
        >>> excess([GroupTotals(frozen=9), GroupTotals(frozen=8)], 7.5, "visible")
        3
    """
    return sum(math.ceil(item.visible(accounting) - limit) for item in over)


@dataclass(slots=True)
class Fresh:
    """One undecided result and every place in its group where it stands."""

    occurrences: list[Candidate]

    @property
    def size(self) -> int:
        """Characters of its text."""
        return self.occurrences[0].size


@dataclass(slots=True)
class Prepared:
    """A fresh result with the text that may be stored and shown (redacted, if the host asked).

    Attributes:
        fresh: The result.
        parts: The texts that make its text when joined.
        head: As much of the joined text as any preview is cut from; several parts are never joined
            as a whole.
    """

    fresh: Fresh
    parts: tuple[str, ...]
    head: str
    _size_bytes: int | None = None

    @property
    def size_bytes(self) -> int:
        """UTF-8 bytes of the text, counted at first use: most results are never chosen."""
        if self._size_bytes is None:
            self._size_bytes = sum(map(utf8_length, self.parts))
        return self._size_bytes


@dataclass(slots=True)
class Choice:
    """A fresh result to be replaced, with the replacement it gets if its store succeeds.

    Attributes:
        key: Which result.
        occurrences: Where it stands in its group.
        prepared: The text to store and show.
        path: The path that the replacement assumes.
        preview_bytes: Size of the preview at the step that was chosen.
        replacement: The exact text.
        totals: The totals of its group.
        shown: The preview, if it is another one than the beginning of the text.
        followers: Occurrences in later groups of the call, with the totals of theirs.
    """

    key: Key
    occurrences: list[Candidate]
    prepared: Prepared
    path: str
    preview_bytes: int
    replacement: str
    totals: GroupTotals
    shown: Shown | None = None
    followers: list[tuple[Candidate, GroupTotals]] = field(default_factory=list)

    @property
    def content(self) -> object:
        """The content as the host gave it."""
        return self.occurrences[0].content

    @property
    def size(self) -> int:
        """Characters of the text that is replaced."""
        return self.occurrences[0].size

    def build(self, path: str, reader_hint: str | None) -> str:
        """Build the replacement for a path: the assumed one, or the one the store came to use."""
        return build_replacement(
            self.prepared.head,
            path,
            preview_bytes=self.preview_bytes,
            reader_hint=reader_hint,
            size_bytes=self.prepared.size_bytes,
            shown=self.shown,
        )


def choose(
    prepared: Mapping[Key, Prepared],
    totals: GroupTotals,
    options: PlanOptions,
    size_of: Callable[[Candidate], int],
) -> dict[Key, Choice]:
    """Choose what to replace in a group that is over the limit, and note the gain in ``totals``.

    ``size_of`` tells the size of a result in the unit of the limit.

    The first preview size at which the group fits holds for all; if none fits, the smallest one.
    """
    largest_first = sorted(prepared.items(), key=lambda item: -item[1].fresh.size)
    chosen: dict[Key, Choice] = {}
    gained = 0

    @cache  # the host is asked once, whatever the size of the preview
    def path_of(key: Key) -> str:
        content = prepared[key].fresh.occurrences[0].content
        is_json = not isinstance(content, str) and options.is_stored_as_json(content)
        return options.expected_path(key.tool_use_id, is_json)

    for preview_bytes in _preview_sizes(totals, options):
        chosen, gained = _choose_at(
            largest_first, preview_bytes, totals, options, path_of=path_of, size_of=size_of
        )
        if totals.visible(options.accounting) - gained <= options.limit:
            break
    totals.gained = gained
    return chosen


def _preview_sizes(totals: GroupTotals, options: PlanOptions) -> Iterator[int]:
    yield options.preview_bytes
    fixed = totals.frozen + totals.standing
    if options.accounting == "originals" or fixed > options.limit:
        return
    for percent in PREVIEW_STEPS_PERCENT[1:]:
        yield options.preview_bytes * percent // 100


def _choose_at(
    largest_first: list[tuple[Key, Prepared]],
    preview_bytes: int,
    totals: GroupTotals,
    options: PlanOptions,
    *,
    path_of: Callable[[Key], str],
    size_of: Callable[[Candidate], int],
) -> tuple[dict[Key, Choice], int]:
    chosen: dict[Key, Choice] = {}
    visible = totals.visible(options.accounting)
    gained = 0
    for key, item in largest_first:
        if visible - gained <= options.limit or item.fresh.size <= FRAME_CHARS:
            break
        choice = Choice(
            key=key,
            occurrences=item.fresh.occurrences,
            prepared=item,
            path=path_of(key),
            preview_bytes=preview_bytes,
            replacement="",
            totals=totals,
            shown=_shown(item, preview_bytes, options),
        )
        choice.replacement = choice.build(choice.path, options.reader_hint)
        if len(choice.replacement) >= choice.size:
            continue
        chosen[key] = choice
        is_shown = options.accounting == "visible"
        shown = measure((choice.replacement,), options.unit) if is_shown else 0
        gained += (size_of(choice.occurrences[0]) - shown) * len(choice.occurrences)
    return chosen, gained


def _shown(item: Prepared, preview_bytes: int, options: PlanOptions) -> Shown | None:
    """Show the text in the style that is asked for, if that shows more than its beginning."""
    if options.preview_style == "head" or preview_bytes <= 0:
        return None
    shown = show_preview(item.parts, preview_bytes, options.preview_style, options.outline)
    return None if shown.style == "head" else shown
