"""What ``PrefixGuard`` says about what is handed out turn by turn."""

from __future__ import annotations

import copy
import dataclasses
import gc
import json
import re
import threading
import tracemalloc
import weakref
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import msg, res
from tests.strategies import message_lists, odd_values
from toolbudget import InvalidMessageError, PrefixFinding, PrefixGuard
from toolbudget.budget.prefix_json import json_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget import Session

EPHEMERAL = {"type": "ephemeral"}


def text(value: str, **keys: object) -> dict[str, Any]:
    """Make a text block."""
    return {"type": "text", "text": value, **keys}


def user(*blocks: object) -> dict[str, Any]:
    """Make a user message."""
    return {"role": "user", "content": list(blocks)}


def find(before: object, now: object, *, keeps_text: bool = False) -> PrefixFinding:
    """Hand out one list after the other as the host's own."""
    guard = PrefixGuard(keeps_text=keeps_text)
    assert guard.check(before, given=before).kind == "first"
    return guard.check(now, given=now)


A, B, C, D = (user(text(letter * 8)) for letter in "abcd")


@pytest.mark.parametrize(
    ("before", "now", "kind", "message_index", "block_index"),
    [
        ([], [A], "extended", None, None),
        ([A, B], [A, B], "extended", None, None),
        ([A, B], [A, B, C], "extended", None, None),
        ([A, user(text("b"))], [A, user(text("b"), text("c"))], "extended", None, None),
        (
            [{"content": [], "role": "user"}],
            [{"content": [5], "role": "user"}],
            "extended",
            None,
            None,
        ),
        ([A, B, C], [A, D, C], "changed", 1, 0),
        ([A, B, C], [A, {**B, "role": "assistant"}, C], "changed", 1, None),
        ([A, B, C], [A, {"content": B["content"], "role": "user"}, C], "changed", 1, None),
        ([A, B, C], [A, D, B, C], "inserted", 1, None),
        ([A, B, C], [A, C], "removed", 1, None),
        ([A, B, C], [D, C], "removed", 0, None),
        ([A, B, C], [A, B], "shortened", 2, None),
        ([A, B, C], [B, A, C], "moved", 0, None),
        ([user(text("a"), text("b")), C], [user(text("b"), text("a")), C], "moved", 0, 0),
        ([user(text("a"), text("b")), C], [user(text("a")), C], "removed", 0, 1),
        ([user(text("a")), C], [user(text("a"), text("b")), C], "inserted", 0, 1),
        ([A, None], [A, 5], "changed", 1, None),
    ],
)
def test_it_names_what_happened_where(
    before: object, now: object, kind: str, message_index: int | None, block_index: int | None
) -> None:
    """Each kind of difference is told by its name, with the first message and block."""
    finding = find(before, now)
    assert finding.kind == kind
    assert (finding.message_index, finding.block_index) == (message_index, block_index)
    assert finding.is_intact == (kind == "extended")
    assert finding.changed_by == (None if kind == "extended" else "host")


@pytest.mark.parametrize("keeps_text", [False, True])
def test_it_leads_to_the_changed_value(*, keeps_text: bool) -> None:
    """The path can be followed from the list to the first changed member."""
    call = {
        "type": "tool_use",
        "id": "t1",
        "name": "Read",
        "input": {"path": "/a", "lines": [1, 2]},
    }
    now = copy.deepcopy([A, {"role": "assistant", "content": [text("so"), call]}])
    before = copy.deepcopy(now)
    now[1]["content"][1]["input"]["lines"][1] = 3
    finding = find(before, now, keeps_text=keeps_text)
    assert finding.path == (1, "content", 1, "input", "lines", 1)
    assert finding.excerpt_now == "3"
    assert finding.excerpt_before == ("2" if keeps_text else None)
    assert str(finding).startswith("changed at message 1, block 1 ([1].content[1].input.lines[1])")


def test_kept_text_shows_the_difference_and_no_more() -> None:
    """A change deep inside a long text is shown with at most 60 characters of either version."""
    before = "s" * 5_000 + "It is 10:41. " + "t" * 5_000
    finding = find([user(text(before))], [user(text(before.replace("41", "42")))], keeps_text=True)
    assert finding.offset_chars == before.index("41") + 1
    assert finding.excerpt_before is not None
    assert finding.excerpt_now is not None
    assert ("10:41" in finding.excerpt_before, "10:42" in finding.excerpt_now) == (True, True)
    assert len(finding.excerpt_before) == len(finding.excerpt_now) == 60


