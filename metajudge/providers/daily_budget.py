"""A budget a day that a service and its replicas share: each call asks one keeper first, and tells it what it cost.

The rule is :class:`~metajudge.providers.budget_book.BudgetBook`; the book is kept in a row of the store
(:mod:`metajudge.store.limits`).
"""

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Protocol

from metajudge.errors import BudgetExceeded, ConfigurationError, DayBudgetExceeded, MetajudgeError
from metajudge.providers.budget import Amount, Budget
from metajudge.providers.budget_book import BudgetState
from metajudge.providers.limit_book import LEASE_S
from metajudge.providers.shared_limits import POLL_S


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
            async with self._turn:  # first come, first served: only the first in line asks again and again
                pause = POLL_S[0]
                while not (state := await keeper.reserve_usd(ticket, amount.usd, self.limit)).granted:
                    if state.spent + amount.usd > self.limit:
                        raise DayBudgetExceeded(
                            f"the service's budget of the day is reached: ${state.spent:.4f} of ${self.limit:g} is "
                            f"spent and the next call may cost ${amount.usd:.4f}. It begins anew at 00:00 UTC; "
                            "completed work is kept",
                            ends_in_s=state.ends_in_s,
                        )
                    await self._sleep(pause)
                    pause = min(2 * pause, POLL_S[1])
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

    def _settle(self, ticket: str, usd: float) -> None:
        task = asyncio.get_running_loop().create_task(self._told(ticket, usd))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)

    async def _told(self, ticket: str, usd: float) -> None:
        pause = POLL_S[1]
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
