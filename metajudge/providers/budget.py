"""A hard limit in dollars, calls or tokens, of a run or a day: what is reserved before sending is settled after.

A budget of the day is shared by a service and its replicas. Its rule is
:class:`~metajudge.providers.limit_book.BudgetBook`; the book is a row of the store (:mod:`metajudge.store.limits`).
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol

from metajudge.errors import (
    BatchPendingError,
    BudgetExceeded,
    ConfigurationError,
    DayBudgetExceeded,
    MetajudgeError,
    ProviderError,
)
from metajudge.providers.limit_book import LEASE_S, POLL_S, TOLERANCE, BudgetState
from metajudge.providers.limits import Tickets
from metajudge.providers.model import ModelRequest, ModelWrapper
from metajudge.providers.prices import Price, UsageEstimate, tokens_of
from metajudge.types import Reply


@dataclass(frozen=True, slots=True)
class Amount:
    """What calls take, in the three currencies of a budget."""

    usd: float = 0.0
    calls: int = 0
    tokens: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.usd + other.usd, self.calls + other.calls, self.tokens + other.tokens)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.usd - other.usd, self.calls - other.calls, self.tokens - other.tokens)


class Budget:
    """The limit of one run, shared by all its models.

    A call is let through when it fits beside what is spent and what is reserved by calls in flight. Where it
    would fit beside what is spent alone, it waits for calls in flight to settle (in order of arrival); where
    it would not even then, the budget is exceeded. What is spent at the end differs from the limit by less
    than one call, and surpasses it only as far as an estimate was too low.

    Args:
        usd, calls, tokens: limits; None for no limit in that currency.

    Raises:
        ConfigurationError: a limit that is not positive.
    """

    def __init__(self, *, usd: float | None = None, calls: int | None = None, tokens: int | None = None) -> None:
        for name, limit in (("usd", usd), ("calls", calls), ("tokens", tokens)):
            if limit is not None and not 0 < limit < float("inf"):
                raise ConfigurationError(f"the budget in {name} must be a positive number, not {limit}")
        self.usd, self.calls, self.tokens = usd, calls, tokens
        self.spent = Amount()
        self._reserved = Amount()
        self._turn, self._news = asyncio.Lock(), asyncio.Event()

    def __bool__(self) -> bool:
        return any(limit is not None for limit in (self.usd, self.calls, self.tokens))

    async def reserve(self, amount: Amount) -> None:
        """Sets an amount aside for a call.

        Raises:
            BudgetExceeded: with what is spent, what the call may take, and the limit.
        """
        async with self._turn:  # first come, first served: only the first in line asks again and again
            pause = POLL_S[0]
            while not await self._set_aside(amount):
                await self._wait(pause)
                pause = min(2 * pause, POLL_S[1])

    async def _set_aside(self, amount: Amount) -> bool:
        """Sets an amount aside where it fits now; raises where it cannot fit any more."""
        self.check(amount, self.spent)
        fits = self.fits(self.spent + self._reserved + amount)
        if fits:
            self._reserved += amount
        return fits

    async def _wait(self, _seconds: float) -> None:
        """Waits for what others settle: so many seconds, or until it is heard of."""
        self._news.clear()
        await self._news.wait()

    def settle(self, reserved: Amount, spent: Amount) -> None:
        """Replaces a reservation by what the call really took."""
        self._reserved -= reserved
        self.spent += spent
        self._news.set()

    def close(self) -> None:
        """Releases the budget's resources; a budget of one run has none."""

    def fits(self, total: Amount) -> bool:
        """Whether the limits allow a total."""
        return (
            (self.usd is None or total.usd <= self.usd + TOLERANCE)
            and (self.calls is None or total.calls <= self.calls)
            and (self.tokens is None or total.tokens <= self.tokens)
        )

    def check(self, amount: Amount, spent: Amount) -> None:
        """Refuses a call that does not even fit beside what is spent.

        Raises:
            BudgetExceeded: with what is spent, what the call may take, and the limit.
        """
        total = spent + amount
        if self.fits(total):
            return
        if self.calls is not None and total.calls > self.calls:
            reason = f"{spent.calls} of {self.calls} calls are made"
        elif self.usd is not None and total.usd > self.usd + TOLERANCE:
            reason = f"${spent.usd:.4f} of ${self.usd:g} is spent and the next call may cost ${amount.usd:.4f}"
        else:
            reason = f"{spent.tokens} of {self.tokens} tokens are used and the next call may take {amount.tokens}"
        raise BudgetExceeded(f"the budget is reached: {reason}. Raise it to continue; completed work is kept")


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
        self._tickets = Tickets(lambda held: self._open.renew_usd(held))
        self._settling: set[asyncio.Task[None]] = set()

    async def _set_aside(self, amount: Amount) -> bool:
        keeper, ticket = self._open, self._tickets.new()
        try:
            state = await keeper.reserve_usd(ticket, amount.usd, self.limit)
        except BaseException:
            self._settle(ticket, 0.0)
            raise
        if state.granted:
            self._held[amount].append(ticket)
            return True
        self._tickets.drop(ticket)
        if state.spent + amount.usd > self.limit:
            raise DayBudgetExceeded(
                f"the service's budget of the day is reached: ${state.spent:.4f} of ${self.limit:g} is spent and the "
                f"next call may cost ${amount.usd:.4f}. It begins anew at 00:00 UTC; completed work is kept",
                ends_in_s=state.ends_in_s,
            )
        return False

    async def _wait(self, seconds: float) -> None:
        await self._sleep(seconds)

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
        for task in (*self._settling, self._tickets.renewing):
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
                self._tickets.drop(ticket)
                return


@dataclass(eq=False)
class BudgetedModel(ModelWrapper):
    """Sends a call only when the budget has room for it.

    Attributes:
        price: needed for a budget in dollars.

    Raises:
        ConfigurationError: a budget in dollars and no known price.
    """

    budget: Budget
    price: Price | None
    estimate: UsageEstimate

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.budget.usd is not None and self.price is None:
            raise ConfigurationError(
                f"the price of {self.name} at {self.endpoint.base_url} is unknown, so a budget in dollars cannot "
                "be kept: give the agent a price (dollars per million input and output tokens) or limit calls or tokens"
            )

    async def complete(self, request: ModelRequest) -> Reply:
        usage = self.estimate.of(request)
        usd = self.price.cost(usage) if self.price is not None else 0.0
        reserved = Amount(usd, 1, tokens_of(usage))
        await self.budget.reserve(reserved)
        # A call that is cancelled or cut in flight may have been answered and billed: it is settled as reserved.
        spent = reserved
        try:
            reply = await self.inner.complete(request)
            if reply.usage is not None:  # else the estimate is the best there is
                self.estimate.learn(request, reply.usage)
                spent = Amount(reply.cost_usd or 0.0, 1, tokens_of(reply.usage))
            return reply
        except BatchPendingError:  # reserved again by the run that collects it
            spent = Amount()
            raise
        except ProviderError as error:
            if not error.sent:
                spent = Amount()
            elif error.usage is not None:
                spent = Amount(error.cost_usd or 0.0, 1, tokens_of(error.usage))
            elif error.status is not None and error.status >= 300:  # rejected: nothing was generated
                spent = Amount(calls=1)
            raise
        finally:
            self.budget.settle(reserved, spent)
