"""Jobs, lanes and idempotency keys that processes share: each item once, through cancels and ends of processes."""

import asyncio
import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metajudge.errors import StoreError
from metajudge.store import answers as answers_module
from metajudge.store import open_store
from metajudge.store.jobs import LANES, JobRow, StoredJobs
from metajudge.types.location import PostgresUrl
from tests.doubles.judgments import assessed, judgment
from tests.doubles.waiting import reached

jobs_module = importlib.import_module("metajudge.api.jobs")
panels_module = importlib.import_module("metajudge.api.panels")
options = importlib.import_module("metajudge.api.options")
metrics = importlib.import_module("metajudge.api.metrics")


class Panels:
    """Assesses everything after a while, and remembers what it was asked."""

    def __init__(self, seconds=0.0):
        self.seconds, self.asked = seconds, []

    def reads_evidence(self, choice):
        return False

    async def vet(self, one, *_, **__):
        self.asked.append(one.id)
        await asyncio.sleep(self.seconds)
        return assessed(one)


@pytest.fixture
async def replica(location, monkeypatch):
    """Starts replicas on one store; all leave in the end."""
    monkeypatch.setattr(jobs_module, "LOOK_EVERY_S", 0.2)
    opened = []

    async def start(panels, **limits):
        store = await open_store(location)
        limits = options.Limits(**{"job_workers": 4, **limits})
        jobs = jobs_module.JobQueue(panels, store, limits, metrics.Metrics())
        opened.append((jobs, store))
        await jobs.start()
        return jobs

    yield start
    for jobs, store in opened:
        await jobs.stop()
        await store.close()


async def send(jobs, count, key=None):
    async with jobs.upload() as (job_id, path):
        records = [judgment(id=f"j{n}", rationale=f"Reason {n}.").model_dump(mode="json") for n in range(count)]
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
        await jobs.add(job_id, "caller", panels_module.Choice(), count, key)
    return job_id


async def ended(jobs, job_id, within=20):
    async def asked():
        return status if (status := await jobs.status(job_id)).state.ended else None

    return await reached(asked, "the job does not end", within)


async def test_two_replicas_work_on_one_job_and_each_item_has_one_result(replica):
    one, other = Panels(0.02), Panels(0.02)
    first, second = await replica(one), await replica(other)
    job_id = await send(first, 150)
    status = await ended(second, job_id)
    assert (status.state, status.done, status.by_status) == ("done", 150, {"assessed": 150})
    assert sorted(one.asked + other.asked) == sorted(f"j{n}" for n in range(150)), "an item was vetted twice"
    assert one.asked, "one replica did it all"
    assert other.asked, "one replica did it all"
    page = await first.results(job_id, -1, 200)
    assert [row.item for row in page] == list(range(150))
    assert [row.seq for row in await second.results_since(job_id, 0, 200)] == list(range(1, 151))


async def left(jobs, table):
    query = f"SELECT count(*) FROM {table}"
    ((count,),) = await jobs._store.read(lambda connection: connection.execute(query).fetchall())
    return count


async def gone(jobs, *tables, within=10):
    async def swept():
        return not any([await left(jobs, table) for table in tables])

    await reached(swept, "something is left", within)


async def test_a_large_upload_is_whole_or_not_there(replica, monkeypatch):
    monkeypatch.setattr(importlib.import_module("metajudge.store.jobs"), "_ITEMS_AT_ONCE", 2)
    jobs = await replica(Panels())
    job_id = await send(jobs, 5)
    assert (await ended(jobs, job_id)).done == 5
    change, steps = jobs._store.change, []

    async def broken(work):
        steps.append(work)
        if len(steps) == 3:
            raise StoreError("the disk is full")
        return await change(work)

    monkeypatch.setattr(jobs._store, "change", broken)
    with pytest.raises(StoreError, match="the disk is full"):
        await send(jobs, 5)
    assert [one.job_id for one in await jobs.page(None, 5)] == [job_id], "there is half a job"
    assert await jobs.waiting() == 0
    monkeypatch.setattr(importlib.import_module("metajudge.store.jobs"), "_ARRIVING_S", -1.0)
    jobs._over.set()
    await gone(jobs, "service_items")

    async def one_left():
        return await left(jobs, "service_jobs") == 1

    await reached(one_left, "the half of a job is still there")