@pytest.mark.parametrize("keeps_text", [False, True])
def test_a_logged_finding_shows_no_text(*, keeps_text: bool) -> None:
    """Neither form in which a finding is logged has any of the excerpts."""
    finding = find([user(text("a"))], [user(text("password"))], keeps_text=keeps_text)
    assert finding.excerpt_now == "password"
    assert "password" not in f"{finding} {finding!r}"


def test_it_tells_the_library_from_the_host() -> None:
    """It is the library if the host gave the same message at that place, the host otherwise."""
    history = [msg(res("t1", "long result")), B]
    sent = [msg(res("t1", "short")), B]
    guard = PrefixGuard()
    guard.check(sent, given=history)
    assert guard.check(history, given=history).changed_by == "library"
    assert guard.check(sent, given=sent).changed_by == "host"
    assert guard.check([], given=sent).changed_by == "library"
    guard.check(sent)
    assert guard.check(history, given=history).changed_by == "unknown"


def test_a_session_is_never_to_blame(session: Session) -> None:
    """Over turns the handed out list only grows, and an edit in place is the host's."""
    guard = PrefixGuard()
    history: list[dict[str, Any]] = []
    kinds = []
    for turn in range(4):
        history.append({"role": "assistant", "content": [{"type": "tool_use", "id": f"t{turn}"}]})
        history.append(msg(res(f"t{turn}", "x" * 210_000)))
        kinds.append(guard.check(session.enforce(history), given=history).kind)
    assert kinds == ["first", "extended", "extended", "extended"]
    history[1]["content"][0]["content"] = "y" * 210_000
    finding = guard.check(session.enforce(history), given=history)
    assert (finding.changed_by, finding.path) == ("host", (1, "content", 0, "content"))


def test_a_change_in_place_is_found() -> None:
    """The very same objects are compared by what they held."""
    history = [copy.deepcopy(A), B]
    guard = PrefixGuard()
    guard.check(history, given=history)
    history[0]["content"][0]["text"] = "edited"
    finding = guard.check(history, given=history)
    assert (finding.kind, finding.message_index, finding.changed_by) == ("changed", 0, "host")


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (user(text("a", cache_control=EPHEMERAL)), user(text("a"))),
        (user(text("a")), user(text("a", cache_control={"type": "ephemeral", "ttl": "1h"}))),
        ({"role": "user", "content": "a"}, user(text("a", cache_control=EPHEMERAL))),
        (user(text("a", cache_control=EPHEMERAL)), {"role": "user", "content": "a"}),
        (
            msg(res("t1", [text("a", cache_control=EPHEMERAL), text("b")])),
            msg(res("t1", [text("a"), text("b", cache_control=EPHEMERAL)])),
        ),
    ],
)
def test_moved_markers_do_not_break_the_prefix(before: object, now: object) -> None:
    """Breakpoints move every turn: they are told as such, with who moved them."""
    finding = find([A, before], [A, now, B])
    assert (finding.kind, finding.message_index, finding.is_intact) == ("cache_control", 1, True)
    assert (finding.changed_by, finding.has_moved_markers, finding.lost_tokens) == ("host", True, 0)
    assert "cache_control moved at message 1, block 0" in str(finding)


def test_another_form_of_a_text_is_no_marker() -> None:
    """Nothing but the form has changed: it is told as that, with who changed it."""
    plain = {"role": "user", "content": "a"}
    for before, now in ((plain, user(text("a"))), (user(text("a")), plain)):
        finding = find([A, before], [A, now, B])
        assert (finding.kind, finding.message_index, finding.is_intact) == ("form", 1, True)
        assert (finding.changed_by, finding.has_moved_markers) == ("host", False)
        assert "text has another form at message 1, block 0" in str(finding)
        assert find([A, before, C], [A, now, D]).kind == "changed"
    marked = [user(text("b", cache_control=EPHEMERAL)), plain]
    finding = find(marked, [user(text("b")), user(text("a"))])
    assert (finding.kind, finding.message_index) == ("cache_control", 0)


def test_a_real_change_outranks_a_moved_marker() -> None:
    """A change behind a moved marker is the finding; that a marker moved is noted."""
    before = [user(text("a", cache_control=EPHEMERAL)), B, C]
    finding = find(before, [user(text("a")), D, C])
    assert (finding.kind, finding.message_index, finding.has_moved_markers) == ("changed", 1, True)


