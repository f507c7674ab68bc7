"""Earlier outputs in another call: used for as long as they are what new ones would be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.harness import canonical, record, result, text_block, user
from tests.core.parity import outcome
from tests.strategies import Text
from toolbudget import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

CORES = tuple(_core.load(name) for name in ("python", "native"))
CHANGES = ((0, 0, "new"), (0, 2, "other"), (1, 1, "last"))

Dict = dict[Any, Any]


def _messages() -> list[Dict]:
    blocks = [result("t1", "old"), text_block("a word"), result("t2", "older"), result("t3", "")]
    inner = user(result("t4", "kept"), result("t5", [text_block("one"), text_block("two")]))
    return [user(*blocks), record(inner), user(result("t6", "kept"))]


def _targets(messages: list[Dict]) -> list[Dict]:
    """Give every dict that an edit can be made to."""
    inner = [message.get("message", message) for message in messages]
    blocks = [block for message in inner for block in message["content"]]
    return [*messages, *inner, *blocks]


def _set(name: str, value: Callable[[Any], object]) -> Callable[[Dict], object]:
    def edit(target: Dict) -> None:
        target[name] = value(target.get(name))

    return edit


def _move(target: Dict) -> None:
    for name in list(target)[:1]:
        target[name] = target.pop(name)


def _rename(target: Dict) -> None:
    items = [(f"{name}" + "2"[:index], value) for index, (name, value) in enumerate(target.items())]
    target.clear()
    target.update(items)


def _equal_copy(value: object) -> object:
    return list(value) if isinstance(value, list) else "".join(list(str(value)))


EDITS: tuple[Callable[[Dict], object], ...] = (
    lambda _target: None,
    _set("content", lambda _old: "new"),
    _set("content", lambda _old: f"{'new x'[:3]}"),
    _set("content", lambda _old: Text("new")),
    _set("content", lambda _old: [text_block("new")]),
    _set("content", lambda _old: None),
    _set("content", _equal_copy),
    _set("content", lambda old: [*old, text_block("more")] if isinstance(old, list) else old),
    _set("content", lambda old: old[:-1] if isinstance(old, list) else old),
    _set("content", lambda old: [dict(block) for block in old] if isinstance(old, list) else old),
    _set("type", lambda _old: "another"),
    _set("message", lambda _old: None),
    _set("message", lambda _old: "no mapping"),
    _set("message", lambda _old: {"role": "user", "content": [result("t1", "one")] * 3}),
    _set("added", lambda _old: 1),
    lambda target: target.pop("content", None),
    lambda target: target.pop("type", None),
    lambda target: target.setdefault(7, "no text"),
    lambda target: target.clear(),
    _move,
    _rename,
)


def _rewrite_after(
    core: ModuleType, edits: list[tuple[bool, int, int]], changes: list[tuple[int, int, str]]
) -> tuple[object, list[bool]]:
    """Edit messages or outputs in place; give what comes back, and which of it is old."""
    messages = _messages()
    made = [core.Change(*change) for change in CHANGES]
    output, earlier = core.rewrite_again(messages, made, [])
    targets = [_targets(messages), _targets(output)]
    for is_output, target, edit in edits:
        chosen = targets[is_output]
        EDITS[edit](chosen[target % len(chosen)])
    made = [core.Change(*change) for change in changes]
    expected = outcome(core.rewrite, messages, made)
    again = outcome(lambda: core.rewrite_again(messages, made, earlier)[0])
    if isinstance(again, Exception):
        assert type(again) is type(expected)
        return Exception, []  # a change of what is no block: each core says it in its own way
    assert canonical(again) == canonical(expected)
    assert isinstance(again, list)
    return canonical(again), [one is other for one, other in zip(again, output, strict=True)]


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, len(EDITS) - 1)), max_size=3
    ),
    st.sampled_from(
        [list(CHANGES), list(CHANGES[:1]), list(CHANGES[::-1]), [*CHANGES, (0, 3, "new")]]
    ),
)
@example([], list(CHANGES))
@example([(True, 6, 4)], list(CHANGES))
def test_an_earlier_output_is_used_only_while_it_is_right(
    edits: list[tuple[bool, int, int]], changes: list[tuple[int, int, str]]
) -> None:
    """Whatever was done to messages or outputs in place, both cores give the same, and right."""
    expected, actual = (_rewrite_after(core, edits, changes) for core in CORES)
    assert expected == actual


def test_an_untouched_output_is_the_same_object() -> None:
    """Nothing is made anew where nothing was changed, of a record and of a message."""
    for core in CORES:
        assert _rewrite_after(core, [], list(CHANGES))[1] == [True, True, True]
