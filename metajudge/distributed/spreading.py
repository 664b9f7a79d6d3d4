"""The work list spread over workers by Ray Data, and what they share: instructions, limits, a budget, the driver."""

import logging
import socket
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from metajudge.bulk.reading import Intake
from metajudge.distributed.batch import InputFacts
from metajudge.distributed.counting import add_meter, add_summary
from metajudge.distributed.driver import Driver
from metajudge.distributed.folder import ResultsFolder
from metajudge.distributed.limit_keeper import LimitActor
from metajudge.distributed.options import Judging, RayOptions
from metajudge.distributed.shared_budget import BudgetKeeper
from metajudge.distributed.taking import Taking
from metajudge.distributed.window import AT_ONCE, Window
from metajudge.distributed.work_list import Hashes, Range, asks_models, ranges_of
from metajudge.distributed.worker import BatchOutcome, Desk, VetWorker, WorkerPlan
from metajudge.errors import ConfigurationError, MetajudgeError
from metajudge.installation import install_command
from metajudge.runs.loop import RunEnd
from metajudge.vetting.results import Results
from metajudge.vetting.summary import VetSummary

SMALLEST_BATCH, LARGEST_BATCH, LARGEST_FREE_BATCH = 16, 1_000, 20_000
BATCHES_A_WORKER = 16
"""A worker has so many batches to do, where they are not too small or too large for that."""
AT_A_TIME = 2
"""Batches that a worker does at a time: the calls of the next one begin while the last ones of this one are awaited."""


