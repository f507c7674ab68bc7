"""A world for an agent: tools whose outputs are remembered, a model that calls them, and judges.

What the model does follows from a seed, so that every run is the same.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.layer.messages.api_rules import refusals
from toolbudget import ContextWindow, Limits, PrefixGuard, Session, ToolError
from toolbudget.loop import AgentLoop, RequestReady, Responded, ScriptedModel
from toolbudget.pipeline import (
    Autocompact,
    Budget,
    Collapse,
    FinishedTasks,
    HistorySnip,
    Microcompact,
    Pipeline,
    PipelineResult,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from toolbudget.loop import LoopEvent, ModelRequest
    from toolbudget.pipeline import Stage

__all__ = ["LIMITS", "Chain", "World", "all_stages"]

Block = dict[str, Any]

LIMITS: Final = Limits(max_result_chars=3_000, max_message_chars=10_000, preview_bytes=300)
WINDOW: Final = ContextWindow(size=10_000, reserve_output=1_000)
EXEMPT: Final = "read_file"
SIZES_CHARS: Final = (10, 200, 900, 1_500, 2_900, 2_900, 6_000, 30_000)


def all_stages() -> list[Stage]:
    """Give a new stage of every kind, set so that each has something to do in two hundred turns."""
    return [
        Autocompact(_summary, min_gain_tokens=200),
        Collapse(FinishedTasks(_summary)),
        Microcompact(
            keep=6, tools={"produce", EXEMPT}, trigger_results=20, clear_at_least_tokens=1_000
        ),
        HistorySnip(max_rounds=18, keep=0.7),
        Budget(),
    ]


def _summary(messages: Sequence[Any]) -> str:
    return f"What {len(messages)} messages came to, in a few words."


@dataclass
class Producer:
    """A tool that makes a text of the size it is told, and remembers which."""

    name: str
    truth: dict[str, str]
    description: str = "makes a text"
    input_schema: dict[str, Any] = field(default_factory=lambda: {"type": "object"})

    def run(self, given: Mapping[str, Any]) -> object:
        """Make the text of one call."""
        key, size, form = given["key"], given["size"], given["form"]
        line = f"{key} is what this line of output is about\n"
        text = (line * (size // len(line) + 1))[:size]
        self.truth[key] = text
        if form == "error":
            raise ToolError(text)
        if form == "blocks":
            half = len(text) // 2
            return [{"type": "text", "text": part} for part in (text[:half], text[half:])]
        return text


class World:
    """Plays the model of one test, and judges every request of every chain.

    Attributes:
        truth: What each call brought, by its id.
        requests: How many requests there were.
        breaks: How many of them did not begin with the one before, all of them announced.
    """

    def __init__(self, seed: int, *, overflows: bool = True) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same in every run
        self.truth: dict[str, str] = {}
        self.requests = 0
        self.breaks = 0
        self.stages_at_work: set[str] = set()
        self._calls = 0
        # Right after one there is none: it would be the host's to handle.
        self._may_overflow = self._overflows = overflows

    @property
    def tools(self) -> list[Producer]:
        """The tools of every chain."""
        return [Producer(name, self.truth) for name in ("produce", EXEMPT)]

    def reply(self, request: ModelRequest) -> Any:  # noqa: ANN401 - whatever a script may hold
        """Answer one request: with calls, with words, or not at all."""
        dice = self._random.random()
        # Of a short one nothing could go.
        if dice < 0.03 and self._may_overflow and len(request.messages) > 12:
            self._may_overflow = False
            return RuntimeError("prompt is too long: 15000 tokens > 14000 maximum")
        self._may_overflow = self._overflows
        if dice < 0.15:
            return f"That is done, as far as it goes: {self.requests}."
        return [self._call() for _ in range(self._random.randint(1, 4))]

    def _call(self) -> Block:
        self._calls += 1
        key = f"call_{self._calls}"
        name = EXEMPT if self._random.random() < 0.05 else "produce"
        size = 900 if name == EXEMPT else self._random.choice(SIZES_CHARS)
        form = self._random.choice(["text"] * 6 + ["blocks", "error"])
        given = {"key": key, "size": size, "form": form}
        return {"type": "tool_use", "id": key, "name": name, "input": given}

    def judge(self, messages: list[Any]) -> None:
        """Check one request: the API's rules, and the bound of the budget."""
        self.requests += 1
        assert refusals(messages) == []
        names = {
            block["id"]: block["name"]
            for block in blocks_of(messages)
            if block["type"] == "tool_use"
        }
        for message in messages:
            sizes = [
                len(text_of(block))
                for block in message["content"]
                if block["type"] == "tool_result" and names[block["tool_use_id"]] != EXEMPT
            ]
            assert sum(sizes) <= LIMITS.max_message_chars

    def note(self, report: object) -> bool:
        """Take note of the stages that changed something; tell whether a break is announced."""
        if not isinstance(report, PipelineResult):
            return False
        assert [str(one) for one in report.failures] == []
        self.stages_at_work.update(one.name for one in report.reports if one.status == "changed")
        return report.prefix_broken_at is not None


