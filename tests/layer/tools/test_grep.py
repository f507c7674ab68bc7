"""Searching files: what rg would search, 50 lines of it, and how many more there are."""

from __future__ import annotations

import os
import re
from itertools import count
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolbudget import Session, ToolBudgetError, ToolError, ToolInputError, _core
from toolbudget.tools import grep

if TYPE_CHECKING:
    from pathlib import Path

native_only: Final = pytest.mark.skipif(
    _core.NAME != "native", reason="the pure core does not search"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with a few files."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "b.py": "import os\nneedle = 1\r\n",
        "a/z.txt": "needle in z\n",
        "a/y.py": "no\nNEEDLE\nneedle needle\n",
        ".hidden": "needle\n",
        ".ignore": "skipped/\n",
        "skipped/x.txt": "needle\n",
        "last": "needle at the end",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode())
    (tmp_path / "binary").write_bytes(b"needle\n" * 10 + b"\0")
    (tmp_path / "wide.txt").write_bytes("needle in UTF-16\n".encode("utf-16"))
    (tmp_path / "link").symlink_to("last")
    os.mkfifo(tmp_path / "fifo")
    return tmp_path


@pytest.mark.skipif(_core.NAME == "native", reason="the native core does search")
def test_the_pure_core_says_what_is_missing() -> None:
    """Without the native core there is a clear error that names the remedy, not a slow search."""
    with pytest.raises(ToolError, match="searching needs the native core: install a wheel"):
        grep("x")


@native_only
@pytest.mark.usefixtures("folder")
def test_what_is_found() -> None:
    """Lines come by path and number; hidden, ignored, binary and special files are left out."""
    assert grep("needle").text.splitlines() == [
        "a/y.py:3: needle needle",
        "a/z.txt:1: needle in z",
        "b.py:2: needle = 1",
        "last:1: needle at the end",
        "wide.txt:1: needle in UTF-16",
    ]
    assert grep("(?i)^needle$", "a").text == "a/y.py:2: NEEDLE"
    assert grep("needle", "link").text == "link:1: needle at the end"
    assert grep("needle", include_pattern="*.py").hits.files == 2
    assert grep("needle", include_pattern="!*.py").hits.files == 3
    assert grep("nothing").text == "[Nothing matches 'nothing'.]"
    assert grep("nothing").hits.matches == 0


@native_only
def test_a_binary_file_that_is_named_is_said_to_be_one(folder: Path) -> None:
    """Whether it would match or not; in a folder they are left out without a word."""
    for pattern in ("needle", "nothing"):
        for path in ("binary", str(folder / "binary")):
            result = grep(pattern, path)
            assert result.text == f"[A binary file, not searched: {path!r}]"
            assert (result.hits.matches, result.hits.is_binary) == (0, True)
    assert "binary" not in grep("needle").text
    assert grep("nothing", "wide.txt").text == "[Nothing matches 'nothing'.]"


@native_only
def test_paths_are_those_given(folder: Path) -> None:
    """What is shown can be read as it stands."""
    assert grep("z", folder / "a").text == f"{folder}/a/z.txt:1: needle in z"


@native_only
def test_git_ignores(folder: Path) -> None:
    """In a repository what git ignores is left out."""
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_text("*.py\n/last\n")
    assert {line.path for line in grep("needle").hits.lines} == {"a/z.txt", "wide.txt"}


@native_only
def test_fifty_lines_and_how_many_more(folder: Path) -> None:
    """More than 50 matches are counted, and the remedy is named."""
    (folder / "many.txt").write_text("needle\n" * 1_000)
    result = grep("needle", "many.txt")
    lines = result.text.splitlines()
    assert lines[49] == "many.txt:50: needle"
    counted = "[950 more matching lines; there are matches in 1 file. To see less: "
    assert lines[50:] == [counted + "a longer pattern, a path below, or include_pattern.]"]
    (folder / "many.txt").write_text("needle\n" * 50_000)
    assert "[At least 9950 more matching lines" in grep("needle").text


@native_only
def test_a_long_line_is_cut_around_its_match(folder: Path) -> None:
    """A line of 50 MB costs as little to show as any other."""
    (folder / "long.txt").write_bytes(25_000_000 * b"ab" + b"needle" + 1_000 * "é".encode() + b"\n")
    [line] = grep("needle", "long.txt").hits.lines
    assert len(line.text) <= 202
    assert re.fullmatch(r"…[ab]{50}needleé{144}…", line.text)


@native_only
def test_what_cannot_be_sent_is_replaced(folder: Path) -> None:
    """What is no UTF-8 shows as U+FFFD, in paths of any kind too."""
    (folder / "latin.txt").write_bytes(b"caf\xe9 needle\n")
    assert grep("needle", "latin.txt").text == "latin.txt:1: caf\ufffd needle"
    (folder / os.fsdecode(b"n\xe9.txt")).write_bytes(b"unique\n")
    grep("unique").text.encode()


