"""What ``toolbudget diff`` says about two saved requests."""

from __future__ import annotations

import copy
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.cli.transcripts import assistant, to_lines, user, write
from toolbudget.cli.diff_side import byte_of_character

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "go"},
    {"role": "assistant", "content": [{"type": "text", "text": "so be it"}]},
    {"role": "user", "content": [{"type": "text", "text": "caf\u00e9 one"}]},
]
BODY = {"model": "m", "system": "Be brief.", "tools": [{"name": "Read"}], "messages": MESSAGES}
EDITED = copy.deepcopy(MESSAGES)
EDITED[2]["content"][0]["text"] = "caf\u00e9 two"


@pytest.fixture
def diff(run: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """Give a function that compares two inputs, as bytes or as what is written as JSON."""

    def run_diff(before: object, now: object, *options: str) -> Ran:
        paths = []
        for name, value in (("a.json", before), ("b.json", now)):
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            paths.append(write(tmp_path / name, data))
        return run("diff", *(path.name for path in paths), *options)

    return run_diff


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (BODY, BODY),
        (BODY, {**BODY, "messages": [*MESSAGES, {"role": "assistant", "content": "x"}]}),
        (BODY, {**BODY, "max_tokens": 5}),
        (BODY, json.dumps(BODY, indent=4, ensure_ascii=False).encode()),
        (MESSAGES, BODY),
        ([], MESSAGES),
        (to_lines(*MESSAGES), MESSAGES),
        (to_lines({"type": "user", "uuid": "u", "message": MESSAGES[0]}), MESSAGES),
    ],
)
def test_a_continuation_is_no_difference(
    diff: Callable[..., Ran], before: object, now: object
) -> None:
    """Whatever the form and white space, B begins with all of A, and the command succeeds."""
    ran = diff(before, now)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("B begins with all of A: ")
    assert diff(before, now, "--json").report["begins_with_all"] is True


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_it_names_the_very_byte(
    diff: Callable[..., Ran], *, indent: int | None, is_ascii: bool
) -> None:
    """Line and byte lead to the first differing character in both files, however written."""
    files = [
        json.dumps({**BODY, "messages": messages}, indent=indent, ensure_ascii=is_ascii).encode()
        for messages in (MESSAGES, EDITED)
    ]
    ran = diff(*files, "--json")
    report = ran.report
    assert ran.code == 1
    assert (report["kind"], report["message_index"], report["block_index"]) == ("changed", 2, 0)
    for side, data, word in zip("ab", files, [b"one", b"two"], strict=True):
        found = report[side]
        assert found["path"] == ["messages", 2, "content", 0, "text"]
        assert found["byte"] == data.index(word)
        assert found["line"] == data[: found["byte"]].count(b"\n") + 1
        assert found["excerpt"] == f"caf\u00e9 {word.decode()}"


def test_a_person_reads_the_same(diff: Callable[..., Ran]) -> None:
    """The text names place, what happened, how much is still of use, and both versions."""
    ran = diff(MESSAGES, EDITED)
    lines = ran.out.splitlines()
    byte = json.dumps(MESSAGES).index("one")
    assert (ran.code, ran.err) == (1, "")
    assert lines[0] == "B does not begin with A: message 2, block 0 was changed"
    assert lines[1].startswith("Usable  ~")
    assert lines[2] == f"In A    a.json, line 1, byte {byte}: [2].content[0].text"
    assert lines[3].strip() == "caf\u00e9 one"
    assert lines[5].strip() == "caf\u00e9 two"


@pytest.mark.parametrize(
    ("changes", "kind", "parameter", "path"),
    [
        ({"system": "Be polite."}, "changed", "system", ["system"]),
        ({"tools": [{"name": "Bash"}]}, "changed", "tools", ["tools", 0, "name"]),
        ({"tools": []}, "removed", "tools", ["tools", 0]),
        ({"thinking": {"type": "enabled"}}, "inserted", "thinking", ["thinking"]),
        ({"model": "n", "system": "x"}, "changed", "model", ["model"]),
    ],
)
def test_parameters_precede_messages(
    diff: Callable[..., Ran], changes: dict[str, object], kind: str, parameter: str, path: object
) -> None:
    """A changed parameter is named before any message, as the provider would meet it."""
    ran = diff(BODY, {**BODY, **changes, "messages": EDITED}, "--json")
    report = ran.report
    assert (ran.code, report["kind"], report["parameter"]) == (1, kind, parameter)
    assert report["message_index"] is None
    assert path in [report[side]["path"] for side in "ab"]