@dataclass
class Chain:
    """One conversation, opened again and again."""

    world: World
    root: Path
    session_id: str
    stages: Sequence[str] | None = None
    agent_id: str | None = None
    guard: PrefixGuard = field(default_factory=PrefixGuard)
    failure: BaseException | None = None
    last_request: list[Any] = field(default_factory=list)
    is_announced: bool = False

    def begin(self, session: Session, messages: Sequence[Any] = ()) -> None:
        """Take a session up, new or opened again."""
        stages = [one for one in all_stages() if self.stages is None or one.name in self.stages]
        self.session = session
        self.model = ScriptedModel(self.world.reply)
        pipeline = Pipeline(stages, session=session, window=WINDOW, clock=lambda: 1.7e9)
        self.loop = AgentLoop(
            self.model,
            session=session,
            tools=self.world.tools,
            pipeline=pipeline if stages else None,
            messages=messages,
            max_turns=25,
            on_event=self._hear,
        )

    def open(self) -> None:
        """Open it, as a process does that begins."""
        self.begin(
            Session.open(
                self.root,
                self.session_id,
                agent_id=self.agent_id,
                limits=LIMITS,
                durability="process",
            )
        )

    def resume(self) -> None:
        """Close it and open it again, with nothing but what is on disk."""
        self.session.close()
        self.open()

    def check(self) -> None:
        """Say what the last run found; the loop itself goes on whatever a callback raises."""
        if self.failure is not None:
            raise self.failure

    def lost(self) -> list[str]:
        """Give the calls whose result can neither be seen in full nor be read back."""
        messages = [record["message"] for record in self.loop.messages]
        ids = {block["tool_use_id"] for block in results_in(messages)}
        last = max(i for i, message in enumerate(messages) if message["role"] == "assistant")
        # What came behind the last answer is yet to be sent, if the run has met its bound.
        visible = [*results_in(self.last_request), *results_in(messages[last:])]
        shown = {block["tool_use_id"]: text_of(block) for block in visible}
        return [
            key
            for key in sorted(ids & self.world.truth.keys())
            if self.world.truth[key] not in {shown.get(key), self._stored(key)}
        ]

    def _stored(self, key: str) -> str | None:
        if self.session.result_path(key) is None:
            return None
        return self.session.result_page(key, max_chars=50_000).text

    def _hear(self, event: LoopEvent) -> None:
        try:
            self._judge(event)
        except BaseException as error:
            self.failure = self.failure or error
            raise

    def _judge(self, event: LoopEvent) -> None:
        if isinstance(event, RequestReady):
            self.last_request = list(event.request.messages)
            self.is_announced |= self.world.note(event.report)
            self.world.judge(self.last_request)
        elif isinstance(event, Responded):
            # What a provider has refused is in no cache, so only what it took is compared.
            finding = self.guard.check(self.last_request)
            assert finding.is_intact or self.is_announced, str(finding)
            self.world.breaks += not finding.is_intact
            self.is_announced = False


def blocks_of(messages: Sequence[Any]) -> list[Block]:
    """Give every block of the messages of a request."""
    return [block for message in messages for block in message["content"]]


def results_in(messages: Sequence[Any]) -> list[Block]:
    """Give the results in messages, of a request or of a history."""
    held = [message for message in messages if isinstance(message["content"], list)]
    return [block for block in blocks_of(held) if block["type"] == "tool_result"]


def text_of(block: Block) -> str:
    """Give the text of a result."""
    content = block["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
