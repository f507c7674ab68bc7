"""Columns: the results of a message list as numbers alone, for audits of millions of them."""

from __future__ import annotations

from array import array
from enum import IntEnum
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from toolbudget._core.pure.collect import collect
from toolbudget._core.pure.fingerprint import fingerprint
from toolbudget._core.pure.plan import is_applicable
from toolbudget._core.pure.replacement import REFERENCE_MAX_CHARS, is_framed_reference

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable

    from toolbudget._core.pure.candidate import Candidate
    from toolbudget._core.pure.collect import SkipReason, Survey
    from toolbudget._core.pure.decision import Known
    from toolbudget._core.pure.fingerprint import Fingerprint

__all__ = ["Columns", "Standing", "columns"]


class Standing(IntEnum):
    """What holds about a result before a call; the numbers of a column.

    An earlier replacement goes before exemption, and exemption and being a reference go before an
    earlier decision to keep, since they say whether and as what a kept result counts.

    Example:
        >>> Standing(2).name
        'REPLACED'
    """

    FRESH = 0
    """Nothing was decided about it."""
    KEPT = 1
    """It was decided to stay, and counts."""
    REPLACED = 2
    """A recorded replacement is put in its place."""
    EXEMPT = 3
    """Neither limit touches it, decided or not; it does not count."""
    REFERENCE = 4
    """It is a replacement already, decided or not; it stays and counts."""


class Columns(NamedTuple):
    """The columns of a list as native numbers in bytes, in the order of its results.

    Attributes:
        group: ``int32``: its group, numbered in the order in which they begin.
        message: ``int32``: position of its message in the list.
        block: ``int32``: position of its block in the message.
        size: ``int64``: characters of its text.
        tool: ``int32``: its tool, an index into ``tool_names``; -1 if there is no name.
        standing: ``int8``: what holds about it, a :class:`Standing`.
        replaced: ``int32``: the rows that are replaced.
        replacement_size: ``int64``: for each of those the characters of its replacement.
        is_followed: ``bool``, by group: whether a later group of its chain follows.
        tool_names: Names in the order of the rows.
        skipped: Results without a row, by reason.
    """

    group: bytes
    message: bytes
    block: bytes
    size: bytes
    tool: bytes
    standing: bytes
    replaced: bytes
    replacement_size: bytes
    is_followed: bytes
    tool_names: tuple[str, ...]
    skipped: Counter[SkipReason]


def columns(
    messages: object, known: Known | None, is_exempt_tool: Callable[[str], bool]
) -> Columns:
    """Find every tool result of a message list, as numbers alone.

    Args:
        messages: A sequence of API messages, transcript records or message objects.
        known: What was decided before; a text is hashed only if something is known about its id.
        is_exempt_tool: Tells by a tool's name whether its limit is infinite; asked once per name.

    Raises:
        InvalidMessageError: ``messages`` cannot be a message list.
        OverflowError: A position does not fit into 31 bits.
    """
    survey = collect(messages, is_exempt_tool)
    rows = _rows(survey)
    candidates = [candidate for _, candidate in rows]
    judge = _Judge(known)
    replacements = judge.replacements(survey)
    codes: dict[str, int] = {}
    tools = [
        -1 if name is None else codes.setdefault(name, len(codes))
        for name in (candidate.tool_name for candidate in candidates)
    ]
    replaced = [
        (row, replacements[id(candidate)])
        for row, candidate in enumerate(candidates)
        if id(candidate) in replacements
    ]
    return Columns(
        group=_bytes("i", (group for group, _ in rows)),
        message=_bytes("i", (candidate.message_index for candidate in candidates)),
        block=_bytes("i", (candidate.block_index for candidate in candidates)),
        size=_bytes("q", (candidate.size for candidate in candidates)),
        tool=_bytes("i", tools),
        standing=_bytes(
            "b",
            (
                Standing.REPLACED if id(candidate) in replacements else judge.standing(candidate)
                for candidate in candidates
            ),
        ),
        replaced=_bytes("i", (row for row, _ in replaced)),
        replacement_size=_bytes("q", (len(replacement) for _, replacement in replaced)),
        is_followed=bytes(group.is_followed for group in survey.groups),
        tool_names=tuple(codes),
        skipped=survey.skipped,
    )


def _rows(survey: Survey) -> list[tuple[int, Candidate]]:
    """Give the results with their groups in the order in which they stand in the list."""
    rows = [
        (number, item) for number, group in enumerate(survey.groups) for item in group.candidates
    ]
    return sorted(rows, key=lambda row: (row[1].message_index, row[1].block_index))


def _bytes(typecode: str, values: Iterable[int]) -> bytes:
    return array(typecode, values).tobytes()


class _Judge:
    """Tells what holds about results, from what was decided before."""

    def __init__(self, known: Known | None) -> None:
        self._known = known

    def replacements(self, survey: Survey) -> dict[int, str]:
        """Return the recorded replacements by ``id()`` of the candidate.

        One that another program recorded without a fingerprint goes to the first text that it fits.
        """
        if self._known is None:
            return {}
        replacements: dict[int, str] = {}
        adopted: dict[str, Fingerprint] = {}
        for candidate in chain.from_iterable(group.candidates for group in survey.groups):
            known = self._known.decisions.get(candidate.tool_use_id, {})
            foreign = self._known.unapplied.get(candidate.tool_use_id)
            if not known and foreign is None:
                continue
            text_fingerprint = fingerprint(candidate.parts)
            if text_fingerprint in known:
                replacement = known[text_fingerprint]
                if replacement is not None:
                    replacements[id(candidate)] = replacement
                continue
            if foreign is None or not self._may_adopt(candidate, foreign):
                continue
            if adopted.setdefault(candidate.tool_use_id, text_fingerprint) == text_fingerprint:
                replacements[id(candidate)] = foreign
        return replacements

    def standing(self, candidate: Candidate) -> Standing:
        """Tell what holds about a result that is not replaced."""
        if candidate.is_exempt:
            return Standing.EXEMPT
        if self._is_reference(candidate):
            return Standing.REFERENCE
        known = {} if self._known is None else self._known.decisions.get(candidate.tool_use_id, {})
        if known and fingerprint(candidate.parts) in known:
            return Standing.KEPT
        return Standing.FRESH

    def _may_adopt(self, candidate: Candidate, foreign: str) -> bool:
        return is_applicable(foreign, candidate.size) and not self._is_reference(candidate)

    def _is_reference(self, candidate: Candidate) -> bool:
        if self._known is not None:
            same_length = self._known.replacements.get(candidate.size, ())
            if candidate.text in same_length:
                return True
        return candidate.size <= REFERENCE_MAX_CHARS and is_framed_reference(candidate.text)
