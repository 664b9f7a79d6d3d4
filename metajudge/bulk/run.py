"""The run in blocks: assessments are written as bytes, stored, and given to the caller block by block."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json

from metajudge.bulk.alike import Classes
from metajudge.bulk.endings import Annotate, Endings
from metajudge.bulk.forms import Forms, annotation_row
from metajudge.bulk.keeping import Keeping
from metajudge.bulk.outcomes import Outcomes
from metajudge.bulk.reading import BLOCK, Intake
from metajudge.bulk.signal_texts import SignalTexts, stored_keys
from metajudge.evidence.no_labels import NO_LABELS
from metajudge.runs.loop import Stop
from metajudge.store.bulk import AnnotationRow, AssessmentBlock, BulkStore, ItemRow, JudgmentRow
from metajudge.strategies import Vetter
from metajudge.types import Assessment, Item, Judgment

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Results of judgments that follow each other in the input.

    Attributes:
        first: place of the first one among the judgments that are vetted.
        rows: [m] rows of the intake.
        lines: the assessments as lines of a file of results.
        endings: of all judgments; ``codes`` are the places of this block's in it.
        alike: an assessment and how many there are like it, in the order of their first judgment.
        no_labels: how many judgments have a probability without labels, and their sum, by whether they are kept.
        best_probability: the highest one by a calibration; None without any.
    """

    first: int
    rows: Rows
    lines: Sequence[bytes]
    endings: Endings
    codes: Rows
    alike: Sequence[tuple[Assessment, int]]
    no_labels: Mapping[bool, tuple[int, float]]
    best_probability: float | None

    def assessment(self, at: int) -> Assessment:
        """One of the assessments as an object."""
        return Assessment.model_validate_json(self.lines[at])


Taker: TypeAlias = Callable[[Block], Awaitable[None]]
"""Takes results as they come."""


