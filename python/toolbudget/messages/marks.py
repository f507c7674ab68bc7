"""Cache breakpoints: which blocks may carry one, and how many a request may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget._core.pure.shape import field, text_field
from toolbudget.messages.plain import is_empty_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolbudget.messages.plain import Block

__all__ = [
    "CACHE_CONTROL",
    "MAX_CACHE_BREAKPOINTS",
    "acceptable_blocks",
    "can_carry_mark",
    "keep_last_marks",
    "outlive",
]

CACHE_CONTROL: Final = "cache_control"
# The API refuses a request with more, those of `system` and `tools` counted.
MAX_CACHE_BREAKPOINTS: Final = 4
_LONG_TTL: Final = "1h"
_UNMARKABLE: Final = frozenset({"thinking", "redacted_thinking"})
# Blocks whose content is a list of blocks.
_HOLDERS: Final = frozenset({"tool_result", "search_result"})
_CONNECTOR: Final = "connector"  # `connector_text` and whatever else a connector sends


def can_carry_mark(block: Block) -> bool:
    """Tell whether the API takes a cache breakpoint on this block."""
    kind = text_field(block, "type") or ""
    if kind in _UNMARKABLE or kind.startswith(_CONNECTOR):
        return False
    return not is_empty_text(block)


def acceptable_blocks(blocks: Iterable[Block]) -> list[Block]:
    """Leave out text blocks that the API refuses as empty, and breakpoints where it takes none.

    Such a breakpoint moves to the block before; the first block has none, so its own is lost.
    """
    kept: list[Block] = []
    for block in blocks:
        mark = None if can_carry_mark(block) else block.pop(CACHE_CONTROL, None)
        if mark and kept and can_carry_mark(kept[-1]):
            kept[-1].setdefault(CACHE_CONTROL, mark)
        if not is_empty_text(block):
            kept.append(block)
    return kept


def keep_last_marks(contents: Iterable[object], max_breakpoints: int) -> None:
    """Take the earliest breakpoints away from contents of our own until no more are left.

    The last ones cover the longest prefixes, so they are the ones of use. Those on blocks that may
    carry none go first.
    """
    marked: list[Block] = []
    for block in (block for content in contents for block in _marked(content)):
        if can_carry_mark(block):
            marked.append(block)
        else:
            del block[CACHE_CONTROL]
    for block in marked[: max(len(marked) - max_breakpoints, 0)]:
        del block[CACHE_CONTROL]


def outlive(content: object, later_contents: Iterable[object]) -> None:
    """Let the breakpoint at the end of a content of our own last as long as those behind it.

    The API refuses a breakpoint of one hour behind one of five minutes.
    """
    blocks = (block for later in later_contents for block in _marked(later))
    marks = (block[CACHE_CONTROL] for block in blocks if can_carry_mark(block))
    longest = next((mark for mark in marks if field(mark, "ttl") == _LONG_TTL), None)
    if longest is not None and isinstance(content, list):
        content[-1][CACHE_CONTROL] = dict(longest)


def _marked(content: object) -> Iterator[Block]:
    """Yield the blocks with a breakpoint in the order of the prompt, those inside others too."""
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        kind = text_field(block, "type")
        if kind in _HOLDERS:
            yield from _marked(block.get("content"))
        elif kind == "document":
            yield from _marked(field(block.get("source"), "content"))
        if block.get(CACHE_CONTROL) is not None:
            yield block
