"""Values that claim to be what they are not, or refuse to be compared, raise nothing (B11)."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest

from tests.core.harness import State, plan_options, result, tool_use, user
from toolbudget import _core

native = _core.load("native")


class Sullen:
    """A key that lies in the same place of a dict as ``content`` and refuses to be compared."""

    is_sullen = False

    def __hash__(self) -> int:
        """Have the hash of another key."""
        return hash("content")

    def __eq__(self, other: object) -> bool:
        """Refuse."""
        if self.is_sullen:
            raise ValueError("no")
        return self is other


def with_sullen_key(**fields: object) -> dict[Any, object]:
    """Make a dict with a key that makes looking up ``content`` fail."""
    key = Sullen()
    mapping: dict[Any, object] = {key: None, **fields}
    key.is_sullen = True
    return mapping


ODD: dict[str, list[Any]] = {
    "a type that claims to be text": [user({"type": Mock(spec=str), "content": "x"})],
    "content that claims to be text": [user(result("t1", Mock(spec=str)))],
    "an id that claims to be text": [user(result(Mock(spec=str), "x"))],
    "a name that claims to be text": [
        {"role": "assistant", "content": [tool_use("t1", Mock(spec=str))]}
    ],
    "a role that claims to be text": [{"role": Mock(spec=str), "content": []}],
    "a message that claims to be a dict": [Mock(spec=dict)],
    "a message with a sullen key": [with_sullen_key(role="user")],
    "a block with a sullen key": [user(with_sullen_key(type="tool_result", tool_use_id="t1"))],
}


@pytest.mark.parametrize("messages", ODD.values(), ids=ODD)
def test_odd_values_pass_through(messages: list[Any]) -> None:
    """What is no text, or cannot be read, is no result: nothing is decided about it."""
    plan = native.plan(messages, State().known(native), plan_options(native))
    assert not plan.decides
    assert plan.candidates == 0
    assert native.rewrite(messages, plan.changes) is messages
