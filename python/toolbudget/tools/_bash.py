"""The tool ``bash``: runs a command, and keeps what it writes from flooding anything."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, Unpack

from toolbudget.tools._bash_call import (
    DEFAULT_INLINE_CHARS,
    DEFAULT_KEPT_BYTES,
    DEFAULT_MAX_OUTPUT_BYTES,
    DEFAULT_PREVIEW_BYTES,
    DEFAULT_TIMEOUT_S,
    BashOptions,
    BashResult,
    call_bash,
)
from toolbudget.tools.definition import Parameter, Tool, tool

if TYPE_CHECKING:
    import os
    from collections.abc import Awaitable, Callable, Mapping

    from toolbudget.budget.session import Session
    from toolbudget.storage.result import StreamingStore

__all__ = ["BashOptions", "BashResult", "BashTool", "abash", "bash", "bash_tool"]

P = ParamSpec("P")

_PARAMETERS: Final = (
    Parameter(
        "command",
        "string",
        "The command, as one would type it in bash. Standard input is empty.",
        is_required=True,
    ),
    Parameter(
        "timeout_s",
        "number",
        "Seconds after which it is stopped with all that it started; 120 if not given.",
        minimum=0.1,
        maximum=3_600,
    ),
)


@tool(*_PARAMETERS)
def bash(
    command: str,
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    session: Session | None = None,
    store: StreamingStore | None = None,
    tool_use_id: str | None = None,
    inline_chars: int = DEFAULT_INLINE_CHARS,
    preview_bytes: int = DEFAULT_PREVIEW_BYTES,
    kept_bytes: int = DEFAULT_KEPT_BYTES,
    max_output_bytes: float = DEFAULT_MAX_OUTPUT_BYTES,
) -> BashResult:
    r"""Run a command in bash and return its exit code and output; large output is saved to a file.

    Each call is a shell of its own, without input. What both streams write is taken as it comes,
    by whole lines. Output that can be shown whole is; of any other the file gets every byte, and
    the text shows how the command ended, what seems to matter most, and where the file is. Memory
    does not grow with the output.

    The call is over when the shell has ended and nobody holds its output. A process left behind
    with its output open is stopped half a second later; one whose output goes elsewhere
    (``server >log 2>&1 &``) runs on. What is stopped gets SIGTERM, and SIGKILL two seconds later.

    Args:
        command: What to run.
        timeout_s: Seconds after which it is stopped; ``math.inf`` waits for ever.
        cwd: Where it runs; ``None`` is the folder of this process.
        env: Its whole environment; ``None`` is that of this process.
        session: Where large output is stored, and recorded as replaced.
        store: Where it is stored, for hosts without a session.
        tool_use_id: Names the file; with a session also the result that is decided about.
        inline_chars: Output up to this is shown whole. The default is the limit that ``Bash`` has.
        preview_bytes: So much is shown of output that is stored; 500 to 10,000.
        kept_bytes: So much output is kept in memory, half of it from each end.
        max_output_bytes: A command that writes more is stopped.

    Raises:
        ToolInputError: The command or the timeout cannot be used; nothing has been run.
        ConfigError: Another argument cannot be used; nothing has been run.
        ToolError: The command could not be started.
        TranscriptError: With a ``strict`` session, when recording failed.

    Example:
        >>> from toolbudget.tools import bash
        >>> result = bash("echo out; echo err >&2; exit 3")
        >>> result.exit_code, result.stdout, result.stderr
        (3, 'out\n', 'err\n')
        >>> print(bash("exit 3").text)
        Exit code: 3
        <BLANKLINE>
        (no output)
    """
    options: BashOptions = {
        "timeout_s": timeout_s,
        "cwd": cwd,
        "env": env,
        "session": session,
        "store": store,
        "tool_use_id": tool_use_id,
        "inline_chars": inline_chars,
        "preview_bytes": preview_bytes,
        "kept_bytes": kept_bytes,
        "max_output_bytes": max_output_bytes,
    }
    return call_bash(command, threading.Event(), options)


async def abash(command: str, **options: Unpack[BashOptions]) -> BashResult:
    r"""Do what :data:`bash` does without blocking the event loop.

    A cancelled call stops the command first: when ``CancelledError`` comes, nothing that it started
    and could be stopped runs on.

    Example:
        >>> import asyncio
        >>> from toolbudget.tools import abash
        >>> asyncio.run(abash("echo done")).stdout
        'done\n'
    """
    cancellation = threading.Event()
    # A thread of its own: commands that wait must not take those of the event loop's executor,
    # which the sessions use.
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="toolbudget-bash")
    call = executor.submit(call_bash, command, cancellation, options)
    executor.shutdown(wait=False)
    waiting = asyncio.wrap_future(call)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        cancellation.set()
        while not waiting.done():
            # Cancelled again meanwhile, the command is still stopped first.
            try:
                await asyncio.wait([waiting])
            except asyncio.CancelledError:
                continue
        # Looked at, so that nobody is warned of what the cancelled caller does not want.
        waiting.exception()
        raise


# In an event loop the tool, too, ends its command when it is cancelled.
bash = replace(bash, async_function=abash)


class BashTool(Tool[P, BashResult]):
    """The tool of one host or session: it knows the id of the call that it answers."""

    def answer(self, tool_use: Mapping[str, object]) -> dict[str, object]:
        """Run one ``tool_use`` block and return its ``tool_result`` block, also of a failure.

        Raises:
            ToolInputError: The block has no id, or calls another tool.
        """
        return self._answering(tool_use).answer(tool_use)

    async def aanswer(self, tool_use: Mapping[str, object]) -> dict[str, object]:
        """Answer in an event loop; cancelled, it does what :func:`abash` does."""
        return await self._answering(tool_use).aanswer(tool_use)

    def _answering(self, tool_use: Mapping[str, object]) -> Tool[..., BashResult]:
        function: Callable[..., BashResult] = self.function
        known = partial(function, tool_use_id=tool_use.get("id"))
        twin: Callable[..., Awaitable[BashResult]] | None = self.async_function
        if twin is not None:
            twin = partial(twin, tool_use_id=tool_use.get("id"))
        return Tool(self.name, self.description, self.parameters, known, twin)


def bash_tool(**options: Unpack[BashOptions]) -> BashTool[...]:
    """Return the tool with options of the host's own, ready to answer calls.

    Args:
        options: As of :data:`bash`, but without ``tool_use_id``.

    Example:
        >>> import tempfile, toolbudget
        >>> from toolbudget.tools import bash_tool
        >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
        >>> run = bash_tool(session=session, timeout_s=30)
        >>> call = {"type": "tool_use", "id": "t1", "name": "bash"}
        >>> block = run.answer({**call, "input": {"command": "seq 100000"}})
        >>> session.result_path("t1").stat().st_size
        588895
        >>> session.gate(block, tool_name="bash") is block
        True
    """
    function, twin = partial(bash.function, **options), partial(abash, **options)
    return BashTool(bash.name, bash.description, bash.parameters, function, twin)
