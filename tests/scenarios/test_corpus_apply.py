"""``toolbudget apply`` on recorded sessions of a real agent."""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest

from tests.builders import files_below, is_reference, read_reference, text_of
from toolbudget.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

Report: TypeAlias = dict[str, Any]

OPTIONS: Final = [
    (),
    ("--no-exempt", "Read"),
    ("--no-exempt", "Read", "--max-result-chars", "off", "--max-message-chars", "20000"),
    ("--no-exempt", "Read", "--max-result-chars", "3000", "--max-message-chars", "9000"),
]


class Applied:
    """Applies the budget to one session, and knows what came of it."""

    def __init__(self, source: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.source = source
        self.root = root
        self._capsys = capsys

    def run(self, *options: str) -> Report:
        """Run the command and give its report."""
        self._capsys.readouterr()
        code = main(["apply", str(self.source), "--root", str(self.root), "--json", *options])
        out, err = self._capsys.readouterr()
        assert (code, err) == (0, "")
        report: Report = json.loads(out)
        return report


def source_of(corpus: Path, name: str) -> Path:
    """Give a recorded session by its name."""
    return corpus / "claude_code" / f"{name}.jsonl"


@pytest.fixture
def sessions(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> list[Applied]:
    """Give every recorded session, each with a root of its own."""
    sources = sorted((corpus / "claude_code").glob("*.jsonl"))
    assert sources
    return [Applied(source, tmp_path / source.stem, capsys) for source in sources]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sync nothing, since no test here is about power loss; print for 80 columns."""
    monkeypatch.setenv("TOOLBUDGET_DURABILITY", "process")
    monkeypatch.setenv("COLUMNS", "80")


def decoded(data: bytes) -> dict[int, Any]:
    """Decode the lines that are JSON, by their number."""
    records = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            records[number] = json.loads(line)
        except ValueError:
            continue
    return records


def results_of(record: Any) -> Iterator[dict[str, Any]]:  # noqa: ANN401 - whatever a line holds
    """Yield the result blocks of a record."""
    content = record.get("message", {}).get("content")
    if record.get("type") == "user" and isinstance(content, list):
        yield from (block for block in content if block.get("type") == "tool_result")


def stored_content(replaced: object) -> object:
    """Give the content that a replacement stands for, in the form it had, from its file."""
    path = read_reference(replaced).path
    stored = path.read_bytes().decode()
    if isinstance(replaced, str):
        return stored
    return json.loads(stored) if path.suffix == ".json" else [{"type": "text", "text": stored}]


def is_text(content: object) -> bool:
    """Tell whether a content is text, all of it, and not empty."""
    if isinstance(content, str):
        return content != ""
    blocks = content if isinstance(content, list) else []
    return any(blocks) and all(block["type"] == "text" for block in blocks)


def group_sizes(data: bytes) -> list[int]:
    """Add up the texts of results by API user message: a second, plain way to group a session."""
    sizes: defaultdict[tuple[object, int], int] = defaultdict(int)
    seen: set[tuple[object, str]] = set()
    numbers: defaultdict[object, int] = defaultdict(int)
    for record in decoded(data).values():
        chain = (bool(record.get("isSidechain")), record.get("agentId"))
        if record.get("type") == "assistant":
            message_id = record["message"].get("id")
            if message_id is None or (chain, message_id) not in seen:
                numbers[chain] += 1
            seen.add((chain, message_id))
        for block in results_of(record):
            if is_text(block.get("content")):
                sizes[chain, numbers[chain]] += len(text_of(block["content"]))
    return list(sizes.values())


def without_contents(record: Any) -> Any:  # noqa: ANN401 - whatever a line holds
    """Give a record as it is beside the contents of its results."""
    bare = json.loads(json.dumps(record))
    for block in results_of(bare):
        block["content"] = None
    return bare


@pytest.mark.parametrize("options", OPTIONS, ids=["default", "read", "message", "tight"])
def test_only_contents_of_replaced_results_change(
    sessions: list[Applied], subtests: pytest.Subtests, options: tuple[str, ...]
) -> None:
    """Lines, order, ids and bytes stay; each replaced text is in the file that stands for it."""
    for applied in sessions:
        with subtests.test(applied.source.name):
            check_changes(applied, applied.run(*options))


def check_changes(applied: Applied, report: Report) -> None:
    """Compare the output with the input, line by line."""
    before = applied.source.read_bytes()
    after = Path(report["output"]).read_bytes()
    changed_lines = {item["line"] for item in report["replaced"]}
    old_lines, new_lines = before.split(b"\n"), after.split(b"\n")
    assert len(old_lines) == len(new_lines)
    pairs = enumerate(zip(old_lines, new_lines, strict=True), 1)
    assert {number for number, (old, new) in pairs if old != new} == changed_lines
    old_records, new_records = decoded(before), decoded(after)
    replaced = 0
    for number in changed_lines:
        old, new = old_records[number], new_records[number]
        assert without_contents(new) == without_contents(old)
        for was, now in zip(results_of(old), results_of(new), strict=True):
            if was["content"] != now["content"]:
                replaced += 1
                assert is_reference(now["content"])
                assert stored_content(now["content"]) == was["content"]
    assert replaced == len(report["replaced"])
    assert report["files_stored"] == len(list(Path(report["results_directory"]).glob("*")))


@pytest.mark.parametrize("options", OPTIONS[1:], ids=["read", "message", "tight"])
def test_a_second_run_changes_nothing(
    sessions: list[Applied], subtests: pytest.Subtests, options: tuple[str, ...]
) -> None:
    """Over the same root nothing is stored, decided or written again, under other limits too."""
    for applied in sessions:
        with subtests.test(applied.source.name):
            check_later_runs(applied, options)


def check_later_runs(applied: Applied, options: tuple[str, ...]) -> None:
    """Run again with the same and with other options."""
    first = applied.run(*options)
    texts = Path(first["output"]).read_bytes()
    files = files_below(applied.root)
    for again in (options, (), ("--max-result-chars", "100", "--no-exempt", "Bash")):
        report = applied.run(*again)
        assert (report["replaced"], report["files_stored"], report["bytes_stored"]) == ([], 0, 0)
        assert report["output_written"] is False
        assert len(report["reapplied"]) == len(first["replaced"])
        assert report["decided_earlier"] == first["result_count"] - sum(
            number for reason, number in first["skipped"].items() if reason in {"empty", "not_text"}
        )
    assert Path(first["output"]).read_bytes() == texts
    assert files_below(applied.root) == files


def test_sizes_are_what_they_are(sessions: list[Applied], subtests: pytest.Subtests) -> None:
    """Groups and characters, before and after, agree with a plain count over the lines."""
    for applied in sessions:
        with subtests.test(applied.source.name):
            report = applied.run("--no-exempt", "Read", "--max-message-chars", "20000")
            before = group_sizes(applied.source.read_bytes())
            after = group_sizes(Path(report["output"]).read_bytes())
            assert report["group_count"] == len(before)
            assert (report["chars_before"], report["chars_after"]) == (sum(before), sum(after))
            over_limit_chars = sum(max(size - 20_000, 0) for size in after)
            assert report["over_limit_chars"] == over_limit_chars


def test_one_large_read(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A single result over the limit is replaced when its tool is judged, and one file stored."""
    applied = Applied(source_of(corpus, "packmind-02-single-85k"), tmp_path / "root", capsys)
    report = applied.run("--no-exempt", "Read")
    assert [item["size_chars"] for item in report["replaced"]] == [84_833]
    assert report["files_stored"] == 1
    [stored] = Path(report["results_directory"]).iterdir()
    assert len(stored.read_text()) == 84_833


def test_a_message_over_the_limit(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """228,236 characters of exempt reads stay by default; judged, they end within the limit."""
    source = source_of(corpus, "entire-01-aggregate-228k")
    assert max(group_sizes(source.read_bytes())) == 228_236
    by_default = Applied(source, tmp_path / "default", capsys).run()
    assert Path(by_default["output"]).read_bytes() == source.read_bytes()
    numbers = count()
    for options in (["--no-exempt", "Read"], ["--no-exempt", "Read", "--max-result-chars", "off"]):
        judged = Applied(source, tmp_path / str(next(numbers)), capsys).run(*options)
        assert max(group_sizes(Path(judged["output"]).read_bytes())) <= 200_000


def test_a_line_that_is_no_json(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broken line is passed on and named by its number."""
    source = source_of(corpus, "entire-06-malformed-line-with-progress")
    report = Applied(source, tmp_path / "root", capsys).run()
    assert [line["line"] for line in report["malformed_lines"]] == [128]


@pytest.mark.parametrize(
    ("name", "references"),
    [("cipherbox-01-three-persisted", 3), ("entire-05-long-two-compactions", 1)],
)
def test_references_of_the_agent_itself(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, references: int
) -> None:
    """What the agent had stored and replaced by itself is recognised and left alone."""
    report = Applied(source_of(corpus, name), tmp_path / "root", capsys).run()
    assert report["skipped"]["reference"] == references


def test_a_person_can_read_it(
    sessions: list[Applied], subtests: pytest.Subtests, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report for a person names the session and the output, within the terminal's width."""
    for applied in sessions:
        with subtests.test(applied.source.name):
            options = ["--root", str(applied.root), "--no-exempt", "Read"]
            assert main(["apply", str(applied.source), *options]) == 0
            out = capsys.readouterr().out
            assert out.startswith("Session ")
            assert out.endswith("/applied.jsonl\n")
            assert all(len(line) <= 80 or "/" in line for line in out.splitlines())
