"""The report that a person reads."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import call, res, size_label
from tests.layer.cli.transcripts import assistant, other_record, to_lines, user, write
from toolbudget.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.layer.cli.transcripts import Ran

LARGE = "x" * 60_000


@pytest.fixture
def show(run: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """Give a function that applies the budget to lines and prints the report."""

    def run_apply(lines: bytes, *options: object) -> Ran:
        path = write(tmp_path / "in.jsonl", lines)
        return run("apply", path, "--root", tmp_path / "root", "--session", "s1", *options)

    return run_apply


def facts_of(out: str) -> dict[str, str]:
    """Give what stands beside each label, as one line; of several with one label, the first."""
    found: dict[str, str] = {}
    for fact in re.findall(r"^[A-Z]\w+ +\S.*(?:\n {11}\S.*)*", out, re.MULTILINE):
        texts = [line[11:] for line in fact.splitlines()]
        found.setdefault(fact[:11].strip(), " ".join(texts))
    return found


def test_what_was_replaced_by_group_and_tool(show: Callable[..., Ran], tmp_path: Path) -> None:
    """Each row tells how many results of a tool became how small, and by which limit."""
    lines = to_lines(
        assistant("m1", call("t1", "Fetch"), call("t2", "Fetch"), call("t3", "Bash")),
        user(res("t1", LARGE), res("t2", LARGE + "y")),
        user(res("t3", "z" * 31_000)),
        assistant("m2", *(call(f"u{number}", "Search") for number in range(5))),
        user(*(res(f"u{number}", "w" * 45_000) for number in range(5))),
        user(res("v1", LARGE)),
    )
    ran = show(lines)
    assert (ran.code, ran.err) == (0, "")
    stored = tmp_path / "root" / "s1" / "tool-results"
    assert {path.name for path in stored.iterdir()} == {
        "t1.txt",
        "t2.txt",
        "t3.txt",
        "u0.txt",
        "v1.txt",
    }
    rows = [re.split(r" {2,}", line.strip()) for line in ran.out.splitlines()]
    table = {tuple(row[:4]): row[5] for row in rows if len(row) == 6 and row[0] != "Line"}
    assert table == {
        ("2", "Fetch", "2", f"120,001 ({size_label(120_001)})"): "result limit",
        ("3", "Bash", "1", f"31,000 ({size_label(31_000)})"): "result limit",
        ("5", "Search", "1", f"45,000 ({size_label(45_000)})"): "message limit",
        ("6", "(unknown)", "1", f"60,000 ({size_label(60_000)})"): "result limit",
    }


def test_where_everything_is(show: Callable[..., Ran], tmp_path: Path) -> None:
    """The session, every stored file and the output are named, each path whole on its line."""
    ran = show(to_lines(user(res("t1", LARGE))))
    directory = tmp_path / "root" / "s1"
    lines = ran.out.splitlines()
    assert lines[0] == "Session s1"
    assert lines[1] == f"1 tool result in 1 API message of {tmp_path / 'in.jsonl'}"
    index = lines.index("Full texts (1 new file, 58.6KB)")
    assert lines[index + 1] == f"  {directory / 'tool-results' / 't1.txt'}"
    assert lines[-2:] == ["Messages (written)", f"  {directory / 'applied.jsonl'}"]


def test_a_second_run_says_what_was_decided(show: Callable[..., Ran]) -> None:
    """Earlier decisions are counted, and how to have others is said."""
    lines = to_lines(user(res("t1", LARGE)), user(res("t2", "small")))
    assert "Earlier" not in facts_of(show(lines).out)
    ran = show(lines)
    assert facts_of(ran.out)["Earlier"] == (
        "2 of 2 results had been decided by an earlier run over this root, whatever the limits are"
        " now; another --root starts anew"
    )
    assert "Full texts (stored before)" in ran.out
    assert "Messages (had these bytes already)" in ran.out
    assert "  earlier run" in ran.out


def test_what_was_skipped_and_why(show: Callable[..., Ran]) -> None:
    """Exempt tools, images, references, empty results, bad lines and copies: all are counted."""
    image = {"type": "image", "source": {}}
    lines = to_lines(
        assistant("m1", call("t1", "Read"), call("t2", "Read"), call("t3", "memory")),
        user(res("t1", LARGE), res("t2", "a"), res("t3", "b"), toolUseResult="copy"),
        user(res("t4", [image]), res("t5", ""), {"type": "tool_result"}),
        user(res("t6", "<persisted-output>\nx\n</persisted-output>"), res("t7", "kept")),
    )
    facts = facts_of(show(lines + b'{"type":\n').out)
    assert facts["Skipped"] == (
        "3 exempt (Read 2, memory 1; --no-exempt TOOL judges them), 1 with images or other blocks,"
        " 1 already a reference, 1 empty, 1 malformed"
    )
    assert facts["Kept"] == "1 result as given"
    assert re.fullmatch(
        r"line 5, passed on as it is: column \d+: expecting value", facts["Malformed"]
    )
    assert facts["Copies"] == "1 under toolUseResult (4 characters) left alone: they are not sent"


def test_savings_are_an_estimate(show: Callable[..., Ran]) -> None:
    """Saved characters are exact; tokens are those of the texts, and called an estimate."""
    ran = show(to_lines(user(res("t1", LARGE))), "--json")
    saved_chars = 60_000 - ran.report["replaced"][0]["replacement_chars"]
    output = json.loads(Path(ran.report["output"]).read_text())
    replacement = output["message"]["content"][0]["content"]
    saved_tokens = estimate_tokens(LARGE) - estimate_tokens(replacement)
    assert ran.report["estimated_tokens_saved"] == saved_tokens
    shown = facts_of(show(to_lines(user(res("t1", LARGE)))).out)["Saved"]
    assert shown == (
        f"{saved_chars:,} of 60,000 characters ({100 * saved_chars / 60_000:.0f} %),"
        f" about {saved_tokens:,} tokens (an estimate)"
    )


def test_nothing_to_replace(show: Callable[..., Ran]) -> None:
    """A report about nothing is short and says so."""
    ran = show(to_lines(user(res("t1", "small"))))
    assert "No result had to be replaced." in ran.out
    assert facts_of(ran.out)["Saved"] == "nothing: all 5 characters of text stay as they are"
    assert "Full texts" not in ran.out


def test_a_session_that_was_asked_for_in_vain(show: Callable[..., Ran]) -> None:
    """If the records name another session than the option, the report says whose word counts."""
    ran = show(to_lines(user(res("t1", "small"), sessionId="other")))
    assert ran.out.startswith("Session other\n")
    assert facts_of(ran.out)["Session"] == "the records name it; --session s1 was not used"


def test_what_another_program_decided(show: Callable[..., Ran]) -> None:
    """A replacement from a record in the input is told as such, without a path of ours."""
    ran = show(to_lines(user(res("t1", LARGE), sessionId="s1"), other_record("t1", "short")))
    assert "  other program" in ran.out
    assert "Full texts" not in ran.out


def test_what_stays_over_the_limit(show: Callable[..., Ran]) -> None:
    """A message that cannot be brought within the limit is pointed out."""
    lines = to_lines(user(*(res(f"t{number}", "s" * 300) for number in range(4))))
    facts = facts_of(show(lines, "--max-message-chars", 100).out)
    assert re.fullmatch(
        r"[\d,]+ characters over the message limit: nothing that is left can be replaced",
        facts["Over"],
    )


def test_long_reports_are_cut(show: Callable[..., Ran]) -> None:
    """Of very many rows, files and bad lines some are shown, and the rest is counted."""
    records = []
    for number in range(50):
        records += [user(res(f"t{number}", "x" * (51_000 + number))), assistant(f"m{number}")]
    ran = show(to_lines(*records) + b"{\n" * 12)
    rows = re.findall(r"^ +\d+  \(unknown\)  .*result limit", ran.out, re.MULTILINE)
    assert len(rows) == 40
    # Shown are those that save most.
    assert "51,049" in rows[-1]
    assert "51,000" not in ran.out
    assert "and 10 more rows; --json has them all" in ran.out
    assert ran.out.count("/tool-results/t") == 10
    assert "and 40 more in " in ran.out
    assert ran.out.count("passed on as it is") == 10
    assert "and 2 more lines" in ran.out


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_every_terminal(
    show: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Only paths are longer than the terminal is wide; no number is ever cut."""
    monkeypatch.setenv("COLUMNS", str(columns))
    name = "mcp__a_server_with_a_long_name__and_a_tool"
    ran = show(to_lines(assistant("m1", call("t1", name)), user(res("t1", LARGE))))
    too_long = [line for line in ran.out.splitlines() if len(line) > columns and "/" not in line]
    assert too_long == []
    assert "60,000" in ran.out
    assert (name in ran.out) == (columns >= 120)


