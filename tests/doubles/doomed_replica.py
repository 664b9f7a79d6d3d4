"""Kills a replica after its n-th committed transaction, for n = 1, 2, 3, ... until its job ends without a kill.

    python doomed_replica.py STORE {alone|beside}

A replica sends a job and works on it; another one finishes what is left: it starts after the kill (alone), or works
beside the doomed one all the time (beside). Prints a JSON line for each n. Processes are forked from this one, which
has imported everything, opens nothing and has no threads.
"""

import asyncio
import importlib
import itertools
import json
import os
import signal
import sys
import time
import traceback

from metajudge.store import open_store
from tests.doubles.judgments import assessed, judgment

jobs_module = importlib.import_module("metajudge.api.jobs")
panels_module = importlib.import_module("metajudge.api.panels")
options = importlib.import_module("metajudge.api.options")
metrics = importlib.import_module("metajudge.api.metrics")

ITEMS = 10
LANE_ITEMS = 1
LEASE_S = 0.4
jobs_module.LOOK_EVERY_S = 0.1
WITHIN_S = 15.0
SURVIVED, FAILED, KILLED = 0, 4, -signal.SIGKILL


class Panels:
    """Assesses everything after a moment."""

    def reads_evidence(self, _choice):
        return False

    async def vet(self, one, _choice, _others=()):
        await asyncio.sleep(0.005)
        return assessed(one)


async def replica(place, committed=lambda: None):
    store = await open_store(place)
    change = store.engine.change

    def told(*given, **options):
        result = change(*given, **options)
        committed()
        return result

    store.engine.change = told
    limits = options.Limits(job_workers=2, jobs_running=2)
    jobs = jobs_module.JobQueue(Panels(), store, limits, metrics.Metrics(), lease_s=LEASE_S, lane_items=LANE_ITEMS)
    await jobs.start()
    return jobs, store


async def ended(jobs, job_id):
    deadline = time.monotonic() + WITHIN_S
    while True:
        status = await jobs.status(job_id)
        if status.state.ended or time.monotonic() > deadline:
            return status
        await asyncio.sleep(0.02)


async def doomed(place, number, telling):
    """Sends a job and works on it until the kill after commit ``number``."""
    commits = itertools.count(1)

    def committed():
        if next(commits) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    jobs, _ = await replica(place, committed)
    async with jobs.upload() as (job_id, path):
        records = [judgment(id=f"{job_id}-{n}").model_dump(mode="json") for n in range(ITEMS)]
        path.write_text("".join(json.dumps(one) + "\n" for one in records))
        os.write(telling, job_id.encode())
        await jobs.add(job_id, "caller", panels_module.Choice(), ITEMS, None)
    status = await ended(jobs, job_id)
    os._exit(SURVIVED if status.state.ended else 3)


async def survivor(place, asked, telling):
    """Works until the job whose id it reads has ended; says what became of it."""
    jobs, store = await replica(place)
    job_id = (await asyncio.to_thread(os.read, asked, 100)).decode()
    if not job_id or await jobs.state(job_id) is None:
        found = {"accepted": False}
    else:
        status = await ended(jobs, job_id)
        rows = await jobs.results_since(job_id, 0, 1000)
        left = await store.read(lambda one: one.execute("SELECT count(*) FROM service_lanes").fetchall())
        found = {
            "accepted": True,
            "state": status.state.value,
            "done": status.done,
            "items": sorted(row.item for row in rows) == list(range(ITEMS)),
            "order": [row.seq for row in rows] == list(range(1, ITEMS + 1)),
            "lanes_left": left[0][0],
        }
    os.write(telling, json.dumps(found).encode())
    os._exit(0)


def forked(work):
    pid = os.fork()
    if pid == 0:
        try:
            asyncio.run(work())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(FAILED)
    return pid


def exit_of(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def one_round(place, number, beside):
    """Exit of the doomed replica, and what the survivor says."""
    asked, asking = os.pipe()
    told, telling = os.pipe()
    start_survivor = lambda: forked(lambda: survivor(place, asked, telling))  # noqa: E731
    second = start_survivor() if beside else None
    named, naming = os.pipe()
    exited = exit_of(forked(lambda: doomed(place, number, naming)))
    os.close(naming)
    os.write(asking, os.read(named, 100) or b"none")
    second = second or start_survivor()
    os.close(telling)
    said = os.read(told, 1_000_000)
    for one in (asked, asking, told, named):
        os.close(one)
    return exited, exit_of(second), json.loads(said)


def main():
    place, beside = sys.argv[1], sys.argv[2] == "beside"
    for number in range(1, 1000):
        doomed_exit, survivor_exit, found = one_round(place, number, beside)
        print(json.dumps({"commit": number, "doomed": doomed_exit, "survivor": survivor_exit, **found}), flush=True)
        if FAILED in (doomed_exit, survivor_exit):
            sys.exit(f"a replica failed after commit {number}")
        if doomed_exit != KILLED:
            return


if __name__ == "__main__":
    main()
