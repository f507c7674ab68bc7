"""What many deciders race about, and the oracle: which texts went out, and what is left on disk."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.builders import (
    answer,
    call,
    digest_of,
    is_reference,
    msg,
    read_reference,
    res,
    results_in,
    text_of,
)
from tests.faults.opening import open_session
from toolbudget import Limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from toolbudget.storage._filesystem import Durability

__all__ = ["SESSION_ID", "Key", "Ledger", "Subject", "limits_of"]

SESSION_ID: Final = "session"
_SIZES_CHARS: Final = (6_000, 500, 3_000, 1_500)
_LIMIT_KINDS: Final = 8

Key = tuple[str, int, str]
"""Id, size and hash of a result: what a record says a decision is about."""


def limits_of(number: int) -> Limits:
    """Return the limits of one decider, which no neighbour of it has."""
    step = number % _LIMIT_KINDS
    return Limits(
        max_message_chars=1_500 + 900 * step,
        max_result_chars=1_000 + 500 * step,
        preview_bytes=40 + 30 * step,
    )


class _Result(NamedTuple):
    tool_use_id: str
    text: str

    @property
    def key(self) -> Key:
        return self.tool_use_id, len(self.text), digest_of(self.text.encode())


class Subject(NamedTuple):
    """The conversation that all deciders have: so many turns with so many results each."""

    turns: int
    results_per_turn: int

    def results(self) -> list[_Result]:
        """Return every result, in order; every second id is used again in each turn."""
        return [
            _Result(f"call_{index}" if index % 2 else f"toolu_{turn}_{index}", _text(turn, index))
            for turn in range(self.turns)
            for index in range(self.results_per_turn)
        ]

    def messages(self, turns: int) -> list[dict[str, Any]]:
        """Return the request of a turn, counted from 1."""
        results, width = self.results(), self.results_per_turn
        messages = [msg({"type": "text", "text": "please look at everything"})]
        for turn in range(turns):
            own = results[turn * width : (turn + 1) * width]
            calls = (call(result.tool_use_id, "Fetch") for result in own)
            messages.append(answer(*calls, message_id=f"m{turn}"))
            messages.append(msg(*(res(result.tool_use_id, result.text) for result in own)))
        return messages


def _text(turn: int, index: int) -> str:
    line = f"turn {turn} result {index} line\n".ljust(32, ".")
    return line * (_SIZES_CHARS[index % len(_SIZES_CHARS)] // len(line))


class Ledger:
    """Which texts have gone out for each result, whoever sent them."""

    def __init__(self, subject: Subject) -> None:
        """Begin before the first request."""
        self.subject = subject
        self.results: Final = subject.results()
        self._sent: dict[int, set[str]] = {}
        self._numbers = {result.key: number for number, result in enumerate(self.results)}

    def note(self, sent: Iterable[tuple[int, str]]) -> None:
        """Note what a decider has sent, by the number of the result."""
        for number, text in sent:
            self._sent.setdefault(number, set()).add(text)

    def number_of(self, key: Key) -> int:
        """Return the number of the result that a record is about."""
        return self._numbers[key]

    def violations(
        self,
        root: Path,
        *,
        may_withdraw: bool = False,
        torn_lines: int = 0,
        durability: Durability = "process",
    ) -> list[str]:
        """Say which promises are broken, now that every decider has ended.

        Args:
            root: The folder of sessions.
            may_withdraw: Kept results may have been taken back and replaced.
            torn_lines: How many deciders died while they wrote.
            durability: Of the sessions that resume.
        """
        broken = [*self._disagreements(may_withdraw=may_withdraw), *self._bad_references(root)]
        broken += self._bad_records(root, may_repeat=may_withdraw, torn_lines=torn_lines)
        broken += self._leftovers(root, has_deaths=torn_lines > 0)
        return [*broken, *self._drift(root, durability)]

    def _replacements(self, number: int) -> set[str]:
        return self._sent.get(number, set()) - {self.results[number].text}

    def _disagreements(self, *, may_withdraw: bool) -> Iterator[str]:
        for number, texts in self._sent.items():
            forms = self._replacements(number) if may_withdraw else texts
            if len(forms) > 1:
                yield f"result {number}: {len(forms)} different texts were sent"

    def _bad_references(self, root: Path) -> Iterator[str]:
        folder = root / SESSION_ID / "tool-results"
        for number in self._sent:
            for text in self._replacements(number):
                path = read_reference(text).path if is_reference(text) else None
                if path is None or path.parent != folder or not path.is_file():
                    yield f"result {number}: neither the original nor a reference of the session"
                elif path.read_bytes() != self.results[number].text.encode():
                    yield f"result {number}: reference to other bytes"

    def _bad_records(self, root: Path, *, may_repeat: bool, torn_lines: int) -> Iterator[str]:
        lines = (root / f"{SESSION_ID}.jsonl").read_bytes().split(b"\n")
        if lines.pop() != b"" and not torn_lines:
            yield "the record file ends inside a line"
        records, damaged = _parse(lines)
        if damaged > torn_lines:
            yield f"{damaged} damaged lines in the record file"
        if may_repeat:
            return
        for key, times in Counter(key for record in records for key in _decided(record)).items():
            if times > 1:
                yield f"result {self.number_of(key)}: decided {times} times"

    def _leftovers(self, root: Path, *, has_deaths: bool) -> Iterator[str]:
        folder = root / SESSION_ID
        allowed = {"tool-results", "subagents", "session.lock"}
        yield from (
            f"leftover {path.name}" for path in folder.iterdir() if path.name not in allowed
        )
        results = folder / "tool-results"
        stored = Counter(p.read_bytes() for p in results.iterdir()) if results.is_dir() else {}
        replaced = (number for number in self._sent if self._replacements(number))
        wanted = Counter(self.results[number].text.encode() for number in replaced)
        extra = Counter(stored) - wanted
        whole = {result.text.encode() for result in self.results}
        yield from ("partial result" for content in extra if content not in whole)
        if extra and not has_deaths:
            yield f"{extra.total()} stored files that nobody refers to"

    def _drift(self, root: Path, durability: Durability) -> Iterator[str]:
        messages = self.subject.messages(self.subject.turns)
        for number in (3, 6):
            limits = limits_of(number)
            with open_session(root, SESSION_ID, limits=limits, durability=durability) as session:
                sent = [
                    text_of(block["content"]) for block in results_in(session.enforce(messages))
                ]
            for index, text in enumerate(sent):
                known = self._replacements(index) or self._sent.get(index, {text})
                if text not in known:
                    yield f"result {index}: another text after resume"


def _parse(lines: Sequence[bytes]) -> tuple[list[Mapping[str, Any]], int]:
    records: list[Mapping[str, Any]] = []
    damaged = 0
    for line in lines:
        try:
            records.append(json.loads(line.decode("ascii")))
        except ValueError:
            damaged += 1
    return records, damaged


def _decided(record: Mapping[str, Any]) -> Iterator[Key]:
    for entry in record.get("replacements", ()):
        yield entry["toolUseId"], entry["size"], entry["hash"]
    yield from map(tuple, record.get("frozen", ()))
