"""How many evaluators and questions it takes: the same figures on seeded subsamples."""

from collections.abc import Sequence

import numpy as np

from metajudge.peers.consensus import QuestionConsensus, question_consensus
from metajudge.peers.correlation import correlate
from metajudge.peers.figures import Figure
from metajudge.peers.human import HumanRanking
from metajudge.peers.table import (
    PeerTable,
)
from metajudge.stats.arrays import Floats, Indices
from metajudge.types.frozen import Finite

EVALUATORS = (3, 6, 9)
QUESTIONS = (20, 100, 500)
REPEATS = 20


class SweepAlignment(Finite):
    """Pearson correlations with one human ranking: the median over repeats, with their 5 % and 95 % points."""

    reference: str
    micro_median: Figure
    macro: Figure


class SweepCell(Finite):
    """Subsamples of one size.

    Attributes:
        repeats: subsamples drawn without replacement (1 where the size is the whole).
        stability: tau-b between the subsample's mean places and those of all evaluators and questions.
        ambiguous: share of questions with several equally good orders; absent where the rule does not count them.
        absent: why there is no such subsample.
    """

    evaluators: int
    questions: int
    repeats: int = 0
    stability: Figure | None = None
    ambiguous: Figure | None = None
    alignments: tuple[SweepAlignment, ...] = ()
    absent: str | None = None


def sweep(
    table: PeerTable,
    consensus: QuestionConsensus,
    humans: Sequence[HumanRanking],
    rule: str,
    rng: np.random.Generator,
    *,
    evaluators: Sequence[int] = EVALUATORS,
    questions: Sequence[int] = QUESTIONS,
    repeats: int = REPEATS,
) -> tuple[SweepCell, ...]:
    """Every combination of the given numbers of evaluators and of questions, and of all there are.

    Subsamples overlap, so their spread shows how much the choice matters; it is no confidence interval for new data.

    Args:
        consensus: of the whole table, by the same rule.
    """
    there = len(table.evaluators), len(table.questions)
    cells = []
    for count in sorted({*evaluators, there[0]}):
        for size in sorted({*questions, there[1]}):
            if count > there[0] or size > there[1]:
                reason = f"there are {there[0]} evaluators and {there[1]} questions"
                cells.append(SweepCell(evaluators=count, questions=size, absent=reason))
            else:
                times = 1 if (count, size) == there else repeats
                cells.append(_cell(table, consensus, humans, rule, rng, count, size, times))
    return tuple(cells)


def _cell(
    table: PeerTable,
    consensus: QuestionConsensus,
    humans: Sequence[HumanRanking],
    rule: str,
    rng: np.random.Generator,
    evaluators: int,
    questions: int,
    repeats: int,
) -> SweepCell:
    whole = _mean_places(consensus)
    stability: list[float] = []
    ambiguous: list[float] = []
    micro: list[list[float]] = [[] for _ in humans]
    macro: list[list[float]] = [[] for _ in humans]
    for _ in range(repeats):
        seats = np.sort(rng.permutation(len(table.evaluators))[:evaluators])
        chosen = np.sort(rng.permutation(len(table.questions))[:questions])
        part = table.of_questions(chosen).of_evaluators(seats)
        everybody = evaluators == len(table.evaluators)
        found = _rows(consensus, chosen) if everybody else question_consensus(part, rule)
        stability += _correlation(_mean_places(found), whole)
        counted = found.optima[found.optima > 0]
        ambiguous += [float((counted > 1).mean())] if len(counted) else []
        for number, human in enumerate(humans):
            own = found if set(table.models) <= set(human.models) else question_consensus(_known(part, human), rule)
            models = table.models if own is found else _known(part, human).models
            micro[number] += _micro(own, human, models)
            macro[number] += _macro(own, human, models)
    no_optima = "the rule does not count equally good orders"
    return SweepCell(
        evaluators=evaluators,
        questions=questions,
        repeats=repeats,
        stability=_spread(stability, "no subsample with a defined correlation"),
        ambiguous=_spread(ambiguous, no_optima),
        alignments=tuple(
            SweepAlignment(
                reference=human.name,
                micro_median=_spread(micro[number], "no subsample with a defined correlation"),
                macro=_spread(macro[number], "no subsample with a defined correlation"),
            )
            for number, human in enumerate(humans)
        ),
    )


def _rows(found: QuestionConsensus, chosen: Indices) -> QuestionConsensus:
    return QuestionConsensus(found.places[chosen], found.there[chosen], found.optima[chosen])


def _known(table: PeerTable, human: HumanRanking) -> PeerTable:
    return table.of_models(human.models)


def _mean_places(found: QuestionConsensus) -> tuple[Floats, Floats]:
    """[K] mean places, and [K] over how many questions."""
    count = found.there.sum(axis=0).astype(np.float64)
    return (found.places * found.there).sum(axis=0) / np.maximum(count, 1), count


def _correlation(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> list[float]:
    found = correlate(one[0][None], (one[1] > 0)[None], other[0], other[1] > 0, "kendall")
    return [float(found.values[0])] if found.defined[0] else []


def _micro(found: QuestionConsensus, human: HumanRanking, models: tuple[str, ...]) -> list[float]:
    places, known = human.places(models)
    each = correlate(found.places, found.there, places, known, "pearson")
    return [float(np.median(each.values[each.defined]))] if each.defined.any() else []


def _macro(found: QuestionConsensus, human: HumanRanking, models: tuple[str, ...]) -> list[float]:
    places, known = human.places(models)
    mean, count = _mean_places(found)
    whole = correlate(mean[None], (count > 0)[None], places, known, "pearson")
    return [float(whole.values[0])] if whole.defined[0] else []


def _spread(values: list[float], absent: str) -> Figure:
    if not values:
        return Figure(absent=absent)
    low, middle, high = (float(q) for q in np.quantile(values, [0.05, 0.5, 0.95]))
    if len(values) == 1:
        return Figure(value=middle, n=1)
    return Figure(value=middle, low=low, high=high, n=len(values))
