"""An agent over this repository: a scripted model, real tools, no network, a kill in the middle.

Run it with ``python examples/agent.py [FOLDER]``; without a folder it cleans up after itself. The
first half runs in a process of its own, which is killed with SIGKILL while calls are running; the
second half opens the session again and goes on. It prints how context, cache and disk develop.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich import box
from rich.console import Console
from rich.table import Table

from toolbudget import PrefixGuard, Session
from toolbudget.loop import AgentLoop, RequestReady, ScriptedModel, ToolFinished
from toolbudget.pipeline import Budget, Microcompact, Pipeline, PipelineResult
from toolbudget.tokens import rough_token_count_estimation
from toolbudget.tools import ToolResult, bash_tool, grep, read_file, result_tools, tool

if TYPE_CHECKING:
    from toolbudget.loop import LoopEvent, ModelRequest
    from toolbudget.pipeline import Stage

Block = dict[str, Any]

PROJECT: Final = Path(__file__).parents[1]
TURNS: Final = 30
KILLED_IN_TURN: Final = 16
WORDS: Final = ("def ", "class ", "import ", "raise ", "return ", "assert ", "Example", "Args")
FILES: Final = ("budget/gate.py", "budget/journal.py", "tokens/usage.py", "messages/api.py")
# What has its result when the process is killed; the call between them has none.
BEFORE_THE_KILL: Final = (f"call_{KILLED_IN_TURN}_0", f"call_{KILLED_IN_TURN}_2")
WIDTH_COLUMNS: Final = 80


def write_log(path: Path) -> None:
    """Write the log of a build that failed: over a megabyte, of which three lines matter."""
    lines = [f"[{n:06}] compiling unit {n * 7919 % 9973:04}, no warnings" for n in range(30_000)]
    lines[20_011] = "[020011] error: cannot find value `limit` in this scope"
    lines[20_012] = "[020012]   --> src/plan.rs:42:17"
    lines[29_999] = "[029999] build failed: 1 error"
    path.write_text("\n".join(lines) + "\n")


def calls_of(turn: int) -> list[tuple[str, Block]]:
    """Say what the model calls in a turn."""
    first: list[list[tuple[str, Block]]] = [
        [],
        [("bash", {"command": "cat build.log"})],
        [("search_results", {"pattern": "error", "tool_use_id": "call_1_0"})],
    ]
    if turn < len(first):
        return first[turn]
    greps = [
        ("grep", {"pattern": WORDS[(turn + n) % len(WORDS)], "path": str(PROJECT / "python")})
        for n in range(1 + turn % 4)
    ]
    if turn == KILLED_IN_TURN:
        return [*greps, ("wait", {}), *greps]
    if turn % 3 == 0:
        path = PROJECT / "python" / "toolbudget" / FILES[turn % len(FILES)]
        return [*greps, ("read_file", {"path": str(path), "skip_pruning": True})]
    if turn % 5 == 0:
        return [*greps, ("bash", {"command": f"head -c {turn}000 build.log"})]
    return greps


@tool()
def wait() -> ToolResult:
    """Wait until the process is killed."""
    threading.Event().wait()
    return ToolResult(text="")


class Agent:
    """One process's part of the session; it notes down what each request looks like."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # Shown paths of one length, so that the numbers are the same wherever it runs.
        session = Session.open(root, "agent", display_path=lambda path: f"/results/{path.name}")
        # Results that can be had again are cleared when there are many: an announced break.
        stages: list[Stage] = [Budget(), Microcompact(keep=8, trigger_results=40)]
        self.loop = AgentLoop(
            ScriptedModel(self._reply),
            session=session,
            tools=[
                bash_tool(session=session, cwd=root),
                *(grep, read_file, wait),
                *result_tools(session),
            ],
            pipeline=Pipeline(stages, session=session),
            system="You find out why a build fails.",
            on_event=self._hear,
        )
        self._guard = PrefixGuard()
        for line in read_lines(root / "requests.jsonl")[-1:]:  # maybe another process sent it
            self._guard.check(line)

    def _reply(self, request: ModelRequest) -> str | list[Block]:
        """Play the model: which turn it is shows in how often it has answered."""
        turn = turn_of(request)
        if turn == TURNS:
            return "The build fails in src/plan.rs, line 42."
        return [
            {"type": "tool_use", "id": f"call_{turn}_{n}", "name": name, "input": given}
            for n, (name, given) in enumerate(calls_of(turn))
        ]

    def _hear(self, event: LoopEvent) -> None:
        if isinstance(event, ToolFinished) and event.tool_use_id in BEFORE_THE_KILL:
            print(event.tool_use_id, flush=True)
        if not isinstance(event, RequestReady):
            return
        messages = list(event.request.messages)
        finding = self._guard.check(messages)
        report = event.report
        is_announced = isinstance(report, PipelineResult) and report.prefix_broken_at is not None
        stored = list((self._root / "agent" / "tool-results").glob("*"))
        row = {
            "turn": turn_of(event.request),
            "context": rough_token_count_estimation(json.dumps(messages)),
            "cached": finding.kept_tokens,
            "prefix": "kept" if finding.is_intact else "cleared" if is_announced else "BROKEN",
            "files": len(stored),
            "bytes": sum(path.stat().st_size for path in stored),
        }
        append_line(self._root / "requests.jsonl", messages)
        append_line(self._root / "rows.jsonl", row)


