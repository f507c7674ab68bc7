from __future__ import annotations

import errno
import threading
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.model_crashes import crash_images, durable_image, sampled_images
from tests.faults.model_files import Crash, ModelFiles
from tests.faults.opening import open_session
from tests.faults.workload import LIMITS, SESSION_ID, history, sent_texts
from tests.layer.storage.faulty import UnsyncedFiles
from toolbudget.storage._files import POSIX
from toolbudget.storage.inspection import find_sessions, inspect_root, inspect_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolbudget.storage._filesystem import InspectableFileSystem

Step = tuple[Any, ...]

NAMES = st.sampled_from(["a", "b", "c", "link", "x" * 256, "", "nul\0"])
HANDLES = st.integers(0, 9)
PATHS = st.sampled_from(["", "/a", "/b", "/a/b", "/link", "/link/a", "/loop"])


def steps(method: str, *arguments: st.SearchStrategy[Any]) -> st.SearchStrategy[Step]:
    """Generate calls of one method, handles given by number."""
    return st.tuples(st.just(method), *arguments)


STEPS = st.one_of(
    steps("open_root", PATHS),
    steps("make_root", PATHS),
    steps("open_directory", NAMES, HANDLES),
    steps("make_directory", NAMES, HANDLES),
    steps("create_unnamed", HANDLES),
    steps("create_exclusive", NAMES, HANDLES),
    steps("open_file", NAMES, HANDLES),
    steps("open_append", NAMES, HANDLES, st.booleans()),
    steps("link_unnamed", HANDLES, NAMES, HANDLES),
    steps("link", NAMES, NAMES, HANDLES, HANDLES),
    steps("replace", NAMES, NAMES, HANDLES),
    steps("unlink", NAMES, HANDLES),
    steps("write", HANDLES, st.binary(max_size=9)),
    steps("read", HANDLES, st.integers(0, 9), st.integers(0, 9)),
    steps("truncate", HANDLES, st.integers(-1, 9)),
    steps("status", HANDLES),
    steps("names", HANDLES),
    steps("sync", HANDLES),
    steps("sync_data", HANDLES),
    steps("sync_directory", HANDLES),
    steps("lock", HANDLES, st.booleans()),
    steps("unlock", HANDLES),
    steps("close", HANDLES),
    steps("look", NAMES, HANDLES),
)


