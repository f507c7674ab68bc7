"""The table of decisions on both cores, against plain dicts."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.builders import msg, res
from tests.strategies import Text
from toolbudget import _core
from toolbudget._core.pure import Fingerprint, Key, Known, PlanOptions

if TYPE_CHECKING:
    from types import ModuleType

    from toolbudget._core.pure import DecisionTable, Plan

Model: TypeAlias = dict[str, dict[Fingerprint, str | None]]

HASH: Final = "06b05ab6733a618578af5f94892f3950"
KEY: Final = Key("t1", Fingerprint(3, HASH))

IDS = st.sampled_from(["t1", "t2", "", "\ud800", "é", Text("t1"), "x" * 70])
# Odd ones are such as no text has, but a record may hold them.
HASHES = st.sampled_from([HASH, "0" * 32, "f" * 32, HASH.upper(), "", "0", "é", "\ud800", "+" * 32])
SIZES = st.sampled_from([0, 1, 3, True, -1, 2**63, 2**64, 10**40])
KEYS = st.builds(Key, IDS, st.builds(Fingerprint, SIZES, HASHES))
REPLACEMENTS = st.sampled_from([None, None, "", "short", Text("short"), "\ud800"])


def plan_of(core: ModuleType, texts: list[tuple[str, str]]) -> Plan:
    """Plan for results of which each stays as it is."""
    options = PlanOptions(
        limit=10_000,
        preview_bytes=100,
        expected_path=lambda name, _is_json: f"/s/{name}",
        is_stored_as_json=lambda _content: False,
        is_exempt_tool=lambda _name: False,
    )
    messages = [msg(*(res(name, text) for name, text in texts))]
    plan: Plan = core.plan(messages, Known({}, {}), options)
    return plan


class TableMachine(RuleBasedStateMachine):
    """Whatever is done to a table, it says what a dict of dicts says, in the same order."""

    core: ModuleType

    @initialize(decisions=st.lists(st.tuples(KEYS, REPLACEMENTS), max_size=4))
    def begin(self, decisions: list[tuple[Key, str | None]]) -> None:
        """Begin with some decisions."""
        self.model: Model = {}
        self.table: DecisionTable = self.core.DecisionTable(decisions)
        for key, replacement in decisions:
            self.add(key, replacement)

    def add(self, key: Key, replacement: str | None) -> bool:
        """Decide in the model."""
        decided = self.model.setdefault(key.tool_use_id, {})
        if key.fingerprint in decided:
            return False
        decided[key.fingerprint] = replacement
        return True

    @rule(key=KEYS, replacement=REPLACEMENTS)
    def decide(self, key: Key, replacement: str | None) -> None:
        """The first decision stands."""
        assert self.table.decide(key, replacement) is self.add(key, replacement)

    @rule(
        decisions=st.lists(st.tuples(KEYS, REPLACEMENTS), max_size=4),
        kept=st.lists(st.lists(KEYS, max_size=4), max_size=2),
    )
    def decide_all(self, decisions: list[tuple[Key, str | None]], kept: list[list[Key]]) -> None:
        """All at once comes to the same as one by one."""
        self.table.decide_all(iter(decisions), *map(iter, kept))
        for key, replacement in decisions:
            self.add(key, replacement)
        for keys in kept:
            for key in keys:
                self.add(key, None)

    @rule(texts=st.lists(st.tuples(IDS, st.sampled_from(["abc", "x", "日"])), max_size=5))
    def keep_planned(self, texts: list[tuple[str, str]]) -> None:
        """What a plan keeps is kept, whether its keys were looked at before or not."""
        plan = plan_of(self.core, texts)
        self.table.decide_all((), plan.kept)
        for key in plan.kept:
            self.add(key, None)

    @rule(keys=st.lists(KEYS, max_size=4))
    def keep_entries(self, keys: list[Key]) -> None:
        """Entries of records are kept results."""
        self.table.keep_entries([(key.tool_use_id, *key.fingerprint) for key in keys])
        for key in keys:
            self.add(key, None)

    @rule(key=KEYS, replacement=REPLACEMENTS)
    def decide_anew(self, key: Key, replacement: str | None) -> None:
        """It is the last decision about its id, which keeps its place."""
        self.table.decide_anew(key, replacement)
        self.model.setdefault(key.tool_use_id, {}).pop(key.fingerprint, None)
        self.add(key, replacement)

    @rule(key=KEYS)
    def withdraw(self, key: Key) -> None:
        """Only what was kept can be taken back."""
        decided = self.model.get(key.tool_use_id, {})
        is_kept = decided.get(key.fingerprint, "") is None
        assert self.table.withdraw(key) is is_kept
        if is_kept:
            del decided[key.fingerprint]
            if not decided:
                del self.model[key.tool_use_id]

    @rule(how=st.sampled_from(["copy", "deepcopy", "pickle"]))
    def go_on_with_a_copy(self, how: str) -> None:
        """A copy equals its original, which goes on alone."""
        earlier = self.table
        if how == "copy":
            self.table = earlier.copy()
        else:
            pickled = pickle.dumps(earlier)
            is_deep = how == "deepcopy"
            self.table = copy.deepcopy(earlier) if is_deep else pickle.loads(pickled)  # noqa: S301 - ours
        assert self.table == earlier
        earlier.decide(Key("only here", KEY.fingerprint), None)
        assert self.table != earlier

    @rule(key=KEYS)
    def look_up(self, key: Key) -> None:
        """Each way to ask gives the same answer."""
        decided = self.model.get(key.tool_use_id)
        assert (key.tool_use_id in self.table) is (decided is not None)
        assert self.table.get(key.tool_use_id) == decided
        expected = (decided or {}).get(key.fingerprint, 7)
        assert self.table.decision(key, 7) == expected

    @invariant()
    def it_holds_what_the_model_holds(self) -> None:
        """The same, in the same order, and of plain values."""
        expected = [
            (Key(name, fingerprint), text)
            for name, decided in self.model.items()
            for fingerprint, text in decided.items()
        ]
        found = self.table.decisions()
        assert found == expected
        for (name, fingerprint), text in found:
            assert (type(name), type(fingerprint)) == (str, Fingerprint)
            assert (type(fingerprint.size_chars), type(fingerprint.hash)) == (int, str)
            assert text is None or type(text) is str
        kept = sum(text is None for _, text in expected)
        assert self.table.counts() == (len(expected) - kept, kept)
        assert (list(self.table), len(self.table)) == (list(self.model), len(self.model))
        assert [list(decided) for decided in self.table.values()] == [
            list(decided) for decided in self.model.values()
        ]
        assert dict(self.table.items()) == self.model
        assert self.table == self.model
        backwards = list(reversed(expected))
        assert self.table == self.core.DecisionTable(backwards)


def test_a_table_says_what_dicts_say(core: ModuleType) -> None:
    """D1: it holds decisions as the dicts that are its model do."""
    machine = type("Machine", (TableMachine,), {"core": core})
    run_state_machine_as_test(
        machine,
        settings=settings(
            stateful_step_count=25, suppress_health_check=list(HealthCheck), deadline=None
        ),
    )


@given(
    decisions=st.lists(st.tuples(KEYS, REPLACEMENTS), max_size=6),
    others=st.lists(st.tuples(KEYS, REPLACEMENTS), max_size=6),
)
def test_tables_of_both_cores_are_equal_by_content(
    decisions: list[tuple[Key, str | None]], others: list[tuple[Key, str | None]]
) -> None:
    """D1: it does not matter which core made them."""
    pure, native = (
        (core.DecisionTable(decisions), core.DecisionTable(others))
        for core in (_core.load("python"), _core.load("native"))
    )
    assert pure[0] == native[0]
    assert native[1] == pure[1]
    assert (pure[0] == native[1]) is (native[0] == pure[1]) is (pure[0] == pure[1])


@pytest.mark.parametrize(
    "odd",
    [
        None,
        (),
        ("t1",),
        ("t1", None),
        ("t1", (3,)),
        ("t1", (3, HASH, 4)),
        (1, (3, HASH)),
        ("t1", (3.0, HASH)),
        ("t1", (3, b"x")),
    ],
)
def test_what_is_no_key_changes_nothing(core: ModuleType, odd: Any) -> None:  # noqa: ANN401
    """F4: an error names the value, and nothing is decided, not even what came before it."""
    table = core.DecisionTable()
    calls: tuple[Callable[[], object], ...] = (
        lambda: table.decide(odd, None),
        lambda: table.decide_all([(KEY, "x"), (odd, None)]),
        lambda: table.decide_all([(KEY, "x")], [KEY], [odd]),
        lambda: table.decide_anew(odd, None),
        lambda: table.withdraw(odd),
        lambda: table.decision(odd, 7),
    )
    for call in calls:
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == f"key must be an id with the size and hash of a text: {odd!r}"
    assert table == {}


@pytest.mark.parametrize("odd", [1, b"x", []])
def test_what_is_no_replacement_changes_nothing(core: ModuleType, odd: Any) -> None:  # noqa: ANN401
    """F4: an error names the value."""
    table = core.DecisionTable()
    calls: tuple[Callable[[], object], ...] = (
        lambda: table.decide(KEY, odd),
        lambda: table.decide_anew(KEY, odd),
        lambda: table.decide_all([(KEY, None), (KEY, odd)]),
    )
    for call in calls:
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == f"replacement must be text or None: {odd!r}"
    assert table == {}


def test_an_iterator_that_fails_changes_nothing(core: ModuleType) -> None:
    """B9: an interrupt while decisions are read leaves none of them behind."""

    def failing() -> Iterator[Any]:
        yield KEY
        raise KeyboardInterrupt

    table = core.DecisionTable()
    with pytest.raises(KeyboardInterrupt):
        table.decide_all([(Key("t2", KEY.fingerprint), "x")], failing())
    with pytest.raises(KeyboardInterrupt):
        table.decide_all((key, "x") for key in failing())
    assert table == {}


def test_it_is_a_mapping(core: ModuleType) -> None:
    """D1: a table stands wherever a mapping is asked for, and answers as one."""
    table: Any = core.DecisionTable([(KEY, "text")])
    assert issubclass(core.DecisionTable, Mapping)
    assert list(table.keys()) == ["t1"]
    assert table["t1"] == {KEY.fingerprint: "text"}
    assert table.get("t2", 7) == 7
    assert (5 in table, [] in table, KEY in table) == (False, False, False)
    for name in ("t2", 5):
        with pytest.raises(KeyError):
            table[name]
    assert (table == [KEY]) is False
    assert repr(table) == "DecisionTable(replaced=1, kept=0)"
    with pytest.raises(TypeError):
        hash(table)


def test_what_is_handed_out_changes_nothing(core: ModuleType) -> None:
    """D1: nobody changes a decision by what he was given."""
    table = core.DecisionTable([(KEY, "text")])
    with suppress(AttributeError):
        table["t1"].clear()
    for name in table:
        table.withdraw(KEY)
        table.decide(Key(f"{name}2", KEY.fingerprint), None)
    assert table.counts() == (1, 1)


def test_a_replacement_is_the_very_object(core: ModuleType) -> None:
    """D1: a text is not held twice."""
    text = "a replacement " * 9
    table = core.DecisionTable([(KEY, text)])
    assert table.decision(KEY, None) is text
    assert table["t1"][KEY.fingerprint] is text


class Meddling(str):  # noqa: SLOT000 - it is to refer to a table
    """An id that works on the table whenever Python code of its own runs."""

    table: Any

    def __eq__(self, other: object) -> bool:
        self.table.decide(KEY, None)
        return True

    def __hash__(self) -> int:
        self.table.decide(KEY, None)
        return 5

    def __del__(self) -> None:
        self.table.decide(KEY, None)


def test_ids_and_texts_run_no_code_of_their_own(core: ModuleType) -> None:
    """F4: what a subclass overrides takes no part, and cannot wait for a table for ever."""
    table = core.DecisionTable()
    odd: Any = None
    for name in ("t2", "t3"):
        odd = Meddling(name)
        odd.table = table
        table.decide(Key(odd, KEY.fingerprint), odd)
        assert name in table
        assert odd in table
        assert table.decision(Key(odd, KEY.fingerprint), None) == name
        table.decide_anew(Key(name, KEY.fingerprint), "x")
    del odd
    gc.collect()
    assert set(table) == {"t1", "t2", "t3"}


def test_an_id_with_many_texts_takes_no_longer(core: ModuleType) -> None:
    """SPEC 9: a host that gives every call the same id pays for each result once.

    Looking through a list of so many for each of them would take minutes.
    """
    table = core.DecisionTable()
    keys = [Key("call_0", Fingerprint(number, f"{number:032x}")) for number in range(50_000)]
    for key in keys:
        assert table.decide(key, None)
    for key in keys:
        assert table.decision(key, "") is None
    for key in keys:
        assert table.withdraw(key)
    assert table == {}


def test_a_plan_takes_decisions_from_any_mapping(core: ModuleType) -> None:
    """D1: dicts, tables of this core and of the other one give the same plan."""
    texts = [("t1", "abc"), ("t2", "def"), ("t3", "g" * 9), ("t3", "h" * 9)]
    kept = list(plan_of(core, texts).kept)
    decisions = [(kept[0], None), (kept[1], "x"), (kept[2], "y" * 4), (kept[3], "z")]
    decided: Model = {}
    for key, text in decisions:
        decided.setdefault(key.tool_use_id, {})[key.fingerprint] = text
    options = PlanOptions(
        limit=10_000,
        preview_bytes=100,
        expected_path=lambda name, _is_json: name,
        is_stored_as_json=lambda _content: False,
        is_exempt_tool=lambda _name: False,
    )
    messages = [msg(*(res(name, text) for name, text in (*texts, ("t4", "new"), ("t1", "new"))))]
    found = []
    for mapping in (
        decided,
        _core.load("python").DecisionTable(decisions),
        _core.load("native").DecisionTable(decisions),
    ):
        plan = core.plan(messages, Known(mapping, {}), options)
        found.append((list(plan.kept), list(plan.changes), plan.candidates))
    assert [change.replacement for change in found[0][1]] == ["x", "y" * 4, "z"]
    assert [key.tool_use_id for key in found[0][0]] == ["t4", "t1"]
    assert found[1:] == found[:1] * 2
