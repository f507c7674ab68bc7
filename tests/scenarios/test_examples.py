"""The examples: the session is made anew byte for byte and shows what it should; the host runs."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import zlib
from collections import Counter, defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

PROJECT: Final = Path(__file__).parents[2]
SESSION: Final = PROJECT / "examples" / "session.jsonl"
HOST: Final = PROJECT / "examples" / "host.py"

MESSAGE_LIMIT_CHARS: Final = 200_000
PREVIEW_BYTES: Final = 2_000
# What each tool may return without being too large by itself; `Read` limits itself.
RESULT_LIMITS_CHARS: Final = {"Bash": 30_000, "Grep": 20_000, "Read": float("inf")}
OTHER_LIMIT_CHARS: Final = 50_000

Record = dict[str, Any]
Block = dict[str, Any]


class Result(NamedTuple):
    """One tool result of the session, with what is known of its call."""

    line: int
    record: Record
    block: Block
    tool_name: str
    call_line: int
    message_id: str

    @property
    def text(self) -> str:
        """All of its text."""
        content = self.block["content"]
        if isinstance(content, str):
            return content
        return "".join(block.get("text", "") for block in content)

    @property
    def kinds(self) -> list[str]:
        """The kinds of blocks in its content; none if it is a string."""
        content = self.block["content"]
        return [] if isinstance(content, str) else [block["type"] for block in content]

    @property
    def limit_chars(self) -> float:
        """The limit of its tool."""
        return RESULT_LIMITS_CHARS.get(self.tool_name, OTHER_LIMIT_CHARS)


def parse(line: str) -> Record | None:
    """Read a line; ``None`` if it is malformed."""
    try:
        record: Record = json.loads(line)
    except ValueError:
        return None
    return record


def blocks_of(record: Record, kind: str) -> list[Block]:
    """Give the content blocks of a kind in a record."""
    content = record.get("message", {}).get("content", [])
    return [block for block in content if isinstance(block, dict) and block["type"] == kind]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """Give the lines of the session."""
    return SESSION.read_bytes().decode().splitlines()


@pytest.fixture(scope="module")
def records(lines: list[str]) -> dict[int, Record]:
    """Give the good records by line number."""
    parsed = {number: parse(line) for number, line in enumerate(lines, start=1)}
    return {number: record for number, record in parsed.items() if record is not None}


@pytest.fixture(scope="module")
def results(records: dict[int, Record]) -> list[Result]:
    """Give every tool result in the order of the file, joined with its call."""
    calls = {
        block["id"]: (number, block["name"], record["message"]["id"])
        for number, record in records.items()
        for block in blocks_of(record, "tool_use")
    }
    found = []
    for number, record in records.items():
        for block in blocks_of(record, "tool_result"):
            call_line, tool_name, message_id = calls[block["tool_use_id"]]
            found.append(Result(number, record, block, tool_name, call_line, message_id))
    return found


@pytest.fixture(scope="module")
def parallel(results: list[Result]) -> list[Result]:
    """Give the results of the answer whose results are the most text."""
    by_message: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        by_message[result.message_id].append(result)
    return max(by_message.values(), key=lambda group: sum(len(result.text) for result in group))


@pytest.mark.parametrize("hash_seed", ["0", "4183"])
def test_the_generator_gives_the_same_bytes_again(tmp_path: Path, hash_seed: str) -> None:
    """A new interpreter makes the committed session byte for byte, whatever its hashes are."""
    path = tmp_path / "session.jsonl"
    subprocess.run(
        [sys.executable, "-W", "error", "-m", "examples.make_session", str(path)],
        check=True,
        cwd=PROJECT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "Pacific/Apia"},
        stdout=subprocess.DEVNULL,
    )
    assert path.read_bytes() == SESSION.read_bytes()


def test_the_size_of_the_session_suits_a_repository() -> None:
    """The file is large enough to need a budget and small enough to be cloned."""
    assert 600_000 <= SESSION.stat().st_size <= 1_000_000


def test_one_line_is_malformed(lines: list[str], records: dict[int, Record]) -> None:
    """Exactly one line is no JSON, and it stands in the middle."""
    bad = [number for number in range(1, len(lines) + 1) if number not in records]
    assert len(bad) == 1
    assert 1 < bad[0] < len(lines)


def test_records_form_one_session(records: dict[int, Record]) -> None:
    """All records carry one session id; uuids are unique; parents stand before their children."""
    seen: set[str] = set()
    for record in records.values():
        if "uuid" not in record:
            continue
        assert record["parentUuid"] is None or record["parentUuid"] in seen
        assert record["uuid"] not in seen
        seen.add(record["uuid"])
    assert len({r["sessionId"] for r in records.values() if "sessionId" in r}) == 1
    stamps = [datetime.fromisoformat(r["timestamp"]) for r in records.values() if "timestamp" in r]
    assert stamps == sorted(stamps)


def test_every_call_has_one_result_in_its_chain(
    records: dict[int, Record], results: list[Result]
) -> None:
    """Calls and results are paired, within the main chain or within the helper's."""
    calls = [b["id"] for r in records.values() for b in blocks_of(r, "tool_use")]
    assert Counter(calls) == Counter(result.block["tool_use_id"] for result in results)
    for result in results:
        call = records[result.call_line]
        assert call.get("agentId") == result.record.get("agentId")
        assert result.record["sourceToolAssistantUUID"] == call["uuid"]


