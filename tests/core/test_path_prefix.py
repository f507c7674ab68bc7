"""Paths that a core puts together itself are those that it would be given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.core.harness import assistant, plan_options, result, tool_use, user
from toolbudget import DirectoryStore, _core
from toolbudget.budget.storing import expected_path, path_prefix
from toolbudget.storage.names import result_name

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

PREFIX = "/däta/results/"
ODD = "../../etc/passwd"
TEXT = "text\n" * 99
BLOCKS = [{"type": "text", "text": "text\n" * 50}] * 2


def shown(
    core: ModuleType, tool_use_id: str, prefix: str | None, content: object = TEXT
) -> tuple[str, str, list[str]]:
    """Replace one result; give its path, its replacement, and the ids that were asked about."""
    asked: list[str] = []

    def ask(name: str, is_json: bool) -> str:  # noqa: FBT001 - as a core calls it
        asked.append(name)
        return PREFIX + result_name(name) + (".json" if is_json else ".txt")

    messages = [assistant("m1", tool_use(tool_use_id)), user(result(tool_use_id, content))]
    options = plan_options(core, limit=100, expected_path=ask, path_prefix=prefix)
    [choice] = core.plan(messages, core.Known({}, {}), options).choices
    return choice.path, choice.replacement, asked


@given(
    tool_use_id=st.one_of(
        st.from_regex(r"[A-Za-z0-9_-]{1,101}", fullmatch=True),
        st.from_regex(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])x?", fullmatch=True),
        st.text(min_size=1, max_size=12),
        st.text(min_size=1, max_size=12).map(result_name),
    ),
    content=st.sampled_from([TEXT, BLOCKS]),
)
@example(tool_use_id="toolu_01ABC", content=BLOCKS)
@example(tool_use_id=result_name(ODD), content=TEXT)
@example(tool_use_id=result_name(ODD).upper(), content=TEXT)
@example(tool_use_id="a" * 100, content=TEXT)
def test_a_prefix_changes_no_path(core: ModuleType, tool_use_id: str, content: object) -> None:
    """Whatever the id is, plain, odd, reserved or the hashed name of another one."""
    path, replacement, _ = shown(core, tool_use_id, PREFIX, content)
    asked_path, asked_replacement, asked = shown(core, tool_use_id, None, content)
    assert asked == [tool_use_id]
    assert (path, replacement) == (asked_path, asked_replacement)


def test_the_native_core_does_not_ask_for_a_plain_path() -> None:
    """An ordinary id costs no call; an odd one is still the store's to name."""
    native = _core.load("native")
    assert shown(native, "toolu_01ABC", PREFIX)[2] == []
    assert shown(native, ODD, PREFIX)[2] == [ODD]


@pytest.mark.parametrize("tool_use_id", ["toolu_01ABC", "con", ODD])
def test_the_prefix_of_a_store_is_that_of_its_paths(tmp_path: Path, tool_use_id: str) -> None:
    """What a directory store says of its prefix is what its paths begin with."""
    store = DirectoryStore(tmp_path)
    path = expected_path(store, tool_use_id, is_json=False)
    assert path == f"{path_prefix(store)}{result_name(tool_use_id)}.txt"


def test_a_store_that_shows_other_paths_has_no_prefix(tmp_path: Path) -> None:
    """Neither one with a mapping of the host's, nor one of a class of the host's own."""

    class Own(DirectoryStore):
        """A host's own store."""

    assert path_prefix(DirectoryStore(tmp_path, display_path=str)) is None
    assert path_prefix(Own(tmp_path)) is None