def test_an_argument_called_cache_control_is_data() -> None:
    """Inside the arguments of a call the word is compared as any other."""
    call = {"type": "tool_use", "id": "t1", "name": "Set", "input": {"cache_control": "a"}}
    finding = find([user(call)], [user({**call, "input": {"cache_control": "b"}})])
    assert (finding.kind, finding.path) == ("changed", (0, "content", 0, "input", "cache_control"))


def record(message: object, **keys: object) -> dict[str, object]:
    """Make a transcript record."""
    return {"type": "user", "uuid": "u1", **keys, "message": message}


def test_of_a_record_only_the_message_counts() -> None:
    """The envelope of a transcript record is not sent, and the path leads through it."""
    assert find([record(A)], [record(A, uuid="u2")]).kind == "extended"
    assert find([record(A)], [record(B)]).path == (0, "message", "content", 0, "text")
    assert find([record(A)], [A]).kind == "extended"


@dataclasses.dataclass
class DataBlock:
    """A block as a dataclass."""

    type: str
    text: str


class ModelBlock:
    """A block as a client library makes it."""

    def __init__(self, value: str) -> None:
        """Take the text."""
        self._value = value

    def model_dump(self) -> dict[str, object]:
        """Give its fields."""
        return {"type": "text", "text": self._value}


@pytest.mark.parametrize(
    "make",
    [
        lambda value: DataBlock("text", value),
        ModelBlock,
        lambda value: SimpleNamespace(type="text", text=value),
        lambda value: MappingProxyType(text(value)),
    ],
    ids=["dataclass", "model", "attributes", "mapping"],
)
def test_objects_count_as_their_json_form(make: Callable[[str], object]) -> None:
    """A block of a client library equals the dict that is sent for it."""
    assert find([user(make("a"))], [user(text("a"))]).kind == "extended"
    message = SimpleNamespace(role="user", content=[make("a")])
    assert find([message], [user(text("a"))]).kind == "extended"
    finding = find([user(make("a"))], [user(make("b"))])
    assert (finding.path, finding.excerpt_now) == ((0, "content", 0, "text"), "b")


def test_the_same_odd_values_are_equal_turn_after_turn() -> None:
    """An object without a JSON form is compared without its address."""
    assert find([user(object())], [user(object())]).kind == "extended"
    assert find([user({1, 2})], [user({3})]).kind == "changed"


def test_numbers_are_compared_as_they_are_written() -> None:
    """What is equal in Python but not in JSON is a change."""
    for before, now in [(1, 1.0), (1, True), (0, False), ("1", 1)]:
        assert find([user({"n": before})], [user({"n": now})]).kind == "changed"


def circular() -> list[object]:
    """Make a list that holds itself."""
    value: list[object] = []
    value.append(value)
    return value


def deep(levels: int, innermost: object) -> object:
    """Nest a value in lists."""
    for _ in range(levels):
        innermost = [innermost]
    return innermost


