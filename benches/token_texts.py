"""Real texts by kind, to measure estimates of tokens on: of the corpus and of installed packages.

The weights of the estimate were fitted on texts like those that are not ``is_held_out``; the others
come from sources of which nothing was looked at before.
"""

from __future__ import annotations

import base64
import json
import re
import sysconfig
import zlib
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Sample", "corpus_samples", "emoji_samples", "package_samples"]

_SAMPLE_CHARS: Final = 3_000
_SHORTEST_CHARS: Final = 500
_LANGUAGES: Final = {"zh": "Chinese", "ja": "Japanese", "ko": "Korean"}
_PO_ENTRY: Final = re.compile(r'^msgstr(?:\[\d\])? ((?:".*"\n?)+)', re.MULTILINE)
_NUMBERED_LINE: Final = re.compile(r"^\s*\d+→", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sample:
    """A piece of real text."""

    kind: str
    source: str
    text: str
    is_held_out: bool = False

    @property
    def name(self) -> str:
        """Tell it from every other one."""
        return f"{self.kind}: {self.source}"


def corpus_samples(corpus: Path) -> Iterator[Sample]:
    """Yield the samples of a folder of recorded sessions and tool outputs."""
    for path in sorted((corpus / "claude_code").glob("*.jsonl")):
        yield from _of_session(path)
    for path in sorted((corpus / "ci_logs").glob("*.log")):
        yield from _cut("logs", path.name, _read(path), 3)
        yield from _cut("base64", path.name, _encoded(path.read_bytes()), 1)
    for name in ("dependency-check-report.json", "tau-airline-openai-chat.json"):
        (path,) = corpus.rglob(name)
        document = json.loads(path.read_bytes())
        yield from _cut("JSON", name, json.dumps(document, indent=2), 10)
        yield from _cut("JSON", name + " compact", json.dumps(document, separators=(",", ":")), 10)
    for path in sorted((corpus / "trajectories").glob("*.jsonl")):
        yield from _cut("JSON", path.name, _read(path), 8)
    (dialogues,) = corpus.rglob("tau-airline-openai-chat.json")
    spoken = "\n\n".join(_spoken(json.loads(dialogues.read_bytes())))
    yield from _cut("English", dialogues.name, spoken, 30, is_held_out=True)


def package_samples() -> Iterator[Sample]:
    """Yield the samples of packages: the standard library and the group ``token-error``."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[::4]:
        yield from _cut("code", path.name, _read(path), 2)
    for path in _package_files("sphinx", ".py")[::4]:
        yield from _cut("code", f"sphinx/{path.name}", _read(path), 2, is_held_out=True)
    for package, is_held_out in (("django", False), ("sphinx", True)):
        for path in _package_files(package, ".po"):
            language = _LANGUAGES.get(path.parts[-3][:2])
            if language is not None:
                source = f"{package}/{path.parts[-3]}"
                translated = _translations(_read(path))
                yield from _cut(language, source, translated, 12, is_held_out=is_held_out)
    for package, is_held_out in (
        ("django", False),
        ("swagger-ui-bundle", False),
        ("sphinx", True),
        ("pydata-sphinx-theme", True),
    ):
        for path in _package_files(package, ".js") + _package_files(package, ".css"):
            text = _read(path)
            if len(text) > 200 * (text.count("\n") + 1):
                source = f"{package}/{path.name}"
                yield from _cut("minified", source, text, 12, is_held_out=is_held_out)
    for path in _package_files("pydata-sphinx-theme", ".woff2"):
        yield from _cut("base64", path.name, _encoded(path.read_bytes()), 3, is_held_out=True)
    yield from emoji_samples()
    yield from _emoji_in_lines()


def _of_session(path: Path) -> Iterator[Sample]:
    prose: list[str] = []
    code: list[str] = []
    for line in _read(path).splitlines():
        for block in _blocks(line):
            kind = block.get("type")
            if kind == "thinking" or (kind == "text" and "```" not in block["text"]):
                prose.append(block.get("thinking") or block.get("text", ""))
            result = block.get("content")
            if kind == "tool_result" and isinstance(result, str) and _NUMBERED_LINE.match(result):
                code.append(_NUMBERED_LINE.sub("", result))
    yield from _cut(
        "English", path.name, "\n\n".join(text for text in prose if "|" not in text), 20
    )
    yield from _cut("code", path.name, "\n".join(code), 20)
    yield from _cut("JSON", path.name, _read(path), 8)


def _blocks(line: str) -> Iterator[dict[str, Any]]:
    try:
        record = json.loads(line)
    except ValueError:
        return
    message = record.get("message") or {}
    content = message.get("content")
    if isinstance(content, list):
        is_assistant = message.get("role") == "assistant"
        yield from (block for block in content if is_assistant or block.get("type") != "text")


def _spoken(document: Any) -> Iterator[str]:  # noqa: ANN401 - recorded data
    for run in document:
        for message in run["traj"]:
            if message["role"] in {"user", "assistant"} and message.get("content"):
                yield message["content"]


def emoji_samples() -> Iterator[Sample]:
    """Yield the emoji that rich knows by name."""
    from rich._emoji_codes import EMOJI

    for start in range(0, len(EMOJI), 400):
        part = "".join(islice(EMOJI.values(), start, start + 400))
        yield Sample("emoji", f"rich {start}", part, is_held_out=True)


def _emoji_in_lines() -> Iterator[Sample]:
    emoji = import_module("emoji")

    known = sorted(emoji.EMOJI_DATA, key=lambda text: zlib.crc32(text.encode()))
    for start in range(0, len(known), 400):
        part = known[start : start + 400]
        yield Sample("emoji", f"emoji {start}", "".join(part))
        yield Sample("emoji", f"emoji {start} in a line", " ".join(part))


def _package_files(package: str, suffix: str) -> list[Path]:
    listed = files(package) or []
    return sorted(Path(str(file.locate())) for file in listed if file.name.endswith(suffix))


def _translations(text: str) -> str:
    entries = _PO_ENTRY.findall(text)
    lines = ("".join(re.findall(r'"(.*)"', entry)) for entry in entries)
    return "\n".join(line for line in lines if line)


def _encoded(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _cut(
    kind: str, source: str, text: str, count: int, *, is_held_out: bool = False
) -> Iterator[Sample]:
    """Yield at most ``count`` pieces, spread over the text."""
    starts = range(0, len(text), _SAMPLE_CHARS)
    step = max(1, len(starts) // count)
    for start in list(starts[::step])[:count]:
        piece = text[start : start + _SAMPLE_CHARS]
        if len(piece) >= _SHORTEST_CHARS:
            yield Sample(kind, f"{source} at {start}", piece, is_held_out)
