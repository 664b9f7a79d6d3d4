"""Models and evaluators: each model's place, what its own vote changes, and what the evaluators are worth.

=====  ==========================================================================================================
SIE    self-inclusive: a model's place in the consensus of all ballots of a question, averaged over questions
SFE    self-free: its place in the consensus of all ballots but its own, averaged over questions
SE     the place it gives itself, averaged over the questions it ranked
PE     the place the others give it, averaged over their ballots of a question, then over questions
=====  ==========================================================================================================

SIE - SFE is what its own vote moves in the result, SE - PE how differently it sees itself; both are negative where a
model puts itself higher. Places count from 1 (best).
"""

from collections import Counter
from itertools import combinations
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from metajudge.errors import MetajudgeError
from metajudge.peers.consensus import OverallConsensus, QuestionConsensus, groups_of
from metajudge.peers.figures import Figure, Resamples, correlate, mean_figure
from metajudge.peers.human import HumanRanking
from metajudge.peers.table import PeerTable
from metajudge.stats.arrays import Bools, Floats
from metajudge.types.frozen import Finite

if TYPE_CHECKING:
    from metajudge.voting import VoterIndependence

NO_SELF = "it ranks no answers itself"
NO_OTHER = "no other evaluator ranked the same questions"
UNPLACED = "it has a place in no question that is counted"


class ModelStanding(Finite):
    """One model's places; every mean with a bootstrap interval over questions.

    Attributes:
        questions: how many have a place for it.
        overall: its place in the consensus of all ballots of all questions; ``best`` and ``worst`` over all equally
            good orders.
        sie_less_sfe, se_less_pe: over the questions in which both are there.
    """

    model: str
    questions: int
    overall: Figure
    best: int | None = None
    worst: int | None = None
    sie: Figure
    sfe: Figure
    sie_less_sfe: Figure
    se: Figure
    pe: Figure
    se_less_pe: Figure


def self_free_place(one: ModelStanding) -> Figure:
    """SFE, or SIE for a model that has no ballots of its own that could count."""
    return one.sie if one.sfe.absent == NO_SELF else one.sfe


def standings(
    table: PeerTable,
    inclusive: QuestionConsensus,
    free: QuestionConsensus,
    overall: OverallConsensus | str,
    resamples: Resamples,
) -> tuple[ModelStanding, ...]:
    """Every model's places, in the order of SIE, models of equal SIE by name.

    Args:
        overall: the overall consensus, or the reason it is missing.
    """
    found = []
    for k, model in enumerate(table.models):
        seat = table.own[k]
        own, peers = _own_and_peers(table, k, seat)
        everybody, others = ((one.places[:, k], one.there[:, k]) for one in (inclusive, free))
        no_self = None if seat is not None and own[1].any() else Figure(absent=NO_SELF)
        place, span = Figure(absent=overall if isinstance(overall, str) else UNPLACED), None
        if not isinstance(overall, str) and model in overall.places:
            place, span = Figure(value=overall.places[model], n=overall.ballots), overall.span.get(model)
        found.append(
            ModelStanding(
                model=model,
                questions=int(inclusive.there[:, k].sum()),
                overall=place,
                best=span[0] if span else None,
                worst=span[1] if span else None,
                sie=mean_figure(*everybody, resamples, UNPLACED),
                sfe=no_self or mean_figure(*others, resamples, UNPLACED),
                sie_less_sfe=no_self or _less(*everybody, *others, resamples),
                se=mean_figure(*own, resamples, NO_SELF),
                pe=mean_figure(*peers, resamples, "no other model ranked it"),
                se_less_pe=no_self or _less(*own, *peers, resamples),
            )
        )
    return tuple(sorted(found, key=lambda one: (one.sie.value is None, round(one.sie.value or 0.0, 9), one.model)))


