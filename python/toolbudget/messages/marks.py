"""Cache breakpoints: which blocks may carry one, and how many a request may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.shape import text_field
from toolbudget.messages.plain import is_empty_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolbudget.messages.plain import Block

__all__ = [
    "CACHE_CONTROL",
    "MAX_CACHE_BREAKPOINTS",
    "can_carry_mark",
    "keep_last_marks",
    "without_empty_texts",
]

CACHE_CONTROL: Final = "cache_control"
# The API refuses a request with more, those of `system` and `tools` counted.
MAX_CACHE_BREAKPOINTS: Final = 4
_UNMARKABLE: Final = frozenset({"thinking", "redacted_thinking"})
_CONNECTOR: Final = "connector"  # `connector_text` and whatever else a connector sends


def can_carry_mark(block: Block) -> bool:
    """Tell whether the API takes a cache breakpoint on this block."""
    kind = text_field(block, "type") or ""
    if kind in _UNMARKABLE or kind.startswith(_CONNECTOR):
        return False
    return not is_empty_text(block)


def without_empty_texts(blocks: Iterable[Block]) -> list[Block]:
    """Leave out text blocks that the API refuses as empty.

    A breakpoint on one moves to the block before it, which ends the same prefix.
    """
    kept: list[Block] = []
    for block in blocks:
        if not is_empty_text(block):
            kept.append(block)
            continue
        mark = block.get(CACHE_CONTROL)
        if mark and kept and can_carry_mark(kept[-1]):
            kept[-1].setdefault(CACHE_CONTROL, mark)
    return kept


def keep_last_marks(contents: Iterable[object], max_breakpoints: int) -> None:
    """Take the earliest breakpoints away from contents of our own until no more are left.

    The last ones cover the longest prefixes, so they are the ones of use.
    """
    marked = [block for content in contents for block in _marked(content)]
    for block in marked[: max(len(marked) - max_breakpoints, 0)]:
        del block[CACHE_CONTROL]


def _marked(content: object) -> Iterator[Block]:
    """Yield the blocks with a breakpoint in the order of the prompt, those inside results too."""
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "tool_result":
            yield from _marked(block.get("content"))
        if block.get(CACHE_CONTROL) is not None:
            yield block
