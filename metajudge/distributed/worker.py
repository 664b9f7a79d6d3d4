"""A worker: one process that vets batches of judgments with a panel of its own and writes their results."""

import asyncio
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from metajudge.distributed.batch import Batch, InputFacts
from metajudge.distributed.counting import meter_of
from metajudge.distributed.folder import ResultsFolder
from metajudge.distributed.journal import BatchJournal, CallJournals, write_calls
from metajudge.distributed.limit_keeper import remote_limits
from metajudge.distributed.shared_budget import RemoteBudget
from metajudge.distributed.window import HELD, REPLY, RemoteBatches, ask
from metajudge.distributed.work_list import Range, read_range
from metajudge.panels.building import AgentKeys, build_vetter, endpoint_limits
from metajudge.panels.config import PanelConfig
from metajudge.providers.batch_queue import BatchSettings
from metajudge.providers.budget import Amount
from metajudge.providers.limits import LimitSettings
from metajudge.providers.metering import Meter
from metajudge.providers.notices import Notices
from metajudge.providers.retry import RetryPolicy
from metajudge.providers.stack import Resources
from metajudge.settings import Settings
from metajudge.strategies import Vetter
from metajudge.types import CallRecord, digest
from metajudge.vetting.finishing import Completion
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.decision import Policy


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """The instructions of every worker; serialisable, so that they can be sent to another machine.

    Attributes:
        panel: the configuration as JSON.
        folder: path or URL of the results, the same on every worker.
        concurrency: calls in flight of this worker; those of all workers where limits are kept together.
        at_once: judgments worked on at once by this worker.
        calibration: as JSON; None for none.
        policy: None for none.
        withdrawn: promises of the calibration known to be broken.
        stores: whether the driver has a store, which is told of every call.
        batches: how batches are made; None where calls are made live.
    """

    panel: str
    folder: str
    run_id: str
    concurrency: int
    at_once: int
    retry: RetryPolicy
    calibration: bytes | None = None
    allow_other_calibration: bool = False
    policy: "Policy | None" = None
    withdrawn: frozenset[str] = frozenset()
    stores: bool = False
    batches: BatchSettings | None = None

    def completion(self) -> Completion:
        """What calibration and policy add to assessments."""
        calibration = None
        if self.calibration is not None:
            from metajudge.calibration.calibration import Calibration  # imports scikit-learn

            calibration = Calibration.model_validate_json(self.calibration)
        found = Completion(calibration, self.allow_other_calibration, self.policy)
        found.withdrawn = self.withdrawn
        return found


@dataclass(slots=True)
class BatchOutcome:
    """The result of one batch, as sent to the driver.

    Attributes:
        pending: judgments whose answer is still in a provider's batch.
        calls: these calls, for the driver's store; empty without one.
        first_sent_at: seconds since the epoch; None where nothing was sent.
    """

    summary: VetSummary
    left: int
    pending: int
    batch: Range
    name: str
    part: bool
    meter: Meter
    calls: list[CallRecord]
    first_sent_at: float | None
    durable_at: float


class Desk:
    """What every worker has to know, in an actor: both parts may be large, and a restarted worker asks again."""

    def __init__(self, plan: WorkerPlan, facts: InputFacts) -> None:
        self._instructions = plan, facts

    def instructions(self) -> tuple[WorkerPlan, InputFacts]:
        return self._instructions


