"""What a session may store: what does not fit is sent in full, and the report says so."""

from __future__ import annotations

import json
import math
import shutil
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import enforce, msg, res
from toolbudget import (
    ConfigError,
    DirectoryStore,
    Limits,
    MemoryStore,
    Session,
    StoredResult,
    StoreQuotaError,
)
from toolbudget.tools import bash

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 100_000
LARGE = "x" * 60_000
OTHER = "y" * 60_000


def open_session(root: Path, session_id: str = "s1", **options: Any) -> Session:  # noqa: ANN401
    """Open a session that may store 100,000 bytes."""
    defaults: dict[str, Any] = {"durability": "process", "max_stored_bytes": MAX_BYTES}
    options = defaults | options
    return Session.open(root, session_id, **options)


def stored_bytes(root: Path, session_id: str = "s1") -> int:
    """Add up what the session's folder of results holds."""
    return sum(path.stat().st_size for path in (root / session_id / "tool-results").iterdir())


def gate(session: Session, tool_use_id: str, text: str) -> bool:
    """Tell whether a result was replaced; one that was not is the very object that was given."""
    block = res(tool_use_id, text)
    result = session.gate(block, tool_name="Fetch")
    assert result is block or result["content"].startswith("<persisted-output>")
    return result is not block


def quota_failures(session: Session) -> list[str | None]:
    """Give the ids of the last call's failures, which are all for want of room."""
    failures = session.report.failures
    assert all(found.stage == "store" for found in failures)
    assert all(isinstance(found.error, StoreQuotaError) for found in failures)
    return [found.tool_use_id for found in failures]


def test_the_gate_leaves_what_does_not_fit(tmp_path: Path) -> None:
    """It is not decided: with more room it goes."""
    with open_session(tmp_path) as session:
        assert gate(session, "t1", LARGE)
        assert not gate(session, "t2", OTHER)
        assert quota_failures(session) == ["t2"]
        assert "60,000 of at most 100,000 bytes are taken, 60,000 more do not fit" in str(
            session.report.failures[0].error
        )
    assert stored_bytes(tmp_path) == len(LARGE)
    with open_session(tmp_path, max_stored_bytes=120_000) as session:
        assert gate(session, "t2", OTHER)
    assert stored_bytes(tmp_path) == 120_000


def test_a_budget_sends_in_full_what_does_not_fit(tmp_path: Path) -> None:
    """Nothing is lost, and what was kept once stays so when there is room again."""
    messages = [msg(res("t1", LARGE), res("t2", OTHER), res("t3", "z" * 10))]
    limits = Limits(max_message_chars=10_000)
    with open_session(tmp_path, limits=limits) as session:
        sent = enforce(session, messages)
        assert quota_failures(session) == ["t2"]
        assert sent[0]["content"][0]["content"].startswith("<persisted-output>")
        assert sent[0]["content"][1:] == messages[0]["content"][1:]
        assert session.report.over_limit_chars > 0
    with open_session(tmp_path, limits=limits, max_stored_bytes=math.inf) as session:
        assert enforce(session, messages) == sent
        assert session.report.failures == ()


def test_a_body_too(tmp_path: Path) -> None:
    """The same of bytes: what does not fit stays byte for byte."""
    body = json.dumps({"messages": [msg(res("t1", LARGE), res("t2", OTHER))]}).encode()
    with open_session(tmp_path, limits=Limits(max_message_chars=10_000)) as session:
        sent = session.enforce_json(body)
        assert quota_failures(session) == ["t2"]
    assert OTHER.encode() in sent
    assert LARGE.encode() not in sent
    assert stored_bytes(tmp_path) == len(LARGE)


def test_output_that_streams_in(tmp_path: Path) -> None:
    """The command runs to its end, the text says what was not saved, and nothing is left over."""
    with open_session(tmp_path) as session:
        result = bash("seq 100000", session=session, tool_use_id="t1")
        assert isinstance(result.failure, StoreQuotaError)
        assert (result.exit_code, result.path) == (0, None)
        assert "could not be saved" in result.text
        assert stored_bytes(tmp_path) == 0
        # What was counted for it meanwhile is free again.
        assert bash("seq 15000", session=session, tool_use_id="t2").path is not None
        assert not gate(session, "t3", LARGE)
    assert stored_bytes(tmp_path) == sum(len(f"{number}\n") for number in range(1, 15_001))


def test_a_session_that_goes_on_counts_what_is_there(tmp_path: Path) -> None:
    """What was replaced stays replaced; the same bytes again take no room."""
    with open_session(tmp_path) as session:
        assert gate(session, "t1", LARGE)
    with open_session(tmp_path) as session:
        assert gate(session, "t1", LARGE)
        assert session.report.reapplied == 1
        assert not gate(session, "t2", OTHER)
        store = DirectoryStore(
            session.directory / "tool-results", durability="process", max_stored_bytes=MAX_BYTES
        )
        assert not store.put("t1", LARGE).is_new


