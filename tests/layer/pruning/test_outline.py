"""Outlines of source code: what is shown, what is left out, and when the text is cut instead."""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.pruning.samples import SAMPLES
from tests.strategies.texts import any_text
from toolbudget import ConfigError
from toolbudget.pruning import LANGUAGES, outline_code, truncate_tool_result

PROJECT: Final = Path(__file__).parents[3]
STANDARD_LIBRARY: Final = Path(sysconfig.get_path("stdlib"))
REAL_FILES: Final = sorted(
    [
        *(PROJECT / "python" / "toolbudget" / "storage").glob("[!_]*.py"),
        *(STANDARD_LIBRARY / f"{name}.py" for name in ("argparse", "ast", "typing", "enum", "ssl")),
    ]
)
DEFINITION: Final = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(body: list[ast.stmt], depth: int = 0) -> list[tuple[int, int, str]]:
    """List line, depth and name of what Python's own parser finds outside of functions."""
    found: list[tuple[int, int, str]] = []
    for node in body:
        if isinstance(node, DEFINITION):
            line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.append((line, depth, node.name))
        if isinstance(node, ast.ClassDef):
            found += definitions(node.body, depth + 1)
        if isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for name in ("body", "orelse", "finalbody"):
                found += definitions(getattr(node, name, []), depth)
            for handler in getattr(node, "handlers", []):
                found += definitions(handler.body, depth)
    return sorted(found)


def shown_definitions(outline: str) -> list[tuple[int, int, str]]:
    """Read the same from an outline."""
    found: list[tuple[int, int, str]] = []
    for line in outline.splitlines()[1:]:
        match = re.match(r"(\d+)(?:-\d+)? *", line)
        assert match is not None
        name = re.search(r"(?:^|\s)(?:async def|def|class) (\w+)", line)
        width = len(re.match(r"[\d-]+ +", outline.splitlines()[1])[0])  # type: ignore[index]
        if name:
            indent = len(line[width:]) - len(line[width:].lstrip())
            found.append((int(match[1]), indent // 2, name[1]))
    return sorted(found)


@pytest.mark.parametrize("path", REAL_FILES, ids=lambda path: path.name)
def test_it_shows_each_definition_of_a_real_file(path: Path) -> None:
    """Python's own parser finds the same classes and functions, in the same lines, as nested."""
    text = path.read_text("utf-8")
    outline = outline_code(text, "python", max_size=10_000_000)
    assert len(outline) < len(text)
    assert shown_definitions(outline) == definitions(ast.parse(text).body)


def test_a_broken_text_says_which_lines_are_not_understood() -> None:
    """What is before and behind the damage is shown, and the first line of the damage named."""
    good = "def before():\n" + "    pass\n" * 100
    text = good + "class )( broken:\n" + good.replace("before", "behind")
    outline = outline_code(text, "python")
    assert "def before()" in outline
    assert "def behind()" in outline
    assert re.search(r"not understood: line 10[123]\b", outline.splitlines()[0])


@pytest.mark.parametrize("text", ["", "x", "# only a comment\n" * 500, "no code at all, " * 800])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_that_declares_nothing_is_cut(text: str, language: str) -> None:
    """Without a declaration the result is that of X1."""
    assert outline_code(text, language, max_size=1_000) == truncate_tool_result(text, 1_000)


def test_a_text_that_its_outline_would_not_shorten_stays() -> None:
    """A few lines are shown as they are."""
    assert outline_code("def f(): ...\n", "python") == "def f(): ...\n"


@given(
    head=any_text(),
    sample=st.sampled_from(SAMPLES),
    tail=any_text(),
    language=st.sampled_from(LANGUAGES),
    max_size=st.integers(1, 3_000),
)
def test_any_text_in_any_language_gives_a_result_within_its_size(
    head: str, sample: tuple[str, str], tail: str, language: str, max_size: int
) -> None:
    """Nothing raises, nothing gets longer, an outline keeps to its size, and it can be sent."""
    text = head + sample[1] + tail
    result = outline_code(text, language, max_size=max_size)
    assert len(result) <= len(text)
    if result != truncate_tool_result(text, max_size):
        assert len(result) <= max_size
        assert "\0" not in result
        result.encode()
    assert result == outline_code(text, language, max_size=max_size)


def test_it_leaves_out_the_less_important_where_room_is_short() -> None:
    """Types and functions outside of types come before what is inside; the head counts the rest."""
    methods = "".join(f"    def method_{n}(self):\n        pass\n" for n in range(300))
    text = f"import os\nimport re\nclass First:\n{methods}class Second:\n{methods}"
    lines = outline_code(text, "python", max_size=1_000).splitlines()
    assert sum(map(len, lines)) + len(lines) - 1 <= 1_000
    assert "import os; import re" in lines[1]
    assert [line for line in lines if "class " in line] == [
        "3-603    class First",
        "604-1204 class Second",
    ]
    methods_shown = sum("def method_" in line for line in lines)
    assert 0 < methods_shown < 600
    assert f"{600 - methods_shown} functions" in lines[0]


def test_what_is_private_comes_after_what_is_public() -> None:
    """Names that begin with an underscore are left out first."""
    text = "".join(f"def {'_' * (n % 2)}f{n}():\n    return {n}\n" for n in range(100))
    shown = outline_code(text, "python", max_size=700)
    assert "def f" in shown
    assert "def _f" not in shown


def test_a_long_signature_is_cut() -> None:
    """At most 200 characters of a signature are shown, and a sign says that it goes on."""
    text = f"def f({', '.join(f'argument_{n}' for n in range(1_000))}):\n    pass\n"
    line = outline_code(text, "python").splitlines()[1]
    assert line.startswith("1-2 def f(argument_0, argument_1")
    assert line.endswith("…")
    assert len(line) == len("1-2 ") + 200


def test_of_a_very_long_text_the_beginning_is_outlined() -> None:
    """The head says how many lines were looked at."""
    text = "".join(f"def f{n}(a):\n    return {n} * a\n" for n in range(100_000))
    head, *lines = outline_code(text, "python").splitlines()
    match = re.search(r"only the first ([\d,]+) lines are outlined", head)
    assert match is not None
    parsed_lines = int(match[1].replace(",", ""))
    assert parsed_lines < 200_000
    assert len("\n".join(text.split("\n")[:parsed_lines])) < 2_000_000
    assert lines[0].split() == ["1-2", "def", "f0(a)"]


def test_an_unknown_language_is_an_error_that_lists_the_known_ones() -> None:
    """The message names the argument, the value and what may be named."""
    with pytest.raises(ConfigError) as caught:
        outline_code("x", "cobol")
    assert str(caught.value).startswith("language (argument) must be one of bash, c, cpp, csharp,")
    assert str(caught.value).endswith("'cobol'")


@pytest.mark.parametrize("missing", ["tree_sitter", "tree_sitter_go"])
def test_without_the_extra_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """Nothing is guessed where the parser is missing."""
    from toolbudget.pruning import _syntax, outline_preview

    _syntax._load.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigError, match=rf"extra 'code'.*toolbudget\[code\].*{missing}"):
        outline_code("package main\n", "go")
    assert outline_preview("package main\n\nfunc main() {\n}\n" * 100, 2_000) is None
    _syntax._load.cache_clear()
