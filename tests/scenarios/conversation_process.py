"""The terms on which a host opens a session, and what a process knows that has it open."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.scenarios.conversation_model import Key, Result
    from toolbudget import Limits, Session

__all__ = ["EXEMPT_TOOL", "REDACTIONS", "Process", "Terms"]

EXEMPT_TOOL: Final = "Read"


def _mask(text: str) -> str:
    return text.replace("e", "*")


def _lengthen(text: str) -> str:
    return text.replace("e", "[redacted]")


def _refuse(text: str) -> str:
    if "e" in text:
        raise ValueError("cannot be redacted")
    return text


# Each works character by character, so that what it makes of a text's blocks makes the whole text.
REDACTIONS: Final[Mapping[str, Callable[[str], str] | None]] = {
    "none": None,
    "mask": _mask,
    "lengthen": _lengthen,
    "refuse": _refuse,
}


@dataclass(frozen=True, slots=True)
class Terms:
    """What a host may set anew whenever it opens a session."""

    limits: Limits
    redaction: str = "none"

    def redacted(self, text: str) -> str:
        """Return a text as it may be stored; one that the hook refuses must never be (F5)."""
        redact = REDACTIONS[self.redaction]
        try:
            return text if redact is None else redact(text)
        except ValueError as error:
            raise AssertionError("stored although the hook refused it") from error


@dataclass(slots=True)
class Process:
    """One process that has a session open.

    Attributes:
        session: The session.
        terms: What it was opened with.
        declared: Limits that tools have declared since it was opened (L2).
        keeps_history: R3: the next enforcement is the first one of a session that had records.
        lost: Results that went out in full before it was opened, and that no record names.
    """

    session: Session
    terms: Terms
    declared: dict[str, float] = field(default_factory=dict)
    keeps_history: bool = False
    lost: set[Key] = field(default_factory=set)

    def child(self, session: Session) -> Process:
        """Return the process of a fork or sub-agent, which shares the tools declared so far."""
        return Process(session, self.terms, dict(self.declared))

    def is_exempt(self, result: Result) -> bool:
        """Tell whether neither limit touches a result (B3, L3)."""
        name = result.tool_name
        if name is None or name in self.terms.limits.tools:
            return False
        return self.declared_chars(name) == math.inf

    def limit_chars(self, tool_name: str) -> float:
        """Return the limit of one result (L3)."""
        limits, declared_chars = self.terms.limits, self.declared_chars(tool_name)
        if tool_name in limits.tools or declared_chars == math.inf:
            return limits.tools.get(tool_name, math.inf)
        return min(declared_chars, limits.max_result_chars)

    def declared_chars(self, tool_name: str) -> float:
        """Return the limit that a tool has declared, or has by itself (L2)."""
        return self.declared.get(tool_name, math.inf if tool_name == EXEMPT_TOOL else 100_000)
