"""One order from rankings: which voting rule, its own options, and the result as plain data.

Light to import: what counts is loaded where it is used.
"""

import time
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from metajudge.errors import ConfigurationError

if TYPE_CHECKING:
    from metajudge.readers.rankings import RankingFile
    from metajudge.voting import Consensus, Profile
    from metajudge.voting.ballots import Ballots, Weight


class Rule(StrEnum):
    """Voting rules by their names in ``metajudge.voting``."""

    KEMENY = "kemeny"
    BORDA = "borda"
    COPELAND = "copeland"
    SCHULZE = "schulze"
    RANKED_PAIRS = "ranked_pairs"
    MEDIAN_RANK = "median_rank"
    PLURALITY = "plurality"
    BRADLEY_TERRY = "bradley_terry"
    PLACKETT_LUCE = "plackett_luce"
    AGREEMENT_WEIGHTED_BORDA = "agreement_weighted_borda"


class TieOption(StrEnum):
    """What a ballot's tie counts; which rule takes which is in ``TIES``."""

    HALF = "half"
    IGNORE = "ignore"
    DAVIDSON = "davidson"
    BRESLOW = "breslow"
    REFUSE = "refuse"


class UnrankedOption(StrEnum):
    """What a ballot says of candidates it does not name."""

    BELOW = "below"
    IGNORE = "ignore"


TIES = {
    Rule.KEMENY: (TieOption.HALF, TieOption.IGNORE),
    Rule.BRADLEY_TERRY: (TieOption.HALF, TieOption.IGNORE, TieOption.DAVIDSON),
    Rule.PLACKETT_LUCE: (TieOption.BRESLOW, TieOption.REFUSE),
}
"""Rules with an option for ties, its default first."""

MODELS = (Rule.BRADLEY_TERRY, Rule.PLACKETT_LUCE)
"""Rules that estimate strengths: unnamed candidates were not compared by default, and a prior may be added."""


LISTED = 10
"""Equally good orders listed where the user does not say."""


SECONDS = 60.0
"""For a proof where the user does not say: dozens of candidates in hundreds of thousands of near-random ballots can
take hours."""


def rule_options(
    rule: Rule,
    ties: TieOption | None,
    unranked: UnrankedOption | None,
    max_optima: int | None,
    time_limit: float | None,
    prior: float | None,
    *,
    flags: bool = False,
) -> dict[str, Any]:
    """The rule's own options; one it does not have is refused, not dropped.

    Args:
        max_optima: equally good orders listed; None for :data:`LISTED`.
        time_limit: seconds for a proof; None for :data:`SECONDS`.
        prior: pseudo-wins each way between every pair.
        flags: whether messages name options as on the command line (``--time-limit``).

    Raises:
        ConfigurationError: an option, or a value of it, that the rule does not have.
    """

    def named(option: str) -> str:
        return f"--{option.replace('_', '-')}" if flags else option

    options: dict[str, Any] = {}
    if rule in TIES:
        if ties is not None and ties not in TIES[rule]:
            raise ConfigurationError(f"{rule} takes {named('ties')} {' or '.join(TIES[rule])}, not {ties}")
        options["ties"] = str(ties or TIES[rule][0])
    elif ties is not None:
        raise ConfigurationError(
            f"{rule} has no {named('ties')}: ties on ballots have one meaning there; leave the option out"
        )
    if rule is not Rule.PLURALITY:
        default = UnrankedOption.IGNORE if rule in MODELS else UnrankedOption.BELOW
        options["unranked"] = str(unranked or default)
    elif unranked is not None:
        raise ConfigurationError(
            f"plurality counts first places alone and has no {named('unranked')}: leave the option out"
        )
    if rule is Rule.KEMENY:
        options |= {"max_optima": max_optima or LISTED, "time_limit": SECONDS if time_limit is None else time_limit}
    elif time_limit is not None:
        raise ConfigurationError(f"{rule} has no {named('time_limit')}: kemeny alone searches for a proof")
    elif max_optima is not None:
        raise ConfigurationError(f"{rule} has no {named('max_optima')}: kemeny alone lists equally good orders")
    if rule in MODELS:
        options["prior"] = prior or 0.0
    elif prior is not None:
        raise ConfigurationError(
            f"{rule} has no {named('prior')}: bradley_terry and plackett_luce alone estimate strengths"
        )
    return options


def count_ballots(
    rankings: "Ballots",
    candidates: Sequence[str] | None,
    weights: "Sequence[Weight]",
    rule: Rule,
    options: dict[str, Any],
) -> "tuple[Consensus, Profile]":
    """Counts rankings by a rule with its options; see :func:`metajudge.voting.read_profile`.

    Raises:
        InputError: what is no ballot, or no weight.
        UnprovenError: the time limit came before the proof (kemeny).
    """
    from metajudge import voting

    profile = voting.read_profile(rankings, candidates, weights)
    clock = {"clock": time.monotonic} if rule is Rule.KEMENY else {}
    result: Consensus = getattr(voting, rule)(profile, **options, **clock)
    return result, profile


