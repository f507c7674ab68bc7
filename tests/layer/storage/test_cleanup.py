"""Removing sessions: what goes, what stays, and that nobody ever sees a half."""

from __future__ import annotations

import errno
from threading import Thread
from typing import TYPE_CHECKING, Literal, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.layer.storage.faulty import FaultyFiles
from tests.layer.storage.old_sessions import (
    DAY_S,
    TEXT,
    age,
    dangling,
    files_of,
    fork,
    go,
    make,
    names,
    result,
)
from toolbudget import ConfigError, Session
from toolbudget.storage.cleanup import Removed, carry_out, plan_cleanup
from toolbudget.storage.inspection import find_sessions
from toolbudget.storage.records import encode_record, parse_line
from toolbudget.storage.session_lock import SessionLock
from toolbudget.storage.survey import summaries, summary_of

if TYPE_CHECKING:
    from pathlib import Path

    from toolbudget.storage._files import Durability, RemovingFileSystem

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


class TestAge:
    """Sessions older than the age go, all others stay."""

    def test_only_the_old_goes_and_nothing_of_it_is_left(self, tmp_path: Path) -> None:
        """Folder and transcript go together."""
        make(tmp_path, "old", days=31)
        make(tmp_path, "young", days=29)
        assert go(tmp_path, older_than_s=30 * DAY_S) == [None]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["young", "young.jsonl"]

    def test_a_plan_changes_nothing(self, tmp_path: Path) -> None:
        """Whoever only asks leaves everything as it is."""
        make(tmp_path, "old", days=31)
        before = sorted(tmp_path.rglob("*"))
        plan = plan_cleanup(tmp_path, older_than_s=30 * DAY_S)
        assert (len(plan.removals), sorted(tmp_path.rglob("*"))) == (1, before)

    @pytest.mark.parametrize("young", ["transcript", "result"])
    def test_one_young_file_keeps_all(self, tmp_path: Path, young: str) -> None:
        """The transcript or any file says how young a session is."""
        make(tmp_path, "s", days=31, ids=("t1", "t2"))
        path = tmp_path / ("s.jsonl" if young == "transcript" else "s/tool-results/t2.txt")
        path.touch()
        assert plan_cleanup(tmp_path, older_than_s=30 * DAY_S).kept == {"young": 1}

    def test_an_open_session_stays(self, tmp_path: Path) -> None:
        """However old its files are."""
        make(tmp_path, "s", days=31)
        with Session.open(tmp_path, "s", durability="process"):
            assert plan_cleanup(tmp_path, older_than_s=1).kept == {"in-use": 1}
        assert go(tmp_path, older_than_s=1) == [None]

    def test_an_open_fork_that_has_decided_nothing_stays(self, tmp_path: Path) -> None:
        """It is in use from its first moment, and so is what it has results of."""
        make(tmp_path, "parent", days=31)
        with Session.open(tmp_path, "parent", durability="process") as parent:
            child = parent.fork("child")
        with child:
            age(tmp_path, "parent", 31)
            age(tmp_path, "child", 31)
            assert plan_cleanup(tmp_path, older_than_s=1).kept == {"in-use": 1, "needed": 1}

    def test_one_with_messages_only_is_in_use_while_it_is_open(self, tmp_path: Path) -> None:
        """A host may keep its messages there long before anything is too large."""
        session = Session.open(tmp_path, "s", durability="process")
        transcript = session.transcript
        assert transcript is not None
        assert list(tmp_path.iterdir()) == []
        transcript.append({"type": "user", "message": {"role": "user", "content": "hi"}})
        age(tmp_path, "s", 31)
        assert plan_cleanup(tmp_path, older_than_s=1).kept == {"in-use": 1}
        session.close()
        transcript.append({"type": "user", "message": {"role": "user", "content": "late"}})
        age(tmp_path, "s", 31)
        assert go(tmp_path, older_than_s=1) == [None]
        assert list(tmp_path.iterdir()) == []

    def test_an_ephemeral_session_is_ours_and_in_use(self, tmp_path: Path) -> None:
        """It has files without records, and those are to be found again."""
        with Session.open(tmp_path, "e", ephemeral=True, durability="process") as session:
            session.gate(result(), tool_name="Fetch")
            assert plan_cleanup(tmp_path, older_than_s=1).kept == {"in-use": 1}
        age(tmp_path, "e", 31)
        assert go(tmp_path, older_than_s=DAY_S) == [None]
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("age_s", [0, -1, float("nan"), float("inf"), True, "30"])
    def test_an_age_that_is_none(self, tmp_path: Path, age_s: float) -> None:
        """It is refused before anything is looked at, and named."""
        with pytest.raises(ConfigError, match="older_than_s"):
            plan_cleanup(tmp_path, older_than_s=age_s)

    def test_no_limit_at_all(self, tmp_path: Path) -> None:
        """Nothing is never everything."""
        with pytest.raises(ConfigError, match="needs one of"):
            plan_cleanup(tmp_path)


