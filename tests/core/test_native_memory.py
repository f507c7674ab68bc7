"""What the native core leaves behind: nothing that the result does not need."""

from __future__ import annotations

import gc
import json
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from tests.core.harness import State, ask, enforce, plan_options, result, text_block, user
from toolbudget import _core
from toolbudget._core.pure import Change

if TYPE_CHECKING:
    from collections.abc import Callable

native = _core.load("native")

_CALLS = 30


def conversation(turns: int) -> list[Any]:
    """Make turns of one small result, one larger one and one of two blocks."""
    return [
        message
        for number in range(turns)
        for message in (
            ask(f"a{number}", f"b{number}", f"c{number}"),
            user(
                result(f"a{number}", f"small {number}"),
                result(f"b{number}", f"{number} é日" * 300),
                result(f"c{number}", [text_block(f"{number}"), text_block("two")]),
            ),
        )
    ]


def test_unchanged_results_cost_no_tracked_object() -> None:
    """A pass that decides nothing makes no object per result that the collector must visit."""
    messages = [
        ask("t1"),
        *(user(*(result("t1", f"{turn} {i}") for i in range(9))) for turn in range(200)),
    ]
    options = plan_options(native, limit=10**9)
    state = State()
    enforce(native, messages, options, state)
    known = state.known(native)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        plan = native.plan(messages, known, options)
        grown = len(gc.get_objects()) - before
    finally:
        gc.enable()
    assert plan.candidates == 1_800
    # The plan with its lists; one entry of totals, because all are one group.
    assert grown < 30


def texts_of(messages: list[Any]) -> list[str]:
    """Give every text object of the results."""
    texts = []
    for message in messages[1::2]:
        for block in message["content"]:
            content = block["content"]
            parts = [content] if isinstance(content, str) else [part["text"] for part in content]
            texts += parts
    return texts


def test_texts_hold_no_copy_of_themselves() -> None:
    """Planning leaves no encoded copy inside the caller's strings."""
    messages = conversation(5)
    sizes_bytes = [sys.getsizeof(text) for text in texts_of(messages)]
    enforce(native, messages, plan_options(native, limit=500))
    assert sizes_bytes == [sys.getsizeof(text) for text in texts_of(messages)]


def plan_first(messages: list[Any]) -> None:
    """Decide about a list of which nothing is known."""
    enforce(native, messages, plan_options(native, limit=500))


def plan_again(messages: list[Any]) -> None:
    """Decide twice, the second time with what the first one decided."""
    state = State()
    for _ in range(2):
        enforce(native, messages, plan_options(native, limit=500), state)


def survey(messages: list[Any]) -> None:
    """Collect only."""
    native.collect(messages, "Read".__eq__)


def fail(messages: list[Any]) -> None:
    """End in an error behind half of the work."""
    with pytest.raises(ValueError, match="neither"):
        native.plan([*messages, 7], State().known(native), plan_options(native))


@pytest.mark.parametrize("work", [plan_first, plan_again, survey, fail])
def test_nothing_leaks(work: Callable[[list[Any]], None]) -> None:
    """Memory and references are as before, however often a call is made."""
    messages = conversation(10)
    content = messages[1]["content"][1]["content"]
    for _ in range(3):
        work(messages)
    gc.collect()
    references = sys.getrefcount(content)
    tracemalloc.start()
    try:
        work(messages)
        gc.collect()
        before_bytes, _ = tracemalloc.get_traced_memory()
        for _ in range(30):
            work(messages)
        gc.collect()
        after_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sys.getrefcount(content) == references
    assert after_bytes - before_bytes < 20_000


def blocks_left_by(work: Callable[[], object]) -> int:
    """Count the blocks of memory that calls leave behind, as those of numbers nobody holds."""
    for _ in range(5):
        work()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(_CALLS):
        work()
    gc.collect()
    return sys.getallocatedblocks() - before


@pytest.mark.parametrize("beginning", ["text", "caf\u00e9", "\u65e5", "\U0001f600", "\ud800"])
def test_no_reading_of_a_text_leaves_a_block_behind(beginning: str) -> None:
    """Texts beyond ASCII are read in pieces, and nothing of those stays."""
    text = f"{beginning} {{}}\n" * 30_000

    def work() -> None:
        native.utf8_length(text)
        native.fingerprint([text, text])
        native.measure([text], "bytes")
        native.estimate_tokens([text])
        native.build_replacement(text, "/s/t.txt", preview_bytes=500)
        for style in ("head", "head_tail", "salient", "json", "auto"):
            native.show_preview([text], 500, style, None)

    assert blocks_left_by(work) < _CALLS


def test_no_turn_leaves_a_block_behind() -> None:
    """Neither what is read of results stays, nor the numbers by which a body is cut."""

    def work() -> None:
        messages = conversation(3)
        for body in (messages, messages[2:], messages):
            scan = native.scan_json(json.dumps({"messages": body}).encode())
            plan = native.plan_json(scan, State().known(native), plan_options(native, limit=500))
            changes = [Change(1, 1, "short")]
            assert plan.choices
            assert native.rewrite_json_segments(scan, changes)
        plan_again(messages)

    assert blocks_left_by(work) < _CALLS
