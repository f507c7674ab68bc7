"""Planning a conversation again, with what a core keeps of the call before, gives a full pass."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.harness import (
    FRAME,
    State,
    ask,
    assistant,
    enforce,
    plan_options,
    record,
    result,
    text_block,
    tool_use,
    user,
)
from tests.core.parity import assert_same
from toolbudget._core.pure import FingerprintCache

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from toolbudget._core.pure import PlanOptions

# More than any core leaves open at the end.
TURNS: Final = 18
TEXTS: Final = ("a" * 40, "b" * 150, "c" * 600, "d" * 600, "", f"{FRAME}</persisted-output>", "é日")
LIMITS: Final = (500, 900, 10**6)
AGENT: Final = {"isSidechain": True, "agentId": "a1"}


class Lying(dict[str, Any]):
    """A dict that gives something else than it holds."""

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as that of dict
        """Answer in its own way."""
        return "lies " * 9 if name == "content" else super().get(name, default)


class Host:
    """A host with its messages, and with what its user sets."""

    def __init__(self, core: ModuleType, turns: list[int]) -> None:
        """Begin with some turns, planned until nothing is left to decide."""
        self.core = core
        self.messages: list[Any] = []
        self.state = State()
        self.limit = LIMITS[0]
        self.exempt = "Read"
        self.unit = "chars"
        for kind in turns:
            self.grow(kind)
        for _ in range(3):
            self.plan_as_a_full_pass()

    def options(self) -> PlanOptions:
        """Give the options of a call."""
        is_exempt = partial(str.__eq__, self.exempt)
        changes: dict[str, Any] = {"unit": self.unit, "is_exempt_tool": is_exempt}
        return plan_options(self.core, limit=self.limit, **changes)

    def plan_as_a_full_pass(self) -> None:
        """Plan with all that is kept, and without it."""
        alone = replace(self.state, fingerprints=FingerprintCache(), epoch=None)
        expected = self.core.plan(self.messages, alone.known(self.core), self.options())
        done = enforce(self.core, self.messages, self.options(), self.state)
        assert_same(expected, done.plan)
        assert len(done.plan.fingerprints) == len(expected.fingerprints)

    def grow(self, kind: int) -> None:
        """Let a turn follow; how it looks depends on the number."""
        number = len(self.messages)
        names = [f"t{number}_{place}" for place in range(1 + kind % 2)]
        contents: list[Any] = [TEXTS[(kind + place) % len(TEXTS)] for place in range(len(names))]
        if kind % 5 == 1:
            contents[0] = [text_block(contents[0]), text_block(f"{number}")]
        tool = "Read" if kind % 4 == 1 else "Bash"
        # Under another name this would tell of a caller.
        calls = [tool_use(name, tool, input={"type": "code_execution_1"}) for name in names]
        asked = assistant(f"m{number}", *calls)
        answered = user(*map(result, names, contents))
        if kind % 7 == 3:
            asked, answered = record(asked, **AGENT), record(answered, **AGENT)
        elif kind % 7 == 5:
            asked, answered = record(asked), record(answered)
        self.messages += [asked, answered]


def inner(message: Any) -> Any:  # noqa: ANN401
    """Give the message that a record wraps."""
    return message.get("message") or message


class Edit(NamedTuple):
    """What a host does: to a message and a block of it, with a number to choose by."""

    name: str
    message: int
    block: int
    number: int

    def make(self, host: Host) -> None:
        """Do it."""
        message = host.messages[self.message % len(host.messages)] if host.messages else user()
        content = inner(message).get("content")
        block = content[self.block % len(content)] if type(content) is list and content else {}
        EDITS[self.name](host, message, block, self.number)


def set_text(_host: Host, _message: Any, block: Any, number: int) -> None:  # noqa: ANN401
    """Change the text of a result, or a part of it, in place."""
    if isinstance(block.get("content"), list) and block["content"]:
        block["content"][0]["text"] = TEXTS[number % len(TEXTS)]
    else:
        block["content"] = TEXTS[number % len(TEXTS)]


def set_equal(_host: Host, _message: Any, block: Any, _number: int) -> None:  # noqa: ANN401
    """Put equal texts in the place of all texts of a block."""
    for name, value in block.items():
        if type(value) is str:
            block[name] = "".join(list(value))


def set_key(_host: Host, message: Any, block: Any, number: int) -> None:  # noqa: ANN401
    """Add an entry, to a block or to a message."""
    entries = [
        (block, "cache_control", {"type": "ephemeral"}),
        (block, "toolset_name", "set"),
        (block, "caller", {"type": "code_execution_1"}),
        (block, "type", "tool_use" if number % 2 else "tool_result"),
        (block, "id", "t0_0"),
        (block, "tool_use_id", "t0_0"),
        (block, "name", "Read"),
        (block, "name", ["no text"]),
        (message, "isSidechain", True),
        (message, "agentId", "a9"),
        (inner(message), "id", "m0"),
        (inner(message), "role", ("user", "assistant", "system")[number % 3]),
        (message, "type", "summary"),
        (message, "message", None),
    ]
    holder, name, value = entries[number % len(entries)]
    holder[name] = value


def drop_key(_host: Host, _message: Any, block: Any, number: int) -> None:  # noqa: ANN401
    """Take an entry out, and put it back at the end as often as not."""
    if block:
        name = list(block)[number % len(block)]
        value = block.pop(name)
        if number % 2:
            block[name] = value


def rename_key(_host: Host, message: Any, block: Any, number: int) -> None:  # noqa: ANN401
    """Give an entry another key, and leave its place and value."""
    names = ["caller", "input", "toolset_name", "content", "role", "id", "agentId"]
    holder = block if number % 3 else message
    if holder:
        entries = list(holder.items())
        place = -1 if number % 2 else number % len(entries)
        entries[place] = (names[number % len(names)], entries[place][1])
        holder.clear()
        holder.update(entries)


def move_value(_host: Host, _message: Any, block: Any, number: int) -> None:  # noqa: ANN401
    """Give the values of a block to other keys of it, so that its size and keys stay."""
    values = list(block.values())
    turned = values[number % max(1, len(values)) :] + values[: number % max(1, len(values))]
    block.update(zip(block, turned, strict=True))


def set_blocks(_host: Host, message: Any, block: Any, number: int) -> None:  # noqa: ANN401
    """Change a list of blocks in place."""
    content = inner(message).get("content")
    if type(content) is not list:
        return
    if number % 4 == 0:
        content.append(result(f"new{number}", TEXTS[number % len(TEXTS)]))
    elif number % 4 == 1:
        content.insert(0, block)
    elif content:
        content.pop()


def set_content(_host: Host, message: Any, block: Any, number: int) -> None:  # noqa: ANN401
    """Put something of another kind in the place of a content."""
    others = [TEXTS[2], [text_block("x" * 99)], [], None, 7, ("no list",), {"type": "text"}]
    holder = block if number % 2 else inner(message)
    holder["content"] = others[number % len(others)] if number % 2 else [dict(block)]


def change_list(host: Host, message: Any, _block: Any, number: int) -> None:  # noqa: ANN401
    """Change the list of messages."""
    place = number % (len(host.messages) + 1)
    if number % 5 == 0:
        del host.messages[place : place + 1]
    elif number % 5 == 1:
        del host.messages[-(number % 9) :]
    elif number % 5 == 2:
        host.messages.insert(place, message)
    elif number % 5 == 3:
        host.messages[:place] = [user(text_block("summary"))]
    else:
        host.messages[:] = [Lying(one) if one is message else one for one in host.messages]


def copy_all(host: Host, _message: Any, _block: Any, number: int) -> None:  # noqa: ANN401
    """Make other dicts and lists of the same texts, as hosts do that rebuild their request."""

    def copied(value: Any) -> Any:  # noqa: ANN401
        if type(value) is dict:
            return {name: copied(one) for name, one in value.items()}
        return [copied(one) for one in value] if type(value) is list else value

    host.messages = copied(host.messages)
    host.grow(number)


def set_options(host: Host, _message: Any, _block: Any, number: int) -> None:  # noqa: ANN401
    """Set other limits."""
    if number % 3 == 0:
        host.limit = LIMITS[number % len(LIMITS)]
    elif number % 3 == 1:
        host.exempt = "Bash" if host.exempt == "Read" else "Read"
    else:
        host.unit = "tokens" if host.unit == "chars" else "chars"


def plan_another(host: Host, message: Any, _block: Any, _number: int) -> None:  # noqa: ANN401
    """Plan another list in between, as another thread may."""
    enforce(host.core, [message, assistant("other")], host.options(), host.state)


def learn(host: Host, _message: Any, block: Any, _number: int) -> None:  # noqa: ANN401
    """Learn that a text which was kept is a replacement that was made elsewhere."""
    if type(block.get("content")) is str:
        host.state.facts ^= {block["content"]}


def withdraw(host: Host, _message: Any, _block: Any, number: int) -> None:  # noqa: ANN401
    """Take decisions back."""
    for key in [key for key, text in host.state.decisions.items() if text is None][number % 9 :]:
        del host.state.decisions[key]
    host.state.epoch = object()


def grow(host: Host, _message: Any, _block: Any, number: int) -> None:  # noqa: ANN401
    """Let turns follow."""
    for kind in range(number, number + 1 + number % 6):
        host.grow(kind)


def reply(host: Host, _message: Any, _block: Any, number: int) -> None:  # noqa: ANN401
    """Let something follow that hangs on what stands before: a late result, call or answer."""
    name = f"t{2 * (number % 9)}_0"
    late = [
        user(result(name, TEXTS[number % len(TEXTS)])),
        ask(name, name="Read"),
        assistant(f"m{2 * (number % 9)}"),
        record(user(result(f"late{len(host.messages)}", TEXTS[2])), **AGENT),
    ]
    host.messages.append(late[number % len(late)])


EDITS: Final[dict[str, Callable[[Host, Any, Any, int], None]]] = {
    one.__name__: one
    for one in (
        *(set_text, set_equal, set_key, drop_key, rename_key, move_value, set_blocks, set_content),
        *(change_list, copy_all, set_options, plan_another, learn, withdraw, grow, reply),
    )
}
NUMBERS: Final = st.integers(0, 60)
STEPS: Final = st.builds(Edit, st.sampled_from(sorted(EDITS)), NUMBERS, NUMBERS, NUMBERS)
OLD_CALL_OF_AN_EXEMPT_TOOL: Final = Edit("set_key", 0, 0, 6)
OLD_CALL_BY_CODE: Final = Edit("rename_key", 0, 0, 7)
LATE_RESULT_OF_AN_EXEMPT_TOOL: Final = Edit("reply", 0, 0, 28)
OLD_ANSWER_GOES_ON: Final = Edit("reply", 0, 0, 2)
OLD_CHAIN_GOES_ON: Final = Edit("reply", 0, 0, 3)
GROW: Final = Edit("grow", 0, 0, 6)
WITHDRAW: Final = Edit("withdraw", 0, 0, 60)
COMPACT: Final = Edit("change_list", 0, 0, 23)


@given(
    turns=st.lists(st.integers(0, 40), min_size=TURNS, max_size=TURNS + 4),
    steps=st.lists(STEPS, min_size=1, max_size=8),
)
@example(turns=list(range(TURNS)), steps=[OLD_CALL_OF_AN_EXEMPT_TOOL])
@example(turns=list(range(TURNS)), steps=[OLD_CALL_BY_CODE])
@example(turns=list(range(TURNS)), steps=[LATE_RESULT_OF_AN_EXEMPT_TOOL])
@example(turns=list(range(TURNS)), steps=[WITHDRAW, COMPACT])
@example(turns=[9] * TURNS, steps=[LATE_RESULT_OF_AN_EXEMPT_TOOL])
@example(turns=list(range(TURNS)), steps=[OLD_ANSWER_GOES_ON, GROW])
@example(turns=[3, *[0] * TURNS], steps=[OLD_CHAIN_GOES_ON])
@example(turns=[0] * TURNS, steps=[GROW, GROW, OLD_CALL_OF_AN_EXEMPT_TOOL])
@example(turns=[0] * TURNS, steps=[Edit("learn", 1, 0, 0), Edit("grow", 0, 0, 0)])
def test_what_is_kept_changes_nothing(
    core: ModuleType, turns: list[int], steps: list[Edit]
) -> None:
    """After any edits, in place or not, a plan is what it would be without a call before it."""
    host = Host(core, turns)
    for step in steps:
        step.make(host)
        host.plan_as_a_full_pass()
        host.plan_as_a_full_pass()
