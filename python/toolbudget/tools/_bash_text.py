"""What a model sees of a command: how it ended, what it wrote, and where the rest of it is."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolbudget import _core as core
from toolbudget._core.pure.preview import make_wire_safe
from toolbudget._core.pure.replacement import CLOSING, OPENING, format_size
from toolbudget.errors import ToolBudgetError
from toolbudget.tools._head_tail import cut_end, cut_start
from toolbudget.tools._terminal import as_shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolbudget.tools._head_tail import HeadTail
    from toolbudget.tools._output import Output
    from toolbudget.tools._process import Ending

__all__ = [
    "Form",
    "exit_line",
    "failure_reason",
    "is_whole_as_text",
    "kept_text",
    "signal_name",
    "visible_text",
]

# Of failing commands the end tells more than the beginning: of 790 labelled logs the first 2,000
# bytes hold the failing line in none, the last ones in 46 percent.
_HEAD_PERCENT: Final = 30
_STDERR_PERCENT: Final = 25
# With the path and the frame it stays below what is known as a reference by its form.
WHOLE_IN_FRAME_BYTES: Final = 12_000
_SIGNAL_OFFSET: Final = 128
_LINE_NUMBER: Final = re.compile(r"\A[0-9]+:")
# A path has 4,096 at most; an error of somebody else's may quote anything.
_MAX_REASON_CHARS: Final = 4_500
_NOT_SHOWN: Final = "(not shown: the redact hook failed)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How much is shown, and what is said about the whole.

    Attributes:
        lines: What is said first: how the command ended, and what went wrong.
        inline_chars: Output up to this is shown whole if it is not stored.
        preview_bytes: So much is shown of output that is stored.
        shown_path: Where the whole output is stored, if it is.
        reader_hint: A line about the host's own reader.
        redact: Changes a text before it is shown.
    """

    lines: tuple[str, ...]
    inline_chars: int
    preview_bytes: int
    shown_path: str | None
    reader_hint: str | None
    redact: Callable[[str], str]


def exit_line(ending: Ending) -> str:
    """Say how the shell ended.

    Example:
        >>> from toolbudget.tools._process import Ending
        >>> exit_line(Ending(-9, None)), exit_line(Ending(137, None)), exit_line(Ending(1, None))
        ('Exit code: none, killed by SIGKILL', 'Exit code: 137 (128 + SIGKILL)', 'Exit code: 1')
    """
    code = ending.return_code
    if code is None:
        return "Exit code: none, the command could not be ended"
    if code < 0:
        return f"Exit code: none, killed by {signal_name(-code)}"
    # What a shell says of a command that a signal has killed.
    if code - _SIGNAL_OFFSET in set(signal.valid_signals()):
        return f"Exit code: {code} (128 + {signal_name(code - _SIGNAL_OFFSET)})"
    return f"Exit code: {code}"