def test_a_missing_end_is_told(diff: Callable[..., Ran]) -> None:
    """Where B ends early, the place is the one in B where more would have to stand."""
    ran = diff(MESSAGES, MESSAGES[:1], "--json")
    report = ran.report
    assert (ran.code, report["kind"], report["message_index"]) == (1, "shortened", 1)
    assert report["b"]["byte"] == len(json.dumps(MESSAGES[:1])) - 1
    assert (report["b"]["excerpt"], report["a"]["path"]) == (None, [1])
    assert "message 1 is missing, with all that followed" in diff(MESSAGES, MESSAGES[:1]).out


def test_a_moved_marker_is_no_difference(diff: Callable[..., Ran]) -> None:
    """The command succeeds, and says where markers moved."""
    marked = copy.deepcopy(MESSAGES)
    marked[1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    ran = diff(marked, MESSAGES)
    assert ran.code == 0
    assert "Markers cache_control has moved, first in message 1, block 0" in ran.out
    assert diff(marked, MESSAGES, "--json").report["kind"] == "cache_control"


@pytest.mark.parametrize("is_swapped", [False, True])
def test_another_form_of_a_text_is_no_marker(diff: Callable[..., Ran], *, is_swapped: bool) -> None:
    """A text and a list of one block are the same to the provider; there is no marker at all."""
    other = copy.deepcopy(MESSAGES)
    other[0]["content"] = [{"type": "text", "text": "go"}]
    sides = (other, MESSAGES) if is_swapped else (MESSAGES, other)
    ran = diff(*sides)
    assert ran.code == 0
    assert "cache_control" not in ran.out
    assert "text in one and a list of it in the other, in message 0, block 0" in ran.out
    report = diff(*sides, "--json").report
    assert (report["kind"], report["begins_with_all"]) == ("form", True)
    assert (report["has_moved_markers"], report["message_index"]) == (False, 0)


def test_sessions_are_compared_by_their_messages(diff: Callable[..., Ran]) -> None:
    """Other records and the envelope do not count; the line and the byte in the file are named."""
    text = {"type": "text", "text": "x"}
    other = {"type": "progress", "message": {"role": "user", "content": "not sent"}}
    before = to_lines(user(text, uuid="1"), other, assistant("m1", text), user(text))
    now = to_lines(other, user(text, uuid="2"), assistant("m1", text), user({**text, "text": "y"}))
    report = diff(before, now, "--json").report
    assert (report["a"]["messages"], report["message_index"]) == (3, 2)
    for side, data in (("a", before), ("b", now)):
        found = report[side]
        assert (found["line"], found["format"]) == (4, "jsonl")
        assert found["path"] == [2, "message", "content", 0, "text"]
        assert data[found["byte"] :].startswith(b'"x"' if side == "a" else b'"y"')
    report = diff(before, to_lines(user(text)), "--json").report
    assert (report["b"]["byte"], report["b"]["line"]) == (len(to_lines(user(text))), 1)


def test_integers_are_not_rounded(diff: Callable[..., Ran]) -> None:
    """Two integers that are one floating-point number are a difference."""
    files = [[{"role": "user", "content": [{"n": 10**20 + number}]}] for number in (0, 1)]
    assert diff(*files, "--json").report["a"]["path"] == [0, "content", 0, "n"]


def test_a_renamed_key_is_named_on_both_sides(diff: Callable[..., Ran]) -> None:
    """Each file is pointed at where its own key has its value."""
    files = [[{"role": "user", "content": [{"a": 1, name: 2}]}] for name in ("old", "new")]
    report = diff(*files, "--json").report
    for side, name, value in zip("ab", ("old", "new"), files, strict=True):
        assert report[side]["path"] == [0, "content", 0, name]
        assert report[side]["byte"] == json.dumps(value).index("2")


def test_tokens_are_estimated(diff: Callable[..., Ran]) -> None:
    """What precedes the difference is of use: about a token for four characters."""
    long = [{"role": "user", "content": letter * 4_000} for letter in "abc"]
    report = diff(long, [long[0], long[2]], "--json").report
    assert report["kept_tokens"] == pytest.approx(1_000, rel=0.05)
    assert report["lost_tokens"] == pytest.approx(2_000, rel=0.05)


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (b'[{"role":"user"},\n}', "b.json, line 2, column 1: not JSON"),
        (b"[\xff]", "b.json is not UTF-8 at byte 1"),
        (to_lines({"type": "progress"}), "b.json has no line that is a message"),
        (b"", "b.json is empty"),
        (b"hello", "b.json is neither"),
        (b'{"messages":7}', "messages must be a list, not a number"),
    ],
)
def test_a_damaged_input_is_named(diff: Callable[..., Ran], now: bytes, message: str) -> None:
    """The error names file and line or byte, and nothing is said about a difference."""
    ran = diff(MESSAGES, now)
    assert (ran.code, ran.out) == (1, "")
    assert message in ran.err


