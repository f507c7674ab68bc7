"""What ``toolbudget info`` tells about where it runs."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import pytest

from tests.builders import files_below
from toolbudget import _core
from toolbudget.cli.info import Capabilities, probe
from toolbudget.storage._files import PosixFileSystem

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.layer.cli.transcripts import Ran

HIDE_NATIVE = "import sys; sys.modules['toolbudget._core._native'] = None;"


@pytest.fixture
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the user's data folder be one of the test's."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "data"


def test_it_names_what_runs_here(run: Callable[..., Ran], data_home: Path) -> None:
    """Version, core, Python, platform and default root are told, and nothing is created."""
    ran = run("info")
    assert (ran.code, ran.err) == (0, "")
    shown = {line[:11].strip(): line[11:] for line in ran.out.splitlines()}
    assert shown["Version"] == version("toolbudget")
    assert shown["Core"].startswith(f"{_core.NAME} (")
    assert shown["Python"].startswith(platform.python_version())
    assert shown["Platform"] == platform.platform()
    assert shown["Root"].startswith(str(data_home.parent))
    assert files_below(data_home.parent) == set()


def test_it_tells_machines_the_same(run: Callable[..., Ran], data_home: Path) -> None:
    """The JSON form has the same facts under documented keys."""
    report = json.loads(run("info", "--json").out)
    assert report["version"] == version("toolbudget")
    assert report["core"]["name"] == _core.NAME
    assert report["python"]["version"] == platform.python_version()
    assert Path(report["default_root"]).is_relative_to(data_home.parent)
    assert set(report["capabilities"]) == {"directory", "unnamed_files", "file_locks"}


@pytest.mark.parametrize(
    ("core_variable", "hidden", "expected"),
    [
        ("native", "", ("native", "TOOLBUDGET_CORE asks for it")),
        ("python", "", ("python", "TOOLBUDGET_CORE asks for it")),
        (None, "", ("native", "it is built for this Python")),
        (None, HIDE_NATIVE, ("python", "the native one cannot be imported: ")),
    ],
)
def test_it_says_why_this_core(
    core_variable: str | None, hidden: str, expected: tuple[str, str]
) -> None:
    """The reason for the active core is the variable, or what could be imported."""
    environment = {name: value for name, value in os.environ.items() if name != "TOOLBUDGET_CORE"}
    if core_variable is not None:
        environment["TOOLBUDGET_CORE"] = core_variable
    code = f"{hidden}from toolbudget.cli import main; main(['info', '--json'])"
    finished = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    )
    core: dict[str, Any] = json.loads(finished.stdout)["core"]
    assert core["name"] == expected[0]
    assert core["reason"].startswith(expected[1])


def failing(method: str, error: OSError) -> PosixFileSystem:
    """Give a file system one of whose methods fails."""

    class Failing(PosixFileSystem):
        pass

    def fail(*_arguments: object, **_options: object) -> None:
        raise error

    setattr(Failing, method, fail)
    return Failing()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (PosixFileSystem(), (hasattr(os, "O_TMPFILE"), True)),
        (failing("create_unnamed", OSError(errno.EOPNOTSUPP, "no")), (False, True)),
        (failing("create_unnamed", PermissionError(errno.EACCES, "no")), (None, True)),
        (failing("lock", BlockingIOError(errno.EWOULDBLOCK, "taken")), (ANY, True)),
        (failing("lock", OSError(errno.ENOLCK, "no")), (ANY, False)),
    ],
)
def test_capabilities(
    tmp_path: Path, files: PosixFileSystem, expected: tuple[object, object]
) -> None:
    """What the file system can do is tried in the nearest existing directory, without a trace."""
    found = probe(str(tmp_path / "not" / "yet"), files)
    assert found.directory == str(tmp_path)
    assert (found.unnamed_files, found.file_locks) == expected
    assert list(tmp_path.iterdir()) == []


def test_a_root_that_cannot_be_opened(tmp_path: Path) -> None:
    """If not even the outermost directory can be opened, that is an error."""
    with pytest.raises(FileNotFoundError):
        probe(str(tmp_path), failing("open_root", FileNotFoundError(errno.ENOENT, "gone")))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            Capabilities("/somewhere", unnamed_files=True, file_locks=True),
            ("no name until it is complete", "processes can share"),
        ),
        (
            Capabilities("/somewhere", unnamed_files=False, file_locks=False),
            ("temporary name until it is complete", "processes cannot share"),
        ),
        (
            Capabilities("/somewhere", unnamed_files=None, file_locks=False),
            ("nothing can be written", "processes cannot share"),
        ),
    ],
)
def test_capabilities_in_words(
    run: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    found: Capabilities,
    words: tuple[str, str],
) -> None:
    """A person reads what there is and what is missing."""
    monkeypatch.setattr("toolbudget.cli.info.probe", lambda _root: found)
    out = run("info").out
    assert [word for word in words if word not in out] == []
    assert re.search(r"^Tried in +/somewhere$", out, re.MULTILINE)
