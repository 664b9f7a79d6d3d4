"""The run in blocks: assessments are written as bytes, stored, and given to the caller block by block."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic_core import to_json

from metajudge.bulk.endings import Annotate, Endings
from metajudge.bulk.forms import Forms
from metajudge.bulk.keeping import Keeping
from metajudge.bulk.outcomes import WEIGHED, Outcomes
from metajudge.bulk.reading import BLOCK, Intake
from metajudge.bulk.signal_texts import SignalTexts, stored_keys
from metajudge.bulk.text_rows import text_rows
from metajudge.evidence.grouping import Interned, Key
from metajudge.runs.loop import Stop
from metajudge.store.bulk import AssessmentBlock, BulkStore
from metajudge.strategies import Vetter
from metajudge.strategies.rule import rule_of
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
        best_probability: the highest one by a calibration; None without any.
    """

    first: int
    rows: Rows
    lines: Sequence[bytes]
    endings: Endings
    codes: Rows
    alike: Sequence[tuple[Assessment, int]]
    best_probability: float | None

    def assessment(self, at: int) -> Assessment:
        """One of the assessments as an object."""
        return Assessment.model_validate_json(self.lines[at])


Taker: TypeAlias = Callable[[Block], Awaitable[None]]
"""Takes results as they come."""


class Classes:
    """Judgments that are wanted, by their endings without numbers, and by state and sign of their signals."""

    def __init__(self, outcomes: Outcomes, intake: Intake, endings: Endings) -> None:
        self._outcomes, self._intake, self._endings = outcomes, intake, endings
        facts, rows = intake.facts, intake.wanted
        plain = Interned[tuple[object, ...]]()
        codes = [plain.code(_without_numbers(one)) for one in endings.finals]
        key = Key.of(np.array(codes, dtype=np.int64)[endings.codes], len(plain.values))
        if endings.annotated is not None:  # what no guarantee covers is counted by judge
            key = key.then(facts.judge[rows], len(facts.judges))
        for name in WEIGHED:
            column, states = outcomes.signals[name], Interned[tuple[object, ...]]()
            places = [states.code((one.state, one.value is None, (one.value or 0) < 0)) for one in column.values]
            table = np.array([*places, len(states.values)], dtype=np.int64)
            key = key.then(table[column.codes[rows]], len(states.values) + 1)
        self._classes: NDArray[np.int64] = key.distinct()[0].astype(np.int64)
        scores = [-np.inf if one.final_score is None else one.final_score for one in endings.finals]
        self._scores = np.array(scores)[endings.codes]

    def of(self, part: slice) -> list[tuple[Assessment, int]]:
        """The best one of each class in a part of the judgments, and how many are like it, in input order."""
        order = np.argsort(-self._scores[part], kind="stable")
        _, first, counts = np.unique(self._classes[part][order], return_index=True, return_counts=True)
        best = order[first]
        by_place = sorted(zip(best.tolist(), counts.tolist(), strict=True))
        return [(self._assessment(part.start + at), count) for at, count in by_place]

    def _assessment(self, at: int) -> Assessment:
        facts, row = self._intake.facts, int(self._intake.wanted[at])
        found = self._endings.finals[self._endings.codes[at]]
        values = {name: column.at(row) for name, column in self._outcomes.signals.items()}
        signals = {name: value for name, value in values.items() if value is not None}
        own = {"judgment_id": facts.judgment_ids[row], "judge": facts.judges[facts.judge[row]]}
        alike: Assessment = found.model_copy(update={**own, "signals": None if found.signals is None else signals})
        return alike


def _without_numbers(one: Assessment) -> tuple[object, ...]:
    """What an ending says beside its score and its probability."""
    action = None if one.decision is None else one.decision.action
    covered = None if one.guarantee is None else one.guarantee.threshold
    said = (one.probability_marks, one.outside_guarantee, one.calibrated, covered, action)
    return (one.status, one.accepted, repr(one.failure), one.threshold, one.strategy, rule_of(one), *said)


