"""Copying a store: all of it, nothing twice, through interruptions, and never over something else.

``data/store-0.2.tar.gz`` is a store of version 0.2 (a DuckDB file) that two processes left behind by ``kill -9``, with its
logs, a service's own files, and what that version read of it (``expected.json``): runs over free evidence, whose payloads
share texts, with and without a calibration and a policy, records of :mod:`tests.store.conftest`, a forgotten item,
reviews, outcomes of which two are not made yet, a receiver, five jobs (one done, two at work, one being cancelled, one
deleted), answers and a budget.
"""

import asyncio
import gzip
import hashlib
import itertools
import json
import subprocess
import sys
import tarfile
from functools import partial
from pathlib import Path

import pytest

from metajudge.errors import StoreError, StoreUnavailableError
from metajudge.outcomes.model import OutcomeFilter
from metajudge.reviews.review import HumanDecision, Outcome
from metajudge.store import RunRecord, copying, engine_of, open_store
from metajudge.store.copying import copy_store
from metajudge.store.old_file import side_files
from metajudge.store.tables import HISTORY, SCORES, STATE, columns
from metajudge.types.location import store_location
from tests.store.test_reviews import NOW
from tests.store.test_reviews import review as waiting

OLD = Path(__file__).parent / "data" / "store-0.2.tar.gz"


@pytest.fixture
def new_store(tmp_path, request):
    """Makes places for stores, on either database."""
    numbers = itertools.count()

    def make(kind):
        if kind == "postgres":
            return store_location(request.getfixturevalue("postgres_urls")())
        return tmp_path / f"s{next(numbers)}.db"

    return make


@pytest.fixture
def old(tmp_path):
    """The store of version 0.2."""
    folder = tmp_path / "old"
    with tarfile.open(OLD) as archive:
        archive.extractall(folder, filter="data")
    return folder / "store.duckdb"


def state_of(folder):
    """Every file of a folder with its content and the time of its last change."""
    return {
        path.relative_to(folder): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def rows(location, query):
    """The rows of a query on a store that nobody has open."""
    engine = engine_of(store_location(location))
    try:
        connection = engine.connect()
        found = connection.execute(query).fetchall()
        connection.close()
        return found
    finally:
        engine.close()


async def fill(location, records, first=0, count=30):
    store = await open_store(location)
    await store.start_run(RunRecord(f"run-{first}", "vet", 1.0, "running", {"a": 1}))
    for n in range(first, first + count):
        store.record_call(records.call(n, f"reply {n} \x00 \x1b[0m ä"))
        judgment = records.judgment(n)
        await store.save_assessment(f"key-{n}", judgment, records.assessment(judgment, n), f"run-{first}")
    await store.finish_run(f"run-{first}", "finished", 2.0, {"calls": count})
    about = {"subject_id": "judgment-1", "subject_digest": "d", "policy": None}
    review = waiting(f"r{first}", item_id=f"item-{first}", **about)
    await store.reviews.open([review])
    await store.reviews.claim("ada", now=NOW)
    said = HumanDecision(review_id=review.review_id, reviewer="ada", outcome=Outcome.APPROVE, decided_at=NOW)
    await store.reviews.decide(said, now=NOW)
    await store.audit_log.append("activation", "careful", {"by": "ada"}, now=NOW)
    await store.close()


async def everything(location):
    store = await open_store(location)
    found = {
        "runs": await store.runs(),
        "judgments": [one.id for one in await store.judgments()],
        "shown": [await store.show(f"item-{n}") for n in range(0, 40, 7)],
        "assessments": await store.find_assessments([f"key-{n}" for n in range(40)]),
        "newest": await store.newest_assessments(0, 1000),
        "audit": await store.audit_log.entries("activation"),
        "review": await store.reviews.get("r0", now=NOW),
    }
    await store.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other"), [("sqlite", "postgres"), ("postgres", "sqlite"), ("sqlite", "sqlite"), ("postgres", "postgres")]
)
async def test_the_copy_holds_all_and_goes_on_as_a_store(new_store, records, one, other):
    source, target = new_store(one), new_store(other)
    await fill(source, records)
    before = await everything(source)
    done = {table.table: table for table in copy_store(source, target)}
    assert (done["calls"].rows, done["calls"].added, done["assessments"].added) == (30, 30, 30)
    assert await everything(target) == before
    assert sum(table.added for table in copy_store(source, target)) == 0, "a second copy added something"
    await fill(target, records, first=30, count=5)  # numbering goes on, on either side
    after = await everything(target)
    assert len(after["assessments"]) == 35
    assert after["shown"][:5] == before["shown"][:5]


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), [("sqlite", "postgres"), ("postgres", "sqlite")])
async def test_a_copy_that_was_cut_off_goes_on_and_what_came_since_is_added(
    new_store, records, one, other, monkeypatch
):
    source, target = new_store(one), new_store(other)
    await fill(source, records)
    monkeypatch.setattr(copying, "BATCH", 7)

    def cut(table, done, _total):
        if table == "assessments" and done > 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_store(source, target, watch=cut)
    await fill(source, records, first=30, count=5)
    done = {table.table: table for table in copy_store(source, target)}
    assert done["assessments"].rows == 35
    assert done["assessments"].added == 35 - 21
    assert await everything(target) == await everything(source)


