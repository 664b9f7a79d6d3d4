"""What evaluators agree on: by question and over all questions, with and without a model's own ballot."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from metajudge.errors import ConfigurationError, InputError, MetajudgeError
from metajudge.peers.table import PeerTable
from metajudge.stats.arrays import Bools, Floats, Indices

if TYPE_CHECKING:
    from metajudge.voting import Consensus, Profile

T = TypeVar("T")
Groups = tuple[tuple[str, ...], ...]

RULES = (
    "kemeny",
    "borda",
    "agreement_weighted_borda",
    "copeland",
    "schulze",
    "ranked_pairs",
    "median_rank",
    "plurality",
)
"""Rules that give every question its consensus, by their names in :mod:`metajudge.voting`; the first is the default."""

POOLED_RULES = (*RULES, "bradley_terry", "plackett_luce")
"""Rules for the ballots of all questions at once; the last two fit strengths, for which one question has too little."""

MOST_WEIGHTED = 2000
"""Ballots up to which agreement-weighted Borda compares every two of them."""

LISTED_OPTIMA = 10
"""Equally good orders that are listed; they are counted however many there are."""

MOST_COUNTED = 1 << 62
"""Larger numbers of equally good orders are noted as this one."""

BATCH_MODELS = 12
"""Up to so many candidates all questions are solved at once."""

TIME_LIMIT_S = 60.0
"""Seconds for one exact consensus; if it is not proven by then, it is missing, and the reason gives the progress."""


@dataclass(frozen=True, slots=True)
class QuestionConsensus:
    """A consensus for each question.

    Attributes:
        places: [Q, K] from 1; where several orders are equally good, or candidates tied, the mean of their places.
            Where the orders are too many to be counted, candidates whose order they do not settle are tied.
        there: [Q, K], False for candidates whose answer was not ranked, or where there is no consensus.
        optima: [Q] how many orders are equally good under the rule, at most :data:`MOST_COUNTED`, or how many at least
            where they could not be counted; 0 where that is not defined or not known.
    """

    places: Floats
    there: Bools
    optima: Indices


@dataclass(frozen=True, slots=True)
class OverallConsensus:
    """The rule applied to the ballots of all questions at once.

    Attributes:
        ranking: groups of tied candidates, best first.
        places: candidate -> place, the mean over all equally good orders.
        span: candidate -> best and worst place over these.
        optima: how many orders are equally good; None where the rule does not say, or nothing is known.
        counted: False where ``optima`` says how many there are at least.
        orders: some of them, best first, where the rule lists them.
        ballots: how many took part.
    """

    rule: str
    ranking: Groups
    places: dict[str, float]
    span: dict[str, tuple[int, int]]
    optima: int | None
    orders: tuple[tuple[str, ...], ...]
    ballots: int
    counted: bool = True


def check_rule(name: str) -> None:
    """Raises :class:`ConfigurationError` unless peer evaluation knows the rule."""
    if name not in RULES:
        raise ConfigurationError(f"no voting rule {name!r} for peer evaluation; there are {', '.join(RULES)}")


def apply_rule(name: str, profile: "Profile") -> "Consensus":
    """Votes by the rule of a name; what a ballot does not compare counts nothing.

    Raises:
        MetajudgeError: the rule gives no result.
    """
    from metajudge import voting

    if name == "kemeny":
        return voting.kemeny(
            profile, unranked="ignore", max_optima=LISTED_OPTIMA, time_limit=TIME_LIMIT_S, clock=time.monotonic
        )
    if name == "plurality":
        return voting.plurality(profile)
    if name == "agreement_weighted_borda" and len(profile.places) > MOST_WEIGHTED:
        raise InputError(f"agreement-weighted Borda compares every two ballots: at most {MOST_WEIGHTED:,} of them")
    rule: Callable[..., Consensus] = getattr(voting, name)
    return rule(profile, unranked="ignore")


def groups_of(places: Floats, there: Bools, names: Sequence[str]) -> Groups:
    """Groups of tied candidates, best first, of those that are there; places and ``there`` are [K]."""
    levels = np.unique(places[there])
    return tuple(tuple(names[int(k)] for k in np.flatnonzero(there & (places == level))) for level in levels)


def profile_of(table: PeerTable, questions: Iterable[int] | None = None) -> "Profile | None":
    """The ballots of some questions (None: of all) as one vote; None where there is no ballot."""
    from scipy.stats import rankdata

    from metajudge.voting import Profile

    chosen = list(range(len(table.questions)) if questions is None else questions)
    places = table.places[chosen].reshape(-1, len(table.models))
    there = table.ranked[chosen].reshape(places.shape)
    cast = there.any(axis=1)
    if not cast.any():
        return None
    seen = there[cast].any(axis=0)
    places, there = places[np.ix_(cast, seen)], there[np.ix_(cast, seen)]
    names = tuple(table.models[int(k)] for k in np.flatnonzero(seen))
    # From 0 for the best group on, by ballot; the number of candidates for one that is not on the ballot.
    groups = rankdata(np.where(there, places, np.inf), "dense", axis=1).astype(np.int64) - 1
    return Profile(names, np.where(there, groups, len(names)), np.ones(len(places), dtype=np.int64))


def question_consensus(table: PeerTable, rule: str = RULES[0]) -> QuestionConsensus:
    """The consensus of each question's ballots."""
    check_rule(rule)
    if rule == "kemeny" and len(table.models) <= BATCH_MODELS:
        return _kemeny_by_question(table)
    found = _nothing(table)
    column = {name: k for k, name in enumerate(table.models)}
    for q in range(len(table.questions)):
        profile = profile_of(table, [q])
        if profile is None:
            continue
        try:
            ranks, count = _ranks(apply_rule(rule, profile))
        except MetajudgeError:  # the question has no place for anybody then
            continue
        found.optima[q] = min(count, MOST_COUNTED)
        for name, rank in ranks.items():
            found.places[q, column[name]], found.there[q, column[name]] = rank, True
    return found


