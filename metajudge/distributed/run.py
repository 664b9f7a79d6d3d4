"""A run on Ray: the driver reads and checks the input, Ray Data spreads it over workers, the driver keeps results."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from metajudge.bulk.correctness import RowCounting, correctness
from metajudge.bulk.reading import Intake, Reading
from metajudge.distributed.batch import InputFacts
from metajudge.distributed.counting import count_earlier
from metajudge.distributed.driver import Driver
from metajudge.distributed.folder import ResultsFolder
from metajudge.distributed.journal import EARLIER, gather_journals
from metajudge.distributed.options import Judging, RayOptions
from metajudge.distributed.spreading import Task, import_ray, spread
from metajudge.distributed.taking import Taking
from metajudge.distributed.work_list import Hashes, Stored, WorkList
from metajudge.errors import InputError
from metajudge.evidence.counting import FATES
from metajudge.evidence.dependence import dependence_of
from metajudge.evidence.facts import Facts
from metajudge.panels.config import PanelConfig
from metajudge.readers import JudgmentSource
from metajudge.runs.loop import RunEnd
from metajudge.types import Assessment
from metajudge.vetting.bars import check_labelled
from metajudge.vetting.engine import Engine
from metajudge.vetting.probability import not_its_judges
from metajudge.vetting.prompt_set import with_prompt_set
from metajudge.vetting.results import Results
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration

NOT_QUEUED = (
    "no review is opened for what the policy leaves to people, because the queue is in a store: give --store to queue "
    "them"
)


def vet_on_ray(
    panel: PanelConfig,
    source: JudgmentSource,
    out: str | Path,
    options: RayOptions,
    judging: Judging | None = None,
    *,
    keep_failures: bool = False,
    summary: VetSummary | None = None,
    results: Results | None = None,
    on_batch: Callable[[], None] = lambda: None,
) -> VetSummary:
    """Vets every judgment of a source on Ray; agents' results that folder or store have are not asked for again.

    Args:
        out: folder of the results, or its URL in an object store, which every worker must reach as it is given.
        keep_failures: whether judgments that ended unscored or failed before are left so.
        results: its bars are those that the run has to reach (one that needs labels is refused where there are none),
            its labels count the results in the folder, and its watcher gets every result.

    Raises:
        ConfigurationError: Ray is missing, a panel that cannot be built, no key, another panel's folder.
        InputError: a calibration for other judges, or that lacks its signals.
        MetajudgeError: what a worker failed of.
    """
    ray = import_ray()
    judging, summary, results = judging or Judging(), summary or VetSummary(), results or Results()
    folder = ResultsFolder(out)
    if folder.panels:
        panel, notice = with_prompt_set(panel, folder.panels)
        summary.notices += [] if notice is None else [notice]
    with Driver(judging.engine(panel, options), summary) as driver:
        engine = driver.engine
        summary.run_id = engine.run_id
        if results.watcher is not None:
            results.watcher.policy = engine.policy
        folder.claim(engine.vetter.default.digest)
        folder.supersede()
        folder.clear_work()
        work = _Work(driver, options, judging, folder, keep_failures, summary, results, on_batch)
        with contextlib.closing(Reading(source, judging.right)) as reading:
            driver.run(_read(reading, on_batch))
            work.do(ray, reading, source)
        if summary.end is RunEnd.FINISHED:
            folder.clear_work()
            folder.journals.delete([EARLIER])
        work.count()
        summary.reviews = engine.finishing.opened
    return summary


async def _read(reading: Reading, on_block: Callable[[], None]) -> None:
    async for _ in reading.blocks():
        on_block()


class _Work(Task):
    """Does it."""

    @property
    def engine(self) -> Engine:
        return self.driver.engine

    def do(self, ray: Any, reading: Reading, source: JudgmentSource) -> None:
        """Does all of it, once the input is read; errors as :func:`vet_on_ray`."""
        intake = self.intake = reading.intake()
        stored = Stored(len(intake.wanted), None if self.engine.store is None else self._find)
        self.hashes = self._write(intake, source, stored)
        self.on_batch()
        if not len(self.hashes):
            return
        left = gather_journals(self.folder.journals, self.folder.calls, self.engine.run_id)
        self.taking = Taking(self.engine, intake, self.folder, self.results, stored)
        self.driver.run(self.taking.start(left))
        spread(ray, self)
        self.folder.supersede()
        self.summary.results_known = self.taking.reused

    def count(self) -> None:
        """Counts the judgments of the input that have a result in the folder."""
        fates, facts = self.folder.fates(), self.intake.facts
        rows = [row for row in self.intake.wanted.tolist() if facts.judgment_ids[row] in fates]
        codes = [FATES.index(fates[facts.judgment_ids[row]]) for row in rows]
        counting = RowCounting(facts, correctness(facts, self.results.labels.rules), self.results.labels)
        counting.add(np.array(rows, dtype=np.int64), FATES, np.array(codes, dtype=np.int64))

    def _find(self, keys: Sequence[str]) -> Mapping[str, Assessment]:
        store = self.engine.store
        return {} if store is None else self.driver.run(store.find_assessments(keys))

    def _write(self, intake: Intake, source: JudgmentSource, stored: Stored) -> Hashes:
        """Writes the work list."""
        summary, finishing, stores = self.summary, self.engine.finishing, self.engine.store is not None
        rules = self.results.labels.rules = intake.rules()
        self.results.labels.note = intake.unit_note
        labelled = correctness(intake.facts, rules)[intake.wanted] >= 0
        check_labelled(self.results.bars, bool(labelled.any()))
        _check_judges(finishing.calibration, self.judging.allow_other_calibration, source, intake.facts)
        finishing.describe(summary)
        if finishing.policy is not None and not stores:
            summary.notices.append(NOT_QUEUED)
        free = not all(self.asks)
        self.whole = _whole(intake, self.judging, self.engine, source, summary, free=free)
        evidence = free or finishing.calibration is not None
        work = WorkList(
            intake,
            self.engine.vetter,
            self.folder.earlier(),
            self.keep_failures,
            evidence=evidence,
            whole=evidence or finishing.active or stores or self.results.watcher is not None,
            stored=stored,
            known=lambda earlier: count_earlier(summary, earlier),
        )
        return work.write(self.folder.work)


def _check_judges(calibration: "Calibration | None", allow_other: bool, source: JudgmentSource, facts: Facts) -> None:
    """Refuses an input of which no judge is one of the calibration's, as one process does."""
    judges = sorted(name for name in facts.judges if source.judges is None or name in source.judges)
    if calibration is not None:
        calibration.check_unit(source.unit)
    if calibration is not None and not allow_other and not set(judges) & set(calibration.identity.judges):
        raise InputError(not_its_judges(calibration, judges))


def _whole(
    intake: Intake,
    judging: Judging,
    engine: Engine,
    source: JudgmentSource,
    summary: VetSummary,
    *,
    free: bool,
) -> InputFacts:
    """What the input as a whole says; the summary is told of it."""
    facts, rewards = intake.facts, judging.rewards(engine.calibration)
    rules = facts.rules(judging.right)
    dependence = dependence_of(facts, rules)
    if not free:
        return InputFacts(judges=source.judges, rewards=rewards, dependence=dependence)
    summary.describe_evidence(rules, dependence)
    return InputFacts(rules, facts.model_of, source.judges, rewards, dependence)
