"""Two hundred turns of an agent with every stage, forks, sub-agents and resumes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.agent_world import Chain, World
from toolbudget import PrefixGuard

if TYPE_CHECKING:
    from pathlib import Path


def run(chain: Chain, text: str | None, *, is_async: bool = False) -> None:
    """Run a chain once, and raise what its requests were found to break."""
    if is_async:
        asyncio.run(chain.loop.arun(text))
    else:
        chain.loop.run(text)
    chain.check()


def branch_off(chain: Chain, number: int, *, is_fork: bool) -> Chain:
    """Play a fork or sub-agent of a chain, opened again in the middle."""
    name = f"branch-{number}"
    guard = PrefixGuard()
    guard.check(chain.last_request)
    session_id, agent_id = (name, None) if is_fork else (chain.session_id, name)
    branch = Chain(chain.world, chain.root, session_id, chain.stages, agent_id, guard)
    session = chain.session.fork(name) if is_fork else chain.session.subagent(name)
    branch.begin(session, chain.loop.messages)
    run(branch, f"Another way, {number}.")
    branch.resume()
    run(branch, "And on.")
    assert branch.lost() == []
    branch.session.close()
    return branch


def test_two_hundred_turns_with_every_stage(tmp_path: Path) -> None:
    """Every request is accepted and within the budget, each break announced, nothing lost."""
    world = World(seed=9)
    chain = Chain(world, tmp_path, "main")
    chain.open()
    inputs = 0
    while world.requests < 200:
        inputs += 1
        run(chain, f"Task {inputs}.", is_async=inputs % 2 == 0)
        if inputs % 3 == 0:
            assert chain.lost() == []
            chain.resume()
            run(chain, None)
        if inputs % 7 == 0:
            branch_off(chain, inputs, is_fork=inputs % 2 == 0)
    assert chain.lost() == []
    chain.session.close()
    assert world.stages_at_work == {"budget", "snip", "microcompact", "collapse", "autocompact"}
    assert 0 < world.breaks < world.requests / 2


@pytest.mark.parametrize("stages", [(), ("budget",)], ids=["no pipeline", "budget only"])
def test_without_the_other_stages_the_prefix_never_breaks(
    tmp_path: Path, stages: tuple[str, ...]
) -> None:
    """The budget alone, with and without a pipeline around it, changes nothing that was seen."""
    world = World(seed=4, overflows=False)
    chain = Chain(world, tmp_path, "main", stages)
    chain.open()
    for number in range(4):
        run(chain, f"Task {number}.", is_async=number % 2 == 0)
        chain.resume()
    run(chain, "And?")
    branch_off(chain, 1, is_fork=True)
    branch_off(chain, 2, is_fork=False)
    chain.session.close()
    assert world.breaks == 0
    assert world.requests > 30