class Hostile:
    """Raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> object:
        """Raise."""
        raise RuntimeError(name)

    def __repr__(self) -> str:
        """Raise."""
        raise RuntimeError


@pytest.mark.parametrize(
    "make",
    [circular, lambda: deep(5_000, "x"), Hostile, lambda: 10**5_000],
    ids=["circular", "deep", "hostile", "huge"],
)
@pytest.mark.parametrize("keeps_text", [False, True])
def test_nothing_odd_raises(make: Callable[[], object], *, keeps_text: bool) -> None:
    """Circles, depth and classes that raise are compared as far as they can be."""
    assert find([user({"a": make()})], [user({"a": make()}), A], keeps_text=keeps_text).is_intact
    finding = find([user({"a": make()}), A], [user({"a": 1}), A], keeps_text=keeps_text)
    assert (finding.kind, finding.path) == ("changed", (0, "content", 0, "a"))


def test_depth_hides_nothing() -> None:
    """A change below thousands of levels is found."""
    assert find([user(deep(5_000, "x"))], [user(deep(5_000, "y"))]).kind == "changed"


@pytest.mark.parametrize("huge", [10**5_000, -(10**5_000)], ids=["huge", "negative"])
def test_a_number_of_any_length_hides_nothing(huge: int) -> None:
    """A change of it or beside it is found, also where it is a key, and on its own it is none."""
    for before, now in [
        ({"n": huge, "a": "x"}, {"n": huge, "a": "y"}),
        ({"n": huge}, {"n": huge + 1}),
        ({huge: "x"}, {huge: "y"}),
        ({huge: "x"}, {huge + 1: "x"}),
    ]:
        assert find([user(before)], [user(now)]).kind == "changed"
        assert find([user(before)], [user(before)]).kind == "extended"


LISTS = message_lists() | odd_values().map(lambda odd: odd if is_list(odd) else [odd])


def is_list(value: object) -> bool:
    """Tell what can be a list of messages."""
    return isinstance(value, (list, tuple))


@given(
    no_list=odd_values().filter(lambda odd: not is_list(odd))
    | st.text()
    | st.binary()
    | st.dictionaries(st.text(), st.none())
)
def test_what_is_no_list_is_refused_and_forgets_nothing(no_list: object) -> None:
    """A forgotten result is named; the next check compares with what was handed out before it."""
    guard = PrefixGuard()
    guard.check([A, B])
    message = f"messages must be a list of messages, not {type(no_list).__name__}: "
    with pytest.raises(InvalidMessageError, match=re.escape(message)):
        guard.check(no_list)
    if no_list is None or isinstance(no_list, (str, bytes, int, float)):
        with pytest.raises(InvalidMessageError, match="body must be a list of messages, not "):
            guard.check_request(no_list)
    assert guard.check([A, B, C]).kind == "extended"


def test_the_value_that_is_no_list_is_shown() -> None:
    """A host that lost its list reads what it handed in."""
    with pytest.raises(InvalidMessageError, match=r"^messages must be .* not NoneType: None$"):
        PrefixGuard().check(None)


@given(before=LISTS, now=LISTS)
def test_any_two_lists_can_be_compared(before: object, now: object) -> None:
    """Whatever is handed in, the check ends with a finding and changes nothing."""
    known = json_text([before, now])
    for keeps_text in (False, True):
        guard = PrefixGuard(keeps_text=keeps_text)
        guard.check(before, given=now)
        assert guard.check(before, given=now).is_intact
        assert str(guard.check(now, given=now))
        assert str(guard.check_request({"messages": now, "system": before}, given=before))
    assert json_text([before, now]) == known


values = st.recursive(
    st.sampled_from(["", "a", "ab", "a\ud800", "é", 0, 1, 1.0, True, None]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xy"), inner),
    max_leaves=3,
)
blocks = st.fixed_dictionaries({"type": st.just("text"), "text": values})
# The role comes first: behind the content of the last message nothing but brackets closes it.
messages: st.SearchStrategy[dict[str, Any]] = st.builds(
    lambda role, content: {"role": role, "content": content},
    st.sampled_from(["user", "assistant"]),
    st.lists(blocks, max_size=3),
)


@st.composite
def edited_lists(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Give a message list, and what a host may have made of it."""
    before = draw(st.lists(messages, max_size=4))
    now = copy.deepcopy(before) + draw(st.lists(messages, max_size=2))
    for _ in range(draw(st.integers(0, 2))):
        index = draw(st.integers(0, len(now)))
        edit = draw(st.sampled_from(["insert", "delete", "replace", "append"]))
        if edit == "insert":
            now.insert(index, draw(messages))
        elif edit == "delete":
            del now[index : index + 1]
        elif edit == "replace":
            now[index : index + 1] = [draw(messages)]
        elif index < len(now):
            now[index]["content"].append(draw(blocks))
    return before, now


@given(edited_lists())
def test_it_agrees_with_the_bytes(lists: tuple[list[Any], list[Any]]) -> None:
    """The prefix is intact if the JSON text, up to the brackets that close it, begins the new."""
    before, now = lists
    beginning = json.dumps(before).removesuffix("]").removesuffix("]}")
    whole = json.dumps(now)
    following = whole[len(beginning) : len(beginning) + 1]
    is_prefix = whole.startswith(beginning) and (beginning[-1] == "[" or following in {",", "]"})
    for keeps_text in (False, True):
        finding = find(before, now, keeps_text=keeps_text)
        assert finding.is_intact == is_prefix
        if is_prefix:
            continue
        written = [[json.dumps(message) for message in list_] for list_ in lists]
        same = [old == new for old, new in zip(*written, strict=False)]
        first = same.index(False) if False in same else len(same)
        assert finding.message_index == first