def test_answers_are_streamed(records: dict[int, Record], parallel: list[Result]) -> None:
    """An answer comes as one block a line with one id, and results come before its last block."""
    message_id = parallel[0].message_id
    answer = {
        number: record
        for number, record in records.items()
        if record["type"] == "assistant" and record["message"]["id"] == message_id
    }
    assert [len(record["message"]["content"]) for record in answer.values()] == [1] * len(answer)
    assert [record["apiBlockIndex"] for record in answer.values()] == list(range(len(answer)))
    assert min(result.line for result in parallel) < max(answer)
    call_lines = [result.call_line for result in parallel]
    assert call_lines != sorted(call_lines)


def test_parallel_results_are_too_much_only_together(parallel: list[Result]) -> None:
    """Each result keeps its own limit, their sum exceeds that of a message by far."""
    assert all(len(result.text) <= result.limit_chars for result in parallel)
    assert sum(len(result.text) for result in parallel) > MESSAGE_LIMIT_CHARS + 40_000
    assert Counter(result.tool_name for result in parallel) == {
        "Grep": 3,
        "Bash": 2,
        "mcp__ci__get_job_log": 3,
    }


def test_other_answers_fit_into_their_message(
    results: list[Result], parallel: list[Result]
) -> None:
    """Only one message is for the budget; the others have at most one result for the gate."""
    others: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.message_id != parallel[0].message_id:
            others[result.message_id].append(result)
    for group in others.values():
        assert sum(len(result.text) for result in group) < MESSAGE_LIMIT_CHARS
        assert sum(len(result.text) > result.limit_chars for result in group) <= 1


def test_single_results_are_too_large(results: list[Result]) -> None:
    """A command, a page and a tool of a server return too much by themselves."""
    too_large = [result for result in results if len(result.text) > result.limit_chars]
    main = [result.tool_name for result in too_large if not result.record["isSidechain"]]
    assert main == ["Bash", "mcp__ci__get_artifact", "WebFetch"]


def test_a_reader_returns_much_and_is_exempt(results: list[Result]) -> None:
    """One result of ``Read`` would be too large for any other tool."""
    sizes_chars = [len(result.text) for result in results if result.tool_name == "Read"]
    assert sum(size_chars > OTHER_LIMIT_CHARS for size_chars in sizes_chars) == 1


