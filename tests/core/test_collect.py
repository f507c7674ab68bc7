from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.core.harness import Block, ask, assistant, record, result, text_block, tool_use, user
from tests.strategies import SdkObject, Text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


def names_of(core: ModuleType, messages: Sequence[object]) -> list[str | None]:
    """Give the tool's name of each text result, in order of the groups."""
    groups = core.collect(messages, lambda _name: False).groups
    return [item.tool_name for group in groups for item in group.candidates]


def exempt_of(core: ModuleType, messages: Sequence[object], *exempt_tools: str) -> list[bool]:
    """Tell for each text result whether it is exempt."""
    groups = core.collect(messages, exempt_tools.__contains__).groups
    return [item.is_exempt for group in groups for item in group.candidates]


ANSWER = user(result("a", "text"))


# --- names (B3) -----------------------------------------------------------------------------------


def test_the_name_is_that_of_the_call(core: ModuleType) -> None:
    """A result has the name of the call with its id, whatever else is called in between."""
    messages = [assistant("m1", tool_use("a", "Bash"), tool_use("b", "Grep")), ANSWER]
    assert names_of(core, [*messages, user(result("b", "t"))]) == ["Bash", "Grep"]


@pytest.mark.parametrize(
    "tool_use_id",
    [
        "a",
        "toolu_" + "1" * 58,
        "toolu_" + "1" * 59,
        "é1",
        "日本",
        "😀",
        "\ud800",
        "x" * 63 + "\udfff",
    ],
)
def test_an_id_is_known_by_its_text(core: ModuleType, tool_use_id: str) -> None:
    """The ids of call and result are two objects, as in every decoded body."""
    again = "".join(list(tool_use_id))
    other = tool_use_id[:-1] + "b"
    calls = assistant("m1", tool_use(tool_use_id, "Bash"), tool_use(other, "Grep"))
    messages = [calls, user(result(other, "t"), result(again, "t"))]
    assert names_of(core, messages) == ["Grep", "Bash"]


@pytest.mark.parametrize(
    "kind",
    [
        "tool_resulT",
        "tool_resul\ud800",
        "tool_resulté",
        "tool_resul\0",
        "tool_result ",
        "ööööööööööö",
    ],
)
def test_a_type_of_the_same_length_is_another_one(core: ModuleType, kind: str) -> None:
    """Only the very text makes a block a result, whichever object holds it."""
    block = {**result("a", "text"), "type": kind}
    assert names_of(core, [ask("a"), user(block)]) == []
    same = {**block, "type": "".join(list("tool_result"))}
    assert len(names_of(core, [ask("a"), user(same)])) == 1


def test_an_unknown_name_is_none(core: ModuleType) -> None:
    """A result whose call is not in the list has no name."""
    assert names_of(core, [ask("b"), ANSWER]) == [None]


def test_the_nearest_call_before_counts(core: ModuleType) -> None:
    """Servers that reuse ids: the last call before the result is the one that it answers."""
    messages = [ask("a", name="One"), ask("a", name="Two"), ANSWER, ask("a", name="Three"), ANSWER]
    assert names_of(core, messages) == ["Two", "Three"]


def test_a_call_before_goes_before_a_nearer_one_behind(core: ModuleType) -> None:
    """Only if there is none before does a call behind count."""
    messages = [ask("a", name="One"), user(), user(), ANSWER, ask("a", name="Two")]
    assert names_of(core, messages) == ["One"]


def test_else_the_nearest_call_behind_counts(core: ModuleType) -> None:
    """Records reach a transcript out of order: a result may stand before its call (W1)."""
    messages = [ANSWER, {}, ask("a", name="One"), ask("a", name="Two")]
    assert names_of(core, messages) == ["One"]


def test_two_calls_of_one_message(core: ModuleType) -> None:
    """Of two calls with one id in one message, the one nearer to the result counts."""
    both = assistant("m1", tool_use("a", "One"), tool_use("a", "Two"))
    assert names_of(core, [both, ANSWER]) == ["Two"]
    assert names_of(core, [ANSWER, both]) == ["One"]


def test_calls_of_streamed_records(core: ModuleType) -> None:
    """Calls stand in records of their own, with their results in between."""
    messages = [
        record(assistant("m1", tool_use("a", "One"))),
        record(ANSWER),
        record(assistant("m1", tool_use("b", "Two"))),
        record(user(result("b", "text"))),
    ]
    assert names_of(core, messages) == ["One", "Two"]


