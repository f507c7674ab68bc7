"""Names of languages, and guesses."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from hypothesis import given

from tests.strategies.texts import any_text
from toolbudget import ConfigError
from toolbudget.pruning import LANGUAGES, guess_language, language_of_path, resolve_language

PROJECT: Final = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("name", "language"),
    [
        *[(language, language) for language in LANGUAGES],
        *[(".tsx", "tsx"), ("py", "python"), (".PY", "python"), (" Go ", "go"), ("C++", "cpp")],
        *[("c#", "csharp"), (".h", "cpp"), ("rs", "rust"), ("kt", "kotlin"), ("sh", "bash")],
        *[("mjs", "javascript"), ("rb", "ruby"), ("ts", "typescript"), ("golang", "go")],
    ],
)
def test_a_language_goes_by_several_names(name: str, language: str) -> None:
    """Names, aliases and suffixes, in any case."""
    assert resolve_language(name) == language


@pytest.mark.parametrize("name", ["", ".", "python2000", "md", None, 3, b"py"])
def test_what_names_no_language_is_an_error(name: object) -> None:
    """The message names the argument and the value."""
    with pytest.raises(ConfigError, match=r"language \(argument\) must be"):
        resolve_language(name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("a/b/c.py", "python"), (Path("x.test.tsx"), "tsx"), ("X.RS", "rust"), ("Rakefile", "ruby"),
        ("readme.md", None), ("py", None), ("", None), ("a.py/b", None), (".bashrc", "bash"),
    ],
)  # fmt: skip
def test_a_path_tells_the_language_by_its_name(path: str | Path, language: str | None) -> None:
    """The last suffix counts, or a name that some files have."""
    assert language_of_path(path) == language


@pytest.mark.parametrize("path", [None, 5, ["a.py"]])
def test_what_is_no_path_is_an_error(path: object) -> None:
    """The message names the argument."""
    with pytest.raises(ConfigError, match=r"path \(argument\) must be a path"):
        language_of_path(path)  # type: ignore[arg-type]


@given(text=any_text())
def test_a_guess_is_a_known_language_or_none_and_always_the_same(text: str) -> None:
    """Any text gives an answer."""
    assert guess_language(text) in {*LANGUAGES, None}
    assert guess_language(text) == guess_language(text)


def test_nearly_all_real_files_are_guessed() -> None:
    """Of the Python and Rust files of this project, 19 of 20 with some lines are recognised."""
    files = [*(PROJECT / "python").rglob("*.py"), *(PROJECT / "rust").rglob("src/**/*.rs")]
    texts = {path: path.read_text("utf-8") for path in files}
    long_enough = {path: text for path, text in texts.items() if text.count("\n") > 30}
    right = [
        path for path, text in long_enough.items() if guess_language(text) == language_of_path(path)
    ]
    assert len(right) * 20 >= len(long_enough) * 19


FENCE = "```text\nhow it is used\n```\n"
RUST = 'use std::fmt;\n\npub fn shown(value: u8) -> String {\n    format!("{value}")\n}\n' * 3
PYTHON = "import os\n\n\ndef shown(value):\n    return os.fspath(value)\n" * 3


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (f"/*!\n{FENCE}*/\n{RUST}", "rust"),
        (f'"""Shows.\n\n{FENCE}"""\n{PYTHON}', "python"),
        (f"{PYTHON * 3}r'''\n{FENCE}" + "and so on\n" * 9_000, "python"),
        (f"# How to\n\n{FENCE}\n{PYTHON}", None),
        (f"```python\n{PYTHON}```\n", None),
        (f"```rust\n/* shows */\n{RUST}```\n", None),
    ],
)
def test_documentation_in_source_text_may_quote_code(text: str, language: str | None) -> None:
    """A comment with an example leaves source text what it is, a document with code too."""
    assert guess_language(text) == language


def test_recorded_logs_are_no_source_text(corpus: Path) -> None:
    """Logs of builds, which quote code, are not taken for code."""
    logs = sorted((corpus / "ci_logs").glob("*.log"))
    taken = [log.name for log in logs if guess_language(log.read_text("utf-8", "replace"))]
    assert len(taken) * 50 <= len(logs)


@pytest.mark.parametrize("blank", [" ", "\n"])
def test_a_run_of_blanks_hides_no_code(blank: str) -> None:
    """What it costs is held by ``benches/growth.py``."""
    head = "interface Shop {\n  name: string;\n}\n" * 9
    assert guess_language(f"{head}return {blank * 30_000}x") == "typescript"
