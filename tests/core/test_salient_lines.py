"""The `salient` style: one line that tells of a failure, far from both ends (P4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.core.failing_lines import FAILING_LINES

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize("max_bytes", [1_000, 2_000])
@pytest.mark.parametrize("name", FAILING_LINES)
def test_the_line_that_failed_is_shown(core: ModuleType, name: str, max_bytes: int) -> None:
    """Whatever tool wrote it, the line is shown: the rest says nothing, and ends well."""
    noise, failing = FAILING_LINES[name]
    lines = [noise.format(n=number) for number in range(1_000)]
    lines[400] = failing
    preview, has_more = core.salient_preview("\n".join(lines), max_bytes)
    shown = [row.partition(":")[2].split() for row in preview.split("\n")[1:]]
    assert has_more
    assert failing.split() in shown


@pytest.mark.parametrize(
    "label", ["[web] ", "[pod/web/app] ", "web-1  |   ", "May  1 10:11:12 host app[12]: "]
)
@pytest.mark.parametrize(
    "name", ["bun", "shell check", "cargo nextest signal", "rust formatter", "annotation"]
)
def test_a_mark_counts_behind_a_label(core: ModuleType, name: str, label: str) -> None:
    """What a runner of several programs puts before every line hides no mark."""
    noise, failing = FAILING_LINES[name]
    lines = [label + noise.format(n=number) for number in range(1_000)]
    lines[400] = label + failing
    preview, _ = core.salient_preview("\n".join(lines), 2_000)
    shown = [row.partition(":")[2].split() for row in preview.split("\n")[1:]]
    assert (label + failing).split() in shown


MARKS_WITHOUT_WORDS = ["  1) rounds", "E   n = 41", "\N{MULTIPLICATION SIGN} rounds half up"]
TOLD_AS_INFO = [
    "[INFO] ",
    "[ info ] ",
    "INFO: ",
    "DEBUG - ",
    "[10:11:12] [INFO] ",
    "2024-05-01 10:11:12,345 [INFO] ",
    "2024-05-01T10:11:12.123Z INFO ",
    "[web] ",
    "[web] [debug] ",
    "web-1  | ",
    "#12 3.456 ",
    "[12:01:02] ",
    "May  1 10:11:12 host app[12]: ",
]


@pytest.mark.parametrize("label", TOLD_AS_INFO)
@pytest.mark.parametrize("mark", MARKS_WITHOUT_WORDS)
def test_a_mark_without_a_word_counts_behind_a_label(
    core: ModuleType, mark: str, label: str
) -> None:
    """Whoever passes a tool's output on says of every line that it is information."""
    lines = [f"{label}case {number} of all" for number in range(1_000)]
    lines[400] = label + mark
    preview, _ = core.salient_preview("\n".join(lines), 2_000)
    shown = [row.partition(":")[2].split() for row in preview.split("\n")[1:]]
    assert (label + mark).split() in shown


@pytest.mark.parametrize("line", ["[PASS] 1) rounds", "[INFO] x) 1) one", "INFORMATION 1) one"])
def test_a_number_behind_something_else_is_no_mark(core: ModuleType, line: str) -> None:
    """Such lines say nothing, so that a real failure is shown instead of them."""
    lines = [f"{line} in part {number}" for number in range(999)]
    lines[500] = "FAILED test_rounds"
    preview, _ = core.salient_preview("\n".join(lines), 400)
    assert "501:FAILED test_rounds" in preview


@pytest.mark.parametrize(
    "line",
    [
        "tests: 12, failed: 0",
        "12 passed, failed 0.",
        "level=info msg=fine errors=0",
        '{"level":"info","msg":"failed 0, passed 12"}',
    ],
)
def test_a_count_of_no_failures_is_no_failure(core: ModuleType, line: str) -> None:
    """Real failures win over lines that say that nothing failed."""
    lines = [f"{line} in part {number}" for number in range(999)]
    lines[500] = "FAILED test_rounds"
    preview, _ = core.salient_preview("\n".join(lines), 400)
    assert "501:FAILED test_rounds" in preview
