"""How a run on Ray is spread, and what decides in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from metajudge.panels.config import PanelConfig
from metajudge.providers.batch_queue import BatchSettings
from metajudge.store.protocol import Store
from metajudge.types import Right
from metajudge.types.location import StoreLocation
from metajudge.vetting.engine import Engine

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration
    from metajudge.decision import Policy
    from metajudge.evidence.rewards import RewardScore
    from metajudge.webhooks.webhook import Webhook


@dataclass(frozen=True, slots=True)
class RayOptions:
    """How a run is spread, and what the driver has open for it.

    Attributes:
        address: of a Ray cluster (``auto`` for the one this machine belongs to); None starts one here for the run.
        workers: processes that vet; None for one a CPU, and not more than there are calls in flight.
        budget: dollars, calls and tokens the run may take, over all workers; None for no limit.
        budget_file: a ledger on the driver's machine that shares the budget with other commands; None for none.
        store: keeps results, calls and reviews, and answers for what it has; None for none.
        batch: ask through the providers' batch APIs; None for live calls.
        webhook: receives the outcomes that the run decides; needs a store.
    """

    address: str | None = None
    workers: int | None = None
    concurrency: int = 64
    budget: tuple[float | None, int | None, int | None] = (None, None, None)
    budget_file: Path | None = None
    store: str | StoreLocation | Store | None = None
    batch: BatchSettings | None = None
    webhook: "Webhook | None" = None
    notify: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True)
class Judging:
    """What decides on judgments beside the panel.

    Attributes:
        right: what counts as right; None for the default of each kind of verdict.
        rewards: finds reward models' scores, for a calibration that reads them; None where there are none.
        audit_share, reviewers: see :func:`metajudge.reviews.opening.review_of`.
    """

    calibration: "str | Path | Calibration | None" = None
    allow_other_calibration: bool = False
    policy: "str | Path | Policy | None" = None
    right: Right | None = None
    rewards: "Callable[[Calibration | None], Sequence[RewardScore] | None]" = lambda _: None
    audit_share: float = 0.0
    reviewers: int = 1

    def engine(self, panel: PanelConfig, options: RayOptions) -> Engine:
        """The driver's engine, not entered."""
        return Engine(
            panel=panel,
            calibration=self.calibration,
            allow_other_calibration=self.allow_other_calibration,
            policy=self.policy,
            audit_share=self.audit_share,
            reviewers=self.reviewers,
            right=self.right,
            store=options.store,
            concurrency=options.concurrency,
            batch=options.batch,
            webhook=options.webhook,
            notify=options.notify,
            command="vet",
        )