def _own_and_peers(table: PeerTable, k: int, seat: int | None) -> tuple[tuple[Floats, Bools], tuple[Floats, Bools]]:
    """[Q] the place a model gives itself, and the mean place the others give it, each with whether it is there."""
    places, ranked = table.places[:, :, k], table.ranked[:, :, k]
    others = np.ones(len(table.evaluators), dtype=bool)
    own, own_there = np.zeros(len(places)), np.zeros(len(places), dtype=bool)
    if seat is not None:
        others[seat] = False
        own, own_there = places[:, seat], ranked[:, seat]
    count = ranked[:, others].sum(axis=1)
    mean = (places[:, others] * ranked[:, others]).sum(axis=1) / np.maximum(count, 1)
    return (own, own_there), (mean, count > 0)


def _less(one: Floats, one_there: Bools, other: Floats, other_there: Bools, resamples: Resamples) -> Figure:
    both = one_there & other_there
    return mean_figure(np.where(both, one - other, 0.0), both, resamples, "no question has both places")


class EvaluatorStanding(Finite):
    """One evaluator.

    Attributes:
        ballots: rankings it gave in the questions counted; ``lost`` counts its failures in all questions, by kind.
        ranks_itself: whether its own answers are among those it ranks.
        agreement: mean over questions of its mean tau-b with the other evaluators' ballots.
        order_effect: mean over questions of tau-b between the place an answer got and where it stood in the prompt;
            0 is expected of an evaluator that the order leaves cold, above 0 of one that prefers what it reads first.
        order_p: two-sided p value of that, for orders that were drawn at random.
    """

    evaluator: str
    ballots: int
    lost: dict[str, int]
    ranks_itself: bool
    agreement: Figure
    order_effect: Figure
    order_p: Figure


class EvaluatorPair(Finite):
    """Two evaluators.

    Attributes:
        agreement: mean over questions of tau-b between their ballots.
        error_correlation: correlation of their errors on pairs of answers, as far as their agreements with third
            evaluators do not explain it; above 0 for evaluators who share mistakes. ``n`` counts pairs of answers.
        error_correlation_to_people: the same with the human ranking as the truth of every question; what makes one
            question differ from another then counts as an error that all share.
    """

    first: str
    second: str
    agreement: Figure
    error_correlation: Figure
    error_correlation_to_people: Figure


class Independence(Finite):
    """How many independent evaluators these are worth, see :func:`metajudge.voting.voter_independence`.

    Attributes:
        skills: evaluator -> estimated correlation of its preferences with the truth, from agreement alone.
        cliques: evaluators who share more errors than chance explains, or nearly copy each other.
        caution: why to distrust the figures.
    """

    effective: Figure
    mean_error_correlation: Figure
    skills: dict[str, float] = Field(default_factory=dict)
    cliques: tuple[tuple[str, ...], ...] = ()
    caution: str | None = None


def evaluator_standings(table: PeerTable, resamples: Resamples) -> tuple[EvaluatorStanding, ...]:
    """Every evaluator, in the order of the table."""
    taus = pair_taus(table)
    lost: dict[str, Counter[str]] = {name: Counter() for name in table.evaluators}
    for one in table.lost:
        if one.evaluator in lost:
            lost[one.evaluator][str(one.kind)] += 1
    found = []
    for e, name in enumerate(table.evaluators):
        total, count = np.zeros(len(table.questions)), np.zeros(len(table.questions))
        for tau, defined in (taus[pair] for pair in taus if e in pair):
            total += np.where(defined, tau, 0.0)
            count += defined
        effect, p_value = _order_effect(table, e, resamples)
        found.append(
            EvaluatorStanding(
                evaluator=name,
                ballots=int(table.cast[:, e].sum()),
                lost=dict(sorted(lost[name].items())),
                ranks_itself=name in table.models,
                agreement=mean_figure(total / np.maximum(count, 1), count > 0, resamples, NO_OTHER),
                order_effect=effect,
                order_p=p_value,
            )
        )
    return tuple(found)


def pair_taus(table: PeerTable) -> dict[tuple[int, int], tuple[Floats, Bools]]:
    """Evaluators' seats, two by two -> [Q] tau-b of their ballots and whether it is defined."""
    found = {}
    for one, other in combinations(range(len(table.evaluators)), 2):
        places, ranked = table.places[:, one], table.ranked[:, one]
        tau = correlate(places, ranked, table.places[:, other], "kendall", table.ranked[:, other])
        found[one, other] = tau.values, tau.defined
    return found


