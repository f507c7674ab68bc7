"""Storing under hostile ids, on the real disk and on one that is blind to case and forms."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from tests.builders import answer, call, is_reference, msg, read_reference, res, results_in
from tests.faults.opening import open_session
from tests.faults.workload import sent_texts
from toolbudget import ConfigError, DirectoryStore, Limits
from toolbudget.storage._files import POSIX
from toolbudget.storage.result import StoredResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolbudget.storage._files import FileSystem

__all__ = ["BlindFiles", "conversation_problems", "session_problems", "store_problems"]

_LIMITS: Final = Limits(max_message_chars=6_000, preview_bytes=20)
_RESULTS_PER_MESSAGE: Final = 40
_TEXT_CHARS: Final = 900
_NAMES_AT_ROOT: Final = {"root", "store"}
# JSON gives such an id back as another one: no record can name it, and the report says so.
_SPLIT_CHARACTER: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class BlindFiles:
    """The real file system, on which names that differ in case or Unicode form are one name."""

    @property
    def files(self) -> FileSystem:
        """The same object, as what it is used for."""
        return cast("FileSystem", self)

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call_real: Callable[..., Any] = getattr(POSIX, method)
        if "root" in method:
            return call_real

        def call_folded(*arguments: object, **options: object) -> object:
            folded = (_fold(part) if isinstance(part, str) else part for part in arguments)
            return call_real(*folded, **options)

        return call_folded


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def store_problems(folder: Path, ids: Sequence[str], files: FileSystem) -> list[str]:
    """Store two texts for every id, and the first again: three answers, two files, no other."""
    store = DirectoryStore(folder / "store", durability="process", files=files)
    rounds = [[(name, f"{kind} text of {name!r}") for name in ids] for kind in "ABA"]
    paths: list[list[Path]] = []
    problems: list[str] = []
    for items in rounds:
        outcomes = store.put_many(items)
        problems += [str(one) for one in outcomes if not isinstance(one, StoredResult)]
        paths.append([one.path for one in outcomes if isinstance(one, StoredResult)])
    if problems:
        return problems
    if paths[0] != paths[2]:
        problems.append("the same text again has another path")
    for items, found in zip(rounds, paths, strict=True):
        for (name, text), path in zip(items, found, strict=True):
            if path.parent != store.directory or _read(folder, path, files) != text.encode():
                problems.append(f"{name!r:.80}: another file or other bytes: {path.name!r:.80}")
    stored = Counter(path.read_bytes() for path in store.directory.iterdir())
    wanted = Counter(text.encode() for items in rounds[:2] for _, text in items)
    if stored != wanted:
        problems.append(f"{(stored - wanted).total()} files too many")
    return problems + _strangers(folder)


def conversation_problems(folder: Path, ids: Sequence[str], files: FileSystem) -> list[str]:
    """Run one conversation in which all ids occur, and resume it."""
    messages: list[dict[str, Any]] = []
    results = [
        (name, f"result {number} ".ljust(_TEXT_CHARS, ".")) for number, name in enumerate(ids)
    ]
    for first in range(0, len(results), _RESULTS_PER_MESSAGE):
        group = results[first : first + _RESULTS_PER_MESSAGE]
        messages.append(answer(*(call(name, "Fetch") for name, _ in group), message_id=str(first)))
        messages.append(msg(*(res(*result) for result in group)))
    problems = _run_twice(folder / "root", "session", None, messages, files)
    return problems + _strangers(folder)


def session_problems(folder: Path, ids: Sequence[str], files: FileSystem) -> list[str]:
    """Open a session and a sub-agent of every id at once, and resume each."""
    root = folder / "root"
    problems: list[str] = []
    for number, name in enumerate(ids):
        if _SPLIT_CHARACTER.search(name):
            problems += _not_refused(root, name, files)
            continue
        for agent_id in (None, name):
            text = f"text of {agent_id is None} {number} ".ljust(_TEXT_CHARS, ".")
            group = [res(f"call_{index}", f"{text}{index}") for index in range(10)]
            problems += _run_twice(root, name, agent_id, [msg(*group)], files)
    return problems + _strangers(folder)


def _not_refused(root: Path, name: str, files: FileSystem) -> list[str]:
    try:
        open_session(root, name, files=files).close()
    except ConfigError:
        return []
    return [f"{name!r:.80}: no record could name this session, yet it is opened"]


def _run_twice(
    root: Path,
    session_id: str,
    agent_id: str | None,
    messages: Sequence[Any],
    files: FileSystem,
) -> list[str]:
    name = f"{session_id!r:.80}" if agent_id is None else f"agent {agent_id!r:.80}"
    ids = {block["tool_use_id"] for block in results_in(messages)}
    unrecordable = sum(_SPLIT_CHARACTER.search(one) is not None for one in ids)
    sent: list[list[str]] = []
    results = root
    for limits in (_LIMITS, Limits()):
        with open_session(
            root, session_id, agent_id=agent_id, files=files, limits=limits, durability="process"
        ) as session:
            results = session.directory / "tool-results"
            sent.append(sent_texts(session.enforce(messages)))
            failures = session.report.failures
        if len(failures) > unrecordable:
            return [f"{name}: {failure}" for failure in failures]
    problems = [] if sent[0] == sent[1] else [f"{name}: another text after resume"]
    replaced = 0
    for original, text in zip(sent_texts(messages), sent[0], strict=True):
        if text == original:
            continue
        replaced += 1
        path = read_reference(text).path if is_reference(text) else Path()
        if path.parent != results:
            problems.append(f"{name}: stored elsewhere: {path}")
        elif _read(root, path, files) != original.encode():
            problems.append(f"{name}: reference to other bytes: {path.name}")
    return problems if replaced else [*problems, f"{name}: nothing was replaced"]


def _read(root: Path, path: Path, files: FileSystem) -> bytes | None:
    """Read a file below a root as the file system itself finds it; ``None`` if it does not."""
    *folders, file_name = path.relative_to(root).parts
    with ExitStack() as stack, suppress(OSError):
        directory = files.open_root(str(root))
        stack.callback(files.close, directory)
        for folder in folders:
            directory = files.open_directory(folder, parent=directory)
            stack.callback(files.close, directory)
        handle = files.open_file(file_name, parent=directory)
        stack.callback(files.close, handle)
        return files.read(handle, 1 << 20, offset=0)
    return None


def _strangers(folder: Path) -> list[str]:
    """Find what was made outside of the folders that were named."""
    return [
        f"stranger {path.name!r}" for path in folder.iterdir() if path.name not in _NAMES_AT_ROOT
    ]
