"""One call of the tool ``bash``: checked, run, stored, told."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypedDict

from toolbudget._display import quoted_path, shown
from toolbudget.errors import (
    ConfigError,
    StoreError,
    ToolBudgetError,
    ToolError,
    ToolInputError,
    TranscriptError,
)
from toolbudget.limits.validation import positive_number, positive_whole_number
from toolbudget.tools._bash_text import (
    Form,
    exit_line,
    failure_reason,
    is_whole_as_text,
    kept_text,
    signal_name,
    visible_text,
)
from toolbudget.tools._output import Output
from toolbudget.tools._process import Command, Ending, run_command
from toolbudget.tools.definition import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from threading import Event

    from toolbudget.budget.session import Session
    from toolbudget.storage.result import ResultStream, StoredResult, StreamingStore
    from toolbudget.tools._process import Stop

__all__ = ["BashOptions", "BashResult", "call_bash"]

DEFAULT_TIMEOUT_S: Final = 120.0
# The limit that Bash has by default (L2).
DEFAULT_INLINE_CHARS: Final = 30_000
DEFAULT_PREVIEW_BYTES: Final = 4_000
_PREVIEW_BOUNDS_BYTES: Final = (500, 10_000)
DEFAULT_KEPT_BYTES: Final = 2 << 20
# A command that writes for ever would fill the disk.
DEFAULT_MAX_OUTPUT_BYTES: Final = 5 << 30
# A hook that redacts needs the whole text in memory.
_MAX_REDACTED_BYTES: Final = 64 << 20

_STOPPED: Final[Mapping[Stop, str]] = {
    "timeout": "Stopped with all it had started: it ran longer than {timeout_s:g} s.",
    "output_limit": "Stopped with all it had started: it wrote over {max_output_bytes:,.0f} bytes.",
    "cancelled": "Stopped with all it had started: the call was cancelled.",
    "output_held_open": "Processes that it left running with its output open were stopped.",
}


class BashOptions(TypedDict, total=False):
    """The options of ``bash``, each as described there."""

    timeout_s: float
    cwd: str | os.PathLike[str] | None
    env: Mapping[str, str] | None
    session: Session | None
    store: StreamingStore | None
    tool_use_id: str | None
    inline_chars: int
    preview_bytes: int
    kept_bytes: int
    max_output_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BashResult(ToolResult):
    """What became of a command.

    Attributes:
        exit_code: The shell's exit code; ``None`` if a signal ended it.
        signal: The name of that signal.
        stop: Why the command was stopped, if it was: ``"timeout"``, ``"output_limit"``,
            ``"cancelled"``, or ``"output_held_open"`` if it had ended and left processes behind
            that held its output.
        stdout: What a terminal would show of the standard output; of a large one both ends.
        stderr: The same of the standard error.
        stdout_bytes: Bytes written to the standard output.
        stderr_bytes: Bytes written to the standard error.
        path: The file with the whole output as it came, if it was stored.
        is_whole: Whether ``text`` holds all of the output, byte for byte.
        failure: Why the output was not stored, or not recorded as replaced, although it should
            have been.
        elapsed_s: Seconds from the start of the command to the end of its output.
    """

    exit_code: int | None
    signal: str | None
    stop: Stop | None
    stdout: str
    stderr: str
    stdout_bytes: int
    stderr_bytes: int
    path: Path | None
    is_whole: bool
    failure: Exception | None
    elapsed_s: float

    @property
    def timed_out(self) -> bool:
        """Whether it was stopped because it ran too long."""
        return self.stop == "timeout"

    @property
    def total_bytes(self) -> int:
        """Bytes of both streams."""
        return self.stdout_bytes + self.stderr_bytes


@dataclass(frozen=True, slots=True)
class _Call:
    """A call whose arguments have been checked."""

    command: bytes
    cwd: str | None
    env: Mapping[str, str] | None
    timeout_s: float
    max_output_bytes: float
    inline_chars: int
    preview_bytes: int
    kept_bytes: int
    session: Session | None
    store: StreamingStore | None
    tool_use_id: str
    is_known_id: bool

    @property
    def is_redacted(self) -> bool:
        """Whether only a whole text may be stored."""
        return self.session is not None and not self.session.stores_streams

    @property
    def open_stream(self) -> Callable[[], ResultStream] | None:
        """What begins to store the output, if it is to be stored as it comes."""
        place = self.store if self.session is None else self.session
        if place is None or self.is_redacted:
            return None
        return lambda: place.open_stream(self.tool_use_id)

    def redact(self, text: str) -> str:
        """Change a text before it is shown, if the session has a hook for that."""
        return text if self.session is None else self.session.redact(text)


def call_bash(command: str, cancellation: Event, options: BashOptions) -> BashResult:
    """Run a command; the arguments are checked before anything happens."""
    call = _checked(command, options)
    kept_bytes = max(call.kept_bytes, 2 * call.inline_chars)
    output = Output(
        kept_bytes=_MAX_REDACTED_BYTES if call.is_redacted else kept_bytes,
        single_bytes=kept_bytes,
        store_from_bytes=call.inline_chars,
        open_stream=call.open_stream,
    )
    started_s = time.monotonic()
    try:
        shell, ending = _run_apart(call, output, cancellation)
        elapsed_s = time.monotonic() - started_s
        output.finish()
        return _result(call, output, shell, ending, elapsed_s)
    finally:
        output.close()


def _checked(command: str, options: BashOptions) -> _Call:
    """Check everything.

    Raises:
        ToolInputError: The command or its timeout cannot be used.
        ConfigError: An option of the host cannot be used.
    """
    session, store = options.get("session"), options.get("store")
    if session is not None and store is not None:
        raise ConfigError("session and store (arguments) exclude each other: a session has its own")
    if store is not None and not hasattr(store, "open_stream"):
        raise ConfigError(f"store (argument) has no open_stream: {shown(store)}")
    tool_use_id = options.get("tool_use_id")
    inline_chars = options.get("inline_chars", DEFAULT_INLINE_CHARS)
    return _Call(
        command=_command_bytes(command),
        cwd=_directory(options.get("cwd")),
        env=_environment(options.get("env")),
        timeout_s=_timeout(options.get("timeout_s", DEFAULT_TIMEOUT_S)),
        max_output_bytes=positive_number(
            options.get("max_output_bytes", DEFAULT_MAX_OUTPUT_BYTES), "max_output_bytes"
        ),
        inline_chars=positive_whole_number(inline_chars, "inline_chars"),
        preview_bytes=_preview(options.get("preview_bytes", DEFAULT_PREVIEW_BYTES)),
        kept_bytes=positive_whole_number(
            options.get("kept_bytes", DEFAULT_KEPT_BYTES), "kept_bytes"
        ),
        session=session,
        store=store,
        tool_use_id=f"bash_{os.urandom(8).hex()}" if tool_use_id is None else tool_use_id,
        is_known_id=tool_use_id is not None,
    )


def _command_bytes(command: object) -> bytes:
    if not isinstance(command, str):
        raise ToolInputError(f"bash: command must be text: {shown(command)}")
    if not command.strip():
        raise ToolInputError(f"bash: command is empty: {shown(command)}")
    if "\0" in command:
        raise ToolInputError(f"bash: command has a NUL character: {shown(command)}")
    try:
        # UTF-8 whatever the locale says: a model knows nothing of it.
        return command.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ToolInputError(f"bash: command has a lone surrogate: {shown(command)}") from None


def _timeout(value: object) -> float:
    try:
        return positive_number(value, "timeout_s")
    except ConfigError:
        problem = f"bash: timeout_s must be a positive number of seconds: {shown(value)}"
        raise ToolInputError(problem) from None


def _preview(value: object) -> int:
    least, most = _PREVIEW_BOUNDS_BYTES
    number = positive_whole_number(value, "preview_bytes")
    if not least <= number <= most:
        raise ConfigError(f"preview_bytes (argument) must be from {least} to {most}: {number}")
    return number


def _directory(value: object) -> str | None:
    if value is None:
        return None
    try:
        path = os.fspath(value)  # type: ignore[call-overload]
    except TypeError:
        path = None
    if not isinstance(path, str) or not path or "\0" in path:
        raise ConfigError(f"cwd (argument) must name a folder: {shown(value)}")
    return path


def _environment(value: object) -> Mapping[str, str] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise ConfigError(f"env (argument) must be a mapping of names to texts: {shown(value)}")
    for name, text in value.items():
        is_text = isinstance(name, str) and isinstance(text, str)
        if not is_text or not name or "=" in name or "\0" in name or "\0" in text:
            # Its value may be a secret.
            raise ConfigError(
                f"env (argument) has a variable that no program can have: {shown(name)}"
            )
    return value


def _run_apart(call: _Call, output: Output, cancellation: Event) -> tuple[str, Ending]:
    """Run the command in a thread of its own, and end it if the caller is interrupted.

    Ctrl-C hits the main thread anywhere: also between the start of a process and the moment at
    which its number is known.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="toolbudget-bash") as executor:
        try:
            return executor.submit(_run, call, output, cancellation.is_set).result()
        except BaseException:
            # Before the executor waits for its thread, which it does on leaving.
            cancellation.set()
            raise