def test_a_line_that_cannot_be_read_is_passed_over(diff: Callable[..., Ran]) -> None:
    """A torn or glued line of a session costs itself alone, and is named."""
    now = to_lines(MESSAGES[0]) + b'{"type":"us\n' + to_lines(*MESSAGES[1:]) + b'{"role":'
    ran = diff(MESSAGES, now)
    assert ran.code == 0
    assert "Skipped B, line 2: " in ran.out
    assert "and 1 more line" in ran.out
    report = diff(MESSAGES, now, "--json").report
    assert report["begins_with_all"]
    assert [line["line"] for line in report["b"]["malformed_lines"]] == [2, 5]
    assert [report[side]["malformed_line_count"] for side in "ab"] == [0, 2]


def test_only_the_first_lines_that_cannot_be_read_are_listed(diff: Callable[..., Ran]) -> None:
    """However many there are, the report stays short."""
    report = diff(MESSAGES, to_lines(*MESSAGES) + b"{\n" * 5_000, "--json").report
    assert len(report["b"]["malformed_lines"]) == 100
    assert report["b"]["malformed_line_count"] == 5_000


def test_a_missing_file_is_named(run: Callable[..., Ran], tmp_path: Path) -> None:
    """A file that cannot be opened is an error, no difference."""
    write(tmp_path / "a.json", b"[]")
    ran = run("diff", "a.json", "nope.json")
    assert (ran.code, ran.out) == (1, "")
    assert "cannot open nope.json" in ran.err


def test_one_input_may_be_standard_input(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``-`` reads one of them; both cannot be."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    write(tmp_path / "a.json", json.dumps(MESSAGES).encode())
    piped = io.TextIOWrapper(io.BytesIO(json.dumps(EDITED).encode()))
    monkeypatch.setattr("sys.stdin", piped)
    ran = run("diff", "a.json", "-")
    assert ran.code == 1
    assert "In B    standard input, line 1, byte " in ran.out
    ran = run("diff", "-", "-")
    assert ran.code == 2
    assert "only one of A and B can be standard input" in ran.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing argument 'A'"),
        (["a"], "Missing argument 'B'"),
        (["a", "b", "c"], "unexpected extra argument"),
        (["a", "b", "--nope"], "--nope"),
    ],
)
def test_wrong_usage(run: Callable[..., Ran], words: list[str], message: str) -> None:
    """Wrong usage ends with 2 and names what is wrong."""
    ran = run("diff", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


@given(
    text=st.text(
        st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\\n\u00e9\U0001f600')
    ),
    data=st.data(),
)
def test_a_character_is_found_among_escapes(text: str, data: st.DataObject) -> None:
    """The bytes before a character are those that the characters before it take."""
    index = data.draw(st.integers(0, len(text)))
    for is_ascii in (True, False):
        token = json.dumps(text, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
        before = json.dumps(text[:index], ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
        assert byte_of_character(token, index) == len(before) - 1