async def test_deleted_a_job_is_gone_at_once_and_its_results_little_by_little(replica, monkeypatch):
    monkeypatch.setattr(importlib.import_module("metajudge.store.jobs"), "_SWEPT_AT_ONCE", 3)
    jobs = await replica(Panels())
    job_id, other = [await send(jobs, 10) for _ in range(2)]
    for one in (job_id, other):
        await ended(jobs, one)
    assert (await jobs.cancel(job_id)).done == 10
    assert await jobs.state(job_id) is None
    assert [one.job_id for one in await jobs.page(None, 5)] == [other]

    async def swept():
        return await left(jobs, "service_results") <= 10 and await left(jobs, "service_jobs") <= 1

    await reached(swept, within=10)
    assert [row.item for row in await jobs.results(other, -1, 20)] == list(range(10))


@pytest.mark.slow
async def test_cancelled_on_one_replica_it_stops_on_the_other_and_deleted_it_is_gone(replica):
    one, other = Panels(0.2), Panels(0.2)
    first, second = await replica(one), await replica(other)
    job_id = await send(first, 400)
    await asyncio.sleep(1.0)
    assert (await second.cancel(job_id)).state == "cancelled"
    await asyncio.sleep(1.0)
    count = len(one.asked) + len(other.asked)
    done = (await first.status(job_id)).done
    await asyncio.sleep(0.6)
    assert len(one.asked) + len(other.asked) == count < 400
    assert (await first.status(job_id)).done == done
    await first.cancel(job_id)
    assert await second.state(job_id) is None


async def test_what_a_replica_that_left_was_at_is_finished_by_the_other(replica):
    one, other = Panels(0.05), Panels(0.0)
    first = await replica(one)
    job_id = await send(first, 120)
    await asyncio.sleep(0.5)
    await first.stop()
    assert one.asked
    second = await replica(other)
    status = await ended(second, job_id)
    assert (status.state, status.done) == ("done", 120)


async def test_changes_are_told_at_once_where_they_can_be(replica, location, monkeypatch):
    first, second = await replica(Panels(0.3)), await replica(Panels(0.3), jobs_running=1)
    await asyncio.sleep(0.3)
    monkeypatch.setattr(jobs_module, "LOOK_EVERY_S", 60.0)
    if not isinstance(location, PostgresUrl):  # other processes on a file look for them
        await first.stop()
        first = second
    job_id = await send(first, 1)
    began = time.monotonic()
    while not await second.results_since(job_id, 0, 10):
        await second.changed(job_id)
    assert time.monotonic() - began < 30, "it was found by looking, not by being told"


@pytest.mark.slow
async def test_small_jobs_do_not_wait_for_a_large_one(replica):
    jobs = await replica(Panels(0.01), jobs_running=2)
    await send(jobs, 2000)
    small = await send(jobs, 4)
    assert (await ended(jobs, small, within=15)).state == "done"


class TestAnswers:
    @pytest.fixture
    async def two(self, location):
        stores = [await open_store(location) for _ in range(2)]
        yield [answers_module.StoredAnswers(one) for one in stores]
        for one in stores:
            await one.close()

    async def test_a_key_is_one_replicas_and_its_answer_everybodys(self, two):
        one, other = two
        assert await one.begin("ada", "k", "body") is None
        assert (await other.begin("ada", "k", "body")).status is None
        assert await other.begin("bob", "k", "body") is None, "keys of different callers are apart"
        await one.answered("ada", "k", 200, b"\x00answer", "/here")
        found = await other.begin("ada", "k", "body")
        assert (found.status, found.body, found.location, found.fingerprint) == (200, b"\x00answer", "/here", "body")

    async def test_given_back_it_is_free(self, two):
        one, other = two
        await one.begin("ada", "k", "body")
        await other.release("ada", "k")
        assert (await other.begin("ada", "k", "body")).status is None, "another replica's key was given back"
        await one.release("ada", "k")
        assert await other.begin("ada", "k", "body") is None

    async def test_of_twenty_at_once_one_gets_it(self, two):
        found = await asyncio.gather(*(one.begin("ada", "k", "body") for _ in range(10) for one in two))
        assert found.count(None) == 1

    async def test_the_key_of_a_replica_that_is_gone_is_free_after_a_while(self, location, monkeypatch):
        gone = await open_store(location)
        await answers_module.StoredAnswers(gone).begin("ada", "k", "body")
        await answers_module.StoredAnswers(gone).begin("ada", "done", "body")
        await answers_module.StoredAnswers(gone).answered("ada", "done", 200, b"x", None)
        store = await open_store(location)
        answers = answers_module.StoredAnswers(store)
        monkeypatch.setattr(answers_module, "TAKEN_OVER_AFTER_S", 0.0)
        assert (await answers.begin("ada", "k", "body")).status is None, "taken from a living replica"
        await gone.close()

        async def is_free():  # the server notices a closed connection a moment later
            return await answers.begin("ada", "k", "body") is None

        await reached(is_free, "the key of a replica that is gone is still taken", within=60)
        assert (await answers.begin("ada", "done", "body")).status == 200
        await store.close()

    async def test_after_a_day_a_key_is_free_again(self, two, monkeypatch):
        one, other = two
        await one.begin("ada", "k", "body")
        await one.answered("ada", "k", 200, b"x", None)
        monkeypatch.setattr(answers_module, "KEEP_ANSWERS_S", -1.0)
        assert await other.begin("ada", "k", "another body") is None


