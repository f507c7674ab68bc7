"""Preview styles through the whole library: sessions, bodies, records, plain functions."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import pytest

import toolbudget
from tests.builders import msg, res
from tests.core.test_show import CODE, LOG, PROSE, TABLE
from toolbudget import ConfigError, Limits, MemoryStore, Session
from toolbudget._core.pure import STYLE_VERSIONS
from toolbudget.budget import outlines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolbudget.limits import PreviewStyle

STYLES: Final[tuple[PreviewStyle, ...]] = ("head", "head_tail", "salient", "json", "auto")
RESULTS: Final = [
    res("log", LOG),
    res("table", TABLE),
    res("parts", [{"type": "text", "text": LOG}, {"type": "text", "text": PROSE}]),
    res("short", "done"),
]


def limits(style: PreviewStyle, **more: Any) -> Limits:  # noqa: ANN401 - any argument of Limits
    """Make limits that a group of these results is over."""
    return Limits(max_message_chars=6_000, preview_bytes=1_000, preview_style=style, **more)


def records_in(path: Path) -> list[dict[str, Any]]:
    """Read the entries of all records."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [entry for line in lines for entry in line.get("replacements", ())]


@pytest.mark.parametrize("style", STYLES)
def test_a_resumed_session_sends_the_same_bytes(root: Path, style: PreviewStyle) -> None:
    """B8: recorded is what was shown, so it stays, whatever style is asked for later."""
    messages = [msg(*RESULTS)]
    with Session.open(root, "s", limits=limits(style), durability="process") as session:
        first = session.enforce(messages)
        assert first is not messages
        assert session.enforce(messages) == first
    for other in STYLES:
        with Session.open(root, "s", limits=limits(other), durability="process") as session:
            assert session.enforce(messages) == first
            assert session.enforce(first) == first


@pytest.mark.parametrize("style", STYLES)
def test_a_list_and_a_body_become_the_same(
    new_root: Callable[[], Path], style: PreviewStyle
) -> None:
    """V2: the same replacements, to the byte."""
    messages = [msg(*RESULTS)]
    opened = [
        Session.open(new_root(), "s", limits=limits(style), display_path=lambda path: path.name)
        for _ in range(2)
    ]
    made = opened[0].enforce(messages)
    body = opened[1].enforce_json(json.dumps({"messages": messages}).encode())
    assert json.loads(body)["messages"] == made
    assert opened[0].state == opened[1].state
    assert sum(map(_size, made[0]["content"])) <= 6_000


def _size(block: dict[str, Any]) -> int:
    content = block["content"]
    return len(content if isinstance(content, str) else "".join(part["text"] for part in content))


def test_records_name_the_form_of_a_preview(root: Path) -> None:
    """R2: with its version, and only where it is another one than the beginning."""
    with Session.open(root, "s", limits=limits("auto"), durability="process") as session:
        session.enforce([msg(*RESULTS)])
        styles = {record.tool_use_id: record.style for record in session.report.newly_replaced}
        assert styles == {"log": "salient", "table": "table", "parts": "salient"}
        fork = session.fork("fork")
        entries = records_in(session.transcript_path)
        inherited = records_in(fork.transcript_path)
    assert {entry["toolUseId"]: entry["style"] for entry in entries} == styles
    assert all(entry["styleVersion"] == STYLE_VERSIONS[entry["style"]] for entry in entries)
    assert sorted(map(str, entries)) == sorted(map(str, inherited))


def test_a_record_of_a_beginning_is_as_it_always_was(root: Path) -> None:
    """R2: no key is added to what the default writes."""
    with Session.open(root, "s", limits=limits("head"), durability="process") as session:
        session.enforce([msg(*RESULTS)])
        entries = records_in(session.transcript_path)
    keys = {"kind", "toolUseId", "replacement", "size", "hash", "file", "fileDigest"}
    assert [keys] * 3 == [set(entry) for entry in entries]


@pytest.mark.parametrize(
    "odd", [{"style": 7}, {"style": "new", "styleVersion": "1"}, {"style": ""}]
)
def test_an_odd_style_costs_no_record(odd: dict[str, object]) -> None:
    """What a later version may write there is passed over, the replacement counts."""
    entry = {"kind": "tool-result", "toolUseId": "t", "replacement": "r", **odd}
    record = toolbudget.ContentReplacementRecord.from_json(entry)
    assert (record.replacement, record.style) == ("r", None)


@pytest.mark.parametrize("style", ["head_tail", "salient", "auto"])
def test_the_gate_shows_the_same_as_the_budget(root: Path, style: PreviewStyle) -> None:
    """P4: one result, whichever of the two replaces it."""
    budget = limits(style, tools={"Bash": 1_000})
    with Session.open(root, "s", limits=budget, durability="process") as session:
        gated = session.gate(res("log", LOG), tool_name="Bash")["content"]
        path = str(session.result_path("log"))
        assert session.report.newly_replaced[0].style == "salient" or style == "head_tail"
    expected = toolbudget.build_replacement(LOG, path, preview_bytes=1_000, style=style)
    assert expected == gated


