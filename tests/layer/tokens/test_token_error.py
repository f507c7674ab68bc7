from __future__ import annotations

import json
import statistics
import zlib
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from benches.token_error import MOST_OVER_PROSE_PERCENT, MOST_UNDER_PERCENT, table
from benches.token_texts import corpus_samples, emoji_samples, package_samples
from toolbudget.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

_VECTORS: Final = Path(__file__).parents[2] / "vectors" / "token_counts.json"
# Which tokenizers a row of counts is of; the last one makes the fewest tokens.
_TOKENIZERS: Final = ("Claude 2", "cl100k_base", "o200k_base")


def vectors() -> dict[str, Any]:
    """Read what real tokenizers counted."""
    document: dict[str, Any] = json.loads(_VECTORS.read_bytes())
    return document


def check(counted: Iterable[tuple[str, str, list[int]]]) -> set[str]:
    """Hold the promise for texts whose tokens were counted; return the kinds that were met."""
    errors: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for kind, text, counts in counted:
        for tokenizer, count in zip(_TOKENIZERS, counts, strict=True):
            errors[kind, tokenizer].append(100 * (estimate_tokens(text) / count - 1))
    for (kind, tokenizer), of_kind in errors.items():
        median = statistics.median(of_kind)
        assert median >= MOST_UNDER_PERCENT, (kind, tokenizer)
        assert kind != "English" or median <= MOST_OVER_PROSE_PERCENT, tokenizer
    return {kind for kind, _ in errors}


def test_no_kind_of_the_corpus_is_estimated_far_too_low(corpus: Path) -> None:
    """Median: at most 15 % under for each kind, at most 25 % over for prose; counts recorded."""
    recorded = vectors()["samples"]
    samples = [*corpus_samples(corpus), *emoji_samples()]
    known = [sample for sample in samples if sample.name in recorded]
    assert len(known) == len(recorded)
    for sample in known:
        assert zlib.crc32(sample.text.encode()) == recorded[sample.name][0], sample.name
    counted = ((sample.kind, sample.text, recorded[sample.name][1:]) for sample in known)
    assert check(counted) == {"English", "code", "JSON", "logs", "base64", "emoji"}


def test_neither_is_chinese_japanese_or_korean() -> None:
    """The same for short texts of these languages."""
    counted = ((text["kind"], text["text"], text["counts"]) for text in vectors()["texts"])
    assert check(counted) == {"Chinese", "Japanese", "Korean"}


def test_the_tokenizers_say_the_same_today(corpus: Path) -> None:
    """The promise against the tokenizers themselves, on every kind of text."""
    for package in ("bpe_openai", "tokenizers", "django", "sphinx"):
        pytest.importorskip(package, reason="the group token-error is not installed")
    rows, broken = table([*corpus_samples(corpus), *package_samples()])
    assert "minified" in rows
    assert broken == []
