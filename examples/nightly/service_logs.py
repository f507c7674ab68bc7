"""What the services of tidewatch write while they replay a day of readings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from examples.nightly.clock import Clock
from examples.nightly.dice import Dice, fit
from examples.nightly.project import KUJIRA, STATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["alert_log", "fixture_rows", "replay_journal", "rollup_events"]

_JOURNAL_MESSAGES: Final = (
    'level=info msg="frame batch accepted" station={station} frames={count} lag_ms={lag}',
    'level=info msg="checkpoint written" station={station} offset={offset} took_ms={lag}',
    'level=debug msg="sequence gap closed" station={station} missing={count} source=backfill',
    'level=warn msg="frame from the future" station={station} ahead_s={offset} kept=false',
    'level=info msg="watermark advanced" station={station} by_s={lag} open_windows={count}',
    'level=error msg="batch rejected: year 58168" station={station} frames={count} batch={token}',
)
_ROLLUP_EVENTS: Final = (
    ("info", "bucket_opened"),
    ("info", "bucket_closed"),
    ("info", "gap_written"),
    ("warning", "bucket_reopened"),
    ("error", "bucket_out_of_range"),
)
_ALERTS: Final = (
    "🌊 高潮注意報 {name}: 水位 {level} mm、基準を {excess} mm 超過",
    "⚠️ 観測時刻が不正です {name}: year 58168 (frame {frame})",
    "✅ 解除 {name}: 水位 {level} mm、{minutes} 分間安定",
    "🔁 再送 {name}: 通知 {token} は配信済みのため破棄",
    "📡 通信回復 {name}: 欠測 {minutes} 分、補完フレーム {frame}",
)


def replay_journal(*, max_chars: int) -> str:
    """Write the journal of the replay worker."""
    dice = Dice("journal")
    clock = Clock("2026-03-14T02:30:58.000")
    head = ["-- Journal begins at Sat 2026-03-14 02:30:58 UTC. --"]
    return fit(head, _journal_lines(dice, clock), ["-- end of journal --"], max_chars=max_chars)


def _journal_lines(dice: Dice, clock: Clock) -> Iterator[str]:
    while True:
        when = clock.tick(dice.number(5, 2_200)).strftime("%b %d %H:%M:%S.%f")[:-3]
        message = dice.pick(_JOURNAL_MESSAGES).format(
            station=dice.pick(STATIONS).id,
            count=dice.number(1, 512),
            lag=dice.number(2, 940),
            offset=dice.number(10_000, 9_999_999),
            token=dice.text(12),
        )
        yield f"{when} quayside-2 tidewatch-replay[2211]: {message}"


def rollup_events(*, max_chars: int) -> str:
    """Write the rollup service's log, one JSON object per line."""
    dice = Dice("rollup")
    clock = Clock("2026-03-14T02:31:02.750")
    return fit([], _rollup_lines(dice, clock), [], max_chars=max_chars)


def _rollup_lines(dice: Dice, clock: Clock) -> Iterator[str]:
    while True:
        level, event = dice.pick(_ROLLUP_EVENTS)
        entry = {
            "ts": clock.stamp(dice.number(10, 1_900)),
            "level": level,
            "event": event,
            "station": dice.pick(STATIONS).id,
            "bucket": f"{dice.number(0, 23):02}:{dice.number(0, 5)}0",
            "readings": dice.number(0, 60),
            "mean_mm": dice.number(-24_000, 69_000) / 10,
            "trace": dice.text(16),
        }
        yield json.dumps(entry)


def alert_log(*, max_chars: int) -> str:
    """Write the log of the Japanese alert desk, which has far more bytes than characters."""
    dice = Dice("alerts")
    clock = Clock("2026-03-14T02:31:09.033")
    head = [
        "警報デスク 夜間試験 #4183 (鯨ヶ浜・月見崎・潮待島・白波町)",
        "結果: 失敗 36 件 ❌  成功 2,153 件 ✅  原因候補: 観測時刻の単位",
    ]
    return fit(head, _alert_lines(dice, clock), ["試験終了 🌙"], max_chars=max_chars)


def _alert_lines(dice: Dice, clock: Clock) -> Iterator[str]:
    while True:
        station = dice.pick(KUJIRA)
        alert = dice.pick(_ALERTS).format(
            name=station.name,
            level=dice.number(900, 6_900),
            excess=dice.number(10, 800),
            frame=dice.number(1, 65_535),
            minutes=dice.number(2, 180),
            token=dice.text(8),
        )
        yield f"{clock.stamp(dice.number(20, 2_400))} {station.id} {alert}"


def fixture_rows(*, max_chars: int) -> str:
    """Write the readings that the tests replay, with line numbers as a file reader shows them."""
    head = ["     1\tobserved_at,station,name,level_mm,quality,timestamp"]
    return fit(head, _fixture_lines(Dice("fixture")), [], max_chars=max_chars)


def _fixture_lines(dice: Dice) -> Iterator[str]:
    clock = Clock("2026-03-01T00:00:00.000")
    epoch_ms = 1_772_323_200_000
    number = 1
    while True:
        number += 1
        station = STATIONS[number % len(STATIONS)]
        quality = "ok" if dice.happens(percent=93) else dice.pick(("late", "flagged", "filled"))
        level_mm = dice.number(-2_400, 6_900)
        yield (
            f"{number:>6}\t{clock.stamp(10_000)},{station.id},{station.name},"
            f"{level_mm},{quality},{epoch_ms + (number - 1) * 10_000}"
        )
