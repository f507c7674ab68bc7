"""How ``toolbudget context`` shows a context window filling up."""

from __future__ import annotations

import io
import json
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from rich.cells import cell_len

from tests.builders import call, res
from tests.layer.cli.talk import TALK, said, used
from tests.layer.cli.transcripts import assistant, to_lines, user
from tests.layer.tokens.test_usage import STREAMS
from tests.layer.tokens.usage_oracle import context_tokens, read_records, tokens_of
from toolbudget.cli.context_history import History
from toolbudget.cli.source import Place, Record
from toolbudget.tokens._content import block_tokens, content_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran


def test_each_response_is_a_turn(context: Callable[..., Ran]) -> None:
    """Cached, new, output by the last record; estimated by all that came behind the first."""
    report = context(TALK, "--json").report
    first, second = report["turns"]
    # Behind the anchor: two results and, rather over than under, the second call.
    behind_tokens = sum(map(tokens_of, (800, 80))) + block_tokens(call("t2", "Bash"))
    assert first == {
        "turn": 1,
        "line": 2,
        "message_id": "m1",
        "reported": True,
        "cached_tokens": 0,
        "new_tokens": 100,
        "output_tokens": 10,
        "estimated_tokens": behind_tokens,
        "used_tokens": 110 + behind_tokens,
        "state": "ok",
        "after_compaction": False,
        "largest_tool": "Read",
        "largest_result_tokens": tokens_of(800),
    }
    assert (second["line"], second["used_tokens"], second["estimated_tokens"]) == (6, 420, 0)
    assert (report["used_tokens"], report["peak_turn"], report["peak_tokens"]) == (420, 2, 420)
    assert (report["user_text_tokens"], report["assistant_text_tokens"]) == (
        tokens_of(40),
        tokens_of(12),
    )


def test_each_tool_has_its_share(context: Callable[..., Ran]) -> None:
    """Calls and results by the tool's name, the largest first."""
    report = context(TALK, "--json").report
    names = ("tool", "call_count", "result_count", "result_tokens", "largest_result_tokens")
    assert [tuple(one[name] for name in names) for one in report["tools"]] == [
        ("Read", 1, 1, tokens_of(800), tokens_of(800)),
        ("Bash", 1, 1, tokens_of(80), tokens_of(80)),
    ]


def test_a_result_may_come_before_its_call(context: Callable[..., Ran]) -> None:
    """Records reach the file out of order."""
    stream = [
        said("m1", used(0, 1, 1)),
        user(res("t1", "x" * 40)),
        assistant("m1", call("t1", "Read")),
        user(res("t9", "x" * 4)),
    ]
    report = context(stream, "--json").report
    assert [(one["tool"], one["result_tokens"]) for one in report["tools"]] == [
        ("Read", tokens_of(40)),
        (None, tokens_of(4)),
    ]
    assert report["turns"][0]["largest_tool"] == "Read"


def test_ids_that_begin_anew_are_kept_apart(context: Callable[..., Ran]) -> None:
    """Some servers count their calls from 0 in each turn."""
    stream = [
        said("m1", used(0, 1, 1), call("call_0", "Read")),
        user(res("call_0", "x" * 400)),
        said("m2", used(0, 1, 1), call("call_0", "Bash")),
        user(res("call_0", "x" * 40)),
    ]
    report = context(stream, "--json").report
    assert [turn["largest_tool"] for turn in report["turns"]] == ["Read", "Bash"]
    assert [(one["tool"], one["result_tokens"]) for one in report["tools"]] == [
        ("Read", tokens_of(400)),
        ("Bash", tokens_of(40)),
    ]


def test_a_turn_without_usage_stands_on_the_one_before(context: Callable[..., Ran]) -> None:
    """An answer that the host made up reports nothing; the context goes on."""
    stream = [
        said("m1", used(0, 100, 0)),
        said("m2", used(0, 0, 0), {"type": "text", "text": "x" * 40}),
        user("odd"),
    ]
    ran = context(stream, "--json")
    second = ran.report["turns"][1]
    assert (second["reported"], second["new_tokens"]) == (False, 100)
    assert second["used_tokens"] == 100 + tokens_of(40) + content_tokens("odd")


def test_a_compaction_begins_anew(context: Callable[..., Ran]) -> None:
    """What stood before it no longer counts; its first turn is marked."""
    boundary = {"type": "system", "subtype": "compact_boundary"}
    stream = [*TALK, boundary, user({"type": "text", "text": "x" * 80}), said("m3", used(0, 50, 1))]
    report = context(stream, "--json").report
    assert report["compaction_count"] == 1
    assert [turn["after_compaction"] for turn in report["turns"]] == [False, False, True]
    assert report["used_tokens"] == 51
    assert report["peak_tokens"] == 420
    shown = context(stream)
    assert "1 compaction; * marks the first turn behind one" in shown.out
    assert "3*" in shown.out