def _run(call: _Call, output: Output, is_cancelled: Callable[[], bool]) -> tuple[str, Ending]:
    """Run the command in bash, or in sh where there is no bash.

    Raises:
        ToolError: It cannot be started.
    """
    for shell in ("bash", "sh"):
        command = Command(
            arguments=(shell, "-c", call.command),
            cwd=call.cwd,
            env=call.env,
            timeout_s=call.timeout_s,
            max_output_bytes=call.max_output_bytes,
        )
        try:
            return shell, run_command(command, output.take, is_cancelled)
        except FileNotFoundError as error:
            if call.cwd is not None and error.filename == call.cwd:
                raise ToolError(
                    f"bash: folder to run in does not exist: {quoted_path(call.cwd)}"
                ) from error
        except OSError as error:
            raise _start_error(call, error) from error
    raise ToolError("bash: cannot start: there is neither bash nor sh on the PATH")


def _start_error(call: _Call, error: OSError) -> ToolError:
    reason = error.strerror or str(error)
    if call.cwd is not None and error.filename == call.cwd:
        return ToolError(f"bash: cannot run in {quoted_path(call.cwd)}: {reason}")
    if error.errno == errno.E2BIG:
        return ToolError(f"bash: command is too long to be started: {len(call.command)} bytes")
    return ToolError(f"bash: cannot start: {reason}")


