"""Ballots as arrays: questions by evaluators by candidates."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metajudge.errors import InputError
from metajudge.peers.record import Ballot
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types.frozen import Finite


class LeftOutQuestion(Finite):
    """A question that is not counted, and why."""

    question_id: str
    reason: str


class LostBallot(Finite):
    """A ballot that is missing because its evaluator failed."""

    question_id: str
    evaluator: str
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class PeerTable:
    """The places that evaluators gave to candidates.

    Attributes:
        models: the candidates [K], sorted by name; no result depends on this order.
        evaluators: [E], sorted by name; those with the name of a candidate rank their own answers, too.
        questions: [Q] ids, in order of appearance.
        domains: [Q], None where a question has none.
        places: [Q, E, K] from 1 (best) to the number of candidates on the ballot, tied ones sharing the mean of
            their places; 0 where ``ranked`` is False.
        ranked: [Q, E, K], whether the evaluator saw the candidate's answer; one that was shown but not ranked is
            below the ranked ones.
        shown: [Q, E, K] from 1: where in the prompt the answer stood; 0 where unknown.
        lost: ballots that failed; ``left_out``: questions not counted.
    """

    models: tuple[str, ...]
    evaluators: tuple[str, ...]
    questions: tuple[str, ...]
    domains: tuple[str | None, ...]
    places: Floats
    ranked: Bools
    shown: Indices
    lost: tuple[LostBallot, ...] = ()
    left_out: tuple[LeftOutQuestion, ...] = ()

    @property
    def cast(self) -> Bools:
        """[Q, E]: whether there is a ballot."""
        return np.asarray(self.ranked.any(axis=2))

    @property
    def own(self) -> tuple[int | None, ...]:
        """[K]: each candidate's place among the evaluators, None for one who does not evaluate."""
        seats = {name: seat for seat, name in enumerate(self.evaluators)}
        return tuple(seats.get(name) for name in self.models)

    def of_questions(self, chosen: Indices) -> "PeerTable":
        """The table of some questions."""
        kept: dict[str, Any] = {name: getattr(self, name)[chosen] for name in _ARRAYS}
        kept |= {name: tuple(getattr(self, name)[q] for q in chosen) for name in ("questions", "domains")}
        return replace(self, **kept)

    def of_evaluators(self, chosen: Sequence[int] | Indices) -> "PeerTable":
        """The table of some evaluators."""
        evaluators = tuple(self.evaluators[e] for e in chosen)
        return replace(self, evaluators=evaluators, **{name: getattr(self, name)[:, chosen] for name in _ARRAYS})

    def of_models(self, names: Iterable[str]) -> "PeerTable":
        """The table with all other candidates taken off the ballots; evaluators stay."""
        wanted = set(names)
        chosen = [k for k, name in enumerate(self.models) if name in wanted]
        ranked = self.ranked[:, :, chosen]
        return replace(
            self,
            models=tuple(self.models[k] for k in chosen),
            places=places_of(self.places[:, :, chosen], ranked),
            ranked=ranked,
            shown=self.shown[:, :, chosen],
        )

    def top(self, k: int) -> "PeerTable":
        """The table with every ballot cut after its k best; the others share the places below.

        A group of tied candidates that reaches across the cut is kept whole, so that no tie is settled by chance.
        """
        if k < 1:
            raise InputError(f"top-k must keep at least one place, not {k}")
        beaten_by = np.sum(
            (self.places[..., None, :] < self.places[..., :, None])
            & self.ranked[..., None, :]
            & self.ranked[..., :, None],
            axis=-1,
        )
        below = self.places.shape[2] + 1.0
        return replace(self, places=places_of(np.where(beaten_by < k, self.places, below), self.ranked))


_ARRAYS = ("places", "ranked", "shown")


def places_of(values: Floats, there: Bools) -> Floats:
    """[..., K] places from 1 by ascending value among those that are there, ties sharing the mean; 0 elsewhere."""
    both = there[..., None, :] & there[..., :, None]
    less = (values[..., None, :] < values[..., :, None]) & both
    equal = (values[..., None, :] == values[..., :, None]) & both
    return np.asarray(np.where(there, less.sum(-1) + (equal.sum(-1) + 1) / 2, 0.0))