@given(edited_lists())
def test_the_path_leads_to_a_difference(lists: tuple[list[Any], list[Any]]) -> None:
    """The value that is named, or the object it is a member of, was not the same before."""
    before, now = lists
    for keeps_text in (False, True):
        finding = find(before, now, keeps_text=keeps_text)
        if finding.kind == "changed":
            around = finding.path[:-1]
            assert json.dumps(follow(before, around)) != json.dumps(follow(now, around))


def follow(value: Any, path: tuple[str | int, ...]) -> object:  # noqa: ANN401 - any JSON
    """Give what stands at a path, or nothing."""
    for key in path:
        try:
            value = value[key]
        except (IndexError, KeyError, TypeError):
            return "nothing stands here"
    return value


BODY = {
    "model": "m1",
    "max_tokens": 100,
    "system": [text("one"), text("two")],
    "tools": [{"name": "Read"}, {"name": "Bash"}],
    "thinking": {"budget_tokens": 1_000},
    "messages": [A, B],
}


@pytest.mark.parametrize(
    ("changes", "kind", "path"),
    [
        ({"max_tokens": 5, "stream": True, "temperature": 0}, "extended", ()),
        ({"messages": [A, B, C]}, "extended", ()),
        ({"model": "m2"}, "changed", ("model",)),
        ({"tools": [{"name": "Bash"}, {"name": "Read"}]}, "moved", ("tools", 0, "name")),
        ({"tools": [*BODY["tools"], {"name": "Web"}]}, "inserted", ("tools", 2)),  # type: ignore[misc]
        ({"system": [text("one"), text("2")], "messages": []}, "changed", ("system", 1, "text")),
        ({"thinking": {"budget_tokens": 9}}, "changed", ("thinking", "budget_tokens")),
        ({"tool_choice": {"type": "auto"}}, "inserted", ("tool_choice",)),
        ({"messages": [A, D]}, "changed", ("messages", 1, "content", 0, "text")),
        ({"messages": [A]}, "shortened", ("messages", 1)),
    ],
)
def test_a_body_is_compared_in_the_order_of_the_prompt(
    changes: dict[str, object], kind: str, path: tuple[str | int, ...]
) -> None:
    """What precedes messages is compared first and is the host's; settings are left out."""
    guard = PrefixGuard()
    guard.check_request(BODY, given=BODY["messages"])
    now = {**BODY, **changes}
    finding = guard.check_request(now, given=now["messages"])
    assert (finding.kind, finding.path) == (kind, path)
    assert finding.changed_by == (None if kind == "extended" else "host")


def test_a_removed_parameter_is_named() -> None:
    """A parameter that is gone is told by its name."""
    guard = PrefixGuard()
    guard.check_request(BODY)
    finding = guard.check_request({"model": "m1", "messages": []})
    assert (finding.kind, finding.parameter, finding.path) == ("removed", "tools", ("tools",))


def test_tokens_before_the_difference_are_kept() -> None:
    """About four characters are a token; kept and lost ones add up to what was handed out."""
    finding = find([user(text("a" * 4_000)), user(text("b" * 8_000))], [user(text("a" * 4_000))])
    assert finding.kept_tokens == pytest.approx(1_000, rel=0.05)
    assert finding.lost_tokens == pytest.approx(2_000, rel=0.05)


def test_after_a_reset_nothing_is_compared() -> None:
    """A compaction that is meant to begin anew is no finding."""
    guard = PrefixGuard()
    guard.check([A, B])
    guard.reset()
    assert guard.check([C]).kind == "first"


def test_it_keeps_digests_only() -> None:
    """Thousands of blocks cost some hundred bytes each whatever they hold, and none lives on."""
    held = ModelBlock("x")
    alive = weakref.ref(held)
    history = [user(held), *(user(text(f"{index}" * 10_000)) for index in range(1_000))]
    guard = PrefixGuard()
    guard.check([A])
    gc.collect()
    tracemalloc.start()
    guard.check(history)
    gc.collect()
    held_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held_bytes < 1_000 * 500
    del held, history
    gc.collect()
    assert alive() is None


def test_threads_share_a_guard() -> None:
    """Of many threads that hand out the same exactly one is the first."""
    guard, kinds = PrefixGuard(), list[str]()
    start = threading.Barrier(8)

    def check() -> None:
        start.wait()
        kinds.extend(guard.check([A, B], given=[A, B]).kind for _ in range(20))

    threads = [threading.Thread(target=check) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(kinds) == ["extended"] * 159 + ["first"]
