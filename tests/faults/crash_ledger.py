"""What a host has sent before a crash, and whether what it would send afterwards is the same."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.builders import answer, call, is_reference, msg, read_reference, res, results_in, text_of
from tests.faults.model_nodes import Directory, File
from tests.faults.model_rules import walk
from tests.faults.opening import open_session
from toolbudget import Fingerprint, Limits, build_replacement
from toolbudget.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.faults.model_files import ModelFiles
    from toolbudget import Session

__all__ = ["LIMITS", "ROOT", "Conversation", "Host", "Ledger", "Name", "Turn"]

ROOT: Final = "/home/sessions"
LIMITS: Final = Limits(max_result_chars=900, max_message_chars=900, preview_bytes=40)
# Under these everything that no record decides comes out otherwise.
_CHANGED_LIMITS: Final = Limits(max_message_chars=100, preview_bytes=20)
_RESULTS: Final = "tool-results"
_SIZES_OF_MORE_TURNS: Final = (1_000, 300)


class Name(NamedTuple):
    """Which conversation: a session, or a sub-agent of it."""

    session_id: str
    agent_id: str | None = None


class Turn(NamedTuple):
    """One turn: the sizes of its results, and the conversation that they first came up in."""

    label: str
    sizes_chars: tuple[int, ...]

    def results(self) -> dict[str, str]:
        """Return the full texts by id."""
        return {
            f"{self.label}_{index}": f"{self.label} {index} line\n".ljust(20, ".") * (size // 20)
            for index, size in enumerate(self.sizes_chars)
        }


@dataclass
class Conversation:
    """One conversation as its host keeps it.

    Attributes:
        name: Which one.
        turns: Those that are planned; more can be made.
        sent_turns: How many requests went out.
        texts: The text that went out for each result, by id.
        limits: Those of the host at the moment.
        has_reply: The model may have answered the last request; not so if it was refused.
    """

    name: Name
    turns: tuple[Turn, ...]
    sent_turns: int = 0
    texts: dict[str, str] = field(default_factory=dict)
    limits: Limits = LIMITS
    has_reply: bool = True

    def turn(self, number: int) -> Turn:
        """Return one of its turns, by number."""
        if number < len(self.turns):
            return self.turns[number]
        return Turn(f"{self.name.agent_id or self.name.session_id}_{number}", _SIZES_OF_MORE_TURNS)

    def results(self, turns: int) -> dict[str, str]:
        """Return the full texts of all results of so many turns by id."""
        return {
            tool_use_id: text
            for number in range(turns)
            for tool_use_id, text in self.turn(number).results().items()
        }

    def messages(self, turns: int, *, is_answered: bool) -> list[dict[str, Any]]:
        """Return the history of so many turns, in full."""
        messages: list[dict[str, Any]] = []
        for number in range(turns):
            results = self.turn(number).results()
            messages.append(
                answer(*(call(name, "Fetch") for name in results), message_id=f"{number}")
            )
            messages.append(msg(*(res(name, text) for name, text in results.items())))
        if is_answered:
            messages.append(answer({"type": "text", "text": "seen"}, message_id=f"{turns}"))
        return messages


class _Branch(NamedTuple):
    """A fork or a sub-agent that was about to be made."""

    name: Name
    parent: Name
    turns: tuple[Turn, ...]


@dataclass
class Ledger:
    """Everything that certainly went out, and what was begun."""

    conversations: dict[Name, Conversation]
    begun_branches: list[_Branch] = field(default_factory=list)
    acknowledged: int = 0

    @classmethod
    def of(cls, conversation: Conversation) -> Ledger:
        """Begin with one conversation, nothing of which was sent."""
        return cls({conversation.name: conversation})

    def copy(self) -> Ledger:
        """Return one that goes on by itself."""
        conversations = {
            name: replace(conversation, texts=dict(conversation.texts))
            for name, conversation in self.conversations.items()
        }
        return Ledger(conversations, list(self.begun_branches), self.acknowledged)


class Host:
    """Holds conversations on a disk, enters what it sends in a ledger, and collects what broke."""

    def __init__(self, files: ModelFiles, ledger: Ledger) -> None:
        self.files = files
        self.ledger = ledger
        self.broken: list[str] = []
        self._has_new_limits = False

    def open(self, name: Name, parent: Session | None = None) -> Session:
        """Open a conversation, new or not."""
        return open_session(
            ROOT,
            name.session_id,
            agent_id=name.agent_id,
            parent=parent,
            files=self.files,
            limits=self._limits(name),
        )

    def resend(self, session: Session, name: Name, *, is_answered: bool) -> None:
        """Send once more what was sent before."""
        conversation = self.ledger.conversations[name]
        self._send(session, conversation, conversation.sent_turns, is_answered=is_answered)

    def take_turn(self, session: Session, name: Name) -> None:
        """Send the request of the next turn."""
        conversation = self.ledger.conversations[name]
        self._send(session, conversation, conversation.sent_turns + 1, is_answered=False)
        conversation.sent_turns += 1
        conversation.has_reply = True
        conversation.limits = self._limits(name)
        self.ledger.acknowledged += 1

    def gate(self, session: Session, name: Name, index: int) -> None:
        """Pass a result of the coming turn through the gate; a reference counts as handed out."""
        conversation = self.ledger.conversations[name]
        results = conversation.turn(conversation.sent_turns).results()
        tool_use_id, text = list(results.items())[index]
        block = session.gate(res(tool_use_id, text), tool_name="Fetch")
        self._note_failures(session, name)
        if text_of(block["content"]) != text:
            self._hand_out(conversation, tool_use_id, text, text_of(block["content"]))
            self.ledger.acknowledged += 1

    def stream(self, session: Session, name: Name, index: int) -> None:
        """Store a result of the coming turn in two pieces, and have its reference recorded."""
        conversation = self.ledger.conversations[name]
        results = conversation.turn(conversation.sent_turns).results()
        tool_use_id, text = list(results.items())[index]
        data = text.encode()
        with session.open_stream(tool_use_id) as stream:
            stream.write(data[:30])
            stream.write(data[30:])
            stored = stream.commit()
        replacement = build_replacement(text, stored.shown_path, preview_bytes=30)
        shown = session.adopt_stored(
            tool_use_id,
            stored,
            fingerprint=Fingerprint(len(text), stored.digest),
            replacement=replacement,
        )
        self._note_failures(session, name)
        self._hand_out(conversation, tool_use_id, text, shown)
        self.ledger.acknowledged += 1

    def be_refused(self, session: Session, name: Name, limits: Limits) -> None:
        """Take back what was kept in the last turn, which the provider did not accept."""
        conversation = self.ledger.conversations[name]
        conversation.sent_turns -= 1
        conversation.has_reply = conversation.sent_turns > 0
        for tool_use_id, text in conversation.turn(conversation.sent_turns).results().items():
            if conversation.texts[tool_use_id] == text:
                del conversation.texts[tool_use_id]
        conversation.limits = limits
        self.ledger.acknowledged += 1
        session.withdraw()
        self._note_failures(session, name)
        self.ledger.acknowledged += 1

    def branch(self, parent_session: Session, branch: _Branch) -> Session:
        """Make a fork or a sub-agent, or open the one that a crash has left."""
        try:
            session = _make(parent_session, branch.name)
        except ConfigError:
            session = open_session(
                ROOT,
                branch.name.session_id,
                agent_id=branch.name.agent_id,
                files=self.files,
                limits=self._limits(branch.parent),
            )
        parent = self.ledger.conversations[branch.parent]
        shared = tuple(parent.turn(number) for number in range(parent.sent_turns))
        texts = dict(parent.texts)
        conversation = Conversation(branch.name, shared + branch.turns, parent.sent_turns, texts)
        self.ledger.conversations[branch.name] = conversation
        self.ledger.acknowledged += 1
        return session

    def begin_branch(self, name: Name, parent: Name, turns: tuple[Turn, ...]) -> _Branch:
        """Note that a fork or a sub-agent is about to be made."""
        branch = _Branch(name, parent, turns)
        self.ledger.begun_branches.append(branch)
        return branch

    def recover(self, *, is_answered: bool, goes_on: bool) -> None:
        """Open everything anew, send again what was sent, and take a turn more if so wished.

        What has been answered is sent again under other limits, since what it would come to under
        the same ones may be the same by chance. If no answer came, a kept result that is in no
        record may be decided again, by the rules, so the limits stay.
        """
        self._has_new_limits = is_answered
        self.check_stored_files()
        before = self._logs()
        for name in list(self.ledger.conversations):
            if name.agent_id is None:
                with self.open(name) as session:
                    self._recover(session, name, is_answered=is_answered, goes_on=goes_on)
        self._check_appended(before)

    def _recover(self, session: Session, name: Name, *, is_answered: bool, goes_on: bool) -> None:
        has_reply = is_answered and self.ledger.conversations[name].has_reply
        self.resend(session, name, is_answered=has_reply)
        agents = [
            other
            for other in self.ledger.conversations
            if other.session_id == name.session_id and other.agent_id and name.agent_id is None
        ]
        for agent in agents:
            with self.open(agent, parent=session) as agent_session:
                self._recover(agent_session, agent, is_answered=is_answered, goes_on=goes_on)
        if not goes_on:
            return
        for branch in self.ledger.begun_branches:
            if branch.parent == name and branch.name not in self.ledger.conversations:
                with self.branch(session, branch) as branch_session:
                    self._recover(branch_session, branch.name, is_answered=True, goes_on=True)
        self.take_turn(session, name)

    def _limits(self, name: Name) -> Limits:
        limits = self.ledger.conversations[name].limits
        if not self._has_new_limits:
            return limits
        return LIMITS if limits is _CHANGED_LIMITS else _CHANGED_LIMITS

    def check_stored_files(self) -> None:
        """Check that every file in a folder of results is whole."""
        complete = {
            text.encode()
            for conversation in self.ledger.conversations.values()
            for text in conversation.results(len(conversation.turns) + 3).values()
        }
        complete |= {
            text.encode()
            for branch in self.ledger.begun_branches
            for turn in branch.turns
            for text in turn.results().values()
        }
        for path, content in _files_below(self.files.top):
            if f"/{_RESULTS}/" in path and content not in complete:
                self.broken.append(f"partial file under a final name: {path}")

    def _check_appended(self, before: Mapping[str, bytes]) -> None:
        """Check that logs have only grown, and by lines of their own."""
        for path, content in self._logs().items():
            old = before.get(path, b"")
            if not content.startswith(old):
                self.broken.append(f"not only appended to: {path}")
            is_at_line_start = old[-1:] in {b"", b"\n"} or content[len(old) :][:1] in {b"", b"\n"}
            if not is_at_line_start:
                self.broken.append(f"glued to what was torn: {path}")

    def _logs(self) -> dict[str, bytes]:
        return {
            path: data for path, data in _files_below(self.files.top) if path.endswith(".jsonl")
        }

    def _send(
        self, session: Session, conversation: Conversation, turns: int, *, is_answered: bool
    ) -> None:
        sent = session.enforce(conversation.messages(turns, is_answered=is_answered))
        self._note_failures(session, conversation.name)
        originals = conversation.results(turns)
        for block in results_in(sent):
            tool_use_id = block["tool_use_id"]
            text = text_of(block["content"])
            self._hand_out(conversation, tool_use_id, originals[tool_use_id], text)

    def _hand_out(
        self, conversation: Conversation, tool_use_id: str, original: str, text: str
    ) -> None:
        if conversation.texts.setdefault(tool_use_id, text) != text:
            self.broken.append(f"drift of {tool_use_id} in {conversation.name}")
        if text == original:
            return
        if not is_reference(text):
            self.broken.append(f"neither the original nor a reference: {tool_use_id}")
        elif self._stored_at(str(read_reference(text).path)) != original.encode():
            self.broken.append(f"reference to missing or wrong bytes: {tool_use_id}")

    def _stored_at(self, path: str) -> bytes | None:
        try:
            node = walk(self.files.top, path)
        except OSError:
            return None
        return node.content if isinstance(node, File) else None

    def _note_failures(self, session: Session, name: Name) -> None:
        failures = session.report.failures
        self.broken += [f"failure on a sound disk in {name}: {failure}" for failure in failures]


def _make(parent: Session, name: Name) -> Session:
    return parent.fork(name.session_id) if name.agent_id is None else parent.subagent(name.agent_id)


def _files_below(directory: Directory, path: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield path and content of every file, as it is now."""
    for name, node in directory.entries.items():
        if isinstance(node, Directory):
            yield from _files_below(node, f"{path}/{name}")
        elif isinstance(node, File):
            yield f"{path}/{name}", node.content