def test_calls_of_another_chain_do_not_count(core: ModuleType) -> None:
    """A sub-agent's call has nothing to do with a result of the main chain (B3)."""
    messages = [
        record(ask("a", name="One"), isSidechain=True),
        record(ANSWER),
        record(ANSWER, isSidechain=True),
        record(ANSWER, isSidechain=True, agentId="x"),
        record(ask("a", name="Two")),
    ]
    # Groups stand in the order of their first result.
    assert names_of(core, messages) == ["Two", "One", None]


@pytest.mark.parametrize(
    "message",
    [
        SdkObject(role="assistant", id="m1", content=[SdkObject(**tool_use("a", "One"))]),
        SdkObject(role="assistant", id="m1", content=[tool_use("a", "One")]),
        SdkObject(role="assistant", id=None, content=(SdkObject(**tool_use("a", "One")),)),
        assistant("m1", SdkObject(**tool_use("a", "One"))),
        record(SdkObject(role="assistant", id="m1", content=[SdkObject(**tool_use("a", "One"))])),
        SdkObject(
            type="assistant", message=assistant("m1", tool_use("a", "One")), role="", content=""
        ),
        assistant(None, SdkObject(**tool_use(Text("a"), Text("One")))),
        {"role": "assistant", "content": (tool_use("a", "One"),)},
    ],
    ids=[
        "object with objects",
        "object with dicts",
        "object with a tuple",
        "dict with an object",
        "record of an object",
        "object that wraps a dict",
        "subclasses of str",
        "tuple",
    ],
)
def test_calls_in_any_form(core: ModuleType, message: object) -> None:
    """Calls are read from dicts and from SDK objects with attributes (B3)."""
    assert names_of(core, [message, ANSWER]) == ["One"]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "name": "One"},
        {"type": "tool_use", "id": 7, "name": "One"},
        {"type": "tool_use", "id": "A", "name": "One"},
        {"type": "server_tool_use", "id": "a", "name": "One"},
        {"type": "tool_result", "id": "a", "name": "One"},
        {"id": "a", "name": "One"},
        "a",
        None,
    ],
    ids=range(8),
)
def test_what_is_no_call_names_nothing(core: ModuleType, block: object) -> None:
    """A call has the type ``tool_use`` and an id that is the same text."""
    assert names_of(core, [assistant("m1", block), ANSWER]) == [None]


@pytest.mark.parametrize("name", [None, 7, ["One"], {"name": "One"}])
def test_a_name_that_is_no_text_is_unknown(core: ModuleType, name: object) -> None:
    """Such a call names nothing, and its result is not exempt (B3)."""
    messages = [assistant("m1", tool_use("a", name)), ANSWER]
    assert names_of(core, messages) == [None]
    assert exempt_of(core, messages, "One") == [False]


# --- exemption (B3, W2) ---------------------------------------------------------------------------


def test_tools_with_an_infinite_limit_are_exempt(core: ModuleType) -> None:
    """Only their results are; one of an unknown tool is not (B3)."""
    messages = [
        assistant("m1", tool_use("a", "Read"), tool_use("b", "Bash"), tool_use("c", Text("Read"))),
        user(*(result(tool_use_id, "text") for tool_use_id in "abcd")),
    ]
    assert exempt_of(core, messages, "Read", "read_file") == [True, False, True, False]


def test_names_are_compared_exactly(core: ModuleType) -> None:
    """No folding, no stripping: the host declares names as it sends them."""
    messages = [assistant("m1", tool_use("a", "read"), tool_use("b", "Read ")), ANSWER]
    assert exempt_of(core, [*messages, user(result("b", "t"))], "Read") == [False, False]


