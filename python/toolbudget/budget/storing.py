"""Storing what a plan chose, and the replacements that came of it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple, cast

from toolbudget._core.pure import STYLE_VERSIONS
from toolbudget._display import shown
from toolbudget.budget.report import Failure
from toolbudget.errors import StoreError
from toolbudget.storage._paths import refuse_unshowable
from toolbudget.storage.names import result_name
from toolbudget.storage.records import ContentReplacementRecord
from toolbudget.storage.result import Placed, StoredResult, store_error
from toolbudget.storage.store import DirectoryStore, is_stored_as_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolbudget._core.pure import Choice
    from toolbudget.storage.store import Content, ResultStore

__all__ = ["Replaced", "StoreOutcome", "expected_path", "is_json_content"]
__all__ += ["path_prefix", "put_items", "store_choices"]


class Replaced(NamedTuple):
    """A choice whose full text is stored, with the exact replacement."""

    choice: Choice
    replacement: str
    stored: Placed
    record: ContentReplacementRecord
    """The entry that a record holds about it."""

    @classmethod
    def of(cls, choice: Choice, replacement: str, stored: Placed) -> Replaced:
        """Make it with its entry."""
        key, shown = choice.key, choice.shown
        record = ContentReplacementRecord(
            kind="tool-result",
            tool_use_id=key.tool_use_id,
            replacement=replacement,
            size=key.fingerprint.size_chars,
            hash=key.fingerprint.hash,
            file=stored.file_name,
            file_digest=stored.digest,
            style=None if shown is None else shown.style,
            style_version=None if shown is None else STYLE_VERSIONS[shown.style],
        )
        return cls(choice, replacement, stored, record)


@dataclass(slots=True)
class StoreOutcome:
    """What became of the choices: replaced, or kept because storing failed or gained nothing."""

    replaced: list[Replaced] = field(default_factory=list)
    kept: list[Choice] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    @property
    def bytes_stored(self) -> int:
        """Bytes that were newly written."""
        return sum(item.stored.size_bytes for item in self.replaced if item.stored.is_new)

    def give_up(self) -> None:
        """Keep everything after all: the replacements could not be recorded."""
        self.kept += [item.choice for item in self.replaced]
        self.replaced = []


def expected_path(store: ResultStore, tool_use_id: str, *, is_json: bool) -> str:
    """Return the path to reckon with before the store has spoken: the plain file name's.

    A store of the host's own need not know its paths beforehand.
    """
    ask = getattr(store, "expected_shown_path", None)
    if ask is not None:
        # If the host's own mapping fails, storing will report it.
        with suppress(Exception):
            return str(ask(tool_use_id, is_json=is_json))
    return result_name(tool_use_id) + (".json" if is_json else ".txt")


def path_prefix(store: ResultStore) -> str | None:
    """Return what :func:`expected_path` puts before the names of files, if it does nothing else.

    Example:
        >>> from toolbudget import DirectoryStore, MemoryStore
        >>> path_prefix(DirectoryStore("/data/results")), path_prefix(MemoryStore())
        ('/data/results/', None)
    """
    # A class of the host's own may give other paths.
    return store.path_prefix if type(store) is DirectoryStore else None


def is_json_content(content: object) -> bool:
    """Tell whether all-text content is stored as a JSON list rather than as its raw text."""
    return is_stored_as_json(cast("Content", content))


def store_choices(
    choices: Sequence[Choice], store: ResultStore, reader_hint: str | None
) -> StoreOutcome:
    """Store the full text of every choice as one batch; never raises for one of them."""
    outcome = StoreOutcome()
    items = [(choice.key.tool_use_id, _content_to_store(choice)) for choice in choices]
    for choice, stored in zip(choices, put_items(items, store), strict=True):
        if isinstance(stored, Exception):
            outcome.failures.append(Failure("store", choice.key.tool_use_id, stored))
            outcome.kept.append(choice)
            continue
        replacement = choice.replacement
        if stored.shown_path != choice.path:
            replacement = choice.build(stored.shown_path, reader_hint)
        # A name collision can make the path longer, and with it the replacement.
        if len(replacement) >= choice.size:
            outcome.kept.append(choice)
            continue
        outcome.replaced.append(Replaced.of(choice, replacement, stored))
    return outcome


def put_items(items: Sequence[tuple[str, Content]], store: ResultStore) -> list[Placed | Exception]:
    """Store contents by id as one batch; what went wrong with one stands in its place."""
    put_many = getattr(store, "put_many", None)
    if put_many is None:
        return [_put(store, tool_use_id, content) for tool_use_id, content in items]
    try:
        if type(store) is DirectoryStore:
            return list(store.place_many(items))
        return [_checked(outcome) for _, outcome in zip(items, put_many(items), strict=True)]
    except Exception as error:  # noqa: BLE001 - a host's own store may raise anything
        return [_as_store_error(error, tool_use_id, store) for tool_use_id, _ in items]


def _put(store: ResultStore, tool_use_id: str, content: Content) -> Placed | Exception:
    try:
        return _checked(store.put(tool_use_id, content))
    except Exception as error:  # noqa: BLE001 - a host's own store may raise anything
        return _as_store_error(error, tool_use_id, store)


def _checked(outcome: object) -> Placed | Exception:
    """Make sure of what a host's own store answers, before it enters a record or the frame.

    Raises:
        TypeError: It is no result, or has a field of a wrong type.
        ConfigError: Its path could not be shown to a model.
    """
    if isinstance(outcome, Exception):
        return outcome
    if not isinstance(outcome, StoredResult):
        raise TypeError(f"store gave no StoredResult but a {type(outcome).__name__}")
    file_name = PurePath(outcome.path).name
    if type(outcome.size_bytes) is not int or not isinstance(outcome.digest, str):
        raise TypeError(f"store gave a result with odd fields: {shown(outcome)}")
    refuse_unshowable(outcome.shown_path, "shown_path of a stored result")
    size_bytes, digest, shown_path = outcome.size_bytes, outcome.digest, outcome.shown_path
    return Placed(file_name, size_bytes, digest, shown_path, outcome.is_new)


def _as_store_error(error: Exception, tool_use_id: str, store: ResultStore) -> StoreError:
    if isinstance(error, StoreError):
        return error
    return store_error(error, tool_use_id, Path(type(store).__name__))


def _content_to_store(choice: Choice) -> Content:
    """Return the content as given, or with each text as the ``redact`` hook left it."""
    content = choice.content
    parts = choice.prepared.parts
    if not isinstance(content, (list, tuple)):
        return parts[0]
    if parts == choice.occurrences[0].parts:
        return cast("Content", content)
    blocks = cast("Sequence[Mapping[str, object]]", content)
    return [{**block, "text": text} for block, text in zip(blocks, parts, strict=True)]
