"""JSON nested so deeply that no recursion could follow it, wherever JSON comes in."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tests.builders import answer, call, msg, res
from tests.faults.harness import Scale
from tests.faults.measuring import Found
from toolbudget import ContentReplacementState, PrefixGuard, Session, Transcript
from toolbudget.errors import ToolBudgetError
from toolbudget.storage.records import content_replacement, encode_record, header_line

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["CASES"]

_DEPTH: Final = 200_000
_LARGE: Final = "x" * 300_000
_SESSION_ID: Final = "session"


def _nested_lists() -> list[Any]:
    value: list[Any] = []
    for _ in range(_DEPTH):
        value = [value]
    return value


def _nested_objects() -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(_DEPTH):
        value = {"content": value}
    return value


def _nested_json() -> str:
    return "[" * _DEPTH + "]" * _DEPTH


def _messages(deep: object) -> dict[str, list[Any]]:
    """Put a deep value in every place of a message list that a host's data may fill."""
    ask = answer(call("t1", "Fetch"))
    large = msg(res("t1", _LARGE))
    block = {"type": "text", "text": _LARGE}
    return {
        "key of a text block": [ask, msg(res("t1", [{**block, "more": deep}]))],
        "block of a result": [ask, msg(res("t1", [block, deep]))],
        "text of a block": [ask, msg(res("t1", [{"type": "text", "text": deep}]))],
        "content of a result": [ask, msg(res("t1", deep))],
        "key of a result": [ask, msg(res("t1", _LARGE, more=deep))],
        "id of a result": [ask, msg(res("t1", _LARGE) | {"tool_use_id": deep})],
        "content of a message": [ask, {"role": "user", "content": deep}, large],
        "key of a message": [ask, {**large, "more": deep}],
        "key of a record": [ask, {"type": "user", "message": large, "toolUseResult": deep}],
        "input of a call": [answer({**call("t1", "Fetch"), "input": deep}), large],
    }


def _in_messages(root: Path, _scale: Scale) -> Found:
    """The budget and the gate take them, lose nothing, and go on."""
    tries = 0
    for deep in (_nested_lists(), _nested_objects()):
        for place, messages in _messages(deep).items():
            with _opened(root / str(tries)) as session:
                problem = _problem_of_enforce(session, messages)
                problem = problem or _problem_of_gate(session, messages)
            if problem is not None:
                return Found(f"{place}: {problem}")
            tries += 1
    return Found(None, f"{tries} places")


def _problem_of_enforce(session: Session, messages: list[Any]) -> str | None:
    try:
        sent = session.enforce(messages)
    except BaseException as error:  # noqa: BLE001 - nothing at all may come out of it
        return f"enforce raised {type(error).__name__}"
    return None if len(sent) == len(messages) else "messages are missing"


def _problem_of_gate(session: Session, messages: list[Any]) -> str | None:
    inner = messages[-1].get("message", messages[-1])
    if not isinstance(inner["content"], list):
        return None
    block = inner["content"][0]
    try:
        emitted = session.gate(block, tool_name="Fetch")
    except BaseException as error:  # noqa: BLE001 - nothing at all may come out of it
        return f"gate raised {type(error).__name__}"
    return None if list(emitted) == list(block) else "keys are missing"


def _in_transcript(root: Path, _scale: Scale, *, is_own: bool) -> Found:
    """Deep lines cost themselves at most; records around them count."""
    deep = _nested_json()
    frozen = [("t1", len(_LARGE), "0" * 32)]
    record = encode_record(
        content_replacement(session_id=_SESSION_ID, timestamp="t", frozen=frozen)
    )
    lines = [
        f'{{"type":"user","message":{{"role":"user","content":{deep}}}}}',
        f'{{"type":"content-replacement","replacements":{deep}}}',
        f'{{"type":"content-replacement","replacements":[{{"toolUseId":{deep}}}]}}',
        f'{{"type":"us{{"type":"content-replacement","frozen":{deep}}}',
        deep,
        "[" * _DEPTH,
        '{"a":' * _DEPTH,
    ]
    text = "\n".join([*lines, record.decode().rstrip(), *lines, ""])
    header = header_line(_SESSION_ID).decode() if is_own else ""
    root.mkdir()
    path = root / f"{_SESSION_ID}.jsonl"
    path.write_text(header + text, encoding="ascii")
    with _opened(root) as session:
        is_read = "t1" in session.state.seen_ids
        problem = _problem_of_enforce(session, [answer(call("t2", "F")), msg(res("t2", _LARGE))])
    if not is_read:
        return Found("a record between deep lines does not count")
    transcript = Transcript(path)
    counts = (len(list(transcript.messages())), len(list(transcript.records())))
    return Found(problem, f"{2 * len(lines)} lines, {counts[0]} messages read")