def _result(
    call: _Call, output: Output, shell: str, ending: Ending, elapsed_s: float
) -> BashResult:
    is_whole = is_whole_as_text(output.both.whole(), call.inline_chars)
    stored = None if is_whole else _store(call, output)
    form = Form(
        lines=_lines(call, output, shell, ending),
        inline_chars=call.inline_chars,
        preview_bytes=call.preview_bytes,
        shown_path=None if stored is None else stored.shown_path,
        reader_hint=None if call.session is None else call.session.limits.reader_hint,
        redact=call.redact,
    )
    text = visible_text(output, form)
    if stored is not None and call.session is not None and call.is_known_id:
        text = _adopt(call.session, call.tool_use_id, output, stored, text)
    code = ending.return_code
    return BashResult(
        text=text,
        is_error=code != 0 or ending.stop in {"timeout", "output_limit", "cancelled"},
        exit_code=None if code is None or code < 0 else code,
        signal=None if code is None or code >= 0 else signal_name(-code),
        stop=ending.stop,
        stdout=kept_text(output.single["stdout"]),
        stderr=kept_text(output.single["stderr"]),
        stdout_bytes=output.single["stdout"].total_bytes,
        stderr_bytes=output.single["stderr"].total_bytes,
        path=None if stored is None else stored.path,
        is_whole=is_whole,
        failure=output.failure,
        elapsed_s=elapsed_s,
    )


def _adopt(
    session: Session, tool_use_id: str, output: Output, stored: StoredResult, text: str
) -> str:
    """Record that the output is replaced; what has run already is told even if that fails.

    Raises:
        TranscriptError: The session is strict, and recording failed.
    """
    try:
        return session.adopt_stored(
            tool_use_id, stored, fingerprint=output.fingerprint(), replacement=text
        )
    except TranscriptError:
        raise
    except ToolBudgetError as error:  # closed while the command ran
        output.failure = error
        return text


def _store(call: _Call, output: Output) -> StoredResult | None:
    if call.session is None or not call.is_redacted:
        return output.store()
    data = output.both.whole()
    if data is None:
        size = output.both.total_bytes
        problem = f"output is too large for the redact hook: {size:,} bytes"
        output.failure = StoreError(errno.EFBIG, problem)
        return None
    try:
        return call.session.store_text(call.tool_use_id, data.decode("utf-8", "replace"))
    except Exception as error:  # noqa: BLE001 - whatever the host's hook or store raises
        output.failure = error
        return None


def _lines(call: _Call, output: Output, shell: str, ending: Ending) -> tuple[str, ...]:
    """Say how it ended, and what is not as it should be; all of it before the output."""
    lines = [exit_line(ending)]
    if ending.stop is not None:
        said = _STOPPED[ending.stop]
        lines.append(said.format(timeout_s=call.timeout_s, max_output_bytes=call.max_output_bytes))
    if shell != "bash":
        lines.append(f"Run by {shell}: there is no bash here.")
    if output.failure is not None:
        reason = failure_reason(output.failure, is_redacted=call.is_redacted)
        lines.append(f"The full output could not be saved: {reason}")
    return tuple(lines)