class Side:
    """One of two file systems to be compared, with the handles open on it."""

    def __init__(self, files: InspectableFileSystem, root: str) -> None:
        self.files = files
        self.root = root
        self.handles = [files.open_root(root)]

    def take(self, step: Step) -> object:
        """Make a call, and say what came of it."""
        method, *arguments = step
        try:
            return getattr(self, f"_{method}", self._other)(method, *arguments)
        except OSError as error:
            return errno.errorcode[error.errno or 0]
        except ValueError:
            return "ValueError"

    def close(self) -> None:
        """Close every handle."""
        for handle in self.handles:
            self.files.close(handle)

    def tree(self, parent: int) -> dict[str, object]:
        """Give all names and contents below a directory."""
        return {name: self._content(name, parent) for name in sorted(self.files.names(parent))}

    def _content(self, name: str, parent: int) -> object:
        kind = self.files.look(name, parent=parent).kind
        if kind == "symbolic link":
            return kind
        is_file = kind == "file"
        opening = self.files.open_file if is_file else self.files.open_directory
        handle = opening(name, parent=parent)
        try:
            return self.files.read(handle, 1 << 20, offset=0) if is_file else self.tree(handle)
        finally:
            self.files.close(handle)

    def _at(self, number: int) -> int:
        return self.handles[number % len(self.handles)]

    def _opened(self, handle: int) -> str:
        self.handles.append(handle)
        return "opened"

    def _open_root(self, _method: str, path: str) -> object:
        return self._opened(self.files.open_root(self.root + path))

    def _make_root(self, _method: str, path: str) -> None:
        self.files.make_root(self.root + path)

    def _open_append(self, _method: str, name: str, number: int, create: object) -> object:
        parent = self._at(number)
        return self._opened(self.files.open_append(name, parent=parent, create=bool(create)))

    def _create_unnamed(self, _method: str, number: int) -> object:
        return self._opened(self.files.create_unnamed(parent=self._at(number)))

    def _link_unnamed(self, _method: str, handle: int, name: str, parent: int) -> None:
        self.files.link_unnamed(self._at(handle), name, parent=self._at(parent))

    def _link(self, _method: str, source: str, name: str, above: int, parent: int) -> None:
        places = {"source_parent": self._at(above), "parent": self._at(parent)}
        self.files.link(source, name, **places)

    def _replace(self, _method: str, source: str, name: str, parent: int) -> None:
        self.files.replace(source, name, parent=self._at(parent))

    def _read(self, _method: str, number: int, max_bytes: int, offset: int) -> object:
        return self.files.read(self._at(number), max_bytes, offset=offset)

    def _lock(self, _method: str, number: int, is_exclusive: object) -> None:
        self.files.lock(self._at(number), exclusive=bool(is_exclusive), blocking=False)

    def _status(self, _method: str, number: int) -> object:
        found = self.files.status(self._at(number))
        size_bytes = found.size_bytes if found.is_regular else None
        return found.is_regular, found.is_directory, size_bytes

    def _names(self, _method: str, number: int) -> object:
        return sorted(self.files.names(self._at(number)))

    def _look(self, _method: str, name: str, number: int) -> object:
        found = self.files.look(name, parent=self._at(number))
        return found.kind, found.size_bytes if found.kind == "file" else None

    def _close(self, _method: str, number: int) -> None:
        # The last one stays: numbers of handles count from what is left.
        if len(self.handles) > 1:
            self.files.close(self.handles.pop(number % len(self.handles)))

    def _other(self, method: str, first: Any, second: Any = None) -> object:  # noqa: ANN401
        call = getattr(self.files, method)
        if isinstance(first, int):
            return call(self._at(first)) if second is None else call(self._at(first), second)
        result = call(first, parent=self._at(second))
        return result if result is None else self._opened(result)


@given(plan=st.lists(STEPS, max_size=60))
def test_the_model_does_what_the_real_one_does(
    new_root: Callable[[], Path], plan: list[Step]
) -> None:
    """Any sequence of calls gives the same results, errors and contents as on the real disk."""
    root = new_root()
    root.mkdir()
    (root / "link").symlink_to("a")
    (root / "loop").symlink_to("loop")
    model_files = new_model(root)
    real, model = Side(UnsyncedFiles(), str(root)), Side(model_files, str(root))
    for target, name in (("a", "link"), ("loop", "loop")):
        model_files.plant_link(target, name, parent=model.handles[0])
    try:
        for step in plan:
            assert model.take(step) == real.take(step), step
        top = [POSIX.open_root(str(root)), model_files.open_root(str(root))]
        real.handles.append(top[0])
        assert real.tree(top[0]) == model.tree(top[1])
    finally:
        real.close()


def new_model(path: Path) -> ModelFiles:
    """Give a model in which a folder exists, and nothing else."""
    files = ModelFiles()
    for above in [*reversed(path.parents), path][1:]:
        files.make_root(str(above))
    return files


@pytest.fixture
def files() -> ModelFiles:
    """Give a model with a durable folder ``/root``."""
    return durable(new_model(Path("/root")))


@pytest.fixture
def parent(files: ModelFiles) -> int:
    """Give the open folder ``/root``."""
    return files.open_root("/root")


def durable(files: ModelFiles) -> ModelFiles:
    """Bring all folders of a model to its disk, and give it anew."""
    *_, image = crash_images(files)
    return image


def contents(files: ModelFiles) -> dict[str, object]:
    """Give all names and contents below ``/root``."""
    side = Side(files, "/root")
    return side.tree(side.handles[0])


def put(files: ModelFiles, name: str, data: bytes, parent: int) -> int:
    """Make a file, its name durable, and write something that is not."""
    handle = files.create_exclusive(name, parent=parent)
    files.sync_directory(parent)
    files.write(handle, data)
    return handle


