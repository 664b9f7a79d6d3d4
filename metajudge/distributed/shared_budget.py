"""One budget for all workers: it lives in a process of its own, and workers ask it before every call."""

import uuid
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
        self._held: dict[str, list[tuple[str, Amount]]] = {}
        self._settled: dict[str, Amount] = {}
        self._workers: dict[str, str] = {}

    @cached_property
    def _budget(self) -> Budget:
        return open_budget(*self._limits, self._file)  # when first used: a ledger belongs to the thread that opens it

    async def limits(self) -> tuple[float | None, int | None, int | None]:
        return self._limits

    async def close(self) -> None:
        """Books what is open and leaves the ledger."""
        self._budget.close()

    async def reserve(self, batch: str, worker: str, amount: Amount) -> str | None:
        """Sets an amount aside for a worker's call of a batch; returns why not, where the budget is reached."""
        try:
            await self._budget.reserve(amount)
        except BudgetExceeded as exceeded:
            return str(exceeded)
        if self._workers.get(batch, worker) != worker:  # it died while it waited
            self._budget.settle(amount, Amount())
        else:
            self._held.setdefault(batch, []).append((worker, amount))
        return None

    async def settle(self, batch: str, worker: str, reserved: Amount, spent: Amount) -> None:
        """Replaces a reservation by what the call took."""
        held = self._held.get(batch, [])
        if (worker, reserved) in held:  # not where the batch was taken over meanwhile
            held.remove((worker, reserved))
            self._settled[batch] = self._settled.get(batch, Amount()) + spent
            self._budget.settle(reserved, spent)

    async def take_over(self, batch: str, worker: str, recorded: Amount) -> None:
        """Returns what a worker that died over a batch had set aside, but for what it has spent.

        Args:
            recorded: what the batch's recorded calls took; the word of the last ones may have died with the worker.
        """
        self._workers[batch] = worker
        held = [amount for _, amount in self._held.pop(batch, [])]
        if not held:
            return
        known = self._settled.get(batch, Amount())
        missed = Amount(
            max(0.0, recorded.usd - known.usd),
            max(0, recorded.calls - known.calls),
            max(0, recorded.tokens - known.tokens),
        )
        self._settled[batch] = known + missed
        self._budget.settle(sum(held, Amount()), missed)


class RemoteBudget(Budget):
    """A worker's view of the keeper, in the shape of a :class:`~metajudge.providers.budget.Budget`."""

    def __init__(self, keeper: Any) -> None:
        import ray

        usd, calls, tokens = ray.get(keeper.limits.remote())
        super().__init__(usd=usd, calls=calls, tokens=tokens)
        self._keeper = keeper
        self._worker = uuid.uuid4().hex

    async def reserve(self, amount: Amount) -> None:
        """See :meth:`~metajudge.providers.budget.Budget.reserve`."""
        refused = await self._keeper.reserve.remote(current_batch.get(), self._worker, amount)
        if refused is not None:
            raise BudgetExceeded(refused)

    def settle(self, reserved: Amount, spent: Amount) -> None:
        """See :meth:`~metajudge.providers.budget.Budget.settle`."""
        self._keeper.settle.remote(current_batch.get(), self._worker, reserved, spent)

    async def take_over(self, batch: str, recorded: Amount) -> None:
        """See :meth:`BudgetKeeper.take_over`."""
        await self._keeper.take_over.remote(batch, self._worker, recorded)
