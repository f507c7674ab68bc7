"""Panics, memory and depth: nothing in the Rust code ends the host (F3)."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.core.harness import State, ask, plan_options, record, result, text_block, tool_use, user
from tests.core.parity import assert_same, outcome
from toolbudget import _core
from toolbudget._core import _native
from toolbudget.errors import InvalidMessageError, ToolBudgetError

if TYPE_CHECKING:
    from types import ModuleType

python = _core.load("python")
native = _core.load("native")

DEPTH = 100_000


@pytest.mark.parametrize("message", ["out of range", "", "日本 😀"])
def test_a_panic_is_an_exception_of_ours(message: str) -> None:
    """What would end a worker arrives as an error that can be caught and says what happened."""
    with pytest.raises(ToolBudgetError) as raised:
        _native._panic(message)
    assert type(raised.value) is ToolBudgetError
    assert str(raised.value) == f"internal error in the native core: {message}"


def test_the_core_goes_on_after_a_panic() -> None:
    """A panic in one thread leaves everything else as it was."""
    errors: list[Exception] = []

    def panic() -> None:
        try:
            _native._panic("in a thread")
        except Exception as error:  # noqa: BLE001 - that it is one is what is tested
            errors.append(error)

    thread = threading.Thread(target=panic)
    thread.start()
    thread.join()
    assert [type(error) for error in errors] == [ToolBudgetError]
    assert native.cut_preview("text", 9) == ("text", False)


def test_any_entry_can_be_made_to_panic() -> None:
    """The entry that was asked for panics, and none before or behind it."""
    assert _native._panic_after(2) == 0
    assert native.utf8_length("text") == 4
    with pytest.raises(ToolBudgetError, match=r"^internal error in the native core: asked for"):
        native.utf8_length("text")
    assert native.utf8_length("text") == 4


def test_a_request_to_panic_can_be_taken_back() -> None:
    """Nothing panics any more, and how far away it was is known."""
    _native._panic_after(3)
    assert native.utf8_length("text") == 4
    assert _native._panic_after(0) == 2
    assert [native.utf8_length("text") for _ in range(3)] == [4, 4, 4]


@pytest.mark.parametrize("hook", ["_panic", "_panic_after"])
def test_the_hooks_are_not_public(hook: str) -> None:
    """The functions that panic are no part of the core."""
    assert hook not in _native.__all__
    assert not hasattr(_core, hook)


def nested(depth: int, innermost: object = None) -> list[Any]:
    """Nest a list so deeply that no recursion could follow it."""
    value: list[Any] = [innermost]
    for _ in range(depth):
        value = [value]
    return value


def nested_mapping(depth: int) -> dict[str, Any]:
    """Nest records in each other."""
    value: dict[str, Any] = user(result("t1", "x" * 3_000))
    for _ in range(depth):
        value = {"type": "user", "message": value}
    return value


DEEP: dict[str, list[Any]] = {
    "content of a result": [user(result("t1", nested(DEPTH)))],
    "block of a result": [user(result("t1", [text_block("x" * 3_000), nested(DEPTH)]))],
    "text of a block": [user(result("t1", [{"type": "text", "text": nested(DEPTH)}]))],
    "id of a result": [user(result(nested(DEPTH), "x" * 3_000))],
    "block of a message": [user(nested(DEPTH))],
    "content of a message": [{"role": "user", "content": nested(DEPTH)}],
    "message of a record": [{"type": "user", "message": nested(DEPTH)}],
    "records in records": [nested_mapping(DEPTH)],
    "input of a call": [ask("t1"), {"role": "assistant", "content": [tool_use("t1")]}],
    "caller of a call": [{"role": "assistant", "content": [tool_use("t1", caller=nested(DEPTH))]}],
    "another key": [
        record(user(result("t1", "x" * 3_000, more=nested(DEPTH))), more=nested(DEPTH))
    ],
}


@pytest.mark.parametrize("messages", DEEP.values(), ids=DEEP)
def test_depth_is_not_followed(core: ModuleType, messages: list[Any]) -> None:
    """Content is looked at two levels deep, whatever is below."""
    plan = core.plan(messages, State().known(core), plan_options(core))
    changes = [
        core.Change(place.message_index, place.block_index, choice.replacement)
        for choice in plan.choices
        for place in choice.occurrences
    ]
    assert len(core.rewrite(messages, changes)) == len(messages)


def test_a_deep_value_in_a_wrong_place_is_named(core: ModuleType) -> None:
    """A value that cannot even be shown is refused by its index."""
    with pytest.raises(InvalidMessageError, match=r"^message 1 is neither .*: <list>$"):
        core.collect([{}, nested(DEPTH)], bool)


def test_errors_about_deep_values_are_the_same() -> None:
    """Both cores show a value that is too deep in the same way."""
    messages = [nested(DEPTH)]
    assert_same(outcome(python.collect, messages, bool), outcome(native.collect, messages, bool))


# Text of 64 MB, and too little memory for another one.
SCARCE = """
import resource
from dataclasses import replace
from toolbudget._core import _native
from toolbudget._core.pure import Known, PlanOptions
text = "x" * (64 << 20)
wide = chr(233) * (32 << 20)
with open("/proc/self/statm") as statm:
    used_bytes = int(statm.read().split()[0]) * resource.getpagesize()
