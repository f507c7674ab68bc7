"""What a host does while its disk fails: each story is told with one fault at a time."""

from __future__ import annotations

import errno
import gc
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args

from tests.builders import is_reference, res, text_of
from tests.faults.erring import Fault
from tests.faults.opening import open_session
from tests.faults.workload import LIMITS, SESSION_ID, Sent, results_of_turn, run_turns
from toolbudget import ConfigError, StoreError, TranscriptError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tests.faults.erring import ErringFiles
    from toolbudget import Session
    from toolbudget.storage._files import Durability

__all__ = ["ENDINGS", "STORIES", "Begun", "Ending", "Host"]

Ending: TypeAlias = Literal["goes on", "closes", "vanishes"]
"""What the host does next: another turn when the disk is well, or close the session while it is
not, or forget it unclosed."""

ENDINGS: Final[tuple[Ending, ...]] = get_args(Ending)

_GATE_LIMIT_CHARS: Final = 1_000
# What is refused to be opened is there; a disk that has just gone read-only says so of anything.
_REFUSALS: Final = frozenset({errno.EACCES, errno.EROFS})
_NO_FILE_CAN_BE_MADE: Final = Fault(
    ("create_unnamed", "create_exclusive"), 1, errno.ENOSPC, "sticky"
)


class Begun(NamedTuple):
    """A fork or sub-agent that the host has tried to begin, and what it must send again."""

    name: Literal["fork", "agent"]
    turns: int
    texts: list[str]


