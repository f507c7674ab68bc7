from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from benches.preview_quality import GROUPS, STYLES, labelled_logs, score
from toolbudget import _core

if TYPE_CHECKING:
    from pathlib import Path

# Percent of logs that show one line, three lines and half of the marked passage in 2,000 bytes.
GOALS: Final = {
    False: {"all": (96, 90, 76), ">50 KB": (95, 87, 71), ">200 KB": (92, 78, 57)},
    True: {"all": (90, 81, 65), ">50 KB": (87, 76, 58), ">200 KB": (83, 65, 44)},
}


@pytest.mark.parametrize("is_plain", [False, True], ids=["as they are", "plain"])
def test_salient_previews_show_why_a_run_failed(
    corpus: Path,
    is_plain: bool,  # noqa: FBT001
) -> None:
    """On failing logs that people labelled, the marked passage is shown as often as promised."""
    logs = list(labelled_logs(corpus / "ci_logs", is_plain=is_plain))
    reached = score(STYLES["salient"], logs, 2_000)
    assert reached.over_limit == 0
    short = {}
    for name, _ in GROUPS:
        percents, goal = reached.percents[name], GOALS[is_plain][name]
        if any(percent < wanted for percent, wanted in zip(percents, goal, strict=True)):
            short[name] = (percents, goal)
    assert short == {}


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("pytest-one-failure.txt", "FAILED testing/test_skipping.py::"),
        ("pytest-one-failure.txt", "1 failed, 80 passed"),
        ("django-test-run.txt", "Ran 344 tests in"),
        ("cpplint.txt", "java.lang.NullPointerException"),
        ("make-gcc-warnings.txt", "warning: ignoring return value"),
    ],
)
def test_what_an_agent_looks_for_in_an_output_is_shown(corpus: Path, file: str, line: str) -> None:
    """The line that sums a recorded output up, or says what failed, is shown."""
    text = (corpus / "tool_outputs" / file).read_bytes().decode()
    assert line in _core.salient_preview(text, 2_000)[0]


def test_auto_picks_the_style_of_recorded_outputs(corpus: Path) -> None:
    """P4: every recorded log is shown by its lines, and each other output by what it is."""
    logs = sorted((corpus / "ci_logs").glob("*.log"))
    files = [*logs, *sorted((corpus / "tool_outputs").glob("*.*"))]
    texts = {file: file.read_bytes().decode("utf-8", "replace") for file in files}
    styles = {
        file.name: _core.show_preview((text,), 2_000, "auto").style for file, text in texts.items()
    }
    assert {styles[file.name] for file in logs} == {"salient"}
    expected = {
        "airports.csv": "table",
        "ansi-npm-install.raw": "salient",
        "cpplint.txt": "salient",
        "dependency-check-report.json": "json",
        "django-test-run.txt": "salient",
        "docs-api-page.html": "head_tail",
        "make-gcc-warnings.txt": "salient",
        "pytest-one-failure.txt": "salient",
    }
    assert expected.items() <= styles.items()