@pytest.mark.parametrize(
    ("caller", "is_exempt"),
    [
        ({"type": "code_execution_20250825", "tool_id": "srv"}, True),
        ({"type": "code_execution_20991231"}, True),
        ({"type": "code_execution"}, True),
        ({"type": "program"}, True),
        ({"type": Text("program")}, True),
        (SdkObject(type="code_execution_20250825", tool_id="srv"), True),
        ({"type": "direct"}, False),
        ({"type": "my_code_execution"}, False),
        ({"type": 7}, False),
        ({}, False),
        (None, False),
        ("code_execution_20250825", False),
        (["program"], False),
    ],
    ids=range(13),
)
def test_results_for_running_code_are_exempt(
    core: ModuleType,
    caller: object,
    is_exempt: bool,  # noqa: FBT001
) -> None:
    """What running code asked for is data for a program (W2)."""
    messages = [assistant("m1", tool_use("a", caller=caller)), ANSWER]
    assert exempt_of(core, messages) == [is_exempt]
    as_object = SdkObject(**tool_use("a", caller=caller))
    assert exempt_of(core, [assistant("m1", as_object), ANSWER]) == [is_exempt]


def test_a_caller_counts_without_a_name(core: ModuleType) -> None:
    """The kind of the caller is enough."""
    call = {"type": "tool_use", "id": "a", "caller": {"type": "program"}}
    assert exempt_of(core, [assistant("m1", call), ANSWER]) == [True]


def test_the_caller_is_that_of_the_nearest_call(core: ModuleType) -> None:
    """Exemption and name come from the same call."""
    for_code = assistant(None, tool_use("a", caller={"type": "program"}))
    messages = [for_code, ANSWER, ask("a"), ANSWER]
    assert exempt_of(core, messages) == [True, False]


@pytest.mark.parametrize("name", ["browser", "", {"name": "browser"}])
def test_results_of_a_toolset_are_exempt(core: ModuleType, name: object) -> None:
    """A result that carries ``toolset_name`` is exempt, known call or not (W2)."""
    answer = user(result("a", "text", toolset_name=name), result("b", "text"))
    assert exempt_of(core, [ask("a", "b"), answer]) == [True, False]
    assert exempt_of(core, [answer]) == [True, False]


def test_results_of_the_memory_tool_are_exempt(core: ModuleType) -> None:
    """A call named ``memory`` is one of the memory tool, in this spelling only (W2)."""
    calls = assistant("m1", tool_use("a", "memory"), tool_use("b", "Memory"))
    messages = [calls, user(result("a", "text"), result("b", "text"))]
    assert exempt_of(core, messages) == [True, False]


def test_the_tools_are_asked_by_name_once(core: ModuleType) -> None:
    """A host's own limits are asked once for each name, whatever the number of results."""
    asked: list[str] = []

    def is_exempt(name: str) -> bool:
        asked.append(name)
        return False

    ids = [f"t{number}" for number in range(20)]
    answers = [user(result(tool_use_id, "text")) for tool_use_id in ids]
    core.collect([ask(*ids), *answers, ask(*ids, name="Grep"), *answers], is_exempt)
    assert sorted(asked) == ["Bash", "Grep"]
    assert all(type(name) is str for name in asked)


# --- candidates -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "size_chars"),
    [
        ("a", 1),
        (" ", 1),
        ("\x00", 1),
        ("\ud800", 1),
        ("日本\U0001f600", 3),
        ("e\u0301", 2),
        ("\r\n", 2),
        ([text_block("ab"), text_block(""), text_block("c")], 3),
        ((text_block("ab"),), 2),
        ([text_block("ab", citations=[], cache_control={"type": "ephemeral"})], 2),
    ],
    ids=range(10),
)
def test_sizes_are_characters(core: ModuleType, content: object, size_chars: int) -> None:
    """The size is that of the text in code points; of blocks, the sum (0)."""
    [group] = core.collect([user(result("a", content))], lambda _name: False).groups
    [candidate] = group.candidates
    assert candidate.size == size_chars == len(candidate.text)
    assert candidate.content is content


def test_server_results_are_no_candidates(core: ModuleType) -> None:
    """What a provider's own tools return is never touched (W2)."""
    blocks: list[Block] = [
        {"type": "web_search_tool_result", "tool_use_id": "a", "content": "x" * 900},
        {"type": "code_execution_tool_result", "tool_use_id": "a", "content": "x" * 900},
        {"type": "mcp_tool_result", "tool_use_id": "a", "content": "x" * 900},
        {"type": "thinking", "thinking": "x" * 900, "signature": "s"},
    ]
    survey: Any = core.collect([user(*blocks), assistant("m1", *blocks)], lambda _name: False)
    assert (survey.groups, dict(survey.skipped)) == ([], {})
