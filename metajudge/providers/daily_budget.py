"""A budget a day that a service and its replicas share: each call asks one keeper first, and tells it what it cost.

The rule is :class:`~metajudge.providers.budget_book.BudgetBook`. The book is kept in a row of a PostgreSQL database for
all replicas (:mod:`metajudge.store.postgres_store`), or in a file for one process (:class:`FileBudget`).
"""

import asyncio
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import orjson

from metajudge.errors import BudgetExceeded, ConfigurationError, DayBudgetExceeded, MetajudgeError, StoreError
from metajudge.files.replacing import replacing
from metajudge.providers.budget import Amount, Budget
from metajudge.providers.budget_book import BudgetBook, BudgetState
from metajudge.providers.limit_book import LEASE_S

_POLL_S: Final = (0.01, 0.25)
"""The first and the longest pause between two questions for room."""


class BudgetKeeper(Protocol):
    """Where the book is kept; every method is one atomic change of it."""

    async def reserve_usd(self, ticket: str, usd: float, limit: float) -> BudgetState: ...

    async def settle_usd(self, ticket: str, usd: float) -> None: ...

    async def renew_usd(self, tickets: Collection[str]) -> None: ...

    async def spent_usd(self) -> BudgetState: ...


class DailyBudget(Budget):
    """Dollars that may be spent a day, in UTC. Use it in one event loop.

    A call is let through when its highest cost fits beside what is spent and what calls in flight, of any process, have
    set aside; where it would fit but for these, it waits for them. What a process that died had set aside is given back
    after :data:`~metajudge.providers.limit_book.LEASE_S`; if its calls in flight were answered and billed, that is not
    counted.

    Args:
        usd: dollars a day.
        sleep: waits a number of seconds.

    Attributes:
        keeper: set before the first call.

    Raises:
        ConfigurationError: a limit that is not positive.
    """

    def __init__(self, usd: float, *, sleep: Callable[[float], Any] = asyncio.sleep) -> None:
        super().__init__(usd=usd)
        self.limit = usd
        self.keeper: BudgetKeeper | None = None
        self._sleep = sleep
        self._first = asyncio.Lock()
        self._held: defaultdict[Amount, list[str]] = defaultdict(list)
        self._tickets: set[str] = set()
        self._settling: set[asyncio.Task[None]] = set()
        self._renewing: asyncio.Task[None] | None = None

    async def reserve(self, amount: Amount) -> None:
        """Sets a call's highest cost aside; see :meth:`metajudge.providers.budget.Budget.reserve`.

        Raises:
            DayBudgetExceeded: it does not fit beside what is spent.
            MetajudgeError: the keeper cannot be asked.
        """
        ticket, keeper = uuid.uuid4().hex, self._open
        self._tickets.add(ticket)  # before it is asked for: a cancelled question may have been granted
        try:
            async with self._first:  # first come, first served: only the first in line asks again and again
                pause = _POLL_S[0]
                while not (state := await keeper.reserve_usd(ticket, amount.usd, self.limit)).granted:
                    self._check(amount, state)
                    await self._sleep(pause)
                    pause = min(2 * pause, _POLL_S[1])
        except BaseException as error:
            if isinstance(error, BudgetExceeded):
                self._tickets.discard(ticket)
            else:
                self._settle(ticket, 0.0)
            raise
        self._held[amount].append(ticket)
        if self._renewing is None:
            self._renewing = asyncio.create_task(self._renew())

    def settle(self, reserved: Amount, spent: Amount) -> None:
        """Replaces a reservation by what the call took; told to the keeper until it has heard it."""
        self.spent += spent
        tickets = self._held[reserved]
        self._settle(tickets.pop(), spent.usd)  # calls with equal reservations are alike
        if not tickets:
            del self._held[reserved]

    async def state(self) -> BudgetState:
        """How the budget of all processes stands."""
        return await self._open.spent_usd()

    async def flush(self, within_s: float) -> None:
        """Waits until the keeper has heard what calls took."""
        if self._settling:
            await asyncio.wait(tuple(self._settling), timeout=within_s)
        for task in (*self._settling, self._renewing):
            if task is not None:
                task.cancel()

    @property
    def _open(self) -> BudgetKeeper:
        if self.keeper is None:
            raise ConfigurationError("the budget has no keeper yet")
        return self.keeper

    def _check(self, amount: Amount, state: BudgetState) -> None:
        if state.spent + amount.usd <= self.limit:
            return
        raise DayBudgetExceeded(
            f"the service's budget of the day is reached: ${state.spent:.4f} of ${self.limit:g} is spent and the next "
            f"call may cost ${amount.usd:.4f}. It begins anew at 00:00 UTC; completed work is kept",
            ends_in_s=state.ends_in_s,
        )

    def _settle(self, ticket: str, usd: float) -> None:
        task = asyncio.get_running_loop().create_task(self._told(ticket, usd))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _told(self, ticket: str, usd: float) -> None:
        pause = _POLL_S[1]
        while True:
            try:
                await self._open.settle_usd(ticket, usd)
            except MetajudgeError:  # told twice it counts twice, which is the safe side
                await self._sleep(pause)
                pause = min(2 * pause, LEASE_S)
            else:
                self._tickets.discard(ticket)
                return

    async def _renew(self) -> None:
        while self._tickets:
            await asyncio.sleep(LEASE_S / 3)
            with suppress(MetajudgeError):
                await self._open.renew_usd(tuple(self._tickets))
        self._renewing = None


class FileBudget:
    """A :class:`BudgetKeeper` for one process, whose book outlives it in a file.

    Args:
        path: of the file; None to keep it in memory.
        clock: seconds since the epoch.

    Raises:
        ConfigurationError: a file that is no budget's book.
    """

    def __init__(self, path: Path | None, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._book = BudgetBook()
        if path is not None and path.exists():
            try:
                self._book = BudgetBook.from_json(orjson.loads(path.read_bytes()))
            except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
                raise ConfigurationError(
                    f"{path}: cannot be read as a budget's book ({error}): move it away to begin the day anew"
                ) from None
            self._book.held = {}  # of a process that has ended

    async def reserve_usd(self, ticket: str, usd: float, limit: float) -> BudgetState:
        return self._book.reserve(ticket, usd, limit, self._clock())

    async def settle_usd(self, ticket: str, usd: float) -> None:
        self._book.settle(ticket, usd, self._clock())
        if self._path is None or not usd:
            return
        try:
            with replacing(self._path, private=True) as part:
                part.write_bytes(orjson.dumps(self._book.to_json()))
        except OSError as error:
            self._book.spent -= usd  # told again
            raise StoreError(f"{self._path}: the budget's book cannot be written: {error.strerror}") from None

    async def renew_usd(self, tickets: Collection[str]) -> None:
        self._book.renew(tickets, self._clock())

    async def spent_usd(self) -> BudgetState:
        return self._book.state(self._clock())