def images_of(files: ModelFiles) -> list[dict[str, object]]:
    """Give what each crash image holds."""
    return [contents(image) for image in crash_images(files)]


class TestHandles:
    """Handles end, and locks belong to them."""

    def test_a_closed_handle_is_none(self, files: ModelFiles, parent: int) -> None:
        """Every call with a closed handle is refused."""
        files.close(parent)
        for call in (files.status, files.names, files.sync, files.unlock, files.close):
            with pytest.raises(OSError, match="Bad file descriptor"):
                call(parent)

    def test_a_lock_is_waited_for(self, files: ModelFiles, parent: int) -> None:
        """Who locks what another handle holds gets it when that is closed."""
        first = files.open_append("file", parent=parent, create=True)
        second = files.open_append("file", parent=parent, create=False)
        files.lock(first, exclusive=True)
        with pytest.raises(BlockingIOError):
            files.lock(second, exclusive=False, blocking=False)
        waiting = threading.Thread(target=lambda: files.lock(second, exclusive=True))
        waiting.start()
        files.close(first)
        waiting.join(timeout=10)
        assert not waiting.is_alive()

    def test_a_restart_drops_every_lock(self, files: ModelFiles, parent: int) -> None:
        """After the end of all processes nothing is locked, and unsynced bytes are still there."""
        files.lock(put(files, "file", b"data", parent), exclusive=True)
        again = files.restarted()
        handle = again.open_append("file", parent=again.open_root("/root"), create=False)
        again.lock(handle, exclusive=True, blocking=False)
        assert contents(again) == {"file": b"data"}


class TestSessions:
    """A session does not notice where it is."""

    def test_a_session_sends_what_it_sends_on_the_real_disk(self, root: Path) -> None:
        """Resumed, forked and with a sub-agent, every text is the same."""
        model = new_model(root.parent)
        assert list(texts_of_a_family(root, model)) == list(texts_of_a_family(root, POSIX))

    def test_the_doctor_looks_at_a_model(self) -> None:
        """What a session leaves there is sound."""
        model = new_model(Path("/home"))
        list(texts_of_a_family(Path("/home/root"), model))
        _, places = find_sessions("/home/root", files=model)
        reports = [inspect_session(place, files=model) for place in places]
        # Two in each turn: of the fork, and of the session together with its sub-agent.
        assert [report.replacements for report in reports] == [2 * 2, 2 * 2 + 3 * 2]
        assert all(report.is_healthy for report in reports)
        assert not inspect_root(Path("/home/root"), files=model)


def texts_of_a_family(root: Path, files: InspectableFileSystem) -> Iterator[list[str]]:
    """Yield what a session, its fork and its sub-agent send."""
    with open_session(root, SESSION_ID, files=files, limits=LIMITS) as session:
        yield sent_texts(session.enforce(history(1)))
        with session.fork("fork") as fork, session.subagent("agent") as agent:
            yield sent_texts(fork.enforce(history(2)))
            yield sent_texts(agent.enforce(history(3)))
    with open_session(root, SESSION_ID, files=files, limits=LIMITS) as session:
        yield sent_texts(session.enforce(history(2)))


