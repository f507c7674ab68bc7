"""A state machine that plays every kind of host, on a disk that fails now and then."""

from __future__ import annotations

import errno
import math
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import hypothesis
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.builders import answer
from tests.layer.storage.faulty import FaultyFiles, UnsyncedFiles
from tests.scenarios.conversation_host import Conversation, Host
from tests.scenarios.conversation_model import Entry, has_records
from tests.scenarios.conversation_specs import SPECS, TERMS, made_turn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.builders import Block, Message
    from tests.scenarios.conversation_process import Terms
    from tests.scenarios.conversation_specs import Spec
    from toolbudget.storage._files import Durability

__all__ = ["ConversationMachine", "run_steps"]

_MAX_CONVERSATIONS: Final = 3
_STEPS_PER_EXAMPLE: Final = 50
_CLEARED: Final = "[cleared]"

# What fails, and which system calls it stands for.
_FAULTS: Final[dict[str, tuple[tuple[str, ...], int]]] = {
    "files cannot be made": (("create_unnamed", "create_exclusive"), errno.ENOSPC),
    "files cannot be named": (("link_unnamed", "link"), errno.EIO),
    "records cannot be opened": (("open_append",), errno.EIO),
    "nothing can be written": (("write",), errno.ENOSPC),
    "nothing can be synced": (("sync", "sync_data", "sync_directory"), errno.EIO),
    "nothing can be locked": (("lock",), errno.ENOLCK),
}


_PICKS: Final = st.integers(0, 30)


