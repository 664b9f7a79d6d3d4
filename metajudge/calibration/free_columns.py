"""Free evidence as two columns that mean the same for every judge and set: what a prior over sets reads.

All are log-odds. None sees a label, and none names a judge, so a weight learned on one set can be tried on another.
"""

import numpy as np

from metajudge.evidence.columns import compare, signal_columns
from metajudge.evidence.consensus import Column
from metajudge.evidence.facts import Facts, SignalColumn
from metajudge.evidence.score import TERMS
from metajudge.stats.arrays import Floats, Indices
from metajudge.types import Right

OWN, PEERS = "free.own", "free.peers"
"""What the judge itself shows (order, strength, repeats, other prompts, rationale), and its peers: the terms of
:func:`~metajudge.evidence.score.signal_score`."""


def free_columns(facts: Facts, rows: Indices, right: Right) -> dict[str, Column]:
    """The two columns of some records, from the evidence of all.

    Args:
        facts: of all records of an input.
        rows: [n] places of the records.
        right: what counts as right.

    Returns:
        Log-odds by name; absent where there is nothing to compare.
    """
    rules = facts.rules(right)
    signals = signal_columns(facts, compare(facts.recorded, rules), rows)
    terms = {name: _term(signals[name], name) for name in TERMS}
    own = [one for name, one in terms.items() if name != "peers"]
    return {
        OWN: Column(np.sum([one.values for one in own], axis=0), np.any([one.present for one in own], axis=0)),
        PEERS: terms["peers"],
    }


def _term(column: SignalColumn, name: str) -> Column:
    """What a signal adds to the log-odds of the heuristic score."""
    values = _values(column)
    present = ~np.isnan(values)
    different, place = np.unique(np.where(present, values, 0.0), return_inverse=True)
    worth = np.array([TERMS[name](value) for value in different.tolist()], dtype=np.float64)
    return Column.where(worth[place.ravel()] if len(worth) else values, present)


def _values(column: SignalColumn) -> Floats:
    """[n] NaN where absent."""
    known: list[float] = [np.nan if one.value is None else one.value for one in column.values]
    return np.asarray(np.array([*known, np.nan], dtype=np.float64)[column.codes])
