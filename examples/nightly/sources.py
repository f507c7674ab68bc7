"""What searching and reading the sources of tidewatch gives, and what others wrote about them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from examples.nightly.clock import Clock
from examples.nightly.dice import Dice, fit
from examples.nightly.project import STATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ROLLUP_EXCERPT", "changelog_page", "commit_history", "grep_hits"]

_DAY_MS: Final = 24 * 60 * 60 * 1_000

ROLLUP_EXCERPT: Final = '''\
    88\tdef bucket_of(milliseconds: int, step: Minutes) -> Bucket:
    89\t    """Return the bucket that a reading belongs to.
    90\t
    91\t    Args:
    92\t        milliseconds: When it was observed, since the epoch.
    93\t        step: Length of a bucket; it divides an hour.
    94\t    """
    95\t    if milliseconds < EARLIEST_MS:
    96\t        raise StaleReading(milliseconds)
    97\t    when = datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    98\t    minute = when.minute - when.minute % step.count
    99\t    return Bucket(when.replace(minute=minute, second=0, microsecond=0), step)'''

_FOLDERS: Final = ("benchmarks", "src/tidewatch", "tests", "tools")
_AREAS: Final = ("alerts", "api", "backfill", "export", "ingest", "replay", "store")
_FILES: Final = (
    "checkpoint",
    "clock",
    "frames",
    "rollup",
    "stations",
    "surge",
    "watermark",
    "wire",
)
_CODE_LINES: Final = (
    "    {name} = bucket_of(frame.{field}, step)",
    "        if frame.{field} <= watermark.{name}:",
    "    assert {name}.{field} == {value}  # {station}",
    "        yield replace(frame, {field}={name} + {value})",
    "    def {name}(self, frame: Frame, *, {field}: int = {value}) -> Reading:",
    '        logger.debug("{name} at %d for {station}", frame.{field})',
    "    {name}: dict[str, int] = {{{station!r}: frame.{field} - {value}}}",
    "            return sorted({name}, key=lambda frame: frame.{field})",
    "        # {station} sends its {field} twice after a reset; see {name}",
)
_NAMES: Final = (
    "first_frame",
    "reading",
    "late_frames",
    "last_seen",
    "window_start",
    "bucket",
    "gauge_clock",
    "pending",
    "observed",
)

_CHANGES: Final = (
    "**Added** checksums of frames longer than {size} bytes",
    "**Added** `Frame.{field}` for gauges with firmware {size} and newer",
    "**Added** {size} station prefixes to the table",
    "**Changed** the reader's buffer: it now holds {size} KiB",
    "**Changed** the order of `{field}` in the repr of a frame",
    "**Fixed** decoding of `{field}` when the sequence number wraps at {size}",
    "**Fixed** a leak of {size} bytes per connection in `FrameStream.{field}`",
    "**Removed** time-outs below {size} ms",
    "**Deprecated** `FrameStream.{field}_raw`, which nobody read in {size} recordings",
)
_CHANGE_REASONS: Final = (
    "reported by the Port Ansel harbour office",
    "the old form is accepted until the next major version",
    "no change for users of `decode_all`",
    "measured on the Greyskerry recordings",
    "thanks to the people who sent their recordings",
)
_FIELDS: Final = ("timestamp", "timestamp_ms", "sequence", "observed_at", "level_mm", "quality")

_AUTHORS: Final = (
    "Ines Okafor <ines@tidewatch.example>",
    "Tomasz Lindqvist <tomasz@tidewatch.example>",
    "Bot of the quay <bot@tidewatch.example>",
    "Mirela Haugen <mirela@tidewatch.example>",
)
_SUBJECTS: Final = (
    "Record {count} more hours of {station}",
    "Trim the recording of {station} to whole buckets",
    "Regenerate fixtures with {count} stations",
    "Keep flagged readings of {station} in the fixture",
    "Sort late frames of {station} by sequence",
    "Update the expected rollup of {station} ({count} buckets)",
)


def grep_hits(field: str, *, max_chars: int) -> str:
    """Write the hits of a search for ``field`` over the repository, as far as they are shown."""
    tail = ["", "(more hits are not shown; narrow the pattern or the path)"]
    return fit([], _hits(Dice(f"grep {field}"), field), tail, max_chars=max_chars)


def _hits(dice: Dice, field: str) -> Iterator[str]:
    for folder, area, file in itertools.product(_FOLDERS, _AREAS, _FILES):
        line = dice.number(8, 240)
        for _ in range(dice.number(0, 4)):
            code = dice.pick(_CODE_LINES).format(
                field=field,
                name=dice.pick(_NAMES),
                station=dice.pick(STATIONS).id,
                value=dice.number(1, 90_000),
            )
            yield f"{folder}/{area}/{file}.py:{line}:{code}"
            line += dice.number(1, 60)


def changelog_page(*, max_chars: int) -> str:
    """Write the changes of the library that reads the gauges' frames, newest first."""
    head = [
        "# gaugeframes: changes",
        "",
        "## 3.3.0 (2026-03-12)",
        "",
        "- **Changed** `Frame.timestamp` is now in microseconds. It was in milliseconds, but new",
        "  gauges report finer steps. `Frame.timestamp_ms` keeps the old unit.",
        "- **Added** `Frame.observed_at`, an aware `datetime`. Prefer it to both numbers.",
        "- **Fixed** a frame whose checksum was split over two reads was dropped.",
        "",
    ]
    return fit(head, _releases(Dice("changelog")), [], max_chars=max_chars)


def _releases(dice: Dice) -> Iterator[str]:
    clock = Clock("2026-02-19T12:00:00")
    major, minor, patch = 3, 2, 4
    while True:
        yield f"## {major}.{minor}.{patch} ({clock.stamp(-dice.number(9, 40) * _DAY_MS)[:10]})"
        yield ""
        for _ in range(dice.number(3, 9)):
            change = dice.pick(_CHANGES).format(
                size=dice.number(2, 4_096), field=dice.pick(_FIELDS)
            )
            yield f"- {change}; {dice.pick(_CHANGE_REASONS)} (#{dice.number(100, 2_900)})"
        yield ""
        if patch:
            patch -= 1
        elif minor:
            minor, patch = minor - 1, dice.number(1, 4)
        else:
            major, minor, patch = major - 1, 9, 2


def commit_history(*, max_chars: int) -> str:
    """Write the history of the recorded fixtures, as ``git log --stat`` shows it."""
    return fit([], _commits(Dice("history")), [], max_chars=max_chars)


def _commits(dice: Dice) -> Iterator[str]:
    clock = Clock("2026-03-13T17:42:10")
    while True:
        when = clock.tick(-dice.number(_DAY_MS // 12, 3 * _DAY_MS))
        station = dice.pick(STATIONS)
        yield f"commit {dice.text(40)}"
        yield f"Author: {dice.pick(_AUTHORS)}"
        yield f"Date:   {when.strftime('%a %b %d %H:%M:%S %Y')} +0000"
        yield ""
        yield "    " + dice.pick(_SUBJECTS).format(station=station.id, count=dice.number(2, 96))
        yield ""
        for _ in range(dice.number(1, 6)):
            added, removed = dice.number(1, 38), dice.number(0, 22)
            name = f"tests/fixtures/{dice.pick(STATIONS).id}-{dice.number(1, 31):02}.csv"
            yield f" {name} | {added + removed:>4} {'+' * added}{'-' * removed}"
        yield ""
