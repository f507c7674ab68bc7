"""Autocompact (Q3): a summary instead of the history, or the history as it was."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.layer.pipeline.agents import contents, history_of, opened, round_of
from toolbudget import ContextWindow, Limits
from toolbudget.messages import create_user_message
from toolbudget.pipeline import Autocompact, Budget, Microcompact, Pipeline, SummaryError
from toolbudget.storage.inspection import find_sessions, inspect_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from toolbudget import Session

WINDOW = ContextWindow(size=4_000, reserve_output=0)
OVER_TOKENS = 3_900
HISTORY = history_of(12, 1_500)


class Summariser:
    """Gives one summary, and keeps what it was asked to summarise."""

    def __init__(self, summary: object = "The bug is in line 7.") -> None:
        """Begin without a call."""
        self.asked: list[Sequence[Any]] = []
        self._summary = summary

    def __call__(self, messages: Sequence[Any]) -> Any:  # noqa: ANN401 - also what is no summary
        """Give the summary."""
        self.asked.append(messages)
        if isinstance(self._summary, Exception):
            raise self._summary
        return self._summary


def compacting(session: Session, summarise: Any, **options: Any) -> Pipeline:  # noqa: ANN401
    """Make a pipeline of the first and the last stage."""
    options.setdefault("min_gain_tokens", 100)
    return Pipeline([Budget(), Autocompact(summarise, **options)], session=session, window=WINDOW)


def test_the_summary_stands_before_the_newest_rounds(tmp_path: Path) -> None:
    """It names where the results of what it stands for can be read."""
    session = opened(tmp_path, limits=Limits(max_message_chars=1_000))
    summariser = Summariser()
    result = compacting(session, summariser).run(HISTORY, used_tokens=OVER_TOKENS)
    summary, *tail = result.messages
    assert summary["role"] == "user"
    assert "The bug is in line 7." in summary["content"]
    assert contents(tail).keys() == {"t10", "t11"}
    for number in range(10):
        path = session.result_path(f"t{number}")
        assert path is not None
        assert f"- t{number}: {path}" in summary["content"]
        assert path.read_text() == contents(HISTORY)[f"t{number}"]
    # References are given as references, so that the summary can point to files.
    [asked] = summariser.asked
    assert all("Full output saved to" in text for text in contents(list(asked)).values())
    assert result.prefix_broken_at == 0
    assert result.used_tokens < OVER_TOKENS


def test_it_waits_until_the_window_is_over(tmp_path: Path) -> None:
    """Below that nobody is asked."""
    summariser = Summariser()
    result = compacting(opened(tmp_path), summariser).run(HISTORY, used_tokens=3_000)
    assert result.messages == HISTORY
    assert summariser.asked == []


def test_every_later_turn_sends_the_same_summary(tmp_path: Path) -> None:
    """Also after a resume, where the algorithm may be gone, and in forks."""
    session = opened(tmp_path)
    first = compacting(session, Summariser()).run(HISTORY, used_tokens=OVER_TOKENS).messages
    fork = session.fork("fork")
    session.close()
    longer = [*HISTORY, *round_of(12)]
    with opened(tmp_path) as resumed:
        for going_on in (resumed, fork):
            later = Pipeline([Budget()], session=going_on).run(longer)
            assert later.messages[: len(first)] == first
            assert later.prefix_broken_at is None
    _, places = find_sessions(tmp_path)
    assert [inspect_session(place).findings for place in places] == [(), ()]


@pytest.mark.parametrize(
    "summary",
    ["", "  \n", None, 7, "word " * 4_000, "word " * 2_500, RuntimeError("no model")],
    ids=["empty", "blank", "none", "number", "too-long", "no-gain", "raises"],
)
def test_a_summary_that_is_none_leaves_the_history(tmp_path: Path, summary: object) -> None:
    """And it is not asked for again until there is more to gain."""
    session = opened(tmp_path)
    summariser = Summariser(summary)
    pipeline = compacting(session, summariser, max_summary_tokens=4_000)
    result = pipeline.run(HISTORY, used_tokens=OVER_TOKENS)
    assert result.messages == HISTORY
    assert isinstance(result.failures[0].error, SummaryError | RuntimeError)
    assert not pipeline.run(HISTORY, used_tokens=OVER_TOKENS).failures
    assert len(summariser.asked) == 1
    assert pipeline.run(HISTORY, used_tokens=OVER_TOKENS + 100).failures
    assert len(summariser.asked) == 2
    assert session.context_edits == ()


def test_a_summary_of_a_summary_keeps_the_list_of_files(tmp_path: Path) -> None:
    """What was stored before the first one can still be found in the second."""
    session = opened(tmp_path)
    pipeline = compacting(session, Summariser())
    pipeline.run(HISTORY, used_tokens=OVER_TOKENS)
    longer = HISTORY + [message for number in range(12, 20) for message in round_of(number, 1_500)]
    summary, *tail = pipeline.run(longer, used_tokens=OVER_TOKENS).messages
    assert contents(tail).keys() == {"t18", "t19"}
    assert all(f"- t{number}: " in summary["content"] for number in range(18))
    assert len(session.context_edits) == 2


def test_the_usage_of_a_longer_history_does_not_count(tmp_path: Path) -> None:
    """A request that is repeated before an answer came is not summarised a second time."""
    history = [*HISTORY[:-2], {**HISTORY[-2], "usage": {"input_tokens": 3_950}}, HISTORY[-1]]
    summariser = Summariser()
    session = opened(tmp_path)
    first = compacting(session, summariser).run(history)
    assert first.report("autocompact") is not None
    again = compacting(session, summariser).run(history)
    assert again.messages == first.messages
    assert len(summariser.asked) == 1
    assert again.used_tokens < 2_000


def test_an_asynchronous_summariser_is_awaited(tmp_path: Path) -> None:
    """It needs ``arun``; with ``run`` the stage fails and says so."""

    async def summarise(messages: Sequence[Any]) -> str:
        await asyncio.sleep(0)
        return f"{len(messages)} messages"

    pipeline = compacting(opened(tmp_path), summarise)
    failed = pipeline.run(HISTORY, used_tokens=OVER_TOKENS)
    assert "use arun" in str(failed.failures[0].error)
    done = asyncio.run(pipeline.arun(HISTORY, used_tokens=OVER_TOKENS + 200))
    assert "21 messages" in done.messages[0]["content"]


def test_a_host_of_records_gets_a_summary_record(tmp_path: Path) -> None:
    """It is marked as what stands for a compacted history."""
    records: list[Any] = [{"type": message["role"], "message": message} for message in HISTORY]
    records[0] = create_user_message("Find the bug.")
    pipeline = compacting(opened(tmp_path), Summariser())
    summary = pipeline.run(records, used_tokens=OVER_TOKENS).messages[0]
    assert summary["type"] == "user"
    assert summary["isCompactSummary"] is True


ERRORS = [
    "prompt is too long: 4300 tokens > 4000 maximum",
    "Error code: 400 - {'error': {'code': 'context_length_exceeded'}}",
    (
        "This model's maximum context length is 4000 tokens. However, your messages resulted in "
        "4,300 tokens. Please reduce the length of the messages."
    ),
    "input length and `max_tokens` exceed context limit: 3800 + 500 > 4000, decrease input length",
    "Your input exceeds the context window of this model.",
    "The input token count (4300) exceeds the maximum number of tokens allowed (4000).",
    "Input is too long for requested model.",
]


@pytest.mark.parametrize("text", ERRORS)
def test_an_overflow_is_recovered_from(tmp_path: Path, text: str) -> None:
    """Whatever the thresholds say: the provider has spoken."""

    async def summarise(_messages: Sequence[Any]) -> str:
        await asyncio.sleep(0)
        return "short"

    with opened(tmp_path / "sync") as session, opened(tmp_path / "async") as other:
        result = compacting(session, Summariser()).recover_from_overflow(HISTORY, text)
        assert result is not None
        assert len(result.messages) == 5
        later = Pipeline([Budget()], session=session).run(HISTORY)
        assert later.messages == result.messages
        awaited = compacting(other, summarise).arecover_from_overflow(HISTORY, RuntimeError(text))
        same = asyncio.run(awaited)
        assert same is not None
        assert len(same.messages) == 5


class StatusError(Exception):
    """What a client raises: a status beside the text."""

    status_code = 413


def test_other_errors_are_the_hosts(tmp_path: Path) -> None:
    """Nothing is summarised because a server was busy; the status 413 alone is enough."""
    pipeline = compacting(opened(tmp_path), Summariser())
    for text in ("overloaded_error", "rate limit exceeded", "max_tokens: 9 > 8", ""):
        assert pipeline.recover_from_overflow(HISTORY, text) is None
    assert pipeline.recover_from_overflow(HISTORY, StatusError("body")) is not None


def test_no_room_is_no_recovery(tmp_path: Path) -> None:
    """If nothing could be made shorter the error stays the host's."""
    pipeline = compacting(opened(tmp_path), Summariser(RuntimeError("no model")))
    assert pipeline.recover_from_overflow(HISTORY, ERRORS[0]) is None


