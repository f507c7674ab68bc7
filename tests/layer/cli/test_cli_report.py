"""What ``toolbudget report`` sums up, held against other ways to count the same."""

from __future__ import annotations

import csv
import errno
import gzip
import html
import json
import os
import re
import resource
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast, get_args

import pytest

from tests.builders import call, res
from tests.layer.cli.talk import said, used
from tests.layer.cli.transcripts import assistant, to_lines, user, write
from tests.layer.storage.faulty import FaultyFiles
from toolbudget import build_replacement
from toolbudget.cli.report_inputs import find_transcripts
from toolbudget.limits import PreviewStyle
from toolbudget.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.layer.cli.transcripts import Ran

_BROWSER: Final = shutil.which("chromium") or shutil.which("google-chrome")

LINE = "a line of output\n"

# Two messages of several results each; sizes that the tried limits cut between.
TALK = [
    said("m1", used(0, 100, 5), call("t1", "Fetch"), call("t2", "Fetch"), call("t3", "Bash")),
    user(res("t1", "x" * 60_000), res("t2", "y" * 45_000), res("t3", "z" * 25_000)),
    said("m2", used(100, 300, 20), call("t4", "Fetch"), call("t5", "Read")),
    user(res("t4", "a" * 90_000), res("t5", "b" * 300_000), res("t9", "c" * 10)),
    said("m3", used(50, 100, 7), {"type": "text", "text": "done"}),
]


@pytest.fixture
def report(run: Callable[..., Ran], tmp_path: Path) -> Callable[..., Any]:
    """Give a function that reports on records, each list a transcript of its own."""

    def run_report(*transcripts: list[Any], options: tuple[object, ...] = ()) -> Any:  # noqa: ANN401 - any JSON
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        for number, records in enumerate(transcripts):
            write(folder / f"{number}.jsonl", to_lines(*records))
        return json.loads(run("report", folder, "--json", *options).out)

    return run_report


def test_sums_are_those_of_the_texts(report: Callable[..., Any]) -> None:
    """Counted here once more, by hand."""
    told = report(TALK)
    tools = {tool["tool"]: tool for tool in told["tools"]}
    texts: dict[str, list[str]] = {
        "Fetch": ["x" * 60_000, "y" * 45_000, "a" * 90_000],
        "Bash": ["z" * 25_000],
    }
    for name, expected in texts.items():
        assert tools[name]["results"] == len(expected)
        assert tools[name]["chars"] == sum(map(len, expected))
        assert tools[name]["largest_chars"] == max(map(len, expected))
        assert tools[name]["estimated_tokens"] == sum(map(estimate_tokens, expected))
    assert tools[None]["chars"] == 10
    assert [tool["chars"] for tool in told["tools"]] == [300_000, 195_000, 25_000, 10]
    assert (told["results"], told["messages"]) == (6, 2)
    assert [large["chars"] for large in told["largest"]][:2] == [300_000, 90_000]
    assert told["largest"][0]["position"] == 4


OPENAI: Final = [
    {"role": "user", "content": "Read it."},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "x" * 90_000},
]


def test_results_of_another_format_are_not_passed_over_in_silence(
    report: Callable[..., Any], run: Callable[..., Ran], tmp_path: Path
) -> None:
    """A number of zero results would be taken for the truth."""
    assert report(TALK)["other_format_messages"] == 0
    told = report(TALK, OPENAI)
    assert (told["results"], told["other_format_messages"]) == (6, 2)
    page = tmp_path / "page.html"
    out = run("report", tmp_path / "in", "--html", page).out
    note = "Not counted: results in 2 messages of another wire format, such as OpenAI's"
    assert note in out
    assert html.escape(note) in page.read_text()


def test_previews_of_any_style_are_no_larger(report: Callable[..., Any]) -> None:
    """What the table says is saved is the least that each style would save, but for its name."""
    text = "".join(f"a line {number}\n" for number in range(9_000))
    told = report([said("m1", used(0, 1, 1), call("t1", "Fetch")), user(res("t1", text))])
    assert told["preview_bytes"] == 2_000
    saved = next(one["chars_saved"] for one in told["limits"] if one["gated"])
    path = "/" + "p" * 99
    for style in get_args(PreviewStyle):
        built = build_replacement(text, path, style=style)
        assert len(text) - len(built) >= saved - 31


