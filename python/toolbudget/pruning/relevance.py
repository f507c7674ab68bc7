"""Picking the lines of a text that an explanation asks for (X2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolbudget.pruning._checks import checked_text
from toolbudget.pruning._words import KeyWords, key_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["prune_by_relevance"]

_CONTEXT_LINES: Final = 2
# With fewer matching lines the explanation is about something else than the text.
_LEAST_PERCENT: Final = 10


def prune_by_relevance(text: str, explanation: str) -> str:
    r"""Keep the lines of a text that hold a key word of an explanation, and two around each.

    Key words are the words of the explanation without stop words, identifiers split into theirs;
    a line matches if it holds a form of one of them, in any case, as a word or as a part of an
    identifier. A word that more than half of the lines hold does not tell lines apart: it counts
    only if without such words fewer than 10 percent of the lines match. Lines keep their order and
    stay as they are; each gap between them is a line that says which lines are left out.

    Args:
        text: Any text; lines end with a line feed.
        explanation: What is looked for, as a sentence or as words. English words are found in
            other forms too, others as they are.

    Returns:
        The lines; the text itself if less than 10 percent of its lines match, if the explanation
        has no key words, or if the result would not be shorter.

    Raises:
        ConfigError: An argument is no text.

    Example:
        >>> from toolbudget.pruning import prune_by_relevance
        >>> text = "\n".join([*(f"setting_{n} = {n}" for n in range(15)), "maxRetries = 3", "done"])
        >>> print(prune_by_relevance(text + "\nretry: no", "why does it retry?"))
        [... lines 1-13 of 18 left out ...]
        setting_13 = 13
        setting_14 = 14
        maxRetries = 3
        done
        retry: no
    """
    text, explanation = checked_text(text), checked_text(explanation, "explanation")
    words = key_words(explanation)
    if not words or not text:
        return text
    end = "\n" if text.endswith("\n") else ""
    lines = text.removesuffix("\n").split("\n")
    matching = _matching_lines(lines, KeyWords(words), len(words))
    if len(matching) * 100 < len(lines) * _LEAST_PERCENT:
        return text
    pruned = "\n".join(_with_gaps(lines, matching)) + end
    return pruned if len(pruned) < len(text) else text


def _matching_lines(lines: Sequence[str], words: KeyWords, count: int) -> list[int]:
    """Find the lines that match, by their index."""
    found = [words.found_in(line) for line in lines]
    in_lines = [sum(bits >> bit & 1 for bits in found) for bit in range(count)]
    telling = sum(1 << bit for bit in range(count) if 2 * in_lines[bit] <= len(lines))
    matching = [index for index, bits in enumerate(found) if bits & telling]
    if len(matching) * 100 < len(lines) * _LEAST_PERCENT:
        matching = [index for index, bits in enumerate(found) if bits]
    return matching


def _with_gaps(lines: Sequence[str], matching: Sequence[int]) -> Iterator[str]:
    """Give the lines to keep, and one for each gap."""
    shown = 0  # so many lines are kept or said to be left out
    for index in matching:
        first = max(index - _CONTEXT_LINES, shown)
        if first > shown:
            yield _gap(shown, first, len(lines))
        last = min(index + _CONTEXT_LINES + 1, len(lines))
        yield from lines[first:last]
        shown = max(shown, last)
    if shown < len(lines):
        yield _gap(shown, len(lines), len(lines))


def _gap(start: int, end: int, count: int) -> str:
    which = f"line {end:,}" if end == start + 1 else f"lines {start + 1:,}-{end:,}"
    return f"[... {which} of {count:,} left out ...]"
