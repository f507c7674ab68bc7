"""HistorySnip (Q3): whole rounds go, one note stays, and every turn sends the same."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import answer, call, msg, res
from tests.layer.pipeline.agents import contents, history_of, opened, round_of
from toolbudget import ConfigError, Session
from toolbudget.messages import (
    create_assistant_message,
    create_user_message,
    normalize_messages_for_api,
)
from toolbudget.pipeline import HistorySnip, Pipeline
from toolbudget.storage.inspection import find_sessions, inspect_session

if TYPE_CHECKING:
    from pathlib import Path


def snipping(session: Session, **options: Any) -> Pipeline:  # noqa: ANN401 - passed on
    """Make a pipeline that only snips, from nine rounds to four."""
    return Pipeline([HistorySnip(**(options or {"max_rounds": 8}))], session=session)


def test_old_rounds_make_place_for_one_note(tmp_path: Path) -> None:
    """The question and the newest rounds stay; results that went are in the files."""
    session = opened(tmp_path)
    history = history_of(9)
    given = deepcopy(history)
    result = snipping(session).run(history)
    assert history == given
    assert result.messages[0] is history[0]
    note = result.messages[1]
    assert note["role"] == "user"
    assert note["content"].startswith("[5 earlier rounds of this conversation were left out.")
    assert str(session.directory / "tool-results") in note["content"]
    assert all(new is old for new, old in zip(result.messages[2:], history[-8:], strict=True))
    assert result.prefix_broken_at == 1
    for number in range(5):
        path = session.result_path(f"t{number}")
        assert path is not None
        assert path.read_text() == contents(history)[f"t{number}"]


def test_breaks_are_few_and_between_them_the_prefix_stands(tmp_path: Path) -> None:
    """Also over a resume after every turn, whichever list the host goes on with."""
    kept: list[Any] = [{"role": "user", "content": "Find the bug."}]
    adopted = list(kept)
    breaks, before = [], list(kept)
    for number in range(30):
        with opened(tmp_path / "kept") as session, opened(tmp_path / "adopted") as other:
            result = snipping(session).run(kept)
            same = snipping(other).run(adopted)
        as_shown = [str(message).replace("adopted", "kept") for message in same.messages]
        assert as_shown == [str(message) for message in result.messages]
        if result.prefix_broken_at is None:
            assert result.messages[: len(before)] == before
        else:
            breaks.append(number)
        before = result.messages
        new = round_of(number, 100)
        kept, adopted = [*kept, *new], [*same.messages, *new]
    assert breaks == [9, 14, 19, 24, 29]
    assert before[1]["content"].startswith("[25 earlier rounds")
    assert sum("earlier round" in str(message["content"]) for message in before) == 1


def test_forks_and_sub_agents_send_the_same(tmp_path: Path) -> None:
    """They begin with what the session cut out; a history of their own is not touched by it."""
    session = opened(tmp_path)
    history = history_of(9)
    first = snipping(session).run(history).messages
    for child in (session.fork("f"), session.subagent("a"), session.fork("f2").fork("f3")):
        result = Pipeline([], session=child).run(history)
        assert result.messages == first
        assert child.result_path("t0") == session.result_path("t0")
        assert Pipeline([], session=child).run(history_of(3)).replayed_edits == 0
    _, places = find_sessions(tmp_path)
    assert [inspect_session(place).findings for place in places] == [()] * len(places)


def test_a_pair_is_never_parted(tmp_path: Path) -> None:
    """A result that came late keeps all that lies between it and its call."""
    late = [answer(call("late", "Bash"), message_id="m-late"), *history_of(9)[1:]]
    history = [{"role": "user", "content": "go"}, *late, msg(res("late", "at last"))]
    history += round_of(20)
    session = opened(tmp_path)
    result = Pipeline([HistorySnip(max_rounds=1, protect_rounds=1)], session=session).run(history)
    assert result.messages == history or "late" not in contents(result.messages)
    assert not result.failures


def test_what_the_user_said_last_stays_with_its_answer(tmp_path: Path) -> None:
    """The cut is moved before it."""
    history: list[Any] = [{"role": "user", "content": "one"}]
    for number in range(9):
        history += [
            {"role": "assistant", "content": f"answer {number}"},
            {"role": "user", "content": f"question {number}"},
        ]
    result = snipping(opened(tmp_path)).run(history)
    assert [message["content"] for message in result.messages[2:4]] == ["question 4", "answer 5"]


def test_tokens_are_a_limit_too(tmp_path: Path) -> None:
    """As many rounds go as bring the context to the share that is kept."""
    history = history_of(12, 4_000)
    pipeline = snipping(opened(tmp_path), max_tokens=5_000)
    result = pipeline.run(history)
    report = result.report("snip")
    assert report is not None
    assert report.tokens_before > 5_000
    assert 1_000 < report.tokens_after <= 2_500
    assert result.used_tokens == report.tokens_after


def test_a_host_of_records_gets_a_record(tmp_path: Path) -> None:
    """The note has the form of the host's own messages."""
    history: list[Any] = [create_user_message("go")]
    for number in range(9):
        block = {"type": "text", "text": str(number)}
        history.append({"type": "assistant", "message": answer(block)})
        history.append(create_user_message("on"))
    note = snipping(opened(tmp_path)).run(history).messages[1]
    assert note["type"] == "user"
    assert note["isMeta"] is True
    assert "left out" in note["message"]["content"]


