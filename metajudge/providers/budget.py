"""A run's hard limit in dollars, calls or tokens: what is reserved before sending is settled after."""

import asyncio
from dataclasses import dataclass

from metajudge.errors import BatchPendingError, BudgetExceeded, ConfigurationError, ProviderError
from metajudge.providers.budget_book import TOLERANCE
from metajudge.providers.model import Model, ModelRequest
from metajudge.providers.prices import Price
from metajudge.providers.usage_estimate import UsageEstimate
from metajudge.providers.wrapper import ModelWrapper
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
        self.check(amount, self.spent)
        async with self._turn:  # first come, first served
            while not self.fits(self.spent + self._reserved + amount):
                self.check(amount, self.spent)
                self._news.clear()
                await self._news.wait()
            self._reserved += amount

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


class BudgetedModel(ModelWrapper):
    """Sends a call only when the budget has room for it.

    Args:
        price: needed for a budget in dollars.

    Raises:
        ConfigurationError: a budget in dollars and no known price.
    """

    def __init__(self, inner: Model, budget: Budget, price: Price | None, estimate: UsageEstimate) -> None:
        super().__init__(inner)
        if budget.usd is not None and price is None:
            raise ConfigurationError(
                f"the price of {inner.name} at {inner.endpoint.base_url} is unknown, so a budget in dollars cannot "
                "be kept: give the agent a price (dollars per million input and output tokens) or limit calls or tokens"
            )
        self._budget = budget
        self._price = price
        self._estimate = estimate

    async def complete(self, request: ModelRequest) -> Reply:
        usage = self._estimate.of(request)
        usd = self._price.cost(usage) if self._price is not None else 0.0
        reserved = Amount(usd, 1, usage.input_tokens + usage.output_tokens)
        await self._budget.reserve(reserved)
        # A call that is cancelled or cut in flight may have been answered and billed: it is settled as reserved.
        spent = reserved
        try:
            reply = await self._inner.complete(request)
            spent = self._spent(request, reply, reserved)
            return reply
        except BatchPendingError:  # reserved again by the run that collects it
            spent = Amount()
            raise
        except ProviderError as error:
            if not error.sent:
                spent = Amount()
            elif error.usage is not None:
                spent = Amount(error.cost_usd or 0.0, 1, error.usage.input_tokens + error.usage.output_tokens)
            elif error.status is not None and error.status >= 300:  # rejected: nothing was generated
                spent = Amount(calls=1)
            raise
        finally:
            self._budget.settle(reserved, spent)

    def _spent(self, request: ModelRequest, reply: Reply, reserved: Amount) -> Amount:
        if reply.usage is None:  # nothing reported: the estimate is the best there is
            return reserved
        self._estimate.learn(request, reply.usage)
        tokens = reply.usage.input_tokens + reply.usage.output_tokens
        return Amount(reply.cost_usd or 0.0, 1, tokens)