@pytest.mark.parametrize("other", ["sqlite", "postgres"])
async def test_a_target_with_something_else_in_it_is_refused_and_left_as_it_is(new_store, records, other):
    source, target = new_store("sqlite"), new_store(other)
    await fill(source, records, count=3)
    await fill(target, records, first=10, count=4)
    before = await everything(target)
    with pytest.raises(StoreError, match="it is another store"):
        copy_store(source, target)
    assert await everything(target) == before


@pytest.mark.parametrize("other", ["sqlite", "postgres"])
async def test_other_content_under_the_same_number_is_refused(new_store, records, other):
    source, target = new_store("sqlite"), new_store(other)
    for location, text in ((source, "one"), (target, "two")):
        store = await open_store(location)
        store.record_call(records.call(1, text))
        await store.close()
    with pytest.raises(StoreError, match=r"other content .* call_id of calls"):
        copy_store(source, target)


@pytest.mark.parametrize("other", ["sqlite", "postgres"])
@pytest.mark.slow
async def test_what_was_forgotten_in_the_source_since_is_not_kept_in_silence(new_store, records, other):
    source, target = new_store("sqlite"), new_store(other)
    await fill(source, records, count=3)
    copy_store(source, target)
    store = await open_store(source)
    await store.forget("item-1")
    await store.close()
    with pytest.raises(StoreError, match=r"has redacted .*item 'item-1'.*forget it there too"):
        copy_store(source, target)
    store = await open_store(target)
    await store.forget("item-1")
    await store.close()
    assert sum(table.added for table in copy_store(source, target)) == 0


async def test_what_was_forgotten_in_the_target_stays_forgotten(new_store, records):
    source, target = new_store("sqlite"), new_store("postgres")
    await fill(source, records, count=3)
    copy_store(source, target)
    store = await open_store(target)
    await store.forget("item-1")
    await store.close()
    copy_store(source, target)
    store = await open_store(target)
    assert (await store.show("item-1"))["judgments"][0]["redacted"]
    await store.close()


