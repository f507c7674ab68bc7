"""A small agent loop that uses all of the package; a reference to read as much as to run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from toolbudget._core.pure.shape import read_message
from toolbudget._mutex import Mutex
from toolbudget.continuation import TurnBudget
from toolbudget.errors import ConfigError
from toolbudget.loop.abort import Abort, AbortedError
from toolbudget.loop.calls import Tools
from toolbudget.loop.conversation import Conversation
from toolbudget.loop.drive import TaskDriver, ThreadDriver
from toolbudget.loop.events import TextPiece, Unrecorded, tell
from toolbudget.loop.model import ModelRequest
from toolbudget.loop.shaping import Shaper
from toolbudget.loop.turns import Run
from toolbudget.loop.usage import TokenUsage
from toolbudget.messages.plain import is_empty_text, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolbudget.budget.session import Session
    from toolbudget.loop.calls import AgentTool
    from toolbudget.loop.conversation import Record
    from toolbudget.loop.events import LoopEvent, LoopResult
    from toolbudget.loop.model import Model
    from toolbudget.loop.shaping import Parameters
    from toolbudget.pipeline import Pipeline

__all__ = ["DEFAULT_MAX_PARALLEL_CALLS", "DEFAULT_MAX_TURNS", "AgentLoop"]

DEFAULT_MAX_TURNS = 100
"""Responses of one run after which it ends; what nobody watches should end at some time."""

DEFAULT_MAX_PARALLEL_CALLS = 8
"""Calls of one response that run at once; most wait for a disk or another program."""


class AgentLoop:
    """Asks a model, runs what it calls, and asks again, until it calls nothing more.

    Results go through the session's gate, histories through the pipeline or the session's budget,
    messages into the session's transcript as they come: opened again, the session goes on where it
    was, also within the calls of one response. A call always gets its result: one that fails, that
    names no tool or does not fit it, or that the host aborts, gets one that says so.

    One run at a time; :meth:`abort` may be called from anywhere.

    Args:
        model: Any callable that takes a :class:`ModelRequest`, synchronous or asynchronous.
        session: Where results are stored and messages are kept. Without one there is no gate, no
            budget and no transcript.
        tools: What the model may call.
        pipeline: What a history goes through before each request, of the same session. Without one
            the session's budget alone.
        system: The system prompt, a text or blocks.
        parameters: More parameters of the requests, or a function that gives them for the messages
            of one, such as edits that the provider is to make.
        messages: What a conversation begins with whose session has no messages yet: a fork's, a
            sub-agent's, or one that another program began. The user speaks first, as providers
            want it.
        max_turns: Responses after which a run ends; ``None`` for no bound.
        max_parallel_calls: Calls that run at once.
        on_event: Told what happens, by the thread or task that does it.

    Raises:
        ConfigError: An argument cannot be used.
        InvalidMessageError: ``messages`` begins with something that is no message.

    Example:
        >>> from toolbudget.loop import AgentLoop, ScriptedModel
        >>> loop = AgentLoop(ScriptedModel(["Hello!"]))
        >>> loop.run("Say hello.").text
        'Hello!'
    """

    def __init__(
        self,
        model: Model,
        *,
        session: Session | None = None,
        tools: Iterable[AgentTool] = (),
        pipeline: Pipeline | None = None,
        system: str | Sequence[Mapping[str, Any]] | None = None,
        parameters: Parameters | None = None,
        messages: Sequence[object] = (),
        max_turns: int | None = DEFAULT_MAX_TURNS,
        max_parallel_calls: int = DEFAULT_MAX_PARALLEL_CALLS,
        on_event: Callable[[LoopEvent], object] | None = None,
    ) -> None:
        if not callable(model):
            raise ConfigError(f"model (argument) must be callable: {shown(model)}")
        _check_parts(session, pipeline, tools, messages)
        if system is not None and not isinstance(system, str | Sequence):
            raise ConfigError(f"system (argument) must be text or blocks: {shown(system)}")
        if on_event is not None and not callable(on_event):
            raise ConfigError(f"on_event (argument) must be callable: {shown(on_event)}")
        if max_turns is not None:
            _check_count("max_turns", max_turns)
        _check_count("max_parallel_calls", max_parallel_calls)
        self._model = model
        self._session = session
        self._tools = Tools(tools, session)
        self._max_turns = max_turns
        self._max_parallel_calls = max_parallel_calls
        self._tell = partial(tell, on_event)
        self._conversation = Conversation(
            session, messages, lambda error: self._tell(Unrecorded(error))
        )
        frame = ModelRequest(
            messages=(),
            system=system,
            tools=self._tools.definitions,
            on_text=self._take_text,
        )
        self._shaper = Shaper(frame, parameters, session=session, pipeline=pipeline)
        self._turn_budget = TurnBudget() if session is None else session.turn_budget
        self._beginning = Mutex()
        # Whose run is going on. Each gives it back in a `finally` that calls nothing, since an
        # interrupt comes between calls only: not in a context manager's `__exit__`, which is one.
        self._running: object = None
        self._abort = Abort()
        self._earlier_usage = TokenUsage()
        self._run: Run | None = None

    @property
    def messages(self) -> list[Record]:
        """The history so far, as records; the list is the caller's own.

        Raises:
            ConfigError: There are messages to begin with, and the session has its own.
            TranscriptError: The transcript, which is read at the first use, cannot be read.
        """
        self._conversation.load()
        return self._conversation.records

    @property
    def usage(self) -> TokenUsage:
        """The tokens of all responses to this object."""
        return self._earlier_usage + (TokenUsage() if self._run is None else self._run.usage)

    def run(self, user_input: str | Sequence[object] | None = None) -> LoopResult:
        """Run until the model calls nothing more.

        Args:
            user_input: What the user says, a text or blocks. ``None`` goes on where the
                conversation ended: after a kill, an abort, an error of the model or ``max_turns``.
                If there is nothing to go on with, the model is not asked.

        Raises:
            ConfigError: The input is empty, there is neither input nor conversation, a run is
                going on, or the model is asynchronous.
            Exception: What the model raises; the conversation stays as it was, and may be gone on
                with.

        Example:
            >>> from toolbudget import AgentLoop
            >>> from toolbudget.loop import ScriptedModel
            >>> loop = AgentLoop(ScriptedModel(["4"]))
            >>> loop.run("2 + 2?").text, len(loop.messages)
            ('4', 2)
        """
        mine = object()
        try:
            run = self._begin(mine, user_input)
            driver = ThreadDriver(self._model, self._tools, self._abort, self._max_parallel_calls)
            return driver.drive(run.steps(user_input))
        finally:
            if self._running is mine:
                self._running = None

    async def arun(self, user_input: str | Sequence[object] | None = None) -> LoopResult:
        """Do what :meth:`run` does without blocking the event loop.

        Tools and models that are asynchronous are awaited, others run in threads. If the task is
        cancelled, calls that are going on get their results first, which say so.
        """
        mine = object()
        try:
            run = self._begin(mine, user_input)
            driver = TaskDriver(self._model, self._tools, self._abort, self._max_parallel_calls)
            return await driver.drive(run.steps(user_input))
        finally:
            if self._running is mine:
                self._running = None

    def abort(self) -> None:
        """End the run that is going on, if there is one, as soon as can be.

        Calls that are going on get results that say so, and their outcome is dropped. A tool that
        runs in a thread cannot be stopped from outside: it runs on, unheard.
        """
        self._abort.request()

    def _begin(self, mine: object, user_input: object) -> Run:
        _check_input(user_input)
        with self._beginning:
            if self._running is not None:
                raise ConfigError("a run of this loop is going on: run (method)")
            self._running = mine
        usage, abort = self.usage, Abort()
        run = Run(
            self._conversation,
            self._shaper,
            turn_budget=self._turn_budget,
            agent_id=None if self._session is None else self._session.agent_id,
            max_turns=self._max_turns,
            abort=abort,
            tell=self._tell,
        )
        # At once: an interrupt in between would count the earlier run twice.
        self._earlier_usage, self._abort, self._run = usage, abort, run
        return run

    def _take_text(self, text: str) -> None:
        """Pass on a piece of a streamed answer; end the stream if the host has aborted."""
        if self._abort.is_requested:
            raise AbortedError
        self._tell(TextPiece(text))


def _check_input(user_input: object) -> None:
    is_text = isinstance(user_input, str)
    blocks = [{"type": "text", "text": user_input}] if is_text else user_input
    if isinstance(blocks, (list, tuple)) and all(map(is_empty_text, blocks)):
        raise ConfigError(f"user_input (argument) must say something: {shown(user_input)}")


def _check_parts(session: object, pipeline: object, tools: object, messages: object) -> None:
    """Refuse what could only fail in the middle of a run.

    Raises:
        ConfigError: One of them is not what it is called.
        InvalidMessageError: A conversation begins with something that is no message.
    """
    if session is not None and not callable(getattr(session, "enforce", None)):
        raise ConfigError(f"session (argument) must be a session: {shown(session)}")
    if pipeline is not None and getattr(pipeline, "session", pipeline) is not session:
        raise ConfigError(f"pipeline (argument) must be of the same session: {shown(pipeline)}")
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        raise ConfigError(f"tools (argument) must be several tools: {shown(tools)}")
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise ConfigError(f"messages (argument) must be a list of messages: {shown(messages)}")
    first = next(filter(None, map(read_message, messages, count())), None)
    if first is not None and first.role == "assistant":
        raise ConfigError(f"messages (argument) must begin with the user's: {shown(messages)}")


def _check_count(name: str, value: object) -> None:
    if type(value) is not int or value < 1:
        raise ConfigError(f"{name} (argument) must be a whole number above 0: {shown(value)}")
