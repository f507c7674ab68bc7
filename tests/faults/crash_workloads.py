"""Small jobs of a host, to be interrupted at each of their steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.faults.crash_ledger import LIMITS, Conversation, Ledger, Name, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.crash_ledger import Host

__all__ = ["LONG", "SMALL", "Workload"]

_MAIN: Final = Name("main")
_FORK: Final = Name("fork")
_AGENT: Final = Name("main", "agent")

_LARGE: Final = 1_000
_MIDDLE: Final = 480
_LITTLE: Final = 300
# What fits before a refusal does not fit afterwards.
_ROOMY: Final = replace(LIMITS, max_message_chars=1_200)


class Workload(NamedTuple):
    """A job, and the sizes of the results of each turn of its main conversation.

    Attributes:
        name: For the reader of a violation.
        run: Does the job.
        sizes_chars: Of the results, by turn.
        has_unnamed: Whether the disk has files without names.
    """

    name: str
    run: Callable[[Host], None]
    sizes_chars: tuple[tuple[int, ...], ...]
    has_unnamed: bool = True

    def begin(self) -> Ledger:
        """Return the ledger of a host that has done nothing yet."""
        turns = tuple(
            Turn(f"main_{number}", sizes) for number, sizes in enumerate(self.sizes_chars)
        )
        limits = _ROOMY if self.run is _refused else LIMITS
        return Ledger.of(Conversation(_MAIN, turns, limits=limits))


def _turns_left(host: Host) -> range:
    conversation = host.ledger.conversations[_MAIN]
    return range(len(conversation.turns) - conversation.sent_turns)


def _one_session(host: Host) -> None:
    """Take all turns with one object."""
    with host.open(_MAIN) as session:
        for _ in _turns_left(host):
            host.take_turn(session, _MAIN)


def _resumed(host: Host) -> None:
    """Open the session anew for each turn."""
    for _ in _turns_left(host):
        with host.open(_MAIN) as session:
            host.resend(session, _MAIN, is_answered=True)
            host.take_turn(session, _MAIN)


def _two_processes(host: Host) -> None:
    """Take the turns by two objects in turn."""
    with host.open(_MAIN) as first, host.open(_MAIN) as second:
        for number in _turns_left(host):
            one, other = (first, second) if number % 2 == 0 else (second, first)
            host.take_turn(one, _MAIN)
            host.resend(other, _MAIN, is_answered=False)


def _branched(host: Host, name: Name) -> None:
    label = name.agent_id or name.session_id
    turns = (Turn(f"{label}_1", (_LARGE, _LITTLE)), Turn(f"{label}_2", (_LITTLE,)))
    with host.open(_MAIN) as session:
        host.take_turn(session, _MAIN)
        with host.branch(session, host.begin_branch(name, _MAIN, turns)) as branch:
            host.take_turn(branch, name)
            for _ in _turns_left(host):
                host.take_turn(session, _MAIN)
            host.take_turn(branch, name)


def _forked(host: Host) -> None:
    """Fork after the first turn; both go on."""
    _branched(host, _FORK)


def _with_agent(host: Host) -> None:
    """Begin a sub-agent after the first turn; both go on."""
    _branched(host, _AGENT)


def _gated(host: Host) -> None:
    """Pass every result through the gate before the turn's request."""
    with host.open(_MAIN) as session:
        for _ in _turns_left(host):
            conversation = host.ledger.conversations[_MAIN]
            for index in range(len(conversation.turn(conversation.sent_turns).sizes_chars)):
                host.gate(session, _MAIN, index)
            host.take_turn(session, _MAIN)


def _streamed(host: Host) -> None:
    """Have a result of each turn come in piece by piece before the turn's request."""
    with host.open(_MAIN) as session:
        for _ in _turns_left(host):
            host.stream(session, _MAIN, 0)
            host.take_turn(session, _MAIN)


def _refused(host: Host) -> None:
    """Have the second request refused, take it back, and go on under a lower limit."""
    with host.open(_MAIN) as session:
        host.take_turn(session, _MAIN)
        host.take_turn(session, _MAIN)
        host.be_refused(session, _MAIN, LIMITS)
    _one_session(host)


_L: Final = _LARGE
_S: Final = _LITTLE
_M: Final = _MIDDLE
_KEPT: Final = ((_S,), (_S,))

_JOBS: Final = (
    Workload("one session", _one_session, ((_L, _S), (_S,), (_L, _L, _S))),
    Workload("kept ones first", _one_session, ((_S,), (_S,), (_L,))),
    Workload("resumed", _resumed, ((_L, _S), (_S,), (_S, _L))),
    Workload("two processes", _two_processes, ((_L,), (_S,), (_S, _L))),
    Workload("fork", _forked, ((_L, _S), (_S,), (_L,))),
    Workload("sub-agent", _with_agent, ((_L, _S), (_S,), (_L,))),
    Workload("gate", _gated, ((_L, _S), (_S,), (_M, _M, _L))),
    Workload("streamed", _streamed, ((_L, _S), (_L,))),
    Workload("refused", _refused, ((_L, _S), (_M, _M), (_S,))),
)

_LONG_JOBS: Final = (
    Workload("one long session", _one_session, ((_L, _S), *_KEPT, (_L, _L), (_S,), (_L,) * 4)),
    Workload("long, kept ones first", _one_session, (*_KEPT, *_KEPT, (_L, _L, _L), (_S,))),
    Workload("resumed often", _resumed, ((_S,), (_L, _S), *_KEPT, (_L, _L), (_S,), (_L,))),
    Workload("two long processes", _two_processes, ((_L,), (_S,), (_S, _L), (_S,), (_L, _L))),
    Workload("long fork", _forked, ((_L, _S), *_KEPT, (_L, _L), (_S,))),
    Workload("long sub-agent", _with_agent, ((_L, _S), *_KEPT, (_L, _L), (_S,))),
    Workload("long gate", _gated, ((_L, _S), (_S,), (_M, _M, _L), (_L, _L), (_S, _M))),
    Workload("long refused", _refused, ((_L, _S), (_M, _M), (_S,), (_M, _M), (_L, _S))),
)


def _on_both_disks(jobs: tuple[Workload, ...]) -> tuple[Workload, ...]:
    named = (job._replace(name=f"{job.name}, named files", has_unnamed=False) for job in jobs)
    return (*jobs, *named)


SMALL: Final = _on_both_disks(_JOBS)
LONG: Final = _on_both_disks(_LONG_JOBS)
