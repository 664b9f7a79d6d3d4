"""Judgments that are alike in what explains a run: one assessment stands for all of them, with their number."""

import numpy as np
from numpy.typing import NDArray

from metajudge.bulk.endings import Endings
from metajudge.bulk.outcomes import WEIGHED, Outcomes
from metajudge.bulk.reading import Intake
from metajudge.evidence.grouping import Interned, Key
from metajudge.strategies.rule import rule_of
from metajudge.types import Assessment


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
