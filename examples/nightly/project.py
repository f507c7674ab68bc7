"""The invented project: tidewatch, which collects the readings of tide gauges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from examples.nightly.dice import Dice

__all__ = [
    "BROKEN_TESTS",
    "FAILURE_REASON",
    "FAR_NORTH",
    "FOLDER",
    "KUJIRA",
    "STATIONS",
    "Station",
    "draw_test",
    "traceback_of",
]

FOLDER: Final = "/srv/src/tidewatch"
FAILURE_REASON: Final = "ValueError: year 58168 is out of range"


class Station(NamedTuple):
    """One tide gauge."""

    id: str
    name: str


KUJIRA: Final = (
    Station("ST-0412", "鯨ヶ浜港"),
    Station("ST-0415", "月見崎"),
    Station("ST-0418", "潮待島漁港"),
    Station("ST-0423", "白波町"),
)
FAR_NORTH: Final = (
    Station("ST-4120", "Skálavík ytri"),
    Station("ST-4127", "Norðurhólmi"),
)
STATIONS: Final = (
    Station("ST-0731", "Greyskerry"),
    Station("ST-0733", "Port Ansel"),
    Station("ST-1102", "Saltmere Lock"),
    Station("ST-1107", "Hollenfleet"),
    Station("ST-2005", "Puerto Sereno"),
    Station("ST-3301", "Old Tern Pier"),
    *FAR_NORTH,
    *KUJIRA,
)

_TESTS: Final = {
    "tests/ingest/test_frames.py": (
        "test_frame_round_trip",
        "test_checksum_is_verified",
        "test_short_frame_is_rejected",
        "test_sequence_gap_is_counted",
    ),
    "tests/ingest/test_replay.py": (
        "test_replay_is_idempotent",
        "test_replay_resumes_after_restart",
        "test_late_frames_are_sorted",
    ),
    "tests/store/test_rollup.py": (
        "test_bucket_borders_are_half_open",
        "test_empty_bucket_is_written_as_gap",
        "test_mean_ignores_flagged_readings",
        "test_rollup_survives_leap_day",
    ),
    "tests/alerts/test_surge.py": (
        "test_surge_needs_two_stations",
        "test_alert_is_sent_once",
        "test_quiet_hours_hold_back_minor_alerts",
    ),
    "tests/api/test_stations.py": (
        "test_station_list_is_paged",
        "test_unknown_station_is_404",
        "test_names_keep_their_script",
    ),
}
BROKEN_TESTS: Final = (
    "tests/ingest/test_replay.py::test_replay_matches_rollup",
    "tests/store/test_rollup.py::test_first_bucket_holds_first_frame",
    "tests/alerts/test_surge.py::test_surge_window_follows_frames",
)


def draw_test(dice: Dice, station: Station, *, is_broken: bool = False) -> str:
    """Draw the full name of a test about a station."""
    if is_broken:
        return f"{dice.pick(BROKEN_TESTS)}[{station.id}]"
    file = dice.pick(tuple(_TESTS))
    return f"{file}::{dice.pick(_TESTS[file])}[{station.id}-{dice.number(1, 48) * 30}min]"


def traceback_of(dice: Dice, test: str, station: Station) -> str:
    """Write the report of one broken test, as pytest does."""
    file, _, name = test.partition("::")
    heading = f" {name}[{station.id}] "
    microseconds = 1_773_455_464_118_000 + dice.number(1, 3_000_000) * 1_000
    bucket_line = dice.number(139, 147)
    lines = [
        f"{heading:_^78}",
        "",
        f"station = Station(id={station.id!r}, name={station.name!r})",
        f"window = Window(hours={dice.number(2, 48)}, step=Minutes(10))",
        "",
        f"    def {name}(station, window):",
        "        frames = list(replay(station, window))",
        ">       rollup = roll_up(frames, step=window.step)",
        "",
        f"{file}:{dice.number(60, 190)}:",
        "_ " * 39,
        f"src/tidewatch/store/rollup.py:{bucket_line}: in roll_up",
        "    bucket = buckets.setdefault(bucket_of(frame.timestamp, step), Bucket())",
        "src/tidewatch/store/rollup.py:97: in bucket_of",
        "    when = datetime.fromtimestamp(milliseconds / 1000, tz=UTC)",
        f"E   {FAILURE_REASON}",
        "",
        f"milliseconds = {microseconds}",
        f"frame.sequence = {dice.number(1, 65_535)}, level_mm = {dice.number(-2_400, 6_900)}",
        "src/tidewatch/store/rollup.py:97: ValueError",
    ]
    return "\n".join(lines)
