"""The story: the nightly build is red, an agent finds out why and mends it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from examples.nightly import build_logs, service_logs, sources
from examples.nightly.picture import bar_chart
from examples.nightly.project import FAR_NORTH, FOLDER
from examples.nightly.transcript import Chain, Notebook

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["tell"]

_AGENT_ID: Final = "a7c2f1e9"

_RECENT_COMMITS: Final = """\
5d0c9be Update the pinned dependencies (#1874)
c3107aa Show gaps in the station list (#1873)
94be1d2 Name the harbour in surge alerts (#1871)
8f21c6a Keep the names of stations in their script (#1870)
e02f7b5 Write empty buckets as gaps (#1866)"""
_RUNS: Final = """\
#4183  failed   52m07s  main 5d0c9be  2026-03-14T02:31Z
#4182  failed   51m48s  main 5d0c9be  2026-03-13T02:31Z
#4181  passed   54m32s  main 8f21c6a  2026-03-12T02:31Z"""
_WRONG_FIELD: Final = """\
Exit code 1
src/tidewatch/store/rollup.py:141: in roll_up
    bucket = buckets.setdefault(bucket_of(frame.timestamp_msec, step), Bucket())
E   AttributeError: 'Frame' object has no attribute 'timestamp_msec'. Did you mean: 'timestamp_ms'?
3 failed in 0.91s"""
_FINDING: Final = """\
The fixtures are not the cause. All 38 commits to tests/fixtures since January add or trim rows; \
the column `timestamp` has been in milliseconds since the first one, and the replay passes it on \
unchanged. The readings that fail come from the wire, through gaugeframes."""
_FAREWELL: Final = """\
The nightly is red because of gaugeframes 3.3.0, which came in with #1874: `Frame.timestamp` is in \
microseconds now, and `bucket_of` takes milliseconds, so every live reading lands in the year \
58168. I changed the two places that read it to `timestamp_ms`; the 36 tests pass. The fixtures \
were not involved."""


def tell() -> str:
    """Tell the whole story, and give the session file."""
    notebook = Notebook()
    main = Chain(notebook)
    _begin(main)
    _look_around(main)
    _read_failure_log(main)
    _gather_evidence(main)
    _look_at_fixtures(main)
    _send_helper(main)
    _read_changelog(main)
    _mend(main)
    _end(main)
    return notebook.text()


def _begin(main: Chain) -> None:
    notebook = main.notebook
    _take_snapshot(main, {})
    hook = {
        "type": "hook_success",
        "hookName": "SessionStart:startup",
        "hookEvent": "SessionStart",
        "content": "tidewatch: tests run with `make test`, one shard with `make shard N=2`",
        "exitCode": 0,
    }
    main.append({"type": "attachment", "attachment": hook})
    main.ask(
        "The nightly build of tidewatch has been red for two nights, #4181 was the last green "
        "one. Please find out why, and mend it if it is small."
    )
    notebook.write(
        {
            "type": "queue-operation",
            "operation": "enqueue",
            "timestamp": notebook.stamp(),
            "sessionId": notebook.session_id,
            "content": "and tell me whether the new fixtures have to do with it",
        }
    )


def _look_around(main: Chain) -> None:
    turn = main.turn()
    turn.think("Two red nights on the same commit. What came in between, and what does CI say?")
    turn.say("I'll start with what changed and how the builds ended.")
    commits = turn.call("Bash", command="git log --oneline -5", description="Recent commits")
    commits.returns(_RECENT_COMMITS, is_error=False, structured=_bash_output(_RECENT_COMMITS))
    runs = turn.call("mcp__ci__list_runs", workflow="nightly", limit=3)
    runs.returns([_text_block(_RUNS)])


def _read_failure_log(main: Chain) -> None:
    main.append(
        {
            "type": "system",
            "subtype": "api_error",
            "level": "error",
            "error": {"status": 529},
            "retryInMs": 612,
            "retryAttempt": 1,
            "maxRetries": 10,
        }
    )
    turn = main.turn()
    turn.say("Both red runs are on 5d0c9be. Let me read the failures of #4183.")
    call = turn.call("Bash", command="ci logs 4183 --failed", description="Failures of #4183")
    call.reports(type="bash_progress", output="fetching 6 shards", elapsedTimeSeconds=2)
    log = build_logs.failure_log()
    call.returns(log, is_error=False, structured=_bash_output(log))


def _gather_evidence(main: Chain) -> None:
    """Eight calls at once: none is over its own limit, together they are far over the budget."""
    turn = main.turn()
    turn.think("A year far in the future: a unit is wrong somewhere between wire and rollup.")
    turn.say("Every failure ends in the year 58168. I'll gather the evidence in parallel.")
    field = turn.call("Grep", pattern="timestamp", output_mode="content")
    seen = turn.call("Grep", pattern="observed_at", output_mode="content")
    seen.returns(sources.grep_hits("observed_at", max_chars=18_300))
    second = turn.call("mcp__ci__get_job_log", run=4183, shard=2)
    journal = turn.call("Bash", command="ci artifact 4183 replay.journal")
    field.returns(sources.grep_hits("timestamp", max_chars=19_800))
    journal.reports(type="bash_progress", output="", elapsedTimeSeconds=3)
    alerts = turn.call("mcp__ci__get_job_log", run=4183, shard="alerts-ja")
    rollup = turn.call("Bash", command="ci artifact 4183 rollup.jsonl")
    alerts.returns([_text_block(service_logs.alert_log(max_chars=48_000))])
    rollup.returns(service_logs.rollup_events(max_chars=28_200), is_error=False)
    fifth = turn.call("mcp__ci__get_job_log", run=4183, shard=5)
    sequence = turn.call("Grep", pattern="sequence", path="src", output_mode="content")
    fifth.returns(
        [_text_block(build_logs.job_log(5, max_chars=44_600, stations=FAR_NORTH))],
    )
    main.append(
        {
            "type": "attachment",
            "attachment": {
                "type": "queued_command",
                "prompt": "and tell me whether the new fixtures have to do with it",
            },
        }
    )
    journal.returns(service_logs.replay_journal(max_chars=29_500), is_error=False)
    second.returns(build_logs.job_log(2, max_chars=48_900))
    sequence.returns(sources.grep_hits("sequence", max_chars=11_700))


def _look_at_fixtures(main: Chain) -> None:
    turn = main.turn()
    turn.say("Now the fixtures, the duration chart and the test report of shard 2.")
    fixture = turn.call("Read", file_path=f"{FOLDER}/tests/fixtures/march.csv")
    chart = turn.call("Read", file_path=f"{FOLDER}/build/nightly-duration.png")
    page = turn.call("mcp__browser__screenshot", url="https://ci.tidewatch.example/nightly")
    report = turn.call("mcp__ci__get_artifact", run=4183, name="junit-2.xml")
    chart.returns([_image_block("duration")])
    page.returns([_text_block("Nightly, last 30 runs: 28 green, 2 red"), _image_block("dashboard")])
    fixture.returns(service_logs.fixture_rows(max_chars=64_000))
    report.returns(
        [
            {
                **_text_block(build_logs.junit_report(max_chars=53_000)),
                "cache_control": {"type": "ephemeral"},
            }
        ]
    )


def _send_helper(main: Chain) -> None:
    prompt = "Has the unit of the column `timestamp` in tests/fixtures ever changed?"
    turn = main.turn()
    turn.say("The column looks right. A helper can read its history while I go on.")
    call = turn.call("Agent", description="History of the fixtures", prompt=prompt)
    helper = Chain(main.notebook, agent_id=_AGENT_ID)
    helper.ask(prompt)
    first = helper.turn()
    history = first.call("Bash", command="git log --stat -- tests/fixtures")
    columns = first.call("Grep", pattern="level_mm", path="tests/fixtures")
    call.reports(type="agent_progress", agentId=_AGENT_ID, message="2 tool uses")
    columns.returns(sources.grep_hits("level_mm", max_chars=9_400))
    call.reports(type="agent_progress", agentId=_AGENT_ID, message="3 tool uses")
    main.notebook.tear_last()
    history.returns(sources.commit_history(max_chars=38_000), is_error=False)
    helper.turn().say(_FINDING)
    blocks = [
        _text_block(_FINDING),
        _text_block(f"agentId: {_AGENT_ID}\ntool uses: 2, duration: 41 s"),
    ]
    call.returns(
        blocks,
        structured={"status": "completed", "agentId": _AGENT_ID, "content": blocks},
    )


def _read_changelog(main: Chain) -> None:
    turn = main.turn()
    turn.think("Not the fixtures. #1874 updated gaugeframes from 3.2.4 to 3.3.0.")
    call = turn.call(
        "WebFetch",
        url="https://gaugeframes.example/changes",
        prompt="What changed in 3.3.0?",
    )
    call.returns(sources.changelog_page(max_chars=57_500))


def _mend(main: Chain) -> None:
    path = f"{FOLDER}/src/tidewatch/store/rollup.py"
    turn = main.turn()
    turn.say("There it is: 3.3.0 reports microseconds. Let me see where we read the field.")
    excerpt = sources.ROLLUP_EXCERPT
    turn.call("Read", file_path=path, offset=88, limit=12).returns(
        excerpt,
        structured={"type": "text", "file": {"filePath": path, "content": excerpt, "numLines": 12}},
    )
    for field, outcome, is_error in (
        ("timestamp_msec", _WRONG_FIELD, True),
        ("timestamp_ms", "36 passed in 12.06s", False),
    ):
        turn = main.turn()
        edit = turn.call("Edit", file_path=path, old_string="timestamp", new_string=field)
        edit.returns(f"The file {path} has been updated.")
        _take_snapshot(main, {path: {"version": 1}})
        turn = main.turn()
        test = turn.call("Bash", command="make test-failed RUN=4183")
        test.returns(outcome, is_error=is_error)
    turn = main.turn()
    check = turn.call("Bash", command="git diff --check", description="White space errors")
    check.returns("", is_error=False, structured=_bash_output(""))


def _end(main: Chain) -> None:
    main.turn().say(_FAREWELL)
    main.append(
        {
            "type": "system",
            "subtype": "stop_hook_summary",
            "hookCount": 1,
            "hookInfos": [{"command": "make format", "durationMs": 840}],
            "hookErrors": [],
            "preventedContinuation": False,
            "hasOutput": False,
            "level": "suggestion",
        }
    )
    main.append({"type": "system", "subtype": "turn_duration", "durationMs": 268_000})


def _take_snapshot(main: Chain, backups: Mapping[str, object]) -> None:
    message_id = main.notebook.new_uuid()
    snapshot = {
        "messageId": message_id,
        "trackedFileBackups": backups,
        "timestamp": main.notebook.stamp(),
    }
    main.notebook.write(
        {
            "type": "file-history-snapshot",
            "messageId": message_id,
            "snapshot": snapshot,
            "isSnapshotUpdate": bool(backups),
        }
    )


def _bash_output(stdout: str) -> dict[str, object]:
    return {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False}


def _text_block(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def _image_block(seed: str) -> dict[str, object]:
    source = {"type": "base64", "media_type": "image/png", "data": bar_chart(seed)}
    return {"type": "image", "source": source}