def test_images_stand_alone_and_beside_text(results: list[Result]) -> None:
    """One result is an image, one is text and image, and both images can be decoded."""
    with_image = [result for result in results if "image" in result.kinds]
    assert sorted(result.kinds for result in with_image) == [["image"], ["text", "image"]]
    for result in with_image:
        picture = base64.b64decode(result.block["content"][-1]["source"]["data"], validate=True)
        assert picture.startswith(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
        width, height = (int.from_bytes(picture[start : start + 4]) for start in (16, 20))
        data_start = picture.index(b"IDAT") + 4
        data_length = int.from_bytes(picture[data_start - 8 : data_start - 4])
        pixels = zlib.decompress(picture[data_start : data_start + data_length])
        assert len(pixels) == height * (1 + width // 8)


def test_one_result_is_empty_and_one_an_error(results: list[Result]) -> None:
    """One command printed nothing, and one failed."""
    assert [result.tool_name for result in results if result.block["content"] == ""] == ["Bash"]
    errors = [result for result in results if result.block.get("is_error")]
    assert [result.tool_name for result in errors] == ["Bash"]
    assert "AttributeError" in errors[0].text


def test_lists_come_with_cache_control_and_in_several_blocks(results: list[Result]) -> None:
    """A too large result is a list with ``cache_control``; another one has two text blocks."""
    cached = [
        result
        for result in results
        if result.kinds == ["text"] and "cache_control" in result.block["content"][0]
    ]
    assert [len(result.text) > OTHER_LIMIT_CHARS for result in cached] == [True]
    assert [r.tool_name for r in results if r.kinds == ["text", "text"]] == ["Agent"]


def test_one_large_result_is_mostly_not_ascii(parallel: list[Result]) -> None:
    """A result to be replaced has Han and kana letters and emoji already in its preview."""
    largest = sorted(parallel, key=lambda result: -len(result.text))[:2]
    previews = [result.text.encode()[:PREVIEW_BYTES].decode(errors="ignore") for result in largest]
    found = [text for text in previews if re.search(r"[\u4e00-\u9fff]", text)]
    assert len(found) == 1
    assert re.search(r"[\u3040-\u30ff]", found[0])
    assert re.search(r"[\U0001f300-\U0001faff]", found[0])


def test_a_helper_works_in_a_sidechain(records: dict[int, Record], results: list[Result]) -> None:
    """A sub-agent has its own calls, one of them too large, and works within the main chain's."""
    sidechain = {number: record for number, record in records.items() if record.get("isSidechain")}
    assert len({record["agentId"] for record in sidechain.values()}) == 1
    own = [result for result in results if result.record["isSidechain"]]
    assert [result.tool_name for result in own] == ["Grep", "Bash"]
    assert [len(result.text) > result.limit_chars for result in own] == [False, True]
    outer = next(result for result in results if result.tool_name == "Agent")
    assert outer.call_line < min(sidechain) < max(sidechain) < outer.line


def test_other_records_stand_between(records: dict[int, Record], parallel: list[Result]) -> None:
    """Records that are no messages occur, and two of them stand among the parallel results."""
    kinds = {record["type"] for record in records.values()}
    assert kinds == {
        "assistant",
        "attachment",
        "file-history-snapshot",
        "progress",
        "queue-operation",
        "system",
        "user",
    }
    between = range(parallel[0].line, parallel[-1].line)
    others = [records[number]["type"] for number in between if "message" not in records[number]]
    assert others == ["progress", "attachment"]


def test_some_results_have_a_structured_copy(results: list[Result]) -> None:
    """The host's own copy stands beside a too large result, a read file and the helper's answer."""
    copied = {r.tool_name: r for r in results if r.record.get("toolUseResult")}
    assert set(copied) == {"Bash", "Read", "Agent"}
    copies = [r for r in results if r.record.get("toolUseResult", {}).get("stdout") == r.text]
    assert any(len(result.text) > result.limit_chars for result in copies)


def test_large_results_read_like_real_output(results: list[Result]) -> None:
    """What a preview shows of a large result is lines of their own, and no line is endless."""
    large = [result for result in results if len(result.text) > 10_000]
    assert len(large) == 13
    for result in large:
        output_lines = [line for line in result.text.splitlines() if line.strip()]
        assert len(set(output_lines)) > 100
        assert max(map(len, output_lines)) < 250
        preview = result.text[:PREVIEW_BYTES].splitlines()
        assert len(set(preview)) > 9


def run_host(core_name: str, *arguments: str) -> list[str]:
    """Run the host in a new interpreter, with warnings as errors, and give what it printed."""
    finished = subprocess.run(
        [sys.executable, "-W", "error", str(HOST), *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "TOOLBUDGET_CORE": core_name},
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()


@pytest.mark.parametrize("core_name", ["python", "native"])
def test_the_host_keeps_its_prefix_and_its_session(core_name: str, tmp_path: Path) -> None:
    """Requests begin as the ones before, full texts are stored, reopening changes nothing."""
    printed = run_host(core_name, str(tmp_path))
    requests = [line for line in printed if line.startswith("request ")]
    numbers = [
        [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", line)]
        for line in requests
    ]
    assert [turn for turn, _, _ in numbers] == [1, 2, 3]
    assert all(line.endswith("begins as the last one: True") for line in requests)
    (_, produced_2, sent_2), (_, produced_3, sent_3) = numbers[1:]
    assert sent_2 < MESSAGE_LIMIT_CHARS < produced_2
    assert produced_3 - sent_3 > 100_000
    stored = [Path(line.partition(": ")[2]) for line in printed if line.startswith("stored")]
    assert sorted(stored) == sorted((tmp_path / "numbers" / "tool-results").iterdir())
    assert [path.stem for path in stored] == ["call_1_2", "call_1_5", "call_2_0"]
    # The number of primes below 120,000, as tables have it.
    assert stored[-1].read_text().count("\n") + 1 == 11_301
    assert printed[-1] == f"reopened: the same {sent_3:,} bytes: True"


def test_the_host_goes_on_where_it_was(tmp_path: Path) -> None:
    """A second run over the same folder, with the other core, sends the same and stores nothing."""
    first = run_host("python", str(tmp_path))
    transcript = (tmp_path / "numbers.jsonl").read_bytes()
    stored = {path: path.stat().st_mtime_ns for path in tmp_path.glob("numbers/**/*.txt")}
    assert run_host("native", str(tmp_path)) == first
    again = {path: path.stat().st_mtime_ns for path in tmp_path.glob("numbers/**/*.txt")}
    assert again == stored
    assert (tmp_path / "numbers.jsonl").read_bytes().startswith(transcript)


def test_the_host_cleans_up_after_itself() -> None:
    """Without a folder the host uses one of its own, and it is gone afterwards."""
    printed = run_host("native")
    stored = [Path(line.partition(": ")[2]) for line in printed if line.startswith("stored")]
    assert stored
    assert not any(path.exists() or path.parents[2].exists() for path in stored)