def test_forks_have_their_own_and_sub_agents_share(tmp_path: Path) -> None:
    """A folder has one quota, whoever stores there."""
    with open_session(tmp_path) as session:
        assert gate(session, "t1", LARGE)
        with session.subagent("a1") as agent:
            assert not gate(agent, "t2", OTHER)
        with session.fork("s2") as fork:
            assert gate(fork, "t1", LARGE)
            assert fork.report.reapplied == 1
            assert gate(fork, "t2", OTHER)
            assert not gate(fork, "t3", "z" * 60_000)
    with open_session(tmp_path, "s3") as session, session.subagent("a1") as agent:
        assert gate(agent, "t1", LARGE)
        assert not gate(session, "t2", OTHER)


def test_a_folder_in_the_place_of_one_that_was_removed_is_empty(tmp_path: Path) -> None:
    """Many file systems give it the number by which the one before was known."""
    with open_session(tmp_path) as session:
        for number in range(5):
            assert gate(session, f"t{number}", LARGE)
            assert not gate(session, "u1", OTHER)
            shutil.rmtree(session.directory / "tool-results")
        assert gate(session, "u1", OTHER)
        shutil.rmtree(session.directory)
        # A session that a clean-up took may be open still.
        for number in range(5):
            with open_session(tmp_path, f"other{number}") as other:
                assert gate(other, "t1", LARGE)
                shutil.rmtree(other.directory)


def test_strict_raises(tmp_path: Path) -> None:
    """Before anything is handed out."""
    with (
        open_session(tmp_path, strict=True, max_stored_bytes=10) as session,
        pytest.raises(StoreQuotaError, match="0 of at most 10 bytes"),
    ):
        session.gate(res("t1", LARGE), tool_name="Fetch")


def test_threads_never_store_more_together(tmp_path: Path) -> None:
    """Whoever comes first; the sum is never over."""
    stores = [
        DirectoryStore(tmp_path / "results", durability="process", max_stored_bytes=10_000)
        for _ in range(4)
    ]
    outcomes: list[object] = []

    def put(number: int) -> None:
        items = [(f"t{number}-{index}", "x" * (700 + number)) for index in range(10)]
        outcomes.extend(stores[number % 4].put_many(items))

    threads = [threading.Thread(target=put, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = [path.stat().st_size for path in (tmp_path / "results").iterdir()]
    assert len(written) == sum(isinstance(outcome, StoredResult) for outcome in outcomes)
    # None of them was refused while there was room for the largest.
    assert 10_000 - 707 < sum(written) <= 10_000


@given(
    puts=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 60), st.booleans()), max_size=12),
    max_bytes=st.integers(1, 150),
)
def test_what_is_stored_is_what_fits(
    tmp_path_factory: pytest.TempPathFactory, puts: list[tuple[int, int, bool]], max_bytes: int
) -> None:
    """Each is stored if it was before, or if there is room for it; whole or streaming in."""
    folder = tmp_path_factory.mktemp("quota") / "results"
    store = DirectoryStore(folder, durability="process", max_stored_bytes=max_bytes)
    held: dict[tuple[int, int], int] = {}
    for number, size, is_stream in puts:
        fits = (number, size) in held or sum(held.values()) + size <= max_bytes
        if is_stream and (number, size) in held:
            continue  # a stream takes room before it is known what it will be
        try:
            _put(store, f"t{number}", "x" * size, is_stream=is_stream)
        except StoreQuotaError:
            assert not fits
        else:
            assert fits
            held[number, size] = size
    on_disk = sorted(path.stat().st_size for path in folder.iterdir()) if folder.exists() else []
    assert on_disk == sorted(held.values())


def _put(store: DirectoryStore, tool_use_id: str, text: str, *, is_stream: bool) -> None:
    if not is_stream:
        store.put(tool_use_id, text)
        return
    with store.open_stream(tool_use_id) as stream:
        for start in range(0, len(text), 7):
            stream.write(text[start : start + 7].encode())
        stream.commit()


@pytest.mark.parametrize("value", [0, -1, math.nan, "10", True, None])
def test_a_quota_that_is_none(tmp_path: Path, value: object) -> None:
    """It is refused at opening, with its name and value."""
    with pytest.raises(ConfigError, match=r"max_stored_bytes \(argument\) must be a positive"):
        open_session(tmp_path, max_stored_bytes=value)
    assert list(tmp_path.iterdir()) == []


def test_a_store_of_the_host_has_its_own(tmp_path: Path) -> None:
    """Two places for one setting are refused."""
    with pytest.raises(ConfigError, match=r"max_stored_bytes \(argument\) belongs to the store"):
        open_session(tmp_path, store=MemoryStore())
