"""What a provider says when a request is too long."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from toolbudget._core.pure.shape import field

__all__ = ["Overflow", "read_overflow"]

# Wordings of Anthropic (also through Bedrock and Vertex: the prompt, the prompt and the answer, the
# bytes of the request), of OpenAI and what speaks its protocol, of Gemini and of Bedrock.
_SAYS_TOO_LONG: Final = re.compile(
    r"prompt is too long"
    r"|exceeds? (?:the )?context (?:limit|window|length)"
    r"|context_length_exceeded|request_too_large"
    r"|maximum context length"
    r"|input token count.{0,40}exceeds the maximum"
    r"|input is too long for requested model",
    re.IGNORECASE | re.DOTALL,
)
_NUMBERS: Final = (
    re.compile(r"(?P<used>\d[\d,]*) tokens? > (?P<limit>\d[\d,]*)"),
    re.compile(r"(?P<used>\d[\d,]*) \+ (?P<more>\d[\d,]*) > (?P<limit>\d[\d,]*)"),
    re.compile(
        r"maximum context length is (?P<limit>\d[\d,]*) tokens.{0,200}?"
        r"(?:resulted in|requested) (?P<used>\d[\d,]*) tokens",
        re.DOTALL,
    ),
    re.compile(r"input token count \((?P<used>\d[\d,]*)\).{0,80}?\((?P<limit>\d[\d,]*)\)"),
)
_TOO_LARGE: Final = 413
# An error may carry the request: only so much of it is looked through.
_MAX_CHARS: Final = 20_000


class Overflow(NamedTuple):
    """A request that was too long."""

    excess_tokens: int
    """By how many tokens; 0 if the provider did not say."""


def read_overflow(error: object) -> Overflow | None:
    """Tell whether an error says that the prompt was too long; ``None`` if it says anything else.

    Known are the wordings of Anthropic, OpenAI, Gemini and Bedrock, and the status 413.

    Args:
        error: The exception of a provider's client, its body, or its text.

    Example:
        >>> read_overflow("prompt is too long: 208310 tokens > 200000 maximum")
        Overflow(excess_tokens=8310)
        >>> read_overflow("rate limit exceeded")
    """
    text = _text_of(error)
    if _SAYS_TOO_LONG.search(text) is None:
        return Overflow(0) if _status_of(error) == _TOO_LARGE else None
    for pattern in _NUMBERS:
        found = pattern.search(text)
        if found is not None:
            numbers = {
                name: int(digits.replace(",", "")) for name, digits in found.groupdict().items()
            }
            used = numbers["used"] + numbers.get("more", 0)
            return Overflow(max(used - numbers["limit"], 0))
    return Overflow(0)


def _text_of(error: object) -> str:
    parts = [error, field(error, "message"), field(error, "code"), field(error, "body")]
    texts: list[str] = []
    for part in parts:
        if part is None or callable(part):
            continue
        try:
            texts.append(str(part)[:_MAX_CHARS])
        except Exception:  # noqa: BLE001, S112 - an error that cannot be shown says nothing
            continue
    return "\n".join(texts)


def _status_of(error: object) -> object:
    status = field(error, "status_code")
    return field(error, "status") if status is None else status
