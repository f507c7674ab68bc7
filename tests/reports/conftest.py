"""Fixtures for the reports from the field."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from toolbudget import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


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
