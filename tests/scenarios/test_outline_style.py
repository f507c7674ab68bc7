"""The preview style ``outline`` from end to end: real source files, the real parser."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.builders import answer, call, msg, res
from tests.layer.pruning.samples import SAMPLES, Sample
from toolbudget import Limits, Session, build_replacement

if TYPE_CHECKING:
    from toolbudget.limits import PreviewStyle

PROJECT: Final = Path(__file__).parents[2]
FILES: Final = [
    PROJECT / "python/toolbudget/budget/session.py",
    PROJECT / "python/toolbudget/cli/apply.py",
    PROJECT / "rust/core/src/json_style/preview.rs",
]
STYLES: Final[tuple[PreviewStyle, ...]] = ("outline", "auto")
# Prints what a session of another process sends, with limits that name no style.
OTHER_PROCESS: Final = """
import json, sys
from toolbudget import Limits, Session
limits = Limits(max_message_chars=5_000)
with Session.open(sys.argv[1], "s", limits=limits) as session:
    json.dump(session.enforce(json.load(sys.stdin)), sys.stdout)
"""


def source_messages() -> list[dict[str, Any]]:
    """Make a turn that reads real files, one of them as two blocks."""
    texts = [path.read_text() for path in FILES]
    contents: list[Any] = [*texts, [{"type": "text", "text": part} for part in halves(texts[0])]]
    ids = [f"t{number}" for number in range(len(contents))]
    calls = answer(*(call(tool_use_id, "Fetch") for tool_use_id in ids))
    return [calls, msg(*map(res, ids, contents))]


def halves(text: str) -> tuple[str, str]:
    """Cut a text between two lines."""
    middle = text.index("\n", len(text) // 2) + 1
    return text[:middle], text[middle:]


def limits(style: PreviewStyle) -> Limits:
    """Make limits that the turn is over, and that previews of 900 bytes keep."""
    return Limits(max_message_chars=5_000, preview_bytes=900, preview_style=style)


@pytest.mark.parametrize("style", STYLES)
def test_every_way_to_a_request_sends_the_same_outlines(root: Path, style: PreviewStyle) -> None:
    """V2, R7, B8: list and body, a fork, the next turn, and another process without the style."""
    messages = source_messages()
    body = json.dumps({"messages": messages}).encode()
    with Session.open(root, "s", limits=limits(style)) as session:
        first = session.enforce(messages)
        made = session.report.newly_replaced
        assert [record.style for record in made] == ["outline"] * 4
        assert session.report.over_limit_chars == 0
        assert json.loads(session.enforce_json(body))["messages"] == first
        later = [*messages, answer(call("u", "Fetch")), msg(res("u", FILES[1].read_text()))]
        assert session.enforce(later)[: len(first)] == first
        with session.fork("fork") as fork:
            assert fork.enforce(messages) == first
    with Session.open(root, "body", limits=limits(style)) as session:
        sent = json.loads(session.enforce_json(body))["messages"]
        assert json.dumps(sent).replace("/body/", "/s/") == json.dumps(first)
    other = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS, root],
        input=json.dumps(messages),
        capture_output=True,
        check=True,
        text=True,
    )
    assert json.loads(other.stdout) == first


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_each_line_of_an_outline_is_where_it_says(sample: Sample) -> None:
    """P4: what stands behind a line number stands in that line of the file, in any language."""
    replacement = build_replacement(sample.text, "/t", preview_bytes=600, style="outline")
    label = "\nPreview (outline of the code, at most 600 bytes):\n"
    shown = replacement.partition(label)[2].removesuffix("\n...\n</persisted-output>").splitlines()
    lines = sample.text.splitlines()
    assert len(shown) > 3
    for line in shown[1:]:
        match = re.fullmatch(r"(\d+)(?:-(\d+))? +(?:const |type )?(\w+|\W).*", line)
        assert match is not None
        first, last, word = match.groups()
        # The key word of a group of declarations stands once, above them.
        assert word in "\n".join(lines[int(first) - 1 : int(last or first)])


@pytest.mark.parametrize("first_line", ["#!/bin/sh", "#!/usr/bin/env bash"])
def test_a_script_is_code_whatever_it_says_about_itself(first_line: str) -> None:
    """``auto``: its first line names the program that runs it, which no output does."""
    steps = "".join(f'echo "step {number}"\nmake target-{number}\n' for number in range(40))
    script = f"{first_line}\n# Builds all.\n\nbuild() {{\n{steps}}}\n\nbuild\n"
    shown = build_replacement(script, "/t", preview_bytes=300, style="auto")
    assert "Preview (outline of the code" in shown
    assert "4-85 build()" in shown


def test_the_gate_outlines_what_the_hook_left(root: Path) -> None:
    """F5: names that the host takes out are in no outline, and the outline is of that text."""
    text = FILES[0].read_text()
    allowed = Limits(tools={"Fetch": 4_000}, preview_bytes=900, preview_style="auto")
    with Session.open(
        root, "s", limits=allowed, redact=lambda text: text.replace("Session", "Room")
    ) as session:
        shown = session.gate(res("t", text), tool_name="Fetch")["content"]
        path = str(session.result_path("t"))
        redacted = text.replace("Session", "Room")
        assert session.read_result("t", max_chars=50_000) == redacted
    assert "class Room(" in shown
    assert "Session" not in shown
    assert shown == build_replacement(redacted, path, preview_bytes=900, style="outline")
