"""A score out of free evidence alone: a heuristic, not a probability."""

import math
from collections.abc import Mapping

from metajudge.types import SignalValue

WEIGHTS = {"order": 1.0, "strength": 0.5, "peers": 3.0, "repeats": 0.4, "variants": 0.4, "rationale": 0.0}
"""Signal -> the most it can add to the log-odds; see :func:`signal_score`."""

CONTRADICTION = -3.0
BALANCED = 3.0
"""The score where the evidence is balanced."""


def signal_score(signals: Mapping[str, SignalValue]) -> float | None:
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
        In [1, 5], 3 where the evidence is balanced; None where none of these signals was present.
    """
    present = {name: signals[name].value for name in WEIGHTS if name in signals}
    contributions = [_term(name, value) for name, value in present.items() if value is not None]
    return 1 + 4 / (1 + math.exp(-math.fsum(contributions))) if contributions else None


LENGTH = 0.5
"""What a preferred response that is e times as long as the other takes away in :func:`standing`."""


def standing(signals: Mapping[str, SignalValue]) -> float:
    """Where a verdict that nothing decides stands among others, weakest first: an order, and no score.

    :func:`signal_score`, with a term for the length of the response preferred: on recorded sets verdicts for the longer
    one are more often wrong. 3 where nothing is known.
    """
    terms = [_term(name, value) for name in WEIGHTS if name in signals and (value := signals[name].value) is not None]
    longer = None if "length_ratio" not in signals else signals["length_ratio"].value
    if longer is not None:
        terms.append(-LENGTH * min(max(longer, -1.0), 1.0))
    return 1 + 4 / (1 + math.exp(-math.fsum(terms)))


def _term(name: str, value: float) -> float:
    """What a value of a signal adds to the log-odds."""
    if name == "rationale":
        return CONTRADICTION if value < 0 else 0.0
    return WEIGHTS[name] * (value - 1 if name == "strength" else value)


def reachable_score(signals: Mapping[str, SignalValue], most_support: float = 1.0) -> float | None:
    """The highest score that :func:`signal_score` could give with the signals that are present, whatever their values.

    Args:
        most_support: the highest peer support that so many peers can give, in [0, 1].

    Returns:
        In [1, 5]; None where no signal is present.
    """
    best = {name: most for name, most in WEIGHTS.items() if name in signals and signals[name].value is not None}
    if "peers" in best:
        best["peers"] *= most_support
    return 1 + 4 / (1 + math.exp(-math.fsum(best.values()))) if best else None