class TestForks:
    """A session whose results another one shows stays as long as that one."""

    def test_a_live_descendant_keeps_all_its_ancestors(self, tmp_path: Path) -> None:
        """Also over a generation that is old itself."""
        make(tmp_path, "a", days=90)
        fork(tmp_path, "a", "b", days=60)
        fork(tmp_path, "b", "c", days=1)
        age(tmp_path, "b", 60)
        assert plan_cleanup(tmp_path, older_than_s=30 * DAY_S).kept == {"young": 1, "needed": 2}

    def test_an_old_family_goes_descendants_first(self, tmp_path: Path) -> None:
        """So that an interruption leaves nobody without its parent's results."""
        make(tmp_path, "a", days=90)
        fork(tmp_path, "a", "b", days=60)
        plan = plan_cleanup(tmp_path, older_than_s=30 * DAY_S)
        assert [one.summary.place.name for one in plan.removals] == ["b", "a"]

    def test_a_descendant_opened_after_the_plan_keeps_its_ancestor(self, tmp_path: Path) -> None:
        """What lives when it is to go stays, and so does what it needs."""
        make(tmp_path, "a", days=90)
        fork(tmp_path, "a", "b", days=60)
        plan = plan_cleanup(tmp_path, older_than_s=30 * DAY_S)
        with Session.open(tmp_path, "b", durability="process") as child:
            problems = [one.problem for one in carry_out(plan)]
            assert problems == ["it is in use", "a session that stays has results of it"]
            assert child.result_path("t1") is not None
        assert dangling(tmp_path) == []

    def test_one_within_the_quota_keeps_its_ancestor(self, tmp_path: Path) -> None:
        """The oldest go first, but not before those who need them."""
        make(tmp_path, "a", days=90)
        make(tmp_path, "x", days=80)
        fork(tmp_path, "a", "b", days=60)
        plan = plan_cleanup(tmp_path, max_bytes=100_000)
        assert [one.summary.place.name for one in plan.removals] == ["x"]

    def test_sessions_that_name_each_other(self, tmp_path: Path) -> None:
        """Records that were tampered with do not make it run for ever."""
        make(tmp_path, "a", days=90)
        fork(tmp_path, "a", "b", days=60)
        line = (tmp_path / "b.jsonl").read_bytes().splitlines(keepends=True)[1]
        raw = dict(parse_line(line).records[0].raw)
        del raw["check"]
        ring = encode_record({**raw, "sessionId": "a", "inheritedFrom": "b"})
        with (tmp_path / "a.jsonl").open("ab") as transcript:
            transcript.write(ring)
        age(tmp_path, "a", 90)
        assert go(tmp_path, older_than_s=30 * DAY_S) == [None, None]


class TestQuotas:
    """Too large ones go, and the oldest until the rest fits."""

    def test_the_oldest_go_until_the_rest_fits(self, tmp_path: Path) -> None:
        """Not one more than needed."""
        for days in (10, 30, 20):
            make(tmp_path, f"d{days}", days=days)
        one = summary_of(find_sessions(tmp_path)[1][0]).total_bytes
        assert go(tmp_path, max_bytes=2 * one + 100) == [None]
        assert names(tmp_path) == ["d10", "d20"]

    def test_a_large_one_goes(self, tmp_path: Path) -> None:
        """Whatever else there is."""
        make(tmp_path, "large", days=2, ids=tuple("abc"))
        make(tmp_path, "small", days=3)
        assert go(tmp_path, max_session_bytes=150_000) == [None]
        assert names(tmp_path) == ["small"]

    def test_what_is_not_a_day_old_stays(self, tmp_path: Path) -> None:
        """A quota alone never takes a session that may be going on."""
        make(tmp_path, "s", days=0.9)
        assert plan_cleanup(tmp_path, max_bytes=1).kept == {"young": 1}


