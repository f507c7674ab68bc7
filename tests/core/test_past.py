"""The past of a conversation: a turn that plans the rest of it comes to what a full pass does."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.harness import (
    State,
    ask,
    assistant,
    plan_options,
    record,
    result,
    text_block,
    user,
)
from tests.core.parity import assert_same, outcome
from tests.strategies import message_lists
from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from toolbudget._core.pure import PlanOptions

LIMITS: Final = (50, 400.5, 10**6)
LARGE: Final = "a line\n" * 150


class Host:
    """A host that only appends, and enforces in every turn."""

    def __init__(self, core: ModuleType, limit: float) -> None:
        """Begin without messages."""
        self.core = core
        self.past: Any = core.Past()
        self.options: PlanOptions = plan_options(core, limit=limit)
        self.state = State()
        self.earlier: list[Any] = []

    def turn(self, messages: list[Any]) -> object:
        """Plan what follows the past, or everything; give whatever can be seen of it."""
        known = self.state.known(self.core)
        arguments = self.past, messages, known, self.options, self.earlier
        planned: Any = outcome(self.core.plan_rest, *arguments)
        if isinstance(planned, Exception):
            return planned
        is_rest, rest = planned is not None, messages
        if planned is None:
            self.past = self.core.Past()
            plan = outcome(self.core.plan, messages, known, self.options)
        else:
            plan, rest = planned
        if isinstance(plan, Exception):
            return plan
        output = self.take_over(plan, rest)
        past = self.past
        seen = past.inputs, past.outputs, self.sums(), past.rewritten(), past.join(output)
        return is_rest, plan, rest, output, self.earlier, *seen

    def take_over(self, plan: Any, rest: list[Any]) -> list[Any]:  # noqa: ANN401
        """Decide as the plan says, and rewrite what it is about."""
        changes = list(plan.changes)
        for choice in plan.choices:
            places = [*choice.occurrences, *(candidate for candidate, _ in choice.followers)]
            changes += [
                self.core.Change(place.message_index, place.block_index, choice.replacement)
                for place in places
            ]
            key = choice.key
            self.state.decisions[key.tool_use_id, *key.fingerprint] = choice.replacement
        for key in plan.kept:
            self.state.decisions[key.tool_use_id, *key.fingerprint] = None
        self.state.fingerprints = plan.fingerprints
        output, self.earlier = self.core.rewrite_again(rest, changes, self.earlier)
        return list(output)

    def sums(self) -> object:
        """Give the sums, the reasons of skipped results in a fixed order."""
        sums = self.past.sums
        return sums._replace(skipped=sorted(sums.skipped.items()))


@given(
    messages=message_lists(max_messages=16),
    steps=st.lists(st.integers(0, 5), min_size=2, max_size=8),
    limit=st.sampled_from(LIMITS),
)
def test_pasts_are_the_same(messages: list[Any], steps: list[int], limit: float) -> None:
    """Whatever is appended by and by, both cores pass over the same and plan the same."""
    python, native = (Host(_core.load(name), limit) for name in ("python", "native"))
    length = 0
    for step in steps:
        length += step
        assert_same(python.turn(messages[:length]), native.turn(messages[:length]))


@given(
    messages=message_lists(max_messages=16),
    steps=st.lists(st.tuples(st.integers(0, 5), st.sampled_from(LIMITS)), min_size=2, max_size=8),
)
def test_options_are_those_of_the_call(messages: list[Any], steps: list[tuple[int, float]]) -> None:
    """The same object as in the call before or another one: both cores take what they are given."""
    python, native = (Host(_core.load(name), 50) for name in ("python", "native"))
    made = {
        (host.core, limit): plan_options(host.core, limit=limit)
        for host in (python, native)
        for limit in LIMITS
    }
    length = 0
    for step, limit in steps:
        length += step
        for host in (python, native):
            host.options = made[host.core, limit]
        assert_same(python.turn(messages[:length]), native.turn(messages[:length]))


class Options:
    """Options of a host's own, which may change."""

    def __init__(self, options: PlanOptions) -> None:
        """Begin with those."""
        for one in fields(options):
            setattr(self, one.name, getattr(options, one.name))


