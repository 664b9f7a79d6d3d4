"""How well a consensus, and each evaluator alone, agree with a human ranking."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metajudge.peers.consensus import Agreements
from metajudge.peers.figures import (
    DEFINED,
    MEASURES,
    REASONS,
    Correlations,
    Distribution,
    Figure,
    Measure,
    Resamples,
    correlate,
    distribution,
)
from metajudge.peers.human import HumanRanking
from metajudge.stats.arrays import Bools, Floats
from metajudge.types.frozen import Finite

Kind = Literal["consensus", "self_free", "rule", "top_k", "single"]


class Alignment(Finite):
    """One ranking's agreement with a human ranking, for one measure of correlation.

    Attributes:
        name: ``kemeny``, ``kemeny, self-free``, ``kemeny, top 3``, or an evaluator's name for ``single``.
        micro: the correlations of each question's ranking with the human one, over questions.
        macro: the correlation of the places averaged over questions with the human places, with a bootstrap interval.
        pooled: the correlation of the rule's ranking of all ballots at once; absent for a single evaluator.
    """

    name: str
    kind: Kind
    measure: Measure
    micro: Distribution
    macro: Figure
    pooled: Figure

    @property
    def shown_name(self) -> str:
        """The name; of an evaluator, that it is alone."""
        return f"{self.name} alone" if self.kind == "single" else self.name


class Difference(Finite):
    """The consensus compared with one evaluator alone, on the questions where both correlations are defined.

    Attributes:
        median: median of the consensus less median of the evaluator, with a bootstrap interval over questions.
        better, equal, worse: questions on which the consensus agrees more, as much, or less with the human ranking.
    """

    evaluator: str
    measure: Measure
    median: Figure
    better: int
    equal: int
    worse: int


class BestSingle(Finite):
    """The consensus compared with the evaluator that agrees best; chosen on the same questions, which flatters it.

    Attributes:
        evaluators: who has the highest median; several where they are level.
        median: theirs.
        difference: median of the consensus less theirs; in every resample the best one is chosen anew.
    """

    measure: Measure
    evaluators: tuple[str, ...]
    median: Figure
    difference: Figure


class TopKChange(Finite):
    """What cutting the ballots does to the median correlation of the consensus.

    Attributes:
        relative: (median of cut ballots less median of whole ones) / median of whole ones, on the questions where both
            are defined, with a bootstrap interval; absent where the median of whole ones is not above 0.
    """

    k: int
    measure: Measure
    relative: Figure


class ReferenceAlignment(Finite):
    """Everything about one human ranking.

    Attributes:
        models: those compared: in the run and in the human ranking. Others are taken off the ballots first.
        missing: in the run, not in the human ranking.
        unknown: in the human ranking, not in the run.
        ties: groups of models the human ranking ties, among those compared.
    """

    reference: str
    models: tuple[str, ...]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    ties: tuple[tuple[str, ...], ...]
    rows: tuple[Alignment, ...] = ()
    differences: tuple[Difference, ...] = ()
    best_single: tuple[BestSingle, ...] = ()
    top_k_changes: tuple[TopKChange, ...] = ()
    absent: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to compare.

    Attributes:
        rule: gives the consensus; ``others`` are compared with it, and ``pooled`` on all ballots at once alone.
        top_k: lengths to cut the ballots to.
        include_self: whether the consensus counts a model's own ballots, leaves them out, or both in turn.
    """

    rule: str
    others: tuple[str, ...] = ()
    pooled: tuple[str, ...] = ()
    top_k: tuple[int, ...] = ()
    include_self: Literal["both", "yes", "no"] = "both"


@dataclass(frozen=True, slots=True)
class _Candidate:
    name: str
    kind: Kind
    places: Floats
    there: Bools
    pooled: dict[str, float] | str
    """The pooled ranking's places, or the reason they are missing."""
    only_pooled: str | None = None
    """Why rankings by question are missing."""


