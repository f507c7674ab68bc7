"""Picking the lines that an explanation asks for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget import ConfigError
from toolbudget.pruning import prune_by_relevance

PROJECT: Final = Path(__file__).parents[3]
WORD: Final = re.compile(r"\berrors?\b", re.IGNORECASE)
GAP: Final = re.compile(r"\[\.\.\. lines? ([\d,]+)(?:-([\d,]+))? of ([\d,]+) left out \.\.\.\]")


def numbered(count: int) -> list[str]:
    """Make lines without any word that is looked for."""
    return [f"nothing {'x' * (number % 40)} of it" for number in range(count)]


def shown_lines(pruned: str) -> list[int]:
    """Tell from the gaps which lines are shown; the kept ones are counted between them."""
    shown: list[int] = []
    line = 1
    for text in pruned.split("\n"):
        gap = GAP.fullmatch(text)
        if gap is None:
            shown.append(line)
            line += 1
            continue
        assert int(gap[1].replace(",", "")) == line
        line = int((gap[2] or gap[1]).replace(",", "")) + 1
    return shown


@given(
    count=st.integers(1, 60),
    places=st.sets(st.integers(0, 59), max_size=25),
    end=st.sampled_from(["", "\n"]),
)
def test_matching_lines_and_two_around_each_are_kept(
    count: int, places: set[int], end: str
) -> None:
    """What is kept, and what the gaps say, follows from where the word stands."""
    lines = numbered(count)
    places = {place for place in places if place < count}
    for place in places:
        lines[place] = f"the NEEDLE of line {place}"
    text = "\n".join(lines) + end
    pruned = prune_by_relevance(text, "where is the needle?")
    if len(places) * 10 < count:
        assert pruned == text
    elif pruned != text:
        kept = [n + 1 for n in range(count) if any(abs(n - place) <= 2 for place in places)]
        assert shown_lines(pruned.removesuffix(end)) == kept
        assert [line for line in pruned.split("\n") if not GAP.fullmatch(line)] == [
            *(lines[n - 1] for n in kept),
            *([""] if end else []),
        ]


def test_ten_of_a_hundred_lines_are_enough_and_nine_are_not() -> None:
    """Less than 10 percent gives the original; a last line feed adds no line."""
    lines = numbered(100)
    for place in range(10):
        lines[place * 10] = "needle"
    ten = "\n".join(lines) + "\n"
    nine = ten.replace("needle", "nothing", 1)
    assert len(prune_by_relevance(ten, "needle")) < len(ten)
    assert prune_by_relevance(nine, "needle") == nine


@pytest.mark.parametrize(
    ("explanation", "line"),
    [
        ("needles", "def find_needle(self):"),
        ("why does parsing fail", "the parser parses"),
        ("parse_token_budget", "const tokenCount = 1"),
        ("HTTPServerError", "class ServerPool"),
        ("currencies", "CURRENCY_SIGN"),
        ("the currency sign", "for (const currencies of all)"),
        ("utf8 handling", "encoding = UTF8"),
        ("error 404", "status: 404"),
        ("Größe", "die größe des Fensters"),
    ],
)
def test_a_word_is_found_in_other_forms(explanation: str, line: str) -> None:
    """Any case, other endings, parts of identifiers."""
    lines = numbered(20)
    lines[5:8] = [line] * 3
    assert 6 in shown_lines(prune_by_relevance("\n".join(lines), explanation))
    assert len(shown_lines(prune_by_relevance("\n".join(lines), explanation))) == 7


@pytest.mark.parametrize(
    ("explanation", "line"),
    [
        ("parse it", "sparse matrix"),
        ("what is in the file and how?", "what is in and how"),
        ("token", "tokyo"),
        ("404", "140404"),
    ],
)
def test_a_word_is_not_found_in_others(explanation: str, line: str) -> None:
    """The middle of a word, and words that say nothing, match nothing."""
    text = "\n".join([*numbered(10), *[line] * 5, *numbered(10)])
    assert prune_by_relevance(text, explanation) == text


def test_a_word_of_most_lines_does_not_count_beside_others() -> None:
    """Where nearly every line has one word, the others choose."""
    lines = [f"token {'x' * 30} {number}" for number in range(40)]
    lines[10:15] = ["token needle"] * 5
    assert shown_lines(prune_by_relevance("\n".join(lines), "token needle")) == [*range(9, 18)]
    assert prune_by_relevance("\n".join(lines), "token") == "\n".join(lines)


@pytest.mark.parametrize("explanation", ["", "  ", "what is it?", "...", "a 1 x"])
def test_without_key_words_the_text_stays(explanation: str) -> None:
    """An explanation that names nothing chooses nothing."""
    text = "\n".join(numbered(50))
    assert prune_by_relevance(text, explanation) == text


@given(
    text=st.text(st.sampled_from("ab \n\r\0\ud800é中"), max_size=200),
    explanation=st.text(max_size=20),
)
def test_it_is_never_longer_and_total(text: str, explanation: str) -> None:
    """Any text passes, and no result is longer than it."""
    assert len(prune_by_relevance(text, explanation)) <= len(text)


@pytest.mark.parametrize(
    ("name", "question", "answer"),
    [
        ("storage/_aside.py", "when is the temporary file synced?", "sync"),
        ("limits/overrides.py", "what happens when the provider raises?", "except Exception"),
        ("storage/names.py", "which device names does Windows keep?", "device"),
    ],
)
def test_the_answer_stays_in_real_files(name: str, question: str, answer: str) -> None:
    """Of files of this project less is kept, and the line with the answer with it."""
    text = (PROJECT / "python" / "toolbudget" / name).read_text("utf-8")
    pruned = prune_by_relevance(text, question)
    assert len(pruned) < len(text)
    assert any(answer in line.lower() or answer in line for line in pruned.split("\n"))


def test_recorded_logs_keep_the_lines_with_the_word(corpus: Path) -> None:
    """Each line of a recorded log with an error is kept."""
    logs = sorted((corpus / "ci_logs").rglob("*.log"))[:10]
    for log in logs:
        text = log.read_text("utf-8", "replace")
        pruned = prune_by_relevance(text, "errors")
        lines = [
            line for line in text.split("\n") if re.search(r"\berrors?\b", line, re.IGNORECASE)
        ]
        assert all(line in pruned for line in lines)


@pytest.mark.parametrize("arguments", [(b"x", "x"), ("x", None)])
def test_what_is_no_text_is_an_error(arguments: tuple[str, str]) -> None:
    """The error names the argument."""
    with pytest.raises(ConfigError, match="must be a str"):
        prune_by_relevance(*arguments)
