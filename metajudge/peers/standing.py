"""Each model's place, and how much its own vote changes it: SIE and SFE, SE and PE.

=====  ==========================================================================================================
SIE    self-inclusive: a model's place in the consensus of all ballots of a question, averaged over questions
SFE    self-free: its place in the consensus of all ballots but its own, averaged over questions
SE     the place it gives itself, averaged over the questions it ranked
PE     the place the others give it, averaged over their ballots of a question, then over questions
=====  ==========================================================================================================

SIE - SFE is what its own vote moves in the result, SE - PE how differently it sees itself; both are negative where a
model puts itself higher. Places count from 1 (best).
"""

import numpy as np

from metajudge.peers.consensus import OverallConsensus, QuestionConsensus
from metajudge.peers.figures import Figure, Resamples, mean_figure
from metajudge.peers.table import PeerTable
from metajudge.stats.arrays import Bools, Floats
from metajudge.types.frozen import Finite

NO_SELF = "it ranks no answers itself"
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
        span = () if isinstance(overall, str) else overall.span.get(model, ())
        found.append(
            ModelStanding(
                model=model,
                questions=int(inclusive.there[:, k].sum()),
                overall=_overall(overall, model),
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


def _overall(overall: OverallConsensus | str, model: str) -> Figure:
    if isinstance(overall, str):
        return Figure(absent=overall)
    if model not in overall.places:
        return Figure(absent=UNPLACED)
    return Figure(value=overall.places[model], n=overall.ballots)
