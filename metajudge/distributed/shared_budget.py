"""One budget for all workers: it lives in a process of its own, and workers ask it before every call."""

import asyncio
from typing import Any

from metajudge.distributed.journal import current_batch
from metajudge.errors import BudgetExceeded
from metajudge.providers.budget import Amount, Budget


class BudgetKeeper:
    """The run's budget and who has set what aside; Ray runs it as an actor.

    Args:
        usd, calls, tokens: as for :class:`~metajudge.providers.budget.Budget`.
    """

    def __init__(self, usd: float | None, calls: int | None, tokens: int | None) -> None:
        self._budget = Budget(usd=usd, calls=calls, tokens=tokens)
        self._held: dict[str, list[Amount]] = {}

    async def limits(self) -> tuple[float | None, int | None, int | None]:
        return self._budget.usd, self._budget.calls, self._budget.tokens

    async def reserve(self, batch: str, amount: Amount) -> str | None:
        """Sets an amount aside for a call of a batch; returns why not, where the budget is reached."""
        try:
            await self._budget.reserve(amount)
        except BudgetExceeded as exceeded:
            return str(exceeded)
        self._held.setdefault(batch, []).append(amount)
        return None

    async def settle(self, batch: str, reserved: Amount, spent: Amount) -> None:
        """Replaces a reservation by what the call took."""
        held = self._held.get(batch, [])
        if reserved in held:  # not where it was given up for lost before
            held.remove(reserved)
            self._budget.settle(reserved, spent)

    async def abandon(self, batch: str) -> None:
        """Counts as spent what a worker set aside that died: its calls may have been answered and billed."""
        for amount in self._held.pop(batch, []):
            self._budget.settle(amount, amount)


class RemoteBudget(Budget):
    """A worker's view of the keeper, in the shape of a :class:`~metajudge.providers.budget.Budget`.

    Args:
        keeper: handle of the actor.
    """

    def __init__(self, keeper: Any) -> None:
        import ray

        usd, calls, tokens = ray.get(keeper.limits.remote())
        super().__init__(usd=usd, calls=calls, tokens=tokens)
        self._keeper = keeper

    async def reserve(self, amount: Amount) -> None:
        """See :meth:`~metajudge.providers.budget.Budget.reserve`."""
        asked = self._keeper.reserve.remote(current_batch.get(), amount)
        refused = await asyncio.wrap_future(asked.future())
        if refused is not None:
            raise BudgetExceeded(refused)

    def settle(self, reserved: Amount, spent: Amount) -> None:
        """See :meth:`~metajudge.providers.budget.Budget.settle`."""
        self._keeper.settle.remote(current_batch.get(), reserved, spent)

    async def abandon(self, batch: str) -> None:
        """See :meth:`BudgetKeeper.abandon`."""
        await asyncio.wrap_future(self._keeper.abandon.remote(batch).future())