class TestOfVersion02:
    """A store of version 0.2 with all that lies beside it."""

    @pytest.mark.parametrize("kind", ["sqlite", "postgres"])
    async def test_the_copy_has_all_that_version_read_and_nothing_of_it_is_changed(self, new_store, old, kind):
        before, target = state_of(old.parent), new_store(kind)
        expected = json.loads((old.parent / "expected.json").read_text())
        done = {one.table: one for one in copy_store(old, target)}
        assert state_of(old.parent) == before
        assert all(one.rows == one.added for one in done.values())
        assert sum(one.added for one in copy_store(old, target)) == 0
        assert state_of(old.parent) == before
        lines = "SELECT number, assessment_id, run_id, judgment_id, status, accepted, policy, action FROM lines"
        assert [list(one) for one in rows(target, f"{lines} ORDER BY number")] == expected["lines"]
        store = await open_store(target)
        await store.outcomes.collect_all()
        counts = {}
        for table in expected["counts"]:
            ((counts[table],),) = await store.ask(
                lambda connection, table=table: connection.execute(f"SELECT count(*) FROM {table}").fetchall()
            )
        found = {
            "runs": [[one.run_id, one.command, one.status, one.summary] for one in await store.runs()],
            "newest": [[n, one.model_dump(mode="json")] for n, one in await store.newest_assessments(0, 10_000)],
            "judgments": [one.model_dump(mode="json") for one in await store.judgments()],
            "outcomes": [one.model_dump(mode="json") for one in await store.outcomes.page(OutcomeFilter())],
        }
        await store.close()
        assert counts == expected["counts"]
        (of_log,) = (one for one in expected["outcomes"] if one["source_number"] == 196)
        of_log["decided_at"] = old.with_name("store.duckdb.ahead-000000004").stat().st_mtime
        for name, value in found.items():
            assert json.loads(json.dumps(value)) == expected[name], name

    @pytest.mark.parametrize("kind", ["sqlite", "postgres"])
    def test_what_the_service_kept_is_copied_too(self, new_store, old, kind):
        target = new_store(kind)
        copy_store(old, target)
        jobs = "SELECT job_id, state, items, ended_at IS NULL FROM service_jobs ORDER BY job_id"
        assert [(*one[:3], bool(one[3])) for one in rows(target, jobs)] == [
            ("done", "done", 3, False),
            ("half", "running", 3, True),
            ("next", "queued", 3, True),
            ("stopped", "cancelled", 3, False),
        ]
        results = "SELECT job_id, item, seq, payload FROM service_results ORDER BY job_id, seq"
        assert [(*one[:3], bytes(one[3])) for one in rows(target, results)] == [
            ("done", 0, 1, b'{"assessed":0}'),
            ("done", 1, 3, b'{"assessed":1}'),
            ("done", 2, 4, b'{"assessed":2}'),
            ("half", 1, 2, b'{"assessed":1}'),
        ]
        items = rows(target, "SELECT job_id, item, item_id, payload FROM service_items ORDER BY job_id, item")
        assert [one[:3] for one in items] == [(job, n, f"item-{40 + n}") for job in ("half", "next") for n in range(3)]
        uploads = [(old.parent / "store.duckdb.jobs" / f"{job}.jsonl").read_text() for job in ("half", "next")]
        assert "".join(f"{one[3]}\n" for one in items) == "".join(uploads)
        (answer,) = rows(target, "SELECT owner, key, fingerprint, status, body, location FROM service_answers")
        assert (*answer[:4], bytes(answer[4]), answer[5]) == ("ci", "key-1", "f1", 202, b"\0body", "/v1/jobs/done")
        ((name, state),) = rows(target, "SELECT name, state FROM service_limits")
        assert (name, json.loads(state)) == ("budget", {"day": 19675, "spent": 1.25, "held": {}})
        queue = rows(target, "SELECT source, number FROM event_queue ORDER BY source, number")
        assert queue == [("annotation", 190), ("annotation", 196), ("decision", 2)]

    def test_its_own_files_elsewhere(self, new_store, old, tmp_path):
        for end in (".service", ".service-wal", ".jobs", ".budget"):
            old.with_name(old.name + end).rename(tmp_path / f"svc{end}")
        target = new_store("sqlite")
        copy_store(old, target, state=tmp_path / "svc")
        assert rows(target, "SELECT count(*) FROM service_items") == [(6,)]

    @pytest.mark.parametrize("at", ["calls", "assessments", "annotations", "events"])
    def test_a_copy_that_was_cut_off_goes_on(self, new_store, old, at, monkeypatch):
        whole, target = new_store("sqlite"), new_store("sqlite")
        monkeypatch.setattr(copying, "BATCH", 7)

        def cut(table, done, _total):
            if table == at and done >= 14:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            copy_store(old, target, watch=cut)
        assert not list(target.parent.glob(".*"))
        done = {one.table: one for one in copy_store(old, target)}
        assert 0 < done[at].added < done[at].rows
        assert [(one.table, one.rows, one.digest) for one in copy_store(old, whole)] == [
            (one.table, one.rows, one.digest) for one in done.values()
        ]
        for table in (*HISTORY, SCORES, *STATE):
            names = ", ".join(f'"{name}"' for name in columns(table.name))
            query = f"SELECT {names} FROM {table.name} ORDER BY {', '.join(table.key)}, rowid"
            if table.name == "event_queue":
                query = query.removesuffix(", rowid")
            assert rows(target, query) == rows(whole, query), table.name

    def test_one_that_a_process_has_open_is_refused_with_what_to_do(self, new_store, old):
        code = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print(1, flush=True); sys.stdin.read()"
        run = partial(subprocess.Popen, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with run([sys.executable, "-c", code, str(old)]) as process:
            assert process.stdout.readline()
            with pytest.raises(StoreError, match=r"open in another process.*end that process"):
                copy_store(old, new_store("sqlite"))
            process.stdin.close()
        copy_store(old, new_store("sqlite"))

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("store.duckdb", "cannot read the store .* of metajudge 0.2"),
            ("store.duckdb.service", "cannot read the store"),
            ("store.duckdb.budget", "cannot read the store"),
            ("store.duckdb.ahead-000000004", None),
        ],
    )
    def test_what_is_damaged_is_said(self, new_store, old, name, said):
        path = old.with_name(name)
        if name.endswith(".service"):
            path.write_bytes(b"no database" * 1_000)
            old.with_name(f"{name}-wal").unlink()
        else:
            path.write_bytes(path.read_bytes()[: 20_000 if path == old else -9])
        if said is None:  # a record that was never acknowledged
            done = {one.table: one.rows for one in copy_store(old, new_store("sqlite"))}
            assert (done["assessments"], done["annotations"]) == (105, 89)
        else:
            with pytest.raises(StoreError, match=said):
                copy_store(old, new_store("sqlite"))

    def test_a_job_whose_upload_is_missing_has_failed(self, new_store, old):
        (old.parent / "store.duckdb.jobs" / "half.jsonl").unlink()
        target = new_store("sqlite")
        copy_store(old, target)
        query = "SELECT job_id, detail FROM service_jobs WHERE state = 'failed'"
        assert rows(target, query) == [("half", "its upload was missing")]

    def test_a_damaged_log_that_others_follow_is_said(self, new_store, old):
        log = old.with_name("store.duckdb.ahead-000000004")
        old.with_name("store.duckdb.ahead-000000005").write_bytes(log.read_bytes())
        log.write_bytes(log.read_bytes()[:-1])
        with pytest.raises(StoreError, match=r"store.duckdb.ahead-000000004, part of the log .* is damaged"):
            copy_store(old, new_store("sqlite"))


