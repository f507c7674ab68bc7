"""What a model has seen stays as it was, whatever a host and its disk do."""

from __future__ import annotations

from typing import Final

import hypothesis
import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.scenarios.conversation_bugs import BUGS
from tests.scenarios.conversation_machine import ConversationMachine

_EXAMPLES: Final = {"dev": 50, "ci": 300, "coverage": 30, "long": 20_000}
_EXAMPLES_UNTIL_A_BUG_IS_FOUND: Final = 300
_STEPS: Final = 25


def test_what_was_sent_is_sent_again() -> None:
    """After any steps every conversation goes out with the bytes that it went out with before."""
    settings = hypothesis.settings(
        max_examples=_EXAMPLES[hypothesis.settings.get_current_profile_name()],
        stateful_step_count=_STEPS,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    run_state_machine_as_test(ConversationMachine, settings=settings)


@pytest.mark.parametrize("bug", BUGS)
def test_a_seeded_bug_is_found(bug: str) -> None:
    """The machine fails within a bounded number of examples."""
    settings = hypothesis.settings(
        max_examples=_EXAMPLES_UNTIL_A_BUG_IS_FOUND,
        stateful_step_count=_STEPS,
        derandomize=True,
        database=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    with BUGS[bug](), pytest.raises(AssertionError):
        run_state_machine_as_test(ConversationMachine, settings=settings)
