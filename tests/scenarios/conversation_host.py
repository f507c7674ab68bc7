"""A host that sends conversations through sessions, and checks what went out every time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.builders import is_reference, text_of
from tests.faults.opening import open_session
from tests.scenarios.conversation_checks import (
    CERTAIN_GAIN_CHARS,
    StoredTexts,
    check_effort,
    check_form,
    excess_chars,
    handed_text,
)
from tests.scenarios.conversation_model import (
    Branch,
    Key,
    canonical,
    frozen_on_disk,
    groups_of,
    has_records,
    reformed,
)
from tests.scenarios.conversation_process import REDACTIONS, Process

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.builders import Block, Message
    from tests.scenarios.conversation_model import Group, Result
    from tests.scenarios.conversation_process import Terms
    from toolbudget import EnforcementReport, Session
    from toolbudget.storage._files import Durability, FileSystem

__all__ = ["Conversation", "Host"]


@dataclass(slots=True)
class Conversation:
    """A branch, and the processes that have it open: one, or two that must agree."""

    branch: Branch
    processes: list[Process]


class Host:
    """Sends requests on one root of sessions.

    Args:
        root: The folder of sessions.
        files: The file system that sessions are on.
        durability: Their level.
    """

    def __init__(self, root: Path, files: FileSystem, durability: Durability) -> None:
        """Begin without any session."""
        self.root = root
        self._files = files
        self._durability: Durability = durability
        self.stored = StoredTexts(root)
        # Ids that a session has met: a file name may be taken, and a replacement be longer (B6).
        self._used_ids: set[tuple[str, str]] = set()
        # Sessions that nobody closes: if they went away by themselves, that would be at any moment.
        self._dead: list[Session] = []

    def begin(self, session_id: str, terms: Terms) -> Conversation:
        """Open a new session."""
        branch = Branch(session_id)
        return Conversation(branch, [self._open(branch, terms, None)])

    def transcript(self, branch: Branch) -> Path:
        """Name the file of a branch's records (R1)."""
        if branch.agent_id is None:
            return self.root / f"{branch.session_id}.jsonl"
        folder = self.root / branch.session_id / "subagents"
        return folder / f"agent-{branch.agent_id}.jsonl"

    def fork(self, conversation: Conversation, session_id: str) -> Conversation:
        """Begin a session of its own with all that the conversation has."""
        branch = conversation.branch
        child = branch.copied(session_id, None, len(branch.entries))
        process = conversation.processes[0]
        return Conversation(child, [process.child(process.session.fork(session_id))])

    def subagent(
        self, conversation: Conversation, agent_id: str, shared_messages: int
    ) -> Conversation:
        """Begin a sub-agent whose messages begin as the conversation does."""
        child = conversation.branch.copied(
            conversation.branch.session_id, agent_id, shared_messages
        )
        process = conversation.processes[0]
        return Conversation(child, [process.child(process.session.subagent(agent_id))])

    def close(self, conversations: Sequence[Conversation]) -> None:
        """Give back whatever is still held."""
        alive = [one.session for each in conversations for one in each.processes]
        for session in alive + self._dead:
            session.close()

    def lose_transcript(self, conversation: Conversation) -> None:
        """Delete the records; the next one that can be written holds all of them again."""
        self.transcript(conversation.branch).unlink(missing_ok=True)
        conversation.branch.has_lost_records = True

    def open_second(self, conversation: Conversation) -> None:
        """Let a second process open the same session."""
        terms = conversation.processes[0].terms
        conversation.processes.append(self._open(conversation.branch, terms, None))

    def resume(
        self,
        conversation: Conversation,
        terms: Terms,
        *,
        is_closed: bool,
        marks_seen: bool,
        parent: Session | None,
    ) -> None:
        """Let every process end, by closing the session or by dying, and a new one go on."""
        branch = conversation.branch
        sessions = [process.session for process in conversation.processes]
        for session in sessions if is_closed else ():
            session.close()
        self._dead += sessions
        transcript = self.transcript(branch)
        is_recorded = has_records(transcript)
        if branch.has_lost_records and not is_recorded:
            branch.release_all()
        branch.has_lost_records = False
        branch.unrecorded -= frozen_on_disk(transcript, branch.unrecorded)
        conversation.processes = [self._open(branch, terms, parent)]
        if not branch.unrecorded:
            return
        # R3: without any record all is fresh, so a host that was told of failures adopts its list.
        if marks_seen or not is_recorded:
            present = {one.key for group in groups_of(_sent(branch)) for one in group.results}
            branch.release(branch.unrecorded - present)
            self.mark_seen(conversation, _sent(branch))
        else:
            conversation.processes[0].lost = set(branch.unrecorded)

    def mark_seen(self, conversation: Conversation, messages: list[Message]) -> None:
        """Adopt messages that went out without the library, or without its records."""
        branch, process = conversation.branch, conversation.processes[0]
        process.session.mark_seen(messages)
        kept = set()
        for result in (one for group in groups_of(messages) for one in group.results):
            if result.key not in branch.decided or result.key in branch.unrecorded:
                kept.add(result.key)
                branch.decided[result.key] = result.key.text
        branch.seen |= kept
        _note_records(branch, process.session.report, kept)

    def withdraw(self, conversation: Conversation) -> None:
        """Say that the last request was refused."""
        # B13: another open process would learn of it only at its next reading.
        for other in conversation.processes[1:]:
            other.session.close()
        del conversation.processes[1:]
        session = conversation.processes[0].session
        session.withdraw()
        if not session.report.failures:
            conversation.branch.release(conversation.branch.withdrawable())

    def gate(
        self, conversation: Conversation, block: Block, tool_name: str, declared: float | None
    ) -> Block:
        """Check one result when its tool has run, and return what enters the history."""
        process, branch = conversation.processes[0], conversation.branch
        if declared is not None:
            process.declared[tool_name] = declared
        given = canonical(block)
        out = process.session.gate(block, tool_name=tool_name, declared_limit=declared)
        report = process.session.report
        assert canonical(block) == given, "the gate has changed its input"
        _note_records(branch, report, set())
        self._used_ids.add((branch.session_id, block["tool_use_id"]))
        key, text = Key(block["tool_use_id"], text_of(block["content"])), text_of(out["content"])
        if key in branch.decided:
            assert text == branch.decided[key], f"the gate decided anew about {key!r:.80}"
        elif not key.text.strip():
            assert text == f"({tool_name} completed with no output)"
        elif text != key.text:
            assert len(key.text) > process.limit_chars(tool_name), "it fits, but was replaced"
            self.stored.check(key, text, process.terms)
            branch.decided[key] = text
        elif len(key.text) >= CERTAIN_GAIN_CHARS and not report.failures:
            is_within = len(key.text) <= process.limit_chars(tool_name) or is_reference(key.text)
            assert is_within, "it does not fit, but was left"
        if text != key.text and key.text.strip():
            assert canonical(out) == canonical(reformed(block, text))
        return out

    def send(self, conversation: Conversation) -> None:
        """Send the next request through every process that has the session open."""
        for process in conversation.processes:
            self._send(conversation.branch, process)
        conversation.processes.reverse()

    def _open(self, branch: Branch, terms: Terms, parent: Session | None) -> Process:
        is_recorded = has_records(self.transcript(branch))
        session = open_session(
            self.root,
            branch.session_id,
            files=self._files,
            limits=terms.limits,
            agent_id=branch.agent_id,
            parent=parent,
            durability=self._durability,
            redact=REDACTIONS[terms.redaction],
        )
        return Process(session, terms, keeps_history=is_recorded)

    def _send(self, branch: Branch, process: Process) -> None:
        messages = branch.messages
        given = canonical(messages)
        # R3: what went out without a record counts as kept only if a later group follows it.
        branch.release(process.lost - branch.followed_keys())
        process.lost.clear()
        output = process.session.enforce(messages)
        report = process.session.report
        assert canonical(messages) == given, "enforce has changed its input"
        groups = groups_of(messages)
        check_form(messages, output, groups)
        self._check_decisions(branch, process, groups, output, report)
        process.keeps_history = False
        for entry, sent in zip(branch.entries, output, strict=True):
            is_same = entry.sent is None or entry.sent == canonical(sent)
            assert is_same, f"sent otherwise before: {entry.sent!r:.300} now {sent!r:.300}"
            entry.sent = canonical(sent)
        again = process.session.enforce(output)
        assert canonical(again) == canonical(output), "what was sent was changed when sent again"
        _note_records(branch, process.session.report, set())

    def _check_decisions(
        self,
        branch: Branch,
        process: Process,
        groups: Sequence[Group],
        output: Sequence[Message],
        report: EnforcementReport,
    ) -> None:
        known = set(branch.decided)
        over_chars = 0.0
        for group in groups:
            texts = [handed_text(output, result) for result in group.results]
            fresh = _fresh_keys(branch, process, group)
            for result, text in zip(group.results, texts, strict=True):
                self._check_decision(branch, process, group, result, text)
            over_chars += excess_chars(group, texts, process, fresh)
            if not report.failures and self._is_untouched(branch, process, group, known):
                check_effort(group, texts, process, fresh)
        assert report.over_limit_chars == over_chars
        results = [result for group in groups for result in group.results]
        self._used_ids |= {(branch.session_id, one.key.tool_use_id) for one in results}
        _note_records(branch, report, branch.kept() - known)

    def _check_decision(
        self, branch: Branch, process: Process, group: Group, result: Result, text: str
    ) -> None:
        key = result.key
        if key in branch.decided:
            before = branch.decided[key]
            assert text == before, f"decided otherwise before: {before!r:.200} now {text!r:.200}"
        elif text != key.text:
            assert not process.is_exempt(result), "an exempt result was replaced"
            assert not result.is_reference, "a replacement was replaced"
            assert not (process.keeps_history and group.is_followed), "R3: answered, so kept"
        branch.decided[key] = text
        if text != key.text:
            self.stored.check(key, text, process.terms)

    def _is_untouched(
        self, branch: Branch, process: Process, group: Group, known: set[Key]
    ) -> bool:
        """Tell whether everything in a group was fresh, and no file name was taken."""
        if process.keeps_history and group.is_followed:
            return False
        keys = {result.key for result in group.results}
        ids = {(branch.session_id, key.tool_use_id) for key in keys}
        is_fresh = not (keys & known) and not any(one.is_reference for one in group.results)
        return is_fresh and len(ids) == len(keys) and not (ids & self._used_ids)


def _fresh_keys(branch: Branch, process: Process, group: Group) -> set[Key]:
    """Return what a group brings that is to be chosen from (B4)."""
    if process.keeps_history and group.is_followed:
        return set()
    first = {result.key: result for result in reversed(group.results)}
    return {
        key
        for key, result in first.items()
        if key not in branch.decided and not (result.is_reference or process.is_exempt(result))
    }


def _sent(branch: Branch) -> list[Message]:
    """Return what a host knows to have sent."""
    return [entry.message for entry in branch.entries if entry.sent is not None]


def _note_records(branch: Branch, report: EnforcementReport, kept: set[Key]) -> None:
    """Note what a failed record leaves unrecorded; the next success records all of it (F3)."""
    if any(failure.stage == "record" for failure in report.failures):
        branch.unrecorded |= kept
    else:
        branch.unrecorded.clear()
