"""Measure how far off ``estimate_tokens`` is: ``make token-error`` writes docs/tokens.md.

It also records counts in tests/vectors/token_counts.json, so that a test need not have the
tokenizers.

The tokenizers are those that packages ship: that of Claude 2 (in anthropic before 0.39), and
``cl100k_base`` and ``o200k_base`` of OpenAI (in bpe-openai). There is none for later models of
Claude.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import zlib
from collections import defaultdict
from importlib import import_module
from importlib.metadata import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benches.token_texts import Sample, corpus_samples, emoji_samples, package_samples
from toolbudget.tokens import estimate_tokens, rough_token_count_estimation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["MOST_OVER_PROSE_PERCENT", "MOST_UNDER_PERCENT", "table", "tokenizers"]

MOST_UNDER_PERCENT: Final = -15.0
MOST_OVER_PROSE_PERCENT: Final = 25.0
_PROSE: Final = "English"
_VECTORS: Final = Path("tests/vectors/token_counts.json")
_BEGIN, _END = "<!-- begin: make token-error -->\n", "<!-- end -->\n"


def tokenizers() -> dict[str, Callable[[str], int]]:
    """Load the tokenizers, as functions that count.

    Raises:
        ImportError: The dependency group ``token-error`` is not installed.
    """
    bpe_openai, tokenizers = map(import_module, ("bpe_openai", "tokenizers"))
    (shipped,) = (file for file in files("anthropic") or () if file.name == "tokenizer.json")
    claude = tokenizers.Tokenizer.from_file(str(shipped.locate()))
    general, dense = map(bpe_openai.get_encoding, ("cl100k_base", "o200k_base"))
    return {
        "Claude 2": lambda text: len(claude.encode(text, add_special_tokens=False).ids),
        "cl100k_base": lambda text: len(general.encode_ordinary(text)),
        "o200k_base": lambda text: len(dense.encode_ordinary(text)),
    }


def _errors_percent(
    samples: Sequence[Sample], count: Callable[[str], int], estimate: Callable[[str], int]
) -> list[float]:
    """Return by how many percent an estimate is over (or, negative, under) a count."""
    return [100 * (estimate(sample.text) / count(sample.text) - 1) for sample in samples]


def table(samples: Sequence[Sample]) -> tuple[str, list[str]]:
    """Write the table; list the promises that are broken."""
    counts = tokenizers()
    rows, broken = [_heading(counts)], []
    for (kind, is_held_out), group in _grouped(samples).items():
        cells = [kind, "held out" if is_held_out else "fitted", str(len(group))]
        for name, count in counts.items():
            errors = _errors_percent(group, count, estimate_tokens)
            cells.append(_cell(errors))
            median = statistics.median(errors)
            if median < MOST_UNDER_PERCENT or (kind == _PROSE and median > MOST_OVER_PROSE_PERCENT):
                broken.append(f"{kind}, {name}: {median:+.0f} %")
        worst = max(counts, key=lambda name: statistics.mean(map(counts[name], _texts(group))))
        rough = _errors_percent(group, counts[worst], rough_token_count_estimation)
        cells.append(f"{statistics.median(rough):+.0f} %")
        rows.append(_row(cells))
    return "".join(rows), broken


def _heading(counts: Mapping[str, object]) -> str:
    names = ["kind of text", "weights", "texts", *counts, "characters / 4"]
    return _row(names) + _row(["---", "---", *["---:"] * (len(names) - 2)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _cell(errors: Sequence[float]) -> str:
    tenths = statistics.quantiles(errors, n=10)
    return f"{statistics.median(errors):+.0f} % ({tenths[0]:+.0f} … {tenths[-1]:+.0f})"


def _texts(samples: Sequence[Sample]) -> list[str]:
    return [sample.text for sample in samples]


def _grouped(samples: Sequence[Sample]) -> dict[tuple[str, bool], list[Sample]]:
    groups: defaultdict[tuple[str, bool], list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[sample.kind, sample.is_held_out].append(sample)
    return {key: groups[key] for key in sorted(groups)}


def record(samples: Sequence[Sample], path: Path) -> None:
    """Write what the tokenizers count, for a test that has none of them."""
    counts = tokenizers()
    vectors = json.loads(path.read_bytes())
    vectors["samples"] = {
        sample.name: [zlib.crc32(sample.text.encode()), *_counted(sample.text, counts)]
        for sample in samples
    }
    for entry in vectors["texts"]:
        entry["counts"] = _counted(entry["text"], counts)
    path.write_text(json.dumps(vectors, ensure_ascii=False, indent=1) + "\n")


def _counted(text: str, counts: Mapping[str, Callable[[str], int]]) -> list[int]:
    return [count(text) for count in counts.values()]


def _main(document: Path) -> int:
    recorded = [*corpus_samples(Path(os.environ["TOOLBUDGET_CORPUS"])), *emoji_samples()]
    record(recorded[::3], _VECTORS)
    samples = [*corpus_samples(Path(os.environ["TOOLBUDGET_CORPUS"])), *package_samples()]
    rows, broken = table(samples)
    text = document.read_text()
    start, end = text.index(_BEGIN) + len(_BEGIN), text.index(_END)
    document.write_text(text[:start] + rows + text[end:])
    sys.stdout.write(rows + "".join(f"broken: {promise}\n" for promise in broken))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1])))