class TestOthers:
    """What is not ours stays."""

    def test_a_foreign_transcript_stays_and_so_do_its_own_files(self, tmp_path: Path) -> None:
        """Only what our records name goes, and the records."""
        transcript = tmp_path / "s.jsonl"
        transcript.write_bytes(b'{"type":"user","message":{"role":"user","content":"hi"}}\n')
        make(tmp_path, "s", days=31)
        theirs = tmp_path / "s" / "tool-results" / "theirs.txt"
        theirs.write_text("x")
        age(tmp_path, "s", 31)
        assert go(tmp_path, older_than_s=DAY_S) == [None]
        left = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert sorted(left) == sorted([transcript, theirs])

    def test_another_programs_session_is_not_touched(self, tmp_path: Path) -> None:
        """A folder of results alone does not make it ours."""
        (tmp_path / "s" / "tool-results").mkdir(parents=True)
        (tmp_path / "s" / "tool-results" / "t1.txt").write_text("x")
        (tmp_path / "s.jsonl").write_bytes(b'{"type":"user"}\n')
        age(tmp_path, "s", 400)
        assert plan_cleanup(tmp_path, older_than_s=DAY_S).kept == {"not-ours": 1}

    @pytest.mark.parametrize("durability", ["process", "full"])
    @pytest.mark.parametrize("acts", ["never", "once", "again", "sidecar", "agent", "ephemeral"])
    def test_results_that_were_there_before_the_session_stay(
        self, tmp_path: Path, acts: str, durability: Durability
    ) -> None:
        """Opening a session over another program's folder does not make its results ours."""
        theirs = tmp_path / "s" / "tool-results" / "toolu_1.txt"
        theirs.parent.mkdir(parents=True)
        theirs.write_text("x")
        sidecar: Literal["sidecar"] | None = "sidecar" if acts == "sidecar" else None
        for turn in range(2 if acts == "again" else 1):
            with Session.open(
                tmp_path,
                "s",
                durability=durability,
                transcript=sidecar,
                ephemeral=acts == "ephemeral",
            ) as session:
                actor = session.subagent("a") if acts == "agent" else session
                if acts != "never":
                    actor.gate(result(f"ours-{turn}"), tool_name="Fetch")
                actor.close()
        age(tmp_path, "s", 31)
        plan = plan_cleanup(tmp_path, older_than_s=DAY_S)
        is_told = acts in {"never", "ephemeral"}
        assert plan.kept == ({"not-ours": 1} if is_told else {})
        assert [one.problem for one in carry_out(plan)] == ([] if is_told else [None])
        assert theirs.read_text() == "x"
        if not is_told:
            assert [path for path in tmp_path.rglob("*") if path.is_file()] == [theirs]
        assert plan_cleanup(tmp_path, older_than_s=DAY_S).removals == ()

    def test_a_folder_that_cannot_be_told_as_shared_is_not_ours(self, tmp_path: Path) -> None:
        """A disk on which the lock can be made but not written leaves no lock."""
        theirs = tmp_path / "s" / "tool-results" / "toolu_1.txt"
        theirs.parent.mkdir(parents=True)
        theirs.write_text("x")
        files = FaultyFiles()
        files.fail_method("write", errno.ENOSPC)
        lock = SessionLock(tmp_path, "s", files=files.files)
        lock.take(create=False)
        assert not lock.is_held
        age(tmp_path, "s", 31)
        assert plan_cleanup(tmp_path, older_than_s=DAY_S).kept == {"not-ours": 1}

    def test_a_file_of_the_users_in_the_folder_stays(self, tmp_path: Path) -> None:
        """All of the session goes, but not what nobody but the user can have put there."""
        make(tmp_path, "s", days=31)
        note = tmp_path / "s" / "notes.md"
        note.write_text("mine")
        age(tmp_path, "s", 31)
        assert go(tmp_path, older_than_s=DAY_S) == [None]
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == [note]

    def test_links_are_never_followed(self, tmp_path: Path) -> None:
        """What a planted link points to stays."""
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "precious.txt").write_text("x")
        root = tmp_path / "root"
        make(root, "s", days=31)
        (root / "s" / "tool-results" / "link.txt").symlink_to(outside / "precious.txt")
        (root / "s" / "subagents").symlink_to(outside)
        (root / "linked").symlink_to(outside)
        (root / ".trash-0123456789abcdef").symlink_to(outside)
        age(root, "s", 31)
        for removed in carry_out(plan_cleanup(root, older_than_s=DAY_S)):
            assert removed.problem is None
        assert (outside / "precious.txt").read_text() == "x"
        assert not (root / ".trash-0123456789abcdef").is_symlink()