class TestRename:
    def test_the_copy_takes_the_place_of_the_old_one(self, new_store, old):
        before, target = state_of(old.parent), new_store("sqlite")
        copy_store(old, target, rename=True)
        kept = old.with_name("store.duckdb.old")
        assert not target.exists()
        assert old.read_bytes()[:15] == b"SQLite format 3"
        assert not side_files(old)
        there = state_of(old.parent)
        for name, content in before.items():
            renamed = Path(str(name).replace("store.duckdb", "store.duckdb.old"))
            assert there[renamed] == content
        done = copy_store(kept, new_store("sqlite"))  # it is a store as before
        assert [one.digest for one in copy_store(old, new_store("sqlite"))] == [one.digest for one in done]

    def test_no_name_is_taken_twice_and_nothing_is_copied_then(self, new_store, old):
        taken, target = old.with_name("store.duckdb.old.service"), new_store("sqlite")
        taken.write_text("mine")
        before = state_of(old.parent)
        with pytest.raises(StoreError, match=r"there is a .*store\.duckdb\.old\.service already"):
            copy_store(old, target, rename=True)
        assert state_of(old.parent) == before
        assert not target.exists()

    def test_only_files_can_be_renamed(self, tmp_path):
        (tmp_path / "a").touch()
        with pytest.raises(StoreError, match="leave out --rename"):
            copy_store(tmp_path / "a", store_location("postgresql://127.0.0.1:1/x"), rename=True)

    async def test_a_store_that_is_open_is_not_renamed(self, new_store, records):
        source = new_store("sqlite")
        await fill(source, records, count=3)
        store = await open_store(source)
        with pytest.raises(StoreError, match=r"a process has .* open"):
            copy_store(source, new_store("sqlite"), rename=True)
        await store.close()


