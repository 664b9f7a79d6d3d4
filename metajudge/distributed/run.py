"""A run on Ray: the driver reads and checks the input, Ray Data spreads it over workers, the driver counts."""

import asyncio
import contextlib
import logging
import socket
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metajudge.bulk.correctness import UNKNOWN, correctness
from metajudge.bulk.reading import Intake, Reading
from metajudge.distributed.batch import InputFacts
from metajudge.distributed.counting import add_summary, count_earlier
from metajudge.distributed.folder import ResultsFolder
from metajudge.distributed.journal import EARLIER, gather_journals
from metajudge.distributed.work_list import Hashes, Range, WorkList, asks_models, ranges_of
from metajudge.distributed.worker import BatchOutcome, Desk, VetWorker, WorkerPlan
from metajudge.errors import ConfigurationError, InputError, MetajudgeError
from metajudge.evidence.dependence import dependence_of
from metajudge.evidence.facts import Facts
from metajudge.evidence.no_labels import NoLabels
from metajudge.installation import install_command
from metajudge.panels.building import AgentKeys, build_vetter
from metajudge.panels.config import PanelConfig
from metajudge.providers.limits import LimitSettings
from metajudge.providers.stack import Resources
from metajudge.readers import JudgmentSource
from metajudge.runs.loop import RunEnd
from metajudge.settings import Settings
from metajudge.strategies import Vetter
from metajudge.types import Right, VerdictKind, text_digest
from metajudge.vetting.bars import Bar, check_labelled
from metajudge.vetting.finishing import Completion
from metajudge.vetting.label_count import LabelCount
from metajudge.vetting.probability import not_its_judges
from metajudge.vetting.prompt_set import with_prompt_set
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration
    from metajudge.decision import Policy
    from metajudge.evidence.rewards import RewardScore

