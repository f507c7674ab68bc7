from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

import pytest

from tests.core.harness import (
    State,
    ask,
    assistant,
    enforce,
    plan_options,
    record,
    result,
    text_block,
    tool_use,
    user,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, ModuleType

FRAME_TEXT = "<persisted-output>\nsaved\n</persisted-output>"


def one_group(count: int) -> list[Any]:
    """Make one message with many results."""
    ids = [f"t{number}" for number in range(count)]
    return [ask(*ids), user(*(result(name, f"{name} " * 99) for name in ids))]


def many_groups(count: int) -> list[Any]:
    """Make many turns of one large result each."""
    return [
        message
        for number in range(count)
        for message in (ask(f"t{number}"), user(result(f"t{number}", f"{number} " * 600)))
    ]


def one_id(count: int) -> list[Any]:
    """Make many turns that all use one id, with a text of their own."""
    return [
        message
        for number in range(count)
        for message in (ask("call_0"), user(result("call_0", f"{number} " * 600)))
    ]


def copies(count: int) -> list[Any]:
    """Make one result many times, in one group and in many."""
    answer = user(result("t1", "x" * 2_000))
    return [answer] * count + [assistant(None), answer] * count


def calls_of_one_id(count: int) -> list[Any]:
    """Make many calls with one id before and behind many results."""
    calls = assistant("m1", *[tool_use("t1")] * count)
    return [calls, *many_groups(count), user(*[result("t1", "text")] * count), calls]


def streamed(count: int) -> list[Any]:
    """Make records of one answer with results in between, of many chains at once."""
    return [
        record(message, isSidechain=True, agentId=f"a{number % 5}")
        for number in range(count)
        for message in (
            assistant("m1", tool_use(f"t{number}")),
            user(result(f"t{number}", f"{number} " * 300)),
        )
    ]


def many_blocks(count: int) -> list[Any]:
    """Make one result of many text blocks."""
    return [user(result("t1", [text_block("a line of text\n") for _ in range(count)]))]


def references(count: int) -> list[Any]:
    """Make many references, exempt results and small ones."""
    ids = [f"t{number}" for number in range(count)]
    texts = (FRAME_TEXT, "x" * 3_000, "small")
    calls = assistant("m1", *(tool_use(name, "Read") for name in ids[::2]))
    results = (result(name, texts[number % 3]) for number, name in enumerate(ids))
    return [calls, user(*results)]


SHAPES: list[Callable[[int], list[Any]]] = [
    one_group,
    many_groups,
    one_id,
    copies,
    calls_of_one_id,
    streamed,
    many_blocks,
    references,
]


class Count:
    """Counts function calls, Python's and C's, while it is entered."""

    def __init__(self) -> None:
        """Start at zero."""
        self.calls = 0

    def __enter__(self) -> Self:
        """Begin to count."""
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_exception: object) -> None:
        """Stop."""
        sys.setprofile(None)

    def _note(self, _frame: FrameType, event: str, _argument: object) -> None:
        self.calls += event in {"call", "c_call"}


def turns(core: ModuleType, messages: list[Any], **changes: Any) -> Iterator[int]:  # noqa: ANN401
    """Give the function calls of a first turn and of the one after it."""
    state = State()
    for _ in range(2):
        known = state.known(core)
        options = plan_options(core, **changes)
        with Count() as count:
            core.plan(messages, known, options)
        enforce(core, messages, options, state)
        yield count.calls


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("limit", [500, 10**9])
def test_twice_the_blocks_take_twice_the_work(
    core: ModuleType, shape: Callable[[int], list[Any]], limit: int
) -> None:
    """The number of operations grows with the number of blocks, in every shape of list (B12)."""
    small = list(turns(core, shape(100), limit=limit))
    large = list(turns(core, shape(200), limit=limit))
    for once, twice in zip(small, large, strict=True):
        assert twice <= 2.2 * once + 100


def test_rewriting_is_linear(core: ModuleType) -> None:
    """Many changes of one message and of many messages cost what they change (B12)."""
    counts = []
    for size in (100, 200):
        messages = [user(*(result(f"t{number}", "old") for number in range(size)))] * size
        changes = [core.Change(index, index, "new") for index in range(size)]
        changes += [core.Change(0, block_index, "new") for block_index in range(1, size)]
        with Count() as count:
            core.rewrite(messages, changes)
        counts.append(count.calls)
    assert counts[1] <= 2.2 * counts[0] + 100
