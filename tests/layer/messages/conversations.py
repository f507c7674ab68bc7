"""Conversations as hosts record them, in every order and with every gap that the API would refuse.

Every text is another one, so that what was lost or doubled shows.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["blocks_of", "conversations", "leaves", "loose_parts", "well_paired_conversations"]

Block = dict[str, Any]
Element = dict[str, Any]

_EMPTY: Final = ("", " ", "\n\t")
_IMAGE: Final[Block] = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "aGk="},
}
_CODE: Final = {"type": "code_execution_20260120", "tool_id": "srvtoolu_0"}
_IDS: Final = st.sampled_from(["t0", "t1", "t2", "t3"])
_BETWEEN: Final[tuple[Element, ...]] = (
    {"type": "progress", "toolUseID": "t0", "data": {"type": "bash_progress"}},
    {"type": "attachment", "attachment": {"type": "file", "filename": "a.txt"}},
    {"type": "system", "subtype": "turn_duration", "durationMs": 5},
    {"type": "file-history-snapshot", "snapshot": {}},
)


def _texts() -> st.SearchStrategy[Block]:
    words = st.sampled_from([*_EMPTY, "word", "word", "word", "word"])
    return st.builds(lambda text: {"type": "text", "text": text}, words)


def _result_contents() -> st.SearchStrategy[object]:
    parts = st.lists(st.one_of(_texts(), st.just(_IMAGE), st.just({"type": "tool_reference"})))
    return st.one_of(st.just("word"), st.just(""), parts)


def _results(ids: st.SearchStrategy[str] = _IDS) -> st.SearchStrategy[Block]:
    optional = st.fixed_dictionaries(
        {},
        optional={
            "content": _result_contents(),
            "is_error": st.booleans(),
            "cache_control": st.just({"type": "ephemeral"}),
        },
    )
    return st.builds(
        lambda name, others: {"type": "tool_result", "tool_use_id": name, **others}, ids, optional
    )


def _answer_blocks() -> st.SearchStrategy[Block]:
    calls = st.builds(
        lambda name, caller: {
            "type": "tool_use",
            "id": name,
            "name": "Bash",
            "input": {"command": "word"},
            **caller,
        },
        _IDS,
        st.sampled_from([{}, {}, {}, {"caller": {"type": "direct"}}, {"caller": _CODE}]),
    )
    server_calls = st.just({"type": "server_tool_use", "id": "s0", "name": "web", "input": {}})
    server_results = st.just({"type": "web_search_tool_result", "tool_use_id": "s0", "content": []})
    thinking = st.just({"type": "thinking", "thinking": "word", "signature": "c2ln"})
    return st.one_of(calls, calls, calls, _texts(), thinking, server_calls, server_results)


def _answers() -> st.SearchStrategy[Element]:
    return st.builds(
        lambda name, blocks: {
            "role": "assistant",
            "content": blocks,
            **({} if name is None else {"id": name}),
        },
        st.sampled_from([None, "m0", "m1", "m2", "m3", "m4"]),
        st.lists(_answer_blocks(), max_size=3),
    )


def _users() -> st.SearchStrategy[Element]:
    blocks = st.lists(st.one_of(_results(), _results(), _texts(), st.just(_IMAGE)), max_size=3)
    content = st.one_of(st.sampled_from([*_EMPTY, "word"]), blocks)
    return st.builds(lambda given: {"role": "user", "content": given}, content)


@st.composite
def conversations(draw: st.DrawFn) -> list[Element]:
    """Make a conversation of any order, as API messages and records mixed."""
    elements = draw(
        st.lists(
            st.one_of(_answers(), _answers(), _users(), _users(), st.sampled_from(_BETWEEN)),
            max_size=12,
        )
    )
    is_record = draw(st.lists(st.booleans(), min_size=len(elements), max_size=len(elements)))
    numbers = count()
    finished = [_numbered(element, numbers) for element in elements]
    return [
        _recorded(element, index) if wrap and "role" in element else element
        for index, (element, wrap) in enumerate(zip(finished, is_record, strict=True))
    ]


@st.composite
def well_paired_conversations(draw: st.DrawFn) -> list[Element]:
    """Make a conversation in which every call has its result, streamed and interleaved."""
    numbers = count()
    elements: list[Element] = [{"role": "user", "content": "word"}]
    for turn in range(draw(st.integers(1, 4))):
        names = [f"turn{turn}_{call}" for call in range(draw(st.integers(1, 4)))]
        waiting: list[str] = []
        for name in names:
            call = {"type": "tool_use", "id": name, "name": "Bash", "input": {}}
            elements.append({"role": "assistant", "id": f"m{turn}", "content": [call]})
            waiting.append(name)
            while draw(st.booleans()) and waiting:
                elements.append(_answering(draw, waiting))
        while waiting:
            elements.append(_answering(draw, waiting))
        if draw(st.booleans()):
            elements.append({"role": "user", "content": "word"})
    return [_numbered(element, numbers) for element in elements]


def _answering(draw: st.DrawFn, waiting: list[str]) -> Element:
    name = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
    text = "word" * draw(st.integers(1, 40))
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": name, "content": text}],
    }


def _numbered(value: Any, numbers: Iterator[int]) -> Any:  # noqa: ANN401 - any JSON value
    """Copy a value and make each of its words another one."""
    if isinstance(value, dict):
        return {name: _numbered(child, numbers) for name, child in value.items()}
    if isinstance(value, list):
        return [_numbered(child, numbers) for child in value]
    return f"{value}-{next(numbers)}" if isinstance(value, str) and "word" in value else value


def _recorded(message: Element, index: int) -> Element:
    return {
        "type": message["role"],
        "message": message,
        "uuid": f"record-{index}",
        "parentUuid": f"record-{index - 1}" if index else None,
        "isSidechain": False,
    }


def blocks_of(elements: Iterable[Any]) -> Iterator[Block]:
    """Yield the blocks of every message; a text is one text block."""
    for element in elements:
        message = element.get("message", element)
        if message.get("role") not in {"user", "assistant"}:
            continue
        content = message["content"]
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        else:
            yield from content


def leaves(blocks: Iterable[Block]) -> Counter[str]:
    """Count what the model reads: texts that are not empty, and every other block as JSON.

    The frame of a result is left out, its content counts; so does not where a breakpoint stands.
    """
    return Counter(leaf for block in blocks for leaf in loose_parts(block))


def loose_parts(block: Block) -> Iterator[str]:
    """Take one block apart for :func:`leaves`."""
    if block["type"] == "text":
        if block["text"].strip():
            yield block["text"]
    elif block["type"] == "tool_result":
        content = block.get("content", [])
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            yield from loose_parts(part)
    else:
        kept = {name: value for name, value in block.items() if name != "cache_control"}
        yield json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
