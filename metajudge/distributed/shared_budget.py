"""One budget for all workers: it lives in a process of its own, and workers ask it before every call."""

import asyncio
from functools import cached_property
from pathlib import Path
from typing import Any

from metajudge.distributed.journal import current_batch
from metajudge.errors import BudgetExceeded
from metajudge.providers.budget import Amount, Budget
from metajudge.providers.shared_budget import open_budget


class BudgetKeeper:
    """The run's budget and who has set what aside; Ray runs it as an actor.

    Args:
        usd, calls, tokens, file: as for :func:`~metajudge.providers.shared_budget.open_budget`.
    """

    def __init__(self, usd: float | None, calls: int | None, tokens: int | None, file: Path | None = None) -> None:
        self._limits = usd, calls, tokens
        self._file = file
        self._held: dict[str, list[Amount]] = {}

    @cached_property
    def _budget(self) -> Budget:
        return open_budget(*self._limits, self._file)  # when first used: a ledger belongs to the thread that opens it

    async def limits(self) -> tuple[float | None, int | None, int | None]:
        return self._limits

    async def close(self) -> None:
        """Books what is open and leaves the ledger."""
        self._budget.close()

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
