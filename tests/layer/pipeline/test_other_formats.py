"""Histories of other wire formats: what cannot be told apart is never cut out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.layer.pipeline.agents import history_of, opened
from toolbudget import ContextWindow, InvalidMessageError
from toolbudget.pipeline import (
    Autocompact,
    Budget,
    Collapse,
    CollapseCommit,
    HistorySnip,
    Microcompact,
    Pipeline,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from toolbudget.pipeline import Stage, TurnContext

TEXT: Final = "output " * 4_000
ROUNDS: Final[dict[str, list[dict[str, Any]]]] = {
    "chat": [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
        {"role": "tool", "tool_call_id": "c1", "content": TEXT},
    ],
    "old-chat": [
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": TEXT},
    ],
    "responses": [
        {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": TEXT},
    ],
    "converse": [
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "f"}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [TEXT]}}]},
    ],
    "gemini": [
        {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": TEXT}}]},
    ],
    "ai-sdk": [
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1"}]},
        {"role": "user", "content": [{"type": "tool-result", "toolCallId": "c1", "output": TEXT}]},
    ],
}


class FoldsAll:
    """A collapse algorithm that folds everything behind the first message."""

    def apply_if_needed(self, context: TurnContext) -> Sequence[CollapseCommit]:
        """Fold, whatever it is."""
        return [CollapseCommit(1, len(context.messages) - 1, "folded")]

    recover_from_overflow = apply_if_needed

    def snapshot(self) -> dict[str, Any]:
        """Know nothing."""
        return {}

    def restore(self, snapshot: object) -> None:
        """Forget it."""


@pytest.mark.parametrize("name", ROUNDS)
@pytest.mark.parametrize("is_record", [False, True])
def test_what_no_stage_can_store_stays(tmp_path: Path, name: str, *, is_record: bool) -> None:
    """Results of another format are no blocks of ours, so a cut would lose them for good."""
    history = [*history_of(1), *ROUNDS[name] * 12, *history_of(2)[1:]]
    if is_record:
        history = [{"type": one.get("role", one.get("type")), "message": one} for one in history]
    asked: list[object] = []

    def summarise(messages: Sequence[Any]) -> str:
        asked.append(messages)
        return "summary"

    stages: list[Stage] = [
        Budget(),
        HistorySnip(max_rounds=2),
        Microcompact(keep=0),
        Collapse(FoldsAll()),
        Autocompact(summarise, min_gain_tokens=1),
    ]
    window = ContextWindow(size=2_000, reserve_output=100)
    pipeline = Pipeline(stages, session=opened(tmp_path), window=window)
    result = pipeline.run(history, used_tokens=10_000, idle_s=1.0)
    assert result.messages == history
    failed = {report.name: report.error for report in result.failures}
    assert list(failed) == ["snip", "collapse", "autocompact"]
    for error in failed.values():
        assert isinstance(error, InvalidMessageError)
        assert "of another format" in str(error)
    assert asked == []
