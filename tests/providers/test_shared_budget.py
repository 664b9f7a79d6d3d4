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

from metajudge.errors import BudgetExceeded, ConfigurationError, DayBudgetExceeded, StoreUnavailableError
from metajudge.providers import shared_budget
from metajudge.providers.budget import Amount, Budget, DailyBudget
from metajudge.providers.limit_book import DAY_S, BudgetBook
from metajudge.providers.shared_budget import SharedBudget, open_budget
from metajudge.store import limits, open_store

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


NOON = 20_000 * DAY_S + DAY_S / 2


def test_calls_in_flight_and_spending_share_the_limit():
    book = BudgetBook()
    assert book.reserve("a", 0.6, 1.0, NOON).granted
    assert not book.reserve("b", 0.6, 1.0, NOON).granted
    assert book.reserve("a", 0.6, 1.0, NOON).granted, "asked again it changes nothing"
    assert book.state(NOON).held == 0.6
    book.settle("a", 0.1, NOON)
    found = book.reserve("b", 0.6, 1.0, NOON)
    assert (found.granted, found.spent, found.ends_in_s) == (True, 0.1, DAY_S / 2)
    assert not book.reserve("c", 0.4, 1.0, NOON).granted


def test_what_a_dead_process_set_aside_is_returned_and_a_day_begins_anew_at_midnight():
    book = BudgetBook()
    book.reserve("dead", 1.0, 1.0, NOON, 10)
    book.renew(["dead", "unknown"], NOON + 5, 10)
    assert not book.reserve("b", 1.0, 1.0, NOON + 14, 10).granted
    assert book.reserve("b", 1.0, 1.0, NOON + 15, 10).granted
    book.settle("dead", 0.5, NOON + 16)
    assert book.state(NOON + 16).spent == 0.5
    book = BudgetBook()
    before = NOON + DAY_S / 2 - 1
    book.reserve("a", 0.2, 1.0, before)
    book.settle("b", 0.8, before)
    assert not book.reserve("c", 0.1, 1.0, before).granted
    found = book.state(before + 1)
    assert (found.spent, found.held, found.ends_in_s) == (0.0, 0.2, DAY_S)
    assert BudgetBook.from_json(book.to_json()) == book


ONE = Amount(0.4, 1, 10)


@pytest.fixture
def keeper(store):
    return store.limits


def opened(keeper, usd=1.0):
    budget = DailyBudget(usd)
    budget.keeper = keeper
    return budget


async def test_two_processes_share_a_keeper_and_a_waiting_call_gets_what_comes_back(keeper):
    one, other = opened(keeper), opened(keeper)
    await one.reserve(ONE)
    await other.reserve(ONE)
    waiting = asyncio.create_task(other.reserve(ONE))
    await asyncio.sleep(0.03)
    assert not waiting.done(), "it would fit but for the calls in flight"
    one.settle(ONE, Amount(0.1, 1, 10))
    await waiting
    for budget in (other, other):
        budget.settle(ONE, Amount(0.3, 1, 10))
    await other.flush(5)
    with pytest.raises(DayBudgetExceeded, match=r"\$0.7000 of \$1 is spent") as raised:
        await one.reserve(ONE)
    assert 0 < raised.value.ends_in_s <= DAY_S
    state = await one.state()
    assert (round(state.spent, 9), state.held) == (0.7, 0.0)
    await one.flush(5)


async def test_a_call_that_is_cancelled_while_it_waits_holds_nothing(keeper):
    budget = opened(keeper)
    await budget.reserve(Amount(0.9, 1, 10))
    waiting = asyncio.create_task(budget.reserve(ONE))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    budget.settle(Amount(0.9, 1, 10), Amount())
    await budget.flush(5)
    assert (await budget.state()).held == 0


async def test_a_cost_is_told_until_the_keeper_has_heard_it(keeper):
    failures = [1, 2]
    settle = keeper.settle_usd

    async def unreliable(ticket, usd):
        if failures:
            failures.pop()
            raise StoreUnavailableError("no database")
        await settle(ticket, usd)

    async def at_once(_seconds):
        await asyncio.sleep(0)

    keeper.settle_usd = unreliable
    budget = DailyBudget(1.0, sleep=at_once)
    budget.keeper = keeper
    await budget.reserve(ONE)
    budget.settle(ONE, ONE)
    await budget.flush(5)
    assert (await budget.state()).spent == 0.4


async def test_a_restart_finds_the_day_s_spending_until_the_next_day(tmp_path, monkeypatch):
    now = [20_000 * DAY_S + 10.0]
    monkeypatch.setattr(limits.time, "time", lambda: now[0])
    store = await open_store(tmp_path / "s.db")
    await store.limits.reserve_usd("a", 0.5, 1.0)
    await store.limits.reserve_usd("b", 0.5, 1.0)
    await store.limits.settle_usd("a", 0.25)
    await store.close()
    store = await open_store(tmp_path / "s.db")
    state = await store.limits.spent_usd()
    assert (state.spent, state.held) == (0.25, 0.5)
    now[0] += 11.0
    state = await store.limits.spent_usd()
    assert (state.spent, state.held) == (0.25, 0.0), "what a process that ended had set aside is held for ever"
    now[0] += DAY_S
    assert (await store.limits.spent_usd()).spent == 0
    await store.close()
