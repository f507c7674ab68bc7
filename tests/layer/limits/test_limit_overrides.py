import enum
import logging
import math
import threading
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolbudget.limits import Limits, Overrides

LOGGER = "toolbudget"
HUGE = 10**400


class Level(enum.IntEnum):
    """An int that is more than an int."""

    LOW = 77


class BadRepr:
    """A value that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


class BadMapping(Mapping[str, object]):
    """Flags whose server is away."""

    def __getitem__(self, key: str) -> object:
        raise ConnectionError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(("tools",))

    def __len__(self) -> int:
        return 1


def limits_with(**arguments: object) -> Limits:
    """Make limits of arguments whose types may be wrong."""
    untyped: dict[str, Any] = arguments
    return Limits(**untyped)


IGNORED = [
    pytest.param(None, id="none"),
    pytest.param(math.nan, id="nan"),
    pytest.param(math.inf, id="infinite"),
    pytest.param(-math.inf, id="minus-infinite"),
    pytest.param("10000", id="text"),
    pytest.param("inf", id="text-infinite"),
    pytest.param(-5, id="negative"),
    pytest.param(0, id="zero"),
    pytest.param(0.0, id="zero-float"),
    pytest.param(True, id="true"),
    pytest.param(False, id="false"),
    pytest.param([10_000], id="list"),
    pytest.param({}, id="mapping"),
    pytest.param(Decimal(10_000), id="decimal"),
    pytest.param(np.int64(10_000), id="numpy-int"),
    pytest.param(np.array([1, 2]), id="array"),
    pytest.param(-HUGE, id="huge-negative"),
    pytest.param(BadRepr(), id="bad-repr"),
    pytest.param("x" * 1_000_000, id="huge-text"),
]


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Give the texts of our warnings."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.name == LOGGER and record.levelno == logging.WARNING
    ]


@pytest.mark.parametrize("value", [1, 0.5, 9_999, 12_345.5, HUGE, Level.LOW, np.float64(5)])
def test_finite_positive_numbers_count(value: object, caplog: pytest.LogCaptureFixture) -> None:
    """Every int and float above 0 is an override, and nothing is logged about it."""
    limits = Limits(overrides={"tools": {"Bash": value}, "message": value})
    assert limits.for_tool("Bash") == value
    assert limits.message_limit() == value
    assert type(limits.message_limit()) in {int, float}
    assert warnings_of(caplog) == []


@pytest.mark.parametrize("value", IGNORED)
def test_other_values_fall_through(value: object, caplog: pytest.LogCaptureFixture) -> None:
    """A value that is no limit leaves the next rule to decide, and is logged once by field."""
    limits = Limits(overrides={"tools": {"Bash": value, "Grep": 5}, "message": value})
    for _ in range(3):
        assert limits.for_tool("Bash") == 30_000
        assert limits.for_tool("Grep") == 5
        assert limits.message_limit() == 200_000
    texts = warnings_of(caplog)
    assert [text.partition(" ignored")[0] for text in texts] == [
        "overrides['tools']['Bash']",
        "overrides['message']",
    ]
    assert all(len(text) < 400 for text in texts)


def test_log_line_ends_with_the_value(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever reads the log sees where the value stood, why it does not count, and what it is."""
    Limits(overrides={"message": "10000"}).message_limit()
    expected = "overrides['message'] ignored, it is not a finite positive int or float: '10000'"
    assert warnings_of(caplog) == [expected]


def test_another_bad_value_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    """Once means once for each field and value."""
    flags: dict[str, object] = {"message": -1}
    limits = Limits(overrides=flags)
    for value in (-1, -2, -1, "-1"):
        flags["message"] = value
        limits.message_limit()
    assert [text.rpartition(": ")[2] for text in warnings_of(caplog)] == ["-1", "-2", "'-1'"]


@pytest.mark.parametrize("provided", [None, 5, "flags", [("message", 5)], BadRepr()])
def test_provider_that_gives_no_mapping(provided: object, caplog: pytest.LogCaptureFixture) -> None:
    """An answer that is no mapping is as if there were none."""
    limits = limits_with(overrides=lambda: provided)
    for _ in range(2):
        assert limits.for_tool("Bash") == 30_000
        assert limits.message_limit() == 200_000
    (text,) = warnings_of(caplog)
    assert text.startswith("overrides ignored, it is not a mapping: ")


@pytest.mark.parametrize("tools", [None, 5, "Bash", [("Bash", 5)], lambda: {"Bash": 5}])
def test_tools_that_are_no_mapping(tools: object, caplog: pytest.LogCaptureFixture) -> None:
    """Bad tools do not take the message limit with them."""
    limits = Limits(overrides={"tools": tools, "message": 5})
    for _ in range(2):
        assert limits.for_tool("Bash") == 30_000
        assert limits.message_limit() == 5
    (text,) = warnings_of(caplog)
    assert text.startswith("overrides['tools'] ignored, it is not a mapping: ")


