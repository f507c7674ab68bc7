"""The examples of the agent loop: what they print, what they leave, and what they need."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.layer.loop.agents import call
from tests.layer.loop.anthropic_server import Server, client_of
from toolbudget import Session
from toolbudget.loop import AnthropicModel

if TYPE_CHECKING:
    import pytest

EXAMPLES: Final = Path(__file__).parents[2] / "examples"


def start(script: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Start an example in an interpreter of its own, with warnings as errors."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", str(EXAMPLES / script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TOOLBUDGET_CORE": "native", **variables},
    )


def test_the_agent_is_killed_and_goes_on(tmp_path: Path) -> None:
    """Thirty requests, every prefix kept or its break announced, the same in every run."""
    root, temporary = tmp_path / "root", tmp_path / "temporary"
    root.mkdir()
    temporary.mkdir()
    running = [start("agent.py", str(root)), start("agent.py", TMPDIR=str(temporary))]
    (printed, errors), (again, _) = (process.communicate() for process in running)
    assert (running[0].returncode, errors) == (0, "")
    assert again == printed
    assert list(temporary.iterdir()) == []  # without a folder it cleans up after itself
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line.split() for line in lines if line.strip()[:1].isdigit() and "%" in line]
    assert [int(row[0]) for row in rows] == list(range(1, 31))
    assert "BROKEN" not in printed
    assert {"kept", "cleared"} <= set(printed.split())
    assert "Turn 16 was killed by signal 9" in printed
    check_session(root)


def check_session(root: Path) -> None:
    """The log is on disk as it was, and what was killed has a result that says so."""
    with Session.open(root, "agent") as session:
        path = session.result_path("call_1_0")
        assert path is not None
        log = (root / "build.log").read_bytes()
        assert len(log) > 1_000_000
        assert log in path.read_bytes()
        assert session.transcript is not None
        records: list[Any] = list(session.transcript.messages())
    results = {
        block["tool_use_id"]: block
        for record in records
        for block in record["message"]["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    }
    assert "the program ended" in results["call_16_1"]["content"]
    assert not results["call_16_0"].get("is_error")
    assert not results["call_16_2"].get("is_error")


def load(name: str) -> Any:  # noqa: ANN401 - a script
    """Load an example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_host_over_the_api_converses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over a mock transport: it streams, runs a tool, and goes on in the same session."""
    host = load("anthropic_host")
    text = [{"type": "text", "text": "It is there."}]
    server = Server([[call("t1", "bash", command="echo out")], text, text])
    model = AnthropicModel(client_of(server, is_async=False), "some-model")
    host.converse(model, str(tmp_path), "What is there?")
    host.converse(model, str(tmp_path), None)
    host.converse(model, str(tmp_path), "Sure?")
    printed = capsys.readouterr().out
    assert printed.count("It is there.") == 2
    assert "[bash: " in printed
    assert len(server.bodies) == 3
    assert "out" in json.dumps(server.bodies[-1]["messages"][2])


def test_the_host_over_the_api_says_what_it_needs(tmp_path: Path) -> None:
    """A missing key is one clear line, and nothing is made."""
    process = start("anthropic_host.py", str(tmp_path / "root"), ANTHROPIC_API_KEY="")
    _, errors = process.communicate()
    assert process.returncode == 2
    assert errors == "ANTHROPIC_API_KEY and ANTHROPIC_MODEL must be set in the environment.\n"
    assert not (tmp_path / "root").exists()
    process = start("anthropic_host.py")
    assert "usage: " in process.communicate()[1]