SMALLEST_BATCH, LARGEST_BATCH, LARGEST_FREE_BATCH = 16, 1_000, 20_000
NOT_QUEUED = (
    "no review is opened for what the policy leaves to people, because the queue is in a store: vet the judgments in "
    "question in one process (without --engine ray) to queue them"
)
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
        budget_file: a ledger on the driver's machine that shares the budget with other commands; None for none.
    """

    address: str | None = None
    workers: int | None = None
    concurrency: int = 64
    budget: tuple[float | None, int | None, int | None] = (None, None, None)
    budget_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Judging:
    """What decides on judgments beside the panel.

    Attributes:
        right: what counts as right; None for the default of each kind of verdict.
        label_free: whether to add P(right) without labels, as :class:`~metajudge.vetting.engine.Engine` does.
        rewards: finds reward models' scores, for a calibration that reads them; None where there are none.
    """

    calibration: "str | Path | Calibration | None" = None
    allow_other_calibration: bool = False
    policy: "str | Path | Policy | None" = None
    right: Right | None = None
    label_free: bool = True
    rewards: "Callable[[Calibration | None], Sequence[RewardScore] | None]" = lambda _: None


def vet_on_ray(
    panel: PanelConfig,
    source: JudgmentSource,
    out: str | Path,
    options: RayOptions,
    judging: Judging | None = None,
    *,
    keep_failures: bool = False,
    summary: VetSummary | None = None,
    labels: LabelCount | None = None,
    bars: Sequence[Bar] = (),
    on_batch: Callable[[], None] = lambda: None,
) -> VetSummary:
    """Vets every judgment of a source on Ray; results of agents that are in the folder are not asked for again.

    Args:
        out: folder of the results, or its URL in an object store, which every worker must reach as it is given.
        judging: what decides beside the panel.
        keep_failures: whether judgments that ended unscored or failed before are left so.
        summary: counted into as batches come.
        bars: that the run has to reach; one that needs labels is refused where there are none.
        labels: told how the labels bear out what the folder has.
        on_batch: called after each batch.

    Raises:
        ConfigurationError: Ray is missing, a panel that cannot be built, no key, another panel's folder.
        InputError: a calibration for other judges, or that lacks its signals.
        MetajudgeError: what a worker failed of.
    """
    ray = _import_ray()
    judging, summary = judging or Judging(), summary or VetSummary()
    summary.run_id = run_id = uuid.uuid4().hex[:12]
    folder = ResultsFolder(out)
    panel, notice = with_prompt_set(panel, folder.panels)
    summary.notices += [] if notice is None else [notice]
    finishing = Completion(judging.calibration, judging.allow_other_calibration, judging.policy)
    if finishing.needs_every_score:
        panel = panel.model_copy(update={"early_exit": False})
    vetter = _checked(panel)
    asyncio.run(finishing.start(None, run_id, vetter, summary.notices.append))
    folder.claim(vetter.default.digest)
    folder.supersede()
    folder.clear_work()
    work = _Work(vetter, finishing, judging, folder, keep_failures, summary)
    with contextlib.closing(Reading(source, judging.right)) as reading:
        asyncio.run(_read(reading, on_batch))
        hashes = work.write(reading.intake(), source, bars)
    on_batch()
    if len(hashes):
        gather_journals(folder.journals, folder.calls, run_id)
        _spread(ray, panel, work, hashes, options, on_batch)
        folder.supersede()
    if summary.end is RunEnd.FINISHED:
        folder.clear_work()
        folder.journals.delete([EARLIER])
    _count_labels(folder, work.rights, labels)
    return summary


async def _read(reading: Reading, on_block: Callable[[], None]) -> None:
    async for _ in reading.blocks():
        on_block()


@dataclass(slots=True)
class _Work:
    """What a run has to do, and what is known of its input once that is written.

    Attributes:
        rights: what counts as right against labels.
        whole: what the input as a whole says.
    """

    vetter: Vetter
    finishing: Completion
    judging: Judging
    folder: ResultsFolder
    keep_failures: bool
    summary: VetSummary
    rights: Mapping[VerdictKind, Right] = field(default_factory=dict)
    whole: InputFacts = field(default_factory=InputFacts)

    @property
    def asks(self) -> list[bool]:
        """Whether each panel asks models."""
        return [asks_models(one) for one in (self.vetter.default, *self.vetter.routes.values())]

    def write(self, intake: Intake, source: JudgmentSource, bars: Sequence[Bar]) -> Hashes:
        """Writes the work list; errors as :func:`vet_on_ray`."""
        summary, finishing = self.summary, self.finishing
        self.rights = intake.rules()
        labelled = correctness(intake.facts, self.rights)[intake.wanted] != UNKNOWN
        check_labelled(bars, bool(labelled.any()))
        _check_judges(finishing.calibration, self.judging.allow_other_calibration, source, intake.facts)
        finishing.describe(summary)
        if finishing.policy is not None:
            summary.notices.append(NOT_QUEUED)
        free = not all(self.asks)
        self.whole = _whole(intake, self.judging, finishing, source, summary, free=free)
        work = WorkList(
            intake,
            self.vetter,
            self.folder.earlier(),
            self.keep_failures,
            evidence=free or finishing.calibration is not None,
            known=lambda earlier: count_earlier(summary, earlier),
        )
        return work.write(self.folder.work)


def _spread(
    ray: Any, panel: PanelConfig, work: _Work, hashes: Hashes, options: RayOptions, on_batch: Callable[[], None]
) -> None:
    """Spreads the work list over workers, on a cluster started for it where there is none."""
    own_cluster = not ray.is_initialized()
    if own_cluster:
        _start(ray, options)
    try:
        workers = options.workers or max(1, min(int(ray.cluster_resources().get("CPU", 1)), options.concurrency))
        size = max(len(hashes) // (workers * BATCHES_A_WORKER), SMALLEST_BATCH)
        ranges = ranges_of(hashes, min(size, LARGEST_BATCH if any(work.asks) else LARGEST_FREE_BATCH))
        limits, budget = _limit_actor(ray) if panel.limits else None, _keeper(ray, options)
        calibration = work.finishing.calibration
        plan = WorkerPlan(
            panel=panel.model_dump_json(),
            folder=work.folder.place.address,
            run_id=work.summary.run_id or "",
            concurrency=options.concurrency if limits is not None else _share(options.concurrency, workers),
            calibration=None if calibration is None else calibration.to_json(),
            allow_other_calibration=work.judging.allow_other_calibration,
            policy=work.finishing.policy,
        )
        desk = ray.remote(Desk).options(num_cpus=0).remote(plan, work.whole)
        _run(ray, ranges, (desk, limits, budget), workers, work.summary, on_batch)
        if budget is not None:
            ray.get(budget.close.remote())
    except KeyboardInterrupt:
        work.summary.end = RunEnd.INTERRUPTED
    finally:
        if own_cluster:
            ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError:
        raise ConfigurationError(f"--engine ray needs Ray: {install_command('ray')}") from None
    return ray


def _count_labels(folder: ResultsFolder, rules: Mapping[VerdictKind, Right], labels: LabelCount | None) -> None:
    if labels is None:
        return
    labels.rules = rules
    for row in folder.labels().to_pylist():
        # Parts of earlier versions have no question; their judgments are counted under their item.
        question, guaranteed = row["question"] or text_digest(row["item_id"]), bool(row["guaranteed"])
        labels.count_key(row["id"], int(question[:16], 16), row["accepted"], row["correct"], guaranteed=guaranteed)


def _checked(panel: PanelConfig) -> Vetter:
    """The panel built here, so that a wrong one is refused before anything starts."""
    settings = Settings.load()
    resources = Resources(key_for=AgentKeys(panel, settings), limits=LimitSettings())
    return build_vetter(panel, resources, early_exit=False)


def _check_judges(calibration: "Calibration | None", allow_other: bool, source: JudgmentSource, facts: Facts) -> None:
    """Refuses an input of which no judge is one of the calibration's, as one process does."""
    judges = sorted(name for name in facts.judges if source.judges is None or name in source.judges)
    if calibration is not None and not allow_other and not set(judges) & set(calibration.identity.judges):
        raise InputError(not_its_judges(calibration, judges))


