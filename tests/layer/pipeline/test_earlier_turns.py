"""What earlier turns decided holds in every pipeline, whichever stages it has and which fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.layer.messages.api_rules import refusals
from tests.layer.pipeline.agents import BreakingStore, contents, history_of, opened, round_of
from toolbudget import ContextWindow, Limits
from toolbudget.messages import normalize_messages_for_api
from toolbudget.pipeline import Autocompact, Budget, HistorySnip, Microcompact, Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from toolbudget.pipeline import Stage

LATER_S = 7_200.0


@pytest.mark.parametrize(
    "stages",
    [[], [Microcompact(keep=2)], [HistorySnip(max_rounds=50)]],
    ids=["none", "microcompact", "snip"],
)
def test_without_the_budget(tmp_path: Path, stages: list[Stage]) -> None:
    """What one pipeline replaced and cleared, one with other stages sends again, in forks too."""
    session = opened(tmp_path, limits=Limits(max_message_chars=1_500))
    history = [*history_of(5), *round_of(5, 2_000)]
    first = Pipeline([Budget(), Microcompact(keep=2)], session=session).run(history, idle_s=LATER_S)
    assert len(set(contents(first.messages).values()) - set(contents(history).values())) == 5
    for sender in (session, session.fork("fork")):
        result = Pipeline(stages, session=sender).run(history, idle_s=1.0)
        assert result.messages == first.messages
        assert result.prefix_broken_at is None


def test_a_strict_budget_that_fails(tmp_path: Path) -> None:
    """It raises for a new result; what was replaced or cleared needs no disk (B8)."""
    store = BreakingStore(tmp_path / "own", durability="process")
    limits = Limits(max_message_chars=1_500)
    session = opened(tmp_path, limits=limits, store=store, strict=True)
    history = [*history_of(4), *round_of(4, 2_000)]
    pipeline = Pipeline([Budget(), Microcompact(keep=2)], session=session)
    first = pipeline.run(history, idle_s=LATER_S)
    store.is_broken = True
    result = pipeline.run([*history, *round_of(5, 2_000)], idle_s=1.0)
    assert [report.name for report in result.failures] == ["budget"]
    assert result.messages[: len(history)] == first.messages
    assert contents(result.messages)["t5"] == contents(round_of(5, 2_000))["t5"]
    session.close()
    assert Pipeline([Budget()], session=session).run(history).messages == history


def test_a_clearing_that_could_store_nothing_is_reported(tmp_path: Path) -> None:
    """Also where the session is not strict: nothing goes, and the report says why."""
    store = BreakingStore(tmp_path / "own", durability="process")
    session = opened(tmp_path, store=store)
    pipeline = Pipeline([Budget(), Microcompact(keep=2)], session=session)
    history = history_of(5)
    store.is_broken = True
    result = pipeline.run(history, idle_s=LATER_S)
    assert (result.messages, result.prefix_broken_at) == (history, None)
    [failure] = result.failures
    assert (failure.name, failure.status, str(failure.error)) == (
        "microcompact",
        "failed",
        "no room",
    )
    store.is_broken = False
    assert [one.changed for one in pipeline.run(history, idle_s=LATER_S).reports] == [0, 3]


def test_a_request_that_is_made_again_is_judged_alike(tmp_path: Path) -> None:
    """The last usage is about what was sent before the clearing; nobody pays for a summary."""
    asked: list[int] = []

    def summarise(messages: Sequence[Any]) -> str:
        asked.append(len(messages))
        return "short"

    history = history_of(12, 20_000)
    history[-2]["usage"] = {"input_tokens": 68_000, "output_tokens": 10}
    stages: list[Stage] = [Budget(), Microcompact(keep=2), Autocompact(summarise)]
    window = ContextWindow(size=80_000, reserve_output=10_000)
    pipeline = Pipeline(stages, session=opened(tmp_path), window=window)
    first = pipeline.run(history, idle_s=1.0)
    again = pipeline.run(history, idle_s=1.0)
    assert (again.messages, again.used_tokens) == (first.messages, first.used_tokens)
    assert asked == []


def marked(history: Sequence[Any], **marks: object) -> list[Any]:
    """Make records of messages, with the marks of their chain."""
    return [
        {"type": one["role"], "message": one, "uuid": f"u{place}", **marks}
        for place, one in enumerate(history)
    ]


AGENT: dict[str, Any] = {"isSidechain": True, "agentId": "agent"}
FORMS: dict[str, Callable[[Sequence[Any]], list[Any]]] = {
    "messages": list,
    "records": marked,
    "main": lambda history: marked(history, isSidechain=False),
    "agent": lambda history: marked(history, **AGENT),
}


@pytest.mark.parametrize("theirs", FORMS)
@pytest.mark.parametrize("ours", FORMS)
def test_an_inherited_edit_is_of_the_chain_that_it_is_put_into(
    tmp_path: Path, ours: str, theirs: str
) -> None:
    """Whatever the parent's history looks like and the child's: the request is the same."""
    parent = opened(tmp_path)
    snip = Pipeline([HistorySnip(max_rounds=4)], session=parent)
    first = snip.run(FORMS[ours](history_of(6)))
    sent = normalize_messages_for_api(first.messages)
    assert len(sent) == 5
    child = snip.for_session(parent.subagent("agent"))
    inherited = child.run(FORMS[theirs](history_of(6)))
    assert normalize_messages_for_api(inherited.messages) == sent
    later = child.run(FORMS[theirs](history_of(10)))
    assert later.failures == ()
    assert refusals(normalize_messages_for_api(later.messages)) == []
    texts = [str(one) for one in later.messages]
    assert sum("8 earlier rounds" in text for text in texts) == 1
    assert not any("4 earlier rounds" in text for text in texts)


def test_of_two_processes_the_first_one_cuts(tmp_path: Path) -> None:
    """Whoever comes second goes on with what it was given, then with what the first one cut."""
    history = history_of(12)
    first, second = (
        Pipeline([Budget(), HistorySnip(max_rounds=rounds)], session=opened(tmp_path))
        for rounds in (6, 8)
    )
    for sender in (first, second):
        Pipeline([Budget()], session=sender.session).run(history)
    cut = first.run(history)
    assert cut.prefix_broken_at == 1
    meanwhile = second.run(history)
    assert meanwhile.messages == history
    [failure] = meanwhile.failures
    assert "another process has cut the history" in str(failure.error)
    adopted = second.run(history)
    assert (adopted.messages, adopted.prefix_broken_at) == (cut.messages, 1)
    assert second.run(history).prefix_broken_at is None
    assert first.run(history).messages == cut.messages
    assert Pipeline([Budget()], session=opened(tmp_path)).run(history).messages == cut.messages


def test_a_cut_that_a_process_was_not_there_for_is_announced_when_it_gets_there(
    tmp_path: Path,
) -> None:
    """It opens the session behind the cut, and begins with fewer messages than were cut out."""
    history = history_of(12)
    cut = Pipeline([Budget(), HistorySnip(max_rounds=6)], session=opened(tmp_path)).run(history)
    behind = Pipeline([Budget()], session=opened(tmp_path))
    early = history[:9]
    for _ in range(2):
        result = behind.run(early)
        assert (result.messages, result.prefix_broken_at) == (early, None)
    result = behind.run(history)
    assert (result.messages, result.prefix_broken_at) == (cut.messages, 1)
    assert behind.run(history).prefix_broken_at is None


def test_what_went_out_undecided_is_announced_when_it_is_replaced(tmp_path: Path) -> None:
    """A strict budget has failed, the model has seen the full text, then there is room again."""
    store = BreakingStore(tmp_path / "own", durability="process")
    limits = Limits(max_message_chars=1_500)
    session = opened(tmp_path, limits=limits, store=store, strict=True)
    pipeline = Pipeline([Budget(), HistorySnip(max_rounds=6)], session=session)
    history = history_of(8)
    assert pipeline.run(history).prefix_broken_at == 1
    store.is_broken = True
    history += round_of(8, 2_000)
    seen = pipeline.run(history)
    assert [report.name for report in seen.failures] == ["budget"]
    store.is_broken = False
    history += round_of(9)
    result = pipeline.run(history)
    place = len(seen.messages) - 1
    assert result.prefix_broken_at == place
    assert result.messages[:place] == seen.messages[:place]
    assert contents(result.messages)["t8"].startswith("<persisted-output>")
    later = pipeline.run([*history, *round_of(10)])
    assert later.prefix_broken_at is None
    assert later.messages[: len(result.messages)] == result.messages


def test_a_subagent_without_a_first_record_begins_with_the_cuts(tmp_path: Path) -> None:
    """It shares its parent's prefix as one does that `subagent` began, and keeps it by itself."""
    session = opened(tmp_path)
    history = history_of(8)
    cut = Pipeline([HistorySnip(max_rounds=5)], session=session).run(history)
    assert len(cut.messages) < len(history)
    agent = opened(tmp_path, agent_id="a", parent=session)
    assert Pipeline([Budget()], session=agent).run(history).messages == cut.messages
    assert agent.read_result("t0") == contents(history)["t0"]
    agent.close()
    resumed = opened(tmp_path, agent_id="a")
    assert Pipeline([Budget()], session=resumed).run(history).messages == cut.messages
    assert resumed.read_result("t0") == contents(history)["t0"]


def test_what_a_subagent_has_sent_stays(tmp_path: Path) -> None:
    """One that has decided something by itself has sent that history whole."""
    session = opened(tmp_path)
    history = history_of(8)
    agent = opened(tmp_path, agent_id="a")
    sent = Pipeline([Budget()], session=agent).run(history)
    agent.close()
    Pipeline([HistorySnip(max_rounds=5)], session=session).run(history)
    resumed = opened(tmp_path, agent_id="a", parent=session)
    result = Pipeline([Budget()], session=resumed).run(history)
    assert (result.messages, result.prefix_broken_at) == (sent.messages, None)


def test_a_subagent_that_does_nothing_writes_nothing(tmp_path: Path) -> None:
    """Cuts are recorded with its first turn, not by opening it."""
    session = opened(tmp_path)
    Pipeline([HistorySnip(max_rounds=5)], session=session).run(history_of(8))
    agent = opened(tmp_path, agent_id="a", parent=session)
    agent.close()
    assert not agent.transcript_path.exists()
