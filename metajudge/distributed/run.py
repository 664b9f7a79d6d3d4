"""A run on Ray: the driver reads and checks the input, Ray Data spreads it over workers, the driver counts."""

import logging
import socket
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from metajudge.distributed.folder import Earlier, ResultsFolder
from metajudge.distributed.journal import gather_journals
from metajudge.distributed.work_list import write_work
from metajudge.distributed.worker import COUNTS, VetWorker, WorkerPlan
from metajudge.errors import ConfigurationError, FailureKind, MetajudgeError
from metajudge.installation import install_command
from metajudge.panels.building import AgentKeys, build_vetter, endpoint_limits
from metajudge.panels.config import PanelConfig
from metajudge.providers.limits import LimitSettings
from metajudge.providers.model import Endpoint
from metajudge.providers.stack import Resources
from metajudge.readers import JudgmentSource
from metajudge.runs.loop import RunEnd
from metajudge.settings import Settings
from metajudge.strategies import StrategyName, Vetter
from metajudge.types import Judgment, Status, Usage
from metajudge.vetting.prompt_set import with_prompt_set
from metajudge.vetting.summary import VetSummary

SMALLEST_BATCH, LARGEST_BATCH = 16, 1_000
BATCHES_A_WORKER = 16
"""A worker has so many batches to do, where they are not too small or too large for that."""


@dataclass(frozen=True, slots=True)
class RayOptions:
    """How a run is spread.

    Attributes:
        address: of a Ray cluster (``auto`` for the one this machine belongs to); None starts one here for the run.
        workers: processes that vet; None for one a CPU, and not more than there are calls in flight.
        concurrency: calls in flight, over all workers.
        budget: dollars, calls and tokens the run may take, over all workers; None for no limit.
    """

    address: str | None = None
    workers: int | None = None
    concurrency: int = 64
    budget: tuple[float | None, int | None, int | None] = (None, None, None)


def vet_on_ray(
    panel: PanelConfig,
    source: JudgmentSource,
    out: Path,
    options: RayOptions,
    *,
    keep_failures: bool = False,
    summary: VetSummary | None = None,
    on_batch: Callable[[], None] = lambda: None,
) -> VetSummary:
    """Vets every judgment of a source on Ray; results already in the folder are not asked for again.

    Args:
        panel: not of strategy ``signals``, which asks no model.
        out: folder of the results, which every worker must reach under the same path.
        keep_failures: whether judgments that ended unscored or failed before are left so.
        summary: counted into as batches come.
        on_batch: called after each batch.

    Raises:
        ConfigurationError: Ray is missing, a panel that cannot be spread, no key, another panel's folder.
        MetajudgeError: what a worker failed of.
    """
    ray = _import_ray()
    summary = summary or VetSummary()
    summary.run_id = run_id = uuid.uuid4().hex[:12]
    _checked(panel)
    folder = ResultsFolder(out)
    panel, notice = with_prompt_set(panel, folder.panels)
    summary.notices += [] if notice is None else [notice]
    vetter = _checked(panel)
    folder.claim(vetter.default.digest)
    folder.supersede()

    def known(judgment: Judgment, earlier: Earlier) -> None:
        _count_earlier(summary, earlier)

    folder.clear_work()
    count = write_work(
        source, folder.work, key=vetter.key, earlier=folder.earlier(), keep_failures=keep_failures, known=known
    )
    on_batch()
    if not count:
        return summary
    journal = gather_journals(folder.journals, folder.calls, run_id)
    own_cluster = not ray.is_initialized()
    if own_cluster:
        _start(ray, options)
    try:
        workers = options.workers or max(1, min(int(ray.cluster_resources().get("CPU", 1)), options.concurrency))
        plan = _plan(panel, folder, journal, run_id, options, workers)
        keeper = _keeper(ray, options)
        _run(ray, folder, plan, keeper, workers, count, summary, on_batch)
    except KeyboardInterrupt:
        summary.end = RunEnd.INTERRUPTED
    finally:
        if own_cluster:
            ray.shutdown()
    folder.supersede()
    if summary.end is RunEnd.FINISHED:
        folder.clear_work()
        journal.unlink(missing_ok=True)
    return summary


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise ConfigurationError(f"--engine ray needs Ray: {install_command('ray')}") from None
    return ray


def _checked(panel: PanelConfig) -> Vetter:
    """The panel built here, so that a wrong one is refused before anything starts."""
    settings = Settings.load()
    resources = Resources(key_for=AgentKeys(panel, settings), limits=LimitSettings())
    vetter = build_vetter(panel, resources, early_exit=False)
    if any(one.strategy is StrategyName.SIGNALS for one in (vetter.default, *vetter.routes.values())):
        raise ConfigurationError(
            "strategy signals weighs the judgments around each one and asks no model: it runs in one process "
            "(leave --engine ray out)"
        )
    return vetter


def _plan(
    panel: PanelConfig, folder: ResultsFolder, journal: Path, run_id: str, options: RayOptions, workers: int
) -> WorkerPlan:
    if workers > options.concurrency:
        raise ConfigurationError(
            f"{workers} workers cannot share {options.concurrency} calls in flight: raise --concurrency or take fewer"
        )
    return WorkerPlan(
        panel=panel.model_dump_json(),
        folder=str(folder.path.resolve()),
        journal=str(journal.resolve()),
        run_id=run_id,
        concurrency=options.concurrency // workers,
        limits=_shares(endpoint_limits(panel, options.concurrency), workers),
    )


