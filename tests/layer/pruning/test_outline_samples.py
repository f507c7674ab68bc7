"""Outlines of source texts whose declarations were read off by hand."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.layer.pruning.samples import SAMPLES, Sample
from toolbudget.pruning import guess_language, outline_code

LABEL: Final = re.compile(r"(\d+)(-\d+)? *( .*)")


def outline_lines(outline: str) -> list[str]:
    """Give the lines behind the head, with one blank behind the numbers."""
    lines = [LABEL.fullmatch(line) for line in outline.splitlines()[1:]]
    assert all(lines)
    width = max(len(match[1] + (match[2] or "")) for match in lines if match)
    numbered = (re.match(f"(.{{{width}}}) (.*)", line) for line in outline.splitlines()[1:])
    return [f"{match[1].rstrip()} {match[2]}" for match in numbered if match]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_it_shows_each_declaration_of_a_sample_and_nothing_else(sample: Sample) -> None:
    """The lines are those read off by hand: numbers, nesting, signature, first comment line."""
    assert outline_lines(outline_code(sample.text, sample.language)) == sample.lines


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_the_numbered_lines_hold_what_is_shown(sample: Sample) -> None:
    """The name of each entry stands in the lines that its numbers name."""
    source = sample.text.split("\n")
    for line in outline_lines(outline_code(sample.text, sample.language)):
        match = LABEL.fullmatch(line)
        assert match is not None
        last = int(match[2][1:]) if match[2] else int(match[1])
        part = " ".join(source[int(match[1]) - 1 : last])
        signature = re.split(r"  (?:#|//) ", match[3].strip())[0]
        words = re.findall(r"\w+", signature.removeprefix("const ").removeprefix("var "))
        assert [word for word in words if word not in part and word != "type"] == []


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_windows_line_ends_change_nothing(sample: Sample) -> None:
    """CR LF gives the same lines as LF."""
    crlf = outline_code(sample.text.replace("\n", "\r\n"), sample.language)
    assert outline_lines(crlf) == sample.lines


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_the_language_of_a_sample_is_guessed(sample: Sample) -> None:
    """The text alone tells its language."""
    assert guess_language(sample.text) == sample.language


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.language)
def test_a_broken_text_shows_what_could_be_read(sample: Sample) -> None:
    """Text that is cut off in its middle still shows its beginning."""
    broken = sample.text[: len(sample.text) // 3] + "\n((((\n" + "x\n" * 400
    first = sample.lines[0].split(" ", 1)[1]
    assert first in outline_code(broken, sample.language)
