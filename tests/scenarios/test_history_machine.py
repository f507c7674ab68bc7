"""What a session keeps of its history never changes what it gives."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.scenarios.history_machine import AppendOnlyMachine, HistoryMachine, VerifiedMachine
from toolbudget import _core as core
from toolbudget._core.pure import past
from toolbudget.budget.state import ContentReplacementState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

_EXAMPLES: Final = {"dev": 50, "ci": 250, "coverage": 25, "long": 20_000}
_EXAMPLES_UNTIL_A_BUG_IS_FOUND: Final = 600
_STEPS: Final = 25


def settings(**options: Any) -> hypothesis.settings:  # noqa: ANN401 - passed on
    """Make settings for a run of a machine."""
    return hypothesis.settings(
        stateful_step_count=_STEPS,
        suppress_health_check=list(hypothesis.HealthCheck),
        **options,
    )


@pytest.mark.parametrize("machine", [VerifiedMachine, AppendOnlyMachine])
def test_a_session_gives_what_a_full_pass_gives(
    machine: type[HistoryMachine], tmp_path: Path
) -> None:
    """After any edits that the mode allows, output, report and state are those of a full pass."""
    machine = type("Rooted", (machine,), {"root": tmp_path})
    examples = _EXAMPLES[hypothesis.settings.get_current_profile_name()]
    run_state_machine_as_test(machine, settings=settings(max_examples=examples))


@contextmanager
def _patched(target: object, name: str, new: object) -> Iterator[None]:
    with mock.patch.object(target, name, new):
        yield


@contextmanager
def _in_pure_past(target: object, name: str, new: object) -> Iterator[None]:
    """Put something else into the pure core's past, which stands in for the native one's."""
    with (
        _patched(core, "Past", past.Past),
        _patched(core, "plan_rest", past.plan_rest),
        _patched(target, name, new),
    ):
        yield


def _trusts_outputs() -> AbstractContextManager[None]:
    """Give the output of the turn before without a look at it."""
    rewrite_again = core.rewrite_again

    def trusting(messages: Any, changes: Any, earlier: Any) -> Any:  # noqa: ANN401
        output, pairs = rewrite_again(messages, changes, [])
        known = {id(one): made for one, made in zip(earlier[::2], earlier[1::2], strict=True)}
        pairs[1::2] = [known.get(id(one), new) for one, new in zip(pairs[::2], pairs[1::2])]  # noqa: B905
        made = {id(one): new for one, new in zip(pairs[::2], pairs[1::2], strict=True)}
        again = [made.get(id(one), one) for one in messages]
        return (again if pairs else output), pairs

    return _patched(core, "rewrite_again", trusting)


BUGS: Final[dict[str, tuple[type[HistoryMachine], Callable[[], AbstractContextManager[None]]]]] = {
    "does not compare the beginning": (
        AppendOnlyMachine,
        lambda: _in_pure_past(past, "begins_with", lambda new, old: len(old) <= len(new)),
    ),
    "does not look for ids of the past": (
        AppendOnlyMachine,
        lambda: _in_pure_past(past.Past, "is_independent_of", lambda _past, _outline: True),
    ),
    "does not look for the answer behind the past": (
        AppendOnlyMachine,
        lambda: _in_pure_past(
            past.Past, "is_independent_of", lambda past, rest: past._ids.isdisjoint(rest.ids)
        ),
    ),
    "does not notice what was taken back": (
        AppendOnlyMachine,
        lambda: _patched(ContentReplacementState, "token", None),
    ),
    "trusts its outputs": (VerifiedMachine, _trusts_outputs),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_seeded_bug_is_found(bug: str, tmp_path: Path) -> None:
    """The machine fails within a bounded number of examples."""
    machine, seeded = BUGS[bug]
    machine = type("Rooted", (machine,), {"root": tmp_path})
    quick = settings(
        max_examples=_EXAMPLES_UNTIL_A_BUG_IS_FOUND,
        derandomize=True,
        database=None,
        phases=[hypothesis.Phase.generate],
    )
    with seeded(), pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(machine, settings=quick)
