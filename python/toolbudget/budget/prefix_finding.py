"""What a check of the prefix has found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from toolbudget.tokens.estimate import rough_token_count_for_chars

if TYPE_CHECKING:
    from toolbudget.budget.prefix_compare import Comparison
    from toolbudget.budget.prefix_json import Path

__all__ = ["ChangedBy", "PrefixFinding", "PrefixKind", "kind_of", "shown_path", "token_counts"]

PrefixKind: TypeAlias = Literal[
    "first",
    "extended",
    "cache_control",
    "form",
    "changed",
    "inserted",
    "removed",
    "shortened",
    "moved",
]
ChangedBy: TypeAlias = Literal["host", "library", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixFinding:
    """What a check of :class:`PrefixGuard` has found.

    It can be logged as it is: its text names places and keys only. The excerpts are left out of it,
    since they may hold secrets; none has more than 60 characters.

    Attributes:
        kind: ``first`` (nothing to compare with), ``extended`` (all that was handed out before is
            the beginning, byte for byte up to what closes the last message), ``cache_control`` (it
            is, but for markers that moved), ``form`` (but for a text that is now a list of one
            block, or was), or what happened at the first difference: ``changed``,
            ``inserted`` (what was there follows later), ``removed`` (what followed it now stands
            there), ``shortened`` (it and all messages behind it are gone) or ``moved`` (the same
            things in another order).
        changed_by: ``host`` if what it gave at that place differs from what it gave before, or if
            the place is no message; ``library`` if the host gave the same; ``unknown`` if the guard
            was not told. ``None`` if nothing differs.
        parameter: The parameter that differs (``system``, ``tools``), if it is no message.
        message_index: The message that differs.
        block_index: The block that differs in it, or in the parameter; ``None`` if all of it or
            something besides its blocks does.
        path: Keys and indices from what was checked to what differs, down to the first changed
            value where that is known.
        offset_chars: The first differing character of that value; 0 unless the guard keeps text.
        excerpt_before: What stood there before; ``None`` if nothing did or the guard keeps no text.
        excerpt_now: What stands there now; ``None`` if nothing does.
        kept_tokens: Rough estimate of how much of what was handed out before is still of use.
        lost_tokens: The rest of it.
        has_moved_markers: Markers have moved, before the first difference if there is one.

    Example:
        >>> from toolbudget import PrefixFinding
        >>> print(PrefixFinding(kind="extended"))
        begins with all that was handed out before
    """

    kind: PrefixKind
    changed_by: ChangedBy | None = None
    parameter: str | None = None
    message_index: int | None = None
    block_index: int | None = None
    path: Path = ()
    offset_chars: int = 0
    excerpt_before: str | None = field(default=None, repr=False)
    excerpt_now: str | None = field(default=None, repr=False)
    kept_tokens: int = 0
    lost_tokens: int = 0
    has_moved_markers: bool = False

    @property
    def is_intact(self) -> bool:
        """Whether what was handed out before is still the beginning, as the provider sees it.

        Markers are no part of that: hosts move them forward in every turn, and what was cached up
        to an older marker is found again. :attr:`kind` tells byte for byte.
        """
        return self.kind in {"first", "extended", "cache_control", "form"}

    def __str__(self) -> str:
        """Say what, where and by whom in one line."""
        if self.kind == "first":
            return "nothing was handed out before"
        if self.kind == "extended":
            return "begins with all that was handed out before"
        where = f"{self._place()} ({shown_path(self.path)})"
        if self.kind in {"cache_control", "form"}:
            what = (
                "cache_control moved" if self.kind == "cache_control" else "text has another form"
            )
            moved = f"{what} at {where} by {self.changed_by}"
            return f"begins with all that was handed out before, but {moved}"
        lost = f"{self.lost_tokens} of {self.kept_tokens + self.lost_tokens} tokens lost"
        return f"{self.kind} at {where} by {self.changed_by}, about {lost}"

    def _place(self) -> str:
        part = f"message {self.message_index}" if self.parameter is None else self.parameter
        return part if self.block_index is None else f"{part}, block {self.block_index}"


def kind_of(comparison: Comparison) -> PrefixKind:
    """Name what a comparison has shown."""
    if comparison.change is not None:
        return comparison.change
    if comparison.marker_place is not None:
        return "cache_control"
    return "extended" if comparison.form_place is None else "form"


def token_counts(comparison: Comparison) -> tuple[int, int]:
    """Estimate the tokens before the first difference, and those behind it."""
    kept = rough_token_count_for_chars(comparison.kept_chars)
    return kept, max(0, rough_token_count_for_chars(comparison.before_chars) - kept)


def shown_path(path: Path) -> str:
    """Write a path as a programmer would; nothing in a key can end the line.

    Example:
        >>> shown_path(("messages", 3, "content", 0, "input", "a b"))
        "messages[3].content[0].input['a b']"
    """
    steps = [
        f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]"
        for step in path
    ]
    return "".join(steps).removeprefix(".")
