"""The preview style ``outline``: within a number of bytes, safe for the wire."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.pruning.samples import SAMPLES, Sample
from tests.strategies.texts import any_text
from toolbudget.pruning import outline_preview


@given(
    sample=st.sampled_from(SAMPLES),
    noise=any_text(),
    place=st.floats(0, 1),
    max_bytes=st.integers(0, 4_000),
)
def test_it_keeps_to_its_bytes_and_can_be_sent(
    sample: Sample, noise: str, place: float, max_bytes: int
) -> None:
    """Whatever stands in the text: at most so many bytes, strict UTF-8, no NUL, no frame tag."""
    cut = int(len(sample.text) * place)
    preview = outline_preview(sample.text[:cut] + noise + sample.text[cut:], max_bytes)
    if preview is not None:
        shown = preview[0]
        assert len(shown.encode()) <= max_bytes
        assert "\0" not in shown
        assert re.search("</?persisted-output", shown, re.IGNORECASE) is None


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_it_says_how_long_the_text_is_and_what_it_leaves_out(sample: Sample) -> None:
    """The head names lines and bytes; shown and left out are all there is, in their order."""
    preview = outline_preview(sample.text, 420)
    assert preview is not None
    shown, has_more = preview
    head, *lines = shown.splitlines()
    text_bytes = len(sample.text.encode())
    assert has_more
    line_count = sample.text.count("\n")
    assert f"{sample.language} outline of {line_count:,} lines, {text_bytes:,} bytes" in head
    numbers = [int(re.match(r"\d+", line)[0]) for line in lines]  # type: ignore[index]
    assert numbers == sorted(numbers)
    assert len(lines) >= 3


def test_a_text_that_fits_is_shown_whole() -> None:
    """Nothing is left out, so nothing is said about it."""
    text = "package main\n\nfunc main() {\n}\n"
    assert outline_preview(text, 2_000) == (text, False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Dear all,\n\nimport duties have risen. We must define a class of goods.\n" * 100,
        '{"import": "os", "class": [1, 2]}\n' * 300,
        "2026-01-01 12:00:00 INFO started\n2026-01-01 12:00:01 ERROR failed: x\n" * 100,
        "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n+def f():\n" * 50,
        "a,b,c\n1,2,3\n" * 300,
        "tests/test_a.py::test_one PASSED\ntests/test_a.py::test_two FAILED\n" * 100,
    ],
)
def test_what_is_no_source_text_has_no_outline(text: str) -> None:
    """Prose, data, logs, diffs and test output are left to the other styles."""
    assert outline_preview(text, 2_000) is None


def test_without_room_for_a_line_there_is_no_outline() -> None:
    """The other styles show more then."""
    text = "package main\n\n" + "func main() {\n}\n" * 500
    assert outline_preview(text, 50) is None