@native_only
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["a("], "invalid pattern at character 1, unclosed group: 'a('"),
        (["é["], "invalid pattern at character 1, unclosed character class: 'é['"),
        (["x" * 9 + "{2,1}"], "invalid pattern at character 9, invalid repetition count range"),
        (["(a{999}){999}"], "invalid pattern, compiled regex exceeds size limit"),
        (["a\nb"], 'invalid pattern, the literal "\\n" is not allowed'),
        ([""], "pattern must be text with at least one character: ''"),
        (["x" * 5_001], "pattern must have at most 5,000 characters, not 5,001: 'xxx"),
        (["\ud800"], "pattern must be free of NUL and lone surrogates: '\\ud800'"),
        (["a", ".", "["], "invalid include_pattern, error parsing glob"),
    ],
)
def test_refused_input(arguments: list[str], complaint: str) -> None:
    """A pattern or glob that is none is an error that says why and where."""
    with pytest.raises(ToolInputError) as caught:
        grep(*arguments)
    assert str(caught.value).startswith(complaint)


@native_only
@pytest.mark.parametrize(
    "longest", ["x{5000}", "(é{50}){100}", "a{2000}(b|c){3000}", "x{0,4999}y", "(x?y+){2500}"]
)
def test_a_pattern_is_no_longer_written_out(folder: Path, longest: str) -> None:
    """Of `x{100000}` a search in a line of 200 KB took minutes, and nothing could stop it."""
    (folder / "long.txt").write_text("x" * 200_000)
    assert not grep(longest + "$").is_error
    complaint = "invalid pattern, with its repetitions it is longer than 5000 characters: "
    with pytest.raises(ToolInputError, match=re.escape(complaint)):
        grep(longest + "z$")


@native_only
@pytest.mark.usefixtures("folder")
def test_paths_that_cannot_be_searched() -> None:
    """What is no file and no folder is an error at once."""
    with pytest.raises(ToolError, match="cannot search, no such file or directory: 'missing'"):
        grep("x", "missing")
    for path in ("fifo", "/dev/zero"):
        with pytest.raises(ToolError, match="cannot search, is a FIFO, socket or device"):
            grep("x", path)


@native_only
@given(
    texts=st.lists(st.text("ab\n\r é", max_size=60), min_size=1, max_size=4),
    pattern=st.sampled_from(["a", "ab", "a+b", "^a", "b$", "[^a]b", "é"]),
)
def test_as_python_finds_it(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], pattern: str
) -> None:
    """The lines that match are those in which Python's own engine finds the pattern."""
    folder = tmp_path_factory.mktemp("tree")
    expected = []
    for number, text in zip(count(), texts, strict=False):
        path = folder / f"{number}.txt"
        path.write_bytes(text.encode())
        for line_number, line in enumerate(text.split("\n"), 1):
            if re.search(pattern.replace("$", r"\Z"), line):
                shown = line.removesuffix("\r")
                expected.append((str(path), line_number, True, shown))
    assert [tuple(line) for line in grep(pattern, folder).hits.lines] == expected[:50]


@native_only
def test_a_defect_of_ours_ends_no_host(folder: Path) -> None:
    """A panic in the search is an exception of ours, and the next search works."""
    from toolbudget._core import _native

    _native._panic_after(1)
    with pytest.raises(ToolBudgetError, match="internal error in the native core"):
        grep("needle", folder)
    assert grep("needle", folder / "last").hits.matches == 1


@native_only
def test_deep_paths_do_not_push_it_over_its_limit(tmp_path: Path) -> None:
    """LOOP: whatever the paths are, what it shows is not stored, and counts say what is missing."""
    folder = tmp_path.joinpath(*["d" * 200] * 4)
    folder.mkdir(parents=True)
    for number in range(40):
        (folder / f"{number}.txt").write_text(f"needle {'x' * 300}\n")
    result = grep("needle", tmp_path)
    lines = result.text.splitlines()
    block = {"type": "tool_result", "tool_use_id": "t", "content": result.text}
    with Session.open(tmp_path / "root", "s", durability="process") as session:
        assert session.gate(block, tool_name="grep") is block
    assert 10 < len(lines) - 1 < 40
    assert lines[-1].startswith(f"[{40 - (len(lines) - 1)} more matching lines; ")


@native_only
def test_no_name_of_a_file_forges_a_line(tmp_path: Path) -> None:
    """A line break in a name is written as two characters."""
    (tmp_path / "a\nb.py:7: forged").write_text("needle\n")
    assert grep("needle", tmp_path).text == f"{tmp_path}/a\\nb.py:7: forged:1: needle"
