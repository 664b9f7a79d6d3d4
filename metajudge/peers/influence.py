"""What one evaluator, or some together, do to the consensus: left out, and at their worst.

The order looked at is that of mean places over questions (SIE). The worst ballots are those of a manipulation that
anybody can write down: one candidate first, all others in the reverse of the consensus, in every question. Cleverer
ballots may do more, so what is found is a lower bound.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from metajudge.errors import ConfigurationError
from metajudge.peers.consensus import Groups, QuestionConsensus, groups_of, question_consensus
from metajudge.peers.table import PeerTable, places_of
from metajudge.stats.arrays import Bools, Floats
from metajudge.types.frozen import Finite

MOST_WORK = 30_000
"""Questions solved at most for the worst ballots: evaluators times candidates times questions."""


class QuestionResult(Finite):
    """The consensus of one question.

    Attributes:
        ranking: groups of tied candidates, best first, by the mean of their places over all equally good orders; empty
            where there is none.
        optima: how many orders are equally good under the rule; 0 where that is not known.
    """

    question_id: str
    domain: str | None = None
    ballots: int
    ranking: Groups
    optima: int


class Moved(Finite):
    """A candidate whose place changes; ``before`` and ``after`` are mean places over questions."""

    model: str
    before: float
    after: float


class LeaveOut(Finite):
    """The consensus without some evaluators.

    Attributes:
        without: who is left out.
        order: groups of candidates by mean place; empty with ``absent`` saying why.
        winner_changes: whether another candidate is first, or shares the first place.
        questions_changed: questions with another first place, of ``questions`` with a consensus both times.
        moved: candidates whose place in the order changes.
    """

    without: tuple[str, ...]
    order: Groups = ()
    winner_changes: bool = False
    questions: int = 0
    questions_changed: int = 0
    moved: tuple[Moved, ...] = ()
    absent: str | None = None


class WorstBallots(Finite):
    """The most that an evaluator, or some together, could do for one candidate with other ballots.

    Attributes:
        who: who casts the ballots.
        favours: the candidate whose mean place rises most.
        before, after: its mean place.
        place_before, place_after: its place in the order; ties share the best.
        can_win: candidates that these ballots put first, alone or shared, and that were not.
    """

    who: tuple[str, ...]
    favours: str
    before: float
    after: float
    place_before: int
    place_after: int
    can_win: tuple[str, ...]


class Influence(Finite):
    """What single evaluators do to the result, and what the given ones do together.

    Attributes:
        order: groups of candidates by mean place, with everybody.
        left_out: without each evaluator, then without the given ones together.
        worst: the worst ballots of each evaluator, then of the given ones together; empty with ``worst_absent``.
    """

    order: Groups
    left_out: tuple[LeaveOut, ...]
    worst: tuple[WorstBallots, ...]
    worst_absent: str | None = None


def by_question(table: PeerTable, consensus: QuestionConsensus) -> tuple[QuestionResult, ...]:
    """The consensus of each question, by its id."""
    return tuple(
        QuestionResult(
            question_id=name,
            domain=table.domains[q],
            ballots=int(table.cast[q].sum()),
            ranking=groups_of(consensus.places[q], consensus.there[q], table.models),
            optima=int(min(consensus.optima[q], 1 << 53)),
        )
        for q, name in enumerate(table.questions)
    )


def influence(table: PeerTable, consensus: QuestionConsensus, rule: str, together: Sequence[str] = ()) -> Influence:
    """Leaves evaluators out and lets them cast their worst ballots.

    Args:
        consensus: of all ballots.
        together: evaluators that are left out, and manipulate, together; empty for single ones alone.

    Raises:
        ConfigurationError: an evaluator that cast no ballot, or all of them.
    """
    unknown = [name for name in together if name not in table.evaluators]
    if unknown:
        raise ConfigurationError(
            f"no evaluator {', '.join(map(repr, unknown))} cast a ballot; there are {', '.join(table.evaluators)}"
        )
    if together and len(set(together)) == len(table.evaluators):
        raise ConfigurationError("without all evaluators nothing is left: name fewer")
    sets: list[tuple[str, ...]] = [(name,) for name in table.evaluators]
    if len(set(together)) > 1:
        sets.append(tuple(dict.fromkeys(together)))
    work = len(sets) * len(table.models) * len(table.questions)
    absent = None
    if work > MOST_WORK:
        absent = f"{work:,} questions would have to be solved, more than {MOST_WORK:,}: use fewer questions (--limit)"
    return Influence(
        order=order_of(consensus, table.models),
        left_out=tuple(_left_out(table, consensus, rule, one) for one in sets if len(one) < len(table.evaluators)),
        worst=() if absent else tuple(_worst(table, consensus, rule, one) for one in sets),
        worst_absent=absent,
    )


def order_of(consensus: QuestionConsensus, models: Sequence[str]) -> Groups:
    """Groups of candidates by mean place over the questions, best first."""
    mean, there = mean_places(consensus)
    return groups_of(np.round(mean, 9), there, models)


def mean_places(consensus: QuestionConsensus) -> tuple[Floats, Bools]:
    """[K] mean places over the questions that rank a candidate, and whether any does."""
    count = consensus.there.sum(axis=0)
    total = np.where(consensus.there, consensus.places, 0.0).sum(axis=0)
    return np.where(count > 0, total / np.maximum(count, 1), 0.0), np.asarray(count > 0)


def _left_out(table: PeerTable, whole: QuestionConsensus, rule: str, names: tuple[str, ...]) -> LeaveOut:
    kept = [seat for seat, name in enumerate(table.evaluators) if name not in names]
    found = question_consensus(table.of_evaluators(kept), rule)
    before, after = order_of(whole, table.models), order_of(found, table.models)
    if not after:
        return LeaveOut(without=names, absent="no question has a ballot left")
    first, other = _first(whole), _first(found)
    both = whole.there.any(axis=1) & found.there.any(axis=1)
    old, new = _place_of(before), _place_of(after)
    means, _ = mean_places(whole)
    changed, _ = mean_places(found)
    moved = [
        Moved(model=name, before=round(float(means[k]), 9), after=round(float(changed[k]), 9))
        for k, name in enumerate(table.models)
        if old.get(name) != new.get(name)
    ]
    return LeaveOut(
        without=names,
        order=after,
        winner_changes=set(before[0]) != set(after[0]),
        questions=int(both.sum()),
        questions_changed=int((both & (first != other).any(axis=1)).sum()),
        moved=tuple(sorted(moved, key=lambda one: one.before)),
    )


def _worst(table: PeerTable, whole: QuestionConsensus, rule: str, names: tuple[str, ...]) -> WorstBallots:
    seats = [seat for seat, name in enumerate(table.evaluators) if name in names]
    means, _ = mean_places(whole)
    before = order_of(whole, table.models)
    winners = set(before[0]) if before else set()
    results, can_win = list[tuple[float, dict[str, Any]]](), list[str]()
    for k, name in enumerate(table.models):
        wanted = -whole.places.copy()  # the candidate first, the others against the consensus
        wanted[:, k] = -np.inf
        given = table.places.copy()
        for seat in seats:
            shown = table.ranked[:, seat] & table.ranked[:, seat, k][:, None]
            given[:, seat] = np.where(shown, places_of(np.where(shown, wanted, 0.0), shown), given[:, seat])
        found = question_consensus(replace(table, places=given), rule)
        changed, _ = mean_places(found)
        after = order_of(found, table.models)
        if name not in winners and after and name in after[0]:
            can_win.append(name)
        places = {"place_before": _place_of(before).get(name, 0), "place_after": _place_of(after).get(name, 0)}
        means_of = {"before": round(float(means[k]), 9), "after": round(float(changed[k]), 9)}
        results.append((round(float(means[k] - changed[k]), 9), {"favours": name, **means_of, **places}))
    _, best = max(results, key=lambda found: found[0])
    return WorstBallots(who=names, **best, can_win=tuple(can_win))


def _first(consensus: QuestionConsensus) -> Bools:
    """[Q, K]: who is first, alone or shared."""
    places = np.where(consensus.there, np.round(consensus.places, 9), np.inf)
    return np.asarray(consensus.there & (places == places.min(axis=1, keepdims=True)))


def _place_of(order: Groups) -> dict[str, int]:
    """Candidate -> its place from 1; ties share the best."""
    found: dict[str, int] = {}
    place = 1
    for group in order:
        found |= dict.fromkeys(group, place)
        place += len(group)
    return found
