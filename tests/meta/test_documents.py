"""The documents: their Python examples run, the commands they name exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.faults.registry import HARNESSES

PROJECT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = sorted({*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")})
FENCE: Final = re.compile(
    r"^```(\w+)\n(.*?)^```$(?:\n\n^```\n(.*?)^```$)?", re.DOTALL | re.MULTILINE
)
LINK: Final = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
MAKE_COMMAND: Final = re.compile(r"(?:^|[`(])make ([a-z][a-z-]*)", re.MULTILINE)


class Example(NamedTuple):
    """A fenced block of a document, and the block without a language that follows it."""

    language: str
    source: str
    line: int
    output: str | None


def name_of(document: Path) -> str:
    """Return the path of a document from the project's folder on."""
    return document.relative_to(PROJECT).as_posix()


def examples_of(document: Path) -> list[Example]:
    """Read the fenced blocks of a document with a language."""
    text = document.read_text("utf-8")
    return [
        Example(match[1], match[2], text.count("\n", 0, match.start()) + 2, match[3])
        for match in FENCE.finditer(text)
    ]


def run_session(example: Example, namespace: dict[str, object], name: str) -> None:
    """Run an interpreter session and compare what it shows."""
    test = doctest.DocTestParser().get_doctest(
        example.source, namespace, name, name, example.line - 1
    )
    report: list[str] = []
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
        test, out=report.append, clear_globs=False
    )
    assert results.failed == 0, "".join(report)
    namespace.update(test.globs)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_python_examples_run(
    document: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The Python blocks of a document run in order, and print what stands behind them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "example"}
    for example in examples_of(document):
        if example.language == "pycon":
            run_session(example, namespace, document.name)
        elif example.language == "python":
            # Blank lines in front keep the document's line numbers in a traceback.
            source = "\n" * (example.line - 1) + example.source
            capsys.readouterr()
            exec(compile(source, str(document), "exec"), namespace)  # noqa: S102  # our own text
            if example.output is not None:
                assert capsys.readouterr().out == example.output


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_named_make_targets_exist(document: Path) -> None:
    """A document names only targets that ``make help`` lists."""
    makefile = (PROJECT / "Makefile").read_text("utf-8")
    listed = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    named = set(MAKE_COMMAND.findall(document.read_text("utf-8")))
    assert named - listed == set()


def linked_from(document: Path) -> set[Path]:
    """Return the files of the project that a document links to."""
    targets: list[str] = LINK.findall(document.read_text("utf-8"))
    return {(document.parent / target).resolve() for target in targets}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_each_linked_file_exists(document: Path) -> None:
    """A document links to files that are there."""
    assert [path for path in linked_from(document) if not path.exists()] == []


@pytest.mark.parametrize("index", ["docs/README.md", "docs/design/README.md"])
def test_each_page_is_in_the_index_of_its_folder(index: str) -> None:
    """A page that no index names would not be found."""
    path = PROJECT / index
    pages = set(path.parent.glob("*.md")) - {path}
    assert pages - linked_from(path) == set()


def test_each_proof_of_a_guarantee_exists() -> None:
    """The harnesses and tests that the guarantees name are there, and no harness is unnamed."""
    text = (PROJECT / "docs" / "guarantees.md").read_text("utf-8")
    rows = [row for row in text.split("\n## ")[0].splitlines() if row.startswith("| ")][1:]
    proofs = {name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[-1])}
    files = {name for name in proofs if "/" in name}
    assert all(list(PROJECT.glob(name)) for name in files)
    commands = {name for name in proofs if name.startswith("make ")}
    assert proofs - files - commands == set(HARNESSES)
