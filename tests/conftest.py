"""Fixtures and settings that every test may rely on."""

from __future__ import annotations

import os
import signal
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import hypothesis
import pytest

from toolbudget import Session, _core

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

# What chooses how the suite runs; every other setting of the user's must not reach a test.
_SUITE_VARIABLES: Final = {"TOOLBUDGET_CORE", "TOOLBUDGET_CORPUS", "TOOLBUDGET_REQUIRE_CORPUS"}

# No deadlines: a shared machine is now and then slow, and that is no failure.
hypothesis.settings.register_profile("dev", deadline=None, max_examples=50)
hypothesis.settings.register_profile(
    "ci", deadline=None, max_examples=150, derandomize=True, database=None, print_blob=True
)
# The branches are what counts there, and examples were tried on both cores before.
hypothesis.settings.register_profile(
    "coverage", deadline=None, max_examples=15, derandomize=True, database=None
)
hypothesis.settings.register_profile("long", deadline=None, max_examples=20_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_configure() -> None:
    """Let Ctrl-C reach the programs that tests start, also where the suite itself runs behind.

    A shell lets what it starts with ``&`` ignore the signal, and children inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _isolated_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's settings out of the tests, and the tests out of the user's data folder."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name.startswith("TOOLBUDGET_") and name not in _SUITE_VARIABLES:
                patch.delenv(name)
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data-home")))
        yield


@pytest.fixture(scope="session", params=["python", "native"])
def core(request: pytest.FixtureRequest) -> ModuleType:
    """Give each core in turn, with the same names; a core that is not built is an error."""
    return _core.load(request.param)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Give the folder of recorded sessions that ``TOOLBUDGET_CORPUS`` names; skip without it."""
    named = os.environ.get("TOOLBUDGET_CORPUS", "")
    if named and (folder := Path(named)).is_dir():
        return folder
    reason = f"TOOLBUDGET_CORPUS names no folder of recorded sessions: {named!r}"
    if os.environ.get("TOOLBUDGET_REQUIRE_CORPUS"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a folder for sessions that does not exist yet."""
    return tmp_path / "root"


@pytest.fixture
def session(root: Path) -> Iterator[Session]:
    """Give a new session; no test here is about power loss, so nothing is synced."""
    with Session.open(root, "session", durability="process") as opened:
        yield opened


@pytest.fixture(scope="session")
def new_root(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Give a function that names another folder for sessions at each call, for property tests."""
    folder = tmp_path_factory.mktemp("roots")
    numbers = count()
    return lambda: folder / str(next(numbers))