def _whole(
    intake: Intake,
    judging: Judging,
    finishing: Completion,
    source: JudgmentSource,
    summary: VetSummary,
    *,
    free: bool,
) -> InputFacts:
    """What the input as a whole says; the summary is told of it."""
    facts, rewards = intake.facts, judging.rewards(finishing.calibration)
    rules, found = facts.rules(judging.right), None
    dependence = dependence_of(facts, rules)
    if not free:
        return InputFacts(judges=source.judges, rewards=rewards, dependence=dependence)
    recorded = replace(facts.recorded, copies=dependence.copies)
    if judging.label_free and finishing.calibration is None:
        found = NoLabels.of(recorded, [item.id for item in facts.items], rules)
    summary.describe_evidence(rules, found, dependence)
    column = None if found is None else found.column(len(facts))
    return InputFacts(rules, facts.model_of, column, copy(summary.no_labels), source.judges, rewards, dependence)


def _share(concurrency: int, workers: int) -> int:
    """A worker's part of the calls in flight."""
    if workers > concurrency:
        raise ConfigurationError(
            f"{workers} workers cannot share {concurrency} calls in flight: raise --concurrency or take fewer"
        )
    return concurrency // workers


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


def _limit_actor(ray: Any) -> Any:
    from metajudge.distributed.limit_keeper import LimitActor

    return ray.remote(LimitActor).options(num_cpus=0, max_concurrency=1_000).remote()


def _keeper(ray: Any, options: RayOptions) -> Any:
    """The actor of the budget, on the driver's machine, where its ledger is."""
    if all(limit is None for limit in options.budget):
        return None
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    from metajudge.distributed.shared_budget import BudgetKeeper

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(BudgetKeeper).options(num_cpus=0, max_concurrency=10_000, scheduling_strategy=here)
    return actor.remote(*options.budget, options.budget_file)


def _run(
    ray: Any,
    ranges: list[Range],
    arguments: tuple[Any, ...],
    workers: int,
    summary: VetSummary,
    on_batch: Callable[[], None],
) -> None:
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    # Ray 2.60 announces another way of saying max_concurrency without offering it yet.
    warnings.filterwarnings("ignore", message=".*ray_remote_args.*")
    rows = [{"low": one.low, "high": one.high} for one in ranges]
    outcomes = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        VetWorker,
        fn_constructor_args=arguments,
        batch_size=None,
        compute=ray.data.ActorPoolStrategy(size=min(workers, len(rows)), max_tasks_in_flight_per_actor=4),
        num_cpus=0,
        # The calls of the next batch begin while the last ones of this batch are awaited.
        max_concurrency=2,
    )
    first: float | None = None
    last = 0.0
    left = 0
    try:
        for row in outcomes.iter_rows():
            found: BatchOutcome = row["outcome"]
            add_summary(summary, found.summary)
            left += found.left
            first = min((at for at in (first, found.first_sent_at) if at is not None), default=None)
            last = max(last, found.durable_at)
            summary.wall_s = None if first is None else last - first
            on_batch()
    except (ray.exceptions.RayError, MetajudgeError) as error:
        raise _ours(error) from error
    if left:
        summary.end = RunEnd.BUDGET


def _ours(error: Exception) -> MetajudgeError:
    """What a worker failed of, as the error it raised."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, MetajudgeError):
        found = getattr(found, "cause", None) or found.__cause__
    if isinstance(found, MetajudgeError):
        return found
    return MetajudgeError(f"the run on Ray failed: {error}")