def turn_of(request: ModelRequest) -> int:
    """Tell which answer a request asks for."""
    return 1 + len([one for one in request.messages if one["role"] == "assistant"])


def append_line(path: Path, value: object) -> None:
    """Add a line of JSON to a file."""
    with path.open("a") as lines:
        lines.write(json.dumps(value) + "\n")


def read_lines(path: Path) -> list[Any]:
    """Read a file of JSON lines, if there is one."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_and_kill(root: Path) -> int:
    """Run the first half in another process, kill it within parallel calls, give how it ended."""
    command = [sys.executable, __file__, "--first-half", str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        assert child.stdout is not None  # noqa: S101
        for _ in BEFORE_THE_KILL:
            child.stdout.readline()
        child.kill()
    return child.returncode


def show(root: Path, console: Console) -> None:
    """Print what each request looked like."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Turn", justify="right")
    table.add_column("Calls before it")
    for name in ("Tokens", "Cached"):
        table.add_column(name, justify="right")
    table.add_column("Prefix")
    for name in ("Files", "On disk"):
        table.add_column(name, justify="right")
    for row in read_lines(root / "rows.jsonl"):
        turn = row["turn"]
        names = Counter(name for name, _ in calls_of(turn - 1))
        table.add_row(
            str(turn),
            ", ".join(f"{name} x{n}" if n > 1 else name for name, n in names.items()),
            f"{row['context']:,}",
            f"{100 * row['cached'] // row['context']} %",
            row["prefix"],
            str(row["files"]),
            f"{row['bytes'] / 1024:,.0f} KB",
            end_section=turn == KILLED_IN_TURN,
        )
    console.print(table)


def main(root: Path) -> None:
    """Hold the session in two processes, and show what became of it."""
    console = Console(width=WIDTH_COLUMNS, highlight=False)
    write_log(root / "build.log")
    returncode = run_and_kill(root)
    loop = Agent(root).loop
    result = loop.run()
    show(root, console)
    console.print(f"Turn {KILLED_IN_TURN} was killed by signal {-returncode}, and gone on with.")
    produced = sum(row["bytes"] for row in read_lines(root / "rows.jsonl")[-1:])
    console.print(f"{produced:,} bytes of results are on disk. The model says: {result.text}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--first-half"]:
        Agent(Path(sys.argv[2])).loop.run("Why does the build fail?")
    elif len(sys.argv) > 1:
        main(Path(sys.argv[1]).absolute())
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))
