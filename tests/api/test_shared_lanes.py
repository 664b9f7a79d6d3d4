"""Lanes of jobs: one process's at a time, and never lost, whatever transaction it is killed after."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metajudge.store import open_store
from metajudge.store.jobs import LANES, JobRow, StoredJobs

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