def test_messages_of_several_transcripts_are_kept_apart(report: Callable[..., Any]) -> None:
    """Each message is judged by itself, however many are read together."""
    one, both = report(TALK), report(TALK, TALK)
    assert both["messages"] == 2 * one["messages"]
    for row, doubled in zip(one["limits"], both["limits"], strict=True):
        for name in ("gated", "budgeted", "chars_after", "chars_saved", "messages_over"):
            assert doubled[name] == 2 * row[name]


@pytest.mark.parametrize("result_chars", [20_000, 30_000, 50_000])
@pytest.mark.parametrize("message_chars", [100_000, 200_000])
def test_the_table_of_limits_is_what_apply_does(
    report: Callable[..., Any],
    run: Callable[..., Ran],
    tmp_path: Path,
    result_chars: int,
    message_chars: int,
) -> None:
    """As many results are replaced; the length of a path is all that is assumed."""
    told = report(TALK)
    [row] = [
        row
        for row in told["limits"]
        if (row["max_result_chars"], row["max_message_chars"]) == (result_chars, message_chars)
    ]
    limits = ("--max-result-chars", result_chars, "--max-message-chars", message_chars)
    source = tmp_path / "in" / "0.jsonl"
    applied = json.loads(run("apply", source, "--root", tmp_path / "r", "--json", *limits).out)
    origins = [one["stage"] for one in applied["replaced"]]
    assert (row["gated"], row["budgeted"]) == (origins.count("gate"), origins.count("budget"))
    saved_chars = applied["chars_before"] - applied["chars_after"]
    assert abs(row["chars_saved"] - saved_chars) <= 200 * len(origins)


def test_sizes_by_powers_of_two(report: Callable[..., Any]) -> None:
    """Every result is in the bucket below the next power."""
    told = report(TALK)
    counts = {bucket["below_chars"]: bucket["count"] for bucket in told["sizes"]}
    assert {below: number for below, number in counts.items() if number} == {
        16: 1,
        32_768: 1,
        65_536: 2,
        131_072: 1,
        524_288: 1,
    }


def test_the_prefix_by_what_responses_report(report: Callable[..., Any]) -> None:
    """The second request read what the first had written; the third lost most of that."""
    told = report(TALK)
    # m1 wrote 50, m2 read 100 and wrote 150, m3 read 50.
    assert told["prefix"] == {"requests": 2, "kept": 1, "lost_tokens": 200, "compactions": 0}


def test_a_growing_response_counts_once_and_a_compaction_not_at_all(
    report: Callable[..., Any],
) -> None:
    """Streamed records of one response are one request; what follows a summary begins anew."""
    summary = {"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None}
    talk = [
        said("m1", used(0, 100, 5), {"type": "text", "text": "a"}),
        said("m2", used(10, 100, 1), {"type": "text", "text": "b"}),
        said("m2", used(50, 100, 9), {"type": "text", "text": "c"}),
        summary,
        said("m3", used(0, 40, 5), {"type": "text", "text": "d"}),
        said("m4", used(20, 40, 5), {"type": "text", "text": "e"}),
    ]
    # m1 wrote 50 and m2 read 50 in the end; m3 is behind the summary; it wrote 20 and m4 read 20.
    prefix = report(talk)["prefix"]
    assert prefix == {"requests": 2, "kept": 2, "lost_tokens": 0, "compactions": 1}


def test_references_and_other_content(report: Callable[..., Any]) -> None:
    """What stands replaced already is counted as it stands; an image is no text."""
    framed = (
        "<persisted-output>\nOutput too large (60KB). Full output saved to: /x\n</persisted-output>"
    )
    image = [{"type": "image", "source": {"type": "base64", "data": "x"}}]
    told = report([assistant("m1", call("t1", "Bash")), user(res("t1", framed), res("t2", image))])
    assert (told["references"], told["results"]) == (1, 1)
    assert sum(told["skipped"].values()) == 1


def test_a_folder_stands_for_what_is_below_it(run: Callable[..., Ran], tmp_path: Path) -> None:
    """Each transcript once; files of records, and what apply made, are none."""
    deep = tmp_path / "in" / "deep"
    deep.mkdir(parents=True)
    for name in ("a.jsonl", "applied.jsonl", "content-replacements.jsonl", "notes.txt"):
        write(deep / name, to_lines(*TALK))
    (tmp_path / "in" / "same.jsonl").hardlink_to(deep / "a.jsonl")
    told = json.loads(run("report", tmp_path / "in", deep / "a.jsonl", "--json").out)
    assert told["transcripts"] == 1


def test_a_folder_of_more_folders_than_a_process_may_open(
    run: Callable[..., Ran], tmp_path: Path
) -> None:
    """A root of a hundred thousand sessions is one."""
    for number in range(200):
        (tmp_path / f"s{number}").mkdir()
    write(tmp_path / "s7" / "t.jsonl", to_lines(*TALK))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        ran = run("report", tmp_path, "--json")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (ran.code, json.loads(ran.out)["transcripts"]) == (0, 1)


def test_a_folder_below_that_cannot_be_listed_does_not_end_it(tmp_path: Path) -> None:
    """What stands beside it is found, and it is named."""
    (tmp_path / "a").mkdir()
    write(tmp_path / "t.jsonl", to_lines(*TALK))
    faulty = FaultyFiles()
    faulty.fail_method("open_directory", errno.EACCES)
    problems: list[tuple[str, str]] = []
    found = find_transcripts(
        [str(tmp_path)],
        lambda *problem: problems.append(problem),
        files=cast("Any", faulty),
    )
    assert [one.path for one in found] == [f"{tmp_path}/t.jsonl"]
    folder = f"{tmp_path}/a"
    assert problems == [(folder, f"cannot list {folder}: permission denied")]


def test_what_cannot_be_read_does_not_end_it(run: Callable[..., Ran], tmp_path: Path) -> None:
    """The rest is summed up, and the exit code says that something is missing."""
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "a.jsonl", to_lines(*TALK))
    write(tmp_path / "in" / "empty.jsonl", b"")
    write(tmp_path / "in" / "packed.jsonl", gzip.compress(to_lines(*TALK)))
    ran = run("report", tmp_path / "in", "--json")
    told = json.loads(ran.out)
    assert (ran.code, told["transcripts"]) == (1, 1)
    names = [Path(one["path"]).name for one in told["unreadable"]]
    assert names == ["empty.jsonl", "packed.jsonl"]


