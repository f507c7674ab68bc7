"""Clearing old results, and storing in full what is about to leave the history."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from toolbudget._core.pure import Key, is_framed_reference
from toolbudget._core.pure.plan import redact_part
from toolbudget._core.pure.replacement import CLOSING, OPENING
from toolbudget._core.pure.shape import is_mapping, text_field, text_parts
from toolbudget.budget.context_edits import KEPT_ORIGINAL
from toolbudget.budget.ledger import ContextChange
from toolbudget.budget.report import Failure
from toolbudget.budget.state import CLEARED
from toolbudget.budget.storing import expected_path, is_json_content, put_items
from toolbudget.storage.records import ContentReplacementRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolbudget.budget.journal import Journal
    from toolbudget.storage.store import Content

__all__ = ["ClearedResults", "OldResult", "cleared_text", "is_cleared_text"]
__all__ += ["plan_clearing", "plan_storing"]

_SAVED_TO: Final = re.compile(r"Full output saved to: ([^\n]+)")
_CLEARED_NOTICE: Final = f"{OPENING}Old tool result cleared. Full output saved to: "
# What names the file stands in the second line of a reference; a preview may hold the same words.
_NOTICE_LINES: Final = 2


class OldResult(NamedTuple):
    """A result as it stands in the history now."""

    tool_use_id: str
    content: object


@dataclass(slots=True)
class ClearedResults:
    """What came of clearing.

    Attributes:
        texts: By index of the result: what stands in its place from now on. Results that are
            missing here stay as they are.
        failures: What could not be stored, and so was not cleared.
    """

    texts: dict[int, str] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


class _Place(NamedTuple):
    """Where the full text of a result is, and under which name records know it."""

    shown_path: str
    file: str | None = None
    digest: str | None = None


@dataclass(slots=True)
class _Known:
    """One result that may be cleared or stored."""

    index: int
    result: OldResult
    text: str
    keys: list[Key]
    place: _Place | None
    is_reference: bool


def cleared_text(shown_path: str) -> str:
    r"""Return the text that stands in for a result that was cleared.

    It has the frame of a reference, so that whoever meets it later knows it for one.

    Example:
        >>> print(cleared_text("/tmp/t1.txt"))
        <persisted-output>
        Old tool result cleared. Full output saved to: /tmp/t1.txt
        </persisted-output>
    """
    return f"{_CLEARED_NOTICE}{shown_path}{CLOSING}"


def is_cleared_text(text: str) -> bool:
    """Tell whether a text stands in for a result that was cleared.

    Example:
        >>> is_cleared_text(cleared_text("/tmp/t1.txt"))
        True
    """
    return text.startswith(_CLEARED_NOTICE) and is_framed_reference(text)


def plan_clearing(
    journal: Journal,
    results: Sequence[OldResult],
    outcome: ClearedResults,
    redact: Callable[[str], str] | None,
) -> ContextChange:
    """Store what was never stored, and give the entries that clear the results.

    Args:
        journal: State and store.
        results: The results as the model sees them.
        outcome: Takes what stands in their place, and what could not be stored.
        redact: The host's hook, applied before anything is stored.

    Raises:
        StoreError: With ``strict``: a result could not be stored.
    """
    known = [item for item in _known(journal, results) if item.place or not item.is_reference]
    wanted = [item for item in known if item.place is None and _gains(item, journal)]
    _store(journal, wanted, outcome.failures, redact)
    if journal.is_strict and outcome.failures:
        raise outcome.failures[0].error
    change = ContextChange()
    for item in known:
        if item.place is None:
            continue
        text = cleared_text(item.place.shown_path)
        if len(text) >= len(item.text):
            continue
        outcome.texts[item.index] = text
        change.entries += [_entry(CLEARED, key, text, item.place) for key in item.keys]
    return change


def plan_storing(
    journal: Journal,
    results: Sequence[OldResult],
    paths: dict[str, str],
    redact: Callable[[str], str] | None,
) -> ContextChange:
    """Store what was never stored, and give the entries that say where it is.

    Args:
        journal: State and store.
        results: The results that are about to leave the history.
        paths: Takes the shown path of each result's full text, by id.
        redact: The host's hook, applied before anything is stored.

    Raises:
        StoreError: A result could not be stored.
    """
    failures: list[Failure] = []
    known = list(_known(journal, results, takes_media=True))
    wanted = [item for item in known if item.place is None and not item.is_reference]
    _store(journal, wanted, failures, redact)
    if failures:
        raise failures[0].error
    change = ContextChange()
    for item in known:
        if item.place is not None:
            paths[item.result.tool_use_id] = item.place.shown_path
    for item in wanted:
        if item.place is None:
            continue
        text = cleared_text(item.place.shown_path)
        change.entries += [_entry(KEPT_ORIGINAL, key, text, item.place) for key in item.keys] or [
            _entry_without_text(item, text)
        ]
    return change


def _known(
    journal: Journal, results: Sequence[OldResult], *, takes_media: bool = False
) -> Iterator[_Known]:
    """Yield what is known of each result that has a text, or anything at all."""
    for index, result in enumerate(results):
        parts = text_parts(result.content)
        if parts is None:
            if takes_media and isinstance(result.content, (list, tuple)) and result.content:
                yield _Known(index, result, "", [], None, is_reference=False)
            continue
        if not any(part and not part.isspace() for part in parts):
            continue
        yield _read(journal, index, result, parts)


def _read(journal: Journal, index: int, result: OldResult, parts: tuple[str, ...]) -> _Known:
    text = "".join(parts)
    own_key = Key(result.tool_use_id, journal.fingerprint(parts))
    decided = journal.state.decisions_about(result.tool_use_id)
    stands_for = [
        Key(result.tool_use_id, fingerprint)
        for fingerprint, replacement in decided.items()
        if replacement == text
    ]
    is_reference = bool(stands_for) or is_framed_reference(text)
    keys = [own_key, *(key for key in stands_for if key != own_key)]
    original = journal.ledger.originals.get(own_key)
    notice = original.replacement if original is not None else text
    shown_path = _shown_path(notice) if is_reference or original is not None else None
    place = None if shown_path is None else _place(journal, keys, shown_path)
    return _Known(index, result, text, keys, place, is_reference)


def _place(journal: Journal, keys: Sequence[Key], shown_path: str) -> _Place:
    for key in keys:
        file = journal.file_of(key)
        # A file of another session's folder is known from what was inherited.
        if file is not None and file.session_id == journal.session_id:
            return _Place(shown_path, file.name, file.digest)
    return _Place(shown_path)


def _shown_path(reference: str) -> str | None:
    notice = "\n".join(reference.split("\n", _NOTICE_LINES)[:_NOTICE_LINES])
    found = _SAVED_TO.search(notice)
    return None if found is None else found[1]


def _gains(item: _Known, journal: Journal) -> bool:
    """Tell whether clearing would make a result shorter, before it is stored for nothing."""
    is_json = is_json_content(item.result.content)
    path = expected_path(journal.store, item.result.tool_use_id, is_json=is_json)
    return len(cleared_text(path)) < len(item.text)


def _store(
    journal: Journal,
    wanted: Sequence[_Known],
    failures: list[Failure],
    redact: Callable[[str], str] | None,
) -> None:
    """Store results and take note of where; those that fail stay without a place."""
    items: list[tuple[str, Content]] = []
    to_store: list[_Known] = []
    for item in wanted:
        try:
            items.append((item.result.tool_use_id, _redacted(item.result.content, redact)))
        except Exception as error:  # noqa: BLE001 - whatever the host's hook raises, nothing is lost
            failures.append(Failure("redact", item.result.tool_use_id, error))
            continue
        to_store.append(item)
    if not items:
        return
    for item, stored in zip(to_store, put_items(items, journal.store), strict=True):
        if isinstance(stored, Exception):
            failures.append(Failure("store", item.result.tool_use_id, stored))
        else:
            item.place = _Place(stored.shown_path, stored.file_name, stored.digest)


def _redacted(content: object, redact: Callable[[str], str] | None) -> Content:
    if redact is None:
        return cast("Content", content)
    if isinstance(content, str):
        return redact_part(redact, content)
    return [_redacted_block(block, redact) for block in cast("Sequence[Any]", content)]


def _redacted_block(block: Any, redact: Callable[[str], str]) -> Any:  # noqa: ANN401 - any block
    text = text_field(block, "text") if text_field(block, "type") == "text" else None
    if text is None or not is_mapping(block):
        return block
    return {**block, "text": redact_part(redact, text)}


def _entry(kind: str, key: Key, text: str, place: _Place) -> ContentReplacementRecord:
    return ContentReplacementRecord(
        kind=kind,
        tool_use_id=key.tool_use_id,
        replacement=text,
        size=key.fingerprint.size_chars,
        hash=key.fingerprint.hash,
        file=place.file,
        file_digest=place.digest,
    )


def _entry_without_text(item: _Known, text: str) -> ContentReplacementRecord:
    """Return the entry of a result that holds more than text, which no fingerprint is of."""
    assert item.place is not None  # noqa: S101 - only what was stored has an entry
    return ContentReplacementRecord(
        kind=KEPT_ORIGINAL,
        tool_use_id=item.result.tool_use_id,
        replacement=text,
        size=None,
        hash=None,
        file=item.place.file,
        file_digest=item.place.digest,
    )