def test_options_that_change_are_read_anew(core: ModuleType) -> None:
    """What is not the frozen class itself is taken as it is at each call."""
    options: Any = Options(plan_options(core, limit=10**6))
    past, messages = core.Past(), [ask("a1"), user(result("a1", LARGE))]
    for limit, replaced in ((10**6, 0), (400, 1), (10**6, 0)):
        options.limit = limit
        plan, _ = core.plan_rest(past, messages, State().known(core), options, [])
        assert len(plan.choices) == replaced


def conversation(turns: int) -> list[Any]:
    """Make turns of two results each, of which the second one is large."""
    messages: list[Any] = []
    for number in range(turns):
        names = f"a{number}", f"b{number}"
        messages.append(ask(*names, message_id=f"m{number}"))
        messages.append(user(result(names[0], "small"), result(names[1], [text_block(LARGE)])))
    return messages


@pytest.fixture
def host(core: ModuleType) -> Host:
    """Give a host that has taken four turns; the last one may still change."""
    host = Host(core, 1_000)
    for turns in (3, 3, 4, 4):
        host.turn(EVERY[: 2 * turns])
    return host


EVERY: Final = conversation(12)


def test_what_has_ended_is_looked_at_once(host: Host) -> None:
    """The past ends before the last answer; its sums and outputs are those of its messages."""
    past = host.past
    assert past.inputs == EVERY[:6]
    assert past.sums == (3, 6, 3, {}, 3 * (5 + len(LARGE)), past.sums.chars_gained, 0)
    assert [one is other for one, other in zip(past.inputs, past.outputs, strict=True)] == [
        *(True, False) * 3
    ]
    assert past.rewritten()[:2] == [EVERY[1], past.outputs[1]]
    assert past.sums.chars_gained == sum(
        len(LARGE) - len(one["content"][1]["content"][0]["text"]) for one in past.outputs[1::2]
    )
    joined = past.join([7])
    assert joined == [*past.outputs, 7]


def test_the_past_grows_by_what_has_ended(host: Host) -> None:
    """A turn plans the new messages alone."""
    known = host.state.known(host.core)
    _, rest = host.core.plan_rest(host.past, EVERY[:10], known, host.options, host.earlier)
    assert rest == EVERY[8:10]
    assert all(one is other for one, other in zip(rest, EVERY[8:10], strict=True))
    assert host.past.inputs == EVERY[:8]


def test_what_is_undecided_does_not_become_past(host: Host) -> None:
    """Of two turns at once the first one has ended too, and nobody has decided about it."""
    known = host.state.known(host.core)
    _, rest = host.core.plan_rest(host.past, EVERY[:12], known, host.options, host.earlier)
    assert rest == EVERY[6:12]
    assert host.past.inputs == EVERY[:6]


def test_what_was_over_the_limit_is_counted(core: ModuleType) -> None:
    """A group that is too large for a limit that came later is as far over it in every turn."""
    host = Host(core, 10**6)
    for _ in range(2):
        host.turn(EVERY[:4])
    host.options, host.past = plan_options(core, limit=100.5), core.Past()
    host.turn(EVERY[:4])
    assert host.past.sums.over_limit_chars == 5 + len(LARGE) - 100
    assert host.past.join([]) is None


WAYS: Final[dict[str, Callable[[list[Any]], object]]] = {
    "leave": lambda _output: None,
    "replace the first": lambda output: output.__setitem__(0, {"role": "user"}),
    "replace one behind": lambda output: output.__setitem__(-1, "spoilt"),
    "shorten": lambda output: output.__delitem__(slice(1, None)),
    "lengthen": lambda output: output.append("more"),
    "turn": lambda output: output.reverse(),
    "clear": lambda output: output.clear(),
}


