"""What every harness is: a name, a number of tries, and the seeded bugs that it must catch."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Harness", "Outcome", "Scale"]


class Scale(enum.StrEnum):
    """How much is tried: what every change must pass, or what runs before a release."""

    BOUNDED = "bounded"
    SOAK = "soak"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run of a harness found.

    Attributes:
        tries: How many cases were tried.
        violations: One line for each broken promise; with a seeded bug the first is enough.
        detail: Counts that a reader of the table may want.
        skipped: Why nothing could be tried on this machine.
    """

    tries: int
    violations: tuple[str, ...] = ()
    detail: str = ""
    skipped: str | None = None


@dataclass(frozen=True, slots=True)
class Harness:
    """A way to break what the library stands on, and to tell whether a promise broke.

    Attributes:
        name: As in the table and on the command line.
        promise: What must hold, in a few words.
        run: Tries at a scale; with the name of a seeded bug it may stop at the first violation.
        bugs: The seeded bugs that must make it fail.
    """

    name: str
    promise: str
    run: Callable[[Scale, str | None], Outcome]
    bugs: tuple[str, ...]
