"""ContextCollapse (Q3): the stage around a host's algorithm, and the one to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import read_transcript
from tests.layer.pipeline.agents import contents, opened, round_of
from toolbudget import ConfigError, ContextWindow
from toolbudget.pipeline import Collapse, CollapseCommit, FinishedTasks, Pipeline
from toolbudget.storage.inspection import find_sessions, inspect_session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from toolbudget.pipeline import TurnContext

WINDOW = ContextWindow(size=4_000, reserve_output=0)
NEAR_TOKENS = 3_300


def tasks(number: int) -> list[Any]:
    """Make so many questions, each with three rounds of tools and an answer."""
    history: list[Any] = []
    for task in range(number):
        history.append({"role": "user", "content": f"question {task}"})
        for step in range(3):
            history += round_of(10 * task + step, 1_200)
        history.append({"role": "assistant", "content": f"answer {task}"})
    return [*history, {"role": "user", "content": "and now?"}]


class Told:
    """An algorithm that folds what it is told to, and keeps what it is given."""

    def __init__(self, *commits: CollapseCommit) -> None:
        """Begin with the folds."""
        self.commits = list(commits)
        self.restored: list[Mapping[str, Any]] = []
        self.turns = 0

    def apply_if_needed(self, _context: TurnContext) -> Sequence[CollapseCommit]:
        """Fold once."""
        self.turns += 1
        commits, self.commits = self.commits, []
        return commits

    def recover_from_overflow(self, context: TurnContext) -> Sequence[CollapseCommit]:
        """Do the same."""
        return self.apply_if_needed(context)

    def snapshot(self) -> Mapping[str, Any]:
        """Give the number of turns."""
        return {"turns": self.turns}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Keep it."""
        self.restored.append(snapshot)


def test_commits_and_snapshot_are_recorded(tmp_path: Path) -> None:
    """A resumed session sends the same, and its algorithm goes on from the snapshot."""
    history = tasks(3)
    with opened(tmp_path) as session:
        stage = Collapse(Told(CollapseCommit(1, 7, "first"), CollapseCommit(9, 15, "second")))
        first = Pipeline([stage], session=session).run(history)
        assert [len(first.messages), first.messages[1], first.messages[4]["content"]] == [
            len(history) - 10,
            {"role": "user", "content": "first"},
            "second",
        ]
        assert first.prefix_broken_at == 1
        assert (stage.statistics.commits, stage.statistics.messages) == (2, 12)
        assert stage.statistics.saved_tokens > 500
        lines = read_transcript(session.transcript_path)
        kinds = [edit["kind"] for line in lines for edit in line.get("edits", ())]
        assert kinds == ["collapse", "collapse-snapshot"] * 2
    with opened(tmp_path) as session:
        again = Told()
        later = Pipeline([Collapse(again)], session=session).run(history)
        assert later.messages == first.messages
        assert again.restored == [{"turns": 1}]
        path = session.result_path("t2")
        assert path is not None
        assert path.read_text() == contents(history)["t2"]
        assert session.fork("f").collapse_snapshot == {"turns": 1}
    _, places = find_sessions(tmp_path)
    assert [inspect_session(place).findings for place in places] == [(), ()]


def test_a_fold_that_parts_a_pair_is_refused(tmp_path: Path) -> None:
    """Nothing of it is recorded."""
    history = tasks(1)
    stage = Collapse(Told(CollapseCommit(1, 2, "half")))
    with opened(tmp_path) as session:
        result = Pipeline([stage], session=session).run(history)
        assert result.messages == history
        assert result.reports[0].status == "refused"
        assert stage.statistics.refused == 1
        assert session.context_edits == ()


@pytest.mark.parametrize(
    ("commits", "problem"),
    [
        ([CollapseCommit(1, 5, "a"), CollapseCommit(3, 7, "b")], "commits overlap"),
        ([CollapseCommit(1, 99, "a")], "commit is no part of 9 messages"),
        ([CollapseCommit(-3, -1, "a")], "commit is no part of 9 messages"),
        ([CollapseCommit(3, 3, "a")], "commit is no part of 9 messages"),
        ([(1, 3, "a")], "commit is no part of 9 messages"),
        ([CollapseCommit(5, 7, "a"), CollapseCommit(1, 3, " ")], "commit has no text to put in"),
    ],
)
def test_commits_that_are_none_are_refused_as_a_whole(
    tmp_path: Path, commits: list[Any], problem: str
) -> None:
    """Half of what an algorithm wanted is not what it wanted."""
    history = tasks(1)
    stage = Collapse(Told(*commits))
    with opened(tmp_path) as session:
        result = Pipeline([stage], session=session).run(history)
        assert (len(history), result.messages) == (9, history)
        assert problem in str(result.reports[0].error)
        assert stage.statistics.refused == len(commits)
        assert session.context_edits == ()


def test_the_small_algorithm_folds_finished_tasks(tmp_path: Path) -> None:
    """Questions and answers stay, the steps between them become one note; the last task stays."""
    asked: list[int] = []

    def describe(messages: Sequence[Any]) -> str:
        asked.append(len(messages))
        return "looked at three files"

    history = [*tasks(3), *round_of(90)]
    algorithm = FinishedTasks(describe, min_tokens=100)
    with opened(tmp_path) as session:
        pipeline = Pipeline([Collapse(algorithm)], session=session, window=WINDOW)
        assert pipeline.run(history, used_tokens=100).messages == history
        result = pipeline.run(history, used_tokens=NEAR_TOKENS)
        assert asked == [6, 6, 6]
        assert algorithm.snapshot() == {"tasks": 3}
        note = "[Steps of this task: looked at three files]"
        assert [message["content"] for message in result.messages[:9]] == [
            text for task in range(3) for text in (f"question {task}", note, f"answer {task}")
        ]
        assert result.messages[9:] == history[-3:]


def test_an_overflow_folds_too(tmp_path: Path) -> None:
    """Whatever the window says."""
    stage = Collapse(FinishedTasks(lambda _messages: "done", min_tokens=100))
    with opened(tmp_path) as session:
        pipeline = Pipeline([stage], session=session)
        history = [*tasks(2), *round_of(90)]
        result = pipeline.recover_from_overflow(history, "prompt is too long")
        assert result is not None
        assert stage.statistics.commits == 2


@pytest.mark.parametrize("algorithm", [None, len, "fold"])
def test_what_is_no_algorithm_is_refused(algorithm: Any) -> None:  # noqa: ANN401
    """When the stage is made, not as a failure of every turn."""
    with pytest.raises(ConfigError, match=r"algorithm \(argument\) .*apply_if_needed"):
        Collapse(algorithm)
