from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import call, res
from tests.layer.cli.transcripts import assistant, to_lines, user

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.layer.cli.transcripts import Ran

LARGE = 60_000 * "x"


def transcript(numbers: str) -> bytes:
    """Give a transcript whose one result has a block with these numbers beside its text."""
    block = json.dumps({"type": "text", "text": LARGE})[:-1] + f',"numbers":{numbers}}}'
    lines = to_lines(assistant("m1", call("t1", "Fetch")), user(res("t1", ["BLOCK"])))
    return lines.replace(b'"BLOCK"', block.encode())


@pytest.mark.parametrize("numbers", ["[123456789012345678901234567890]", "[0.1,1e300,-0.0,7]"])
def test_numbers_are_stored_as_they_are(
    apply: Callable[..., Ran], tmp_path: Path, numbers: str
) -> None:
    """S1: nothing of structured content is lost on the way to its file, no digit either."""
    (tmp_path / "in.jsonl").write_bytes(transcript(numbers))
    [replaced] = apply(tmp_path / "in.jsonl").report["replaced"]
    stored = json.loads(Path(replaced["path"]).read_text("utf-8"))
    assert stored[0]["numbers"] == json.loads(numbers)


@pytest.mark.parametrize(
    "numbers",
    [
        "[0.10000000000000000001]",
        f"[{5_000 * '1'}]",
        "[1e99999999999999999999]",
    ],
    ids=["fraction", "integer", "exponent"],
)
def test_a_number_that_python_cannot_hold_keeps_its_result(
    apply: Callable[..., Ran], tmp_path: Path, numbers: str
) -> None:
    """S1, G6: rather than lose a digit the result stays in full, and the report says so."""
    data = transcript(numbers)
    (tmp_path / "in.jsonl").write_bytes(data)
    ran = apply(tmp_path / "in.jsonl", "--out", tmp_path / "out.jsonl")
    assert ran.report["replaced"] == []
    assert ran.report["failures"] != []
    assert (tmp_path / "out.jsonl").read_bytes() == data


@pytest.mark.parametrize("depths", [range(980, 1_025), range(1_460, 1_500), range(9_960, 10_000)])
def test_no_depth_costs_a_digit(
    apply: Callable[..., Ran], tmp_path: Path, depths: Sequence[int]
) -> None:
    """S1: each version of Python gives up elsewhere, and some store what they cannot read.

    That is so for another result of the same line, too.
    """
    number = "0.10000000000000000001"
    lines = []
    for depth in depths:
        names = [f"deep-{depth}", f"flat-{depth}"]
        line = to_lines(
            assistant(f"m{depth}", *(call(name, "Fetch") for name in names)),
            user(*(res(name, [{"type": "text", "text": LARGE, "n": name}]) for name in names)),
        )
        deep = depth * "[" + number + depth * "]"
        for name, given in zip(names, [deep, number], strict=True):
            line = line.replace(f'"n": "{name}"'.encode(), f'"n": {given}'.encode())
        lines.append(line)
    (tmp_path / "in.jsonl").write_bytes(b"".join(lines))
    ran = apply(tmp_path / "in.jsonl", "--out", tmp_path / "out.jsonl")
    assert ran.report["replaced"] == []
    assert (tmp_path / "out.jsonl").read_bytes() == b"".join(lines)


def test_the_input_is_never_the_log(run: Callable[..., Ran], tmp_path: Path) -> None:
    """R1: records never go into the input, by whatever path it is named."""
    root = tmp_path / "root"
    root.mkdir()
    header = b'{"type":"toolbudget-session","version":1,"sessionId":"s"}\n'
    lines = to_lines(
        assistant("m1", call("t1", "Fetch"), sessionId="s"),
        user(res("t1", LARGE), sessionId="s"),
    )
    (root / "s.jsonl").write_bytes(header + lines)
    (tmp_path / "link").symlink_to(root)
    runs = [run("apply", "link/s.jsonl", "--root", "root", "--json") for _ in range(2)]
    assert [ran.code for ran in runs] == [0, 0]
    assert (root / "s.jsonl").read_bytes() == header + lines


def test_redirected_input_is_never_the_log(tmp_path: Path) -> None:
    """R1: standard input may be the session's own transcript as well."""
    root = tmp_path / "root"
    root.mkdir()
    header = b'{"type":"toolbudget-session","version":1,"sessionId":"s"}\n'
    data = header + to_lines(user(res("t1", LARGE), sessionId="s"))
    (root / "s.jsonl").write_bytes(data)
    for _ in range(2):
        with (root / "s.jsonl").open("rb") as stream:
            finished = subprocess.run(
                [sys.executable, "-m", "toolbudget", "apply", "-", "--root", root],
                stdin=stream,
                check=False,
            )
        assert finished.returncode == 0
    assert (root / "s.jsonl").read_bytes() == data


@pytest.mark.parametrize("out", ["in.jsonl", "link/in.jsonl", "hard.jsonl"])
def test_the_input_is_never_overwritten(run: Callable[..., Ran], tmp_path: Path, out: str) -> None:
    """F2: not even by force, and by whatever path the output names it."""
    data = transcript("[]")
    (tmp_path / "in.jsonl").write_bytes(data)
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "hard.jsonl").hardlink_to(tmp_path / "in.jsonl")
    ran = run("apply", "in.jsonl", "--root", "root", "--out", out, "--force")
    assert ran.code == 1
    assert "output is the input itself" in ran.err
    assert (tmp_path / "in.jsonl").read_bytes() == data


def test_an_empty_root_is_refused(run: Callable[..., Ran], tmp_path: Path) -> None:
    """L5: an unset variable of a script does not send the results to the user's data folder."""
    (tmp_path / "in.jsonl").write_bytes(transcript("[]"))
    ran = run("apply", "in.jsonl", "--root", "")
    assert ran.code == 2
    assert "--root" in ran.err
