"""One small conversation that every harness can run, in this process or in one that may die.

As a program, ``python -m tests.faults.workload ROOT TURNS`` goes on with the conversation and says
on a line each what it has sent. Whoever started it owns the oracle: what was said before the death
of the program can still be read.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.builders import answer, call, is_reference, msg, read_reference, res, results_in, text_of
from tests.faults.bugs import seeded
from tests.faults.opening import open_session
from toolbudget import Limits
from toolbudget.storage._files import POSIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolbudget import Session
    from toolbudget.storage._files import Durability, FileSystem

__all__ = [
    "LIMITS",
    "SESSION_ID",
    "Sent",
    "history",
    "results_of_turn",
    "run_turns",
    "sent_texts",
    "violations_after",
]

SESSION_ID: Final = "session"
LIMITS: Final = Limits(max_message_chars=2_000, preview_bytes=100)
_SIZES_CHARS: Final = (4_000, 30, 6_000)


class Sent(NamedTuple):
    """What went out in one turn.

    Attributes:
        turn: Its number, from 0.
        texts: The text of every result of the whole request, in order.
        failures: How many the report named.
        record_failures: How many of them were about records.
    """

    turn: int
    texts: list[str]
    failures: int
    record_failures: int = 0


def results_of_turn(turn: int) -> list[str]:
    """Return the full texts of a turn: two that are too large together with any, one small."""
    return [
        f"turn {turn} result {index} line\n".ljust(32, ".") * (size_chars // 32 + 1)
        for index, size_chars in enumerate(_SIZES_CHARS)
    ]


def history(turns: int, *, is_answered: bool = False) -> list[dict[str, Any]]:
    """Return the conversation of so many turns; answered, if the model has replied to the last."""
    messages: list[dict[str, Any]] = [msg({"type": "text", "text": "please look at everything"})]
    for turn in range(turns):
        texts = results_of_turn(turn)
        ids = [f"toolu_{turn}_{index}" for index in range(len(texts))]
        messages.append(answer(*(call(name, "Fetch") for name in ids), message_id=f"m{turn}"))
        messages.append(msg(*(res(name, text) for name, text in zip(ids, texts, strict=True))))
    if is_answered:
        messages.append(answer({"type": "text", "text": "seen"}, message_id=f"m{turns}"))
    return messages


def sent_texts(messages: Sequence[Any]) -> list[str]:
    """Return the text of every result, in order."""
    return [text_of(block["content"]) for block in results_in(messages)]


def run_turns(
    session: Session, first_turn: int, turns: int, say: Callable[[Sent], object]
) -> Iterator[Sent]:
    """Go on with the conversation; each turn is said as soon as its request may go out."""
    for turn in range(first_turn, turns):
        texts = sent_texts(session.enforce(history(turn + 1)))
        failures = session.report.failures
        unrecorded = [failure for failure in failures if failure.stage == "record"]
        sent = Sent(turn, texts, len(failures), len(unrecorded))
        say(sent)
        yield sent


def violations_after(
    root: Path,
    sent: Sequence[Sent],
    *,
    turns_more: int = 1,
    files: FileSystem = POSIX,
    durability: Durability = "full",
    adopts: bool = False,
) -> list[str]:
    """Resume twice, going on in between, and say which promises are broken.

    Args:
        root: The folder of sessions, on a file system that works again.
        sent: Everything that certainly went out.
        turns_more: How many turns the conversation goes on for.
        files: The file system.
        durability: What the conversation outlives from now on.
        adopts: Whether the host first marks as seen what it has sent, as one does whose reports
            named records that failed.
    """
    turns = sent[-1].turn + 1 if sent else 0
    expected = sent[-1].texts if sent else []
    broken = _drift_within(sent) + _bad_references(root, turns, expected, files)
    broken += _partial_files(root, turns + turns_more + 1, files)
    for resume in ("first resume", "second resume"):
        with open_session(
            root, SESSION_ID, files=files, limits=LIMITS, durability=durability
        ) as session:
            if adopts and resume == "first resume":
                session.mark_seen(history(turns, is_answered=bool(sent)))
            again = sent_texts(session.enforce(history(turns, is_answered=bool(sent))))
            if again[: len(expected)] != expected:
                broken.append(f"{resume}: drift")
            turns += turns_more
            expected = sent_texts(session.enforce(history(turns)))
        broken += _bad_references(root, turns, expected, files)
    return broken


def _drift_within(sent: Sequence[Sent]) -> list[str]:
    last = sent[-1].texts if sent else []
    return [
        f"turn {one.turn}: sent otherwise in a later turn"
        for one in sent
        if last[: len(one.texts)] != one.texts
    ]


def _bad_references(root: Path, turns: int, texts: list[str], files: FileSystem) -> list[str]:
    originals = [text for turn in range(turns) for text in results_of_turn(turn)]
    broken = []
    for number, (original, text) in enumerate(zip(originals, texts, strict=True)):
        if text == original:
            continue
        if not is_reference(text):
            broken.append(f"result {number}: neither the original nor a reference")
        elif _read(root, read_reference(text).path, files) != original.encode():
            broken.append(f"result {number}: reference to missing or wrong bytes")
    return broken


def _partial_files(root: Path, turns: int, files: FileSystem) -> list[str]:
    """Every file in the folder of results holds a whole result, whoever refers to it."""
    complete = {text.encode() for turn in range(turns) for text in results_of_turn(turn)}
    folder = root / SESSION_ID / "tool-results"
    names = _names(folder, files)
    return [
        f"{name}: partial file under a final name"
        for name in names
        if _read(root, folder / name, files) not in complete
    ]


def _names(folder: Path, files: FileSystem) -> list[str]:
    try:
        handle = files.open_root(str(folder))
    except OSError:
        return []
    try:
        return sorted(files.names(handle))
    finally:
        files.close(handle)


def _read(root: Path, path: Path, files: FileSystem) -> bytes | None:
    if not path.is_relative_to(root):
        return None
    try:
        directory = files.open_root(str(path.parent))
    except OSError:
        return None
    try:
        handle = files.open_file(path.name, parent=directory)
    except OSError:
        return None
    else:
        content = b""
        while part := files.read(handle, 1 << 20, offset=len(content)):
            content += part
        files.close(handle)
        return content
    finally:
        files.close(directory)


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("turns", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--durability", default="full")
    parser.add_argument("--bug")
    options = parser.parse_args()

    def say(sent: Sent) -> None:
        sys.stdout.write(json.dumps(sent._asdict()) + "\n")
        sys.stdout.flush()

    with seeded(options.bug, POSIX) if options.bug else nullcontext():
        level = options.durability
        with open_session(options.root, SESSION_ID, limits=LIMITS, durability=level) as session:
            for _ in run_turns(session, options.first, options.turns, say):
                pass


if __name__ == "__main__":
    _main()
