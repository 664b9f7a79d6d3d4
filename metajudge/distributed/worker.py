"""A worker: one process that vets batches of judgments with a panel of its own and writes their results."""

import asyncio
import threading
import time
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from metajudge.distributed.folder import ResultsFolder, row_of
from metajudge.distributed.journal import CallJournals, read_journal, replies_of, write_calls
from metajudge.distributed.shared_budget import RemoteBudget
from metajudge.errors import BudgetExceeded
from metajudge.panels.building import AgentKeys, build_vetter
from metajudge.panels.config import PanelConfig
from metajudge.providers.limits import LimitSettings
from metajudge.providers.model import Endpoint
from metajudge.providers.notices import Notices
from metajudge.providers.retry import RetryPolicy
from metajudge.providers.stack import Resources
from metajudge.settings import Settings
from metajudge.strategies import Vetter
from metajudge.types import Judgment, Usage, digest
from metajudge.vetting.summary import VetSummary


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """The instructions of every worker; serialisable, so that they can be sent to another machine.

    Attributes:
        panel: the configuration as JSON.
        folder: of the results, reachable from every worker under this path.
        journal: replies that runs cut off before left, see :func:`~metajudge.distributed.journal.gather_journals`.
        concurrency: calls in flight of this worker; its share of the run's.
        limits: its share of every endpoint's limits.
    """

    panel: str
    folder: str
    journal: str
    run_id: str
    concurrency: int
    limits: dict[Endpoint, LimitSettings]


@dataclass(slots=True)
class BatchOutcome:
    """The result of one batch, as sent to the driver.

    Attributes:
        left: judgments that the budget left undone.
        first_sent_at: seconds since the epoch; None where nothing was sent.
    """

    summary: VetSummary
    left: int
    first_sent_at: float | None
    durable_at: float

    def to_table(self) -> pa.Table:
        """One row that Ray can carry."""
        s = self.summary
        counts = {name: getattr(s, name) for name in COUNTS}
        data = counts | {"failures": s.failures, "agent_failures": s.agent_failures, "notices": s.notices}
        data |= {"not_applicable": s.not_applicable}
        data |= {"known_cost_usd": s.known_cost_usd, "unpriced": s.cost_usd is None, "left": self.left}
        data |= {"usage": asdict(s.usage), "first_sent_at": self.first_sent_at, "durable_at": self.durable_at}
        return pa.table({"outcome": [orjson.dumps(data).decode()]})


COUNTS = (
    "judgments",
    "assessed",
    "unscored",
    "failed",
    "accepted",
    "rejected",
    "renormalised",
    "without_evidence",
    "without_rationale",
    "without_analysis",
    "calls",
    "cached_calls",
)
"""Counts of a summary that add up over batches."""


class VetWorker:
    """Vets batches; Ray keeps one in each of its processes and restarts those that die.

    Several batches may be worked on at once: all calls run on one event loop, under one set of limits.

    Args:
        budget: of the whole run, None for none.
    """

    def __init__(self, plan: WorkerPlan, budget: Any = None) -> None:
        self._plan = plan
        self._folder = ResultsFolder(Path(plan.folder))
        self._journals = CallJournals(self._folder.journals, replies_of(read_journal(Path(plan.journal))))
        self._notices = Notices(None)
        self._budget = None if budget is None else RemoteBudget(budget)
        self._loop = _event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vetting", daemon=True)
        self._thread.start()
        self._vetter = self._on_loop(self._open())

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Vets the rows of a work list and writes their results; tells counts."""
        return self._on_loop(self._vet_batch(batch.to_pylist())).to_table()

    def _on_loop(self, work: Any) -> Any:
        done: Future[Any] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result()

    async def _open(self) -> Vetter:
        plan = self._plan
        config = PanelConfig.model_validate_json(plan.panel)
        self._resources = Resources(
            key_for=AgentKeys(config, Settings.load()),
            cache=self._journals,
            ledger=self._journals,
            run_id=plan.run_id,
            limits=LimitSettings(concurrency=plan.concurrency),
            endpoint_limits=plan.limits,
            retry=RetryPolicy(attempts=config.retry.attempts, total_s=config.retry.total_s),
            budget=self._budget,
            seed=config.seed,
            notices=self._notices,
        )
        return build_vetter(config, self._resources, early_exit=False)

    async def _vet_batch(self, rows: list[dict[str, Any]]) -> BatchOutcome:
        # The same batch has the same name on every worker, so that a successor finds the stored answers, and a
        # part that was written before its worker died is replaced, not repeated.
        name = digest(sorted(row["key"] for row in rows))
        if self._budget is not None:
            await self._budget.abandon(name)  # what a worker that died over this batch had set aside
        known = len(self._notices.lines)
        summary, results, left = VetSummary(), list[dict[str, Any]](), 0
        with self._journals.batch(name) as journal:
            queue = iter(rows)

            async def work() -> None:
                nonlocal left
                for row in queue:
                    judgment = Judgment.model_validate_json(row["judgment"])
                    try:
                        assessment = await self._vetter.vet(judgment, retry=row["retry"])
                    except BudgetExceeded:
                        left += 1
                        continue
                    summary.add(assessment, reused=False)
                    place, key, run_id = row["index"], row["key"], self._plan.run_id
                    results.append(row_of(place, key, judgment, assessment, run_id=run_id, now=time.time()))

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._plan.concurrency, len(rows))):
                    group.create_task(work())
            if results:
                self._folder.write_part(name, sorted(results, key=lambda row: row["index"]))
            if not left:  # else the journal stays for the run that resumes
                write_calls(self._folder.calls / f"{name}-{self._plan.run_id}.parquet", journal.calls)
                journal.discard()
        sent = [call for call in journal.calls if call.run_id == self._plan.run_id]
        summary.calls = len(sent)
        summary.usage = sum((call.usage for call in sent if call.usage is not None), Usage())
        summary.known_cost_usd = sum(call.cost_usd or 0.0 for call in sent)
        summary.cost_usd = None if any(c.status == "ok" and c.cost_usd is None for c in sent) else 0.0
        summary.notices = list(self._notices.lines[known:])
        return BatchOutcome(summary, left, min((c.started_at for c in sent), default=None), time.time())


def _event_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