class VetWorker:
    """Vets batches; Ray keeps one in each of its processes and restarts those that die.

    Several batches may be worked on at once: all calls run on one event loop.

    Args:
        desk: actor of the :class:`Desk` with the instructions.
        limits, budget: actors that keep those of the whole run, None for none.
        window: actor through which the driver is asked for stored replies and batches; None where it has neither.
    """

    def __init__(self, desk: Any, limits: Any = None, budget: Any = None, window: Any = None) -> None:
        import ray

        plan, facts = ray.get(desk.instructions.remote())
        self._plan: WorkerPlan = plan
        self._facts: InputFacts = facts
        self._folder = ResultsFolder(self._plan.folder)
        self._journals = CallJournals(self._folder.journals, partial(ask, window, REPLY) if plan.stores else None)
        self._notices = Notices(None)
        self._window = window
        self._limits = None if limits is None else remote_limits(limits)
        self._budget = None if budget is None else RemoteBudget(budget)
        self._loop = _event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vetting", daemon=True)
        self._thread.start()
        self._finishing = self._plan.completion()
        self._vetter = self._on_loop(self._open())

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Vets one range of the work list and writes its results; tells counts."""
        wanted = Range(int(batch["low"][0]), int(batch["high"][0]))
        return {"outcome": [self._on_loop(self._vet_range(wanted))]}

    def _on_loop(self, work: Any) -> Any:
        done: Future[Any] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result()

    async def _open(self) -> Vetter:
        plan = self._plan
        config, batches = PanelConfig.model_validate_json(plan.panel), None
        if plan.batches is not None:
            batches = RemoteBatches(self._window, await ask(self._window, HELD), probe=plan.batches.probe)
        self._resources = Resources(
            key_for=AgentKeys(config, Settings.load()),
            cache=self._journals,
            ledger=self._journals,
            run_id=plan.run_id,
            limits=LimitSettings(concurrency=plan.concurrency),
            endpoint_limits=endpoint_limits(config, plan.concurrency),
            keeper=self._limits,
            retry=plan.retry,
            budget=self._budget,
            batches=batches,
            seed=config.seed,
            notices=self._notices,
        )
        vetter = build_vetter(config, self._resources, early_exit=False)
        await self._finishing.start(None, plan.run_id, vetter, self._notices.say)
        return vetter

    async def _vet_range(self, wanted: Range) -> BatchOutcome:
        rows = read_range(self._folder.work, wanted)
        # The same batch has the same name on every worker, so that a successor finds the stored answers, and a
        # part that was written before its worker died is replaced, not repeated.
        name = digest(sorted(row["key"] for row in rows))
        known = len(self._notices.lines)
        with self._journals.batch(name) as journal:
            if self._budget is not None:  # what a worker that died over this batch had set aside
                meter = meter_of(self._own(journal))
                tokens = meter.usage.input_tokens + meter.usage.output_tokens
                await self._budget.take_over(name, Amount(meter.cost_usd, meter.sent, tokens))
            batch = await asyncio.to_thread(self._weighed, rows, wanted)
            await batch.ask(self._plan.at_once)
            if batch.found:
                now, ordered = time.time(), sorted(batch.found, key=lambda one: one.asked["index"])
                self._folder.write_part(name, [one.row(self._plan.run_id, now) for one in ordered])
            # What is left or pending keeps its journal for the run that resumes.
            if journal.calls and not batch.left and not batch.pending:
                write_calls(self._folder.calls, f"{name}-{self._plan.run_id}.parquet", journal.calls)
                journal.discard()
        sent = self._own(journal)
        batch.summary.notices = list(self._notices.lines[known:])
        return BatchOutcome(
            batch.summary,
            batch.left,
            batch.pending,
            wanted,
            name,
            bool(batch.found),
            meter_of(sent),
            sent if self._plan.stores else [],
            min((call.started_at for call in sent), default=None),
            time.time(),
        )

    def _weighed(self, rows: list[dict[str, Any]], wanted: Range) -> Batch:
        """The judgments of a range, with all results that need no model."""
        done = any(row["done"] for row in rows)
        earlier = self._folder.panel_assessments(wanted.filter()) if done else {}
        allow = self._plan.allow_other_calibration
        batch = Batch(rows, self._facts, self._vetter, self._finishing, allow, earlier)
        batch.weigh()
        return batch

    def _own(self, journal: BatchJournal) -> list[CallRecord]:
        """The calls of a batch in this run, those of a worker that died over it included."""
        return [call for call in journal.calls if call.run_id == self._plan.run_id]


def _event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