def test_provider_that_raises(caplog: pytest.LogCaptureFixture) -> None:
    """A flag service that fails costs one log entry, with the traceback, and nothing else."""

    def flags() -> NoReturn:
        message = "no route"
        raise ConnectionError(message)

    limits = Limits(overrides=flags)
    for _ in range(3):
        assert limits.for_tool("Bash") == 30_000
        assert limits.message_limit() == 200_000
    expected = "overrides ignored, the provider failed: ConnectionError('no route')"
    assert warnings_of(caplog) == [expected]
    assert caplog.records[0].exc_info is not None


@pytest.mark.parametrize("overrides", [BadMapping(), {"tools": BadMapping()}, BadMapping])
def test_mapping_that_raises(overrides: object, caplog: pytest.LogCaptureFixture) -> None:
    """A mapping that fails while it is read is ignored like one that is wrong."""
    limits = limits_with(overrides=overrides)
    for _ in range(2):
        assert limits.for_tool("Bash") == 30_000
    (text,) = warnings_of(caplog)
    assert "it cannot be read: ConnectionError('tools')" in text


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_end_of_the_program_is_not_swallowed(signal: type[BaseException]) -> None:
    """Whoever ends the program while flags are read ends it."""

    def flags() -> NoReturn:
        raise signal

    with pytest.raises(signal):
        Limits(overrides=flags).message_limit()


def test_misspelt_key_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A key that is not read is named, because nothing else would tell."""
    limits = Limits(overrides={"mesage": 5, "tools": {7: 5}})
    for _ in range(2):
        assert limits.read_overrides() == Overrides()
    assert warnings_of(caplog) == [
        "entry of overrides ignored, only 'tools' and 'message' are read: 'mesage'",
        "entry of overrides['tools'] ignored, its key is not text: 7",
    ]


def test_provider_is_read_once_for_a_snapshot() -> None:
    """All questions of one call are answered by one reading."""
    calls = 0

    def flags() -> dict[str, object]:
        nonlocal calls
        calls += 1
        return {"tools": {"Bash": calls}, "message": calls}

    limits = Limits(overrides=flags)
    assert calls == 0
    snapshot = limits.read_overrides()
    for _ in range(3):
        assert limits.for_tool("Bash", overrides=snapshot) == 1
        assert limits.message_limit(snapshot) == 1
    assert calls == 1
    assert limits.message_limit() == 2


def test_snapshot_does_not_follow_its_source() -> None:
    """What changes after the reading counts from the next call on."""
    tools = {"Bash": 5}
    limits = Limits(overrides={"tools": tools})
    snapshot = limits.read_overrides()
    tools["Bash"] = 6
    assert limits.for_tool("Bash", overrides=snapshot) == 5
    assert limits.for_tool("Bash") == 6


def test_mapping_is_read_anew_at_each_call() -> None:
    """A mapping given as overrides may be changed at run time."""
    flags: dict[str, object] = {}
    limits = Limits(overrides=flags)
    assert limits.message_limit() == 200_000
    flags["message"] = 5
    assert limits.message_limit() == 5


def test_each_limits_object_logs_for_itself(caplog: pytest.LogCaptureFixture) -> None:
    """There is no hidden memory that one session's log would take from another's."""
    for _ in range(2):
        limits = Limits(overrides={"message": -1})
        limits.message_limit()
        limits.message_limit()
    assert len(warnings_of(caplog)) == 2


def test_ever_new_bad_values_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Logging ends after a thousand different values, the answers do not."""
    flags: dict[str, object] = {}
    limits = Limits(overrides=flags)
    for number in range(1_100):
        flags["message"] = -number
        assert limits.message_limit() == 200_000
    assert len(warnings_of(caplog)) == 1_000


def test_threads_log_a_value_once(caplog: pytest.LogCaptureFixture) -> None:
    """Threads that read one bad value at the same time make one log entry together."""
    limits = Limits(overrides={"message": -1})
    start = threading.Barrier(4)

    def read() -> None:
        start.wait()
        for _ in range(50):
            limits.message_limit()

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(warnings_of(caplog)) == 1


def test_value_cannot_forge_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    """A line break in a value's own representation does not start a line of the log."""

    class Forger:
        def __repr__(self) -> str:
            return "x\nERROR forged \ud800"

    Limits(overrides={"message": Forger()}).message_limit()
    (text,) = warnings_of(caplog)
    assert text.endswith(r": x\nERROR forged \ud800")


@given(
    value=st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | st.sampled_from(["tools", "message"]),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["tools", "message", "Bash", 5]), inner)
        ),
    )
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_answer_gives_usable_limits(value: object) -> None:
    """Whatever JSON a flag service sends, the limits are valid ones or the user's own."""
    limits = limits_with(overrides=lambda: value)
    tools = value.get("tools") if isinstance(value, dict) else None
    message = value.get("message") if isinstance(value, dict) else None
    bash = tools.get("Bash") if isinstance(tools, dict) else None
    assert limits.message_limit() == (message if is_valid(message) else 200_000)
    assert limits.for_tool("Bash") == (bash if is_valid(bash) else 30_000)
    if isinstance(value, dict):
        assert Limits(overrides=value).read_overrides() == limits.read_overrides()


def is_valid(value: object) -> bool:
    """Say L4 a second time: exactly int or float, finite, above 0."""
    if type(value) is int:
        return value > 0
    return type(value) is float and math.isfinite(value) and value > 0
