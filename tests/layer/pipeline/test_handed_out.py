"""What host code is handed is its own: changing it changes nobody's history."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import answer
from tests.layer.pipeline.agents import history_of, opened
from toolbudget import ContextWindow, acount_tokens, count_tokens
from toolbudget.pipeline import Autocompact, Collapse, FinishedTasks, Pipeline

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.pipeline import Stage


def ruin(value: Any) -> None:  # noqa: ANN401 - whatever is handed out
    """Change everything that can be changed."""
    parts = list(value.values()) if isinstance(value, dict) else list(value)
    for part in parts:
        if isinstance(part, (dict, list)):
            ruin(part)
    value.clear()


def summarise(messages: Any) -> str:  # noqa: ANN401 - as it is called
    """Summarise, and leave nothing behind."""
    ruin(messages)
    return "short"


async def asummarise(messages: Any) -> str:  # noqa: ANN401 - as it is called
    """Do the same, later."""
    return summarise(messages)


def talk(rounds: int) -> list[Any]:
    """Make a history of finished tasks."""
    history = history_of(rounds)
    history += [
        answer({"type": "text", "text": "Done."}),
        {"role": "user", "content": "And now?"},
        answer({"type": "text", "text": "Nothing."}),
        {"role": "user", "content": "Bye."},
    ]
    return history


@pytest.mark.parametrize(
    "stage",
    [Autocompact(summarise), Autocompact(asummarise), Collapse(FinishedTasks(summarise))],
    ids=["autocompact", "asynchronous", "collapse"],
)
def test_a_summariser_may_change_what_it_gets(tmp_path: Path, stage: Stage) -> None:
    """The host's history stays, and the next turn sends what this one sent."""
    window = ContextWindow(size=20_000, reserve_output=1_000)
    pipeline = Pipeline([stage], session=opened(tmp_path), window=window)
    history = talk(12)
    known = deepcopy(history)
    first = asyncio.run(pipeline.arun(history, used_tokens=19_000))
    assert [report.status for report in first.reports] == ["changed"]
    assert history == known
    assert pipeline.run(history, used_tokens=100).messages == first.messages


class Ruining:
    """A client that changes what it is asked about."""

    def __init__(self) -> None:
        """Refuse at the first step, so that the second is asked too."""
        self.messages = self
        self.asked: list[Any] = []

    def count_tokens(self, **arguments: Any) -> Any:  # noqa: ANN401 - as the SDK has it
        """Fail."""
        self._take(arguments)
        raise RuntimeError("not here")

    def create(self, **arguments: Any) -> Any:  # noqa: ANN401 - as the SDK has it
        """Tell the usage."""
        self._take(arguments)
        return SimpleNamespace(usage=SimpleNamespace(input_tokens=7))

    def _take(self, arguments: dict[str, Any]) -> None:
        content = {name: arguments[name] for name in ("messages", "tools", "system")}
        self.asked.append(deepcopy(content))
        ruin(content)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_client_may_change_what_it_gets(*, is_async: bool) -> None:
    """Neither the host's objects nor the next step's request change by it."""
    history = history_of(2)
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
    system = [{"type": "text", "text": "Be brief."}]
    known = deepcopy((history, tools, system))
    client = Ruining()
    options: dict[str, Any] = {"model": "m", "tools": tools, "system": system}
    if is_async:
        count = asyncio.run(acount_tokens(client, history, **options))
    else:
        count = count_tokens(client, history, **options)
    assert (count.tokens, count.exact) == (7, True)
    assert (history, tools, system) == known
    assert len(client.asked) == 2
    assert client.asked[0] == client.asked[1]


def test_objects_stay_of_their_kind(tmp_path: Path) -> None:
    """A summariser that reads attributes of the host's objects still can."""
    kinds: list[type] = []

    def look(messages: Any) -> str:  # noqa: ANN401 - as it is called
        kinds.extend(type(block) for message in messages for block in message["content"])
        return "short"

    window = ContextWindow(size=20_000, reserve_output=1_000)
    history = talk(12)
    history[1]["content"] = [SimpleNamespace(**block) for block in history[1]["content"]]
    pipeline = Pipeline([Autocompact(look)], session=opened(tmp_path), window=window)
    pipeline.run(history, used_tokens=19_000)
    assert SimpleNamespace in kinds
