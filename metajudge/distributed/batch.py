"""One batch of a distributed run: its judgments, the free evidence among them, and what they come to."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from metajudge.bulk.outcomes import Outcomes, outcomes_by
from metajudge.distributed.folder import Found
from metajudge.errors import BatchPendingError, BudgetExceeded
from metajudge.evidence.dependence import Dependence
from metajudge.evidence.facts import Facts, FactsBuilder
from metajudge.evidence.rewards import RewardScore
from metajudge.evidence.rules import Rules
from metajudge.strategies import Vetter
from metajudge.types import Assessment, Item, Judgment
from metajudge.vetting.annotating import annotated_column
from metajudge.vetting.finishing import Completion
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.vetting.probability import Probabilities


@dataclass(frozen=True, slots=True)
class InputFacts:
    """What the input as a whole says, which no batch can tell alone.

    Attributes:
        rules: what counts as right where verdicts are compared by free evidence; None where no panel reads it.
        models: judge -> the model behind it.
        dependence: what is known of the independence of the judges.
        judges: those whose judgments are vetted; None for all.
        rewards: reward models' scores; None for none.
    """

    rules: Rules | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    judges: frozenset[str] | None = None
    rewards: Sequence[RewardScore] | None = None
    dependence: Dependence = field(default_factory=Dependence)


class Batch:
    """Rows of the work list, with facts about all of them.

    Args:
        rows: in the order of the input, all of each question that they are about where evidence is asked for.
        earlier: what panels found in earlier runs, by key.

    Attributes:
        pending: judgments whose answer is still in a provider's batch.
    """

    def __init__(
        self,
        rows: Sequence[dict[str, Any]],
        whole: InputFacts,
        vetter: Vetter,
        finishing: Completion,
        allow_other: bool,
        earlier: Mapping[str, Assessment],
    ) -> None:
        self.found: list[Found] = []
        self.left = self.pending = 0
        self.summary = VetSummary()
        finishing.describe(self.summary)
        self._rows, self._whole, self._vetter, self._finishing = rows, whole, vetter, finishing
        self._earlier = earlier
        builder = FactsBuilder()
        for row in rows:
            builder.add_row(orjson.loads(row["facts"]))
        self._facts = builder.facts()
        self._probabilities = self._calibrated(allow_other)

    def weigh(self) -> None:
        """Finds the results of all that free evidence decides."""
        free = [at for at, row in enumerate(self._rows) if row["index"] >= 0 and row["judgment"] is None]
        if not free:
            return
        chosen = np.array(free, dtype=np.intp)
        outcomes = self._outcomes()
        codes = list(zip(outcomes.codes[chosen].tolist(), self._facts.category[chosen].tolist(), strict=True))
        places = {code: place for place, code in enumerate(dict.fromkeys(codes))}
        kinds = [self._open_assessment(outcomes, *code) for code in places]
        at_kind = np.array([places[code] for code in codes], dtype=np.intp)
        own = [self._own(kinds[kind], outcomes, at) for kind, at in zip(at_kind.tolist(), free, strict=True)]
        annotated = own
        if self._finishing.active:
            column = annotated_column(
                kinds,
                at_kind,
                self._vetter.panel_of,
                probabilities=self._probabilities,
                rows=chosen,
                policy=self._finishing.policy,
                broken=self._finishing.withdrawn,
            )
            annotated = [column.at(number, one) for number, one in enumerate(own)]
        for at, panel, assessment in zip(free, own, annotated, strict=True):
            self._take(at, panel, assessment, reused=False)

    async def ask(self, at_once: int) -> None:
        """Vets by models what needs them, so many judgments at once."""
        queue = iter([at for at, row in enumerate(self._rows) if row["judgment"] is not None])

        async def work() -> None:
            for at in queue:
                try:
                    await self._ask_one(at)
                except BudgetExceeded:
                    self.left += 1
                except BatchPendingError:
                    self.pending += 1

        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(self._rows))):
                group.create_task(work())

    async def _ask_one(self, at: int) -> None:
        row = self._rows[at]
        judgment = Judgment.model_validate_json(row["judgment"])
        own = None if row["found"] is None else Assessment.model_validate_json(row["found"])
        if own is None and row["done"]:
            own = self._earlier.get(row["key"])
        reused = own is not None
        if own is None:
            own = await self._vetter.vet(judgment, retry=row["retry"])
        whole = await self._finishing.complete(
            row["key"], judgment, own, self._probabilities, self._vetter, new=not reused
        )
        self._take(at, own, whole, reused=reused)

    def _take(self, at: int, panel: Assessment, assessment: Assessment, *, reused: bool) -> None:
        row = self._rows[at]
        self.summary.add(assessment, reused)
        self.found.append(Found(row, assessment, None if panel is assessment else panel))

    def _calibrated(self, allow_other: bool) -> "Probabilities | None":
        calibration, judges, facts = self._finishing.calibration, self._whole.judges, self._facts
        if calibration is None:
            return None
        from metajudge.vetting.probability import Probabilities

        wanted = None
        if judges is not None:
            wanted = np.array([name in judges for name in facts.judges], dtype=bool)[facts.judge]
        return Probabilities.of_facts(
            calibration,
            facts,
            panels=(self._vetter.default, *self._vetter.routes.values()),
            wanted=wanted,
            rewards=self._whole.rewards,
            allow_other_identity=allow_other,
            judges_must_be_known=False,
            dependence=self._whole.dependence,
        )

    def _outcomes(self) -> Outcomes:
        whole = self._whole
        assert whole.rules is not None, "a panel that reads free evidence"
        recorded = replace(self._facts.recorded, models=whole.models, copies=whole.dependence.copies)
        return outcomes_by(self._facts, recorded, self._vetter.panel_of, whole.rules)

    def _open_assessment(self, outcomes: Outcomes, result: int, category: int) -> Assessment:
        """An assessment with this result, whose judgment's own values are left open."""
        name = None if category < 0 else self._facts.categories[category]
        item = Item(id="-", question="", responses={"-": ""}, category=name)
        judgment = Judgment(id="-", item=item, judge="-", verdict=None, no_verdict="-")
        return self._vetter.assessment(self._vetter.panel_of(name), judgment, outcomes.results[result])

    def _own(self, kind: Assessment, outcomes: Outcomes, at: int) -> Assessment:
        """The assessment of one judgment."""
        facts: Facts = self._facts
        update: dict[str, Any] = {
            "judgment_id": facts.judgment_ids[at],
            "item_id": facts.items[facts.item[at]].id,
            "judge": facts.judges[facts.judge[at]],
            "judgment_digest": self._rows[at]["digest"],
        }
        if kind.signals is not None:
            found = {name: column.at(at) for name, column in outcomes.signals.items()}
            update["signals"] = {name: signal for name, signal in found.items() if signal is not None}
        return kind.model_copy(update=update)