def test_a_sub_agent_has_a_context_of_its_own(context: Callable[..., Ran]) -> None:
    """The main chain is shown; a transcript of a sub-agent shows its chain."""
    side = {"isSidechain": True, "agentId": "a1"}
    stream = [*TALK, said("s1", used(0, 9000, 1), **side)]
    report = context(stream, "--json").report
    assert (report["agent_id"], report["other_chain_count"], report["used_tokens"]) == (
        None,
        1,
        420,
    )
    assert "1 sub-agent, with a context of its own" in context(stream).out
    two = [*stream, said("s2", used(0, 9000, 1), isSidechain=True, agentId="a2")]
    assert "2 sub-agents, each with a context of its own" in context(two).out
    alone = context([said("s1", used(0, 9000, 1), **side)], "--json").report
    assert (alone["agent_id"], alone["used_tokens"]) == ("a1", 9001)


def test_thresholds_are_those_asked_for(context: Callable[..., Ran]) -> None:
    """Size, reserve and shares as in ``ContextWindow``."""
    options = ("--size", 600, "--reserve-output", 100, "--near", 0.4, "--over", 0.84, "--json")
    report = context(TALK, *options).report
    assert (report["available_tokens"], report["near_tokens"], report["over_tokens"]) == (
        500,
        200,
        420,
    )
    assert report["state"] == "over"
    assert [turn["state"] for turn in report["turns"]] == ["near", "over"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--size", "0"), "Error: --size must be at least 1: 0"),
        (("--reserve-output", "200000"), "less than size (200000): 200000"),
        (("--near", "0.95"), "Error: --over must be at least near (0.95)"),
        (("--near", "nan"), "Error: --near must be a finite number: nan"),
        (("--size", "many"), "'many' is not a valid integer"),
        (("--plot", "out.png"), "--plot must name an .svg file, or be '-': 'out.png'"),
        (("--plot", "-", "--json"), "--plot - and --json both print"),
    ],
)
def test_wrong_usage_is_told(
    context: Callable[..., Ran], options: tuple[str, ...], told: str
) -> None:
    """The option or field and its value are named, and the exit code is 2."""
    ran = context(TALK, *options)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err


def test_other_forms_of_input(context: Callable[..., Ran]) -> None:
    """A request body and a list of messages count too; they report no usage."""
    messages = [{"role": "user", "content": "x" * 40}, {"role": "assistant", "content": "x" * 8}]
    for given_form, document in (("messages", messages), ("body", {"messages": messages})):
        report = context(json.dumps(document).encode(), "--json").report
        assert report["format"] == given_form
        assert (report["reported_tokens"], report["estimated_tokens"]) == (
            0,
            tokens_of(40) + tokens_of(8),
        )
        assert report["turns"][0]["message_index"] == 1


