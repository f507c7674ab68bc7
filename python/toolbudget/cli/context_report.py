"""What ``toolbudget context`` has to say, and its form for machines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolbudget.cli.context_history import ChainHistory, History, Turn
    from toolbudget.cli.source import Format, Unit
    from toolbudget.tokens.window import ContextWindow, WindowCheck

__all__ = ["ContextReport"]


@dataclass(frozen=True)
class ContextReport:
    """How the context of an input filled up.

    Attributes:
        input_path: What was read.
        format: Its form.
        unit: What positions count.
        window: The model's window and its thresholds.
        history: The turns of each chain.
    """

    input_path: str
    format: Format
    unit: Unit
    window: ContextWindow
    history: History

    @property
    def main(self) -> ChainHistory:
        """The chain whose context is shown."""
        return self.history.main

    @cached_property
    def check(self) -> WindowCheck:
        """How full the context is now."""
        return self.window.check_count(self.main.meter.count)

    @cached_property
    def peak(self) -> Turn | None:
        """The turn at which the context was fullest, the first of them."""
        return max(self.main.turns, key=lambda turn: turn.used_tokens, default=None)

    @property
    def other_chains(self) -> int:
        """Chains that have contexts of their own and are not shown."""
        return len(set(self.history.chains) - {self.history.chain})

    def to_json(self) -> dict[str, object]:
        """Return the report in the form for machines."""
        main, check, peak = self.main, self.check, self.peak
        return {
            "input": self.input_path,
            "format": self.format,
            "agent_id": self.history.chain.agent_id,
            "other_chain_count": self.other_chains,
            "size_tokens": check.size_tokens,
            "available_tokens": check.available_tokens,
            "near_tokens": check.near_tokens,
            "over_tokens": check.over_tokens,
            "state": check.state,
            "explain": check.explain,
            "used_tokens": check.used_tokens,
            "reported_tokens": check.reported_tokens,
            "estimated_tokens": check.estimated_tokens,
            "free_tokens": check.free_tokens,
            "output_room_tokens": check.output_room_tokens,
            "peak_turn": peak.number if peak else None,
            "peak_tokens": peak.used_tokens if peak else None,
            "compaction_count": main.compactions,
            "turns": [self._turn_json(turn) for turn in main.turns],
            "tools": [
                {
                    "tool": share.tool_name,
                    "call_count": share.calls,
                    "call_tokens": share.call_tokens,
                    "result_count": share.results,
                    "result_tokens": share.result_tokens,
                    "largest_result_tokens": share.largest_result_tokens,
                }
                for share in main.tool_shares()
            ],
            "user_text_tokens": main.text_tokens["user"],
            "assistant_text_tokens": main.text_tokens["assistant"],
            "malformed_lines": [
                {"line": line.position, "problem": line.problem} for line in self.history.malformed
            ],
            "malformed_line_count": self.history.malformed_count,
        }

    def _turn_json(self, turn: Turn) -> dict[str, object]:
        position = "line" if self.unit == "line" else "message_index"
        return {
            "turn": turn.number,
            position: turn.position,
            "message_id": turn.message_id,
            "reported": turn.is_reported,
            "cached_tokens": turn.cached_tokens,
            "new_tokens": turn.new_tokens,
            "output_tokens": turn.output_tokens,
            "estimated_tokens": turn.estimated_tokens,
            "used_tokens": turn.used_tokens,
            "state": self.window.state_of(turn.used_tokens),
            "after_compaction": turn.is_after_compaction,
            "largest_tool": self.main.largest_tool(turn),
            "largest_result_tokens": turn.largest_tokens,
        }
