"""What becomes of workers' results on the driver: kept in the store, queued for people, shown in a report.

Each by the function that a run in one process uses: blocks of free evidence (:mod:`metajudge.bulk.keeping`), records of
agents and reviews (:mod:`metajudge.vetting.finishing`), a report's picture
(:class:`~metajudge.vetting.results.Watcher`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from metajudge.bulk.correctness import correctness
from metajudge.bulk.forms import annotation_row
from metajudge.bulk.keeping import Keeping
from metajudge.bulk.reading import BLOCK, Intake
from metajudge.bulk.text_rows import text_rows
from metajudge.concurrency import all_of
from metajudge.distributed.folder import PartRow, ResultsFolder
from metajudge.distributed.work_list import Range, Stored, read_judgments
from metajudge.distributed.worker import BatchOutcome
from metajudge.store.annotations import DERIVED, annotation_of
from metajudge.store.bulk import AssessmentBlock, BulkStore
from metajudge.store.sql import Connection
from metajudge.strategies import StrategyName
from metajudge.types import Assessment, CallRecord
from metajudge.vetting.engine import Engine
from metajudge.vetting.finishing import stored_key
from metajudge.vetting.results import Results


@dataclass(slots=True)
class Taking:
    """Takes the results of batches as they come."""

    engine: Engine
    intake: Intake
    folder: ResultsFolder
    results: Results
    stored: Stored
    _keeping: Keeping | None = field(init=False, default=None)
    _correct: NDArray[np.int8] = field(init=False)

    def __post_init__(self) -> None:
        store = self.engine.store
        self._keeping = None if store is None else Keeping(store.blocks)
        self._correct = correctness(self.intake.facts, self.intake.rules())

    @property
    def reused(self) -> int:
        """Assessments by free evidence that the store had, with the same evidence."""
        return 0 if self._keeping is None else self._keeping.reused

    async def start(self, left: Sequence[CallRecord]) -> None:
        """Call it before the first batch; keeps the texts in one pass over the input.

        Args:
            left: calls of earlier runs that were cut off, which the store may lack.
        """
        store = self.engine.store
        if store is None:
            return
        known = await store.ask(partial(_calls_of, runs={call.run_id for call in left}))
        for call in left:
            if (call.key, call.started_at) not in known:
                store.record_call(call)
        free = self._free_rows()
        for first in range(0, len(free), BLOCK):
            await self._keep_texts(store.blocks, free[first : first + BLOCK])

    async def take(self, outcome: BatchOutcome) -> None:
        """Takes what a batch has written and asked."""
        store = self.engine.store
        if store is not None:
            for call in outcome.calls:
                store.record_call(call)
        if not outcome.part or (store is None and self.results.watcher is None):
            return
        rows = self.folder.part(outcome.name)
        if self._keeping is not None:
            free = [row for row in rows if _is_free(row)]
            for first in range(0, len(free), BLOCK):
                await self._keep_free(self._keeping, free[first : first + BLOCK])
            if len(free) < len(rows):
                await self._keep_asked([row for row in rows if not _is_free(row)], outcome.batch)
            await self.engine.finishing.open_reviews()
        self._show(rows)

    def _free_rows(self) -> NDArray[np.int64]:
        facts, wanted, panel_of = self.intake.facts, self.intake.wanted, self.engine.vetter.panel_of
        names = {-1: None, **dict(enumerate(facts.categories))}
        codes = [code for code in names if panel_of(names[code]).strategy is StrategyName.SIGNALS]
        return wanted[np.isin(facts.category[wanted], codes)]

    async def _keep_texts(self, store: BulkStore, rows: NDArray[np.int64]) -> None:
        digests = [self.intake.digest(row) for row in rows.tolist()]
        missing = await store.without_texts(self._items(rows), digests)
        if any(missing):
            await store.keep_texts(*text_rows(self.intake, rows, *missing))

    def _items(self, rows: NDArray[np.int64]) -> list[str]:
        facts = self.intake.facts
        return [facts.items[code].digest for code in np.unique(facts.item[rows]).tolist()]

    async def _keep_free(self, keeping: Keeping, found: Sequence[PartRow]) -> None:
        rows = np.array([self._row(one) for one in found], dtype=np.int64)
        said = [annotation_of(one.assessment, one.panel) for one in found]
        block = AssessmentBlock(
            run_id=self.engine.run_id,
            keys=[stored_key(one.key, one.panel) for one in found],
            judgment_digests=[self.intake.digest(row) for row in rows.tolist()],
            judgment_ids=[one.panel.judgment_id for one in found],
            item_ids=[one.panel.item_id for one in found],
            judges=[one.panel.judge for one in found],
            statuses=[one.panel.status.value for one in found],
            final_scores=[one.panel.final_score for one in found],
            accepted=[one.panel.accepted for one in found],
            strategies=[one.panel.strategy for one in found],
            panel_digests=[one.panel.panel_digest for one in found],
            payloads=[one.panel.model_dump_json(exclude=DERIVED).encode() for one in found],
            annotations=[
                None if text is None else annotation_row(one.assessment, one.assessment.probability, text.encode())
                for one, text in zip(found, said, strict=True)
            ],
        )
        await keeping.keep(block, self._items(rows), lambda *missing: text_rows(self.intake, rows, *missing))
        finishing, vetter = self.engine.finishing, self.engine.vetter
        for row, one in zip(rows.tolist(), found, strict=True):
            whole = one.assessment
            if whole.decision is not None:
                finishing.queue_row(row, whole.decision, partial(_itself, whole), self.intake, vetter)

    async def _keep_asked(self, found: Sequence[PartRow], batch: Range) -> None:
        """Keeps results of agents: those that are new, or to which something was added."""
        judgments = read_judgments(self.folder.work, batch)
        finishing, vetter = self.engine.finishing, self.engine.vetter
        await all_of(
            finishing.keep(one.key, judgments[self._row(one)], one.panel, one.assessment, vetter)
            for one in found
            if one.assessment is not one.panel or not self.stored.at[one.index]
        )

    def _show(self, found: Sequence[PartRow]) -> None:
        watcher = self.results.watcher
        if watcher is None:
            return
        for one in sorted(found, key=lambda one: one.index):
            row = self._row(one)
            right = None if self._correct[row] < 0 else bool(self._correct[row])
            watcher.add(self.intake.texts.judgment(row), one.assessment, right, one.index)

    def _row(self, found: PartRow) -> int:
        return int(self.intake.wanted[found.index])


def _calls_of(connection: Connection, runs: Collection[str | None]) -> set[tuple[str, float]]:
    """Keys and starts of the calls that a store has of some runs."""
    found = set[tuple[str, float]]()
    for run in runs:
        query = "SELECT key, started_at FROM calls WHERE run_id = $1"
        found.update((key, started_at) for key, started_at in connection.execute(query, [run]).fetchall())
    return found


def _itself(assessment: Assessment) -> Assessment:
    return assessment


def _is_free(found: PartRow) -> bool:
    return found.panel.strategy == StrategyName.SIGNALS.value