def signal_name(number: int) -> str:
    """Name a signal; those without a name are told by their number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def failure_reason(error: Exception, *, is_redacted: bool) -> str:
    """Tell a model why something failed, without what a redact hook must keep from it.

    Example:
        >>> failure_reason(ValueError("cannot redact hunter2"), is_redacted=True)
        "the host's redact hook or store failed (ValueError)"
    """
    if is_redacted and not isinstance(error, ToolBudgetError):
        return f"the host's redact hook or store failed ({type(error).__name__})"
    reason = " ".join(str(error).split())
    return reason if len(reason) <= _MAX_REASON_CHARS else reason[:_MAX_REASON_CHARS] + "…"


def is_whole_as_text(data: bytes | None, max_chars: int) -> bool:
    """Tell whether output can be shown with nothing left out, not even a code for a terminal."""
    if data is None:
        return False
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return len(text) <= max_chars and as_shown(text) == text


def visible_text(output: Output, form: Form) -> str:
    """Write what the model sees."""
    data = output.both.whole()
    if form.shown_path is None and is_whole_as_text(data, form.inline_chars):
        text = (data or b"").decode("utf-8")
        return "\n".join((*form.lines, "", text.removesuffix("\n") if text else "(no output)"))
    try:
        body = _body(output, data, form)
    except Exception:  # noqa: BLE001 - whatever the host's hook raises, its secrets stay here
        body = [_NOT_SHOWN]
    size = format_size(output.both.total_bytes)
    if form.shown_path is None:
        return "\n".join((*form.lines, *body))
    if output.both.total_bytes > form.inline_chars:
        notice = f"Output too large ({size}). Full output saved to: {form.shown_path}"
    else:
        notice = f"Output of {size} as it came saved to: {form.shown_path}"
    hint = [] if form.reader_hint is None else [form.reader_hint]
    return OPENING + "\n".join((notice, *hint, *form.lines, *body)) + CLOSING


def kept_text(kept: HeadTail) -> str:
    """Return what is kept of one stream as text, with a note in place of what is not."""
    data = kept.whole()
    if data is not None:
        return as_shown(data.decode("utf-8", "replace"))
    head, tail = cut_end(kept.head()), cut_start(kept.tail())
    left_out = kept.total_bytes - len(head) - len(tail)
    parts = (head.decode("utf-8", "replace"), tail.decode("utf-8", "replace"))
    return f"\n[... {left_out:,} bytes left out ...]\n".join(map(as_shown, parts))


def _body(output: Output, data: bytes | None, form: Form) -> list[str]:
    """Show the output, or of a large one what matters most."""
    is_stored = form.shown_path is not None
    text = None if data is None else form.redact(_text(data))
    if text is not None:
        shown = make_wire_safe(as_shown(text)).removesuffix("\n")
        whole_bytes = WHOLE_IN_FRAME_BYTES if is_stored else form.inline_chars
        if core.utf8_length(shown) <= whole_bytes:
            return ["", "Output (as a terminal would show it):", shown or "(no output)"]
    room_bytes = form.preview_bytes if is_stored else form.inline_chars
    errors = _last_errors(output, room_bytes * _STDERR_PERCENT // 100, form.redact)
    room_bytes -= core.utf8_length(errors)
    if text is not None and is_stored:
        preview, _ = core.salient_preview(text, room_bytes)
        label = f"Preview (what seems to matter most, at most {format_size(form.preview_bytes)}):"
    else:
        preview = _both_ends(output.both, room_bytes, form.redact)
        label = "Preview (the beginning and the end):" if is_stored else "Not stored; what is kept:"
    told = [] if not errors or _shows(preview, errors) else ["", "Last lines of stderr:", errors]
    return [*told, "", label, preview]


def _shows(preview: str, lines: str) -> bool:
    """Tell whether all of these lines are lines of a preview, which may number them."""
    shown = {_LINE_NUMBER.sub("", line).strip() for line in preview.split("\n")}
    return all(line.strip() in shown for line in lines.split("\n"))


def _last_errors(output: Output, room_bytes: int, redact: Callable[[str], str]) -> str:
    kept = output.single["stderr"]
    data = kept.whole()
    tail = cut_start(kept.tail()) if data is None else data
    text = make_wire_safe(as_shown(redact(tail.decode("utf-8", "replace"))))
    return _end_of(text.removesuffix("\n"), room_bytes)


def _both_ends(kept: HeadTail, room_bytes: int, redact: Callable[[str], str]) -> str:
    whole = kept.whole()
    first = cut_end(kept.head()) if whole is None else whole
    last = cut_start(kept.tail()) if whole is None else whole
    ends_line = last.endswith(b"\n")
    lines = kept.line_ends + (not ends_line)
    note_bytes = len(_note(lines, lines, kept.total_bytes))
    room_bytes = max(0, room_bytes - note_bytes)
    head_bytes = room_bytes * _HEAD_PERCENT // 100
    head, tail = (make_wire_safe(as_shown(redact(_text(part)))) for part in (first, last))
    head = _beginning_of(head, head_bytes)
    tail = _end_of(tail.removesuffix("\n"), room_bytes - head_bytes)
    shown = sum(part.count("\n") + 1 for part in (head, tail) if part)
    return f"{head}{_note(max(0, lines - shown), lines, kept.total_bytes)}{tail}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _note(left_out: int, lines: int, total_bytes: int) -> str:
    return f"\n[... {left_out:,} of {lines:,} lines left out; {total_bytes:,} bytes in all ...]\n"


def _beginning_of(text: str, room_bytes: int) -> str:
    """Cut to so many bytes, at a line end if one is near."""
    shown = text[:room_bytes].encode()[:room_bytes].decode("utf-8", "ignore")
    if len(shown) == len(text):
        return shown
    line_end = shown.rfind("\n")
    return shown[:line_end] if 2 * line_end > len(shown) else shown


def _end_of(text: str, room_bytes: int) -> str:
    """Keep so many bytes of the end, from a line's beginning if one is near."""
    if room_bytes <= 0:
        return ""
    shown = text[-room_bytes:].encode()[-room_bytes:].decode("utf-8", "ignore")
    if len(shown) == len(text):
        return shown
    line_end = shown.find("\n")
    return shown[line_end + 1 :] if 0 <= line_end < len(shown) // 2 else shown
