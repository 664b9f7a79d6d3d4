"""One order from rankings, by any rule: the function behind the command, the route and the Python API."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metajudge import voting
from metajudge.errors import ConfigurationError
from metajudge.voting import (
    BradleyTerry,
    Consensus,
    Kemeny,
    PlackettLuce,
    Profile,
    RankedPairs,
    Span,
    WeightedBorda,
    pair_counts,
    read_profile,
)
from metajudge.voting.ballots import Ballot, Weight
from metajudge.voting.options import Rule, member_of, rule_options


@dataclass(frozen=True, slots=True)
class Ranked:
    """The result of counting rankings.

    Attributes:
        consensus: the rule's result; ties are results.
        options: of the rule, defaults included.
        ballots: rankings counted.
        questions: different questions that the rankings answer; 0 where unknown.
    """

    consensus: Consensus
    profile: Profile
    ballots: int
    options: Mapping[str, Any] = field(default_factory=dict)
    questions: int = 0

    @property
    def ranking(self) -> tuple[tuple[str, ...], ...]:
        """Groups of tied candidates, best first."""
        return tuple(tuple(group) for group in self.consensus.ranking)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Caveats of this result, a sentence each."""
        return tuple(_warnings(self))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        result = self.consensus
        data: dict[str, Any] = {
            "rule": result.rule,
            "options": dict(self.options),
            "ballots": self.ballots,
            "weight": float(self.profile.total_weight),
            "candidates": list(self.profile.candidates),
            "ranking": [list(group) for group in result.ranking],
            "ties": [list(group) for group in result.ties],
            "scores": dict(result.scores),
            "warnings": list(self.warnings),
        }
        return data | {name: _plain(getattr(result, name)) for name in _OWN.get(type(result), ())}


def rank(
    rankings: Sequence[Ballot],
    *,
    rule: str | Rule = Rule.KEMENY,
    candidates: Sequence[str] | None = None,
    weights: Sequence[Weight] | None = None,
    questions: int = 0,
    ties: str | None = None,
    unranked: str | None = None,
    max_optima: int | None = None,
    time_limit: float | None = None,
    prior: float | None = None,
    flags: bool = False,
) -> Ranked:
    """Counts rankings by a voting rule.

    Args:
        rankings: each best first, as candidates or groups of tied ones: ``["a", ["b", "c"]]``.
        rule: a name of :class:`~metajudge.voting.options.Rule`.
        candidates: all there are; None for those that are ranked.
        weights: one a ranking, greater than 0; None for equal ones.
        questions: different questions that the rankings answer, for a warning.
        ties, unranked, max_optima, time_limit, prior: options of the rule, see
            :func:`~metajudge.voting.options.rule_options`.
        flags: whether messages name options as on the command line.

    Raises:
        ConfigurationError: an unknown rule, an option that the rule does not have, or weights for other rankings.
        InputError: an invalid ranking or weight.
        UnprovenError: the time limit came before the proof (kemeny).

    Example:
        >>> rank([[["a"], ["b"]], [["a"], ["b"]], [["b"], ["a"]]], rule="borda").ranking
        (('a',), ('b',))
    """
    chosen = member_of(Rule, rule, "rule")
    given = {"ties": ties, "unranked": unranked, "time_limit": time_limit, "max_optima": max_optima, "prior": prior}
    options = rule_options(chosen, given, flags=flags)
    weights = [1] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings):
        raise ConfigurationError(f"{len(weights)} weights for {len(rankings)} rankings: give one each, or none")
    profile = read_profile(rankings, candidates, weights)
    clock = {"clock": time.monotonic} if chosen is Rule.KEMENY else {}
    result: Consensus = getattr(voting, chosen)(profile, **options, **clock)
    return Ranked(result, profile, len(rankings), options, questions)


_OWN: dict[type[Consensus], tuple[str, ...]] = {
    Kemeny: (*("cost", "proven", "n_optima", "n_optima_at_least", "optima", "mean_rank", "span", "over_all_optima"),),
    BradleyTerry: ("standard_errors", "log_likelihood", "draw_parameter"),
    PlackettLuce: ("standard_errors", "log_likelihood"),
    RankedPairs: ("outcomes", "exact"),
    WeightedBorda: ("voter_weights", "cliques", "capped"),
}
"""What the results of some rules have besides the order and the scores."""


def _plain(value: Any) -> Any:
    match value:
        case Mapping():
            return {name: _plain(one) for name, one in value.items()}
        case tuple():
            return [_plain(one) for one in value]
        case Span(best, worst):
            return [best, worst]
    return value


def _warnings(ranked: Ranked) -> Iterator[str]:
    result, profile, options = ranked.consensus, ranked.profile, ranked.options
    if isinstance(result, Kemeny) and not result.is_unique:
        yield from _ambiguous(profile, options)
    if isinstance(result, RankedPairs) and not result.exact:
        yield (
            "Too many majorities are equally strong to try every order of locking them: those that contradict each "
            "other were left out, so the first group may be too large or wrong."
        )
    if isinstance(result, WeightedBorda) and result.warning:
        yield f"Warning: {result.warning}."
    if isinstance(result, BradleyTerry | PlackettLuce):
        if options["prior"]:
            yield f"With a prior of {options['prior']:g} pseudo-wins each way: strengths depend on it."
        elif isinstance(result, BradleyTerry) and (profile.ranked.sum(axis=1) > 2).any():
            yield "Pairs of one ranking are not independent: the standard errors are too small for whole rankings."
    if ranked.questions > 1:
        yield (
            f"The ballots are on {ranked.questions} questions and were counted together: this is one order over all of "
            "them, and says nothing about any single question."
        )
    sizes = profile.ranked.sum(axis=1)
    if options.get("unranked") == "below" and len(profile.candidates) > 2 and bool((sizes == 2).all()):
        yield (
            f"Every ballot names two of {len(profile.candidates)} candidates, and the others count as below them: if "
            "these are votes on pairs, use --unranked ignore."
        )
    if not profile.exact:
        yield "The weights were rounded to 1e-12 of their sum; costs that differ by less count as equal."


def _ambiguous(profile: Profile, options: Mapping[str, Any]) -> Iterator[str]:
    counts = pair_counts(profile, options["unranked"])
    level = int((np.triu(counts.margins == 0, 1)).sum())
    pairs = len(profile.candidates) * (len(profile.candidates) - 1) // 2
    yield f"The order is ambiguous: report all orders or the mean ranks. {level} of {pairs} pairs are tied."
    voters = len(profile.places)
    even = bool((profile.weights == profile.weights[0]).all()) and voters % 2 == 0
    if even and level:
        yield (
            f"An even number of equal voters ({voters}) leaves ties that an odd panel decides: add a voter, or "
            "give weights."
        )
