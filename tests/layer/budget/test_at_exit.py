"""A session works to the very end of its process, when nothing can be imported any more."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from toolbudget import Session

if TYPE_CHECKING:
    from pathlib import Path

# The host and its session are in a cycle, so that they go when all modules are gone already.
LAST_WORDS = """
import json, os, sys
import toolbudget

HUGE = "x" * 250_000


class Host:
    def __init__(self):
        self.session = toolbudget.Session.open(sys.argv[1], "session", durability="process")
        self.me = self
        self.dumps, self.loads, self.messages = json.dumps, json.loads, [self.message("t0")]
        {first}

    def message(self, name, content=HUGE):
        block = {{"type": "tool_result", "tool_use_id": name, "content": content}}
        return {{"role": "user", "content": [block]}}

    def __del__(self):
        assert sys.meta_path is None
        {last}
        size = len(messages[-1]["content"][0]["content"])
        os.write(1, f"{{size}} {{self.session.report.failures}}".encode())


host = Host()
"""
CALLS = {
    "enforce": "messages = self.session.enforce(self.messages)",
    "enforce_json": (
        "body = self.dumps({'messages': self.messages}).encode();"
        "messages = self.loads(self.session.enforce_json(body))['messages']"
    ),
    "gate": (
        "block = self.session.gate(self.messages[-1]['content'][0], tool_name='Fetch');"
        "messages = [{'content': [block]}]"
    ),
    "an odd list": (
        "odd = {'role': 'user', 'content': 5};"
        "messages = self.session.enforce([odd, *self.messages])"
    ),
}


@pytest.mark.parametrize("first", ["pass", CALLS["enforce"]], ids=["first", "second"])
@pytest.mark.parametrize("last", CALLS.values(), ids=CALLS)
def test_the_last_object_of_a_process_gets_its_answer(root: Path, first: str, last: str) -> None:
    """Nothing is looked up for the first time then; the file and the record are there."""
    program = LAST_WORDS.format(first=first, last=last)
    ran = subprocess.run(
        [sys.executable, "-c", program, str(root)], check=True, capture_output=True, text=True
    )
    size, failures = ran.stdout.split(maxsplit=1)
    assert (ran.stderr, failures) == ("", "()")
    assert int(size) < 3_000
    with Session.open(root, "session", durability="process") as session:
        assert len(session.read_result("t0")) > 0
