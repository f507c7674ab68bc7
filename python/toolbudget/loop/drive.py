"""Carrying out what the steps ask for: with threads, or with tasks of an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from toolbudget._threads import in_thread
from toolbudget.errors import ConfigError
from toolbudget.loop.abort import Abort, AbortedError
from toolbudget.loop.effects import AskModel, RunCalls, Work

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from toolbudget.loop.calls import Answer, Tools
    from toolbudget.loop.effects import Effect, Steps
    from toolbudget.loop.events import LoopResult
    from toolbudget.loop.model import Model

__all__ = ["TaskDriver", "ThreadDriver"]

# What a cancelled tool may take to clean up before the loop goes on without it.
_CANCEL_GRACE_S = 1.0


class ThreadDriver:
    """Runs calls in threads, and everything else in the thread of the caller."""

    def __init__(self, model: Model, tools: Tools, abort: Abort, max_parallel_calls: int) -> None:
        self._model = model
        self._tools = tools
        self._abort = abort
        self._max_parallel_calls = max_parallel_calls

    def drive(self, steps: Steps) -> LoopResult:
        """Carry out steps to their end."""
        outcome: object = None
        raised: BaseException | None = None
        while True:
            try:
                effect = steps.send(outcome) if raised is None else steps.throw(raised)
            except StopIteration as end:
                result: LoopResult = end.value
                return result
            try:
                outcome, raised = self._perform(effect), None
            except BaseException as error:  # noqa: BLE001 - the steps judge it
                outcome, raised = None, error

    def _perform(self, effect: Effect) -> object:
        if isinstance(effect, Work):
            return effect.call()
        if isinstance(effect, RunCalls):
            self._run(effect)
            return None
        reply = self._model(effect.request)
        if inspect.isawaitable(reply):
            if inspect.iscoroutine(reply):
                reply.close()
            raise ConfigError(f"model is asynchronous, use arun: {type(self._model).__name__}")
        return reply

    def _run(self, effect: RunCalls) -> None:
        """Run calls until all have answered or the host aborts; then nobody waits for the rest."""
        aborted: Future[None] = Future()
        workers = min(self._max_parallel_calls, len(effect.calls))
        pool = ThreadPoolExecutor(workers, thread_name_prefix="toolbudget-tool")
        try:
            with self._abort.telling(lambda: aborted.set_result(None)):
                pending: set[Future[Any]] = {self._submit(pool, call) for call in effect.calls}
                while pending and not aborted.done():
                    done, _ = wait({aborted, *pending}, return_when=FIRST_COMPLETED)
                    for future in done & pending:
                        effect.deliver(future.result())
                    pending -= done
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, pool: ThreadPoolExecutor, call: Mapping[str, Any]) -> Future[Answer]:
        return pool.submit(contextvars.copy_context().run, self._tools.answer, call)


class TaskDriver:
    """Runs calls as tasks, and what waits for the disk in threads."""

    def __init__(self, model: Model, tools: Tools, abort: Abort, max_parallel_calls: int) -> None:
        self._model = model
        self._tools = tools
        self._abort = abort
        self._slots = asyncio.Semaphore(max_parallel_calls)

    async def drive(self, steps: Steps) -> LoopResult:
        """Carry out steps to their end."""
        outcome: object = None
        raised: BaseException | None = None
        while True:
            try:
                effect = steps.send(outcome) if raised is None else steps.throw(raised)
            except StopIteration as end:
                result: LoopResult = end.value
                return result
            try:
                outcome, raised = await self._perform(effect), None
            except BaseException as error:  # noqa: BLE001 - the steps judge it
                outcome, raised = None, error

    async def _perform(self, effect: Effect) -> object:
        if isinstance(effect, Work):
            if effect.acall is not None:
                return await self._or_abort(effect.acall())
            return await in_thread(effect.call)
        if isinstance(effect, RunCalls):
            await self._run(effect)
            return None
        return await self._or_abort(self._reply(effect))

    async def _or_abort(self, work: Awaitable[object]) -> object:
        """Wait for a model, or for a stage that may ask one; an abort does not wait for it."""
        asked = asyncio.ensure_future(work)
        try:
            if await self._first_of({asked}):
                return asked.result()
            raise AbortedError
        finally:
            await _cancel({asked})

    async def _reply(self, effect: AskModel) -> object:
        model: Any = self._model
        is_async = inspect.iscoroutinefunction(model) or inspect.iscoroutinefunction(
            getattr(model, "__call__", None)  # noqa: B004 - to look at it, not to ask for it
        )
        if is_async:
            return await model(effect.request)
        reply = await in_thread(model, effect.request)
        return await reply if inspect.isawaitable(reply) else reply

    async def _run(self, effect: RunCalls) -> None:
        pending = {asyncio.create_task(self._answer(call)) for call in effect.calls}
        try:
            while pending and not self._abort.is_requested:
                done = await self._first_of(pending)
                pending -= done
                for task in done:
                    await in_thread(effect.deliver, task.result())
        finally:
            await _cancel(pending)

    async def _answer(self, call: Mapping[str, Any]) -> Answer:
        async with self._slots:
            return await self._tools.aanswer(call)

    async def _first_of(self, tasks: set[asyncio.Task[Any]]) -> set[asyncio.Task[Any]]:
        """Wait until one is done or the host aborts; give those that are done."""
        loop, aborted = asyncio.get_running_loop(), asyncio.Event()
        watch = asyncio.create_task(aborted.wait())
        try:
            with self._abort.telling(lambda: loop.call_soon_threadsafe(aborted.set)):
                done, _ = await asyncio.wait({watch, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watch.cancel()
        return {task for task in tasks if task in done}


async def _cancel(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and give them a moment to clean up."""
    running = {task for task in tasks if not task.done()}
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=_CANCEL_GRACE_S)
