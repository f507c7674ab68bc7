"""What a killed process knew beside its messages, found again in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolbudget._core.pure.shape import field, plain_text, text_field
from toolbudget.continuation import check_token_budget, create_budget_tracker, parse_token_budget
from toolbudget.messages.api import held_back_content, normalize_messages_for_api
from toolbudget.messages.guards import is_tool_use_result_message
from toolbudget.tokens._records import read_usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolbudget.continuation import BudgetTracker, TurnBudget

__all__ = ["NUDGE_ORIGIN", "replay_budget", "text_of", "words_wait"]

NUDGE_ORIGIN: Final = {"kind": "token_budget_continuation"}
"""The ``origin`` of the message that tells the model to go on."""


def replay_budget(
    records: Iterable[Mapping[str, Any]], turn_budget: TurnBudget, agent_id: str | None
) -> BudgetTracker:
    """Count again what the turn has used, and take the decisions again that it took.

    The same numbers give the same decisions, so the tracker is what it was.

    Args:
        records: The conversation.
        turn_budget: A new one; it is brought to where the conversation is.
        agent_id: The sub-agent, which never goes on.
    """
    tracker = create_budget_tracker()
    counted: set[str] = set()
    for record in records:
        message = record["message"]
        if record["type"] == "assistant":
            response_id = text_field(message, "id")
            if response_id is None or response_id not in counted:
                turn_budget.add_output_tokens(read_usage(field(message, "usage")).output_tokens)
            if response_id is not None:
                counted.add(response_id)
        elif record.get("origin") == NUDGE_ORIGIN:
            budget, used = turn_budget.current_turn_token_budget, turn_budget.turn_output_tokens
            check_token_budget(tracker, agent_id, budget, used)
        elif not record.get("isMeta") and not is_tool_use_result_message(record):
            turn_budget.snapshot_output_tokens_for_turn(parse_token_budget(text_of(message)))
            tracker = create_budget_tracker()
    return tracker


def words_wait(records: Sequence[object]) -> bool:
    """Tell whether a user's words stand behind a paused answer that the provider has gone on with.

    The answer stands before them in a request, however late it came to its end.
    """
    request = normalize_messages_for_api(records)
    return request[-1]["role"] == "user" or bool(held_back_content(records))


def text_of(message: object) -> str:
    """Give the text of a message: its content, or its text blocks."""
    content = field(message, "content")
    text = plain_text(content)
    if text is not None:
        return text
    blocks = content if isinstance(content, (list, tuple)) else ()
    texts = [text_field(block, "text") for block in blocks if text_field(block, "type") == "text"]
    return "\n".join(text for text in texts if text)
