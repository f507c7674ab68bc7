"""Conversations of many turns with every stage, forks, sub-agents and resumes, at random."""

from __future__ import annotations

import tempfile
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.builders import answer, call, msg, res, results_in, text_of
from tests.layer.messages.api_rules import refusals
from toolbudget import ContextWindow, Limits, Session
from toolbudget.messages import normalize_messages_for_api
from toolbudget.pipeline import (
    Autocompact,
    Budget,
    Collapse,
    FinishedTasks,
    HistorySnip,
    Microcompact,
    Pipeline,
    PipelineResult,
    SummaryError,
)
from toolbudget.storage.inspection import find_sessions, inspect_session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolbudget.pipeline import Stage

MESSAGE_LIMIT: Final = 2_000
LIMITS: Final = Limits(max_result_chars=1_500, max_message_chars=MESSAGE_LIMIT)
WINDOW: Final = ContextWindow(size=2_500, reserve_output=200)
LATER_S: Final = 7_200.0
TOOLS: Final = st.sampled_from(["Bash", "Grep", "Read", "Deploy", "memory"])
# A conversation is many examples in one.
_EXAMPLES_PER_CONVERSATION: Final = 10
EXEMPT: Final = {"Read", "memory"}
SIZES: Final = st.sampled_from([1, 40, 300, 900, 1_800])
CALLS: Final = st.lists(st.tuples(TOOLS, SIZES, st.booleans()), min_size=1, max_size=4)


def calls_in(messages: Sequence[Any]) -> list[Any]:
    """Give the calls of messages."""
    return [
        block
        for message in messages
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_use"
    ]


class Summaries:
    """The host's model for summaries, which fails when it is told to."""

    def __init__(self) -> None:
        """Begin with one that works."""
        self.works = True

    def __call__(self, messages: Sequence[Any]) -> str:
        """Summarise."""
        if not self.works:
            raise RuntimeError("no model")
        return f"{len(messages)} messages"


@dataclass
class Conversation:
    """One host's conversation: what it keeps, and what it sent last."""

    session: Session
    pipeline: Pipeline
    history: list[Any]
    sent: list[Any] = field(default_factory=list)
    originals: list[str] = field(default_factory=list)
    agent_id: str | None = None