limit_bytes = used_bytes + (24 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))
options = PlanOptions(
    limit=1_000,
    preview_bytes=%d,
    expected_path=lambda name, is_json: name,
    is_stored_as_json=lambda content: False,
    is_exempt_tool=lambda name: False,
)
blocks = [
    {"type": "tool_result", "tool_use_id": str(index), "content": content}
    for index, content in enumerate([text, wide, [{"type": "text", "text": text}]])
]
def call(accounting="visible"):
    chosen = replace(options, accounting=accounting)
    plan = _native.plan([{"role": "user", "content": blocks}], Known({}, {}), chosen)
    return len(plan.choices)
"""


def run_scarce(preview_bytes: int, code: str) -> str:
    """Run ``code`` in a new interpreter with little memory left, and give what it prints."""
    finished = subprocess.run(
        [sys.executable, "-c", SCARCE % preview_bytes + code],
        check=False,
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


needs_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="address space is limited as there"
)


@needs_linux
def test_large_texts_are_planned_without_a_copy() -> None:
    """Hashing, measuring and previewing need no second copy of a text, wide ones too (F4)."""
    assert run_scarce(2_000, "print(call())") == "3"


@needs_linux
def test_a_preview_that_surely_does_not_fit_takes_no_memory() -> None:
    """A step of the preview's size that cannot be chosen is passed over, not built."""
    assert run_scarce(1 << 40, "print(call())") == "3"


@needs_linux
@pytest.mark.parametrize("style", ["head_tail_preview", "json_preview", "salient_preview"])
def test_large_texts_are_previewed_without_a_copy(style: str) -> None:
    """Every style reads a huge line, wide ones too, and many lines, in bounded memory."""
    code = f"""
for large in (text, wide):
    print(len(_native.{style}(large, 2_000)[0].encode()) <= 2_000)
"""
    assert run_scarce(2_000, code).split() == ["True"] * 2


@needs_linux
@pytest.mark.parametrize(
    "call",
    [
        # Without smaller previews to try, the one that is asked for is measured.
        "call('originals')",
        "_native.cut_preview(text, 1 << 40)",
        "_native.cut_preview(wide, 1 << 40)",
        "_native.head_tail_preview(text, 1 << 25)",
        "_native.salient_preview(text, 1 << 25)",
        "_native.build_replacement(text, 'p', preview_bytes=1 << 40)",
    ],
)
def test_scarce_memory_is_a_memory_error(call: str) -> None:
    """A copy that was asked for and finds no room ends as Python's own error, not the process."""
    code = f"try:\n    {call}\nexcept MemoryError:\n    print('no memory')"
    assert run_scarce(1 << 40, code) == "no memory"