def as_data(result: "Consensus", profile: "Profile", file: "RankingFile", options: dict[str, Any]) -> dict[str, Any]:
    """A result as plain data, with what is to be known about it."""
    from metajudge.voting import BradleyTerry, Kemeny, PlackettLuce, RankedPairs, WeightedBorda

    data: dict[str, Any] = {
        "rule": result.rule,
        "options": options,
        "file": file.name,
        "format": file.format,
        "ballots": len(file.ballots),
        "weight": float(profile.total_weight),
        "candidates": list(profile.candidates),
        "left_out": [{"line": reject.line, "reason": reject.reason} for reject in file.rejects],
        "ranking": [list(group) for group in result.ranking],
        "ties": [list(group) for group in result.ties],
        "scores": dict(result.scores),
        "warnings": list(warnings_of(result, profile, file, options)),
    }
    match result:
        case Kemeny():
            data |= {
                "cost": result.cost,
                "proven": result.proven,
                "n_optima": result.n_optima,
                "n_optima_at_least": result.n_optima_at_least,
                "optima": [list(order) for order in result.optima],
                "mean_rank": dict(result.mean_rank),
                "span": {name: [span.best, span.worst] for name, span in result.span.items()},
                "over_all_optima": result.over_all_optima,
            }
        case BradleyTerry() | PlackettLuce():
            data |= {"standard_errors": dict(result.standard_errors), "log_likelihood": result.log_likelihood}
            if isinstance(result, BradleyTerry):
                data["draw_parameter"] = result.draw_parameter
        case RankedPairs():
            data |= {"outcomes": result.outcomes, "exact": result.exact}
        case WeightedBorda():
            data |= {
                "voter_weights": list(result.voter_weights),
                "cliques": [list(clique) for clique in result.cliques],
                "capped": list(result.capped),
            }
    return data


def warnings_of(result: "Consensus", profile: "Profile", file: "RankingFile", options: dict[str, Any]) -> Iterator[str]:
    """What is to be known about a result, a sentence each."""
    from metajudge.voting import BradleyTerry, Kemeny, PlackettLuce, RankedPairs, WeightedBorda

    if isinstance(result, Kemeny) and not result.is_unique:
        yield from _ambiguous(profile, options)
    if isinstance(result, RankedPairs) and not result.exact:
        yield (
            "Too many majorities are equally strong to follow every order of locking them: those that contradict each "
            "other were left out, so the first group may be too large or another."
        )
    if isinstance(result, WeightedBorda) and result.warning:
        yield f"Warning: {result.warning}."
    if isinstance(result, BradleyTerry | PlackettLuce):
        if options["prior"]:
            yield f"With a prior of {options['prior']:g} pseudo-wins each way: strengths depend on it."
        elif isinstance(result, BradleyTerry) and (profile.ranked.sum(axis=1) > 2).any():
            yield "Pairs of one ranking are not independent: the standard errors are too small for whole rankings."
    questions = {ballot.question for ballot in file.ballots if ballot.question is not None}
    if len(questions) > 1:
        yield (
            f"The ballots are on {len(questions)} questions and were counted together: this is one order over all of "
            "them, and proves nothing about any single question."
        )
    ranked = profile.ranked.sum(axis=1)
    if options.get("unranked") == "below" and len(profile.candidates) > 2 and (ranked == 2).all():
        yield (
            f"Every ballot names two of {len(profile.candidates)} candidates, and the others stand below them: if "
            "these are votes on pairs, take --unranked ignore."
        )
    if not profile.exact:
        yield "The weights were rounded to 1e-12 of their sum; costs that differ by less count as equal."


def _ambiguous(profile: "Profile", options: dict[str, Any]) -> Iterator[str]:
    import numpy as np

    from metajudge.voting import pair_counts

    counts = pair_counts(profile, options["unranked"])
    level = int((np.triu(counts.margins == 0, 1)).sum())
    pairs = len(profile.candidates) * (len(profile.candidates) - 1) // 2
    yield f"The order is ambiguous: report all, or the mean ranks, never one. {level} of {pairs} pairs are level."
    voters = len(profile.places)
    even = bool((profile.weights == profile.weights[0]).all()) and voters % 2 == 0
    if even and level:
        yield (
            f"An even number of equal voters ({voters}) leaves pairs level that an odd panel decides: add a voter, or "
            "weigh them."
        )
