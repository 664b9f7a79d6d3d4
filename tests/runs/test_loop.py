"""The one loop over records: blocks settled in bulk, workers for the rest, and how a run ends."""

import asyncio

import pytest

from metajudge.errors import BatchPendingError, BudgetExceeded
from metajudge.runs.loop import BLOCK, RunEnd, Stop, run_all


class Run:
    """What came back, by index, and how."""

    def __init__(self):
        self.results, self.settled, self.blocks, self.most, self._now = {}, set(), [], 0, 0

    def finished(self, job, result, settled):
        self.results[job.index] = result
        if settled:
            self.settled.add(job.index)

    async def settle(self, block):
        self.blocks.append(len(block))
        return [job.record * 10 if job.record % 2 else None for job in block]

    async def work(self, job):
        self._now += 1
        self.most = max(self.most, self._now)
        await asyncio.sleep(0)
        self._now -= 1
        return job.record * 100


async def test_blocks_are_settled_and_the_others_go_to_a_bounded_pool():
    run, n = Run(), 2 * BLOCK + 10
    end = await run_all(range(n), run.work, finished=run.finished, workers=5, settle=run.settle)
    assert end is RunEnd.FINISHED
    assert run.blocks == [BLOCK, BLOCK, 10]
    assert run.results == {i: i * (10 if i % 2 else 100) for i in range(n)}
    assert run.settled == {i for i in range(n) if i % 2}
    assert run.most == 5


async def test_without_settling_every_record_is_worked_on():
    run = Run()
    await run_all([3, 4], run.work, finished=run.finished, workers=1)
    assert (run.results, run.settled) == ({0: 300, 1: 400}, set())


async def test_records_are_read_as_they_are_needed():
    run, read = Run(), []

    def records():
        for number in range(100 * BLOCK):
            read.append(number)
            yield number

    stop = Stop()

    def finished(job, result, settled):
        stop.ask(RunEnd.INTERRUPTED)

    assert await run_all(records(), run.work, finished=finished, workers=2, stop=stop) is RunEnd.INTERRUPTED
    assert len(read) <= 2 * BLOCK


@pytest.mark.parametrize(
    ("error", "end"), [(BudgetExceeded("x"), RunEnd.BUDGET), (BatchPendingError("x"), RunEnd.PENDING)]
)
async def test_a_spent_budget_or_a_pending_batch_stops_the_run_and_keeps_the_rest(error, end):
    run = Run()

    async def work(job):
        if job.index == 3:
            raise error
        return await run.work(job)

    assert await run_all(range(1000), work, finished=run.finished, workers=1) is end
    assert sorted(run.results) == [0, 1, 2]


async def test_another_error_ends_the_run():
    async def work(job):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_all(range(10), work, finished=Run().finished, workers=3)


@pytest.mark.parametrize("where", ["work", "finished", "settle", "records"])
async def test_an_error_is_raised_once_what_is_in_flight_has_ended(where):
    begun, ended = asyncio.Event(), []

    def records():
        yield 0
        yield 1
        if where == "records":
            yield from range(2, BLOCK)
            raise ZeroDivisionError

    async def settle(block):
        if where == "settle" and block[0].index:
            raise ZeroDivisionError
        return [None] * len(block)

    async def work(job):
        if job.index == 0:
            begun.set()
            await asyncio.sleep(0.05)
            ended.append(job.index)
        elif job.index == 1:
            await begun.wait()
            if where == "work":
                raise ZeroDivisionError
        return job.index

    def finished(job, result, settled):
        if where == "finished" and job.index == 1:
            raise ZeroDivisionError

    source = range(2 * BLOCK) if where == "settle" else records()
    with pytest.raises(ZeroDivisionError):
        await asyncio.wait_for(run_all(source, work, finished=finished, workers=2, settle=settle), 5)
    assert ended == [0] or where == "records"  # of the records' own error, the block was never begun


async def test_what_is_in_flight_gets_its_grace_and_is_cancelled_then():
    stop, ended = Stop(), []

    async def work(job):
        stop.ask(RunEnd.INTERRUPTED)
        await asyncio.sleep(0.02 if job.index == 0 else 60)
        ended.append(job.index)

    end = await run_all(range(10), work, finished=lambda *_: None, workers=2, stop=stop, grace_s=0.5)
    assert (end, ended) == (RunEnd.INTERRUPTED, [0])


@pytest.mark.parametrize("end", [RunEnd.INTERRUPTED, RunEnd.PENDING, RunEnd.BUDGET])
def test_a_run_that_stopped_says_how_to_continue(end):
    assert "Run the same command" in end.next_step
    assert RunEnd.FINISHED.next_step is None
