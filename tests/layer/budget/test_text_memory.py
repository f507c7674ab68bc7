"""Of a text that is being written there is at most one copy (F4)."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest

from tests.builders import answer, call, is_reference, msg, res
from toolbudget import Session
from toolbudget.storage.encoding import encode_content

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.builders import Block

_BLOCK_CHARS = 8 << 20
_SLACK_BYTES = 4 << 20

CONTENTS: dict[str, list[Block]] = {
    "two blocks": [{"type": "text", "text": letter * _BLOCK_CHARS} for letter in "ab"],
    "one block with another key": [
        {"type": "text", "text": "a" * (2 * _BLOCK_CHARS), "citations": []}
    ],
    "a large text in another key": [{"type": "text", "text": "a", "more": "b" * 2 * _BLOCK_CHARS}],
}


def peak_bytes(call: Callable[[], object]) -> int:
    """Measure how much memory a call has at once, beyond what was there before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_blocks_are_encoded_with_at_most_one_copy(content: list[Block]) -> None:
    """A block is written piece by piece, and forgotten before the next one."""
    sizes: list[int] = []
    peak = peak_bytes(lambda: sizes.extend(map(len, encode_content(content))))
    assert sum(sizes) > 2 * _BLOCK_CHARS
    assert peak < 2 * _BLOCK_CHARS + _SLACK_BYTES


@pytest.mark.parametrize("content", list(CONTENTS.values())[:2], ids=list(CONTENTS)[:2])
@pytest.mark.parametrize("method", ["gate", "enforce"])
def test_blocks_are_stored_with_at_most_one_copy(
    tmp_path: Path, method: str, content: list[Block]
) -> None:
    """Neither judging nor previewing joins all the text of a result that has several blocks."""
    block = res("t1", content)
    messages = [answer(call("t1", "Fetch")), msg(block)]
    with Session.open(tmp_path, "s1", durability="process") as session:
        if method == "gate":
            peak = peak_bytes(lambda: session.gate(block, tool_name="Fetch"))
        else:
            peak = peak_bytes(lambda: session.enforce(messages))
        [sent] = session.enforce(messages)[1]["content"]
    assert is_reference(sent["content"])
    assert peak < 2 * _BLOCK_CHARS + _SLACK_BYTES
