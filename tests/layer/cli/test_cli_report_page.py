"""The page of ``toolbudget report`` beside its tables: what one says, the other says too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import call, res
from tests.layer.cli.talk import said, used
from tests.layer.cli.transcripts import assistant, to_lines, user, write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.layer.cli.transcripts import Ran

pytest.importorskip("pygal", reason="the extra plot is not installed")


def test_both_say_what_limits_are_reckoned_with(run: Callable[..., Ran], tmp_path: Path) -> None:
    """The same previews; and a heading of the page stands where its column does."""
    talk = [assistant("m1", call("t1", "Fetch")), user(res("t1", "x" * 90_000))]
    path = write(tmp_path / "a.jsonl", to_lines(*talk))
    ran = run("report", path, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    for shown in (ran.out, page):
        assert "with previews of 2,000 bytes, the most of any style" in shown
    assert '<th class="text">where</th>' in page


@pytest.mark.parametrize("option", ["--html", "--csv"])
def test_a_page_for_standard_output_is_wrong_usage(
    run: Callable[..., Ran], tmp_path: Path, option: str
) -> None:
    """There stands the report; a file of the name ``-`` is what nobody wants."""
    path = write(tmp_path / "a.jsonl", to_lines(said("m1", used(0, 100, 5))))
    ran = run("report", path, option, "-")
    assert (ran.code, ran.out) == (2, "")
    assert f"{option} must name a file; standard output has the report: '-'" in ran.err


def test_without_results_there_is_no_table(run: Callable[..., Ran], tmp_path: Path) -> None:
    """A transcript may have none yet: sums say so, empty tables would only look like a fault."""
    path = write(tmp_path / "a.jsonl", to_lines(said("m1", used(0, 100, 5))))
    ran = run("report", path, "--html", tmp_path / "page.html")
    assert ran.out.splitlines()[1:] == [
        "0 text results in 0 messages, 0 characters, about 0 tokens",
        "Cached prefix: no response reports its usage",
    ]
    assert "<table" not in (tmp_path / "page.html").read_text("utf-8")
