"""A budget shared through a file: by threads, by processes, by commands one after the other."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from functools import partial

import pytest

from metajudge.errors import BudgetExceeded, ConfigurationError
from metajudge.providers import shared_budget
from metajudge.providers.budget import Amount, Budget
from metajudge.providers.shared_budget import SharedBudget, open_budget

CALL = Amount(0.01, 1, 100)

SPENDER = """
import asyncio, sys
from pathlib import Path
from metajudge.errors import BudgetExceeded
from metajudge.providers.budget import Amount
from metajudge.providers.shared_budget import SharedBudget

async def main():
    budget, sent, stopped = SharedBudget(Path(sys.argv[1]), usd=float(sys.argv[2])), 0, 0
    async def worker():
        nonlocal sent, stopped
        while True:
            try:
                await budget.reserve(Amount(0.01, 1, 100))
            except BudgetExceeded:
                stopped += 1
                return
            sent += 1
            await asyncio.sleep(0.002)
            budget.settle(Amount(0.01, 1, 100), Amount(0.007, 1, 70))
    await asyncio.gather(*(worker() for _ in range(16)))
    budget.close()
    print(sent, stopped)

asyncio.run(main())
"""

HOLDER = """
import asyncio, sys, time
from pathlib import Path
from metajudge.providers.budget import Amount
from metajudge.providers.shared_budget import SharedBudget

async def main():
    budget = SharedBudget(Path(sys.argv[1]), calls=10)
    for _ in range(4):
        await budget.reserve(Amount(0.01, 1, 100))
    print("held", flush=True)
    time.sleep(60)