class ConversationMachine(RuleBasedStateMachine):
    """Plays hosts; after every step each open conversation is sent again and checked."""

    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        """Begin in an empty folder, on a disk that works."""
        super().__init__()
        self._folder = tempfile.mkdtemp(prefix="tb-")
        self._disk = FaultyFiles(UnsyncedFiles())
        self._conversations: list[Conversation] = []
        self._numbers = 0
        self._is_faulty = False

    def teardown(self) -> None:
        """Remove the folder."""
        self._disk.heal()
        if self._conversations:
            self._host.close(self._conversations)
        shutil.rmtree(self._folder)

    @initialize(terms=TERMS, durability=st.sampled_from(["process", "full"]))
    def begin(self, terms: Terms, durability: Durability) -> None:
        """Open the first session."""
        self._host = Host(Path(self._folder), self._disk.files, durability)
        self._conversations.append(self._host.begin(self._name("s"), terms))

    @invariant()
    def sent_again_all_is_as_before(self) -> None:
        """Send every conversation as it is now."""
        ConversationMachine.steps += 1
        for conversation in self._conversations:
            self._host.send(conversation)

    # --- what a conversation does by itself ---------------------------------------------------

    @rule(
        pick=_PICKS,
        specs=st.lists(SPECS, min_size=1, max_size=5),
        is_streamed=st.booleans(),
        reuses_id=st.sampled_from([False, False, False, True]),
    )
    def turn(self, pick: int, specs: list[Spec], *, is_streamed: bool, reuses_id: bool) -> None:
        """Let the model call tools in parallel; some results pass the gate first."""
        conversation = self._pick(pick)
        blocks = [self._result(conversation, spec) for spec in specs]
        message_id = self._message_id(conversation, reuses_id=reuses_id)
        self._append(conversation, made_turn(specs, blocks, message_id, is_streamed=is_streamed))

    @rule(pick=_PICKS)
    def reply(self, pick: int) -> None:
        """Let the model answer without a call, and the user go on."""
        conversation = self._pick(pick)
        message_id = self._message_id(conversation, reuses_id=False)
        reply = answer({"type": "text", "text": "done"}, message_id=message_id)
        self._append(conversation, [reply, {"role": "user", "content": "go on"}])

    @rule(pick=_PICKS, place=_PICKS, spec=SPECS)
    def edit_in_place(self, pick: int, place: int, spec: Spec) -> None:
        """Let the host put another text into an old result."""
        self._edit(self._pick(pick), place, spec.text)

    @rule(pick=_PICKS, place=_PICKS)
    def clear(self, pick: int, place: int) -> None:
        """Let a later stage clear an old result."""
        self._edit(self._pick(pick), place, _CLEARED)

    @rule(pick=_PICKS, place=_PICKS)
    def rewind(self, pick: int, place: int) -> None:
        """Take the newest messages away."""
        entries = self._pick(pick).branch.entries
        del entries[_clamped(place, len(entries)) :]

    @rule(pick=_PICKS, place=_PICKS)
    def compact(self, pick: int, place: int) -> None:
        """Put a summary in the place of the oldest messages."""
        entries = self._pick(pick).branch.entries
        entries[: _clamped(place, len(entries))] = [Entry({"role": "user", "content": "summary"})]

    # --- sessions and processes ---------------------------------------------------------------

    @rule(
        pick=_PICKS,
        terms=st.none() | TERMS,
        is_closed=st.booleans(),
        marks_seen=st.booleans(),
        knows_parent=st.booleans(),
        specs=st.lists(SPECS, max_size=2),
    )
    def resume(
        self,
        pick: int,
        terms: Terms | None,
        specs: list[Spec],
        *,
        is_closed: bool,
        marks_seen: bool,
        knows_parent: bool,
    ) -> None:
        """Go on in another process, maybe under other terms, maybe with results in between."""
        conversation = self._pick(pick)
        self._host.resume(
            conversation,
            terms or conversation.processes[0].terms,
            is_closed=is_closed,
            marks_seen=marks_seen,
            parent=self._parent_of(conversation) if knows_parent else None,
        )
        if specs:
            message_id = self._message_id(conversation, reuses_id=False)
            blocks = [spec.block for spec in specs]
            self._append(conversation, made_turn(specs, blocks, message_id, is_streamed=False))

    @precondition(lambda self: not self._is_faulty)
    @rule(pick=_PICKS)
    def open_second_process(self, pick: int) -> None:
        """Let another process open the session too; both decide from now on."""
        conversation = self._pick(pick)
        branch = conversation.branch
        # R6: it can adopt only what is in the records.
        is_recorded = not branch.unrecorded and has_records(self._host.transcript(branch))
        if len(conversation.processes) == 1 and is_recorded:
            self._host.open_second(conversation)

    @precondition(lambda self: self._can_branch())
    @rule(pick=_PICKS)
    def fork(self, pick: int) -> None:
        """Begin a fork, to go on beside its parent."""
        child = self._host.fork(self._pick_session(pick), self._name("f"))
        self._conversations.append(child)

    @precondition(lambda self: self._can_branch())
    @rule(pick=_PICKS, place=_PICKS)
    def subagent(self, pick: int, place: int) -> None:
        """Begin a sub-agent that shares the beginning of the messages."""
        parent = self._pick_session(pick)
        shared = _clamped(place, len(parent.branch.entries))
        self._conversations.append(self._host.subagent(parent, self._name("a"), shared))

    @rule(pick=_PICKS)
    def withdraw(self, pick: int) -> None:
        """Say that the last request was refused."""
        self._host.withdraw(self._pick(pick))

    @rule(pick=_PICKS, specs=st.lists(SPECS, min_size=1, max_size=3))
    def mark_seen(self, pick: int, specs: list[Spec]) -> None:
        """Adopt a turn that went out without the library."""
        conversation = self._pick(pick)
        message_id = self._message_id(conversation, reuses_id=False)
        blocks = [spec.block for spec in specs]
        self._append(conversation, made_turn(specs, blocks, message_id, is_streamed=False))
        self._host.mark_seen(conversation, conversation.branch.messages)

    # --- what goes wrong ----------------------------------------------------------------------

    @precondition(lambda self: not self._is_faulty)
    @rule(fault=st.sampled_from(sorted(_FAULTS)))
    def break_disk(self, fault: str) -> None:
        """Let some system calls fail from now on."""
        methods, error = _FAULTS[fault]
        self._disk.fail_method(methods, error)
        self._is_faulty = True

    @precondition(lambda self: self._is_faulty)
    @rule()
    def heal_disk(self) -> None:
        """Let everything work again."""
        self._disk.heal()
        self._is_faulty = False

    @rule(place=_PICKS, takes_all=st.booleans())
    def delete_files(self, place: int, *, takes_all: bool) -> None:
        """Delete one stored file or all of them."""
        stored = sorted(Path(self._folder).glob("*/tool-results/*"))
        chosen = stored if takes_all else stored[place % len(stored) :][:1] if stored else []
        self._host.stored.delete(chosen)

    @rule(pick=_PICKS)
    def lose_transcript(self, pick: int) -> None:
        """Delete the records of a session that one process has open."""
        conversation = self._pick(pick)
        if len(conversation.processes) == 1:
            self._host.lose_transcript(conversation)

    # --- helpers ------------------------------------------------------------------------------

    def _name(self, prefix: str) -> str:
        self._numbers += 1
        return f"{prefix}{self._numbers}"

    def _pick(self, pick: int) -> Conversation:
        return self._conversations[pick % len(self._conversations)]

    def _pick_session(self, pick: int) -> Conversation:
        sessions = [one for one in self._conversations if one.branch.agent_id is None]
        return sessions[pick % len(sessions)]

    def _can_branch(self) -> bool:
        return not self._is_faulty and len(self._conversations) < _MAX_CONVERSATIONS

    def _parent_of(self, conversation: Conversation) -> Any:  # noqa: ANN401 - a session or none
        branch = conversation.branch
        if branch.agent_id is None:
            return None
        of_session = (one for one in self._conversations if one.branch.agent_id is None)
        found = [one for one in of_session if one.branch.session_id == branch.session_id]
        return found[0].processes[0].session

    def _message_id(self, conversation: Conversation, *, reuses_id: bool) -> str:
        """Name an assistant message; a streamed one may go on after others have begun (B2)."""
        messages = conversation.branch.messages
        known = [one["id"] for one in messages if one["role"] == "assistant"]
        return known[0] if known and reuses_id else self._name("m")

    def _result(self, conversation: Conversation, spec: Spec) -> Block:
        if spec.gated == 0:
            return spec.block
        # Only one tool declares that it has no limit: the others are there to be replaced.
        endless = spec.gated == math.inf and spec.tool_name != "Stream"
        declared = None if endless else spec.gated
        return self._host.gate(conversation, spec.block, spec.tool_name, declared)

    def _append(self, conversation: Conversation, messages: Sequence[Message]) -> None:
        conversation.branch.entries += [Entry(message) for message in messages]

    def _edit(self, conversation: Conversation, place: int, text: str) -> None:
        found = [
            (entry, block)
            for entry in conversation.branch.entries
            if isinstance(entry.message["content"], list)
            for block in entry.message["content"]
            if block["type"] == "tool_result"
        ]
        if not found:
            return
        entry, block = found[place % len(found)]
        if isinstance(block["content"], str):
            block["content"] = text
        else:
            block["content"][0]["text"] = text
        entry.sent = None


def _clamped(place: int, length: int) -> int:
    return place % (length + 1)


def run_steps(total_steps: int, seed: int, *, shrinks: bool = True) -> None:
    """Run about so many steps; the first failure is raised.

    Args:
        total_steps: How many.
        seed: Other numbers give other steps; the same one gives the same.
        shrinks: Look for a short way to the failure first.
    """
    settings = hypothesis.settings(
        max_examples=min(500, total_steps // _STEPS_PER_EXAMPLE),
        stateful_step_count=_STEPS_PER_EXAMPLE,
        deadline=None,
        database=None,
        phases=[hypothesis.Phase.generate, *[hypothesis.Phase.shrink][: int(shrinks)]],
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    end = ConversationMachine.steps + total_steps
    while ConversationMachine.steps < end:
        # Another class each time: the seed is kept with it.
        machine = type("Seeded", (ConversationMachine,), {})
        run_state_machine_as_test(hypothesis.seed(seed)(machine), settings=settings)
        seed += 1
