from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import xxhash

from tests.builders import call, files_below, read_reference, res
from tests.layer.cli.transcripts import (
    Record,
    assistant,
    content_of,
    other_record,
    to_lines,
    user,
    write,
)
from toolbudget import Limits, Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.layer.cli.transcripts import Ran

LARGE = "x" * 60_000
HALF_LARGE = "y" * 45_000


def replaced_ids(ran: Ran) -> list[str]:
    """Give the ids of the results that a run has newly replaced."""
    return [item["tool_use_id"] for item in ran.report["replaced"]]


def test_an_input_without_messages(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """It is passed on, and said: a wrong file looks just like that."""
    data = b'{"type":"summary"}\n'
    ran = apply(write(tmp_path / "in", data))
    assert (ran.code, ran.output) == (0, data)
    assert ran.err == f"{tmp_path / 'in'} holds no messages; it is passed on as it is\n"


def test_a_large_result_is_stored_and_replaced(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """The output shows a reference, and the file that it names holds the whole text."""
    lines = to_lines(
        assistant("m1", call("t1", "Fetch"), sessionId="s1"),
        user(res("t1", LARGE, is_error=False), uuid="u1", sessionId="s1"),
    )
    ran = apply(write(tmp_path / "in.jsonl", lines))
    assert (ran.code, ran.err) == (0, "")
    assert ran.records[0] == json.loads(lines.splitlines()[0])
    content = content_of(ran.records[1])
    path = tmp_path / "root" / "s1" / "tool-results" / "t1.txt"
    assert read_reference(content).path == path
    assert path.read_text() == LARGE
    assert isinstance(content, str)
    [replaced] = ran.report["replaced"]
    assert replaced == {
        "tool_use_id": "t1",
        "tool_name": "Fetch",
        "group": 1,
        "line": 2,
        "stage": "gate",
        "size_chars": 60_000,
        "size_bytes": 60_000,
        "replacement_chars": len(content),
        "replacement_bytes": len(content.encode()),
        "path": str(path),
    }


def test_everything_else_stays_byte_for_byte(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """Around the replaced content no byte changes: forms, white space, line ends, damage."""
    head = (
        b'\xef\xbb\xbf{ "type":"user","n":1.00,"big":123456789012345678901,"u":"\\u0041\\ud800",\t'
        b'"message":{"role":"user","content":"old","content":[{"type":"tool_result","content" : '
    )
    tail = (
        b',"tool_use_id":"t1", "x":NaN} ]}}\r\n\n  \n'
        b'{"type":"us\n\x00\x00\n{"a":1}{"b":2}\n[]\n{"z":1}'
    )
    source = head + json.dumps(LARGE).encode() + tail
    ran = apply(write(tmp_path / "in.jsonl", source))
    assert ran.output.startswith(head + b'"<persisted-output>\\n')
    assert ran.output.endswith(b'\\n</persisted-output>"' + tail)
    assert ran.output[len(head) : -len(tail)].isascii()
    assert [line["line"] for line in ran.report["malformed_lines"]] == [4, 5, 6, 7]


def test_an_untouched_input_is_passed_on_whole(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """Without a large result the output is the input."""
    lines = to_lines(assistant("m1", call("t1", "Fetch")), user(res("t1", "small"))) + b"{}"
    ran = apply(write(tmp_path / "in.jsonl", lines))
    assert ran.output == lines
    assert (ran.report["replaced"], ran.report["groups"], ran.report["kept_count"]) == ([], [], 1)


def test_a_second_run_changes_nothing(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """Over the same root the output stays the same and nothing is stored, whatever the limits."""
    lines = to_lines(user(res("t1", LARGE)), user(res("t2", "s" * 9_000)))
    path = write(tmp_path / "in.jsonl", lines)
    first = apply(path)
    before = first.output
    second = apply(path, "--max-result-chars", 5_000, "--max-message-chars", 5_000)
    report = second.report
    assert second.code == 0
    assert second.output == before
    assert report["output_written"] is False
    assert (report["files_stored"], report["bytes_stored"], report["replaced"]) == (0, 0, [])
    assert report["decided_earlier"] == 2
    [reapplied] = report["reapplied"]
    assert reapplied["decided_by"] == "earlier_run"
    assert reapplied["path"] == first.report["replaced"][0]["path"]


def test_another_root_starts_anew(run: Callable[..., Ran], tmp_path: Path) -> None:
    """Decisions belong to a root: over another one other limits have their effect."""
    path = write(tmp_path / "in.jsonl", to_lines(user(res("t1", "s" * 9_000))))
    assert replaced_ids(run("apply", path, "--root", "a", "--json")) == []
    ran = run("apply", path, "--root", "b", "--json", "--max-result-chars", 5_000)
    assert ran.report["decided_earlier"] == 0
    assert replaced_ids(ran) == ["t1"]


def test_parallel_results_share_the_budget_of_their_message(
    apply: Callable[..., Ran], tmp_path: Path
) -> None:
    """Results of one API message count together although other records stand between them."""
    records: list[Record] = []
    for number in range(5):
        records += [
            assistant("m1", call(f"t{number}", "Fetch")),
            {"type": "progress", "message": None},
            user(res(f"t{number}", HALF_LARGE)),
        ]
    records += [assistant("m2"), user(res("t9", HALF_LARGE)), assistant("m3")]
    ran = apply(write(tmp_path / "in.jsonl", to_lines(*records)))
    [group] = ran.report["groups"]
    assert (group["line"], group["result_count"], group["replaced_count"]) == (3, 5, 1)
    assert group["chars_after"] <= 200_000 < group["chars_before"]
    assert [item["stage"] for item in ran.report["replaced"]] == ["budget"]
    assert replaced_ids(ran) == ["t0"]
    assert ran.report["group_count"] == 2


def test_chains_are_judged_apart(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """A sub-agent's results do not count in the main message, and its answers do not end it."""
    side = {"isSidechain": True, "agentId": "a"}
    records = []
    for number in range(3):
        records += [
            user(res(f"t{number}", HALF_LARGE)),
            user(res(f"s{number}", HALF_LARGE), **side),
        ]
    records.insert(3, assistant("m1", **side))
    ran = apply(write(tmp_path / "in.jsonl", to_lines(*records)))
    assert replaced_ids(ran) == []
    assert ran.report["group_count"] == 3


@pytest.mark.parametrize(
    "names", [["Read", None, "Bash"], ["Bash", "Read", None, "Bash"], [None, "Read", "Bash"]]
)
def test_the_tool_is_that_of_the_nearest_call(
    apply: Callable[..., Ran], tmp_path: Path, names: list[str | None]
) -> None:
    """The last call before a result names its tool, else the first one after it."""
    records = [
        user(res("t1", LARGE)) if name is None else assistant("m1", call("t1", name))
        for name in names
    ]
    ran = apply(write(tmp_path / "in.jsonl", to_lines(*records)))
    assert ran.report["exempt_by_tool"] == {"Read": 1}


def test_a_reader_is_judged_on_request(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """``--no-exempt`` gives the tool it names, and no other, a limit."""
    lines = to_lines(
        assistant("m1", call("t1", "Read"), call("t2", "read_file")),
        user(res("t1", LARGE), res("t2", LARGE)),
    )
    ran = apply(write(tmp_path / "in.jsonl", lines), "--no-exempt", "Read")
    assert [item["tool_name"] for item in ran.report["replaced"]] == ["Read"]
    assert ran.report["exempt_by_tool"] == {"read_file": 1}


def test_what_is_not_judged_is_counted(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """Results that are no large texts pass as they are, each under its reason."""
    image = {"type": "image", "source": {"data": "A" * 70_000}}
    code = {"type": "code_execution_20250825", "tool_id": "c"}
    lines = to_lines(
        assistant(
            "m1",
            call("t5", "Fetch", caller=code),
            call("t6", "Member"),
            call("t7", "memory"),
        ),
        user(
            res("t1", ""),
            res("t2", None),
            res("t3", [image, {"type": "text", "text": LARGE}]),
            res("t4", "<persisted-output>\nsaved\n</persisted-output>"),
            {"type": "tool_result", "content": LARGE},
            res("t5", LARGE),
            res("t6", LARGE, toolset_name="set"),
            res("t7", LARGE),
            res("t8", 7),
            {"type": "text", "text": LARGE},
        ),
        user("text"),
        {"type": "user", "message": {"role": "user", "content": LARGE}},
    )
    ran = apply(write(tmp_path / "in.jsonl", lines))
    assert ran.output == lines
    assert ran.report["skipped"] == {
        "exempt": 3,
        "empty": 2,
        "not_text": 2,
        "reference": 1,
        "malformed": 1,
    }
    assert ran.report["exempt_by_tool"] == {"Fetch": 1, "Member": 1, "memory": 1}
    assert ran.report["result_count"] == 9


def test_an_empty_result_gets_no_placeholder(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """A transcript is not edited for an empty result, however much white space it is."""
    lines = to_lines(assistant("m1", call("t1", "Fetch")), user(res("t1", " \n" * 40_000)))
    ran = apply(write(tmp_path / "in.jsonl", lines))
    assert ran.output == lines


def test_a_list_stays_a_list(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """Several text blocks become one, with the last cache breakpoint, and are stored as a list."""
    parts: list[object] = [
        {"type": "text", "text": LARGE, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "caf\u00e9"},
    ]
    ran = apply(write(tmp_path / "in.jsonl", to_lines(user(res("t1", parts)))))
    content = content_of(ran.records[0])
    assert isinstance(content, list)
    assert [block["cache_control"] for block in content] == [{"type": "ephemeral"}]
    [replaced] = ran.report["replaced"]
    path = read_reference(content).path
    assert (replaced["path"], path.name) == (str(path), "t1.json")
    assert json.loads(path.read_bytes()) == parts
    assert (replaced["size_chars"], replaced["size_bytes"]) == (60_004, 60_005)


def test_one_id_with_two_texts(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """Texts that share an id are stored apart, and each reference names its own file."""
    lines = to_lines(
        user(res("t1", LARGE)),
        assistant("m1"),
        user(res("t1", LARGE + "2")),
        assistant("m2"),
        user(res("t1", LARGE)),
    )
    path = write(tmp_path / "in.jsonl", lines)
    ran = apply(path)
    stored = [Path(item["path"]).read_text() for item in ran.report["replaced"]]
    assert stored == [LARGE, LARGE + "2"]
    [repeated] = ran.report["reapplied"]
    assert (repeated["decided_by"], repeated["line"]) == ("this_run", 5)
    first, _, second, _, third = map(json.dumps, ran.records)
    assert first == third != second
    assert apply(path).report["output_written"] is False


@pytest.mark.parametrize("form", ["body", "messages"])
def test_requests_are_spliced_too(apply: Callable[..., Ran], tmp_path: Path, form: str) -> None:
    """In a body or list only the contents of large results change; positions are indices."""
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [call("t1", "Fetch"), call("t2", "Fetch")]},
        {"role": "user", "content": [res("t1", "small"), res("t2", LARGE)]},
    ]
    document = {"messages": messages, "max_tokens": 1} if form == "body" else messages
    text = json.dumps(document, indent=2).encode().replace(b'"go"', b'"g\\u006f"')
    path = write(tmp_path / "in", text)
    ran = apply(path)
    head, _, tail = text.partition(json.dumps(LARGE).encode())
    assert ran.output.startswith(head + b'"<persisted-output>')
    assert ran.output.endswith(b'</persisted-output>"' + tail)
    assert [item["message_index"] for item in ran.report["replaced"]] == [2]
    assert ran.report["format"] == form
    assert Path(ran.report["output"]).name == "applied.json"
    digest = xxhash.xxh3_128_hexdigest(text)
    assert (ran.report["session_id"], ran.report["session_id_source"]) == (digest, "hash")
    assert apply(path).report["output_written"] is False


@pytest.mark.parametrize(
    ("recorded", "options", "expected"),
    [
        ("s1", [], ("s1", "records")),
        ("s1", ["--session", "mine"], ("s1", "records")),
        ("", ["--session", "mine"], ("mine", "option")),
        (7, ["--session", "mine"], ("mine", "option")),
        (None, ["--session", "mine"], ("mine", "option")),
    ],
)
def test_the_session_id(
    apply: Callable[..., Ran],
    tmp_path: Path,
    recorded: object,
    options: list[str],
    expected: tuple[str, str],
) -> None:
    """The first record that names a session decides, else the option."""
    later = [{"sessionId": "late"}] if recorded == "s1" else []
    lines = to_lines({"type": "mode"}, user(res("t1", "s"), sessionId=recorded), *later)
    report = apply(write(tmp_path / "in.jsonl", lines), *options).report
    assert (report["session_id"], report["session_id_source"]) == expected


def test_hostile_ids_stay_below_the_root(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """Whatever a record calls its session and its result, nothing is written elsewhere."""
    lines = to_lines(user(res("../../t", LARGE), sessionId="../../escaped"))
    ran = apply(write(tmp_path / "in.jsonl", lines))
    assert ran.report["files_stored"] == 1
    elsewhere = {name for name in files_below(tmp_path) if not name.startswith("root/")}
    assert elsewhere == {"in.jsonl"}


def test_replacements_recorded_in_the_input_hold(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """What another program recorded about a result is put in, and stays in later runs."""
    lines = to_lines(
        assistant("m1", call("t1", "Read"), sessionId="s1"),
        user(res("t1", "a long text"), res("t2", "tiny"), sessionId="s1"),
        other_record("t1", "older"),
        other_record("t1", "short"),
        other_record("t2", "longer than the text"),
    )
    path = write(tmp_path / "in.jsonl", lines)
    ran = apply(path)
    assert content_of(ran.records[1]) == "short"
    assert content_of(ran.records[1], 1) == "tiny"
    [reapplied] = ran.report["reapplied"]
    assert (reapplied["decided_by"], reapplied["path"]) == ("other_program", None)
    with Session.open(tmp_path / "root", "s1") as session:
        assert session.state.replacements["t1"] == "short"
    [reapplied] = apply(path).report["reapplied"]
    assert reapplied["decided_by"] == "earlier_run"


@pytest.mark.parametrize(
    ("keys", "chain", "expected"),
    [
        ({"sessionId": "other"}, {}, "a long text"),
        ({"agentId": "a"}, {}, "a long text"),
        ({"sessionId": None}, {}, "short"),
        ({"agentId": "a"}, {"isSidechain": True, "agentId": "a"}, "short"),
        ({}, {"isSidechain": True, "agentId": "a"}, "a long text"),
    ],
)
def test_records_of_others_are_not_applied(
    apply: Callable[..., Ran],
    tmp_path: Path,
    keys: dict[str, object],
    chain: dict[str, object],
    expected: str,
) -> None:
    """A record of another session or agent says nothing about this input's results."""
    lines = to_lines(
        user(res("t1", "a long text"), sessionId="s1", **chain),
        {**other_record("t1", "short"), **keys},
    )
    ran = apply(write(tmp_path / "in.jsonl", lines))
    assert content_of(ran.records[0]) == expected


def test_copies_are_left_alone_and_mentioned(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """The structured copy of a result is never sent: it stays whole and is counted."""
    copy = {"stdout": "x" * 100, "parts": [{"text": "abc"}, 5]}
    lines = to_lines(user(res("t1", LARGE), toolUseResult=copy), user(toolUseResult=None))
    ran = apply(write(tmp_path / "in.jsonl", lines))
    assert ran.records[0]["toolUseResult"] == copy
    assert (ran.report["unsent_copies"], ran.report["unsent_copies_chars"]) == (1, 103)


def test_limits_come_from_options_before_the_environment(
    apply: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option counts, else the variable; ``off`` is no limit."""
    monkeypatch.setenv("TOOLBUDGET_MAX_RESULT_CHARS", "5000")
    path = write(tmp_path / "in.jsonl", to_lines(user(res("t1", "s" * 9_000))))
    assert replaced_ids(apply(path, "--max-result-chars", "off", "--session", "a")) == []
    assert replaced_ids(apply(path, "--session", "b")) == ["t1"]


def test_a_group_that_cannot_fit_is_reported(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """What is over the limit in the end is said, for the group and for all."""
    lines = to_lines(user(*(res(f"t{number}", "s" * 300) for number in range(4))))
    report = apply(write(tmp_path / "in.jsonl", lines), "--max-message-chars", 100).report
    over_limit_chars = report["chars_after"] - 100
    assert report["over_limit_chars"] == over_limit_chars > 0
    assert [group["over_limit_chars"] for group in report["groups"]] == [over_limit_chars]


def test_the_output_is_what_a_session_decides(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """Judged group by group, a transcript comes to what the whole list comes to in a session."""
    records: list[Record] = []
    for turn in range(6):
        side = {"isSidechain": True, "agentId": "a"} if turn == 2 else {}
        for name in ("Bash", "Grep", "Read", "Fetch"):
            records += [
                assistant(f"m{turn}", call(f"{name}{turn}", name), **side),
                user(res(f"{name}{turn}", name * (turn + 1) * 2_000), **side),
            ]
    limits = ("--max-result-chars", 30_000, "--max-message-chars", 40_000)
    ran = apply(write(tmp_path / "in.jsonl", to_lines(*records)), "--session", "s1", *limits)
    assert {item["stage"] for item in ran.report["replaced"]} == {"gate", "budget"}
    output = ran.records

    # The same root again, because references name it.
    (tmp_path / "root").rename(tmp_path / "first")
    chosen = Limits(max_result_chars=30_000, max_message_chars=40_000)
    with Session.open(tmp_path / "root", "s1", limits=chosen) as session:
        for asked, answered in zip(records[::2], records[1::2], strict=True):
            [block] = answered["message"]["content"]
            name = asked["message"]["content"][0]["name"]
            answered["message"]["content"] = [session.gate(block, tool_name=name)]
        expected = session.enforce(records)
    assert output == list(expected)
