"""A budget that several threads, processes and commands share: its ledger is a SQLite file on their machine.

Each run that takes part has a row of its own: what it has spent, and what it has set aside for calls in flight. The
limit is compared with the sum over all rows, inside one transaction, before a call is sent. What a run had set aside
when it died counts as spent, because the calls may have been answered and billed.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from metajudge.errors import BudgetExceeded, ConfigurationError
from metajudge.files.processes import identity, is_alive
from metajudge.providers.budget import Amount, Budget
from metajudge.providers.limit_book import POLL_S

_APPLICATION_ID = 0x6D6A6231  # "mjb1"
_PICO = 10**12
"""Dollars are kept in whole millionths of a millionth, so that sums are exact."""

_BUSY_S = 30.0
_GIVE_UP_S = 3600.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS participants (
    id INTEGER PRIMARY KEY,
    process TEXT NOT NULL,
    usd INTEGER NOT NULL DEFAULT 0, calls INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0,
    held_usd INTEGER NOT NULL DEFAULT 0, held_calls INTEGER NOT NULL DEFAULT 0, held_tokens INTEGER NOT NULL DEFAULT 0
)
"""
_TOTALS = "SELECT sum(usd), sum(calls), sum(tokens), sum(held_usd), sum(held_calls), sum(held_tokens) FROM participants"
_ADD = """
UPDATE participants SET usd = usd + ?, calls = calls + ?, tokens = tokens + ?,
    held_usd = held_usd + ?, held_calls = held_calls + ?, held_tokens = held_tokens + ? WHERE id = ?
"""
_BURY = """
UPDATE participants SET usd = usd + held_usd, calls = calls + held_calls, tokens = tokens + held_tokens,
    held_usd = 0, held_calls = 0, held_tokens = 0, process = '' WHERE id = ?
"""
_FOLD = """
INSERT INTO participants (process, usd, calls, tokens)
SELECT '', coalesce(sum(usd), 0), coalesce(sum(calls), 0), coalesce(sum(tokens), 0) FROM participants WHERE process = ''
"""


@dataclass(frozen=True, slots=True)
class BudgetTotals:
    """A ledger's totals: spent by all runs, and reserved by those still running."""

    spent: Amount
    held: Amount