def _shares(limits: Mapping[Endpoint, LimitSettings], workers: int) -> dict[Endpoint, LimitSettings]:
    """A worker's part of every endpoint's limits, so that all together stay within them."""
    found: dict[Endpoint, LimitSettings] = {}
    for endpoint, whole in limits.items():
        if whole.per_endpoint is not None and whole.per_endpoint < workers:
            raise ConfigurationError(
                f"{workers} workers cannot share {whole.per_endpoint} calls in flight at {endpoint.base_url}: "
                f"take --workers {whole.per_endpoint}"
            )
        found[endpoint] = replace(
            whole,
            concurrency=max(1, whole.concurrency // workers),
            per_endpoint=None if whole.per_endpoint is None else whole.per_endpoint // workers,
            requests_per_minute=None if whole.requests_per_minute is None else whole.requests_per_minute / workers,
            tokens_per_minute=None if whole.tokens_per_minute is None else whole.tokens_per_minute / workers,
        )
    return found


def _start(ray: Any, options: RayOptions) -> None:
    _require_reachable(options.address)
    quiet = {"include_dashboard": False} if options.address is None else {}
    try:
        ray.init(address=options.address, log_to_driver=False, logging_level="ERROR", **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigurationError(_no_cluster(options.address, error)) from error


def _require_reachable(address: str | None) -> None:
    """Ray itself waits for minutes for a cluster that is not there."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # none, or auto
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise ConfigurationError(_no_cluster(address, error)) from error


def _no_cluster(address: str | None, error: Exception) -> str:
    return (
        f"no Ray cluster at {address!r} ({error}): start one (`ray start --head`), or leave --ray-address out to have "
        "one started here"
    )


def _keeper(ray: Any, options: RayOptions) -> Any:
    if all(limit is None for limit in options.budget):
        return None
    from metajudge.distributed.shared_budget import BudgetKeeper

    return ray.remote(BudgetKeeper).options(num_cpus=0, max_concurrency=10_000).remote(*options.budget)


def _run(
    ray: Any,
    folder: ResultsFolder,
    plan: WorkerPlan,
    keeper: Any,
    workers: int,
    count: int,
    summary: VetSummary,
    on_batch: Callable[[], None],
) -> None:
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    batch = min(max(count // (workers * BATCHES_A_WORKER), SMALLEST_BATCH), LARGEST_BATCH)
    # Ray 2.60 announces another way of saying max_concurrency without offering it yet.
    warnings.filterwarnings("ignore", message=".*ray_remote_args.*")
    outcomes = (
        ray.data.read_parquet(str(folder.work))
        .repartition(target_num_rows_per_block=batch)
        .map_batches(
            VetWorker,
            fn_constructor_args=(plan, keeper),
            batch_size=None,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=4),
            num_cpus=0,
            # The calls of the next batch begin while the last ones of this batch are awaited.
            max_concurrency=2,
        )
    )
    first: float | None = None
    last = 0.0
    left = 0
    try:
        for row in outcomes.iter_rows():
            data = orjson.loads(row["outcome"])
            _add(summary, data)
            left += data["left"]
            first = min((at for at in (first, data["first_sent_at"]) if at is not None), default=None)
            last = max(last, data["durable_at"])
            summary.wall_s = None if first is None else last - first
            on_batch()
    except (ray.exceptions.RayError, MetajudgeError) as error:
        raise _ours(error) from error
    if left:
        summary.end = RunEnd.BUDGET


def _add(summary: VetSummary, data: Mapping[str, Any]) -> None:
    for name in COUNTS:
        setattr(summary, name, getattr(summary, name) + data[name])
    summary.failures += Counter(data["failures"])
    summary.agent_failures += Counter(data["agent_failures"])
    summary.not_applicable += Counter(data["not_applicable"])
    summary.usage += Usage(**data["usage"])
    summary.known_cost_usd += data["known_cost_usd"]
    if data["unpriced"]:
        summary.cost_usd = None
    elif summary.cost_usd is not None:
        summary.cost_usd = summary.known_cost_usd
    summary.notices = list(dict.fromkeys([*summary.notices, *data["notices"]]))


def _count_earlier(summary: VetSummary, earlier: Earlier) -> None:
    summary.judgments += 1
    summary.reused += 1
    match earlier.status:
        case Status.ASSESSED:
            summary.assessed += 1
            summary.accepted += earlier.accepted is True
            summary.rejected += earlier.accepted is False
            summary.renormalised += earlier.renormalised
        case Status.UNSCORED:
            summary.unscored += 1
            summary.without_evidence += earlier.failure is FailureKind.NO_EVIDENCE
        case Status.FAILED:
            summary.failed += 1
    if earlier.failure is not None:
        summary.failures[FailureKind(earlier.failure).value] += 1


def _ours(error: Exception) -> MetajudgeError:
    """What a worker failed of, as the error it raised."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, MetajudgeError):
        found = getattr(found, "cause", None) or found.__cause__
    if isinstance(found, MetajudgeError):
        return found
    return MetajudgeError(f"the run on Ray failed: {error}")
