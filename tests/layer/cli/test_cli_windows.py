"""Judging group by group comes to the same as judging the whole conversation at once."""

from __future__ import annotations

import copy
import json
import os
import shutil
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import call, res
from tests.layer.cli.transcripts import Record, assistant, to_lines, user, write
from toolbudget import Limits, Session, _core
from toolbudget.cli.apply_run import ApplyOptions, run
from toolbudget.cli.progress import Progress

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = {"TOOLBUDGET_MAX_RESULT_CHARS": "1500", "TOOLBUDGET_MAX_MESSAGE_CHARS": "1600"}
SETTINGS = LIMITS | {"TOOLBUDGET_PREVIEW_BYTES": "40", "TOOLBUDGET_DURABILITY": "process"}
IDS = [f"t{number}" for number in range(4)]
SIDE: dict[str, object] = {"isSidechain": True, "agentId": "a"}
CHAINS: list[dict[str, object]] = [{}, {}, {}, SIDE]


def calls() -> st.SearchStrategy[Record]:
    """Give calls of tools with limits, of an exempt one, and from running code."""
    names = st.sampled_from(["Bash", "Fetch", "Read", "memory"])
    callers = st.sampled_from([None, {"type": "code_execution_20250825"}, {"type": "direct"}])
    return st.builds(call, st.sampled_from(IDS), names, caller=callers)


def answers() -> st.SearchStrategy[Record]:
    """Give assistant records of few message ids, so that many share one."""
    blocks = st.lists(calls(), max_size=3)
    return st.builds(
        lambda message_id, found, chain: assistant(message_id, *found, **chain),
        st.sampled_from(["m1", "m2"]),
        blocks,
        st.sampled_from(CHAINS),
    )


def contents() -> st.SearchStrategy[object]:
    """Give contents of all sizes around the limits, and now and then one that is not judged."""
    sizes = st.sampled_from([1, 700, 800, 900, 1_000, 1_499, 1_500, 1_501, 2_500])
    texts = st.builds(lambda size, letter: letter * size, sizes, st.sampled_from("ab"))
    parts = st.builds(lambda text: [{"type": "text", "text": text}], texts)
    return st.one_of(texts, texts, texts, parts, st.sampled_from([[{"type": "image"}], None, 7]))


@st.composite
def transcripts(draw: st.DrawFn) -> list[Record]:
    """Give records in which each id has one result, anywhere and in any chain."""
    results = [
        user(res(tool_use_id, draw(contents())), **draw(st.sampled_from(CHAINS)))
        for tool_use_id in IDS
    ]
    others = draw(st.lists(answers() | st.just({"type": "progress"}), max_size=10))
    return draw(st.permutations(results + others))


def decided_at_once(records: list[Record], root: Path) -> list[Any]:
    """Pass each result through the gate, then the whole list through the budget."""
    records = copy.deepcopy(records)
    limits = Limits.from_environment(SETTINGS)
    with Session.open(root, "s1", limits=limits, durability="process") as session:
        survey = _core.collect(records, limits.is_exempt)
        for group in survey.groups:
            for candidate in group.candidates:
                content = records[candidate.message_index]["message"]["content"]
                block = content[candidate.block_index]
                # Whoever is exempt by the rules for code and memory never meets the gate.
                if not candidate.is_exempt and candidate.text.strip():
                    name = candidate.tool_name or ""
                    content[candidate.block_index] = session.gate(block, tool_name=name)
        return list(session.enforce(records))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder whose name is short, so that references are small."""
    return tmp_path_factory.mktemp("w")


@given(transcripts())
def test_windows_come_to_what_the_whole_list_comes_to(folder: Path, records: list[Record]) -> None:
    """Whatever the order of records, calls and chains, both ways give the same messages."""
    root = folder / "r"
    shutil.rmtree(root, ignore_errors=True)
    expected = decided_at_once(records, root)
    shutil.rmtree(root, ignore_errors=True)
    path = write(folder / "in", to_lines(*records))
    options = ApplyOptions(input_path=str(path), root=str(root), session_id="s1", format="jsonl")
    with mock.patch.dict(os.environ, SETTINGS):
        report = run(options, Progress())
    output = [json.loads(line) for line in report.output.read_bytes().splitlines()]
    assert output == expected
    assert report.results.groups == len(_core.collect(records, lambda _name: False).groups)
