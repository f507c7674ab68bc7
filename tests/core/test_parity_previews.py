"""Both cores give the same previews in every style."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.core.failing_outputs import FAILING_OUTPUTS
from tests.core.log_texts import LOGS, WORDY_LOGS
from tests.core.test_json_preview import DOCUMENTS
from tests.strategies import any_text, hostile_text
from toolbudget import _core

if TYPE_CHECKING:
    from pathlib import Path

python = _core.load("python")
native = _core.load("native")

STYLES: Final = (
    "cut_preview",
    "head_tail_preview",
    "json_preview",
    "salient_preview",
    "table_preview",
)
LIMITS_BYTES: Final = (0, 1, 100, 240, 500, 1_000, 2_000, 4_000)
TEXTS = st.one_of(
    WORDY_LOGS,
    LOGS,
    any_text(),
    st.builds(str.__mul__, hostile_text(), st.integers(1, 400)),
)


def assert_same(text: str, max_bytes: int) -> None:
    """Compare the cores in each style."""
    for style in STYLES:
        expected = getattr(python, style)(text, max_bytes)
        assert expected == getattr(native, style)(text, max_bytes), style
    chosen = python.show_preview((text,), max_bytes, "auto")
    assert chosen == native.show_preview((text,), max_bytes, "auto")


@given(text=TEXTS, max_bytes=st.sampled_from(LIMITS_BYTES) | st.integers(-9, 9_000))
def test_both_cores_show_the_same(text: str, max_bytes: int) -> None:
    """For any text and any bound, the previews are the same bytes."""
    assert_same(text, max_bytes)


_JSON_PARTS = st.lists(
    st.sampled_from(
        [
            *'[]{}",:',
            *"[]{}:,",
            "\\",
            '\\"',
            "\\u00e9",
            "\\u12",
            "\\\\",
            "\n",
            " ",
            "1",
            "-1.5e+7",
            "1.",
            "-",
            "true",
            "null",
            "nul",
            '"a"',
            '"key": ',
            "é",
            "日😀",
            "\ud800",
            "\x00",
            "\ufeff",
            '"' + "long " * 90 + '"',
        ]
    ),
    max_size=40,
).map("".join)


@given(
    parts=_JSON_PARTS, count=st.integers(1, 60), start=st.sampled_from(["", "[", '{"a": [', '"'])
)
def test_both_cores_show_the_same_of_what_is_nearly_json(
    parts: str, count: int, start: str
) -> None:
    """Broken, cut and odd JSON is read to the same place."""
    text = start + parts * count
    for max_bytes in (240, 500, 2_000):
        assert_same(text, max_bytes)
        assert_same(text + '"' + "x" * 3_000, max_bytes)


@given(document=DOCUMENTS, count=st.integers(1, 60), cut=st.floats(0, 1))
def test_both_cores_show_the_same_of_json(
    document: tuple[object, str], count: int, cut: float
) -> None:
    """Documents of all kinds, one after the other, whole and cut."""
    text = f"{document[1]}\n" * count
    for max_bytes in (240, 500, 2_000, 9_000):
        assert_same(text, max_bytes)
        assert_same(text[: int(len(text) * cut)], max_bytes)


@given(text=WORDY_LOGS)
def test_both_cores_weigh_every_line_alike(text: str) -> None:
    """Lines one by one, so that none hides behind a weightier one."""
    for line in text.split("\n"):
        assert_same("\n".join(("-" * 400, line, "-" * 400)), 300)


@given(
    line=hostile_text() | st.sampled_from(["x", "é", "日", "😀", "\ud800", "<persisted-output "]),
    count=st.integers(3_000, 90_000),
    end=st.sampled_from(["", "\n", "\r\n", " error: last", "\nerror: last\n"]),
)
def test_both_cores_show_the_same_of_huge_lines(line: str, count: int, end: str) -> None:
    """Where a line is longer than what is read at once, the same of it is seen."""
    count = min(count, 400_000 // max(1, len(line)))
    assert_same("first\n" + line * count + end, 2_000)


@pytest.mark.parametrize("name", FAILING_OUTPUTS)
@pytest.mark.parametrize("wide", ["", " — é 日 😀 \ud800"], ids=["ascii", "wide"])
def test_both_cores_show_the_same_of_failed_runs(name: str, wide: str) -> None:
    """What tools write when they fail, as ASCII and as other text."""
    text = FAILING_OUTPUTS[name].text(700, 40).replace("\n", wide + "\n")
    for max_bytes in LIMITS_BYTES:
        assert_same(text, max_bytes)


def test_both_cores_show_the_same_of_recorded_logs(corpus: Path) -> None:
    """Every recorded log and output, at every bound."""
    folders = [corpus / "ci_logs", corpus / "tool_outputs"]
    files = [file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file()]
    assert len(files) > 80
    for file in files:
        text = file.read_bytes()[:2_000_000].decode("utf-8", "surrogateescape")
        for max_bytes in LIMITS_BYTES:
            assert_same(text, max_bytes)


@pytest.mark.parametrize("max_bytes", [2**63 - 1, 2**64, 10**30, -(10**30)])
def test_a_bound_of_any_size_is_taken(max_bytes: int) -> None:
    """A bound that is larger than any text shows all of it, one below zero shows nothing."""
    assert_same("a\nb", max_bytes)
