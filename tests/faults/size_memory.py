"""Large texts and large transcripts, in little memory."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, Final

import xxhash

from tests.builders import answer, call, msg, read_reference, res
from tests.faults.harness import Scale
from tests.faults.measuring import MIB, Found, limit_memory, measured
from toolbudget import Session
from toolbudget.storage.records import content_replacement, encode_record, header_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["CASES"]

_GIB: Final = 1 << 30
_SLACK_MIB: Final = 16
_TRANSCRIPT_MIB: Final = 50
_SESSION_ID: Final = "session"


def _one_text(root: Path, text: str) -> Found:
    """A text is stored without a second copy of it, and there is no room for one."""
    limit_memory(64)
    with _opened(root) as session:
        cost = measured(lambda: session.gate(res("t1", text), tool_name="Fetch"))
        failures = session.report.failures
    if failures:
        return Found(f"was not stored: {failures[0].error}", cost.figures)
    path = read_reference(cost.result["content"]).path
    if _digest_of(path) != _digest_of_text(text):
        return Found("the file does not hold the text", cost.figures)
    shutil.rmtree(root)
    is_small = cost.peak_mib <= _SLACK_MIB
    return Found(None if is_small else f"more than +{_SLACK_MIB} MiB", cost.figures)


def _ascii_text(root: Path, _scale: Scale) -> Found:
    """1 GiB of lines."""
    return _one_text(root, ("x" * 127 + "\n") * (_GIB >> 7))


def _wide_text(root: Path, _scale: Scale) -> Found:
    """As many bytes of characters that take two each, in memory and in the file."""
    return _one_text(root, ("\u0416" * 127 + "\n") * (_GIB >> 8))


def _blocks_of_text(root: Path, scale: Scale) -> Found:
    """Of a text in two blocks there is at most one copy."""
    size_chars = (_GIB if scale is Scale.SOAK else _GIB >> 2) >> 1
    content = [{"type": "text", "text": character * size_chars} for character in "ab"]
    with _opened(root) as session:
        cost = measured(lambda: session.gate(res("t1", content), tool_name="Fetch"))
        failures = session.report.failures
    if failures:
        return Found(f"was not stored: {failures[0].error}", cost.figures)
    path = read_reference(cost.result["content"]).path
    size_bytes = path.stat().st_size
    shutil.rmtree(root)
    frame = [{**block, "text": ""} for block in content]
    if size_bytes != len(json.dumps(frame, separators=(",", ":"))) + 2 * size_chars:
        return Found(f"the file has {size_bytes} bytes", cost.figures)
    limit_mib = 2 * size_chars / MIB + _SLACK_MIB
    is_small = cost.peak_mib <= limit_mib
    return Found(None if is_small else f"more than +{limit_mib:.0f} MiB", cost.figures)


def _foreign_transcript(root: Path, _scale: Scale) -> Found:
    """Another program's large transcript is opened and used in constant memory."""
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "x" * MIB}})
    lines = (line.encode() for _ in range(_GIB // len(line) + 1))
    return _opening(root, lines, expected_skipped=0)


def _short_lines(root: Path, _scale: Scale) -> Found:
    """So is one of a million short lines."""
    lines = (b'{"type":"user","uuid":"%d"}' % number for number in range(1_000_000))
    return _opening(root, lines, expected_skipped=0)


def _own_transcript(root: Path, scale: Scale) -> Found:
    """A large transcript of our own takes the memory of its decisions, not of its lines."""
    frozen = [(f"toolu_{number}", number, f"{number:032x}") for number in range(1_000)]
    record = content_replacement(session_id=_SESSION_ID, timestamp="t", frozen=frozen)
    line = encode_record(record).rstrip()
    size_bytes = _GIB if scale is Scale.SOAK else _GIB >> 5

    def lines() -> Iterator[bytes]:
        yield header_line(_SESSION_ID).rstrip()
        for _ in range(size_bytes // len(line) + 1):
            yield line

    return _opening(root, lines(), expected_skipped=0)


def _long_line(root: Path, _scale: Scale) -> Found:
    """A line that is longer than any of ours is passed over, and what stands around it counts."""
    frozen = [("before", 3, "0" * 32)]
    record = content_replacement(session_id=_SESSION_ID, timestamp="t", frozen=frozen)
    line = encode_record(record).rstrip()

    def lines() -> Iterator[bytes]:
        yield header_line(_SESSION_ID).rstrip()
        yield line
        yield line[:-1] + b',"more":"' + b"x" * (100 * MIB) + b'"}'
        yield line.replace(b"before", b"behind").split(b',"check"')[0] + b"}"

    return _opening(root, lines(), expected_skipped=1, limit_mib=4 * 64)


def _opening(
    root: Path, lines: Iterator[bytes], *, expected_skipped: int, limit_mib: int = _TRANSCRIPT_MIB
) -> Found:
    root.mkdir()
    with (root / f"{_SESSION_ID}.jsonl").open("wb") as file:
        file.writelines(line + b"\n" for line in lines)

    def use() -> Session:
        with _opened(root) as session:
            session.enforce([answer(call("t1", "Fetch")), msg(res("t1", "y" * 300_000))])
            return session

    cost = measured(use)
    session = cost.result
    if session.result_path("t1") is None:
        return Found("the session does not work", cost.figures)
    if session._log.skipped != expected_skipped:
        return Found(f"{session._log.skipped} lines skipped", cost.figures)
    shutil.rmtree(root)
    is_small = cost.peak_mib <= limit_mib
    return Found(None if is_small else f"more than +{limit_mib} MiB", cost.figures)


def _opened(root: Path, **options: Any) -> Session:  # noqa: ANN401
    return Session.open(root, _SESSION_ID, durability="process", **options)


def _digest_of(path: Path) -> str:
    hasher = xxhash.xxh3_128()
    with path.open("rb") as file:
        while chunk := file.read(MIB):
            hasher.update(chunk)
    return hasher.hexdigest()


def _digest_of_text(text: str) -> str:
    hasher = xxhash.xxh3_128()
    for start in range(0, len(text), MIB):
        hasher.update(text[start : start + MIB].encode())
    return hasher.hexdigest()


CASES: Final[dict[str, Callable[[Path, Scale], Found]]] = {
    "1 GiB of ASCII": _ascii_text,
    "1 GiB of Cyrillic": _wide_text,
    "text in two blocks": _blocks_of_text,
    "foreign transcript": _foreign_transcript,
    "million short lines": _short_lines,
    "own transcript": _own_transcript,
    "line of 100 MB": _long_line,
}
