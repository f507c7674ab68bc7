"""Histories as an agent's host keeps them, and readers of what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.builders import answer, call, msg, res, results_in, text_of
from toolbudget import DirectoryStore, Session, StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.builders import Message
    from toolbudget.pipeline import StageName, StageResult, TurnContext

__all__ = ["BreakingStore", "RaisingStage", "contents", "history_of", "opened", "round_of"]


def opened(root: Path, **options: Any) -> Session:  # noqa: ANN401 - passed on
    """Open a session that need not survive power loss."""
    return Session.open(root, "session", durability="process", **options)


def round_of(number: int, size_chars: int = 900, tool_name: str = "Bash") -> list[Message]:
    """Make one API round: a call, and a result of that many characters that names its round."""
    name = f"t{number}"
    text = f"output {number} ".ljust(size_chars, "x")
    return [answer(call(name, tool_name), message_id=f"m{number}"), msg(res(name, text))]


def history_of(rounds: int, size_chars: int = 900) -> list[Message]:
    """Make a question and so many rounds."""
    history = [{"role": "user", "content": "Find the bug."}]
    for number in range(rounds):
        history += round_of(number, size_chars)
    return history


def contents(messages: list[Any]) -> dict[str, str]:
    """Give the text of every result by id."""
    return {block["tool_use_id"]: text_of(block["content"]) for block in results_in(messages)}


class BreakingStore(DirectoryStore):
    """A store that can be broken."""

    is_broken = False

    def put_many(self, items: Any) -> Any:  # noqa: ANN401 - passed on
        """Store, or refuse all."""
        return [StoreError("no room")] * len(items) if self.is_broken else super().put_many(items)


class RaisingStage:
    """A stage of the host's own that fails."""

    name: Final[StageName] = "microcompact"

    def run(self, context: TurnContext) -> StageResult | None:
        """Fail."""
        raise RuntimeError(f"no luck with {len(context.messages)} messages")