class PipelineMachine(RuleBasedStateMachine):
    """Plays hosts, and checks every request."""

    def __init__(self) -> None:
        """Begin before the first conversation."""
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="toolbudget-pipeline-"))
        self.summaries = Summaries()
        self.conversations: list[Conversation] = []
        self.serial = 0
        self.stored: dict[Path, str] = {}

    @initialize()
    def begin(self) -> None:
        """Open the first session."""
        session = self.opened("main")
        history = [{"role": "user", "content": "Find the bug."}]
        self.conversations.append(Conversation(session, self.pipeline(session), history))

    def opened(self, session_id: str, agent_id: str | None = None) -> Session:
        """Open or resume a session."""
        return Session.open(
            self.root, session_id, limits=LIMITS, agent_id=agent_id, durability="process"
        )

    def pipeline(self, session: Session) -> Pipeline:
        """Make the whole pipeline, with thresholds that a short conversation reaches."""
        stages: list[Stage] = [
            Autocompact(self.summaries, min_gain_tokens=150),
            Collapse(FinishedTasks(self.summaries, min_tokens=100)),
            Microcompact(keep=2, trigger_results=8, clear_at_least_tokens=100),
            HistorySnip(max_rounds=12),
            Budget(),
        ]
        return Pipeline(stages, session=session, window=WINDOW)

    def some(self, index: int) -> Conversation:
        """Choose a conversation."""
        return self.conversations[index % len(self.conversations)]

    @rule(
        index=st.integers(0, 3),
        rounds=st.lists(CALLS, min_size=1, max_size=5),
        at_once=st.booleans(),
        seconds=st.sampled_from([1.0, 1.0, 1.0, LATER_S]),
    )
    def work(
        self,
        index: int,
        rounds: list[list[tuple[str, int, bool]]],
        *,
        at_once: bool,
        seconds: float,
    ) -> None:
        """The model calls tools, in parallel, and the host asks it again after each round."""
        chosen = self.some(index)
        for calls in rounds:
            self.call(chosen, calls, at_once=at_once)
            self.ask(chosen, seconds)

    def call(
        self, chosen: Conversation, calls: list[tuple[str, int, bool]], *, at_once: bool
    ) -> None:
        """Let the model call tools, and give it the results."""
        blocks, results = [], []
        for place, (tool_name, size_chars, reuses_id) in enumerate(calls):
            self.serial += 1
            name = f"call_{place}" if reuses_id else f"t{self.serial}"
            text = f"{self.serial} ".ljust(size_chars, "y")
            block = chosen.session.gate(res(name, text), tool_name=tool_name)
            chosen.originals.append(text)
            blocks.append(call(name, tool_name))
            results.append(block)
        chosen.history.append(answer(*blocks, message_id=f"m{self.serial}"))
        chosen.history += [msg(*results)] if at_once else [msg(block) for block in results]

    @rule(index=st.integers(0, 3))
    def talk(self, index: int) -> None:
        """The model ends its turn, and the user asks for something else."""
        chosen = self.some(index)
        self.serial += 1
        chosen.history += [
            answer({"type": "text", "text": f"answer {self.serial}"}),
            {"role": "user", "content": f"question {self.serial}"},
        ]
        self.ask(chosen, 1.0)

    @rule(index=st.integers(0, 3))
    def overflow(self, index: int) -> None:
        """The provider refuses the request as too long."""
        chosen = self.some(index)
        text = "prompt is too long: 2700 tokens > 2500 maximum"
        result = chosen.pipeline.recover_from_overflow(chosen.history, text)
        if result is not None:
            self.check(chosen, result)

    @rule(index=st.integers(0, 3))
    def resume(self, index: int) -> None:
        """The host is killed and begins again."""
        chosen = self.some(index)
        session_id = chosen.session.directory.name
        chosen.session = self.opened(session_id, chosen.agent_id)
        chosen.pipeline = self.pipeline(chosen.session)

    @rule(index=st.integers(0, 3), is_agent=st.booleans())
    def branch(self, index: int, *, is_agent: bool) -> None:
        """The conversation goes on in two ways."""
        if len(self.conversations) > 3:
            return
        chosen = self.some(index)
        name = f"child-{len(self.conversations)}"
        is_agent = is_agent and chosen.agent_id is None
        child = chosen.session.subagent(name) if is_agent else chosen.session.fork(name)
        branched = replace(
            chosen,
            session=child,
            pipeline=chosen.pipeline.for_session(child),
            history=deepcopy(chosen.history),
            sent=deepcopy(chosen.sent),
            originals=list(chosen.originals),
            agent_id=name if is_agent else None,
        )
        self.conversations.append(branched)

    @rule(index=st.integers(0, 3))
    def adopt(self, index: int) -> None:
        """The host goes on with what it was given."""
        chosen = self.some(index)
        if chosen.sent:
            chosen.history = deepcopy(chosen.sent)

    @rule()
    def break_or_mend(self) -> None:
        """The model for summaries fails from now on, or works again."""
        self.summaries.works = not self.summaries.works

    def ask(self, chosen: Conversation, seconds: float) -> None:
        """Make the next request, after so many seconds."""
        given = deepcopy(chosen.history)
        result = chosen.pipeline.run(chosen.history, idle_s=seconds)
        assert chosen.history == given, "the host's history was changed"
        for report in result.failures:
            is_expected = isinstance(report.error, SummaryError) or not self.summaries.works
            assert is_expected, report
        self.check(chosen, result)

    def check(self, chosen: Conversation, result: PipelineResult) -> None:
        """Check one request: what the API wants, what was sent before, and what can be read."""
        messages = result.messages
        assert refusals(normalize_messages_for_api(messages)) == []
        stable = len(chosen.sent) if result.prefix_broken_at is None else result.prefix_broken_at
        assert messages[:stable] == chosen.sent[:stable], "a break that was not announced"
        answers = [place for place, each in enumerate(messages) if each["role"] == "assistant"]
        newest = messages[answers[-1] :] if answers else []
        # An id that is used again, with the same text, is the same result as before.
        unseen = [
            each for each in results_in(newest) if not each["tool_use_id"].startswith("call_")
        ]
        assert not any("Old tool result cleared" in text_of(each["content"]) for each in unseen)
        exempt = {block["id"] for block in calls_in(newest[:1]) if block["name"] in EXEMPT}
        shown_chars = sum(
            len(text_of(block["content"]))
            for block in results_in(newest)
            if block["tool_use_id"] not in exempt
        )
        assert shown_chars <= MESSAGE_LIMIT + chosen.session.report.over_limit_chars
        self.check_resumed(chosen, messages)
        self.check_originals(chosen, messages)
        chosen.sent = deepcopy(messages)

    def check_resumed(self, chosen: Conversation, messages: list[Any]) -> None:
        """Whoever resumes the session now, without any of the stages, sends the same."""
        resumed = self.opened(chosen.session.directory.name, chosen.agent_id)
        for stages in ([], [Budget()]):
            again = Pipeline(stages, session=resumed).run(chosen.history)
            assert again.messages == messages
        resumed.close()

    def check_originals(self, chosen: Conversation, messages: list[Any]) -> None:
        """What is not in the request in full is in a file."""
        shown = {text_of(block["content"]) for block in results_in(messages)}
        for path in self.root.glob("*/tool-results/*"):
            if path not in self.stored:
                self.stored[path] = path.read_text()
        stored = set(self.stored.values())
        missing = [text for text in chosen.originals if text not in shown | stored]
        assert missing == []

    def teardown(self) -> None:
        """Look at what is on disk, then close and remove everything."""
        for conversation in self.conversations:
            conversation.session.close()
        _, places = find_sessions(self.root)
        findings = [inspect_session(place).findings for place in places]
        rmtree(self.root)
        assert findings == [()] * len(places), "doctor has something to say"


TestPipelineMachine = PipelineMachine.TestCase
TestPipelineMachine.settings = settings(
    max_examples=max(settings().max_examples // _EXAMPLES_PER_CONVERSATION, 3),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