class SharedBudget(Budget):
    """A :class:`~metajudge.providers.budget.Budget` whose spending is in a file that others share.

    The limits are this run's own; what is compared with them is the spending of everyone, earlier runs included. A
    budget that is reached is raised by giving a larger limit. A call that would fit but for what others have set
    aside waits until they settle. Use it in one event loop; each thread or process opens the file for itself.

    Args:
        path: made where it does not exist; on a disk of this machine (SQLite's locks do not work on network drives).
        usd, calls, tokens: limits; None for no limit in that currency.

    Raises:
        ConfigurationError: a limit that is not positive, no limit at all, or a file that is something else or cannot
            be written.
    """

    def __init__(
        self, path: Path, *, usd: float | None = None, calls: int | None = None, tokens: int | None = None
    ) -> None:
        super().__init__(usd=usd, calls=calls, tokens=tokens)
        if not self:
            raise ConfigurationError(
                "a budget's file without a limit limits nothing: give --budget-usd, --budget-calls or --budget-tokens"
            )
        self._path = path
        self._settled, self._freed = Amount(), Amount()
        self._seen: tuple[BudgetTotals, float] | None = None
        self._flushing: asyncio.Handle | None = None
        self._closed = False
        with self._typed():
            self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    async def _set_aside(self, amount: Amount) -> bool:
        totals, now = self._exchange(amount), time.monotonic()
        if totals is None:
            self._seen = None
            return True
        self.check(amount, totals.spent)
        if self._seen is None or totals != self._seen[0]:
            self._seen = totals, now
        elif now - self._seen[1] > _GIVE_UP_S:
            raise BudgetExceeded(
                f"the budget is used up: other runs reserve ${totals.held.usd:.4f} ({totals.held.calls} calls) "
                f"in {self._path} and have finished no call for an hour. Raise it, or wait for them"
            )
        return False

    async def _wait(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        if seconds == POLL_S[1]:
            with self._transaction():
                self._bury_the_dead()

    def settle(self, reserved: Amount, spent: Amount) -> None:
        """Replaces a reservation by what the call took; booked with the next call or at the loop's next turn."""
        self._freed += reserved
        self._settled += spent
        self.spent += spent
        if not self._closed and self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_soon(self._flush)

    def totals(self) -> BudgetTotals:
        """What everyone has spent and set aside."""
        self._flush()
        with self._typed():
            return self._sums()

    def close(self) -> None:
        """Books what is open and leaves the ledger: what is still set aside counts as spent. Harmless when repeated."""
        if not self._closed:
            self._flush()
            self._closed = True
            with self._transaction():
                self._db.execute(_BURY, (self._id,))
            self._db.close()

    def _flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        if not self._closed and (self._settled != Amount() or self._freed != Amount()):
            self._exchange(None)

    def _exchange(self, wanted: Amount | None) -> BudgetTotals | None:
        """Books what calls took, gives back what was set aside for them, and sets aside for another call.

        Args:
            wanted: to be set aside, None for nothing.

        Returns:
            None where that is done; else the totals with which ``wanted`` does not fit (the rest is booked).
        """
        with self._transaction():
            totals, refused = self._sums(), None
            spent, held = totals.spent + self._settled, totals.held - self._freed
            kept = Amount() - self._freed
            if wanted is not None:
                if self.fits(spent + held + wanted):
                    kept += wanted
                else:
                    refused = BudgetTotals(spent, held)
            changes = [
                one for amount in (self._settled, kept) for one in (_pico(amount.usd), amount.calls, amount.tokens)
            ]
            if any(changes):
                self._db.execute(_ADD, (*changes, self._id))
        self._settled, self._freed = Amount(), Amount()
        return refused

    def _sums(self) -> BudgetTotals:
        usd, calls, tokens, held_usd, held_calls, held_tokens = self._db.execute(_TOTALS).fetchone()
        return BudgetTotals(Amount(usd / _PICO, calls, tokens), Amount(held_usd / _PICO, held_calls, held_tokens))

    def _prepare(self) -> None:
        until = time.monotonic() + _BUSY_S
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:  # several processes at once: SQLite refuses without waiting
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(POLL_S[0])
        self._db.execute("PRAGMA synchronous = NORMAL")  # a process that dies loses nothing; a machine may lose the end
        with self._transaction():
            (found,) = self._db.execute("PRAGMA application_id").fetchone()
            (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if found != _APPLICATION_ID and tables:
                raise ConfigurationError(
                    f"{self._path} is another program's database: name another file for the budget"
                )
            self._db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            self._db.execute(_SCHEMA)
            self._bury_the_dead()
            # Finished runs become one row, so that the sum stays short.
            self._db.execute(_FOLD)
            (last,) = self._db.execute("SELECT max(id) FROM participants").fetchone()
            self._db.execute("DELETE FROM participants WHERE process = '' AND id < ?", (last,))
            self._id = self._db.execute(
                "INSERT INTO participants (process) VALUES (?)", (identity(os.getpid()),)
            ).lastrowid

    def _bury_the_dead(self) -> None:
        """Counts as spent what died processes had set aside."""
        rows = self._db.execute("SELECT id, process FROM participants WHERE process <> ''").fetchall()
        self._db.executemany(_BURY, [(number,) for number, process in rows if not is_alive(process)])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._typed():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    @contextmanager
    def _typed(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ConfigurationError(
                f"the budget's ledger {self._path} cannot be used: {error}. Nothing is sent without it: see that the "
                "folder exists, may be written and has space, or name another file with --budget-file"
            ) from None


def open_budget(
    usd: float | None = None, calls: int | None = None, tokens: int | None = None, file: Path | None = None
) -> Budget:
    """The budget of one command: its own, or one that it shares through a file."""
    if file is None:
        return Budget(usd=usd, calls=calls, tokens=tokens)
    return SharedBudget(file, usd=usd, calls=calls, tokens=tokens)


def _pico(usd: float) -> int:
    return round(usd * _PICO)