class TestFailures:
    """Whatever fails on the way, no session is left with records of results that are gone."""

    @given(number=st.integers(1, 120), and_all_after=st.booleans(), code=st.sampled_from([5, 13]))
    def test_any_call_may_fail(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        number: int,
        *,
        and_all_after: bool,
        code: int,
    ) -> None:
        """And the next clean-up finishes what this one began."""
        root = tmp_path_factory.mktemp("root")
        make(root, "a", days=90)
        fork(root, "a", "b", days=60)
        make(root, "shared", days=60)
        (root / "shared" / "mine.md").write_text("x")
        age(root, "shared", 60)
        plan = plan_cleanup(root, older_than_s=DAY_S)
        faulty = FaultyFiles()
        faulty.fail_call(number, code, and_all_after=and_all_after)
        before = {name: files_of(root, name) for name in ("a", "b")}
        done: list[Removed] = []
        try:
            done += carry_out(plan, files=cast("RemovingFileSystem", faulty))
        except OSError as error:
            assert error.errno == code  # noqa: PT017 - the folder itself could not be opened
        assert dangling(root) == []
        for one in done:
            name = one.planned.summary.place.name
            if name in before and one.is_gone:
                assert files_of(root, name) == []
            elif name in before and not and_all_after:
                assert files_of(root, name) == before[name]
        list(carry_out(plan_cleanup(root, older_than_s=DAY_S)))
        left = [path.name for path in root.rglob("*") if path.is_file()]
        assert left == ["mine.md"]

    def test_a_transcript_without_its_folder_is_never_seen(self, tmp_path: Path) -> None:
        """Between the two renames the records are gone and the files are still there."""
        make(tmp_path, "s", days=31)
        plan = plan_cleanup(tmp_path, older_than_s=DAY_S)
        faulty = FaultyFiles()
        seen: list[list[str]] = []

        def look() -> None:
            seen.append(sorted(path.name for path in tmp_path.iterdir()))
            if len(seen) == 1:
                faulty.before("replace", look)

        faulty.before("replace", look)
        list(carry_out(plan, files=cast("RemovingFileSystem", faulty)))
        assert seen[0] == ["s", "s.jsonl"]
        assert "s.jsonl" not in seen[1]
        assert "s" in seen[1]

    def test_a_session_written_after_the_plan_stays(self, tmp_path: Path) -> None:
        """It lives again."""
        make(tmp_path, "s", days=31)
        plan = plan_cleanup(tmp_path, older_than_s=DAY_S)
        make(tmp_path, "s", ids=("t2",))
        assert [one.problem for one in carry_out(plan)] == ["it has been written since"]
        assert dangling(tmp_path) == []

    def test_what_cannot_be_read_stays(self, tmp_path: Path) -> None:
        """Who knows what it says."""
        make(tmp_path, "s", days=31)
        faulty = FaultyFiles()
        faulty.fail_method("read", errno.EIO)
        files = cast("RemovingFileSystem", faulty)
        assert plan_cleanup(tmp_path, older_than_s=DAY_S, files=files).kept == {"unreadable": 1}


def test_a_session_opened_while_it_is_removed_begins_anew(tmp_path: Path) -> None:
    """It waits for the two renames, and finds nothing: no decision whose file is about to go."""
    make(tmp_path, "s", days=31)
    plan = plan_cleanup(tmp_path, older_than_s=DAY_S)
    opened: list[Session] = []
    faulty = FaultyFiles()
    thread = Thread(target=lambda: opened.append(Session.open(tmp_path, "s", durability="process")))
    faulty.before("replace", thread.start)
    list(carry_out(plan, files=cast("RemovingFileSystem", faulty)))
    thread.join()
    with opened[0] as session:
        assert session.state.decisions == {}
        session.gate(result(), tool_name="Fetch")
    assert dangling(tmp_path) == []


def test_a_summary_counts_each_byte_once(tmp_path: Path) -> None:
    """Results, records and the rest add up to what is there."""
    make(tmp_path, "s", ids=("a", "b"))
    with Session.open(tmp_path, "s", durability="process") as session:
        session.subagent("helper").close()
    [summary] = summaries(tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert summary.total_bytes == sum(path.stat().st_size for path in files)
    assert (summary.stored_files, summary.stored_bytes) == (2, 2 * len(TEXT))
