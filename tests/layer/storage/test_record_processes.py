from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import pytest

from tests.layer.storage.faulty import FaultyFiles
from tests.layer.storage.record_samples import append, load, named, record
from toolbudget.storage._files import POSIX
from toolbudget.storage.record_log import RecordLog

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")

# A process that appends records of different lengths, up to more than 8 KB each.
APPENDER: Final = """
import sys
from pathlib import Path
from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.records import ContentReplacementRecord, content_replacement

root, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
log = RecordLog(root, "s1", durability="process")
for number in range(count):
    entry = ContentReplacementRecord(
        "tool-result", f"{name}{number}", "x" * (number * 37 % 8_000), 9, "0" * 32
    )
    with log.locked() as locked:
        locked.append(
            content_replacement(session_id="s1", timestamp="t", replacements=[entry]), sync=False
        )
"""

# A process that decides each id unless another has done so, and tells what holds.
DECIDER: Final = """
import json, sys
from pathlib import Path
from toolbudget.storage.record_log import RecordLog
from toolbudget.storage.records import ContentReplacementRecord, content_replacement

root, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
log = RecordLog(root, "s1", durability="process")
decided = {}

def adopt(records):
    for found in records:
        for entry in found.replacements:
            decided.setdefault(entry.tool_use_id, entry.replacement)

adopt(log.load())
for number in range(count):
    with log.locked() as locked:
        adopt(locked.read_tail())
        if str(number) not in decided:
            entry = ContentReplacementRecord("tool-result", str(number), name, 9, "0" * 32)
            locked.append(
                content_replacement(session_id="s1", timestamp="t", replacements=[entry]),
                sync=False,
            )
            decided[str(number)] = name
print(json.dumps(decided))
"""

# A process that takes the lock, says so, and never gives it back.
HOLDER: Final = """
import sys, time
from pathlib import Path
from toolbudget.storage.record_log import RecordLog

with RecordLog(Path(sys.argv[1]), "s1").locked():
    print("locked", flush=True)
    time.sleep(600)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a fresh interpreter on a script."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


def run_together(script: str, *argument_lists: tuple[object, ...]) -> list[str]:
    """Run a script several times at once; give what each run printed."""
    with ExitStack() as started:
        processes = [
            started.enter_context(start(script, *arguments)) for arguments in argument_lists
        ]
        outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return outputs


def test_appends_of_two_processes_never_mix(tmp_path: Path) -> None:
    """Row 26: two processes, 500 records each, some of 8 KB: 1000 whole lines and one header."""
    run_together(APPENDER, (tmp_path, "a", 500), (tmp_path, "b", 500))
    lines = (tmp_path / "s1.jsonl").read_bytes().split(b"\n")
    assert lines.pop() == b""
    types = Counter(json.loads(line)["type"] for line in lines)
    assert types == {"toolbudget-session": 1, "content-replacement": 1000}
    log = RecordLog(tmp_path, "s1")
    names = named(log.load())
    assert log.skipped == 0
    for name in "ab":
        own = [found for found in names if found.startswith(name)]
        assert own == [f"{name}{number}" for number in range(500)]


def test_processes_agree_on_every_decision(tmp_path: Path) -> None:
    """Whoever comes second adopts what the first recorded: there is one decision for each id."""
    runs = [(tmp_path, name, 60) for name in "abc"]
    first, *others = (json.loads(output) for output in run_together(DECIDER, *runs))
    assert all(other == first for other in others)
    assert sorted(load(tmp_path), key=int) == [str(number) for number in range(60)]


def test_appends_of_threads_never_mix(tmp_path: Path) -> None:
    """The same between threads, with one log for all and with a log each."""
    shared = RecordLog(tmp_path, "s1", durability="process")

    def append_many(worker: int) -> None:
        log = shared if worker % 2 else RecordLog(tmp_path, "s1", durability="process")
        for number in range(50):
            append(log, f"{worker}-{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append_many, range(4)))
    names = load(tmp_path)
    assert sorted(names) == sorted(
        f"{worker}-{number}" for worker in range(4) for number in range(50)
    )
    assert RecordLog(tmp_path, "s1").skipped == 0


def test_a_dead_process_leaves_no_lock(tmp_path: Path) -> None:
    """The lock of a killed process is gone with it."""
    with start(HOLDER, tmp_path) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        done = threading.Event()

        def decide() -> None:
            append(RecordLog(tmp_path, "s1"), "a")
            done.set()

        waiting = threading.Thread(target=decide)
        waiting.start()
        assert not done.wait(0.1)
        holder.kill()
        waiting.join(timeout=60)
    assert done.is_set()
    assert load(tmp_path) == ["a"]


class CopyingFiles(FaultyFiles):
    """A file system whose handles also live on in a copy, as in a forked child."""

    def __init__(self) -> None:
        super().__init__()
        self.copies: list[int] = []

    def open_append(self, name: str, *, parent: int, create: bool) -> int:
        """Open, and keep a copy of the handle."""
        handle = POSIX.open_append(name, parent=parent, create=create)
        self.copies.append(os.dup(handle))
        return handle


def test_a_copy_of_the_handle_holds_no_lock(tmp_path: Path) -> None:
    """A child forked while the lock was held does not keep it when its parent is done."""
    copying = CopyingFiles()
    append(RecordLog(tmp_path, "s1", files=copying.files), "a")
    assert copying.copies
    append(RecordLog(tmp_path, "s1"), "b")
    for copy in copying.copies:
        os.close(copy)
    assert load(tmp_path) == ["a", "b"]


def test_loading_waits_for_a_record_that_may_be_taken_back(tmp_path: Path) -> None:
    """While a record is being appended a session that is opened does not read half of it."""
    append(RecordLog(tmp_path, "s1"), "a")
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.extend(named(RecordLog(tmp_path, "s1").load())))
    with RecordLog(tmp_path, "s1").locked() as locked:
        reader.start()
        reader.join(timeout=0.1)
        assert reader.is_alive()
        locked.append(record("b"), sync=True)
    reader.join(timeout=60)
    assert found == ["a", "b"]