def align(agreements: Agreements, human: HumanRanking, plan: Plan, resamples: Resamples) -> ReferenceAlignment:
    """Compares consensus, rules, cut ballots and single evaluators with a human ranking."""
    table = agreements.table
    common = tuple(name for name in table.models if name in human.models)
    missing = tuple(name for name in table.models if name not in human.models)
    unknown = tuple(name for name in human.models if name not in table.models)
    ties = tuple(
        group for group in (tuple(name for name in one if name in common) for one in human.ranking) if len(group) > 1
    )
    found = ReferenceAlignment(reference=human.name, models=common, missing=missing, unknown=unknown, ties=ties)
    if len(common) < 2:
        reason = f"the human ranking {human.name!r} shares {len(common)} models with the ballots; two are needed"
        return found.model_copy(update={"absent": reason})
    if missing:
        table = table.of_models(common)
        agreements = Agreements(table)
    reference, _ = human.places(table.models)
    alone_only = "a single evaluator's ballots are not pooled"
    single = (
        _Candidate(name, "single", table.places[:, e], table.ranked[:, e], alone_only)
        for e, name in enumerate(table.evaluators)
    )
    candidates = [*aggregates(agreements, plan), *single]
    rows: list[Alignment] = []
    micro: dict[tuple[str, str, Measure], Correlations] = {}
    for one in candidates:
        for measure in MEASURES:
            correlations = correlate(one.places, one.there, reference, measure)
            micro[one.name, one.kind, measure] = correlations
            rows.append(_row(one, measure, correlations, reference, table.models, resamples))
    free, whole = (f"{plan.rule}, self-free", "self_free"), (plan.rule, "consensus")
    name, main = free if plan.include_self == "no" else whole
    mine = {measure: micro[name, main, measure] for measure in MEASURES}
    alone = {measure: {e: micro[e, "single", measure] for e in table.evaluators} for measure in MEASURES}
    return found.model_copy(
        update={
            "rows": tuple(rows),
            "differences": tuple(
                _difference(mine[m], one, name, m, resamples) for m in MEASURES for name, one in alone[m].items()
            ),
            "best_single": tuple(_best_single(mine[m], alone[m], m, resamples) for m in MEASURES),
            "top_k_changes": tuple(
                _top_k_change(
                    micro[f"{plan.rule}, top {k}", "top_k", m],
                    micro[plan.rule, "consensus" if plan.include_self != "no" else "rule", m],
                    k,
                    m,
                    resamples,
                )
                for m in MEASURES
                for k in plan.top_k
            ),
        }
    )


def aggregates(agreements: Agreements, plan: Plan) -> list[_Candidate]:
    """The consensus as planned, the other rules and the cut ballots."""
    found: list[_Candidate] = []
    if plan.include_self != "no":
        found.append(_aggregate(plan.rule, "consensus", agreements, plan.rule))
    if plan.include_self != "yes":
        free = agreements.self_free(plan.rule)
        why = "each model's place comes from other ballots, so there is no one ranking of all of them"
        found.append(_Candidate(f"{plan.rule}, self-free", "self_free", free.places, free.there, why))
    others = [rule for rule in plan.others if rule != plan.rule]
    if plan.include_self == "no" and plan.top_k:
        others.insert(0, plan.rule)  # what cut ballots are compared with
    found += [_aggregate(rule, "rule", agreements, rule) for rule in others]
    blank = np.zeros((len(agreements.table.questions), len(agreements.table.models)))
    few = "strengths are fitted to all ballots at once: one question has too few"
    found += [_Candidate(rule, "rule", blank, blank > 0, agreements.pooled(rule), few) for rule in plan.pooled]
    for k in plan.top_k:
        cut = Agreements(agreements.table.top(k))
        found.append(_aggregate(f"{plan.rule}, top {k}", "top_k", cut, plan.rule))
    return found


def _aggregate(name: str, kind: Kind, agreements: Agreements, rule: str) -> _Candidate:
    found = agreements.by_question(rule)
    return _Candidate(name, kind, found.places, found.there, agreements.pooled(rule))


def _row(
    one: _Candidate,
    measure: Measure,
    micro: Correlations,
    reference: Floats,
    models: Sequence[str],
    resamples: Resamples,
) -> Alignment:
    why = micro.why() if one.only_pooled is None else {one.only_pooled: len(micro.states)}
    macro = _macro(one.places, one.there, reference, measure, resamples)
    if isinstance(one.pooled, str):
        pooled = Figure(absent=one.pooled)
    else:
        there = np.array([[name in one.pooled for name in models]])
        whole = correlate(np.array([[one.pooled.get(name, 0.0) for name in models]]), there, reference, measure)
        why_not = REASONS.get(int(whole.states[0]))
        value = float(whole.values[0])
        pooled = Figure(absent=why_not) if why_not else Figure(value=value, n=int(there.sum()))
    return Alignment(
        name=one.name,
        kind=one.kind,
        measure=measure,
        micro=distribution(micro.values, micro.defined, why, resamples),
        macro=macro if one.only_pooled is None else Figure(absent=one.only_pooled),
        pooled=pooled,
    )


