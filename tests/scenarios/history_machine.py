"""A state machine that edits a conversation in every way that a mode of the history allows.

After every step the session's output, report and state are those of a session with the same state
that has never seen a message before.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import TYPE_CHECKING, Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from tests.builders import Block, Message, answer, call, msg, res
from tests.scenarios.history_oracle import AtRestStore, Known, fresh_engine
from toolbudget import Limits, Session
from toolbudget.storage.records import parse_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from toolbudget import EnforcementReport
    from toolbudget.budget.engine import Engine
    from toolbudget.budget.history import HistoryMode

__all__ = ["AppendOnlyMachine", "HistoryMachine", "VerifiedMachine"]

_SMALL_CHARS: Final = 700
_LIMITS_CHARS: Final = (_SMALL_CHARS, 300, 2_000, 100_000)
_TEXTS: Final = (
    *(letter * size for letter in "ab" for size in (60, 350, 500, 900)),
    "",
    "their reference",
    "<persisted-output>\nsaved\n</persisted-output>",
)
_CHAINS: Final[tuple[dict[str, object], ...]] = (
    {},
    {},
    {},
    {},
    {"isSidechain": True, "agentId": "a1"},
    {"isSidechain": True, "agentId": "a2"},
)
_PLACES: Final = st.integers(0, 60)


@st.composite
def _results(draw: st.DrawFn) -> list[tuple[int, str, bool]]:
    """Give results: 0 for a new id or which old one is taken again, the text, whether in a list."""
    old_id = st.sampled_from([0, 0, 0, 0, 0, 0, 0, 0, 1, 5])
    result = st.tuples(old_id, st.sampled_from(_TEXTS), st.booleans())
    return draw(st.lists(result, min_size=1, max_size=3))


class HistoryMachine(RuleBasedStateMachine):
    """Plays a host that edits its messages; each step ends with a request."""

    mode: ClassVar[HistoryMode]
    root: ClassVar[Path]
    session: Session

    def __init__(self) -> None:
        """Begin without messages."""
        super().__init__()
        self.messages: list[Any] = []
        self._numbers = 0
        self._limit_chars = _SMALL_CHARS
        self._known = Known()
        self._store = AtRestStore()
        self._oracle: Engine | None = None

    # After the most turns a core has something to keep of what is decided.
    @initialize(are_limits_fixed=st.booleans(), turns=st.sampled_from([*range(6), 14]))
    def begin(self, turns: int, *, are_limits_fixed: bool) -> None:
        """Open the session, with limits that may change or stay, and take some turns."""
        overrides = None if are_limits_fixed else self._overrides
        self._limits = Limits(max_message_chars=_SMALL_CHARS, overrides=overrides)
        self._open()
        for number in range(turns):
            self.reply({}, has_id=False, is_old=False)
            text = _TEXTS[number % len(_TEXTS)]
            self.results_without_a_call([(0, text, number == 1)] * 2, {})
            self.is_as_a_full_pass()

    def teardown(self) -> None:
        """Close the session."""
        if hasattr(self, "session"):
            self.session.close()

    @invariant()
    def is_as_a_full_pass(self) -> None:
        """Send the messages, and let a session without a memory do the same."""
        oracle = self._oracle = fresh_engine(self.session, self._store)
        given = self.messages if self._numbers % 2 else list(self.messages)
        expected, expected_summary = oracle.enforce(list(given))
        output = self.session.enforce(given)
        assert output == expected
        assert all(type(one) is type(other) for one, other in zip(output, expected, strict=True))
        assert _plain(self.session.report) == _plain(expected_summary.report())
        assert self.session.state == oracle.state()
        is_changed = any(one is not other for one, other in zip(output, given, strict=True))
        assert (output is given) is not is_changed
        self._known.check(given, output)

    # --- what a conversation does by itself ---------------------------------------------------

    @rule(results=_results(), chain=st.sampled_from(_CHAINS), is_streamed=st.booleans())
    def turn(
        self, results: list[tuple[int, str, bool]], chain: dict[str, object], *, is_streamed: bool
    ) -> None:
        """Let the model call tools; a streamed answer goes on after each result."""
        named = [(self._result_id(old), text, in_list) for old, text, in_list in results]
        message_id = self._name("m")
        if not is_streamed:
            calls = [call(name, self._tool_of(name)) for name, _, _ in named]
            self._append(chain, answer(*calls, message_id=message_id))
            self._append(chain, msg(*(_block(*result) for result in named)))
            return
        for result in named:
            asked = call(result[0], self._tool_of(result[0]))
            self._append(chain, answer(asked, message_id=message_id))
            self._append(chain, msg(_block(*result)))

    @rule(chain=st.sampled_from(_CHAINS), has_id=st.booleans(), is_old=st.booleans())
    def reply(self, chain: dict[str, object], *, has_id: bool, is_old: bool) -> None:
        """Let the model answer without a call, maybe by the id of an answer before."""
        message_id = ("m1" if is_old else self._name("m")) if has_id else None
        self._append(chain, answer({"type": "text", "text": "done"}, message_id=message_id))

    @rule(results=_results(), chain=st.sampled_from(_CHAINS))
    def results_without_a_call(
        self, results: list[tuple[int, str, bool]], chain: dict[str, object]
    ) -> None:
        """Let results come whose calls come later or never."""
        blocks = [_block(self._result_id(old), text, in_list) for old, text, in_list in results]
        self._append(chain, msg(*blocks))

    @rule(place=_PLACES)
    def late_call(self, place: int) -> None:
        """Let the call of an old result come after it: of a tool that is exempt."""
        names = self._names()
        if names:
            self._append({}, answer(call(names[place % len(names)], "Read")))

    # --- what hosts do to the list ------------------------------------------------------------

    @rule(one=_PLACES, other=_PLACES)
    def swap(self, one: int, other: int) -> None:
        """Let two messages change places."""
        if self.messages:
            one, other = one % len(self.messages), other % len(self.messages)
            messages = self.messages
            messages[one], messages[other] = messages[other], messages[one]

    @rule(place=_PLACES)
    def remove(self, place: int) -> None:
        """Take a message out."""
        if self.messages:
            del self.messages[place % len(self.messages)]

    @rule(place=_PLACES)
    def truncate(self, place: int) -> None:
        """Take the newest messages away."""
        del self.messages[place % (len(self.messages) + 1) :]

    @rule(place=_PLACES)
    def compact(self, place: int) -> None:
        """Put a summary in the place of the oldest messages."""
        count = place % (len(self.messages) + 1)
        self.messages[:count] = [{"role": "user", "content": "summary"}]

    @rule(place=_PLACES, to=_PLACES)
    def insert_again(self, place: int, to: int) -> None:
        """Let a message stand in a second place too."""
        if self.messages:
            message = self.messages[place % len(self.messages)]
            self.messages.insert(to % (len(self.messages) + 1), message)

    @rule(place=_PLACES)
    def replace_by_equal_copy(self, place: int) -> None:
        """Put an equal message in the place of one."""
        if self.messages:
            place %= len(self.messages)
            self.messages[place] = copy.deepcopy(self.messages[place])

    @rule(place=_PLACES, text=st.sampled_from(_TEXTS))
    def replace_by_another(self, place: int, text: str) -> None:
        """Put a message with other results in the place of one."""
        if self.messages:
            place %= len(self.messages)
            self.messages[place] = copy.deepcopy(self.messages[place])
            _edit(self.messages[place], place, text)

    @rule(place=_PLACES, block=_PLACES, text=st.sampled_from(_TEXTS))
    def edit_in_place(self, place: int, block: int, text: str) -> None:
        """Change a result in place, where the mode allows it."""
        place = self._first_editable() + place
        if place < len(self.messages):
            _edit(self.messages[place], block, text)
            self._known.forget(self.messages[place])

    @rule(result=_results(), place=_PLACES)
    def add_in_place(self, result: list[tuple[int, str, bool]], place: int) -> None:
        """Add a result to a message, where the mode allows it."""
        place = self._first_editable() + place
        if place < len(self.messages) and _inner(self.messages[place])["role"] == "user":
            old, text, in_list = result[0]
            content = _inner(self.messages[place])["content"]
            if isinstance(content, list):
                content.append(_block(self._result_id(old), text, in_list))
                self._known.forget(self.messages[place])

    @rule(place=_PLACES, how=st.sampled_from(["text", "key", "block", "role", "inside"]))
    def edit_output(self, place: int, how: str) -> None:
        """Change what the session has made of a message, where the mode allows it."""
        outputs = self._known.outputs_of(self.messages[self._first_editable() :])
        if outputs:
            message, output = outputs[place % len(outputs)]
            _spoil(message, output, how)
            self._known.forget(message)

    # --- what hosts do to the session ---------------------------------------------------------

    @rule(limit_chars=st.sampled_from(_LIMITS_CHARS))
    def change_limit(self, limit_chars: int) -> None:
        """Let the user set another limit."""
        self._limit_chars = limit_chars

    @rule(tool_name=st.sampled_from(["Bash", "Fetch"]), limit=st.sampled_from([900, float("inf")]))
    def declare(self, tool_name: str, limit: float) -> None:
        """Let a tool declare its limit, or that it has none."""
        block = res(self._name("g"), "gated")
        self.session.gate(block, tool_name=tool_name, declared_limit=limit)

    @precondition(lambda self: self._oracle is not None)
    @rule()
    def withdraw(self) -> None:
        """Say that the last request was refused."""
        assert self._oracle is not None
        assert self.session.withdraw() == self._oracle.withdraw()[0]

    @rule(from_place=_PLACES)
    def mark_seen(self, from_place: int) -> None:
        """Adopt a part of the messages."""
        self.session.mark_seen(self.messages[from_place % (len(self.messages) + 1) :])

    @rule()
    def enforce_json(self) -> None:
        """Send the same messages as bytes."""
        self.session.enforce_json(json.dumps({"messages": self.messages}).encode())

    @rule(replacement=st.sampled_from(["their reference", "b" * 60]), place=_PLACES)
    def adopt(self, replacement: str, place: int) -> None:
        """Take over what another program has recorded about an id, old or next."""
        names = [*self._names(), f"t{self._numbers + 1}"]
        entry = {"kind": "tool-result", "toolUseId": names[place % len(names)]}
        record = {
            "type": "content-replacement",
            "replacements": [{**entry, "replacement": replacement}],
        }
        self.session.adopt_records(parse_line(json.dumps(record).encode()).records)

    @rule()
    def trim(self) -> None:
        """Let go of every message."""
        self.session.trim()
        self._known.clear()

    @rule()
    def go_on_in_a_fork(self) -> None:
        """Begin a fork, and leave the parent."""
        parent, self.session = self.session, self.session.fork(self._name("f"), ephemeral=True)
        parent.close()
        self._known.clear()

    @rule(is_broken=st.booleans())
    def break_store(self, *, is_broken: bool) -> None:
        """Let nothing be stored from now on, or everything again."""
        self._store.is_broken = is_broken

    # --- helpers ------------------------------------------------------------------------------

    def _open(self) -> None:
        self.session = Session.open(
            *(self.root, self._name("s")),
            limits=self._limits,
            store=self._store,
            ephemeral=True,
            history=self.mode,
        )

    def _overrides(self) -> Mapping[str, object]:
        return {"message": self._limit_chars}

    def _name(self, prefix: str) -> str:
        self._numbers += 1
        return f"{prefix}{self._numbers}"

    def _names(self) -> list[str]:
        return [block["tool_use_id"] for message in self.messages for block in _results_of(message)]

    def _result_id(self, old: int) -> str:
        names = self._names()
        return names[old % len(names)] if old and names else self._name("t")

    def _tool_of(self, name: str) -> str:
        return ("Bash", "Fetch", "Bash", "Read")[int(name[1:]) % 4]

    def _append(self, chain: dict[str, object], message: Message) -> None:
        record = {"type": message["role"], **chain, "message": message}
        self.messages.append(record if chain else message)

    def _first_editable(self) -> int:
        """From where on the mode allows edits in place."""
        if self.mode == "verified":
            return 0
        assistants = [
            place
            for place, message in enumerate(self.messages)
            if _inner(message)["role"] == "assistant"
        ]
        return assistants[-1] if assistants else 0


class VerifiedMachine(HistoryMachine):
    """The default: edits in place are allowed everywhere."""

    mode: ClassVar[HistoryMode] = "verified"


class AppendOnlyMachine(HistoryMachine):
    """The promise: edits in place from the last assistant message on only."""

    mode: ClassVar[HistoryMode] = "append_only"


def _plain(report: EnforcementReport) -> object:
    """Give what a report says, whenever and by whatever objects."""
    failures = [str(failure) for failure in report.failures]
    return failures, dataclasses.replace(report, elapsed_s=0.0, failures=())


def _inner(message: Any) -> Any:  # noqa: ANN401
    return message.get("message", message)


def _results_of(message: Any) -> list[Block]:  # noqa: ANN401
    content = _inner(message)["content"]
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if block["type"] == "tool_result"]


def _block(tool_use_id: str, text: str, in_list: bool) -> Block:  # noqa: FBT001
    return res(tool_use_id, [{"type": "text", "text": text}] if in_list else text)


def _edit(message: Any, place: int, text: str) -> None:  # noqa: ANN401
    results = _results_of(message)
    if not results:
        return
    block = results[place % len(results)]
    if isinstance(block["content"], str):
        block["content"] = text
    else:
        block["content"][0]["text"] = text


def _spoil(message: Any, output: Any, how: str) -> None:  # noqa: ANN401
    """Change an output, but nothing that it shares with the message."""
    content = _inner(output)["content"]
    pairs = zip(_inner(message)["content"], content, strict=False)
    own = [made for given, made in pairs if made is not given]
    if how == "key":
        output["more"] = 1
    elif how == "block":
        content.pop()
    elif how == "role":
        _inner(output)["role"] = "assistant"
    elif own and how == "text":
        own[0]["content"] = "spoilt"
    elif own and isinstance(own[0]["content"], list):
        own[0]["content"][0]["text"] = "spoilt"
