"""How often the preview styles show why a run failed, on a folder of labelled logs.

    python -m benches.preview_quality FOLDER [--plain] [--bytes 2000 ...] [--styles salient ...]

FOLDER holds logs and ``labels.jsonl``: one object a line with ``file``, ``start_byte`` and
``end_byte``, the passage that a person marked as the reason of the failure; ``language`` and
``project`` may say more. ``--plain`` first takes the lines out that only a CI system writes.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benches.preview_measure import measure, without_ci_lines
from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["GROUPS", "STYLES", "Log", "Score", "labelled_logs", "score"]

BYTE_LIMITS: Final = (500, 1_000, 2_000, 4_000)
# Groups of logs by size: their name, and the bytes that a log has at least.
GROUPS: Final = (("all", 0), (">50 KB", 50_000), (">200 KB", 200_000))


class Log(NamedTuple):
    """A text with a marked passage, in characters."""

    name: str
    project: str
    text: str
    start: int
    end: int
    size_bytes: int


class Score(NamedTuple):
    """What one style reached: for each group the percentage of logs, and the time it took."""

    log_counts: Mapping[str, int]
    percents: Mapping[str, tuple[float, float, float]]
    milliseconds_per_megabyte: float
    over_limit: int


def _head(text: str, max_bytes: int) -> str:
    return _core.cut_preview(text, max_bytes)[0]


def _tail(text: str, max_bytes: int) -> str:
    return text[-max_bytes:].encode()[-max_bytes:].decode("utf-8", "ignore")


def _head_tail(text: str, max_bytes: int) -> str:
    return _core.head_tail_preview(text, max_bytes)[0]


def _salient(text: str, max_bytes: int) -> str:
    return _core.salient_preview(text, max_bytes)[0]


STYLES: Final[Mapping[str, Callable[[str, int], str]]] = {
    "head": _head,
    "tail": _tail,
    "head_tail": _head_tail,
    "salient": _salient,
}


def labelled_logs(folder: Path, *, is_plain: bool) -> Iterator[Log]:
    """Read a labelled folder, one log at a time."""
    with (folder / "labels.jsonl").open(encoding="utf-8") as labels:
        for row in map(json.loads, labels):
            raw = (folder / row["file"]).read_bytes()
            text = raw.decode()
            start = len(raw[: row["start_byte"]].decode())
            end = len(raw[: row["end_byte"]].decode())
            if is_plain:
                text, start, end = without_ci_lines(text, start, end)
            yield Log(row["file"], row.get("project", ""), text, start, end, len(raw))


def score(style: Callable[[str, int], str], logs: Sequence[Log], max_bytes: int) -> Score:
    """Measure a style on logs."""
    found = {name: Counter[str]() for name, _ in GROUPS}
    seconds, size_bytes, over_limit = 0.0, 0, 0
    for log in logs:
        begun = time.process_time()
        preview = style(log.text, max_bytes)
        seconds += time.process_time() - begun
        size_bytes += log.size_bytes
        over_limit += len(preview.encode()) > max_bytes
        shown = measure(log.text, log.start, log.end, preview)
        for name, least_bytes in GROUPS:
            if log.size_bytes > least_bytes:
                found[name].update(logs=1, one=shown.one, three=shown.three, half=shown.half)
    return Score(
        log_counts={name: found[name]["logs"] for name, _ in GROUPS},
        percents={name: _percents(found[name]) for name, _ in GROUPS},
        milliseconds_per_megabyte=1_000 * seconds / max(1, size_bytes) * 1_000_000,
        over_limit=over_limit,
    )


def _percents(found: Counter[str]) -> tuple[float, float, float]:
    one, three, half = (
        100 * found[name] / max(1, found["logs"]) for name in ("one", "three", "half")
    )
    return one, three, half


def _row(name: str, max_bytes: int, reached: Score) -> str:
    cells = [name, f"{max_bytes:,}"]
    cells += [
        " / ".join(f"{value:.1f}" for value in reached.percents[group]) for group, _ in GROUPS
    ]
    cells.append(f"{reached.milliseconds_per_megabyte:.0f}")
    note = f" {reached.over_limit} over the limit" if reached.over_limit else ""
    return f"| {' | '.join(cells)} |{note}"


def main() -> None:
    """Print a table: the share of logs that show one line, three lines and half of a passage."""
    parser = argparse.ArgumentParser(description="Measure preview styles on labelled logs.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--plain", action="store_true", help="without the lines of a CI system")
    parser.add_argument("--bytes", type=int, nargs="+", default=BYTE_LIMITS)
    parser.add_argument("--styles", nargs="+", default=list(STYLES), choices=STYLES)
    options = parser.parse_args()
    logs = list(labelled_logs(options.folder, is_plain=options.plain))
    groups = " | ".join(f"{name}: one / three / half" for name, _ in GROUPS)
    print(f"{len(logs)} logs, percent")  # noqa: T201  # the table is what it is for
    print(f"| style | bytes | {groups} | ms per MB |")  # noqa: T201
    print("| --- | --- | --- | --- | --- | --- |")  # noqa: T201
    for name in options.styles:
        for max_bytes in options.bytes:
            print(_row(name, max_bytes, score(STYLES[name], logs, max_bytes)))  # noqa: T201


if __name__ == "__main__":
    main()
