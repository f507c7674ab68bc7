"""Dropping whole old rounds from the front of a history (Q3)."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from toolbudget.errors import ConfigError
from toolbudget.pipeline.checks import check_count, check_share
from toolbudget.pipeline.cutting import Cut, cut_out, earlier_edits
from toolbudget.pipeline.host_form import stands_in
from toolbudget.pipeline.rounds import before_prompt, read_rounds, results_of
from toolbudget.pipeline.stage import StageResult
from toolbudget.tokens import estimate_tokens_for_messages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget.budget.session import Session
    from toolbudget.pipeline.rounds import Rounds
    from toolbudget.pipeline.stage import StageName, TurnContext

__all__ = ["HistorySnip"]


class HistorySnip:
    """Drops whole rounds from the front when there are too many, and leaves one note.

    A round is an answer of the model with the results that follow it. What the user said first
    stays, so do the newest rounds, and no call is parted from its result. What the user said last
    before the cut stays with the answer to it. Every result that goes is stored in full first.

    More goes than must, so that the cached prefix breaks seldom: the history grows from ``keep``
    of the limit up to the limit, and then falls back to it.

    Args:
        max_rounds: Drop rounds if there are more.
        max_tokens: Drop rounds if more tokens are in the context.
        keep: What share of the limit is left, above 0 and below 1.
        protect_rounds: So many of the newest rounds always stay, at least 1.

    Raises:
        ConfigError: An argument cannot be used, or there is no limit at all.

    Example:
        >>> import tempfile
        >>> from toolbudget import Session
        >>> from toolbudget.pipeline import HistorySnip, Pipeline
        >>> session = Session.open(tempfile.mkdtemp(), "demo")
        >>> pipeline = Pipeline([HistorySnip(max_rounds=4)], session=session)
        >>> history = [{"role": "user", "content": "Count."}]
        >>> for number in range(5):
        ...     history.append({"role": "assistant", "content": str(number)})
        ...     history.append({"role": "user", "content": "Go on."})
        >>> messages = pipeline.run(history).messages
        >>> print(messages[1]["content"])
        [3 earlier rounds of this conversation were left out.]
        >>> [message["content"] for message in messages[2:]]
        ['Go on.', '3', 'Go on.', '4', 'Go on.']
    """

    name: Final[StageName] = "snip"

    def __init__(
        self,
        *,
        max_rounds: int | None = None,
        max_tokens: int | None = None,
        keep: float = 0.5,
        protect_rounds: int = 2,
    ) -> None:
        if max_rounds is None and max_tokens is None:
            raise ConfigError(f"max_rounds or max_tokens (argument) must be given: {max_rounds!r}")
        for name, value in (("max_rounds", max_rounds), ("max_tokens", max_tokens)):
            if value is not None:
                check_count(name, value, at_least=1)
        check_count("protect_rounds", protect_rounds, at_least=1)
        check_share("keep", keep)
        self.max_rounds: Final = max_rounds
        self.max_tokens: Final = max_tokens
        self.keep: Final = keep
        self.protect_rounds: Final = protect_rounds

    def run(self, context: TurnContext) -> StageResult | None:
        """Drop the oldest rounds if a limit is exceeded."""
        session, messages = context.session, context.messages
        if session is None:
            return None
        rounds = read_rounds(messages)
        start = _first_to_go(session, messages, rounds)
        dropped = self._rounds_to_drop(context, rounds, start)
        if not dropped:
            return None
        end = before_prompt(messages, start, rounds.starts[dropped])
        cut = _cut(session, messages, start, end, dropped)
        left = cut_out(context, messages, cut)
        return StageResult(messages=left, changed=end - start, detail=f"{dropped} rounds left out")

    def _rounds_to_drop(self, context: TurnContext, rounds: Rounds, start: int) -> int:
        starts = rounds.starts
        most = len(starts) - self.protect_rounds
        if most <= 0:
            return 0
        dropped = 0
        if self.max_rounds is not None and len(starts) > self.max_rounds:
            dropped = len(starts) - max(int(self.keep * self.max_rounds), 1)
        if self.max_tokens is not None and context.used_tokens > self.max_tokens:
            excess_tokens = context.used_tokens - int(self.keep * self.max_tokens)
            dropped = max(dropped, _rounds_of(context.messages, starts, start, excess_tokens))
        return min(dropped, most)


def _rounds_of(messages: Sequence[Any], starts: Sequence[int], start: int, tokens: int) -> int:
    """Return how many rounds from the front hold so many tokens."""
    held = 0
    begin = start
    for number, end in enumerate(starts[1:], 1):
        held += estimate_tokens_for_messages(messages[begin:end])
        if held >= tokens:
            return number
        begin = end
    return len(starts)


def _first_to_go(session: Session, messages: Sequence[Any], rounds: Rounds) -> int:
    """Return where the first round begins, or the note that stands for those before it."""
    if not rounds.starts:
        return len(messages)
    first_round = rounds.starts[0]
    edits = session.context_edits
    for index in range(rounds.first_message + 1, first_round):
        if any(stands_in(edit, messages[index]) for edit in edits):
            return index
    return first_round


def _cut(session: Session, messages: Sequence[Any], start: int, end: int, dropped: int) -> Cut:
    span = messages[start:end]
    total = dropped
    for edit in earlier_edits(session, span):
        earlier = edit.info.get("rounds")
        total += earlier if type(earlier) is int else 0
    paths = session.store_results(results_of(span))
    return Cut("snip", start, end, _note(total, paths), {"rounds": total})


def _note(rounds: int, paths: Mapping[str, str]) -> str:
    what = "1 earlier round" if rounds == 1 else f"{rounds} earlier rounds"
    text = f"{what} of this conversation {'was' if rounds == 1 else 'were'} left out."
    folders = sorted({posixpath.dirname(path) for path in paths.values()})
    if folders:
        text += f" Full outputs of the tools are in files in {', '.join(folders)}"
    return f"[{text}]"
