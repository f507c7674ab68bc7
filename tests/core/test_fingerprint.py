from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from tests.core.harness import State, enforce, plan_options, result, text_block, user
from tests.strategies import Text, any_text, hostile_text
from toolbudget import _core
from toolbudget._core.pure import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from toolbudget._core.pure import Fingerprint


def test_the_hash_is_xxh3_128(core: ModuleType) -> None:
    """The value for no input is the one that the algorithm's authors publish."""
    assert core.fingerprint([]) == (0, "99aa06d3014798d86001c324468d497f")
    assert core.fingerprint([""]) == (0, "99aa06d3014798d86001c324468d497f")


@given(parts=st.lists(any_text() | hostile_text(), max_size=4))
def test_a_fingerprint_is_of_the_joined_text(core: ModuleType, parts: list[str]) -> None:
    """Size in characters, hash over UTF-8 with ``surrogatepass``; where parts meet is not seen."""
    text = "".join(parts)
    digest = xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass"))
    assert core.fingerprint(parts) == core.fingerprint([text]) == (len(text), digest)


def test_a_subclass_is_hashed_as_the_text_it_is(core: ModuleType) -> None:
    """Methods that a ``str`` subclass overrides take no part (B11)."""
    assert core.fingerprint([Text("aé"), Text("日")]) == core.fingerprint(["aé日"])


@pytest.mark.parametrize("before_chars", range(65_534, 65_539))
def test_a_long_text_is_hashed_over_any_seam(core: ModuleType, before_chars: int) -> None:
    """Hashing in pieces gives what hashing at once gives."""
    text = "é" * before_chars + "\ud83d\ude00日\U0001f600" + "x" * 70_000
    digest = xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass"))
    assert core.fingerprint([text]) == (len(text), digest)


@pytest.mark.parametrize(
    ("one", "other"),
    [("\ud83d\ude00", "\U0001f600"), ("e\u0301", "\u00e9"), ("a\x00", "a"), ("\ufffd", "\ud800")],
    ids=["halves", "combining mark", "NUL", "replacement character"],
)
def test_texts_that_look_alike_differ(core: ModuleType, one: str, other: str) -> None:
    """Nothing is normalised, joined or dropped before hashing (D1)."""
    assert core.fingerprint([one]) != core.fingerprint([other])


def fingerprints_of(core: ModuleType, content: object, state: State) -> list[Fingerprint]:
    """Enforce a list of one result and give the fingerprints that its decisions have."""
    done = enforce(core, [user(result("t1", content))], plan_options(core), state)
    return [key.fingerprint for key in done.plan.kept]


FORMS: dict[str, Callable[[str], object]] = {
    "text": str,
    "subclass": Text,
    "one block": lambda text: [text_block(text)],
    "two blocks": lambda text: (text_block(text[:9]), text_block(text[9:])),
    "block of a subclass": lambda text: [text_block(""), text_block(Text(text))],
}
every_form = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@every_form
def test_a_text_is_hashed_once_per_object(core: ModuleType, form: Callable[[str], object]) -> None:
    """The fingerprint of a string object is remembered from call to call (D1), in every form."""
    content = form("once and only once " * 9)
    objects = objects_of(content)
    state = State()
    [first] = fingerprints_of(core, content, state)
    remembered = state.fingerprints.find(objects)
    assert remembered == first
    assert fingerprints_of(core, content, state) == []
    # Nothing but memory can give the very same object.
    assert state.fingerprints.find(objects) is remembered


def objects_of(content: object) -> tuple[object, ...]:
    """Give the text objects of some content as the host holds them."""
    if isinstance(content, (list, tuple)):
        return tuple(block["text"] for block in content)
    return (content,)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Watch what the pure core hashes."""
    texts: list[str] = []

    def watch(parts: tuple[str, ...]) -> Fingerprint:
        texts.append("".join(parts))
        return fingerprint(parts)

    monkeypatch.setattr(importlib.import_module("toolbudget._core.pure.plan"), "fingerprint", watch)
    return texts


@every_form
def test_each_turn_hashes_what_is_new(hashed: list[str], form: Callable[[str], object]) -> None:
    """Ten calls about a growing list hash each text once (D1)."""
    core = _core.load("python")
    contents = [form(f"result number {number} " * 9) for number in range(10)]
    messages: list[object] = []
    state = State()
    for number, content in enumerate(contents):
        messages.append(user(result(f"t{number}", content)))
        enforce(core, messages, plan_options(core, limit=50), state)
    assert len(hashed) == len(set(hashed)) == len(contents)


def test_an_object_that_stands_twice_is_hashed_once(hashed: list[str]) -> None:
    """Copies of a result in one list share its string, and the work (D1)."""
    core = _core.load("python")
    text = "the same object " * 9
    messages = [user(result("t1", text), result("t2", text), result("t1", text))] * 2
    enforce(core, messages, plan_options(core))
    assert hashed == [text]


def test_equal_texts_of_two_objects_have_one_identity(core: ModuleType) -> None:
    """The cache saves work only: another object with the same text has the same fingerprint."""
    state = State()
    first = fingerprints_of(core, "same text", state)
    assert len(first) == 1
    assert fingerprints_of(core, " same text"[1:], state) == []


def test_the_cache_holds_the_texts_of_the_last_call_only(core: ModuleType) -> None:
    """What has left the list is not kept alive."""
    gone, stays = "gone " * 9, "stays " * 9
    state = State()
    enforce(core, [user(result("t1", gone), result("t2", stays))], plan_options(core), state)
    enforce(core, [user(result("t2", stays))], plan_options(core), state)
    assert len(state.fingerprints) == 1
    assert state.fingerprints.find((gone,)) is None
    assert state.fingerprints.find((stays,)) == core.fingerprint([stays])


def test_an_identity_is_that_of_the_objects(core: ModuleType) -> None:
    """Two texts in two blocks are no text of one block, and order counts."""
    one, other = "one " * 9, "other " * 9
    content = [text_block(one), text_block(other)]
    state = State()
    enforce(core, [user(result("t1", content))], plan_options(core), state)
    found = state.fingerprints.find
    assert found((one, other)) == core.fingerprint([one, other])
    assert [found((one,)), found((other,)), found((other, one)), found(())] == [None] * 4