class BlockRun:
    """Makes and keeps the assessments of an input, block by block.

    Args:
        store: None to keep nothing.
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
        wanted = self._intake.wanted
        for first in range(0, len(wanted), BLOCK):
            if stop is not None and stop.asked:
                return
            await take(await self._block(slice(first, first + BLOCK)))
            await asyncio.sleep(0)  # an interruption is heard between two blocks

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
        digests = self._intake.digest_column(rows)
        owns = self._owns(rows, part, digests, self._signals.written(rows))
        if self._keeping is not None:
            await self._keep(self._keeping, part, forms, digests, owns)
        lines = [form.line.fill(own) for form, own in zip(forms, owns, strict=True)]
        said = self._endings.annotated
        numbers = np.zeros(0) if said is None else said.probabilities[part]
        numbers = numbers[~np.isnan(numbers)]
        best = float(numbers.max()) if len(numbers) else None
        return Block(part.start, rows, lines, self._endings, codes, self._classes.of(part), best)

    def _owns(self, rows: Rows, part: slice, digests: Sequence[str], signals: Sequence[str]) -> list[tuple[bytes, ...]]:
        """What belongs to each judgment alone; see :class:`~metajudge.bulk.forms.Own`."""
        facts = self._intake.facts
        weighed = self._weighed[self._outcomes.codes[rows]].tolist()
        columns = (
            [to_json(facts.judgment_ids[row]) for row in rows.tolist()],
            [self._items[item] for item in facts.item[rows].tolist()],
            [self._judges[judge] for judge in facts.judge[rows].tolist()],
            [f'"{digest}"'.encode() for digest in digests],
            [f'"signals":{own if known else "null"}'.encode() for own, known in zip(signals, weighed, strict=True)],
        )
        own = zip(*columns, strict=True)
        if self._endings.annotated is None:
            return list(own)
        return [(*one, *numbers) for one, numbers in zip(own, self._endings.numbers(part), strict=True)]

    def _keys(self, rows: Rows) -> list[str]:
        """Under which the store keeps the assessments: as :meth:`Vetter.key`, with the signals where there are any."""
        intake, facts, vetter = self._intake, self._intake.facts, self._vetter
        panels = {code: vetter.panel_of(self._category(code)) for code in np.unique(facts.category[rows]).tolist()}
        keys = []
        places = zip(rows.tolist(), facts.category[rows].tolist(), intake.vetting_digest_column(rows), strict=True)
        for row, category, digest in places:
            panel = panels[category]
            kin: list[str] | None = [] if panel.families == "forbid" else None  # without agents there is no kinship
            keys.append(vetter.key_of(facts.judgment_ids[row], digest, panel, kin))
        weighed = self._weighed[self._outcomes.codes[rows]].tolist()
        full = stored_keys(keys, self._signals.keyed(rows))
        return [whole if signals else key for key, whole, signals in zip(keys, full, weighed, strict=True)]

    async def _keep(
        self,
        keeping: Keeping,
        part: slice,
        forms: Sequence[Forms],
        digests: Sequence[str],
        owns: Sequence[Sequence[bytes]],
    ) -> None:
        facts, rows, codes = self._intake.facts, self._intake.wanted[part], self._endings.codes[part].tolist()
        columns = {code: _columns_of(self._endings.owns[code]) for code in set(codes)}
        own = list(zip(*(columns[code] for code in codes), strict=True))
        block = AssessmentBlock(
            run_id=self._run_id,
            keys=self._keys(rows),
            judgment_digests=digests,
            judgment_ids=[facts.judgment_ids[row] for row in rows.tolist()],
            item_ids=[facts.items[code].id for code in facts.item[rows].tolist()],
            judges=[facts.judges[code] for code in facts.judge[rows].tolist()],
            statuses=own[0],
            final_scores=own[1],
            accepted=own[2],
            strategies=own[3],
            panel_digests=own[4],
            payloads=[form.payload.fill(one) for form, one in zip(forms, owns, strict=True)],
            annotations=self._endings.annotations(part, owns),
        )
        items = [facts.items[code].digest for code in np.unique(facts.item[rows]).tolist()]
        texts = partial(text_rows, self._intake, rows)
        await keeping.keep(block, items, texts)


def _columns_of(own: Assessment) -> tuple[str, float | None, bool | None, str, str]:
    """What a store's columns have of an ending."""
    return own.status.value, own.final_score, own.accepted, own.strategy, own.panel_digest