@pytest.mark.parametrize("path", ["missing", "."])
def test_nothing_to_read(run: Callable[..., Ran], path: str) -> None:
    """One line says so."""
    ran = run("report", path)
    assert (ran.code, ran.out) == (1, "")
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_for_a_person(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """Every table fits the terminal, whatever the names hold."""
    monkeypatch.setenv("COLUMNS", str(columns))
    name = "mcp__\x1b[31m" + "very_long_name_" * 9
    talk = [assistant("m1", call("t1", name)), user(res("t1", LINE * 90))]
    ran = run("report", write(tmp_path / "a.jsonl", to_lines(*talk)))
    assert "1 text result in 1 message, 1,530 characters" in ran.out
    assert "\x1b" not in ran.out
    tables = [line for line in ran.out.splitlines() if "/" not in line and "  " in line[:2]]
    assert all(len(line) <= columns for line in tables)


@pytest.mark.parametrize("columns", [50, 60, 76, 100])
def test_no_number_is_cut_off(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """A narrow terminal has fewer columns and shorter bars, not numbers without their ends."""
    monkeypatch.setenv("COLUMNS", str(columns))
    path = write(tmp_path / "a.jsonl", to_lines(*TALK))
    told = json.loads(run("report", path, "--json").out)
    out = run("report", path).out
    shown = {word for line in out.splitlines() for word in line.split()}
    assert {f"{outcome['chars_saved']:,}" for outcome in told["limits"]} <= shown
    assert {f"{tool['chars']:,}" for tool in told["tools"]} <= shown
    assert not re.search(r"\d…", out)


def test_tools_as_csv(report: Callable[..., Any], tmp_path: Path) -> None:
    """The rows are those of the report; no cell is reckoned with by a spreadsheet."""
    talk = [assistant("m1", call("t1", "=cmd()"), call("t2", "a,b")), user(res("t1", "xx"))]
    told = report(TALK, talk, options=("--csv", tmp_path / "tools.csv"))
    with (tmp_path / "tools.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["tool"] for row in rows] == ["Read", "Fetch", "Bash", "", "'=cmd()"]
    assert [int(row["chars"]) for row in rows] == [tool["chars"] for tool in told["tools"]]


class _Page(HTMLParser):
    """Reads a page, and what it would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "br"}:
            self.open.append(tag)
        for name, value in attrs:
            is_link = name in {"src", "href", "xlink:href", "data"} or name.startswith("on")
            if is_link and value and not value.startswith("#"):
                self.fetched.append(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("option", ["--csv", "--html"])
class TestWhereItGoes:
    """A report never takes the place of what it reports on, nor of anything but a file."""

    @pytest.mark.parametrize("is_folder", [True, False])
    def test_over_an_input(
        self, run: Callable[..., Ran], tmp_path: Path, option: str, *, is_folder: bool
    ) -> None:
        """Also by another name of the same file."""
        transcript = write(tmp_path / "t.jsonl", to_lines(*TALK))
        before = transcript.read_bytes()
        other = tmp_path / "other"
        other.hardlink_to(transcript)
        for output in (transcript, other):
            ran = run("report", tmp_path if is_folder else transcript, option, output)
            assert (ran.code, ran.out) == (1, "")
            assert f"output is the input itself: {output}" in ran.err
        assert transcript.read_bytes() == other.read_bytes() == before

    @pytest.mark.parametrize("kind", ["directory", "fifo"])
    def test_over_what_is_no_file(
        self, run: Callable[..., Ran], tmp_path: Path, option: str, kind: str
    ) -> None:
        """A device, above all; it would be gone."""
        transcript = write(tmp_path / "t.jsonl", to_lines(*TALK))
        output = tmp_path / "output"
        if kind == "fifo":
            os.mkfifo(output)
        else:
            output.mkdir()
        ran = run("report", transcript, option, output)
        assert (ran.code, ran.out) == (1, "")
        assert f"output is not a regular file: {output}" in ran.err
        assert output.is_dir() or output.is_fifo()

    def test_both_in_one_file(self, run: Callable[..., Ran], tmp_path: Path, option: str) -> None:
        """One would be lost."""
        transcript = write(tmp_path / "t.jsonl", to_lines(*TALK))
        other = "--html" if option == "--csv" else "--csv"
        output = tmp_path / "output"
        ran = run("report", transcript, option, output, other, tmp_path / "." / "output")
        assert (ran.code, output.exists()) == (2, False)


def test_the_page_is_complete_in_itself(report: Callable[..., Any], tmp_path: Path) -> None:
    """It fetches nothing, runs nothing, names can break nothing, and the numbers are in it."""
    pytest.importorskip("pygal", reason="the extra plot is not installed")
    talk = [assistant("m1", call("t1", "<script>alert(1)</script>")), user(res("t1", "x" * 777))]
    pages = []
    for name in ("a.html", "b.html"):
        report(TALK, talk, options=("--html", tmp_path / name))
        pages.append((tmp_path / name).read_text("utf-8"))
    assert pages[0] == pages[1]
    page = _Page()
    page.feed(pages[0])
    assert (page.open, page.fetched) == ([], [])
    assert "script" not in page.open
    assert "<script" not in pages[0].lower()
    assert "@import" not in pages[0]
    assert "300,000" in page.texts
    assert any("<script>alert(1)</script>" in text for text in page.texts)


def test_the_page_needs_a_package(
    run: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named before anything is read."""
    monkeypatch.setitem(__import__("sys").modules, "pygal", None)
    ran = run("report", tmp_path, "--html", tmp_path / "a.html")
    assert ran.code == 1
    assert ran.err == "Error: --html needs pygal, which is not installed: pip install pygal\n"


@pytest.mark.skipif(_BROWSER is None, reason="no Chromium is installed")
def test_a_browser_shows_it_on_a_phone(report: Callable[..., Any], tmp_path: Path) -> None:
    """Without network, on a narrow screen, without anything to scroll to the side."""
    pytest.importorskip("pygal", reason="the extra plot is not installed")
    assert _BROWSER is not None
    report(TALK, options=("--html", tmp_path / "page.html"))
    frame = """<iframe id="f" src="page.html" width="390" height="800"></iframe><p id="told"></p>
        <script>f.onload = () => { const d = f.contentDocument.documentElement;
        told.textContent = `wide ${d.scrollWidth} charts ${d.querySelectorAll("svg").length}`; }
        </script>"""
    (tmp_path / "frame.html").write_text(frame)
    command = [_BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=2000"]
    shown = subprocess.run(
        [*command, (tmp_path / "frame.html").as_uri()],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    found = re.search(r"wide (\d+) charts (\d+)", shown)
    assert found is not None
    assert int(found[1]) <= 390
    assert int(found[2]) == 3
