"""A text of a body that is too large to be decoded at once is the text that `json` reads."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Final

import pytest

from tests.builders import msg, res
from tests.core.harness import State, plan_options
from toolbudget import _core as core

# Of bytes, and of a length that no size of a piece is a multiple of: they end inside everything.
_PIECES: Final = {
    "ascii": "a line that ends\n",
    "latin": "caf\u00e9\n",
    "wide": "x\u65e5\u672c\n",
    "astral": "yy\U0001f600\n",
    "lone surrogates": "z\ud83d-\ude00\n",
}
MIB: Final = 2**20
_TEXT_BYTES: Final = 9 * MIB
_STORED_MIB: Final = 64
_SLACK_MIB: Final = 16


def large_text(name: str) -> str:
    """Give a text whose last character alone needs the most room."""
    piece = _PIECES[name]
    size_bytes = len(json.dumps(piece)) - 2
    return piece * (_TEXT_BYTES // size_bytes + 1) + "\U0001f600"


@pytest.mark.parametrize("is_escaped", [True, False])
@pytest.mark.parametrize("name", _PIECES)
def test_it_is_what_json_reads(name: str, *, is_escaped: bool) -> None:
    """Whether its characters stand there as escapes or as they are."""
    text = large_text(name)
    document = {"messages": [msg(res("t1", text))]}
    body = json.dumps(document, ensure_ascii=is_escaped).encode("utf-8", "replace")
    expected = json.loads(body)["messages"][0]["content"][0]["content"]
    plan = core.plan_json(core.scan_json(body), State().known(core), plan_options(core, limit=1))
    [choice] = plan.choices
    assert choice.prepared.parts == (expected,)
    assert choice.key.fingerprint == core.fingerprint((expected,))


# In a process of its own: what an allocator keeps of earlier work is in the peak too.
_STORE = """
import re, sys, tempfile
from pathlib import Path
from toolbudget import Session

def peak_mib():
    status = Path("/proc/self/status").read_text("ascii")
    return int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]) / 1024

text = rb"a line\\n" * int(sys.argv[1])
block = b'{"type":"tool_result","tool_use_id":"t1","content":"%s"}' % text
del text
body = b'{"messages":[{"role":"user","content":[%s]}]}' % block
del block
with tempfile.TemporaryDirectory() as root:
    session = Session.open(root, "s1", durability="process")
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    before_mib = peak_mib()
    assert len(session.enforce_json(body)) < len(body)
    print(peak_mib() - before_mib)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the peak since a moment")
@pytest.mark.skipif(core.NAME != "native", reason="the pure core decodes the whole body")
def test_storing_it_takes_its_own_size() -> None:
    """It is decoded into its text, not into a copy first (F4)."""
    lines = _STORED_MIB * MIB // len("a line\n")
    command = [sys.executable, "-c", _STORE, str(lines)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(done.stdout) < _STORED_MIB + _SLACK_MIB
