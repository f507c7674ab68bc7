"""Where two requests first differ, and what happened there."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from toolbudget.budget.prefix_json import Leaf, Path, json_text, leaves
from toolbudget.budget.prefix_marks import prompt_order, without_markers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolbudget.budget.prefix_marks import Mark, Part, PartMarks, Snapshot

__all__ = [
    "EXCERPT_CHARS",
    "Change",
    "Comparison",
    "Difference",
    "Place",
    "compare",
    "difference_at",
    "excerpt",
    "find_difference",
    "path_of",
    "value_at",
]

Change: TypeAlias = Literal["changed", "inserted", "removed", "shortened", "moved"]

EXCERPT_CHARS: Final = 60
"""No more of a text than this is ever shown."""

_SHOWN_BEFORE_CHARS: Final = 20


class Place(NamedTuple):
    """A part of a request, or something in it."""

    parameter: str | None
    """The parameter; ``None`` for a message."""
    message_index: int | None
    block_index: int | None
    is_whole: bool
    """The whole message or parameter is meant; without a block, its frame otherwise."""

    @property
    def key(self) -> str | int:
        """The parameter's name, or the message's index."""
        return self.parameter if self.parameter is not None else self.message_index or 0


class Comparison(NamedTuple):
    """What comparing two requests has shown."""

    change: Change | None
    """What happened at the first difference; ``None`` if there is none."""
    place: Place | None
    """Where that is."""
    marker_place: Place | None
    """Where the first ``cache_control`` before that has moved."""
    kept_chars: int
    """Characters before the first difference."""
    before_chars: int
    """Characters of the earlier request."""
    form_place: Place | None
    """Where the first text before that has become a list of one block, or the other way round."""

    @property
    def first_place(self) -> Place | None:
        """Where the difference is, else the moved marker, else the other form."""
        return self.place or self.marker_place or self.form_place


class Difference(NamedTuple):
    """Where two JSON values first differ."""

    path: Path
    offset_chars: int
    """The first differing character, if both are texts."""
    before: str | None
    now: str | None
    path_before: Path
    """The way in the earlier one, where another member stands; else the same."""


def compare(before: Snapshot, now: Snapshot) -> Comparison:
    """Find the first place where a request does not go on as the earlier one did.

    A last message that has got more blocks behind those it had is no difference.
    """
    kept_chars = 0
    unsent = _Unsent()
    before_chars = sum(part.size_chars for part in _all_parts(before))
    for name, old, new in _parameter_pairs(before, now):
        change, block_index, is_whole = _compare_parts(old, new, may_grow=False)
        if change is not None:
            kept_chars += _kept_in_part(old, block_index)
            place = Place(name, None, block_index, is_whole)
            return unsent.comparison(change, place, kept_chars, before_chars)
        unsent.look(old, new, name, None)
        kept_chars += old.size_chars if old else 0
    last = len(before.messages) - 1
    for index, old in enumerate(before.messages):
        new = now.messages[index] if index < len(now.messages) else None
        change, block_index, is_whole = _compare_parts(old, new, may_grow=index == last)
        if change is not None:
            around = _classify(before.messages, now.messages, index)
            if around != "changed":
                change, block_index, is_whole = around, None, True
            kept_chars += _kept_in_part(old, block_index)
            place = Place(None, index, block_index, is_whole)
            return unsent.comparison(change, place, kept_chars, before_chars)
        unsent.look(old, new, None, index)
        kept_chars += old.size_chars
    return unsent.comparison(None, None, kept_chars, before_chars)


def find_difference(before: object, now: object) -> Difference | None:
    """Find the first leaf in which two values differ; ``None`` if their JSON forms are equal.

    Example:
        >>> found = find_difference({"a": 1, "b": "long text"}, {"a": 1, "b": "long test"})
        >>> found.path, found.offset_chars
        (('b',), 7)
    """
    for old, new in zip_longest(leaves(before), leaves(now)):
        if old == new:
            continue
        if old is None or new is None or old.path != new.path:
            return _missing_leaf(old, new)
        old_text, new_text = old.shown, new.shown
        offset_chars = _common_chars(old_text, new_text)
        return Difference(new.path, offset_chars, old_text, new_text, old.path)
    return None


def path_of(place: Place, part: Part | None, below: Path = ()) -> Path:
    """Return the way to a place from the message list, or from the body for a parameter."""
    start: Path = (place.key,)
    if part is None or place.is_whole:
        return start
    if place.block_index is None:
        way = (*part.path, *below)
    elif part.is_text:
        way = (*part.block_path(place.block_index), *(() if below == ("text",) else below))
    else:
        way = (*part.block_path(place.block_index), *below)
    # The value of a parameter was taken for content.
    return (*start, *way) if place.parameter is None else (*start, *way[1:])


def value_at(place: Place, part: Part | None) -> tuple[object, ...]:
    """Return what stands at a place without its markers, as the only item; nothing if it is gone.

    A whole message is its blocks and its frame, since what people recognise is in its blocks.
    """
    if part is None:
        return ()
    if place.is_whole:
        return ([*(without_markers(block)[0] for block in part.blocks), part.frame],)
    if place.block_index is None:
        return (without_markers(part.frame)[0],)
    blocks = part.blocks[place.block_index : place.block_index + 1]
    return tuple(without_markers(block)[0] for block in blocks)


def difference_at(place: Place, before: Part | None, now: Part | None) -> Difference | None:
    """Find where two parts differ at a place; the path begins at what the place means."""
    old, new = value_at(place, before), value_at(place, now)
    if old and new:
        return find_difference(old[0], new[0])
    return Difference(
        path=(),
        offset_chars=0,
        before=json_text(old[0]) if old else None,
        now=json_text(new[0]) if new else None,
        path_before=(),
    )


def excerpt(text: str, offset_chars: int = 0) -> str:
    """Cut a few characters around a position out of a text.

    Example:
        >>> excerpt("a" * 100 + "b" + "c" * 100, 100)
        'aaaaaaaaaaaaaaaaaaaabccccccccccccccccccccccccccccccccccccccc'
    """
    start = max(0, offset_chars - _SHOWN_BEFORE_CHARS)
    return text[start : start + EXCERPT_CHARS]


def _all_parts(snapshot: Snapshot) -> Iterator[PartMarks]:
    yield from (snapshot.parameters or {}).values()
    yield from snapshot.messages


def _parameter_pairs(
    before: Snapshot, now: Snapshot
) -> Iterator[tuple[str, PartMarks | None, PartMarks | None]]:
    """Yield the parameters of both in the order of the prompt; none if one is a message list."""
    if before.parameters is None or now.parameters is None:
        return
    for name in prompt_order({*before.parameters, *now.parameters}):
        yield name, before.parameters.get(name), now.parameters.get(name)


def _compare_parts(
    old: PartMarks | None, new: PartMarks | None, *, may_grow: bool
) -> tuple[Change | None, int | None, bool]:
    """Return what happened to a part, in which block, and whether all of it is meant."""
    if old is None or new is None:
        change: Change | None = "inserted" if old is None else "removed"
        return (None if old is new else change), None, True
    if old.frame.digest != new.frame.digest:
        return "changed", None, False
    for index, mark in enumerate(old.blocks):
        if index == len(new.blocks) or new.blocks[index].digest != mark.digest:
            change = _classify(old.blocks, new.blocks, index)
            return ("removed" if change == "shortened" else change), index, False
    if len(new.blocks) > len(old.blocks) and not may_grow:
        return "inserted", len(old.blocks), False
    return None, None, False


def _classify(
    before: Sequence[PartMarks] | Sequence[Mark],
    now: Sequence[PartMarks] | Sequence[Mark],
    index: int,
) -> Change:
    """Tell what happened at the first difference of two lists by what stands behind it."""
    if index == len(now):
        return "shortened"
    old = [item.digest for item in before[index:]]
    new = [item.digest for item in now[index:]]
    is_pushed_back = old[0] in set(new)
    comes_early = new[0] in set(old)
    if is_pushed_back and comes_early:
        return "removed" if Counter(old) - Counter(new) else "moved"
    if is_pushed_back:
        return "inserted"
    # Behind a summary that stands in the place of several, too.
    is_cut = comes_early or (len(new) > 1 and new[1] in set(old[2:]) and new[1] != old[1])
    return "removed" if is_cut else "changed"


def _kept_in_part(old: PartMarks | None, block_index: int | None) -> int:
    if old is None or block_index is None:
        return 0
    return old.frame.size_chars + sum(mark.size_chars for mark in old.blocks[:block_index])


class _Unsent:
    """Where parts differ first in what the provider does not see: markers, and forms of a text."""

    def __init__(self) -> None:
        self._marker_place: Place | None = None
        self._form_place: Place | None = None

    def look(
        self,
        old: PartMarks | None,
        new: PartMarks | None,
        parameter: str | None,
        message_index: int | None,
    ) -> None:
        """Look at a part that is otherwise the same in both."""
        if old is None or new is None:
            return
        if self._marker_place is None and old.frame.markers != new.frame.markers:
            self._marker_place = Place(parameter, message_index, None, is_whole=False)
        for index, (before, now) in enumerate(zip(old.blocks, new.blocks, strict=False)):
            if self._marker_place is None and before.markers != now.markers:
                self._marker_place = Place(parameter, message_index, index, is_whole=False)
            if self._form_place is None and before.is_text != now.is_text:
                self._form_place = Place(parameter, message_index, index, is_whole=False)

    def comparison(
        self, change: Change | None, place: Place | None, kept_chars: int, before_chars: int
    ) -> Comparison:
        """Give what was found."""
        return Comparison(
            change, place, self._marker_place, kept_chars, before_chars, self._form_place
        )


def _missing_leaf(old: Leaf | None, new: Leaf | None) -> Difference:
    """Name the member that only one of two values has."""
    old_path, new_path = old.path if old else (), new.path if new else ()
    common = _common_chars(old_path, new_path)
    if old is None or new is None or common < min(len(old_path), len(new_path)):
        common += 1  # otherwise a container has become something else: it is meant itself
    return Difference(
        path=(new_path if new else old_path)[:common],
        offset_chars=0,
        before=old.shown if old else None,
        now=new.shown if new else None,
        path_before=(old_path if old else new_path)[:common],
    )


def _common_chars(before: Sequence[object], now: Sequence[object]) -> int:
    """Count the items that two texts or paths have in common at their beginning."""
    low, high = 0, min(len(before), len(now))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == now[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