def evaluator_pairs(
    table: PeerTable, human: HumanRanking | None, resamples: Resamples
) -> tuple[tuple[EvaluatorPair, ...], Independence]:
    """Every two evaluators, and how independent all of them are."""
    alone = _independence(table, None)
    to_people = "there is no human ranking" if human is None else _independence(table, human)
    pairs = tuple(
        EvaluatorPair(
            first=table.evaluators[one],
            second=table.evaluators[other],
            agreement=mean_figure(values, there, resamples, "no question both of them ranked with a defined tau-b"),
            error_correlation=_excess(alone, table.evaluators[one], table.evaluators[other]),
            error_correlation_to_people=_excess(to_people, table.evaluators[one], table.evaluators[other]),
        )
        for (one, other), (values, there) in pair_taus(table).items()
    )
    if isinstance(alone, str):
        return pairs, Independence(effective=Figure(absent=alone), mean_error_correlation=Figure(absent=alone))
    voters = len(alone.voters)
    return pairs, Independence(
        effective=Figure(value=alone.effective, n=voters),
        mean_error_correlation=Figure(value=alone.mean_error_correlation, n=len(alone.pairs)),
        skills=dict(alone.skills),
        cliques=alone.cliques,
        caution=alone.caution,
    )


def _independence(table: PeerTable, human: HumanRanking | None) -> "VoterIndependence | str":
    """What :mod:`metajudge.voting` finds about the evaluators who delivered ballots, or why it finds nothing."""
    from metajudge.voting import voter_independence

    if human is not None:
        table = table.of_models(human.models)
    there = table.ranked.sum(axis=2) > 1  # a ballot of one candidate compares nothing
    ballots = {
        name: {
            question: groups_of(table.places[q, e], table.ranked[q, e], table.models)
            for q, question in enumerate(table.questions)
            if there[q, e]
        }
        for e, name in enumerate(table.evaluators)
        if there[:, e].any()
    }
    truth = None
    if human is not None:
        places, known = human.places(table.models)
        truth = {q: groups_of(places, known, table.models) for q in {q for given in ballots.values() for q in given}}
    try:
        return voter_independence(ballots, truth=truth)
    except MetajudgeError as error:
        return str(error)


def _excess(found: "VoterIndependence | str", first: str, second: str) -> Figure:
    if isinstance(found, str):
        return Figure(absent=found)
    pair = next((one for one in found.pairs if {one.first, one.second} == {first, second}), None)
    if pair is None or not pair.pairs:
        return Figure(absent="the two compared no pair of answers in common")
    return Figure(value=pair.excess, n=pair.pairs)


def _order_effect(table: PeerTable, e: int, resamples: Resamples) -> tuple[Figure, Figure]:
    """Mean tau-b of place and position shown, and its p value from the exact variance under random orders."""
    shown, ranked = table.shown[:, e], table.ranked[:, e]
    known = ranked & (shown > 0)
    tau = correlate(table.places[:, e], known, shown.astype(np.float64), "kendall")
    absent = "the order shown is not recorded" if not known.any() else "no ballot with a defined tau-b"
    effect = mean_figure(tau.values, tau.defined, resamples, absent)
    if effect.value is None:
        return effect, Figure(absent=absent)
    rows = np.flatnonzero(tau.defined)
    variance = sum(_null_variance(table.places[q, e][known[q]]) for q in rows) / len(rows) ** 2
    z = abs(effect.value) / np.sqrt(variance)
    return effect, Figure(value=float(2 * NormalDist().cdf(-z)), n=len(rows))


def _null_variance(places: Floats) -> float:
    """Variance of tau-b between places, ties included, and an order drawn at random (Kendall, 1945)."""
    n = len(places)
    groups = np.unique(places, return_counts=True)[1]

    def weight(t: Floats | int) -> Floats | int:
        return t * (t - 1) * (2 * t + 5)

    pairs = n * (n - 1) / 2
    untied = pairs - float((groups * (groups - 1)).sum()) / 2
    variance = (float(weight(n)) - float(np.sum(weight(groups.astype(np.float64))))) / 18
    return variance / (pairs * untied)