def test_whatever_recovery_changed_is_announced(tmp_path: Path) -> None:
    """Also if it saved nothing by the estimate: every later turn sends it."""
    session = opened(tmp_path)
    history = history_of(3, 240)  # as text shorter than what stands for it, as tokens hardly
    pipeline = Pipeline([Budget(), Microcompact(keep=1)], session=session)
    result = pipeline.recover_from_overflow(history, ERRORS[0])
    later = pipeline.run(history)
    assert later.messages == (history if result is None else result.messages)


def test_a_summary_that_was_broken_off_is_asked_for_again(tmp_path: Path) -> None:
    """Who cancels the turn has not said that the summariser fails."""
    is_slow = True

    async def summarise(_messages: Sequence[Any]) -> str:
        if is_slow:
            await asyncio.Event().wait()
        return "short"

    pipeline = compacting(opened(tmp_path), summarise)

    async def cancel() -> None:
        async with asyncio.timeout(0.05):
            await pipeline.arun(HISTORY, used_tokens=OVER_TOKENS)

    with pytest.raises(TimeoutError):
        asyncio.run(cancel())
    is_slow = False
    result = asyncio.run(pipeline.arun(HISTORY, used_tokens=OVER_TOKENS))
    report = result.report("autocompact")
    assert report is not None
    assert report.status == "changed"