def _nothing(table: PeerTable) -> QuestionConsensus:
    shape = (len(table.questions), len(table.models))
    return QuestionConsensus(np.zeros(shape), np.zeros(shape, dtype=bool), np.zeros(shape[0], dtype=np.intp))


def _kemeny_by_question(table: PeerTable) -> QuestionConsensus:
    """All questions over the same candidates at once."""
    from metajudge.voting import kemeny_batch

    consensus = _nothing(table)
    patterns, member = np.unique(table.ranked.any(axis=1), axis=0, return_inverse=True)
    doubled = np.rint(2 * table.places).astype(np.int64)  # mid-ranks become whole numbers
    for number, seen in enumerate(patterns):
        rows = np.flatnonzero(member.ravel() == number)
        columns = np.flatnonzero(seen)
        if not len(columns):
            continue
        chosen = np.ix_(rows, np.arange(len(table.evaluators)), columns)
        found = kemeny_batch(doubled[chosen], ranked=table.ranked[chosen], positions=True)
        consensus.places[np.ix_(rows, columns)] = found.mean_rank
        consensus.there[np.ix_(rows, columns)] = True
        consensus.optima[rows] = found.n_optima
    return consensus


@dataclass(slots=True)
class Agreements:
    """The consensus of one table under the rules asked for, each computed once."""

    table: PeerTable
    _known: dict[tuple[str, str], Any] = field(default_factory=dict)

    def by_question(self, rule: str = RULES[0]) -> QuestionConsensus:
        """See :func:`question_consensus`."""
        return self._once("by question", rule, lambda: question_consensus(self.table, rule))

    def self_free(self, rule: str = RULES[0]) -> QuestionConsensus:
        """For each candidate its place in the consensus of the others' ballots: its own is left out for it alone.

        So column k of ``places`` comes from the ballots of everybody but candidate k; places of different candidates
        in one question come from different electorates and need not be a ranking. ``optima`` is 0.
        """

        def make() -> QuestionConsensus:
            whole = self.by_question(rule)
            places, there = whole.places.copy(), whole.there.copy()
            for k, seat in enumerate(self.table.own):
                if seat is not None:
                    others = [e for e in range(len(self.table.evaluators)) if e != seat]
                    rest = question_consensus(self.table.of_evaluators(others), rule)
                    places[:, k], there[:, k] = rest.places[:, k], rest.there[:, k]
            return QuestionConsensus(places, there, np.zeros(len(places), dtype=np.intp))

        return self._once("self-free", rule, make)

    def overall(self, rule: str = RULES[0]) -> OverallConsensus | str:
        """The rule over the ballots of all questions together.

        The reason where the rule gives none: no ballot, or an optimum that could not be proven in time.
        """

        def make() -> OverallConsensus | str:
            profile = profile_of(self.table)
            if profile is None:
                return "there are no ballots"
            try:
                found = apply_rule(rule, profile)
            except MetajudgeError as error:
                return str(error)
            ranks, optima = _ranks(found)
            orders: tuple[tuple[str, ...], ...] = getattr(found, "optima", ()) if optima else ()
            counted: bool = getattr(found, "over_all_optima", True)
            ballots = len(profile.places)
            return OverallConsensus(rule, found.ranking, ranks, _span(found), optima or None, orders, ballots, counted)

        return self._once("overall", rule, make)

    def pooled(self, rule: str) -> dict[str, float] | str:
        """Candidate -> its place in the overall consensus; the reason where there is none."""
        overall = self.overall(rule)
        return overall if isinstance(overall, str) else overall.places

    def _once(self, what: str, rule: str, make: Callable[[], T]) -> T:
        if (what, rule) not in self._known:
            self._known[what, rule] = make()
        found: T = self._known[what, rule]
        return found


def _ranks(found: "Consensus") -> tuple[dict[str, float], int]:
    """Candidate -> mean place, and how many orders are equally good, 0 where the rule does not say."""
    from metajudge.voting import Kemeny

    if not isinstance(found, Kemeny):
        return dict(found.ranks), 0
    if not found.over_all_optima:  # means over the orders that happen to be listed would depend on names
        return dict(found.ranks), found.n_optima_at_least if found.n_optima_at_least > 1 else 0
    return dict(found.mean_rank), found.n_optima or 0


def _span(found: "Consensus") -> dict[str, tuple[int, int]]:
    """Candidate -> best and worst place: over all optima, else over the orders of its group of ties."""
    from metajudge.voting import Kemeny

    if isinstance(found, Kemeny) and found.over_all_optima:
        return {name: (one.best, one.worst) for name, one in found.span.items()}
    span: dict[str, tuple[int, int]] = {}
    for group in found.ranking:
        first = len(span) + 1
        span.update(dict.fromkeys(group, (first, first + len(group) - 1)))
    return span
