"""What else is shown inside a frame, or looks like one: paths, hints, names, redacted text."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from tests.builders import is_reference, msg, res
from tests.faults.breakouts import LARGEST_REFERENCE_CHARS
from tests.faults.frame_oracle import Expected, fold, problem_of
from toolbudget import ConfigError, DirectoryStore, Limits, Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.faults.breakouts import Content

__all__ = ["settings_tried"]

_TAGS: Final = (
    "<persisted-output>",
    "</persisted-output>",
    "</PERSISTED-Output>",
    "<persisted-output path='x'>",
    "</persisted-output",
    "</per\u017fi\u017fted-output>",
)
_LIMITS: Final = Limits(max_result_chars=1_000, max_message_chars=1_000, preview_bytes=200)
_LARGE: Final = "x" * (LARGEST_REFERENCE_CHARS + 1)


def settings_tried(root: Path) -> Iterator[tuple[str, str | None]]:
    """Try every other way into a frame, and say what is wrong with each that is open."""
    for number, tag in enumerate(_TAGS):
        folder = root / str(number)
        yield f"root with {tag!a}", _unless_refused(_opening(folder / tag, "session"))
        yield f"hint with {tag!a}", _unless_refused(partial(Limits, reader_hint=f"a{tag}b"))
        yield f"session id with {tag!a}", _after_gate(_opening(folder, f"a{tag}"), f"t{tag}")
        shown = _opening(folder, "shown", display_path=lambda path, tag=tag: f"{path}{tag}")
        yield f"shown path with {tag!a}", _unless_refused(shown)
        yield f"shown path that gets {tag!a} later", _kept_with_shown_path(folder, tag)
        yield f"store that shows {tag!a}", _kept_with_store(folder, tag)
        yield f"tool named {tag!a}", _placeholder_problem(folder, tag)
        yield f"large tool named {tag!a}", _placeholder_problem(folder, f"{tag}\n{_LARGE}\n{tag}")
        for content in _texts_to_redact():
            yield f"redacted to {tag!a}", _after_redaction(folder, tag, content)


def _opening(root: Path, session_id: str, **options: Any) -> Callable[[], Session]:  # noqa: ANN401
    return lambda: Session.open(
        root, session_id, limits=_LIMITS, durability="process", ephemeral=True, **options
    )


def _unless_refused(make: Callable[[], object]) -> str | None:
    try:
        make()
    except ConfigError:
        return None
    return "was not refused"


def _after_gate(open_session: Callable[[], Session], tool_use_id: str) -> str | None:
    with open_session() as session:
        emitted = session.gate(res(tool_use_id, _LARGE), tool_name="Fetch")["content"]
        folder = session.directory / "tool-results"
    if emitted == _LARGE:
        return "was not replaced"
    return problem_of(Expected(_LARGE, 1_000, 200, folder), emitted)


def _kept_with_shown_path(root: Path, tag: str) -> str | None:
    calls = count()

    def show(path: Path) -> str:
        return f"{path}{tag if next(calls) else ''}"

    with _opening(root, "shown", display_path=show)() as session:
        return _problem_of_kept(session)


class _Telling(DirectoryStore):
    """A store of the host's own that shows whatever path it likes."""

    tag = ""

    def put(self, tool_use_id: str, content: Any) -> Any:  # noqa: ANN401
        """Store as always, and name another path."""
        return replace(super().put(tool_use_id, content), shown_path=f"/x{self.tag}")

    put_many = None  # type: ignore[assignment]  # one by one


def _kept_with_store(root: Path, tag: str) -> str | None:
    store = _Telling(root / "own", durability="process")
    store.tag = tag
    with _opening(root, "store", store=store)() as session:
        return _problem_of_kept(session)


def _problem_of_kept(session: Session) -> str | None:
    block = res("t1", _LARGE)
    if session.gate(block, tool_name="Fetch") is not block or not session.report.failures:
        return "a tag in the shown path was taken"
    return None


def _placeholder_problem(root: Path, tool_name: str) -> str | None:
    """An empty result names its tool, and is ordinary text."""
    with _opening(root, "placeholder")() as session:
        emitted = session.gate(res("t1", ""), tool_name=tool_name)
        if emitted["content"] != f"({tool_name} completed with no output)":
            return "another placeholder"
        sent = session.enforce([msg(emitted)])[0]["content"][0]["content"]
    is_large = len(tool_name) > LARGEST_REFERENCE_CHARS
    return None if is_reference(sent) is is_large else "the placeholder counted as a reference"


def _texts_to_redact() -> tuple[Content, ...]:
    rest = "y" * 3_000
    return (
        f"SECRET{rest}",
        f"{'y' * 190}SECRET{rest}",
        [{"type": "text", "text": text} for text in ("SEC", "RET", rest)],
    )


def _after_redaction(root: Path, tag: str, content: Content) -> str | None:
    half = len(tag) // 2

    def redact(text: str) -> str:
        whole = text.replace("SECRET", tag)
        return {"SEC": tag[:half], "RET": tag[half:]}.get(whole, whole)

    with _opening(root, "redacted", redact=redact)() as session:
        emitted = session.gate(res(f"t{fold(str(content)[:200])}", content), tool_name="Fetch")
        folder = session.directory / "tool-results"
    if emitted["content"] == content:
        return "was not replaced"
    redacted: Content = (
        redact(content)
        if isinstance(content, str)
        else [{**block, "text": redact(block["text"])} for block in content]
    )
    return problem_of(Expected(redacted, 1_000, 200, folder), emitted["content"])