asyncio.run(main())
"""


def process(source, *arguments):
    command = [sys.executable, "-c", source, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_four_processes_together_end_within_one_call_of_the_limit_and_never_above(tmp_path):
    path, limit = tmp_path / "b.sqlite", 2.0
    running = [process(SPENDER, path, limit) for _ in range(4)]
    ended = [one.communicate(timeout=60) for one in running]
    assert [one.returncode for one in running] == [0] * 4, ended
    sent = [int(out.split()[0]) for out, _ in ended]
    assert all(out.split()[1] == "16" for out, _ in ended)  # every worker stopped, none hangs
    found = SharedBudget(path, usd=limit).totals()
    assert (found.spent.calls, found.held) == (sum(sent), Amount())
    assert limit - 0.01 <= found.spent.usd <= limit + 1e-9
    assert found.spent.usd == pytest.approx(0.007 * sum(sent))


def test_threads_with_loops_of_their_own_hold_the_limit_together(tmp_path):
    sent = []

    async def spend():
        budget = SharedBudget(tmp_path / "b.sqlite", calls=57)
        try:
            while True:
                await budget.reserve(CALL)
                sent.append(1)
                await asyncio.sleep(0.001)
                budget.settle(CALL, CALL)
        except BudgetExceeded:
            budget.close()

    threads = [threading.Thread(target=lambda: asyncio.run(spend())) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    assert len(sent) == 57


async def test_what_a_killed_process_had_set_aside_counts_as_spent_and_blocks_nobody(tmp_path):
    holder = process(HOLDER, tmp_path / "b.sqlite")
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    budget = SharedBudget(tmp_path / "b.sqlite", calls=10)
    assert budget.totals().held.calls == 4
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    for _ in range(6):
        await budget.reserve(CALL)
        budget.settle(CALL, CALL)
    started = time.monotonic()
    with pytest.raises(BudgetExceeded, match="10 of 10 calls"):
        await asyncio.wait_for(budget.reserve(CALL), 10)
    assert time.monotonic() - started < 5
    assert budget.totals().spent.calls == 10
    budget.close()
    holder.communicate()


async def test_a_later_run_goes_on_from_what_is_spent_and_a_raised_budget_lets_it(tmp_path):
    first = SharedBudget(tmp_path / "b.sqlite", usd=0.05)
    for _ in range(5):
        await first.reserve(CALL)
        first.settle(CALL, CALL)
    with pytest.raises(BudgetExceeded, match=r"\$0.0500 of \$0.05 is spent"):
        await first.reserve(CALL)
    first.close()
    same = SharedBudget(tmp_path / "b.sqlite", usd=0.05)
    with pytest.raises(BudgetExceeded):
        await same.reserve(CALL)
    same.close()
    raised = SharedBudget(tmp_path / "b.sqlite", usd=0.06)
    await raised.reserve(CALL)
    raised.settle(CALL, CALL)
    with pytest.raises(BudgetExceeded):
        await raised.reserve(CALL)
    raised.close()


async def test_a_call_waits_for_what_another_participant_has_set_aside(tmp_path):
    one, other = (SharedBudget(tmp_path / "b.sqlite", calls=1) for _ in range(2))
    await one.reserve(CALL)
    waiting = asyncio.ensure_future(other.reserve(CALL))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    one.settle(CALL, Amount())  # it was not sent after all
    await asyncio.wait_for(waiting, 5)
    one.close()
    other.close()


async def test_no_wait_without_end_for_what_nobody_settles(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_budget, "_GIVE_UP_S", 0.05)
    one, other = (SharedBudget(tmp_path / "b.sqlite", calls=1) for _ in range(2))
    await one.reserve(CALL)
    with pytest.raises(BudgetExceeded, match="other runs reserve"):
        await asyncio.wait_for(other.reserve(CALL), 5)


async def test_many_small_sums_leave_no_dust_that_blocks_the_last_call(tmp_path):
    budget = SharedBudget(tmp_path / "b.sqlite", usd=0.3)
    for _ in range(3):
        await asyncio.wait_for(budget.reserve(Amount(0.1, 1, 1)), 1)
        budget.settle(Amount(0.1, 1, 1), Amount(0.1, 1, 1))
    assert budget.totals().held == Amount()


async def test_a_cancelled_wait_sets_nothing_aside(tmp_path):
    one, other = (SharedBudget(tmp_path / "b.sqlite", calls=1) for _ in range(2))
    await one.reserve(CALL)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(other.reserve(CALL), 0.1)
    one.settle(CALL, CALL)
    assert one.totals().held == Amount()


def test_rows_of_ended_runs_are_folded_into_one(tmp_path):
    for _ in range(5):
        SharedBudget(tmp_path / "b.sqlite", calls=1).close()
    SharedBudget(tmp_path / "b.sqlite", calls=1)
    with sqlite3.connect(tmp_path / "b.sqlite") as db:
        assert db.execute("SELECT count(*) FROM participants").fetchone() == (2,)


def test_another_programs_database_is_refused_and_left_as_it_is(tmp_path):
    with sqlite3.connect(tmp_path / "x.sqlite") as db:
        db.execute("CREATE TABLE mine (a)")
    with pytest.raises(ConfigurationError, match="another program's database"):
        SharedBudget(tmp_path / "x.sqlite", calls=1)
    (tmp_path / "text").write_text("no database at all, only words " * 40)
    with pytest.raises(ConfigurationError, match="cannot be used"):
        SharedBudget(tmp_path / "text", calls=1)
    with pytest.raises(ConfigurationError, match="cannot be used"):
        SharedBudget(tmp_path / "nowhere" / "b.sqlite", calls=1)


def test_a_file_without_a_limit_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="limits nothing"):
        open_budget(file=tmp_path / "b.sqlite")
    assert type(open_budget(usd=1.0)) is Budget


def test_a_file_that_another_process_opens_at_the_same_moment_is_opened(tmp_path, monkeypatch):
    class Busy(sqlite3.Connection):
        refusals = 3

        def execute(self, sql, *values):
            if "journal_mode" in sql and Busy.refusals:
                Busy.refusals -= 1
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY
                raise error
            return super().execute(sql, *values)

    monkeypatch.setattr(shared_budget.sqlite3, "connect", partial(sqlite3.connect, factory=Busy))
    budget = SharedBudget(tmp_path / "b.sqlite", usd=1.0)
    assert Busy.refusals == 0
    assert budget.spent.usd == 0
