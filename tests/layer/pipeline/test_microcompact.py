"""Microcompact (Q2): what is cleared, when, and that nothing is lost by it."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.builders import answer, call, gate, msg, res, results_in, stored_files, text_of
from tests.layer.pipeline.agents import contents, history_of, opened, round_of
from toolbudget import ConfigError, ContextWindow, DirectoryStore, Limits, Session, StoreError
from toolbudget.pipeline import Budget, Microcompact, Pipeline
from toolbudget.storage.inspection import find_sessions, inspect_session

LATER_S = 7_200.0


def cleared_ids(messages: list[Any]) -> set[str]:
    """Give the ids of cleared results; each one names a file."""
    return {name for name, text in contents(messages).items() if "Old tool result cleared" in text}


def named_file(text: str) -> Path:
    """Give the file that a cleared result names."""
    frame = text.split("\n")
    assert frame[0] == "<persisted-output>"
    assert frame[2:] == ["</persisted-output>"]
    return Path(frame[1].partition("Full output saved to: ")[2])


def pipeline_of(session: Session, **options: Any) -> Pipeline:  # noqa: ANN401 - passed on
    """Make a pipeline that only the given occasions start."""
    window = options.pop("window", None)
    return Pipeline([Budget(), Microcompact(**options)], session=session, window=window)


def test_a_long_rest_clears_all_but_the_newest(tmp_path: Path) -> None:
    """The results that go can be read in the files that stand in their place."""
    session = opened(tmp_path)
    history = history_of(6)
    given = deepcopy(history)
    result = pipeline_of(session).run(history, idle_s=LATER_S)
    assert cleared_ids(result.messages) == {"t0", "t1", "t2"}
    assert history == given
    for name in ("t0", "t1", "t2"):
        text = contents(result.messages)[name]
        assert named_file(text).read_text() == contents(history)[name]
        assert session.result_path(name) == named_file(text)
    assert result.prefix_broken_at == 2


def test_what_was_cleared_stays_so(tmp_path: Path) -> None:
    """From turn to turn, in forks and sub-agents, and after a resume: the same bytes."""
    session = opened(tmp_path)
    history = history_of(6)
    pipeline = pipeline_of(session)
    first = pipeline.run(history, idle_s=LATER_S).messages
    again = pipeline.run([*history, *round_of(6)], idle_s=0.0)
    assert again.messages[: len(first)] == first
    assert again.prefix_broken_at is None
    for child in (session.fork("fork"), session.subagent("agent"), session.fork("f2").fork("f3")):
        assert child.enforce(history) == first
        assert child.result_path("t0") == session.result_path("t0")
    session.close()
    resumed = opened(tmp_path)
    assert resumed.enforce(history) == first
    assert resumed.state == session.state
    # A host may also go on with what it was given.
    assert resumed.enforce(first) == first


def test_replaced_results_are_cleared_like_full_ones(tmp_path: Path) -> None:
    """By id: whether the budget or the gate replaced them, and whichever the host keeps."""
    session = opened(tmp_path, limits=Limits(max_result_chars=4_000, max_message_chars=3_000))
    history = [*history_of(2, 3_500), *round_of(2, 5_000)]
    history[-1] = msg(gate(session, history[-1]["content"][0]))
    pipeline = pipeline_of(session, keep=1)
    seen = pipeline.run([*history, *round_of(3)], idle_s=0.0).messages
    assert all("Output too large" in contents(seen)[name] for name in ("t0", "t1", "t2"))
    result = pipeline.run([*history, *round_of(3), *round_of(4)], idle_s=LATER_S)
    assert cleared_ids(result.messages) == {"t0", "t1", "t2", "t3"}
    assert named_file(contents(result.messages)["t0"]).read_text() == contents(history)["t0"]
    assert len(named_file(contents(result.messages)["t2"]).read_text()) == 5_000
    assert session.enforce(history) == result.messages[: len(history)]


def test_nothing_unseen_is_cleared(tmp_path: Path) -> None:
    """Ten results of one round, none of which the model has read yet, all stay."""
    session = opened(tmp_path)
    calls = [call(f"p{number}", "Bash") for number in range(10)]
    results = [res(f"p{number}", "y" * 900) for number in range(10)]
    history = [*history_of(2), answer(*calls), msg(*results)]
    result = pipeline_of(session, keep=1).run(history, idle_s=LATER_S)
    assert cleared_ids(result.messages) == {"t0", "t1"}


def test_only_compactable_results_are_cleared(tmp_path: Path) -> None:
    """Other tools, memory, results for running code, images and short ones stay."""
    session = opened(tmp_path)
    image = {"type": "image", "source": {"type": "base64", "data": "aGk="}}
    text = "z" * 900
    kinds: dict[str, tuple[dict[str, Any], object]] = {
        "other": (call("other", "Deploy"), text),
        "memory": (call("memory", "memory"), text),
        "code": (call("code", "Bash", caller={"type": "code_execution_20250825"}), text),
        "image": (call("image", "Bash"), [image, {"type": "text", "text": text}]),
        "short": (call("short", "Bash"), "ok"),
        "list": (call("list", "Bash"), [{"type": "text", "text": text}]),
    }
    history = [{"role": "user", "content": "go"}]
    for name, (block, content) in kinds.items():
        history += [answer(block), msg(res(name, content))]
    history += round_of(0)
    result = pipeline_of(session, keep=0).run([*history, *round_of(1)], idle_s=LATER_S)
    assert cleared_ids(result.messages) == {"list", "t0"}
    [block] = [item for item in results_in(result.messages) if item["tool_use_id"] == "list"]
    assert [part["type"] for part in block["content"]] == ["text"]


def test_a_result_that_cannot_be_stored_stays(tmp_path: Path) -> None:
    """Nothing is cleared that could not be read back."""

    class PickyStore(DirectoryStore):
        """Refuses one id."""

        def put_many(self, items: Any) -> Any:  # noqa: ANN401 - passed on
            """Store all but one."""
            outcomes = super().put_many([item for item in items if item[0] != "t1"])
            refused = [StoreError("no room") for item in items if item[0] == "t1"]
            return [*outcomes[:1], *refused, *outcomes[1:]]

    session = opened(tmp_path, store=PickyStore(tmp_path / "own", durability="process"))
    result = pipeline_of(session).run(history_of(6), idle_s=LATER_S)
    assert cleared_ids(result.messages) == {"t0", "t2"}
    report = result.report("microcompact")
    assert report is not None
    assert "1 could not be stored" in report.detail
    assert session.enforce(history_of(6)) == result.messages


def test_what_cannot_be_recorded_is_not_cleared(tmp_path: Path) -> None:
    """The stage fails, the request goes out with full content, and a resume gives the same."""
    session = opened(tmp_path)
    history = history_of(6)
    pipeline = pipeline_of(session)
    pipeline.run(history, idle_s=0.0)
    path = session.transcript_path
    kept = path.read_bytes()
    path.unlink()
    path.mkdir()
    result = pipeline.run(history, idle_s=LATER_S)
    assert result.messages == history
    assert [report.name for report in result.failures] == ["microcompact"]
    path.rmdir()
    path.write_bytes(kept)
    assert opened(tmp_path).enforce(history) == history


def test_secrets_do_not_get_into_the_files(tmp_path: Path) -> None:
    """F5: what is stored because it is cleared passes the hook too."""
    session = opened(tmp_path, redact=lambda text: text.replace("output", "******"))
    pipeline_of(session).run(history_of(6), idle_s=LATER_S)
    assert not any(b"output" in data for data in stored_files(session).values())


def test_the_count_of_results_starts_it(tmp_path: Path) -> None:
    """It waits until there are too many, then clears at once, so that breaks are few."""
    session = opened(tmp_path)
    pipeline = pipeline_of(session, keep=2, trigger_results=5, clear_at_least_tokens=0)
    breaks = []
    for rounds in range(1, 14):
        result = pipeline.run(history_of(rounds), idle_s=0.0)
        if result.prefix_broken_at is not None:
            breaks.append((rounds, max(cleared_ids(result.messages))))
    assert breaks == [(6, "t3"), (10, "t7")]


def test_pressure_starts_it_when_it_is_worth_it(tmp_path: Path) -> None:
    """Near the end of the window old results go, but not for a few tokens."""
    window = ContextWindow(size=1_500, reserve_output=0)
    history = history_of(8)
    session = opened(tmp_path)
    calm = pipeline_of(session, window=window, clear_at_least_tokens=100)
    assert not cleared_ids(calm.run(history, used_tokens=100).messages)
    for number, (least, expected) in enumerate(((100, 5), (5_000, 0))):
        session = Session.open(tmp_path, f"s{number}", durability="process")
        pipeline = pipeline_of(session, window=window, clear_at_least_tokens=least)
        result = pipeline.run(history, used_tokens=1_300)
        assert len(cleared_ids(result.messages)) == expected


def test_doctor_finds_nothing_to_say(tmp_path: Path) -> None:
    """Cleared results are like replaced ones to whoever checks a session."""
    session = opened(tmp_path)
    pipeline_of(session).run(history_of(6), idle_s=LATER_S)
    fork = session.fork("fork")
    Pipeline([Microcompact(keep=1)], session=fork).run(history_of(6), idle_s=LATER_S)
    _, places = find_sessions(tmp_path)
    assert len(places) == 2
    assert [inspect_session(place).findings for place in places] == [(), ()]


def test_the_provider_can_clear_instead() -> None:
    """The edits name what stays: other tools, and tools with results that are references."""
    reference = (
        "<persisted-output>\nOutput too large (9KB). Full output saved to: /x\n</persisted-output>"
    )
    history = [
        *history_of(1),
        *round_of(1, tool_name="Deploy"),
        answer(call("r", "Grep")),
        msg(res("r", reference)),
    ]
    [edit] = Microcompact(keep=4, clear_at_least_tokens=7).api_edits(history)["edits"]
    assert edit == {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 100_000},
        "keep": {"type": "tool_uses", "value": 4},
        "clear_at_least": {"type": "input_tokens", "value": 7},
        "exclude_tools": ["Deploy", "Grep"],
    }


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"keep": -1}, "-1"),
        ({"keep": True}, "True"),
        ({"tools": "Bash"}, "Bash"),
        ({"tools": None}, "None"),
        ({"idle_s": 0}, "0"),
        ({"idle_s": float("nan")}, "nan"),
        ({"trigger_results": 1.5}, "1.5"),
        ({"clear_at_least_tokens": None}, "None"),
    ],
)
def test_odd_arguments_are_refused(options: dict[str, Any], shown: str) -> None:
    """The error names the argument and its value."""
    with pytest.raises(ConfigError, match=f"{next(iter(options))} .*{shown}"):
        Microcompact(**options)


@pytest.mark.parametrize(
    ("tool_name", "caller"),
    [("Fetch", None), ("memory", None), ("Bash", {"type": "code_execution_20260120"})],
)
@pytest.mark.parametrize("is_gated", [False, True])
def test_a_text_that_must_stay_stays_under_a_reused_id(
    tmp_path: Path, tool_name: str, caller: object, *, is_gated: bool
) -> None:
    """A clearing is about id and text: it took along what another tool had given, a turn later."""
    text = "the same text from two tools ".ljust(60_000 if is_gated else 900, "x")
    first = call("call_0", tool_name, **({} if caller is None else {"caller": caller}))
    history: list[Any] = [{"role": "user", "content": "Look."}]
    history += [answer(first, message_id="m0"), msg(res("call_0", text))]
    for number in range(1, 6):
        own_text = text if number == 1 else f"output {number} ".ljust(900, "x")
        history += [
            answer(call("call_0", "Bash"), message_id=f"m{number}"),
            msg(res("call_0", own_text)),
        ]
    with opened(tmp_path, limits=Limits(max_message_chars=2_000)) as session:
        pipeline = Pipeline([Budget(), Microcompact(keep=2)], session=session)
        before = pipeline.run(history, idle_s=1.0).messages
        result = pipeline.run(history, idle_s=7_200.0)
        assert result.reports[-1].changed == 2
        assert result.messages[2] == before[2]
        later = pipeline.run(history, idle_s=1.0)
        assert (later.messages, later.prefix_broken_at) == (result.messages, None)


def test_a_bound_leaves_no_copy_for_the_next_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one id and text all go in one turn, also those behind the most that go at once."""
    monkeypatch.setattr("toolbudget.pipeline.microcompact._MAX_CLEARED", 2)
    history: list[Any] = [{"role": "user", "content": "Look."}]
    for number, text in enumerate("abcaccd"):
        history += [
            answer(call("call_0", "Bash"), message_id=f"m{number}"),
            msg(res("call_0", text * 900)),
        ]
    with opened(tmp_path) as session:
        pipeline = Pipeline([Budget(), Microcompact(keep=1)], session=session)
        result = pipeline.run(history, idle_s=7_200.0)
        assert result.reports[-1].changed == 3
        later = pipeline.run(history, idle_s=1.0)
        assert (later.messages, later.prefix_broken_at) == (result.messages, None)


@pytest.mark.parametrize("repeats", [1, 3])
def test_an_id_that_a_server_reuses_protects_only_its_own_text(
    tmp_path: Path, repeats: int
) -> None:
    """`call_0` in every answer is another result each time, unless the text is the same (D1)."""
    history: list[Any] = [{"role": "user", "content": "Look."}]
    texts = [f"output {number // repeats} ".ljust(900, "x") for number in range(9)]
    for number, text in enumerate(texts):
        history += [
            answer(call("call_0", "Bash"), message_id=f"m{number}"),
            msg(res("call_0", text)),
        ]
    session = opened(tmp_path)
    pipeline = Pipeline([Budget(), Microcompact(keep=2)], session=session)
    result = pipeline.run(history, idle_s=7_200.0)
    shown = [text_of(block["content"]) for block in results_in(result.messages)]
    newest = set(texts[-2:])
    for text, now in zip(texts, shown, strict=True):
        if text in newest:
            assert now == text
        else:
            path = now.split("saved to: ")[1].split("\n")[0]
            assert Path(path).read_text("utf-8") == text
    assert pipeline.run(history, idle_s=1.0).messages == result.messages