def test_a_store_of_version_01_is_copied_with_its_job(tmp_path):
    for path in (Path(__file__).parents[1] / "stored" / "data").glob("*.gz"):
        (tmp_path / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    before = state_of(tmp_path)
    done = {one.table: one.rows for one in copy_store(tmp_path / "store.db", tmp_path / "new.db")}
    assert (done["runs"], done["calls"], done["reviews"], done["review_decisions"]) == (13, 182, 16, 2)
    assert (done["service_jobs"], done["service_results"]) == (1, 3)
    after = state_of(tmp_path)
    del after[Path("new.db")]
    assert after == before


async def test_a_file_that_a_killed_process_left_is_read_as_it_is(new_store, records, tmp_path):
    source = new_store("sqlite")
    await fill(source, records, count=3)
    code = (
        "import sys, os, sqlite3\n"
        "c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "c.execute(\"INSERT INTO audit_log VALUES (99, 'kind', 'subject', 1.0, '{}')\")\n"
        "os._exit(9)"
    )
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code, str(source)], check=False)
    log, content = source.with_name(f"{source.name}-wal"), source.read_bytes()
    written = log.read_bytes()
    assert written
    done = {one.table: one.rows for one in copy_store(source, new_store("sqlite"))}
    assert done["audit_log"] == 2
    assert (source.read_bytes(), log.read_bytes()) == (content, written)


async def test_what_another_process_writes_meanwhile_is_not_in_the_copy(new_store, records):
    source, target = new_store("sqlite"), new_store("sqlite")
    await fill(source, records, count=3)
    written = []

    def write(table, _done, _total):
        if table == "calls" and not written:
            engine = engine_of(source)
            engine.change(lambda c: c.execute("INSERT INTO audit_log VALUES (99, 'kind', 'subject', 1.0, '{}')"))
            engine.close()
            written.append(True)

    done = {one.table: one.rows for one in copy_store(source, target, watch=write)}
    assert done["audit_log"] == 1
    assert {one.table: one.added for one in copy_store(source, target)}["audit_log"] == 1


async def test_rows_that_were_lost_or_changed_are_told_by_the_digest(new_store, records):
    source, target = new_store("sqlite"), new_store("sqlite")
    await fill(source, records, count=3)

    def spoil(table, _done, _total):
        if table == "audit_log":
            engine = engine_of(target)
            engine.change(lambda c: c.execute("UPDATE calls SET latency_s = 9 WHERE call_id = 2"))
            engine.close()

    with pytest.raises(StoreError, match=r"3 rows of calls in the end .* has 3"):
        copy_store(source, target, watch=spoil)


def test_onto_itself_and_from_nowhere(tmp_path):
    with pytest.raises(StoreError, match="into itself"):
        copy_store(tmp_path / "a", tmp_path / "a")
    with pytest.raises(StoreError, match="no such store to copy from"):
        copy_store(tmp_path / "a", tmp_path / "b")
    assert not (tmp_path / "b").exists()
    with pytest.raises(StoreUnavailableError, match="cannot be reached"):
        copy_store(store_location("postgresql://127.0.0.1:1/x"), tmp_path / "b")
    (tmp_path / "c").write_text("no store at all")
    with pytest.raises(StoreError, match="cannot read from the store"):
        copy_store(tmp_path / "c", tmp_path / "b")
