"""No text of a tool closes the frame of its replacement, forges one, or opts out of the budget."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.builders import answer, call, msg, res, results_in, size_label, text_of
from tests.faults.breakouts import Breakout, Content, generated, handmade
from tests.faults.cores import running_on
from tests.faults.frame_bugs import FRAME_BUGS, framing_badly
from tests.faults.frame_oracle import Expected, problem_of
from tests.faults.frame_settings import settings_tried
from tests.faults.harness import Harness, Outcome, Scale
from toolbudget import Limits, Session, _core

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

__all__ = ["HARNESS"]

_GENERATED: Final = {Scale.BOUNDED: 10_000, Scale.SOAK: 1_000_000}
_HANDMADE_PREVIEW_BYTES: Final = (2_000, 100, 19, 1)
_STEPS_PERCENT: Final = (100, 50, 25, 10, 0)
_BATCH_SIZE: Final = 250
_GATE_LIMIT_CHARS: Final = 300
_HINT: Final = "Use read_result to see more"
_ID_PREFIXES: Final = ("toolu_", "toolu_", "<persisted-output>", "</PERSISTED-OUTPUT>\n", "../")
_LABEL: Final = re.compile(r"\n\nPreview \(first ([^)\n]+)\):\n")


class _Batch(NamedTuple):
    """Attempts that meet the same limits."""

    name: str
    breakouts: Sequence[Breakout]
    preview_bytes: int
    step_percent: int | None
    """The preview that the budget is to leave room for; ``None`` asks the gate."""
    hint: str | None


@dataclass
class _Tally:
    tries: int = 0
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, problem: str | None) -> None:
        self.tries += 1
        if problem is not None:
            self.violations.append(f"{name}: {problem}")


def _run(scale: Scale, bug: str | None) -> Outcome:
    if bug is not None:
        with framing_badly(bug):
            return _try_all(scale, [_core.load("python")], stops_early=True)
    cores = [_core.load("native"), _core.load("python")]
    return _try_all(scale, cores, stops_early=False)


def _try_all(scale: Scale, cores: Sequence[ModuleType], *, stops_early: bool) -> Outcome:
    tally = _Tally()
    for batch in chain(_handmade_batches(), _generated_batches(_GENERATED[scale])):
        _try_batch(batch, cores, tally)
        if stops_early and tally.violations:
            return Outcome(tally.tries, tuple(tally.violations))
    for core in cores:
        with running_on(core), tempfile.TemporaryDirectory() as folder:
            for name, problem in settings_tried(Path(folder)):
                tally.add(f"{core.__name__}: {name}", problem)
    counts = tally.counts
    by_hand = tally.tries - _GENERATED[scale]
    missing = [f"no preview at {step} %" for step in _STEPS_PERCENT if not counts[f"{step} %"]]
    shown = ", ".join(f"{what}: {count:,}" for what, count in sorted(counts.items()))
    detail = f"{by_hand:,} by hand, {_GENERATED[scale]:,} generated; previews of {shown}"
    return Outcome(tally.tries, (*tally.violations, *missing), detail)


def _handmade_batches() -> Iterator[_Batch]:
    for preview_bytes in _HANDMADE_PREVIEW_BYTES:
        breakouts = list(handmade(preview_bytes))
        for step_percent in (None, *_STEPS_PERCENT):
            name = f"by hand, preview of {preview_bytes} bytes, step {step_percent}"
            for start in range(0, len(breakouts), _BATCH_SIZE):
                part = breakouts[start : start + _BATCH_SIZE]
                yield _Batch(name, part, preview_bytes, step_percent, None)


def _generated_batches(attempts: int) -> Iterator[_Batch]:
    for seed in range(attempts // _BATCH_SIZE):
        random = Random(seed)  # noqa: S311 - what is tried is to be tried again
        preview_bytes = random.choice((random.randint(1, 60), random.randint(1, 3_000), 2_000))
        step_percent = random.choice((None, *_STEPS_PERCENT))
        breakouts = [generated(random, preview_bytes) for _ in range(_BATCH_SIZE)]
        hint = random.choice((None, _HINT))
        name = f"seed {seed}, preview of {preview_bytes} bytes, step {step_percent}"
        yield _Batch(name, breakouts, preview_bytes, step_percent, hint)


def _try_batch(batch: _Batch, cores: Sequence[ModuleType], tally: _Tally) -> None:
    # One folder for both cores: the same path stands in what they make, and the second one finds
    # the files of the first.
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        results = root / "session" / "tool-results"
        limits = _limits_of(batch, results)
        outputs = [_contents(core, root, batch, limits) for core in cores]
        limit = limits.max_result_chars if batch.step_percent is None else limits.max_message_chars
        for number, breakout in enumerate(batch.breakouts):
            emitted = [output[number] for output in outputs]
            expected = Expected(breakout.content, limit, batch.preview_bytes, results)
            problem = problem_of(expected, emitted[0])
            if any(other != emitted[0] for other in emitted):
                problem = "the cores differ"
            tally.add(f"{batch.name}, attempt {number} ({breakout.name})", problem)
            tally.counts[_step_of(text_of(emitted[0]), breakout, batch.preview_bytes)] += 1


def _limits_of(batch: _Batch, results: Path) -> Limits:
    """Choose the limit so that a reference with the preview of one step just fits."""
    shown_bytes = batch.preview_bytes * (batch.step_percent or 0) // 100
    frame_chars = len(str(results)) + (len(_HINT) if batch.hint else 0) + 230
    return Limits(
        max_result_chars=_GATE_LIMIT_CHARS,
        max_message_chars=frame_chars + shown_bytes,
        preview_bytes=batch.preview_bytes,
        reader_hint=batch.hint,
    )


def _contents(core: ModuleType, root: Path, batch: _Batch, limits: Limits) -> list[Content]:
    """Give what becomes of each attempt, the budget asked twice."""
    ids = [f"{_ID_PREFIXES[n % len(_ID_PREFIXES)]}{n}" for n in range(len(batch.breakouts))]
    blocks = [res(name, one.content) for name, one in zip(ids, batch.breakouts, strict=True)]
    opened = Session.open(root, "session", limits=limits, ephemeral=True, durability="process")
    with running_on(core), opened as session:
        if batch.step_percent is None:
            return [session.gate(block, tool_name="Fetch")["content"] for block in blocks]
        messages = [
            message
            for name, block in zip(ids, blocks, strict=True)
            for message in (answer(call(name, "Fetch"), message_id=name), msg(block))
        ]
        once = session.enforce(messages)
        again = session.enforce(once)
        return [block["content"] for block in results_in(again)]


def _step_of(text: str, breakout: Breakout, preview_bytes: int) -> str:
    if text == text_of(breakout.content):
        return "kept"
    label = _LABEL.search(text)
    if label is None:
        return "0 %"
    labels = {size_label(preview_bytes * step // 100): step for step in _STEPS_PERCENT[::-1]}
    return f"{labels.get(label[1], 'odd')} %"


HARNESS: Final = Harness(
    name="frames",
    promise="no text closes or forges a frame, or opts out of the budget",
    run=_run,
    bugs=FRAME_BUGS,
)