def test_a_note_among_a_sub_agents_records_is_the_sub_agents(tmp_path: Path) -> None:
    """A record of the main chain among them would be all that goes out."""
    marks = {"isSidechain": True, "agentId": "explore"}
    history: list[Any] = [{**create_user_message("Count."), **marks}]
    for number in range(6):
        history.append({**create_assistant_message(str(number)), **marks})
        history.append({**create_user_message("Go on."), **marks})
    session = opened(tmp_path)
    for _ in range(2):
        pipeline = Pipeline([HistorySnip(max_rounds=4)], session=session)
        sent = normalize_messages_for_api(pipeline.run(history).messages)
        texts = [block["text"] for message in sent for block in message["content"]]
        assert texts == [
            "Count.",
            "[4 earlier rounds of this conversation were left out.]",
            "Go on.",
            "4",
            "Go on.",
            "5",
            "Go on.",
        ]
    session.close()


def test_an_edited_history_goes_out_in_full(tmp_path: Path) -> None:
    """What was cut out is known by its messages, not by its place alone."""
    session = opened(tmp_path)
    history = history_of(9)
    snipping(session).run(history)
    edited = [*history[:3], {"role": "user", "content": "changed"}, *history[4:]]
    assert Pipeline([], session=session).run(edited).messages == edited


def test_nothing_is_dropped_that_could_not_be_stored(tmp_path: Path) -> None:
    """The stage fails and the history stays whole."""
    session = opened(tmp_path)
    session.directory.mkdir(mode=0o700)
    (session.directory / "tool-results").write_text("in the way")
    history = history_of(9)
    result = snipping(session).run(history)
    assert result.messages == history
    assert [report.name for report in result.failures] == ["snip"]
    assert session.context_edits == ()


def test_two_chains_are_not_cut(tmp_path: Path) -> None:
    """One cut cannot fit two conversations in one list."""
    side = {"type": "user", "message": msg("x"), "isSidechain": True, "agentId": "a"}
    history = [*history_of(9), side]
    result = snipping(opened(tmp_path)).run(history)
    assert result.messages == history
    assert "several chains" in str(result.failures[0].error)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({}, "max_rounds"),
        ({"max_rounds": 0}, "max_rounds .*0"),
        ({"max_tokens": "9"}, "max_tokens .*'9'"),
        ({"max_rounds": 9, "keep": 1.0}, "keep .*1.0"),
        ({"max_rounds": 9, "protect_rounds": 0}, "protect_rounds .*0"),
    ],
)
def test_odd_arguments_are_refused(options: dict[str, Any], shown: str) -> None:
    """The error names the argument and its value."""
    with pytest.raises(ConfigError, match=shown):
        HistorySnip(**options)


def test_an_answer_that_paused_stays_whole(tmp_path: Path) -> None:
    """The call of the provider's tool is in one answer, its result in the next."""
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    paused = [answer(search, message_id="p1"), answer(found, message_id="p2")]
    history = [*history_of(3), *paused, {"role": "user", "content": "Go on."}]
    for number in range(3, 6):
        history += round_of(number)
    for rounds in range(1, 7):
        session = Session.open(tmp_path, f"s{rounds}", durability="process")
        stage = HistorySnip(max_rounds=rounds, keep=0.99, protect_rounds=1)
        result = Pipeline([stage], session=session).run(history)
        assert result.reports[0].status == "changed"
        kinds = [str(message) for message in result.messages]
        assert sum("server_tool_use" in kind for kind in kinds) == sum(
            "web_search_tool_result" in kind for kind in kinds
        )


def test_what_the_host_told_the_model_stays(tmp_path: Path) -> None:
    """A system message within the rounds that go is no part of them; it stays in every cut."""
    session = opened(tmp_path)
    rule = {"role": "system", "content": "Never delete files."}
    history = [*history_of(3), rule]
    pipeline = Pipeline([HistorySnip(max_rounds=3)], session=session)
    messages: list[Any] = []
    for number in range(3, 12):
        history += round_of(number)
        messages = pipeline.run(history).messages
        assert messages.count(rule) == 1
        assert sum("left out" in str(message) for message in messages) == 1
    assert "10 earlier rounds" in messages[1]["content"]
    session.close()
    assert Pipeline([], session=opened(tmp_path)).run(history).messages == messages


@dataclass
class TextBlock:
    """A block as a client's library gives it."""

    text: str
    type: str = "text"


@pytest.mark.parametrize("holds", ["objects", "no-id", "odd-id"])
def test_a_result_in_any_form_is_stored_before_it_goes(tmp_path: Path, holds: str) -> None:
    """What has no id, or blocks of a client's library, is not lost with its round."""
    history = history_of(9)
    texts = contents(history)
    for message in history[2:8:2]:
        [block] = message["content"]
        if holds == "objects":
            block["content"] = [TextBlock(block["content"])]
        elif holds == "no-id":
            del block["tool_use_id"]
        else:
            block["tool_use_id"] = 5
    result = snipping(opened(tmp_path)).run(history)
    assert result.failures == ()
    assert "were left out" in str(result.messages)
    stored = sorted(path.read_text() for path in tmp_path.glob("session/tool-results/*"))
    assert stored == sorted(texts[f"t{number}"] for number in range(5))
    assert snipping(opened(tmp_path)).run(history).messages == result.messages
    [place] = find_sessions(tmp_path)[1]
    assert inspect_session(place).findings == ()
