"""Reading stored results back: of this conversation and what it inherited, and of nothing else."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from toolbudget._display import shown
from toolbudget._threads import in_thread
from toolbudget.errors import ConfigError, ToolError, ToolInputError
from toolbudget.storage._numbers import check_whole_number
from toolbudget.storage._session_files import STORED_NAME
from toolbudget.storage.page_note import page_with_note
from toolbudget.storage.search import MAX_MATCHES, SearchHits, add_up, check_pattern, search_text
from toolbudget.storage.search_note import hits_with_notes
from toolbudget.storage.store import DirectoryStore, MemoryStore
from toolbudget.storage.text_page import MAX_PAGE_CHARS, TextPage, TextSource, read_page
from toolbudget.storage.text_source import BytesSource, open_stored, text_of_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolbudget.budget.engine import Engine
    from toolbudget.budget.home import Home
    from toolbudget.budget.settings import Settings

__all__ = ["Reading"]

_JSON_SUFFIX: Final = ".json"


class Stored(NamedTuple):
    """One stored result: the folder of results that it is in, and its name there."""

    store: DirectoryStore | MemoryStore
    name: str

    @property
    def path(self) -> str:
        """Where this process reaches it."""
        return str(self.store.directory / self.name)

    def is_named_by(self, path: str) -> bool:
        """Whether a path is that of the file, or the one that the model was shown.

        Compared as a whole: no part of a path that others have written is ever followed.
        """
        if path == self.path:
            return True
        try:
            return path == self.store.shown_path(self.name)
        except ConfigError:
            return False


class Reading:
    """What a session does with results that it has stored."""

    _engine: Engine
    _home: Home
    _settings: Settings

    def read_result(
        self,
        tool_use_id: str,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        start_byte: int | None = None,
        max_chars: int = MAX_PAGE_CHARS,
        raw: bool = False,
    ) -> str:
        r"""Return a stored result, or a page of it, as a model is shown it.

        If there is more, a last line says how to go on; reading on as it says always comes to the
        end. Only results of this conversation are read, and those that it inherited.

        Args:
            tool_use_id: The result's id, or the path that its reference names.
            start_line: First line, from 1; by default the first one.
            end_line: Last line, inclusive; by default that of the result.
            start_byte: Where to begin instead, in bytes of the UTF-8 text.
            max_chars: The most characters of it that are shown, in whole lines if a line fits.
            raw: Show a result of several blocks as the JSON that is stored, not as its text.

        Raises:
            ToolInputError: The range cannot be, or lies behind the end.
            ToolError: Nothing of this conversation is stored under that id or path, or it is gone.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> text = "".join(f"line {number}\n" for number in range(1, 20_001))
            >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": text}
            >>> _ = session.gate(block, tool_name="Fetch")
            >>> print(session.read_result("t1", start_line=19_999, max_chars=12))
            line 19999
            [Line 19999, bytes 208872-208883 of 204KB. Continue with start_line=20000.]
        """
        page = self.result_page(
            tool_use_id,
            start_line=start_line,
            end_line=end_line,
            start_byte=start_byte,
            max_chars=max_chars,
            raw=raw,
        )
        return page_with_note(page, end_line=end_line)

    async def aread_result(
        self,
        tool_use_id: str,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        start_byte: int | None = None,
        max_chars: int = MAX_PAGE_CHARS,
        raw: bool = False,
    ) -> str:
        """Do what :meth:`read_result` does without blocking the event loop."""
        return await in_thread(
            self.read_result,
            tool_use_id,
            start_line=start_line,
            end_line=end_line,
            start_byte=start_byte,
            max_chars=max_chars,
            raw=raw,
        )

    def result_page(
        self,
        tool_use_id: str,
        *,
        start_line: int | None = None,
        end_line: int | None = None,
        start_byte: int | None = None,
        max_chars: int = MAX_PAGE_CHARS,
        raw: bool = False,
    ) -> TextPage:
        """Return what :meth:`read_result` shows, with where it stands and where it goes on.

        Raises:
            ToolInputError: The range cannot be, or lies behind the end.
            ToolError: Nothing of this conversation is stored under that id or path, or it is gone.
        """
        if not isinstance(tool_use_id, str):
            raise ToolInputError(f"tool_use_id must be text: {shown(tool_use_id)}")
        with self._open(self._find(tool_use_id), raw=raw) as source:
            return read_page(
                source,
                start_line=start_line,
                end_line=end_line,
                start_byte=start_byte,
                max_chars=max_chars,
            )

    def search_results(
        self,
        pattern: str,
        *,
        tool_use_id: str | None = None,
        context_lines: int = 2,
        max_matches: int = MAX_MATCHES,
    ) -> str:
        r"""Search the stored results of this conversation, and say what is found where.

        Lines are shown as ``id:line: text``, those around a match as ``id-line- text``; long ones
        are cut around the match. It takes the native core.

        Args:
            pattern: A regular expression, as ripgrep takes it.
            tool_use_id: Search only this result, named by its id or path.
            context_lines: How many lines before and after a match to show.
            max_matches: The most matching lines to show; how many more there are is said.

        Raises:
            ToolInputError: The pattern is none, or a number is out of its bounds.
            ToolError: There is no such result, or the native core is missing.

        Example:
            >>> import tempfile, toolbudget
            >>> session = toolbudget.Session.open(tempfile.mkdtemp(), "demo")
            >>> text = "fine\n" * 20_000 + "error: no such table\n"
            >>> block = {"type": "tool_result", "tool_use_id": "t1", "content": text}
            >>> _ = session.gate(block, tool_name="Fetch")
            >>> try:
            ...     print(session.search_results("error", context_lines=0))
            ... except toolbudget.ToolError:  # the pure core does not search
            ...     print("t1:20001: error: no such table")
            t1:20001: error: no such table
        """
        hits = self.result_hits(
            pattern,
            tool_use_id=tool_use_id,
            context_lines=context_lines,
            max_matches=max_matches,
        )
        return hits_with_notes(
            hits,
            pattern,
            remedy="a longer pattern, or one tool_use_id",
            max_chars=MAX_PAGE_CHARS,
        )

    async def asearch_results(
        self,
        pattern: str,
        *,
        tool_use_id: str | None = None,
        context_lines: int = 2,
        max_matches: int = MAX_MATCHES,
    ) -> str:
        """Do what :meth:`search_results` does without blocking the event loop."""
        return await in_thread(
            self.search_results,
            pattern,
            tool_use_id=tool_use_id,
            context_lines=context_lines,
            max_matches=max_matches,
        )

    def result_hits(
        self,
        pattern: str,
        *,
        tool_use_id: str | None = None,
        context_lines: int = 2,
        max_matches: int = MAX_MATCHES,
    ) -> SearchHits:
        """Return what :meth:`search_results` tells, as values.

        Raises:
            ToolInputError: The pattern is none, or a number is out of its bounds.
            ToolError: There is no such result, or the native core is missing.
        """
        check_whole_number("context_lines", context_lines, minimum=0)
        check_whole_number("max_matches", max_matches, minimum=1)
        check_pattern(pattern)
        parts: list[SearchHits] = []
        room = max_matches
        with ExitStack() as stack:
            for label, source in self._sources(tool_use_id, stack):
                if source is None:
                    parts.append(SearchHits((), 0, 0, unreadable=1, is_partial=False))
                    continue
                hits = search_text(
                    pattern,
                    source.read,
                    label=label,
                    max_matches=room,
                    context_lines=context_lines,
                )
                room -= min(hits.matches, room)
                parts.append(hits)
                stack.close()
        return add_up(parts)

    def _sources(
        self, tool_use_id: str | None, stack: ExitStack
    ) -> Iterator[tuple[str, TextSource | None]]:
        """Yield each result that is searched, open; ``None`` for one that is gone.

        Raises:
            ToolError: There is no such result, or the one that is named is gone.
        """
        if tool_use_id is not None:
            source = stack.enter_context(self._open(self._find(tool_use_id), raw=False))
            yield tool_use_id, source
            return
        for file, known_id in self._engine.stored_files().items():
            stored = Stored(self._store_of(file.session_id), file.name)
            # An id that came again stands for its latest result.
            label = known_id if self._engine.latest_file(known_id) == file else stored.path
            try:
                source = stack.enter_context(self._open(stored, raw=False))
            except ToolError:
                yield label, None
                continue
            yield label, source

    def _find(self, reference: str) -> Stored:
        """Return the result that an id or path stands for.

        Raises:
            ToolError: There is none in this conversation.
        """
        file = self._engine.latest_file(reference)
        if file is not None:
            return Stored(self._store_of(file.session_id), file.name)
        name = Path(reference).name
        if STORED_NAME.fullmatch(name):
            for stored in self._named(name):
                if stored.is_named_by(reference):
                    return stored
        raise ToolError(f"not a stored result of this conversation: {shown(reference)}")

    def _named(self, name: str) -> Iterator[Stored]:
        """Yield what may be stored under a file name: in the own folder, and what was inherited."""
        own = self._engine.store
        if isinstance(own, DirectoryStore | MemoryStore):
            yield Stored(own, name)
        for file in self._engine.stored_files():
            if file.name == name and file.session_id != self._home.session_id:
                yield Stored(self._store_of(file.session_id), name)

    def _store_of(self, session_id: str) -> DirectoryStore | MemoryStore:
        if session_id != self._home.session_id:
            return DirectoryStore(
                self._home.results_of(session_id),
                display_path=self._settings.display_path,
                anchor=self._home.root,
                files=self._home.files,
            )
        store = self._engine.store
        if not isinstance(store, DirectoryStore | MemoryStore):
            raise ToolError(f"the host's own store keeps the results: {type(store).__name__}")
        return store

    @contextmanager
    def _open(self, stored: Stored, *, raw: bool) -> Iterator[TextSource]:
        is_json = stored.name.endswith(_JSON_SUFFIX) and not raw
        if isinstance(stored.store, MemoryStore):
            data = stored.store.contents.get(stored.path)
            if data is None:
                raise ToolError(f"the stored result is gone: {stored.path!r}")
            yield BytesSource(text_of_blocks(data) if is_json else data)
            return
        root, names = stored.store.place_of(stored.name)
        with open_stored(root, names, files=self._home.files) as source:
            if is_json:
                yield BytesSource(text_of_blocks(source.read(0, source.size_bytes)))
            else:
                yield source