def test_the_plain_functions_take_a_style() -> None:
    """The steps for hosts that own their state know every style too."""
    store = MemoryStore()
    done = toolbudget.enforce_tool_result_budget(
        [msg(res("log", LOG))],
        toolbudget.create_content_replacement_state(),
        store=store,
        limit=3_000,
        style="salient",
    )
    assert "901:not ok 901 - broken" in done.messages[0]["content"][0]["content"]
    assert done.newly_replaced[0].style == "salient"
    applied = toolbudget.apply_tool_result_budget(
        [msg(res("log", LOG))],
        toolbudget.create_content_replacement_state(),
        store=store,
        limit=3_000,
        style="salient",
    )
    assert applied == done.messages
    block = toolbudget.maybe_persist_large_tool_result(
        res("log", LOG), tool_name="Bash", limit=3_000, store=store, style="salient"
    )
    assert block == done.messages[0]["content"][0]


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("odd", [-1, True, 2.5, None, "2000"])
def test_an_odd_size_is_refused(odd: Any, style: PreviewStyle) -> None:  # noqa: ANN401 - it is odd
    """L5: with the argument's name and its value, before anything is built."""
    problem = rf"preview_bytes \(argument\) must be a whole number >= 0: {odd!r}"
    with pytest.raises(ConfigError, match=problem):
        toolbudget.build_replacement(LOG, "/t", preview_bytes=odd, style=style)


def test_what_is_redacted_is_in_no_preview(root: Path) -> None:
    """F5: every style shows the text as the hook left it."""
    for style in STYLES:
        with Session.open(
            root,
            style,
            limits=limits(style),
            redact=lambda text: text.replace("broken", "*****"),
            durability="process",
        ) as session:
            made = json.dumps(session.enforce([msg(*RESULTS)]))
        assert "broken" not in made
        assert "*****" in made or style in {"head", "json", "head_tail"}


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Give a function that says which outlines can be had: none, or what a callable makes."""

    def install(made: object) -> None:
        outlines.has_outlines.cache_clear()
        monkeypatch.setattr(outlines, "find_spec", lambda _name: None if made is None else made)
        module = ModuleType("toolbudget.pruning")
        vars(module)["outline_preview"] = made
        monkeypatch.setitem(sys.modules, "toolbudget.pruning", module)

    return install


@pytest.fixture(autouse=True)
def _forget_parsers() -> Any:  # noqa: ANN401 - a generator
    yield
    outlines.has_outlines.cache_clear()


def test_a_missing_extra_is_told_at_opening(root: Path, parser: Callable[[object], None]) -> None:
    """L5: what a style needs is asked for before a conversation begins, and named."""
    parser(None)
    with pytest.raises(ConfigError, match=r"preview_style needs .*toolbudget\[code\].*: 'outline'"):
        Session.open(root, "s", limits=limits("outline"))
    with pytest.raises(ConfigError, match=r"toolbudget\[code\]"):
        toolbudget.build_replacement(CODE, "/t", style="outline")
    assert not root.exists()
    shown = toolbudget.build_replacement(CODE, "/t", style="auto")
    assert shown == toolbudget.build_replacement(CODE, "/t", style="head_tail")


def test_code_is_outlined_where_that_is_possible(
    root: Path, parser: Callable[[object], None]
) -> None:
    """P4: by the styles that do so, with a label that says so."""
    parser(lambda _text, _max_bytes: ("5-7 def visit(node)", True))
    for style in ("outline", "auto"):
        with Session.open(
            root, style, limits=Limits(max_message_chars=500, preview_style=style)
        ) as session:
            made = session.enforce([msg(res("code", CODE))])[0]["content"][0]["content"]
            assert session.report.newly_replaced[0].style == "outline"
        label = "\nPreview (outline of the code, at most 2KB):\n"
        assert made.endswith(f"{label}5-7 def visit(node)\n...\n</persisted-output>")


def test_a_failing_parser_costs_nothing(
    root: Path, parser: Callable[[object], None], caplog: pytest.LogCaptureFixture
) -> None:
    """F2: the result is stored and shown otherwise, and the failure is logged."""

    def fail(_text: str, _max_bytes: int) -> object:
        raise RecursionError

    parser(fail)
    with Session.open(root, "s", limits=limits("outline")) as session:
        session.enforce([msg(res("code", CODE * 9))])
        assert session.report.newly_replaced[0].style == "head_tail"
    assert "could not be outlined" in caplog.text
