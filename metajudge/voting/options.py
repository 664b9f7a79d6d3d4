"""Voting rules by name, and the options that each of them has. Light to import: no rule is loaded."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from metajudge.errors import ConfigurationError


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
    """What a ballot means for candidates it does not name."""

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
"""Default number of equally good orders listed."""


SECONDS = 60.0
"""Default time limit for a proof: dozens of candidates in hundreds of thousands of near-random ballots can
take hours."""


def rule_options(rule: Rule, given: Mapping[str, Any], *, flags: bool = False) -> dict[str, Any]:
    """The rule's own options; one it does not have is refused, not dropped.

    Args:
        given: values of ``ties``, ``unranked``, ``max_optima`` (equally good orders listed), ``time_limit`` (seconds
            for a proof) and ``prior`` (pseudo-wins each way between every pair); None for the rule's default.
        flags: whether messages name options as on the command line (``--time-limit``).

    Raises:
        ConfigurationError: an option, or a value of it, that is unknown or that the rule does not have.
    """

    def named(option: str) -> str:
        return f"--{option.replace('_', '-')}" if flags else option

    own: dict[str, Any] = {"ties": str(TIES[rule][0])} if rule in TIES else {}
    if rule is not Rule.PLURALITY:
        own["unranked"] = str(UnrankedOption.IGNORE if rule in MODELS else UnrankedOption.BELOW)
    own |= {"max_optima": LISTED, "time_limit": SECONDS} if rule is Rule.KEMENY else {}
    own |= {"prior": 0.0} if rule in MODELS else {}
    known = {"ties": TieOption, "unranked": UnrankedOption}
    given = {name: value for name, value in given.items() if value is not None}
    given |= {name: member_of(kind, given[name], name) for name, kind in known.items() if name in given}
    for option, value in given.items():
        if option not in own:
            raise ConfigurationError(_LACKS[option].format(rule=rule, option=named(option)))
        if option == "ties" and value not in TIES[rule]:
            raise ConfigurationError(f"{rule} takes {named('ties')} {' or '.join(TIES[rule])}, not {value}")
        own[option] = str(value) if isinstance(value, StrEnum) else value
    return own


def member_of(kind: type[StrEnum], name: str, option: str) -> Any:
    """The choice of a name; raises :class:`ConfigurationError` where there is none."""
    try:
        return kind(name)
    except ValueError:
        raise ConfigurationError(f"{option} {name!r} is unknown: choose one of {', '.join(kind)}") from None


_LACKS = {
    "ties": "{rule} has no {option}: ties on ballots have one meaning there; leave the option out",
    "unranked": "plurality counts first places alone and has no {option}: leave the option out",
    "time_limit": "{rule} has no {option}: kemeny alone searches for a proof",
    "max_optima": "{rule} has no {option}: kemeny alone lists equally good orders",
    "prior": "{rule} has no {option}: bradley_terry and plackett_luce alone estimate strengths",
}
