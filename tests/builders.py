"""Messages for black-box tests, and readers of what became of them.

The readers say the rules a second time, as plainly as possible; nothing here calls what the library
builds replacements with.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import xxhash

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from toolbudget import Session

__all__ = [
    "Block",
    "Message",
    "Reference",
    "answer",
    "call",
    "check_reference",
    "check_references",
    "digest_of",
    "enforce",
    "files_below",
    "gate",
    "is_reference",
    "msg",
    "preview_of",
    "read_reference",
    "read_transcript",
    "replacement_of",
    "res",
    "results_in",
    "size_label",
    "stored_files",
    "text_of",
    "turn",
    "wire_safe",
]

Block: TypeAlias = dict[str, Any]
Message: TypeAlias = dict[str, Any]

_REFERENCE: Final = re.compile(
    r"<persisted-output>\n"
    r"Output too large \((?P<size>[^)\n]+)\)\. Full output saved to: (?P<path>[^\n]+)"
    r"(?:\n(?P<hint>[^\n]+))?"
    r"(?:\n\nPreview \(first (?P<label>[^)\n]+)\):\n(?P<preview>.*?)(?P<more>\n\.\.\.)?)?"
    r"\n</persisted-output>",
    re.DOTALL,
)
_FRAME_TAG: Final = re.compile("<(?=/?persisted-output)", re.IGNORECASE)


def res(tool_use_id: str, content: object, **others: object) -> Block:
    """Make a result block."""
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, **others}


def msg(*blocks: object) -> Message:
    """Make a user message of blocks."""
    return {"role": "user", "content": list(blocks)}


def call(tool_use_id: str, tool_name: str, **others: object) -> Block:
    """Make the block by which the model calls a tool."""
    return {"type": "tool_use", "id": tool_use_id, "name": tool_name, "input": {}, **others}


def answer(*blocks: object, message_id: str | None = None) -> Message:
    """Make an assistant message of blocks."""
    message: Message = {"role": "assistant", "content": list(blocks)}
    return message if message_id is None else {"id": message_id, **message}


def turn(tool_name: str, **contents: object) -> list[Message]:
    """Make the calls of one tool and the message with their results, by id."""
    calls = (call(tool_use_id, tool_name) for tool_use_id in contents)
    return [answer(*calls), msg(*(res(name, content) for name, content in contents.items()))]


def enforce(session: Session, messages: Sequence[object]) -> list[Message]:
    """Enforce the budget and look at what comes back as plain dicts."""
    return list(session.enforce(messages))


def gate(session: Session, block: Mapping[str, object], tool_name: str = "Fetch") -> Block:
    """Pass a block through the gate and look at what comes back as a plain dict."""
    return session.gate(block, tool_name=tool_name)


def text_of(content: object) -> str:
    """Give the text of a result: the string, or its text blocks joined with nothing between."""
    if isinstance(content, str):
        return content
    blocks = cast("Sequence[Mapping[str, Any]]", content)
    return "".join(block["text"] for block in blocks if block.get("type") == "text")


def results_in(messages: Sequence[object]) -> Iterator[Block]:
    """Yield every result block in order of appearance."""
    for message in cast("Sequence[Message]", messages):
        inner = message.get("message", message)
        if isinstance(inner["content"], list | tuple):
            yield from (block for block in inner["content"] if block.get("type") == "tool_result")


def digest_of(data: bytes) -> str:
    """Give the hash that records hold: of a text's UTF-8, and of stored bytes."""
    return xxhash.xxh3_128_hexdigest(data)


def wire_safe(text: str) -> str:
    """Say P3 a second time: what no request can carry, and what could forge or close the frame."""
    carried = "".join(
        "\ufffd" if character == "\0" or "\ud800" <= character <= "\udfff" else character
        for character in text
    )
    return _FRAME_TAG.sub("&lt;", carried)


def preview_of(text: str, max_bytes: int) -> tuple[str, bool]:
    """Say P2 a second time, character by character."""
    safe = wire_safe(text[: max_bytes + 100])
    ends = accumulate(len(character.encode()) for character in safe)
    shown = safe[: sum(end <= max_bytes for end in ends)]
    if shown == safe:
        return safe, False
    lines, newline, _ = shown.rpartition("\n")
    is_past_half = newline and len(lines.encode()) > Fraction(max_bytes, 2)
    return (lines if is_past_half else shown), True