class BlockRun:
    """Makes and keeps the assessments of an input, block by block.

    Args:
        intake: what was read.
        outcomes: of every judgment.
        vetter: the panels.
        store: None to keep nothing.
        run_id: recorded with every assessment.
        annotate: adds what a calibration and a policy say; None without either.
    """

    def __init__(
        self,
        intake: Intake,
        outcomes: Outcomes,
        vetter: Vetter,
        store: BulkStore | None = None,
        run_id: str = "",
        annotate: Annotate | None = None,
    ) -> None:
        self._intake = intake
        self._outcomes = outcomes
        self._vetter = vetter
        self._run_id = run_id
        self._keeping = None if store is None else Keeping(store)
        self._signals = SignalTexts(outcomes.signals)
        self._weighed = np.array([one.signals is not None for one in outcomes.results], dtype=bool)
        self._endings = self._ended(annotate)
        self._classes = Classes(outcomes, intake, self._endings)
        self._items = [to_json(item.id) for item in intake.facts.items]
        self._judges = [to_json(name) for name in intake.facts.judges]

    async def run(self, take: Taker, stop: Stop | None = None) -> None:
        """Works through all judgments that are wanted, until ``stop`` is asked to end."""
        wanted, keeping = self._intake.wanted, self._keeping
        if keeping is not None:
            await keeping.start()
        for first in range(0, len(wanted), BLOCK):
            if stop is not None and stop.asked:
                return
            await take(await self._block(slice(first, first + BLOCK)))
            await asyncio.sleep(0)  # an interruption is heard between two blocks
        if keeping is not None:
            await keeping.finish()

    @property
    def reused(self) -> int:
        """Assessments that the store was known to have, as the newest ones."""
        return 0 if self._keeping is None else self._keeping.reused

    def _ended(self, annotate: Annotate | None) -> Endings:
        """The endings of all judgments that are wanted."""
        facts, wanted = self._intake.facts, self._intake.wanted
        pairs = np.stack([self._outcomes.codes[wanted], facts.category[wanted]], axis=1)
        different, codes = np.unique(pairs, axis=0, return_inverse=True)
        found = [self._assessment(result, category) for result, category in different.tolist()]
        return Endings.of(found, codes.reshape(-1).astype(np.int64), wanted, annotate)

    def _assessment(self, result: int, category: int) -> Assessment:
        """An assessment with this result; its judgment's own values are left open."""
        name = self._category(category)
        item = Item(id="-", question="", responses={"-": ""}, category=name)
        judgment = Judgment(id="-", item=item, judge="-", verdict=None, no_verdict="-")
        return self._vetter.assessment(self._vetter.panel_of(name), judgment, self._outcomes.results[result])

    def _category(self, code: int) -> str | None:
        return None if code < 0 else self._intake.facts.categories[code]

    async def _block(self, part: slice) -> Block:
        rows, codes = self._intake.wanted[part], self._endings.codes[part]
        forms = [self._endings.forms(code) for code in codes.tolist()]
        owns = self._owns(rows, part)
        if self._keeping is not None:
            await self._keep(self._keeping, part, forms, owns)
        lines = [form.line.fill(own) for form, own in zip(forms, owns, strict=True)]
        said = self._endings.annotated
        numbers = np.zeros(0) if said is None else said.probabilities[part]
        numbers = numbers[~np.isnan(numbers)]
        best = float(numbers.max()) if len(numbers) else None
        alike, expected = self._classes.of(part), self._expected(rows, codes)
        return Block(part.start, rows, lines, self._endings, codes, alike, expected, best)

    def _owns(self, rows: Rows, part: slice) -> list[tuple[bytes, ...]]:
        """What belongs to each judgment alone; see :class:`~metajudge.bulk.forms.Own`."""
        intake, facts = self._intake, self._intake.facts
        signals = self._signals.written(rows)
        weighed = self._weighed[self._outcomes.codes[rows]].tolist()
        places = zip(rows.tolist(), facts.item[rows].tolist(), facts.judge[rows].tolist(), strict=True)
        return [
            (
                *(to_json(facts.judgment_ids[row]), self._items[item], self._judges[judge]),
                *(b'"%b"' % intake.digest(row).encode(), b'"signals":%b' % (own if known else b"null")),
                *numbers,
            )
            for (row, item, judge), own, known, numbers in zip(
                places, signals, weighed, self._endings.numbers(part), strict=True
            )
        ]

    def _keys(self, rows: Rows) -> list[str]:
        """Under which the store keeps the assessments: as :meth:`Vetter.key`, with the signals where there are any."""
        intake, facts, vetter = self._intake, self._intake.facts, self._vetter
        panels = {code: vetter.panel_of(self._category(code)) for code in np.unique(facts.category[rows]).tolist()}
        keys = []
        for row, category in zip(rows.tolist(), facts.category[rows].tolist(), strict=True):
            panel = panels[category]
            kin: list[str] | None = [] if panel.families == "forbid" else None  # without agents there is no kinship
            keys.append(vetter.key_of(facts.judgment_ids[row], intake.vetting_digest(row), panel, kin))
        weighed = self._weighed[self._outcomes.codes[rows]].tolist()
        full = stored_keys(keys, self._signals.keyed(rows))
        return [whole if signals else key for key, whole, signals in zip(keys, full, weighed, strict=True)]

    async def _keep(
        self, keeping: Keeping, part: slice, forms: Sequence[Forms], owns: Sequence[tuple[bytes, ...]]
    ) -> None:
        facts, rows = self._intake.facts, self._intake.wanted[part]
        found = [self._endings.owns[code] for code in self._endings.codes[part].tolist()]
        block = AssessmentBlock(
            run_id=self._run_id,
            keys=self._keys(rows),
            judgment_digests=[self._intake.digest(row) for row in rows.tolist()],
            judgment_ids=[facts.judgment_ids[row] for row in rows.tolist()],
            item_ids=[facts.items[code].id for code in facts.item[rows].tolist()],
            judges=[facts.judges[code] for code in facts.judge[rows].tolist()],
            statuses=[one.status.value for one in found],
            final_scores=[one.final_score for one in found],
            accepted=[one.accepted for one in found],
            strategies=[one.strategy for one in found],
            panel_digests=[one.panel_digest for one in found],
            payloads=[form.payload.fill(own) for form, own in zip(forms, owns, strict=True)],
            annotations=self._annotations(part, forms, owns),
        )
        items = [facts.items[code].digest for code in np.unique(facts.item[rows]).tolist()]
        await keeping.keep(block, items, lambda *missing: self._text_rows(rows, *missing))

    def _annotations(
        self, part: slice, forms: Sequence[Forms], owns: Sequence[tuple[bytes, ...]]
    ) -> list[AnnotationRow | None]:
        if self._endings.annotated is None:
            return []
        finals, codes = self._endings.finals, self._endings.codes[part].tolist()
        return [
            None
            if form.annotation is None
            else annotation_row(finals[code], self._endings.probability(part.start + at), form.annotation.fill(own))
            for at, (code, form, own) in enumerate(zip(codes, forms, owns, strict=True))
        ]

    def _text_rows(
        self, rows: Rows, no_item: Collection[str], no_judgment: Collection[str]
    ) -> tuple[list[ItemRow], list[JudgmentRow]]:
        """Rows of items and of judgments with their texts, of those whose digests the store does not have."""
        intake, facts, items, judgments = self._intake, self._intake.facts, dict[str, ItemRow](), list[JudgmentRow]()
        for row, place, judge in zip(rows.tolist(), facts.item[rows].tolist(), facts.judge[rows].tolist(), strict=True):
            item, digest = facts.items[place], intake.digest(row)
            if item.digest in no_item and item.digest not in items:
                category = self._category(int(facts.category[row]))
                payload = intake.texts.item_payload(row, item.digest)
                items[item.digest] = ItemRow(item.digest, item.id, category, payload)
            if digest in no_judgment:
                own = (digest, facts.judgment_ids[row], item.digest, item.id, facts.judges[judge])
                judgments.append(JudgmentRow(*own, intake.texts.judgment_payload(row)))
        return list(items.values()), judgments

    def _expected(self, rows: Rows, codes: Rows) -> dict[bool, tuple[int, float]]:
        """Judgments with a probability without labels, and the sum of these, by whether they are kept."""
        column = self._outcomes.signals.get(NO_LABELS)
        if column is None:
            return {}
        kept = np.array([one.accepted is True for one in self._endings.finals], dtype=bool)[codes]
        places = column.codes[rows]
        values = np.array([*(one.value or 0.0 for one in column.values), 0.0])[places]
        found = {}
        for state in (False, True):
            chosen = (places >= 0) & (kept == state)
            found[state] = (int(chosen.sum()), float(values[chosen].sum()))
        return found