def _in_state(_root: Path, _scale: Scale) -> Found:
    """A state nested too deeply is refused by an error of ours."""
    deep = _nested_json()
    texts = (
        deep,
        "[" * _DEPTH,
        '{"a":' * _DEPTH,
        f'{{"version":{deep},"decisions":[],"unapplied":{{}}}}',
        f'{{"version":1,"decisions":[["t1",1,"",{deep}]],"unapplied":{{}}}}',
        f'{{"version":1,"decisions":[],"unapplied":{{"t1":{deep}}}}}',
    )
    for number, text in enumerate(texts):
        try:
            ContentReplacementState.from_json(text)
        except ToolBudgetError:
            continue
        except BaseException as error:  # noqa: BLE001 - nothing else may come out of it
            return Found(f"text {number}: {type(error).__name__}")
        return Found(f"text {number} was taken")
    return Found(None, f"{len(texts)} texts")


def _in_guard(_root: Path, scale: Scale) -> Found:
    """The guard of prefixes takes whatever is sent, and sees what changed beside it."""
    shapes = [_nested_lists()] if scale is Scale.BOUNDED else [_nested_lists(), _nested_objects()]
    requests = [request for deep in shapes for request in _messages(deep).items()]
    for number, (place, messages) in enumerate(requests):
        guard = PrefixGuard(keeps_text=number % 2 == 0)
        try:
            guard.check(messages, given=messages)
            again = guard.check([*messages, msg()], given=messages)
            guard.check_request({"system": shapes[0], "messages": messages})
        except BaseException as error:  # noqa: BLE001 - nothing at all may come out of it
            return Found(f"{place}: {type(error).__name__}")
        if not again.is_intact:
            return Found(f"{place}: not intact: {again}")
    return Found(None, f"{len(requests)} requests")


def _in_commands(root: Path, _scale: Scale) -> Found:
    """Commands end in order, with a line that says what is wrong if anything is."""
    root.mkdir()
    deep = _nested_json()
    large = json.dumps(msg(res("t1", _LARGE)))
    inputs = {
        "body.json": f'{{"system":{deep},"messages":[{large}]}}',
        "messages.json": f'[{large},{{"role":"user","content":{deep}}}]',
        "session.jsonl": f'{large}\n{{"role":"user","content":{deep}}}\n',
        "nothing.json": deep,
        "open.json": "[" * _DEPTH,
    }
    for name, text in inputs.items():
        (root / name).write_text(text, encoding="ascii")
        (root / f"other-{name}").write_text(text.replace("t1", "t2"), encoding="ascii")
        for arguments in (
            ["apply", name, "--root", "applied"],
            ["diff", name, f"other-{name}"],
        ):
            problem = _problem_of_command(root, arguments)
            if problem is not None:
                return Found(f"{arguments[0]} {name}: {problem}")
    return Found(None, f"{2 * len(inputs)} commands")


def _problem_of_command(root: Path, arguments: list[str]) -> str | None:
    command = [sys.executable, "-m", "toolbudget", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1, 2}:
        return f"ended with {done.returncode}"
    if "Traceback" in done.stderr or (done.returncode and not done.stderr + done.stdout):
        return f"ended without a word of ours: {done.stderr[-200:]!r}"
    return None


def _opened(root: Path) -> Session:
    return Session.open(root, _SESSION_ID, durability="process")


CASES: Final[dict[str, Callable[[Path, Scale], Found]]] = {
    "depth in messages": _in_messages,
    "depth in our transcript": partial(_in_transcript, is_own=True),
    "depth in a foreign transcript": partial(_in_transcript, is_own=False),
    "depth in a state": _in_state,
    "depth in the guard": _in_guard,
    "depth in commands": _in_commands,
}