def import_ray() -> Any:
    """Ray with its data.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        import ray
        import ray.data
    except ImportError:
        raise ConfigurationError(f"--engine ray needs Ray: {install_command('ray')}") from None
    return ray


@dataclass(slots=True)
class Task:
    """What a run has to do, and where its results go.

    Attributes:
        whole: what the input as a whole says, once it is written.
        hashes: those of the work list, once it is written.
    """

    driver: Driver
    options: RayOptions
    judging: Judging
    folder: ResultsFolder
    keep_failures: bool
    summary: VetSummary
    results: Results
    on_batch: Callable[[], None]
    intake: Intake = field(init=False)
    whole: InputFacts = field(init=False)
    hashes: Hashes = field(init=False)
    taking: Taking = field(init=False)

    @property
    def asks(self) -> list[bool]:
        """Whether each panel asks models."""
        vetter = self.driver.engine.vetter
        return [asks_models(one) for one in (vetter.default, *vetter.routes.values())]

    def size(self, workers: int) -> int:
        """Judgments in a batch; with providers' batches all that may be in flight is in flight at once."""
        judgments, batch = len(self.hashes), self.options.batch
        if batch is not None:
            return max(-(-min(batch.in_flight, judgments) // workers), SMALLEST_BATCH)
        size = max(judgments // (workers * BATCHES_A_WORKER), SMALLEST_BATCH)
        return min(size, LARGEST_BATCH if any(self.asks) else LARGEST_FREE_BATCH)

    def plan(self, workers: int, *, shared: bool) -> WorkerPlan:
        """The instructions of every worker; ``shared``: limits are kept for all of them together."""
        engine, options = self.driver.engine, self.options
        finishing, calibration = engine.finishing, engine.calibration
        concurrency = options.concurrency if shared else _share(options.concurrency, workers)
        return WorkerPlan(
            panel=engine.vetting_config.model_dump_json(),
            folder=self.folder.place.address,
            run_id=engine.run_id,
            concurrency=concurrency,
            at_once=concurrency if options.batch is None else max(concurrency, options.batch.in_flight),
            retry=engine.retry,
            calibration=None if calibration is None else calibration.to_json(),
            allow_other_calibration=self.judging.allow_other_calibration,
            policy=finishing.policy,
            withdrawn=self.driver.run(finishing.broken_promises()),
            stores=engine.store is not None,
            batches=options.batch,
        )

    def take(self, found: BatchOutcome) -> None:
        """Counts and keeps the results of a batch."""
        meter = self.driver.engine.meter
        add_summary(self.summary, found.summary)
        add_meter(meter, found.meter)
        self.summary.account(meter, ())
        self.driver.ended(found.name)
        self.driver.run(self.taking.take(found))
        self.on_batch()


def spread(ray: Any, task: Task) -> None:
    """Spreads a work list over workers; starts a local cluster if none is running.

    Raises:
        ConfigurationError: no such cluster, or more workers than calls in flight.
        MetajudgeError: what a worker failed of.
    """
    own_cluster, options = not ray.is_initialized(), task.options
    if own_cluster:
        _start(ray, options)
    try:
        workers = options.workers or max(1, min(int(ray.cluster_resources().get("CPU", 1)), options.concurrency))
        ranges = ranges_of(task.hashes, task.size(workers))
        limits, budget = None, _keeper(ray, options)
        if task.driver.engine.config.limits:
            limits = ray.remote(LimitActor).options(num_cpus=0, max_concurrency=1_000).remote()
        window = _window(ray, task.driver, options, min(len(ranges), workers))
        desk = ray.remote(Desk).options(num_cpus=0).remote(task.plan(workers, shared=limits is not None), task.whole)
        _run(ray, ranges, (desk, limits, budget, window), workers, task)
        if budget is not None:
            ray.get(budget.close.remote())
    except KeyboardInterrupt:
        task.summary.end = RunEnd.INTERRUPTED
        task.driver.interrupted()
    finally:
        task.driver.answer_no_more()
        if own_cluster:
            ray.shutdown()


def _share(concurrency: int, workers: int) -> int:
    """A worker's part of the calls in flight."""
    if workers > concurrency:
        raise ConfigurationError(
            f"{workers} workers cannot share {concurrency} calls in flight: raise --concurrency or take fewer"
        )
    return concurrency // workers


def _start(ray: Any, options: RayOptions) -> None:
    quiet = {"include_dashboard": False} if options.address is None else {}
    host, _, port = (options.address or "").removeprefix("ray://").rpartition(":")
    try:
        if host and port.isdigit():  # Ray itself waits for minutes for a cluster that is not there
            socket.create_connection((host, int(port)), timeout=10).close()
        ray.init(address=options.address, log_to_driver=False, logging_level="ERROR", **quiet)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        raise ConfigurationError(
            f"no Ray cluster at {options.address!r} ({error}): start one (`ray start --head`), or leave --ray-address "
            "out to have one started here"
        ) from error


def _window(ray: Any, driver: Driver, options: RayOptions, ranges: int) -> Any:
    """What workers ask the driver through; None where it has nothing that they need."""
    if driver.engine.store is None and options.batch is None:
        return None
    window = ray.remote(Window).options(num_cpus=0, max_concurrency=AT_ONCE).remote()
    driver.answer(window, ranges)
    return window


def _keeper(ray: Any, options: RayOptions) -> Any:
    """The actor of the budget, on the driver's machine, where its ledger is."""
    if all(limit is None for limit in options.budget):
        return None
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(BudgetKeeper).options(num_cpus=0, max_concurrency=AT_ONCE, scheduling_strategy=here)
    return actor.remote(*options.budget, options.budget_file)


def _run(ray: Any, ranges: list[Range], arguments: tuple[Any, ...], workers: int, task: Task) -> None:
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    # Ray 2.60 announces another way of saying max_concurrency without offering it yet.
    warnings.filterwarnings("ignore", message=".*ray_remote_args.*")
    # A batch of a provider may take a day: nothing waits behind it that another worker could begin.
    in_line = 1 if task.options.batch is not None else 2 * AT_A_TIME
    rows = [{"low": one.low, "high": one.high} for one in ranges]
    outcomes = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        VetWorker,
        fn_constructor_args=arguments,
        batch_size=None,
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(rows)), max_tasks_in_flight_per_actor=in_line),
        num_cpus=0,
        max_concurrency=AT_A_TIME,
    )
    summary, first, last = task.summary, None, 0.0
    left = pending = 0
    try:
        for row in outcomes.iter_rows():
            found: BatchOutcome = row["outcome"]
            task.take(found)
            left, pending = left + found.left, pending + found.pending
            first = min((at for at in (first, found.first_sent_at) if at is not None), default=None)
            last = max(last, found.durable_at)
            summary.wall_s = None if first is None else last - first
    except (ray.exceptions.RayError, MetajudgeError) as error:
        raise _ours(error) from error
    if left:
        summary.end = RunEnd.BUDGET
    elif pending:
        summary.end = RunEnd.PENDING


def _ours(error: Exception) -> MetajudgeError:
    """What a worker failed of, as the error it raised."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, MetajudgeError):
        found = getattr(found, "cause", None) or found.__cause__
    if isinstance(found, MetajudgeError):
        return found
    return MetajudgeError(f"the run on Ray failed: {error}")
