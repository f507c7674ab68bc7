"""The forms of messages on recorded sessions of a real agent."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.layer.messages.api_rules import refusals
from tests.layer.messages.conversations import blocks_of, leaves
from toolbudget import Limits, Session, collect_candidates_by_message
from toolbudget.messages import (
    add_cache_breakpoint,
    held_back_content,
    normalize_messages,
    normalize_messages_for_api,
    reorder_messages_in_ui,
    split_chains,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Record = dict[str, Any]


@pytest.fixture(scope="module")
def sessions(corpus: Path) -> dict[str, list[Record]]:
    """Read every recorded session; a line that is no JSON is left out."""
    read: dict[str, list[Record]] = {}
    for source in sorted((corpus / "claude_code").glob("*.jsonl")):
        records = read.setdefault(source.stem, [])
        for line in source.read_bytes().split(b"\n"):
            try:
                records.append(json.loads(line))
            except ValueError:
                continue
    assert len(read) == 8
    return read


def test_every_recorded_session_makes_a_request(sessions: dict[str, list[Record]]) -> None:
    """The API accepts it, nothing is lost or added, nothing of the host's is touched."""
    for name, records in sessions.items():
        before = copy.deepcopy(records)
        request = normalize_messages_for_api(records)
        assert refusals(request) == [], name
        assert leaves(blocks_of(request)) == leaves(blocks_of(records)), name
        assert held_back_content(records) == [], name
        assert normalize_messages_for_api(request) == request, name
        assert records == before, name


def test_requests_of_a_recorded_session_only_grow(sessions: dict[str, list[Record]]) -> None:
    """At each new answer, the request before it is the beginning of the whole one."""
    records = sessions["cipherbox-01-three-persisted"]
    whole = normalize_messages_for_api(records)
    ids: set[str] = set()
    requests = 0
    for index, record in enumerate(records):
        message_id = record.get("message", {}).get("id")
        if record["type"] != "assistant" or message_id in ids:
            continue
        ids.add(message_id)
        request = normalize_messages_for_api(records[:index])
        if request and request[-1]["role"] == "user":
            assert whole[: len(request)] == request
            requests += 1
    assert requests > 50


def test_recorded_sessions_split_and_reorder_without_loss(
    sessions: dict[str, list[Record]],
) -> None:
    """Every block stays, one for each record; a display shows every record once."""
    for name, records in sessions.items():
        parts = normalize_messages(records)
        assert leaves(blocks_of(parts)) == leaves(blocks_of(records)), name
        assert all(len(part["message"]["content"]) == 1 for part in parts if "message" in part)
        assert normalize_messages(parts) == parts, name
        ordered = reorder_messages_in_ui(parts)
        assert sorted(map(id, ordered)) == sorted(map(id, parts)), name
        assert list(map(id, reorder_messages_in_ui(ordered))) == list(map(id, ordered)), name
        assert sum(map(len, split_chains(records))) == len(records), name


def test_a_hook_after_a_call_is_shown_behind_its_result(
    sessions: dict[str, list[Record]],
) -> None:
    """The recorded hooks of a call stand right behind what they belong to."""
    ordered: list[Any] = reorder_messages_in_ui(sessions["entire-06-malformed-line-with-progress"])
    hooks = [
        index
        for index, record in enumerate(ordered)
        if record["type"] == "progress" and record["data"].get("hookEvent") == "PostToolUse"
    ]
    assert hooks
    for index in hooks:
        result = ordered[index - 1]["message"]["content"][0]
        assert result["tool_use_id"] == ordered[index]["toolUseID"]
        assert ordered[index - 2]["message"]["content"][0]["id"] == ordered[index]["toolUseID"]


def test_breakpoints_of_a_recorded_request(sessions: dict[str, list[Record]]) -> None:
    """The last block of a long request carries the one breakpoint."""
    for records in sessions.values():
        request = add_cache_breakpoint(normalize_messages_for_api(records))
        assert json.dumps(request).count('"cache_control"') == 1


def test_the_budget_decides_the_same_on_either_form(
    sessions: dict[str, list[Record]], new_root: Callable[[], Path]
) -> None:
    """Groups, replacements and kept results are those of the raw records."""
    limits = Limits(max_result_chars=3_000, max_message_chars=9_000, tools={"Read": 3_000})
    replaced = 0
    for name, records in sessions.items():
        request = normalize_messages_for_api(records)
        decisions = []
        for messages in (records, request):
            groups = [
                [(one.tool_use_id, one.content) for one in group]
                for group in collect_candidates_by_message(messages)
            ]
            with Session.open(
                new_root(),
                name,
                limits=limits,
                durability="process",
                display_path=lambda path: f"/shown/{Path(path).name}",
            ) as session:
                session.enforce(messages)
                decisions.append((groups, dict(session.state.decisions)))
                replaced += session.report.replaced
        assert decisions[0] == decisions[1], name
    assert replaced > 10
