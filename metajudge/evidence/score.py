"""A score out of free evidence alone: a heuristic, not a probability."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from metajudge.types import SignalValue

ORDER_WEIGHT = 1.0
STRENGTH_WEIGHT = 0.5
PEERS_WEIGHT = 3.0
STABILITY_WEIGHT = 0.4
CONTRADICTION = -3.0
BALANCED = 3.0
"""The score where the evidence is balanced."""

HIGHEST_TERMS = {
    "order": ORDER_WEIGHT,
    "strength": STRENGTH_WEIGHT,
    "peers": PEERS_WEIGHT,
    "repeats": STABILITY_WEIGHT,
    "variants": STABILITY_WEIGHT,
    "rationale": 0.0,
}
"""Signal -> the most it can add to the log-odds."""

TERMS: dict[str, Callable[[float], float]] = {
    "order": lambda value: ORDER_WEIGHT * value,
    "strength": lambda value: STRENGTH_WEIGHT * (value - 1),
    "peers": lambda value: PEERS_WEIGHT * value,
    "repeats": lambda value: STABILITY_WEIGHT * value,
    "variants": lambda value: STABILITY_WEIGHT * value,
    "rationale": lambda value: CONTRADICTION if value < 0 else 0.0,
}
"""Signal -> what a value of it adds to the log-odds."""


@dataclass(frozen=True, slots=True)
class SignalScore:
    """The heuristic score and where it comes from.

    Attributes:
        value: in [1, 5], 3 where the evidence is balanced; None where no signal was present.
        reason: why there is no score, else a summary of the contributions.
    """

    value: float | None
    reason: str


def signal_score(signals: Mapping[str, SignalValue]) -> SignalScore:
    """Combines what free evidence there is into a score from 1 to 5, **uncalibrated**.

    ``score = 1 + 4 / (1 + exp(-z))`` with ``z`` the sum of

    ============  ==========================  ======================================================================
    signal        term                        why
    ============  ==========================  ======================================================================
    order         1.0 x value (-1..1)         a verdict that turns with the order is position, not judgment; one that
                                              stays is only a weak sign, since weak judges are wrong consistently
    strength      0.5 x (strength - 1)        the judge's own word: ``>>`` a little up, a tie a little down; ``>``, all
                                              that many judges can say, is neutral
    peers         3.0 x value (-1..1)         independent of the judge, and the strongest signal where it was measured
    repeats       0.4 x value (-1..1)         the same judge asked again: stability is a weak sign of being right
    variants      0.4 x value (-1..1)         its model under other prompts, which shares its mistakes
    rationale     -3.0 on a contradiction     text and field cannot both be meant; agreement is the normal case: 0
    ============  ==========================  ======================================================================

    An absent signal adds nothing. Evidence for and against counts alike, except for the rationale, and no term depends
    on which response won. The default threshold 4.5 lies at ``z = ln 7 = 1.95``: on a pair the judge's own consistency
    and strength reach 1.5 at most, so nothing passes without peers. In both orders it takes a mean peer
    vote above .32 (two of three peers with plain verdicts for it and one tied pass; two for and one against do not). A
    contradicted judgment never passes. On rankings, grades and categories vetting decides by the share of peers that
    agree instead (:mod:`metajudge.strategies.signals`).

    The weights are rules of thumb, fixed beforehand and the same for all judges and tasks. How much a signal is worth
    differs widely between judges, so where labels exist, fit a calibration instead. Where most judges share one error,
    as on LLMBar's adversarial items, they support each other and most of what passes is wrong.

    Args:
        signals: by name (:func:`~metajudge.evidence.columns.signal_columns`); further ones are ignored.

    Returns:
        The score, or the reason why it is missing: none of these signals was present.
    """
    contributions: dict[str, float] = {}
    for name, term in TERMS.items():
        signal = signals.get(name)
        if signal is not None and signal.value is not None:
            contributions[name] = term(signal.value)
    if not contributions:
        states = ", ".join(f"{name}: {signal.state}" for name, signal in signals.items() if signal.value is None)
        return SignalScore(None, f"no evidence to score by ({states or 'no signals given'})")
    z = math.fsum(contributions.values())
    terms = ", ".join(f"{name} {value:+.2f}" for name, value in contributions.items())
    return SignalScore(1 + 4 / (1 + math.exp(-z)), f"uncalibrated: {terms}")


def reachable_score(signals: Mapping[str, SignalValue], most_support: float = 1.0) -> float | None:
    """The highest score that :func:`signal_score` could give with the signals that are present, whatever their values.

    Args:
        most_support: the highest peer support that so many peers can give, in [0, 1].

    Returns:
        In [1, 5]; None where no signal is present.
    """
    present = {name for name, signal in signals.items() if signal.value is not None}
    best = {name: term for name, term in HIGHEST_TERMS.items() if name in present}
    if "peers" in best:
        best["peers"] *= most_support
    return 1 + 4 / (1 + math.exp(-math.fsum(best.values()))) if best else None