def test_standard_input(run: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """``-`` reads what comes through a pipe."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(to_lines(*TALK))))
    ran = run("context", "-")
    assert ran.code == 0
    assert ran.out.startswith("Context of standard input\n")


def test_lines_that_cannot_be_read_are_named(context: Callable[..., Ran]) -> None:
    """They are passed over; the rest counts."""
    data = to_lines(*TALK) + b'{"torn\n'
    report = context(data, "--json").report
    assert (report["malformed_line_count"], report["malformed_lines"][0]["line"]) == (1, 7)
    assert report["used_tokens"] == 420
    assert "line 7, passed over" in context(data).out


@pytest.mark.parametrize("data", [b"", b"not json at all", b"\n\n"])
def test_what_is_no_transcript_fails(context: Callable[..., Ran], data: bytes) -> None:
    """There is nothing to show."""
    ran = context(data)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: ")


@pytest.mark.parametrize(
    "document",
    [
        {"a": 1},
        {"type": "toolbudget-session", "version": 1, "sessionId": "s"},
        {"body": {"messages": [{"role": "user", "content": "hi"}]}},
        [{"a": 1}],
    ],
)
def test_what_holds_no_messages_fails(context: Callable[..., Ran], document: object) -> None:
    """A wrong file is not told to be a context with all its room left."""
    for options in ((), ("--json",)):
        ran = context(json.dumps(document).encode(), *options)
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.endswith(" holds no messages\n")


@pytest.mark.parametrize("document", [[], {"messages": []}])
def test_a_conversation_without_messages_yet_is_empty(
    context: Callable[..., Ran], document: object
) -> None:
    """It says so itself that it is one."""
    report = context(json.dumps(document).encode(), "--json").report
    assert (report["state"], report["used_tokens"]) == ("ok", 0)


def test_a_missing_file_fails(run: Callable[..., Ran]) -> None:
    """The name and the reason are told."""
    ran = run("context", "missing.jsonl")
    assert (ran.code, ran.err) == (
        1,
        "Error: cannot open missing.jsonl: no such file or directory\n",
    )


@pytest.mark.parametrize("columns", [40, 80, 100, 200])
def test_tables_fit_into_the_terminal(
    context: Callable[..., Ran], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No line is longer than the terminal is wide, from 80 columns on."""
    monkeypatch.setenv("COLUMNS", str(columns))
    many = [
        said(f"m{n}", used(n * 900, 900, n), call(f"t{n}", "mcp__server__tool" * 3))
        for n in range(99)
    ]
    ran = context(many)
    assert ran.code == 0
    rows = ran.out.split("\n\n", 1)[1].splitlines()
    assert max(map(len, rows)) <= max(columns, 80)
    words = " ".join(ran.out.split())
    assert "and 69 more turns that added less; --json has them all" in words
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("columns", [78, 80, 120, 200])
def test_the_bar_leaves_room_for_every_number(
    context: Callable[..., Ran], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also beside the longest name of a tool no figure and no heading is cut."""
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = [said("m1", used(100_001, 50_002, 9_003), call("t", "mcp__server__tool" * 3))]
    ran = context([*stream, user(res("t", "x y " * 40_004))])
    header, _, row = ran.out.split("\n\n")[1].splitlines()
    assert header.split()[:7] == ["Turn", "Cached", "New", "Output", "Estimated", "Used", "%"]
    assert row.split()[:4] == ["1", "100,001", "50,002", "9,003"]
    assert "\u2026" not in row.split("mcp__", maxsplit=1)[0]
    assert max(map(cell_len, (header, row))) <= columns


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_wide_characters_leave_room_for_the_numbers(
    context: Callable[..., Ran], columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Chinese character takes two columns: a name of them must not push the numbers out."""
    monkeypatch.setenv("COLUMNS", str(columns))
    name = "\u5de5\u5177\u540d\u79f0" * 8
    ran = context([said("m1", used(0, 1, 1), call("t", name)), user(res("t", "x" * 4_000))])
    row = next(line for line in ran.out.splitlines() if line.startswith(name[:2]))
    assert row.split()[-1] == "100"
    assert "Tokens" in ran.out
    below_the_path = ran.out.split("\n", 1)[1].splitlines()
    assert max(map(cell_len, below_the_path)) <= columns


def test_names_cannot_move_the_cursor(context: Callable[..., Ran]) -> None:
    """A transcript is not trusted."""
    stream = [said("m1", used(0, 1, 1), call("t", "\x1b[2JRead")), user(res("t", "x" * 40))]
    ran = context(stream)
    assert "\x1b" not in ran.out
    assert "\\x1b[2JRead" in ran.out


def test_a_session_without_responses(context: Callable[..., Ran]) -> None:
    """There is no turn yet, and no plot of it."""
    ran = context([user({"type": "text", "text": "x" * 40})], "--plot", "-")
    assert ran.code == 0
    assert "No response of a model is in it." in ran.out
    assert ran.out.splitlines()[1].startswith(f"ok: {tokens_of(40)} of 180,000 tokens used (0 %)")


def history_of(records: Sequence[dict[str, Any]]) -> tuple[History, list[int]]:
    """Read records; say too where each turn of the main chain ends, as a number of records."""
    history, ends = History(), []
    for number, record in enumerate(records):
        turns_before = len(history.main.turns)
        history.add(Record(number, record, Place(0, 0, ()), None))
        if len(history.main.turns) > turns_before:
            ends.append(number)
    return history, [*ends[1:], len(records)]


def check_turns(records: Sequence[dict[str, Any]]) -> None:
    """Compare what each turn uses with the brute-force reading of SPEC 8 at its end."""
    history, ends = history_of(records)
    for turn, end in zip(history.main.turns, ends, strict=False):
        head = list(records[:end])
        while head and head[-1].get("subtype") == "compact_boundary":
            head.pop()
        if any(one.get("subtype") == "compact_boundary" for one in head[turn.position :]):
            continue
        assert turn.used_tokens == context_tokens(head), turn.number
    assert history.main.meter.count.tokens == context_tokens(records)


@given(stream=STREAMS)
def test_every_turn_counts_as_the_rules_say(stream: list[dict[str, Any]]) -> None:
    """What a turn uses is what ``token_count_with_estimation`` says before the next request."""
    main = [record for record in stream if not record.get("isSidechain")]
    check_turns([user({"type": "text", "text": ""}), *main])


def test_every_turn_of_every_recorded_session(corpus: Path) -> None:
    """The same for each turn of each transcript."""
    for path in sorted(corpus.glob("claude_code/*.jsonl")):
        check_turns(list(read_records(path)))


def test_memory_does_not_grow_with_the_input(context: Callable[..., Ran], tmp_path: Path) -> None:
    """Only numbers are kept of what was read."""
    path = tmp_path / "large.jsonl"
    turn = to_lines(said("m", used(1, 1, 1), call("t", "Read")), user(res("t", "x" * 200_000)))
    with path.open("wb") as file:
        for _ in range(200):
            file.write(turn)
    tracemalloc.start()
    try:
        assert context(path.read_bytes()[:1_000_000], "--json").code == 0
        tracemalloc.reset_peak()
        from toolbudget.cli import main

        assert main(["context", str(path), "--json"]) == 0
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 12 * 1024 * 1024 < path.stat().st_size
