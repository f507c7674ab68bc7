"""A small algorithm for the collapse stage: the steps of a finished task become one note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolbudget._core.pure.shape import read_message, text_field
from toolbudget.messages.plain import detached
from toolbudget.pipeline.checks import check_callable, check_count
from toolbudget.pipeline.collapse import CollapseCommit
from toolbudget.pipeline.rounds import is_prompt, read_rounds
from toolbudget.tokens import estimate_tokens, estimate_tokens_for_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from toolbudget.pipeline.stage import TurnContext

__all__ = ["FinishedTasks"]


class FinishedTasks:
    """Folds the steps between a question of the user and the answer that ended them.

    The question stays, the answer stays; the calls and results between them become one note with
    the host's words. It acts when the window is ``near`` or ``over``, oldest tasks first, all at
    once, so that the cached prefix breaks seldom. The last task is never folded.

    It shows what an algorithm looks like; how to fold well is the host's to say.

    Args:
        describe: Called with copies of the steps' messages; returns what to say in their place.
        min_tokens: Steps with fewer estimated tokens are not worth it.

    Raises:
        ConfigError: An argument cannot be used.

    Example:
        >>> FinishedTasks(lambda messages: "done").snapshot()
        {'tasks': 0}
    """

    def __init__(
        self, describe: Callable[[Sequence[Any]], str], *, min_tokens: int = 1_000
    ) -> None:
        check_callable("describe", describe)
        check_count("min_tokens", min_tokens)
        self.describe: Final = describe
        self.min_tokens: Final = min_tokens
        self._tasks = 0

    def apply_if_needed(self, context: TurnContext) -> list[CollapseCommit]:
        """Fold every finished task but the last, if the window fills up."""
        check = context.check
        if check is None or check.state == "ok":
            return []
        return self._fold(context.messages)

    def recover_from_overflow(self, context: TurnContext) -> list[CollapseCommit]:
        """Fold them whatever the window says."""
        return self._fold(context.messages)

    def snapshot(self) -> Mapping[str, Any]:
        """Return how many tasks were folded."""
        return {"tasks": self._tasks}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Go on counting."""
        tasks = snapshot.get("tasks")
        self._tasks = tasks if type(tasks) is int else 0

    def _fold(self, messages: Sequence[Any]) -> list[CollapseCommit]:
        commits = []
        for start, end in _finished_steps(messages):
            steps = list(messages[start:end])
            tokens = estimate_tokens_for_messages(steps)
            if tokens < self.min_tokens:
                continue
            text: object = self.describe([detached(step) for step in steps])
            if not isinstance(text, str) or not text.strip():
                continue
            if estimate_tokens(text) < tokens:
                commits.append(CollapseCommit(start, end, f"[Steps of this task: {text.strip()}]"))
        self._tasks += len(commits)
        return commits


def _finished_steps(messages: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield the places of the steps between a question and the answer that the next one follows."""
    starts = read_rounds(messages).starts
    begin: int | None = None
    for number, start in enumerate(starts):
        if begin is None:
            begin = start
        end = starts[number + 1] if number + 1 < len(starts) else len(messages)
        if end == len(messages):
            return  # the last task
        if _calls(messages[start:end]) or not is_prompt(messages[end - 1], end - 1):
            continue
        if begin < start:
            yield begin, start
        begin = None


def _calls(messages: Sequence[Any]) -> bool:
    for index, element in enumerate(messages):
        message = read_message(element, index)
        if message is None or message.role != "assistant":
            continue
        blocks = message.content if isinstance(message.content, (list, tuple)) else ()
        if any(text_field(block, "type") == "tool_use" for block in blocks):
            return True
    return False