class TestCrashes:
    """What has been synced stays; of the rest anything may be left."""

    def test_synced_bytes_stay(self, files: ModelFiles, parent: int) -> None:
        """Once name and bytes are synced there is one outcome."""
        files.sync_data(put(files, "file", b"data", parent))
        assert images_of(files) == [{"file": b"data"}]

    def test_unsynced_bytes_are_absent_whole_torn_or_zeros(
        self, files: ModelFiles, parent: int
    ) -> None:
        """Each outcome of a write comes up once, that of the last sync first."""
        put(files, "file", b"12345678", parent)
        parts = [b"", b"12345678", b"1234", b"1234567", bytes(8)]
        assert images_of(files) == [{"file": part} for part in parts]

    def test_a_later_write_may_last_without_the_one_before(
        self, files: ModelFiles, parent: int
    ) -> None:
        """What is missing before it reads as zeros."""
        files.write(put(files, "file", b"12", parent), b"34")
        assert {"file": b"\0\x0034"} in images_of(files)
        assert {"file": b"12"} in images_of(files)

    def test_names_last_in_any_subset(self, files: ModelFiles, parent: int) -> None:
        """A later name may be there without an earlier one, until the directory is synced."""
        for name in ("a", "b"):
            files.make_directory(name, parent=parent)
        assert sorted(map(sorted, images_of(files))) == [[], ["a"], ["a", "b"], ["b"]]
        files.sync_directory(parent)
        assert images_of(files) == [{"a": {}, "b": {}}]

    def test_a_file_is_not_synced_with_its_name(self, files: ModelFiles, parent: int) -> None:
        """To sync a file says nothing about its name, and the other way round."""
        handle = files.create_unnamed(parent=parent)
        files.write(handle, b"data")
        files.sync(handle)
        files.link_unnamed(handle, "file", parent=parent)
        assert images_of(files) == [{}, {"file": b"data"}]

    def test_two_names_show_the_same_outcome(self, files: ModelFiles, parent: int) -> None:
        """A file with two names is one file in every image."""
        put(files, "a", b"12345678", parent)
        files.link("a", "b", source_parent=parent, parent=parent)
        both = [image for image in images_of(files) if len(image) == 2]
        assert all(image["a"] == image["b"] for image in both)
        assert len(both) == 5

    def test_a_removed_name_may_come_back(self, files: ModelFiles, parent: int) -> None:
        """A removal lasts as little as anything else."""
        files.sync(put(files, "file", b"data", parent))
        files.unlink("file", parent=parent)
        assert images_of(files) == [{"file": b"data"}, {}]

    def test_an_image_is_durable(self, files: ModelFiles, parent: int) -> None:
        """What a crash has left is on the disk."""
        put(files, "file", b"12345678", parent)
        for image in crash_images(files):
            assert contents(durable_image(image)) == contents(image)

    def test_a_sample_holds_the_poorest_image(self, files: ModelFiles, parent: int) -> None:
        """Of too many images some are taken, and it is said that these are not all."""
        for name in "abc":
            put(files, name, b"12345678", parent)
        images, are_all = sampled_images(files, 10, Random(1))  # noqa: S311
        assert (len(images), are_all) == (10, False)
        assert contents(images[0]) == {"a": b"", "b": b"", "c": b""}
        images, are_all = sampled_images(files, 125, Random(1))  # noqa: S311
        assert (len(images), are_all) == (125, True)

    def test_the_dead_do_nothing(self, files: ModelFiles, parent: int) -> None:
        """From the N-th change on every call ends the program, except giving back what it held."""
        files.crash_at(files.operations + 2)
        handle = files.create_exclusive("file", parent=parent)
        calls: list[Callable[[], object]] = [
            lambda: files.write(handle, b"data"),
            lambda: files.names(parent),
            lambda: files.open_root("/root"),
        ]
        for call in calls:
            with pytest.raises(Crash):
                call()
        files.close(handle)
        assert contents(files.restarted()) == {"file": b""}

    def test_a_killed_write_may_be_half_done(self, files: ModelFiles, parent: int) -> None:
        """The last write takes half of its bytes, if so wished."""
        handle = files.create_exclusive("file", parent=parent)
        files.crash_at(files.operations + 1, tears_write=True)
        with pytest.raises(Crash):
            files.write(handle, b"12345678")
        assert contents(files.restarted()) == {"file": b"1234"}

    def test_waiting_for_a_lock_ends_with_the_machine(self, files: ModelFiles, parent: int) -> None:
        """A thread that waits for a lock dies with all others."""
        first = files.open_append("file", parent=parent, create=True)
        second = files.open_append("file", parent=parent, create=False)
        files.lock(first, exclusive=True)
        died = threading.Event()

        def wait() -> None:
            with pytest.raises(Crash):
                files.lock(second, exclusive=True)
            died.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        files.crash_at(files.operations + 1)
        with pytest.raises(Crash):
            files.sync(first)
        waiting.join(timeout=10)
        assert died.is_set()