@given(
    steps=st.lists(st.tuples(st.sampled_from(sorted(WAYS)), st.booleans()), min_size=3, max_size=8)
)
def test_an_output_is_its_owners(core: ModuleType, steps: list[tuple[str, bool]]) -> None:
    """What a host has stays as the host made it, and nothing of that gets into another one."""
    host = Host(core, 1_000)
    for _ in range(2):
        host.turn(EVERY[:4])
    kept: list[tuple[list[Any], list[Any]]] = []
    for number, (way, is_kept) in enumerate(steps):
        known = host.state.known(core)
        messages = EVERY[: 4 + 2 * number]
        arguments = host.past, messages, known, host.options, host.earlier
        plan, rest = core.plan_rest(*arguments)
        end = host.take_over(plan, rest)
        output = host.past.join(end)
        assert list(map(id, output)) == list(map(id, [*host.past.outputs, *end]))
        WAYS[way](output)
        if is_kept:
            kept.append((output, list(output)))
        del output
        assert all(one == copy for one, copy in kept)


OTHERS: Final[dict[str, list[Any]]] = {
    "shorter": EVERY[:5],
    "nothing behind": EVERY[:6],
    "an equal copy": [*EVERY[:2], dict(EVERY[2]), *EVERY[3:8]],
    "another order": [EVERY[1], EVERY[0], *EVERY[2:8]],
    "no answer behind": [*EVERY[:6], user(result("new", "x"))],
    "an id of the past": [*EVERY[:8], user(result("a0", "x"))],
    "an answer of the past": [*EVERY[:8], assistant("m1")],
    "no message": [*EVERY[:8], 7],
}


@pytest.mark.parametrize("messages", OTHERS.values(), ids=OTHERS)
def test_what_is_not_sure_is_left_to_a_full_pass(host: Host, messages: list[Any]) -> None:
    """Then the rest is not planned by itself."""
    known = host.state.known(host.core)
    assert host.core.plan_rest(host.past, messages, known, host.options, host.earlier) is None


def test_a_group_that_was_left_open_goes_on(core: ModuleType) -> None:
    """A message of a chain without an answer so far belongs to a group of the past."""
    agent = {"isSidechain": True, "agentId": "a1"}
    left = [record(ask("x1"), **agent), record(user(result("x1", "x")), **agent)]
    host = Host(core, 1_000)
    for turns in (2, 2, 3):
        host.turn([*left, *EVERY[: 2 * turns]])
    assert len(host.past.inputs) == 6
    known = host.state.known(core)
    for name, is_planned in (("a1", False), ("a2", True)):
        more = record(user(result("x2", "x")), isSidechain=True, agentId=name)
        messages = [*left, *EVERY[:6], more]
        planned = core.plan_rest(host.past, messages, known, host.options, [])
        assert (planned is not None) is is_planned


def test_what_a_callback_raises_comes_through(host: Host) -> None:
    """It is no reason for a full pass."""

    class HookError(Exception):
        pass

    def is_exempt(_name: str) -> bool:
        raise HookError

    options = plan_options(host.core, limit=1_000, is_exempt_tool=is_exempt)
    with pytest.raises(HookError):
        host.core.plan_rest(host.past, EVERY[:12], host.state.known(host.core), options, [])


def test_a_past_is_not_worked_on_twice_at_a_time() -> None:
    """A callback of the native core that asks it again gets an error; the turn itself goes on."""
    host = Host(_core.load("native"), 1_000)
    for turns in (3, 3, 4):
        host.turn(EVERY[: 2 * turns])
    inner: list[str] = []

    def is_exempt(name: str) -> bool:
        again = host.past, EVERY[:10], host.state.known(host.core), host.options, host.earlier
        inner.append(str(outcome(host.core.plan_rest, *again)))
        return name == "Read"

    options = plan_options(host.core, limit=1_000, is_exempt_tool=is_exempt)
    known = host.state.known(host.core)
    _, rest = host.core.plan_rest(host.past, EVERY[:10], known, options, host.earlier)
    assert rest == EVERY[8:10]
    assert inner
    assert all("worked on" in one for one in inner)
