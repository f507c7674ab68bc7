"""What must hold for every request by itself, said a second time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from tests.builders import read_reference, size_label, text_of
from tests.scenarios.conversation_model import canonical, reformed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from tests.builders import Message
    from tests.scenarios.conversation_model import Group, Key, Result
    from tests.scenarios.conversation_process import Process, Terms

__all__ = [
    "CERTAIN_GAIN_CHARS",
    "StoredTexts",
    "check_effort",
    "check_form",
    "excess_chars",
    "handed_text",
]

# No replacement with an empty preview is as long as this under a short root (G7).
CERTAIN_GAIN_CHARS: Final = 600


class StoredTexts:
    """What every replacement stands for, and the bytes that its file held when it was made."""

    def __init__(self, root: Path) -> None:
        """Begin with nothing stored."""
        self._root = root
        self._expected: dict[tuple[Key, str], bytes] = {}
        self._deleted: set[Path] = set()

    def delete(self, paths: Iterable[Path]) -> None:
        """Delete stored files."""
        for path in paths:
            path.unlink()
            self._deleted.add(path)

    def check(self, key: Key, replacement: str, terms: Terms) -> None:
        """Check that a replacement is one of exactly that text, and that its file holds it."""
        path = read_reference(replacement).path
        made = (key, replacement)
        if made not in self._expected:
            self._expected[made] = terms.redacted(key.text).encode("utf-8", "surrogatepass")
        elif path in self._deleted:
            return
        expected = self._expected[made]
        assert path.is_relative_to(self._root)
        assert read_reference(replacement).size == size_label(len(expected))
        assert _text_in(path) == expected, f"{path} holds another text"
        assert len(replacement) < len(key.text)


def _text_in(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".txt":
        return data
    blocks = json.loads(data.decode("utf-8", "surrogatepass"))
    return text_of(blocks).encode("utf-8", "surrogatepass")


def handed_text(output: Sequence[Message], result: Result) -> str:
    """Return the text that went out for a result."""
    return text_of(output[result.message_index]["content"][result.block_index]["content"])


def excess_chars(
    group: Group, texts: Sequence[str], process: Process, fresh: AbstractSet[Key]
) -> float:
    """Return by how much a group exceeds the limit.

    B5: an exempt result that was kept does not count, unless it is the second of a fresh one that
    is not exempt (B4).
    """
    visible_chars = sum(
        len(text)
        for result, text in zip(group.results, texts, strict=True)
        if text != result.key.text or result.key in fresh or not process.is_exempt(result)
    )
    return max(0, visible_chars - process.terms.limits.max_message_chars)


def check_form(
    messages: Sequence[Message], output: Sequence[Message], groups: Sequence[Group]
) -> None:
    """Check that nothing but the text of results has changed, in the form that it had (B10, W3)."""
    expected: list[Any] = [
        {**message, "content": list(message["content"])}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]
    assert len(output) == len(messages)
    for result in (one for group in groups for one in group.results):
        text = handed_text(output, result)
        if text != result.key.text:
            blocks = expected[result.message_index]["content"]
            blocks[result.block_index] = reformed(blocks[result.block_index], text)
    assert canonical(output) == canonical(expected), "more than the text of results has changed"


def check_effort(
    group: Group, texts: Sequence[str], process: Process, fresh: AbstractSet[Key]
) -> None:
    """Check of a group of fresh results: beyond the limit only if nothing more can be gained."""
    if not excess_chars(group, texts, process, fresh):
        return
    for result, text in zip(group.results, texts, strict=True):
        if text != result.key.text:
            # B6: previews have shrunk to nothing before a group is left beyond the limit.
            assert read_reference(text).preview is None, "a preview could have been shorter"
        elif result.key in fresh:
            assert len(text) < CERTAIN_GAIN_CHARS, "a group was left beyond its limit"