def test_hostile_text_is_harmless(show: Callable[..., Ran]) -> None:
    """Names, ids and paths cannot move the cursor, forge lines or be taken for markup."""
    name = "[red]\x1b[2J\u202eevil\nTool\ud800"
    lines = to_lines(
        assistant("m1", call("t1", name), call("t2", name), sessionId="s\x1b[0m\n9"),
        user(res("t1", LARGE), res("t2", [{"type": "image"}])),
    )
    ran = show(lines)
    assert ran.code == 0
    assert all(character.isprintable() for character in ran.out.replace("\n", ""))
    assert r"Session s\x1b[0m\n9" in ran.out
    assert "[red]" in ran.out


def test_no_colours_where_none_are_wanted(
    show: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR is honoured also where colours are possible."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    lines = to_lines(user(res("t1", LARGE)))
    assert "\x1b[32m" in show(lines).out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[32m" not in show(lines).out


def test_failures_are_told_and_cost_nothing(show: Callable[..., Ran], tmp_path: Path) -> None:
    """If texts cannot be stored the output has them in full, and the command fails."""
    (tmp_path / "root" / "s1").mkdir(parents=True)
    write(tmp_path / "root" / "s1" / "tool-results", b"in the way")
    lines = to_lines(user(*(res(f"t{number}", LARGE + str(number)) for number in range(11))))
    ran = show(lines, "--max-message-chars", "off")
    assert ran.code == 1
    assert "cannot store result 't0'" in facts_of(ran.out)["Failed"]
    assert "and 1 more" in ran.out
    assert (tmp_path / "root" / "s1" / "applied.jsonl").read_bytes() == lines


def test_failures_for_machines(apply: Callable[..., Ran], tmp_path: Path) -> None:
    """The JSON report names the stage, the result and the reason of each failure."""
    (tmp_path / "root" / "s1").mkdir(parents=True)
    write(tmp_path / "root" / "s1" / "tool-results", b"in the way")
    ran = apply(write(tmp_path / "in", to_lines(user(res("t1", LARGE), sessionId="s1"))))
    assert ran.code == 1
    [failure] = ran.report["failures"]
    assert (failure["stage"], failure["tool_use_id"]) == ("store", "t1")
    assert failure["error"].endswith("Not a directory")
    assert ran.report["replaced"] == []


def test_damaged_records_are_warned_about(show: Callable[..., Ran], tmp_path: Path) -> None:
    """What cannot be read of earlier records is said once, on standard error."""
    lines = to_lines(user(res("t1", LARGE)))
    show(lines)
    with (tmp_path / "root" / "s1.jsonl").open("ab") as records:
        records.write(b'{"type":"content-replacement","check":"0"}\n')
    ran = show(lines)
    assert ran.code == 0
    records_path = tmp_path / "root" / "s1.jsonl"
    assert ran.err == f"Warning: {records_path}: 1 damaged lines skipped\n"