ROOT = Path(__file__).parents[2]
DOOMED = ROOT / "tests" / "doubles" / "doomed_replica.py"
KILLED = -9


@pytest.fixture
async def stores(location):
    """The same store, opened twice."""
    opened = [await open_store(location) for _ in range(2)]
    yield opened
    for one in opened:
        await one.close()


def lanes_of(store, lease_s=60.0):
    return StoredJobs(store, lease_s)


async def add_job(store, tmp_path, items, job_id="job", at=1.0):
    upload = tmp_path / "upload"
    upload.write_text('{"item": {"id": "i"}}\n' * items)
    rows = StoredJobs(store)
    await rows.add(JobRow(job_id, "o", "{}", items, "queued", None, at, None), upload, None, b"", "")
    return rows


async def all_taken(lanes):
    found = []
    while (one := await lanes.take()) is not None:
        found.append(one)
    return found


async def test_a_job_comes_with_its_lanes_and_each_is_leased_once(stores, tmp_path):
    await add_job(stores[0], tmp_path, 20)
    first, second = (lanes_of(one) for one in stores)
    taken = await asyncio.gather(*(one.take() for _ in range(6) for one in (first, second)))
    found = [one for one in taken if one is not None]
    assert sorted(one.number for one in found) == list(range(LANES))
    assert {one.of for one in found} == {LANES}


async def test_a_lease_that_is_renewed_stays_and_one_that_is_not_runs_out(stores, tmp_path):
    await add_job(stores[0], tmp_path, 2)
    living, other = lanes_of(stores[0], lease_s=0.5), lanes_of(stores[1])
    kept, dropped = await all_taken(living)
    for _ in range(4):
        await asyncio.sleep(0.2)
        await living.renew({kept})
    assert await all_taken(other) == [dropped]


async def test_what_lost_its_lease_neither_gives_back_nor_finishes_the_new_holders_lane(stores, tmp_path):
    rows = await add_job(stores[0], tmp_path, 1)
    slow, quick = lanes_of(stores[0], lease_s=0.0), lanes_of(stores[1])
    lane = await slow.take()
    assert await quick.take() == lane
    await slow.put_back(lane)
    await rows.finish(lane)
    assert await all_taken(quick) == [], "the lane was freed under its holder"
    await quick.put_back(lane)
    assert await all_taken(quick) == [lane], "the lane is gone although its item has no result"


async def test_a_job_that_an_earlier_version_queued_elsewhere_gets_its_lanes(stores, tmp_path):
    rows = await add_job(stores[0], tmp_path, 5)
    await add_job(stores[0], tmp_path, 5, "ended")
    await rows.end("ended", "cancelled")
    await stores[0].change(lambda one: one.execute("DELETE FROM service_lanes"))
    lanes = lanes_of(stores[0])
    await lanes.supply()
    await lanes.supply()
    assert [(one.job_id, one.number) for one in await all_taken(lanes)] == [("job", number) for number in range(5)]


def killed_at(place, how, *, within):
    """What became of a job for each commit that its replica was killed after."""
    command = [sys.executable, DOOMED, getattr(place, "secret", place), how]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=within, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"{found[-1:]} {done.stderr[-3000:]}"
    return found


def assert_each_job_ended(found, killed_at_least):
    killed = [one for one in found if one["doomed"] == KILLED]
    assert len(killed) >= killed_at_least
    assert found[-1]["doomed"] == 0, "the last round is to end without a kill"
    whole = {"state": "done", "done": 10, "items": True, "order": True, "lanes_left": 0, "survivor": 0}
    accepted = [one for one in found if one["accepted"]]
    assert len(accepted) >= len(found) - 8, "nothing but the steps before the job was sent can lose it"
    for one in accepted:
        assert whole.items() <= one.items(), f"killed after commit {one['commit']}: {one}"


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("how", "at_least"), [("alone", 40), ("beside", 10)])
def test_killed_after_every_commit_of_a_lanes_life_the_job_ends_with_every_item_once(location, how, at_least):
    found = killed_at(location, how, within=380)
    assert [one["commit"] for one in found] == list(range(1, len(found) + 1))
    assert_each_job_ended(found, at_least)
