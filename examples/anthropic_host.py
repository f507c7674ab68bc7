"""A host over Anthropic's API: real tools, a session on disk, a pipeline, and a prompt of yours.

Run it with ``ANTHROPIC_API_KEY=… python examples/anthropic_host.py FOLDER "What does …?"``; without
a prompt it goes on where FOLDER's session ended. It needs the package ``anthropic``. The model is
``ANTHROPIC_MODEL``. It may run any command: use a folder and a machine that may be lost.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from toolbudget import ContextWindow, Session
from toolbudget.loop import AgentLoop, AnthropicModel, Ended, TextPiece, ToolFinished
from toolbudget.pipeline import Budget, Microcompact, Pipeline
from toolbudget.tools import bash_tool, grep, read_file, result_tools

if TYPE_CHECKING:
    from toolbudget.loop import LoopEvent

SYSTEM: Final = "You are a careful engineer. Look before you answer, and name files and lines."
WRONG_USAGE: Final = 2


def show(event: LoopEvent) -> None:
    """Print what happens while it happens."""
    if isinstance(event, TextPiece):
        print(event.text, end="", flush=True)
    elif isinstance(event, ToolFinished):
        content = event.result["content"]
        mark = "failed" if event.is_error else f"{len(content):,} characters or blocks"
        print(f"\n[{event.name}: {mark}]", flush=True)
    elif isinstance(event, Ended):
        usage = event.result.usage
        print(
            f"\n[{event.result.reason} after {event.result.turns} turns: {usage.input_tokens:,}"
            f" tokens new, {usage.cache_creation_tokens:,} cached, {usage.cache_read_tokens:,}"
            f" from the cache, {usage.output_tokens:,} written]"
        )


def converse(model: AnthropicModel, root: str, prompt: str | None) -> None:
    """Go on with the session in a folder, by a prompt or from where it ended."""
    with Session.open(root, "host") as session:
        loop = AgentLoop(
            model,
            session=session,
            tools=[bash_tool(session=session), grep, read_file, *result_tools(session)],
            pipeline=Pipeline([Budget(), Microcompact()], session=session, window=ContextWindow()),
            system=SYSTEM,
            on_event=show,
        )
        loop.run(prompt)


def main(arguments: list[str]) -> int:
    """Check what is needed, then converse."""
    if not 1 <= len(arguments) <= 2:  # noqa: PLR2004 - a folder, and maybe a prompt
        print("usage: python examples/anthropic_host.py FOLDER [PROMPT]", file=sys.stderr)
        return WRONG_USAGE
    missing = [
        name for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_MODEL") if not os.environ.get(name)
    ]
    if missing:
        print(f"{' and '.join(missing)} must be set in the environment.", file=sys.stderr)
        return WRONG_USAGE
    try:
        import anthropic
    except ImportError:
        print("The package is missing: pip install anthropic", file=sys.stderr)
        return WRONG_USAGE
    model = AnthropicModel(anthropic.Anthropic(), os.environ["ANTHROPIC_MODEL"])
    converse(model, arguments[0], arguments[1] if len(arguments) > 1 else None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