def build_table(ballots: Iterable[Ballot], *, quorum: int | None = None) -> PeerTable:
    """Puts ballots, one a question and evaluator, into arrays.

    Args:
        ballots: failed ones included.
        quorum: ballots a question needs to be counted; None for more than half of those asked for.

    Raises:
        InputError: fewer than two candidates, or no question that is counted.
    """
    given = list(ballots)
    by_question: dict[str, list[Ballot]] = {}
    for ballot in given:
        by_question.setdefault(ballot.question_id, []).append(ballot)
    left_out = [out for out in (_left_out(one, quorum) for one in by_question.values()) if out is not None]
    dropped = {out.question_id for out in left_out}
    # Sorted, as ballots are written in the order they come in: resamples must not depend on it.
    counted = {name: one for name, one in sorted(by_question.items()) if name not in dropped}
    models = sorted({name for one in given for name in (*one.ranked, *one.candidates)})
    if len(models) < 2:
        raise InputError(f"the ballots name {models or 'no candidate'}: a ranking needs at least two candidates")
    if not counted:
        raise InputError(f"no question can be counted: {left_out[0].question_id}: {left_out[0].reason}")
    evaluators = sorted({one.evaluator for one in given})
    shape = (len(counted), len(evaluators), len(models))
    table = PeerTable(
        models=tuple(models),
        evaluators=tuple(evaluators),
        questions=tuple(counted),
        domains=tuple(one[0].domain for one in counted.values()),
        places=np.zeros(shape),
        ranked=np.zeros(shape, dtype=bool),
        shown=np.zeros(shape, dtype=np.intp),
        lost=tuple(
            LostBallot(question_id=one.question_id, evaluator=one.evaluator, kind=str(why.kind), message=why.message)
            for one in given
            if (why := one.failure) is not None
        ),
        left_out=tuple(left_out),
    )
    for q, ballots_of in enumerate(counted.values()):
        _fill(table, q, ballots_of)
    return table


def _left_out(ballots: list[Ballot], quorum: int | None) -> LeftOutQuestion | None:
    question = ballots[0].question_id
    domains = {ballot.domain for ballot in ballots}
    if len(domains) > 1:
        raise InputError(f"question {question!r} has several domains: {', '.join(map(str, sorted(map(str, domains))))}")
    valid = sum(ballot.status == "ok" for ballot in ballots)
    needed = len(ballots) // 2 + 1 if quorum is None else quorum
    if valid < needed:
        kinds = Counter(str(ballot.failure.kind) for ballot in ballots if ballot.failure)
        why = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none failed"
        reason = f"{valid} of {len(ballots)} ballots, {needed} are needed ({why})"
        return LeftOutQuestion(question_id=question, reason=reason)
    shown = {name for ballot in ballots if ballot.status == "ok" for name in (*ballot.ranked, *ballot.candidates)}
    if len(shown) < 2:
        return LeftOutQuestion(question_id=question, reason="fewer than two candidates to rank")
    return None


def _fill(table: PeerTable, q: int, ballots: list[Ballot]) -> None:
    """Writes one question's ballots into the arrays."""
    column = {name: k for k, name in enumerate(table.models)}
    seat = {name: e for e, name in enumerate(table.evaluators)}
    everybody = {name for ballot in ballots if ballot.status == "ok" for name in (*ballot.ranked, *ballot.candidates)}
    for ballot in ballots:
        if ballot.ranking is None:
            continue
        e = seat[ballot.evaluator]
        values = np.full(len(table.models), len(ballot.ranking) + 1.0)
        for number, group in enumerate(ballot.ranking):
            values[[column[name] for name in group]] = number
        there = np.zeros(len(table.models), dtype=bool)
        there[[column[name] for name in ballot.candidates or everybody]] = True
        table.ranked[q, e] = there
        table.places[q, e] = places_of(values, there)
        for position, name in enumerate((ballot.labels or {}).values(), start=1):
            table.shown[q, e, column[name]] = position
