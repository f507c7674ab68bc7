"""What ``toolbudget config`` tells, and that ``apply`` honours the same file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import call, res
from tests.layer.cli.transcripts import assistant, to_lines, user, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Give a file that changes two limits."""
    path = tmp_path / "limits.toml"
    path.write_text('max_result_chars = 500\n[tools]\nRead = 400\nFetch = "off"\n')
    return path


def test_each_value_has_its_source(
    run: Callable[..., Ran], config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Default, environment and file are told apart."""
    monkeypatch.setenv("TOOLBUDGET_PREVIEW_BYTES", "300")
    told = json.loads(run("config", "--config", config, "--json").out)
    settings = told["settings"]
    assert settings["max_result_chars"] == {"value": 500, "source": str(config)}
    assert settings["preview_bytes"] == {"value": 300, "source": "TOOLBUDGET_PREVIEW_BYTES"}
    assert settings["durability"] == {"value": "process", "source": "TOOLBUDGET_DURABILITY"}
    assert settings["max_message_chars"] == {"value": 200_000, "source": "default"}
    assert told["tools"]["Read"] == {"limit": 400, "source": str(config)}
    assert told["tools"]["Fetch"] == {"limit": "off", "source": str(config)}
    assert told["tools"]["Bash"] == {"limit": 500, "source": "max_result_chars"}


def test_for_a_person(run: Callable[..., Ran]) -> None:
    """A table of settings and one of tools."""
    ran = run("config")
    rows = [line.split() for line in ran.out.splitlines() if line.strip()]
    assert ["max_result_chars", "50,000", "chars", "default"] in rows
    assert ["Read", "off", "built", "in"] in rows
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("text", ["max_result_chars = 0", "no_such = 1", "="])
def test_a_file_that_cannot_be_used(run: Callable[..., Ran], tmp_path: Path, text: str) -> None:
    """Wrong usage, with the file named and no traceback."""
    path = tmp_path / "bad.toml"
    path.write_text(text)
    ran = run("config", "--config", path)
    assert (ran.code, ran.out) == (2, "")
    assert str(path) in ran.err.replace("\n", "")


def test_apply_honours_it_unless_an_option_says_otherwise(
    run: Callable[..., Ran], config: Path, tmp_path: Path
) -> None:
    """The limits that are shown are those that count."""
    talk = [assistant("m1", call("t1", "Read")), user(res("t1", "x\n" * 3000))]
    path = write(tmp_path / "in.jsonl", to_lines(*talk))
    counts = []
    for number, options in enumerate(([], ["--config", config])):
        ran = run("apply", path, "--root", tmp_path / f"r{number}", "--json", *options)
        counts.append(len(json.loads(ran.out)["replaced"]))
    assert counts == [0, 1]
