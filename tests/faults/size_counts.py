"""More results, blocks and ids than any host has."""

from __future__ import annotations

import gc
import shutil
from typing import TYPE_CHECKING, Any, Final

from tests.builders import answer, call, is_reference, msg, read_reference, res
from tests.faults.harness import Scale
from tests.faults.measuring import MIB, Cost, Found, measured
from toolbudget import Limits, Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["CASES"]

_MILLION: Final = 1_000_000
# Ten times as many take ten times as long, up to twenty on a busy machine; if the time grew with
# the square it would be a hundred.
_MAX_RATIO: Final = 40.0
_ATTEMPTS: Final = 3
_LARGE: Final = "x" * 9_000
_RESULTS_PER_MESSAGE: Final = 100
_MAX_BYTES_PER_RESULT: Final = 2_000


def _many_results(root: Path, scale: Scale) -> Found:
    """Time and memory of a call grow with the number of its results, and no faster."""
    many = _MILLION if scale is Scale.SOAK else _MILLION // 10
    few_s = min(_enforcing(root, many // 10).elapsed_s for _ in range(_ATTEMPTS))
    cost = _enforcing(root, many)
    ratio = cost.elapsed_s / few_s
    bytes_per_result = cost.peak_mib * MIB / many
    figures = f"{many:,} results, {cost.figures}, {bytes_per_result:.0f} bytes each, x{ratio:.1f}"
    if ratio > _MAX_RATIO:
        return Found(f"ten times as many take {ratio:.0f} times as long", figures)
    is_small = bytes_per_result <= _MAX_BYTES_PER_RESULT
    return Found(None if is_small else f"more than {_MAX_BYTES_PER_RESULT} bytes each", figures)


def _enforcing(root: Path, results: int) -> Cost[list[Any]]:
    messages: list[Any] = []
    for start in range(0, results, _RESULTS_PER_MESSAGE):
        ids = [f"toolu_{start + number}" for number in range(_RESULTS_PER_MESSAGE)]
        messages.append(answer(*(call(name, "Fetch") for name in ids), message_id=f"m{start}"))
        messages.append(msg(*(res(name, f"text of {name}") for name in ids)))
    gc.disable()  # what it costs depends on all that this process holds
    try:
        with _opened(root, Limits()) as session:
            return measured(lambda: session.enforce(messages))
    finally:
        gc.enable()


def _many_blocks(root: Path, _scale: Scale) -> Found:
    """So it is with the blocks of one result, all of which are stored."""
    content = [{"type": "text", "text": "x"} for _ in range(_MILLION)]
    with _opened(root, Limits()) as session:
        cost = measured(lambda: session.gate(res("t1", content), tool_name="Fetch"))
    reference = read_reference(cost.result["content"])
    expected_bytes = _MILLION * len('{"type":"text","text":"x"},') + 1
    if reference.path.stat().st_size != expected_bytes:
        return Found(f"stored {reference.path.stat().st_size} bytes", cost.figures)
    return Found(None, f"{_MILLION:,} blocks, {cost.figures}")


def _many_ids(root: Path, _scale: Scale) -> Found:
    """A turn with 100,000 ids: so many of the largest go as must, every other one stays."""
    ids = [f"toolu_{number}" for number in range(_MILLION // 10)]
    large_ids = ids[::1_000]
    blocks = [res(name, "y") for name in ids]
    blocks[::1_000] = [res(name, _LARGE) for name in large_ids]
    messages = [answer(*(call(name, "Fetch") for name in ids)), msg(*blocks)]
    limits = Limits(max_message_chars=150_000, preview_bytes=100)
    with _opened(root, limits) as session:
        cost = measured(lambda: session.enforce(messages))
    contents = [block["content"] for block in cost.result[1]["content"]]
    replaced = [name for name, text in zip(ids, contents, strict=True) if is_reference(text)]
    visible_chars = sum(map(len, contents))
    figures = f"{len(replaced)} replaced, {cost.figures}"
    if replaced != large_ids[: len(replaced)]:
        return Found("others than the largest were replaced", figures)
    spared_chars = len(_LARGE) - len(contents[0])
    is_right = visible_chars <= limits.max_message_chars < visible_chars + spared_chars
    return Found(None if is_right else f"{visible_chars} characters are left", figures)


def _long_id(root: Path, _scale: Scale) -> Found:
    """An id of 10 MB is stored under a short name and known again after a resume."""
    long_id = "/<" * 5_000_000
    messages = [answer(call(long_id, "Fetch")), msg(res(long_id, "x" * 300_000))]
    with _opened(root, Limits()) as session:
        cost = measured(lambda: session.enforce(messages))
        sent = cost.result
    reference = sent[1]["content"][0]["content"]
    if not is_reference(reference) or len(read_reference(reference).path.name) > 120:
        return Found(f"was not stored: {reference[:99]!r}", cost.figures)
    with Session.open(root, "session", durability="process") as session:
        is_same = session.enforce(messages) == sent
    return Found(None if is_same else "drift after resume", cost.figures)


def _endless_id(root: Path, _scale: Scale) -> Found:
    """An id that no record can hold keeps its text, and the report says so."""
    endless_id = "i" * (100 * MIB)
    block = res(endless_id, "x" * 300_000)
    with _opened(root, Limits()) as session:
        cost = measured(lambda: session.gate(block, tool_name="Fetch"))
        has_failed = bool(session.report.failures)
    if cost.result is not block or not has_failed:
        return Found("was replaced, or kept in silence", cost.figures)
    return Found(None, cost.figures)


def _opened(root: Path, limits: Limits) -> Session:
    shutil.rmtree(root, ignore_errors=True)
    return Session.open(root, "session", limits=limits, durability="process")


CASES: Final[dict[str, Callable[[Path, Scale], Found]]] = {
    "many results": _many_results,
    "million blocks": _many_blocks,
    "100,000 ids": _many_ids,
    "id of 10 MB": _long_id,
    "id of 100 MB": _endless_id,
}
