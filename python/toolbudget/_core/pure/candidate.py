"""The one thing that everything here is about: a tool result with text in it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Candidate"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tool result whose content is all text and not empty.

    Attributes:
        tool_use_id: The id that joins the result to its call.
        content: The content as the host gave it: a string, or a list of text blocks.
        size: Characters of its text, ``len(str)``.
        message_index: Position of its message in the list.
        block_index: Position of its block in the message.
        tool_name: Name of the tool that was called; ``None`` if its chain has no such call.
        is_exempt: Neither limit touches it.
        parts: The texts that make its text when joined.
        replacement: The recorded replacement, on candidates that must be reapplied.

    Example:
        >>> from toolbudget import collect_candidates_by_message
        >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": "four"}
        >>> [[candidate]] = collect_candidates_by_message([{"role": "user", "content": [block]}])
        >>> candidate.tool_use_id, candidate.size
        ('t1', 4)
    """

    tool_use_id: str
    content: object
    size: int
    message_index: int = 0
    block_index: int = 0
    tool_name: str | None = None
    is_exempt: bool = False
    parts: tuple[str, ...] = ()
    replacement: str | None = None

    @property
    def text(self) -> str:
        """The text of the result: its parts joined with nothing between."""
        return self.parts[0] if len(self.parts) == 1 else "".join(self.parts)