def size_label(size_bytes: int) -> str:
    """Say P1's sizes a second time, with exact fractions."""
    if size_bytes < 1024:
        return f"{size_bytes} bytes"
    unit, exponent = ("KB", 1) if size_bytes < 1024**2 else ("MB", 2)
    if size_bytes >= 1024**3:
        unit, exponent = "GB", 3
    tenths = int(Fraction(10 * size_bytes, 1024**exponent) + Fraction(1, 2))
    return f"{tenths / 10:.1f}".removesuffix(".0") + unit


def replacement_of(
    text: str, path: str, *, preview_bytes: int = 2_000, hint: str | None = None
) -> str:
    """Say P1 a second time."""
    size = size_label(len(text.encode("utf-8", "surrogatepass")))
    first = f"Output too large ({size}). Full output saved to: {path}"
    lines = ["<persisted-output>", first] if hint is None else ["<persisted-output>", first, hint]
    if preview_bytes:
        preview, has_more = preview_of(text, preview_bytes)
        lines += ["", f"Preview (first {size_label(preview_bytes)}):", preview]
        lines += ["..."] if has_more else []
    return "\n".join([*lines, "</persisted-output>"])


class Reference(NamedTuple):
    """What a replacement says."""

    size: str
    path: Path
    hint: str | None
    label: str | None
    preview: str | None
    has_more: bool


def is_reference(content: object) -> bool:
    """Tell whether a result's content has become a replacement."""
    return _REFERENCE.fullmatch(text_of(content)) is not None


def read_reference(content: object) -> Reference:
    """Take a replacement apart; one that is not of P1's shape is a failure."""
    found = _REFERENCE.fullmatch(text_of(content))
    assert found is not None, f"not a replacement: {content!r:.200}"
    return Reference(
        found["size"],
        Path(found["path"]),
        found["hint"],
        found["label"],
        found["preview"],
        found["more"] is not None,
    )


def check_reference(old: Block, new: Block, directory: Path) -> None:
    """Check what must hold beside every report, for one replaced block.

    Only the content has changed, in the form it had; the named file exists directly in the
    session's folder and holds the whole original; the preview begins as that file does.
    """
    assert list(new) == list(old)
    assert all(new[key] is old[key] for key in old if key != "content")
    content, text = old["content"], text_of(old["content"])
    if isinstance(content, str):
        assert type(new["content"]) is str
    else:
        assert [block["type"] for block in new["content"]] == ["text"]
    reference = read_reference(new["content"])
    encoded = text.encode("utf-8", "surrogatepass")
    assert reference.path.parent == directory / "tool-results"
    assert reference.path.is_file()
    assert not reference.path.is_symlink()
    stored = reference.path.read_bytes()
    if reference.path.suffix == ".json":
        assert json.loads(stored.decode("utf-8", "surrogatepass")) == list(content)
    else:
        assert stored == encoded
    assert reference.size == size_label(len(encoded))
    assert wire_safe(text[:10_000]).startswith(reference.preview or "")
    assert len(text_of(new["content"])) < len(text)
    text_of(new["content"]).encode()


def check_references(
    before: Sequence[object], after: Sequence[object], directory: Path
) -> list[str]:
    """Check every replaced block of a list, and give their ids in order of appearance."""
    assert len(before) == len(after)
    replaced = []
    for old, new in zip(results_in(before), results_in(after), strict=True):
        if new is not old:
            check_reference(old, new, directory)
            replaced.append(old["tool_use_id"])
    return replaced


def stored_files(session: Session) -> dict[str, bytes]:
    """Give the files in the session's folder of results by name."""
    folder = session.directory / "tool-results"
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}


def files_below(folder: Path) -> set[str]:
    """Give every path below a folder that is not a directory, relative to it.

    The mark of a session in use is left out: it stands for no result and no decision.
    """
    paths = (path for path in folder.rglob("*") if path.name != "session.lock")
    return {str(path.relative_to(folder)) for path in paths if not path.is_dir()}


def read_transcript(path: Path) -> list[dict[str, Any]]:
    """Give every line of a transcript; one that is not ASCII JSON is a failure."""
    lines = path.read_bytes().split(b"\n")
    assert lines.pop() == b""
    return [json.loads(line.decode("ascii")) for line in lines]