class Host:
    """A host with one conversation, which notes what has gone out and what should not happen."""

    def __init__(self, root: Path, files: ErringFiles, fault: Fault | None) -> None:
        """Begin with a disk that is well."""
        self.sent: list[Sent] = []
        self.begun: list[Begun] = []
        self.broken: list[str] = []
        self._root = root
        self._files = files
        self._fault = fault
        self._session: Session | None = None
        # Failures that were named since the last request.
        self._named_failures = 0

    def meet_the_fault(self) -> None:
        """Let the disk fail from now on as it is to."""
        self._files.set_fault(self._fault)

    def open(self, *, strict: bool = False, durability: Durability = "full") -> None:
        """Open the session; a transcript that cannot be read is an error of ours."""
        try:
            self._session = open_session(
                self._root,
                SESSION_ID,
                files=self._files.files,
                limits=LIMITS,
                durability=durability,
                strict=strict,
            )
        except TranscriptError:
            self._session = None
        except Exception as error:  # noqa: BLE001 - whatever else reaches a host is a violation
            self.broken.append(f"open raised {error!r}")

    def take_turn(self, *, strict: bool = False) -> None:
        """Send the next request, if there is a session; a strict one may say why it cannot."""
        session, turn = self._session, len(self.sent)
        if session is None:
            return
        try:
            [sent] = run_turns(session, turn, turn + 1, lambda _sent: None)
        except Exception as error:  # noqa: BLE001 - see above
            if not (strict and isinstance(error, StoreError | TranscriptError)):
                self.broken.append(f"enforce raised {error!r}")
            return
        self.sent.append(sent)
        self._expect_failures_named(turn, sent.texts, sent.failures)

    def gate_results(self) -> None:
        """Pass the results of the next turn through the gate; what is replaced stays so."""
        if self._session is None:
            return
        turn = len(self.sent)
        gated: dict[int, str] = {}
        for index, text in enumerate(results_of_turn(turn)):
            block = res(f"toolu_{turn}_{index}", text)
            try:
                after = self._gate(self._session, block)
            except Exception as error:  # noqa: BLE001 - see above
                self.broken.append(f"gate raised {error!r}")
                continue
            if after != text:
                gated[index] = after
            elif len(text) > _GATE_LIMIT_CHARS and not self._session.report.failures:
                self.broken.append(f"gate: result {index} kept without a word")
        self.take_turn()
        new_texts = self.sent[turn].texts[-len(results_of_turn(turn)) :] if self.sent[turn:] else []
        self.broken += [
            f"result {index}: not sent as it came from the gate"
            for index, text in gated.items()
            if new_texts and new_texts[index] != text
        ]

    def be_refused(self) -> None:
        """Have a request refused because nothing could be stored; it does not count as sent."""
        self._files.set_fault(_NO_FILE_CAN_BE_MADE)
        self.take_turn()
        self._files.heal()
        refused = self.sent.pop()
        if any(map(is_reference, refused.texts[-len(results_of_turn(refused.turn)) :])):
            self.broken.append("stored where no file can be made")

    def withdraw(self) -> None:
        """Take back what was kept for the refused request."""
        if self._session is None:
            return
        try:
            self._session.withdraw()
        except Exception as error:  # noqa: BLE001 - see above
            self.broken.append(f"withdraw raised {error!r}")
        self._named_failures += len(self._session.report.failures)

    def begin_a_fork_and_an_agent(self) -> None:
        """Begin both and let them take a turn; neither touches the other or the session."""
        session = self._session
        if session is None:
            return
        self._begin("fork", lambda: session.fork("fork"))
        self._begin("agent", lambda: session.subagent("agent"))

    def end(self, ending: Ending) -> None:
        """Come to an end in one of the ways, on a disk that is well in the end."""
        if ending == "closes":
            self._close()
        self._files.heal()
        if ending == "goes on":
            if self._session is None:
                self.open()
            self.take_turn()
            if self.sent and self.sent[-1].failures:
                self.broken.append("failures are named although the disk is well again")
            self._close()
        self._session = None
        if ending == "vanishes":
            gc.collect()

    def reopen(self) -> None:
        """Close the session and meet the fault while it is resumed."""
        self._close()
        self.meet_the_fault()
        self.open()

    def _close(self) -> None:
        session, self._session = self._session, None
        try:
            if session is not None:
                session.close()
        except Exception as error:  # noqa: BLE001 - see above
            self.broken.append(f"close raised {error!r}")

    def _gate(self, session: Session, block: Mapping[str, Any]) -> str:
        after = session.gate(block, tool_name="Fetch", declared_limit=_GATE_LIMIT_CHARS)
        return text_of(after["content"])

    def _begin(self, name: Literal["fork", "agent"], begin: Callable[[], Session]) -> None:
        before = self.sent[-1]
        begun = Begun(name, before.turn + 1, before.texts)
        try:
            with begin() as child:
                [sent] = run_turns(child, begun.turns, begun.turns + 1, lambda _sent: None)
                begun = Begun(name, sent.turn + 1, sent.texts)
                self._expect_failures_named(sent.turn, sent.texts, sent.failures)
        except Exception as error:  # noqa: BLE001 - see above
            if not (isinstance(error, StoreError | TranscriptError) or self._looks_taken(error)):
                self.broken.append(f"{name} raised {error!r}")
        if begun.texts[: len(before.texts)] != before.texts:
            self.broken.append(f"{name}: does not send what the session has sent")
        self.begun.append(begun)

    def _looks_taken(self, error: Exception) -> bool:
        """Tell whether an id was called taken because its name could be seen but not opened."""
        is_refusal = self._fault is not None and self._fault.error in _REFUSALS
        return isinstance(error, ConfigError) and is_refusal

    def _expect_failures_named(self, turn: int, texts: list[str], failures: int) -> None:
        """What is too large goes out in full only if a report has said why."""
        originals = results_of_turn(turn)
        small = min(originals, key=len)
        new_texts = texts[-len(originals) :]
        kept = [one for one, text in zip(originals, new_texts, strict=True) if one == text]
        if set(kept) - {small} and not failures + self._named_failures:
            self.broken.append(f"turn {turn}: sent in full without a word")
        self._named_failures = 0


def _tell_first_turn(host: Host) -> None:
    host.meet_the_fault()
    host.open()
    host.take_turn()


def _tell_later_turn(host: Host) -> None:
    host.open()
    host.take_turn()
    host.meet_the_fault()
    host.take_turn()


def _tell_resume(host: Host) -> None:
    host.open()
    host.take_turn()
    host.reopen()
    host.take_turn()


def _tell_branches(host: Host) -> None:
    host.open()
    host.take_turn()
    host.meet_the_fault()
    host.begin_a_fork_and_an_agent()
    host.take_turn()


def _tell_gate(host: Host) -> None:
    # At this level other calls sync.
    host.open(durability="data")
    host.take_turn()
    host.meet_the_fault()
    host.gate_results()


def _tell_withdrawal(host: Host) -> None:
    host.open()
    host.take_turn()
    host.be_refused()
    host.meet_the_fault()
    host.withdraw()
    host.take_turn()


def _tell_strict_turn(host: Host) -> None:
    host.open(strict=True)
    host.take_turn()
    host.meet_the_fault()
    host.take_turn(strict=True)


STORIES: Final[dict[str, Callable[[Host], None]]] = {
    "first turn": _tell_first_turn,
    "later turn": _tell_later_turn,
    "resume": _tell_resume,
    "fork and sub-agent": _tell_branches,
    "gate": _tell_gate,
    "withdrawal": _tell_withdrawal,
    "strict turn": _tell_strict_turn,
}
