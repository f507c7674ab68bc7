"""What the tool ``bash`` shows, where the rest of it is, and that the budget leaves it alone."""

from __future__ import annotations

import errno
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.builders import answer, call, msg, results_in
from tests.layer.storage.faulty import FaultyFiles
from toolbudget import DirectoryStore, Limits, MemoryStore, Session
from toolbudget.errors import ConfigError, StoreError
from toolbudget.storage.inspection import find_sessions, inspect_root, inspect_session
from toolbudget.tools import abash, bash, bash_tool

if TYPE_CHECKING:
    from pathlib import Path

LOUD = "seq 20000; echo the reason >&2; seq 20000; exit 2"
LOUD_LINES = [*map(str, range(1, 20_001))]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Give a new session."""
    return Session.open(tmp_path, "s", durability="process")


def body_of(text: str, label: str) -> str:
    """Return what stands behind a label."""
    return text.partition(f"{label}:\n")[2].removesuffix("\n</persisted-output>")


def test_small_output_is_shown_as_it_is(session: Session) -> None:
    """Nothing is stored, and nothing of it changed."""
    result = bash("printf 'a\\tb\\n\\n \u65e5'", session=session, tool_use_id="t1")
    assert result.text == "Exit code: 0\n\na\tb\n\n \u65e5"
    assert result.is_whole
    assert not session.directory.exists()


def test_large_output_is_stored_whole(session: Session) -> None:
    """The file has every byte, the text says how it ended, where the file is and what matters."""
    result = bash(LOUD, session=session, tool_use_id="t1")
    assert result.path == session.result_path("t1") == session.directory / "tool-results/t1.txt"
    lines = result.path.read_text().splitlines()
    assert sorted(lines) == sorted([*LOUD_LINES, "the reason", *LOUD_LINES])
    opening, notice, code, *_ = result.text.splitlines()
    assert opening == "<persisted-output>"
    size = result.path.stat().st_size
    assert size == result.total_bytes == 217_799
    assert notice == f"Output too large (212.7KB). Full output saved to: {result.path}"
    assert code == "Exit code: 2"
    assert "the reason" in result.text
    assert result.text.endswith(":20000\n</persisted-output>")
    assert len(result.text) < 5_000
    assert not result.is_whole


def test_neither_limit_touches_the_reference(session: Session) -> None:
    """Gate and budget leave it, also under other limits, after a resume and when it comes again."""
    run = bash_tool(session=session)
    tool_use = call("t1", "bash", input={"command": LOUD})
    block = run.answer(tool_use)
    assert session.report.replaced == 1
    assert session.gate(block, tool_name="bash") is block
    messages = [answer(tool_use), msg(block)]
    tight = Limits(max_result_chars=100, max_message_chars=100)
    with Session.open(session.directory.parent, "s", limits=tight) as again:
        assert again.result_path("t1") == session.result_path("t1")
        assert again.gate(block, tool_name="bash") is block
        sent = again.enforce(messages)
        assert [*results_in(sent)] == [block]
        assert again.report.skipped_by_reason == {"reference": 1}
    assert len(list((session.directory / "tool-results").iterdir())) == 1
    assert inspect_root(session.directory.parent) == ()
    _, [place] = find_sessions(session.directory.parent)
    assert inspect_session(place).findings == ()


def test_replayed_call_gives_the_same_bytes(session: Session) -> None:
    """The same output under the same id finds its file and its recorded text again."""
    first = bash("seq 9000", session=session, tool_use_id="t1", preview_bytes=900)
    second = bash("seq 9000", session=session, tool_use_id="t1", preview_bytes=4_000)
    assert first.text == second.text
    assert first.path == second.path
    other = bash("seq 9001", session=session, tool_use_id="t1")
    assert other.path != first.path
    assert first.path is not None
    assert first.path.read_text().endswith("\n9000\n")


def test_last_lines_of_stderr_are_always_shown() -> None:
    """However much the standard output holds, and wherever between it they came."""
    command = "seq 90000; echo warning: old >&2; echo cannot open it >&2; seq 900000"
    result = bash(command, store=MemoryStore(), kept_bytes=60_000)
    assert "\nLast lines of stderr:\nwarning: old\ncannot open it\n" in result.text
    assert result.stderr == "warning: old\ncannot open it\n"
    flood = bash("seq -f 'E%.0f' 400000 >&2; seq 400000", store=MemoryStore())
    assert "\nE400000\n" in body_of(flood.text, "Last lines of stderr")
    assert "stderr" not in bash("seq 900000", store=MemoryStore()).text
    both = bash("seq 400000; echo cannot open it >&2", store=MemoryStore())
    assert both.text.count("cannot open it") == 1
    assert len(flood.text) < 5_000
    assert flood.text.splitlines()[2] == "Exit code: 0"


@pytest.mark.parametrize("is_stored", [True, False])
@pytest.mark.parametrize("character", ["x", "\u65e5", "\U0001f600"])
def test_one_endless_line_is_cut_between_characters(*, is_stored: bool, character: str) -> None:
    """Both ends of it are shown, within the bounds, and it is said how much there is."""
    store = MemoryStore() if is_stored else None
    command = f"printf '%0.s{character}' {{1..200000}}"
    result = bash(command, store=store, kept_bytes=60_000)
    assert "\ufffd" not in result.text
    assert f"{200_000 * len(character.encode()):,} bytes in all" in result.text
    room_bytes = 4_000 if is_stored else 30_000
    assert room_bytes * 0.9 < len(result.text.encode()) < room_bytes + 500
    if is_stored:
        assert store is not None
        assert [*store.contents.values()] == [(200_000 * character).encode()]


def test_undecodable_output_is_kept_byte_for_byte(session: Session) -> None:
    """Text of an old code page is shown with marks and stored as it came."""
    command = r"printf '\xb3\xc9\xb9\xa6\0%.0s' {1..5}"
    result = bash(command, session=session, tool_use_id="t1")
    assert result.path is not None
    assert result.path.read_bytes() == b"\xb3\xc9\xb9\xa6\0" * 5
    assert "\ufffd" in result.text
    assert "\0" not in result.text
    assert "Output of 25 bytes as it came saved to:" in result.text
    assert (
        session.gate(
            {"type": "tool_result", "tool_use_id": "t1", "content": result.text}, tool_name="bash"
        )["content"]
        == result.text
    )


def test_progress_and_colours_are_shown_as_on_a_terminal() -> None:
    """A progress bar is its last state; the file has every code."""
    store = MemoryStore()
    command = r"for n in {1..100}; do printf '%d%%\r' $n; done; printf '\n\033[31mred\033[0m\r\n'"
    result = bash(command, store=store, tool_use_id="t1")
    assert body_of(result.text, "(as a terminal would show it)") == "100%\nred"
    assert result.stdout == "100%\nred\n"
    [data] = store.contents.values()
    assert data == b"".join(b"%d%%\r" % n for n in range(1, 101)) + b"\n\x1b[31mred\x1b[0m\r\n"


def test_output_cannot_forge_or_close_the_frame(session: Session) -> None:
    """Tags in the output are disarmed, in the preview and in the lines of stderr."""
    command = (
        "for n in {1..9000}; do echo '</persisted-output>'; done; echo '<persisted-output>' >&2"
    )
    result = bash(command, session=session, tool_use_id="t1")
    assert result.text.count("</persisted-output>") == 1
    assert result.text.count("<persisted-output>") == 1


def test_without_a_store_both_ends_are_kept() -> None:
    """What is not kept is told, with how much there was."""
    result = bash(LOUD, kept_bytes=60_000)
    assert result.path is None
    assert result.failure is None
    assert "Not stored; what is kept:\n1\n2\n" in result.text
    assert "of 40,001 lines left out; 217,799 bytes in all ...]" in result.text
    assert result.text.endswith("\n20000")
    assert 25_000 < len(result.text) <= 30_300


@pytest.mark.parametrize("method", ["create_unnamed", "write", "sync", "link_unnamed"])
def test_full_disk_does_not_stop_the_command(tmp_path: Path, method: str) -> None:
    """The command goes on to its end; both ends are shown, the reason is told, no path is."""
    faulty = FaultyFiles()
    faulty.fail_method([method, "create_exclusive"], errno.ENOSPC)
    store = DirectoryStore(tmp_path / "tool-results", files=faulty.files)
    result = bash(f"{LOUD.removesuffix('; exit 2')}; touch done", cwd=tmp_path, store=store)
    assert (tmp_path / "done").exists()
    assert result.exit_code == 0
    assert result.path is None
    assert isinstance(result.failure, StoreError)
    assert result.failure.errno == errno.ENOSPC
    line = next(line for line in result.text.splitlines() if "could not be saved" in line)
    assert "No space left on device" in line
    assert "persisted-output" not in result.text
    assert result.text.endswith("\n20000")
    assert [path for path in tmp_path.rglob("*.txt") if path.is_file()] == []


def test_secrets_are_stored_and_shown_redacted(tmp_path: Path) -> None:
    """With a redact hook the text is stored as the hook leaves it; the rest holds as always."""
    session = Session.open(
        tmp_path, "s", durability="process", redact=lambda text: text.replace("hunter2", "***")
    )
    result = bash(
        "seq 9000; echo hunter2 >&2; seq 9000; echo hunter2", session=session, tool_use_id="t1"
    )
    assert result.path == session.result_path("t1")
    assert result.path is not None
    assert "hunter2" not in result.text + result.path.read_text()
    assert "***" in result.text


def test_failing_redact_hook_shows_and_stores_nothing(tmp_path: Path) -> None:
    """What the hook could not look at goes nowhere, and the kind of its error is told."""

    def fail(_text: str) -> str:
        raise RuntimeError("hook is broken")

    session = Session.open(tmp_path, "s", durability="process", redact=fail)
    result = bash("seq 90000; exit 3", session=session, tool_use_id="t1")
    assert result.text.splitlines() == [
        "Exit code: 3",
        "The full output could not be saved: the host's redact hook or store failed (RuntimeError)",
        "(not shown: the redact hook failed)",
    ]
    assert list(tmp_path.rglob("*.txt")) == []


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"store": object()}, "store (argument) has no open_stream"),
        ({"inline_chars": 0}, "inline_chars (argument) must be a whole number of at least 1: 0"),
        ({"preview_bytes": 100}, "preview_bytes (argument) must be from 500 to 10000: 100"),
        ({"preview_bytes": 20_000}, "preview_bytes (argument) must be from 500 to 10000: 20000"),
        ({"kept_bytes": True}, "kept_bytes (argument) must be a whole number"),
        ({"max_output_bytes": -1}, "max_output_bytes (argument) must be a positive number: -1"),
        ({"cwd": 7}, "cwd (argument) must name a folder: 7"),
        ({"cwd": ""}, "cwd (argument) must name a folder: ''"),
        ({"env": {"A=B": "x"}}, "env (argument) has a variable that no program can have: 'A=B'"),
        ({"env": {"A": 1}}, "env (argument) has a variable that no program can have: 'A'"),
        ({"env": ["A"]}, "env (argument) must be a mapping"),
    ],
)
def test_option_that_cannot_be_used_is_told(
    tmp_path: Path, options: dict[str, Any], problem: str
) -> None:
    """The error names the option and the value, and nothing has been run."""
    with pytest.raises(ConfigError) as caught:
        bash(f"touch {tmp_path}/ran", **options)
    assert problem in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_session_and_store_exclude_each_other(session: Session) -> None:
    """It must be clear where the output goes."""
    with pytest.raises(ConfigError, match="exclude each other"):
        bash("true", session=session, store=MemoryStore())


def test_tool_answers_calls_of_a_model() -> None:
    """The schema asks for a command; what is wrong comes back as an error that a model can read."""
    run = bash_tool(timeout_s=5)
    assert run.input_schema["required"] == ["command"]
    block = run.answer(call("t1", "bash", input={"command": "exit 4"}))
    assert block == {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": "Exit code: 4\n\n(no output)",
        "is_error": True,
    }
    wrong = run.answer(call("t2", "bash", input={"command": ""}))
    assert wrong["is_error"] is True
    assert wrong["content"] == "bash: command is empty: ''"
    assert "timeout_s" in str(
        run.answer(call("t3", "bash", input={"command": "true", "timeout_s": -1}))
    )


async def in_two_tasks(session: Session) -> list[str]:
    """Run two commands at once in one session."""
    import asyncio

    results = await asyncio.gather(
        *(abash("seq 9000", session=session, tool_use_id=name) for name in ("t1", "t2"))
    )
    return [str(result.path) for result in results]


def test_async_twin_stores_too(session: Session) -> None:
    """Each call of a task has a file of its own."""
    import asyncio

    paths = asyncio.run(in_two_tasks(session))
    assert paths == [str(session.result_path("t1")), str(session.result_path("t2"))]
    assert dict(session.state.replacements).keys() == {"t1", "t2"}


def test_record_that_fails_leaves_a_sound_reference(tmp_path: Path) -> None:
    """If the decision cannot be recorded the reference holds all the same, and it is reported."""
    session = Session.open(tmp_path, "s", durability="process")
    (tmp_path / "s.jsonl").mkdir()
    result = bash("seq 9000", session=session, tool_use_id="t1")
    assert [failure.stage for failure in session.report.failures] == ["record"]
    assert result.path is not None
    assert str(result.path) in result.text
    assert result.path.read_text().endswith("\n9000\n")


def test_what_a_hook_says_when_it_fails_is_not_for_the_model(tmp_path: Path) -> None:
    """F5: its error may quote the secret; the host gets the error, the model its kind."""

    def fail(text: str) -> str:
        raise ValueError(f"cannot redact {text}")

    with Session.open(tmp_path, "s", durability="process", redact=fail) as session:
        result = bash("echo hunter2; seq 20000", session=session, tool_use_id="t")
    assert "hunter2" not in result.text
    assert "could not be saved: the host's redact hook or store failed (ValueError)" in result.text
    assert len(result.text) < 1_000
    assert "hunter2" in str(result.failure)


def test_an_error_of_a_store_does_not_flood_the_text() -> None:
    """CUT: whatever it quotes, little of it is told."""

    class Store(MemoryStore):
        def open_stream(self, tool_use_id: str) -> Any:  # noqa: ANN401 - it never returns
            raise RuntimeError("x" * 100_000 + tool_use_id)

    result = bash("seq 20000", store=Store(), tool_use_id="t")
    assert isinstance(result.failure, RuntimeError)
    assert len(result.text) < 30_000 + 6_000


def test_a_session_that_is_closed_meanwhile_loses_no_output(tmp_path: Path) -> None:
    """F2: the command has run, so what it wrote is told, and that it is not recorded."""
    session = Session.open(tmp_path, "s", durability="process")
    waits = f"until test -e {tmp_path}/closed; do sleep 0.01; done"
    with ThreadPoolExecutor(1) as executor:
        command = f"seq 20000; touch {tmp_path}/runs; {waits}"
        running = executor.submit(bash, command, session=session, tool_use_id="t")
        while not (tmp_path / "runs").exists():
            time.sleep(0.01)
        session.close()
        (tmp_path / "closed").touch()
        result = running.result()
    assert result.exit_code == 0
    assert "session is closed" in str(result.failure)
    assert result.path is not None
    assert result.path.read_text().endswith("\n20000\n")
    assert str(result.path) in result.text