def _macro(places: Floats, there: Bools, reference: Floats, measure: Measure, resamples: Resamples) -> Figure:
    """The correlation of places averaged over the questions in which a model is placed."""
    count = there.sum(axis=0)
    mean = np.where(count > 0, (places * there).sum(axis=0) / np.maximum(count, 1), 0.0)
    whole = correlate(mean[None], (count > 0)[None], reference, measure)
    questions = int(there.any(axis=1).sum())
    if whole.states[0] != DEFINED:
        return Figure(n=questions, absent=REASONS[int(whole.states[0])])
    means, defined = resamples.means(places, there)
    drawn = correlate(means, defined, reference, measure)
    low, high = resamples.interval(drawn.values, drawn.defined)
    return Figure(value=float(whole.values[0]), low=low, high=high, n=questions)


def _difference(
    mine: Correlations, other: Correlations, name: str, measure: Measure, resamples: Resamples
) -> Difference:
    both = mine.defined & other.defined
    n = int(both.sum())
    if not n:
        reasons = "; ".join(dict.fromkeys(reason for one in (mine, other) for reason in one.why()))
        why = Figure(absent=f"no question where both are defined: {reasons or 'no question in common'}")
        return Difference(evaluator=name, measure=measure, median=why, better=0, equal=0, worse=0)
    value = float(np.median(mine.values[both]) - np.median(other.values[both]))
    (first, there), (second, _) = (resamples.medians(one.values, both) for one in (mine, other))
    low, high = resamples.interval(first - second, there)
    apart = np.round(mine.values[both] - other.values[both], 9)
    return Difference(
        evaluator=name,
        measure=measure,
        median=Figure(value=value, low=low, high=high, n=n),
        better=int((apart > 0).sum()),
        equal=int((apart == 0).sum()),
        worse=int((apart < 0).sum()),
    )


def _top_k_change(cut: Correlations, whole: Correlations, k: int, measure: Measure, resamples: Resamples) -> TopKChange:
    both = cut.defined & whole.defined
    n = int(both.sum())
    base = float(np.median(whole.values[both])) if n else 0.0
    if base <= 0:
        why = "the median of whole ballots is not above 0" if n else "no question on which both are defined"
        return TopKChange(k=k, measure=measure, relative=Figure(n=n, absent=why))
    (first, there), (second, _) = (resamples.medians(one.values, both) for one in (cut, whole))
    usable = there & (second > 0)
    low, high = resamples.interval(first / np.where(usable, second, 1.0) - 1.0, usable)
    value = float(np.median(cut.values[both])) / base - 1.0
    return TopKChange(k=k, measure=measure, relative=Figure(value=value, low=low, high=high, n=n))


def _best_single(
    mine: Correlations, alone: dict[str, Correlations], measure: Measure, resamples: Resamples
) -> BestSingle:
    """On each its own questions: medians over those where its correlation is defined."""
    medians = {name: float(np.median(one.values[one.defined])) for name, one in alone.items() if one.defined.any()}
    if not medians or not mine.defined.any():
        why = Figure(absent="no evaluator, or not the consensus, has a question with a defined correlation")
        return BestSingle(measure=measure, evaluators=(), median=why, difference=why)
    top = max(medians.values())
    best = tuple(name for name, value in medians.items() if value > top - 1e-9)
    first, there = resamples.medians(mine.values, mine.defined)
    drawn = [resamples.medians(alone[name].values, alone[name].defined) for name in medians]
    rivals = np.max([np.where(ok, values, -np.inf) for values, ok in drawn], axis=0)
    usable = there & np.isfinite(rivals)
    low, high = resamples.interval((first - np.where(usable, rivals, 0.0)), usable)
    n = int(mine.defined.sum())
    value = float(np.median(mine.values[mine.defined])) - top
    return BestSingle(
        measure=measure,
        evaluators=best,
        median=Figure(value=top, n=int(alone[best[0]].defined.sum())),
        difference=Figure(value=value, low=low, high=high, n=n),
    )
