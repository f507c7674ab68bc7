import copy
import dataclasses
import math
import pickle
import typing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget.errors import ConfigError
from toolbudget.limits import Limits

LIMITS = Limits(
    max_result_chars=10,
    max_message_chars=math.inf,
    preview_bytes=5,
    accounting="originals",
    reader_hint="Use my_read",
    tools={"Bash": 7, "Read": math.inf},
    overrides={"message": 9},
)


def flags() -> dict[str, object]:
    """Provide an override, as a function that can be pickled."""
    return {"message": 3}


def test_fields_cannot_be_set() -> None:
    """A Limits object that one session holds cannot change under it."""
    limits = Limits()
    with pytest.raises(dataclasses.FrozenInstanceError):
        limits.max_result_chars = 5  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del limits.max_result_chars


def test_there_is_no_room_for_other_attributes() -> None:
    """A misspelt attribute is an error, and there is no instance dict."""
    limits: Any = Limits()
    with pytest.raises((AttributeError, TypeError)):
        limits.max_results_chars = 5
    assert not hasattr(limits, "__dict__")


def test_arguments_are_keyword_only() -> None:
    """No number can be mistaken for another one by its place."""
    make: Any = Limits
    with pytest.raises(TypeError):
        make(50_000)


def test_tools_are_copied_and_read_only() -> None:
    """Neither the caller's dict nor the attribute changes the limits afterwards."""
    tools = {"Bash": 5}
    limits = Limits(tools=tools)
    tools["Bash"] = 6
    assert limits.tools == {"Bash": 5}
    kept: Any = limits.tools
    with pytest.raises(TypeError):
        kept["Bash"] = 7
    with pytest.raises(AttributeError):
        kept.clear()


def test_tools_are_a_mapping() -> None:
    """The read-only tools compare, iterate and look up like a dict, in the given order."""
    tools = Limits(tools={"b": 2, "a": 1}).tools
    assert (list(tools), len(tools)) == (["b", "a"], 2)
    assert (tools["a"], tools.get("c"), "b" in tools) == (1, None, True)
    assert tools == {"a": 1, "b": 2}
    assert repr(tools) == "{'b': 2, 'a': 1}"
    with pytest.raises(KeyError):
        tools["c"]


def test_replace_checks_anew() -> None:
    """Dataclasses.replace makes changed limits, and no invalid ones."""
    changed = dataclasses.replace(LIMITS, max_result_chars=20)
    assert (changed.max_result_chars, changed.tools) == (20, LIMITS.tools)
    assert LIMITS.max_result_chars == 10
    with pytest.raises(ConfigError, match="max_result_chars"):
        dataclasses.replace(LIMITS, max_result_chars=0)


def test_replaced_overrides_are_read() -> None:
    """A copy with another provider asks that one."""
    assert LIMITS.message_limit() == 9
    assert dataclasses.replace(LIMITS, overrides=flags).message_limit() == 3
    assert dataclasses.replace(LIMITS, overrides=None).message_limit() == math.inf


def test_fields_are_the_documented_ones() -> None:
    """Nothing internal shows among the fields, and as a dict they make the same limits again."""
    names = [field.name for field in dataclasses.fields(Limits)]
    assert names == [
        "max_result_chars",
        "max_message_chars",
        "preview_bytes",
        "accounting",
        "preview_style",
        "reader_hint",
        "unit",
        "tools",
        "overrides",
    ]
    assert Limits(**dataclasses.asdict(LIMITS)) == LIMITS


def test_types_of_the_fields_can_be_looked_up() -> None:
    """Tools that read annotations at run time find every name."""
    assert typing.get_type_hints(Limits)["preview_bytes"] is int
    assert "environ" in typing.get_type_hints(Limits.from_environment)


def test_equal_limits_hash_alike() -> None:
    """Equality is by value, whatever the order of tools or the kind of number."""
    one = Limits(tools={"a": 1, "b": 2}, max_result_chars=5)
    other = Limits(tools={"b": 2.0, "a": 1.0}, max_result_chars=5.0)
    assert one == other
    assert hash(one) == hash(other)
    assert Limits(tools={"a": 1}) != Limits(tools={"a": 2})
    assert Limits(overrides={"message": 1}) != Limits()


def test_limits_with_a_mapping_can_be_hashed() -> None:
    """Overrides given as a dict do not make limits unusable as a key."""
    assert {LIMITS: 1}[dataclasses.replace(LIMITS)] == 1


@pytest.mark.parametrize("limits", [Limits(), LIMITS, Limits(overrides=flags)])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(limits: Limits, protocol: int) -> None:
    """Limits travel to worker processes and work there."""
    restored = pickle.loads(pickle.dumps(limits, protocol))  # noqa: S301 - made here
    assert restored == limits
    assert restored.message_limit() == limits.message_limit()
    assert restored.for_tool("Bash") == limits.for_tool("Bash")


@pytest.mark.parametrize("limits", [Limits(), LIMITS, Limits(overrides=flags)])
def test_copies(limits: Limits) -> None:
    """Shallow and deep copies are equal and work."""
    for copied in (copy.copy(limits), copy.deepcopy(limits)):
        assert copied == limits
        assert copied.message_limit() == limits.message_limit()
    assert copy.deepcopy(limits.tools) == limits.tools


def test_repr_shows_every_field() -> None:
    """The representation reads like the call that makes the object."""
    expected = (
        "Limits(max_result_chars=10, max_message_chars=inf, preview_bytes=5, "
        "accounting='originals', preview_style='head', reader_hint='Use my_read', unit='chars', "
        "tools={'Bash': 7, 'Read': inf}, overrides={'message': 9})"
    )
    assert repr(LIMITS) == expected


def test_repr_never_fails_and_stays_short() -> None:
    """Limits can be logged whatever their provider is."""

    class Provider:
        def __call__(self) -> dict[str, object]:
            return {}

        def __repr__(self) -> str:
            raise RuntimeError

    assert repr(Limits(overrides=Provider())).endswith("overrides=<Provider>)")
    assert "..." in repr(Limits(reader_hint="x" * 500))
    assert len(repr(Limits(tools={f"tool_{n}": 5 for n in range(10_000)}))) < 1_000


@given(
    st.dictionaries(st.text(), st.one_of(st.integers(1), st.floats(0.1, 1e9))),
    st.integers(1, 10**9),
)
def test_pickled_limits_are_the_same(tools: dict[str, float], max_result_chars: int) -> None:
    """Whatever limits can be made can be pickled, and are equal with an equal hash."""
    limits = Limits(tools=tools, max_result_chars=max_result_chars)
    restored = pickle.loads(pickle.dumps(limits))  # noqa: S301 - made here
    assert (restored, hash(restored)) == (limits, hash(limits))
