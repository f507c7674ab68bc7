"""How an input's form is recognised, and what is said about one that has none."""

from __future__ import annotations

import codecs
import gzip
import json
from typing import TYPE_CHECKING

import pytest

from tests.layer.cli.transcripts import to_lines, user, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran

MESSAGES = [{"role": "user", "content": "go"}, {"role": "assistant", "content": []}]
BODY = {"model": "m", "messages": MESSAGES}
LINES = to_lines(user(), user())
# A list of messages and a request body with one message in each line.
ONE_PER_LINE = b'[\n{"role":"user","content":"a"},\n{"role":"user","content":"b"}\n]\n'


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (LINES, "jsonl"),
        (LINES.replace(b"\n", b"\r\n"), "jsonl"),
        (b"\n \n" + LINES, "jsonl"),
        (codecs.BOM_UTF8 + LINES, "jsonl"),
        (to_lines(user()), "jsonl"),
        (to_lines(BODY, BODY), "jsonl"),
        (to_lines(*MESSAGES), "jsonl"),
        (b"\x00\x00\n" + LINES, "jsonl"),
        (b'er":1}\n' + LINES, "jsonl"),
        (b'{"type":"us\n' + LINES, "jsonl"),
        (b'{"type":\n' + LINES, "jsonl"),
        (b'{"type":"user"}x\n' + LINES, "jsonl"),
        (json.dumps(BODY).encode(), "body"),
        (codecs.BOM_UTF8 + json.dumps(BODY, indent=1).encode(), "body"),
        (json.dumps(BODY, indent="\t").encode() + b"\r\n", "body"),
        (b'{"messages":\n' + ONE_PER_LINE + b"}", "body"),
        (json.dumps(MESSAGES).encode(), "messages"),
        (codecs.BOM_UTF8 + b"\n\n" + json.dumps(MESSAGES, indent=4).encode(), "messages"),
        (ONE_PER_LINE, "messages"),
        (b"[]", "messages"),
    ],
)
def test_the_form_is_told_by_content(
    apply: Callable[..., Ran], tmp_path: Path, data: bytes, expected: str
) -> None:
    """JSON lines, a request body and a list of messages are told apart however they are written."""
    ran = apply(write(tmp_path / "in", data))
    assert ran.code == 0, ran.err
    assert ran.report["format"] == expected
    assert ran.output == data


def test_the_form_can_be_forced(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """``--format`` goes before what the content looks like."""
    path = write(tmp_path / "in", json.dumps(BODY).encode())
    assert apply(path, "--format", "jsonl").report["format"] == "jsonl"


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"", [], "is empty"),
        (b"", ["--format", "jsonl"], "is empty"),
        (b"\n \t\r\n", [], "holds nothing but blanks"),
        (
            b"hello\nworld\n",
            [],
            "is neither JSON lines, nor a request body, nor a list of messages",
        ),
        (gzip.compress(b"{}" * 9, mtime=0), [], r"it begins with b'\x1f\x8b"),
        ("{}".encode("utf-16"), [], r"it begins with b'\xff\xfe"),
        (
            b'"text"\n{"a"\n',
            [],
            "has no line that is a JSON object; line 1: not an object but a string",
        ),
        (b"{]\n", [], "line 1: column 2: "),
        (b'{"a":"\xff"}\n', [], "line 1: not UTF-8 at byte 6 of the line"),
        (b'{"messages":[\n1\n2]}', [], "in, line 3, column 1: not JSON: expecting ',' delimiter"),
        (b'[\n{"a":"x\n"}]', [], "in, line 2, column 8: not JSON: invalid control character at"),
        (b'[{"a":"\xff"}]', [], "is not UTF-8 at byte 7"),
        (b"[" * 100_000, [], "JSON is nested too deeply"),
        (b"[1]", [], "in: message 0 is not an object but a number"),
        (b"[{}, null, {}]", [], "in: message 1 is not an object but null"),
        (b'{"messages":true}', [], "messages must be a list, not a boolean"),
        (b'{\n"messages":{}}', [], "messages must be a list, not an object"),
        (b'{\n"a":1}', [], "is no request body: it must be an object with messages, not an object"),
        (b"[]", ["--format", "body"], "must be an object with messages, not a list"),
        (b"{}", ["--format", "messages"], "messages must be a list, not an object"),
        (b"[]\n[]", ["--format", "jsonl"], "line 1: not an object but a list"),
        (b"{}\n{}", ["--format", "messages"], "line 2, column 1: not JSON: extra data"),
    ],
)
def test_an_input_of_no_form_is_refused(
    apply: Callable[..., Ran], tmp_path: Path, data: bytes, options: list[str], message: str
) -> None:
    """The error names the file and the place, and nothing is written."""
    ran = apply(write(tmp_path / "in", data), *options)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: ")
    assert str(tmp_path / "in") in ran.err
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "root").exists()


def test_many_malformed_lines_are_counted(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """The first hundred are named with their numbers, and all of them are counted."""
    ran = apply(write(tmp_path / "in", LINES + b"{\n" * 250))
    lines = ran.report["malformed_lines"]
    assert [line["line"] for line in lines] == list(range(3, 103))
    assert ran.report["malformed_line_count"] == 250


@pytest.mark.parametrize("form", ["jsonl", "body"])
def test_numbers_that_python_does_not_read(
    apply: Callable[..., Ran], tmp_path: Path, form: str
) -> None:
    """An integer of thousands of digits is passed on like everything else."""
    data = b'{"messages":[],"n":%b}' % (b"9" * 5_000)
    ran = apply(write(tmp_path / "in", data), "--format", form)
    assert ran.output == data
    assert ran.report["malformed_lines"] == []


NOTHING_TO_READ = [
    b"",
    b" \n\n",
    b"hello\nworld\n",
    b'"text"\n{"a"\n',
    b'{"type":"user"}{"type":"user"}\n',
    b'{"type":"user"}\r{"type":"user"}\r',
    b"[" * 100_000,
    b"[1]",
    b"[{}, null]",
    b'{"messages":true}',
    b'{"messages":[5]}',
    b"null",
]


@pytest.mark.parametrize("data", NOTHING_TO_READ)
@pytest.mark.parametrize("command", ["apply", "report", "context", "diff"])
def test_every_command_refuses_what_holds_nothing(
    run: Callable[..., Ran], tmp_path: Path, command: str, data: bytes
) -> None:
    """None of them says that a file is in order of which it could not read one message."""
    path = write(tmp_path / "in.json", data)
    words: dict[str, list[object]] = {
        "apply": [path, "--root", tmp_path / "root"],
        "diff": [path, path],
    }
    ran = run(command, *words.get(command, [path]))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: ")
    assert str(path) in ran.err
