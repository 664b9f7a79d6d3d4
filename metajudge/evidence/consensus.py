"""Consensus: the whole item seen from one verdict, with judges weighed by a reliability that needs no labels.

A judge that mostly agrees with judges of other families is right more often than one that does not. The reliability
of a judge at a strength is therefore the log-odds of its agreement with the majority of the other families, which is
one step of the one-coin model of Dawid and Skene ("Maximum Likelihood Estimation of Observer Error-Rates Using the EM
Algorithm", 1979) started from the majority. Judges of one family repeat each other's mistakes, so a family has one
vote in that majority.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from metajudge.evidence.games import GameRows, Games
from metajudge.stats.arrays import Bools, Floats
from metajudge.types.frozen import Frozen

Levels: TypeAlias = NDArray[np.intp]

PRIOR_GAMES = 2.0
"""Added to the agreeing and to the disagreeing games of a judge, so that few games give a weight near 0."""


@dataclass(frozen=True, slots=True)
class Column:
    """One signal of n judgments.

    Attributes:
        values: [n]; 0 where absent.
        present: [n].
    """

    values: Floats
    present: Bools

    @classmethod
    def full(cls, values: Floats | Bools) -> "Column":
        return cls(np.asarray(values, dtype=np.float64), np.ones(len(values), dtype=bool))

    @classmethod
    def where(cls, values: Floats, present: Bools) -> "Column":
        return cls(np.where(present, values, 0.0), present)


class Reliability(Frozen):
    """How much a judge's verdict weighs in a consensus; calibrations store it.

    Attributes:
        plain: log-odds that a plain verdict agrees with the other families' majority.
        strong: the same for a strong verdict (``>>``).
        share: families over judges among its peers: many prompts of one model count as one judge.
        sides: weight by answer, for verdicts that have one (see :mod:`metajudge.evidence.answer_consensus`).
    """

    plain: float
    strong: float
    share: float
    sides: dict[str, float] = Field(default_factory=dict, exclude_if=lambda given: not given)


def reliabilities(games: Games) -> dict[str, Reliability]:
    """Reliability of every judge, from verdicts alone: labels are never seen.

    The weight at a strength is ``log((a + 2) / (b + 2))`` with a the games that agree and b those that disagree with
    the sign of the summed votes of the other families (a family's vote is the mean sign of its games on the pair).
    """
    if not games.judges:
        return {}
    signs = np.sign(games.strength) * games.given
    families = sorted(set(games.kin))
    member = np.array([[kin == family for kin in games.kin] for family in families], dtype=np.float64)
    count = np.einsum("fj,pjo->pf", member, games.given.astype(np.float64))
    family_votes = np.einsum("fj,pjo->pf", member, signs) / np.maximum(count, 1)
    total = family_votes.sum(axis=1)
    levels = _levels(games)
    found = {}
    for index, judge in enumerate(games.judges):
        others = np.sign(np.round(total - family_votes[:, families.index(games.kin[index])], 9))
        agreement = others[:, None] * signs[:, index]
        plain, strong = (_log_odds(agreement[levels[:, index] == level]) for level in (1, 2))
        found[judge] = Reliability(plain=plain, strong=strong, share=_share(games, index))
    return found


def _log_odds(agreement: Floats) -> float:
    agreeing, disagreeing = float((agreement > 0).sum()), float((agreement < 0).sum())
    return float(np.log(agreeing + PRIOR_GAMES) - np.log(disagreeing + PRIOR_GAMES))


def _share(games: Games, judge: int) -> float:
    peers = _peers(games, judge)
    families = {games.kin[index] for index in np.flatnonzero(peers)}
    return len(families) / int(peers.sum()) if peers.any() else 1.0


def _levels(games: Games) -> Levels:
    """[pairs, judges, 2] strength as a level: 0 none or tied, 1 plain, 2 strong; halves of a mean go up."""
    size = np.abs(games.strength)
    return np.where(games.given & (size > 0), np.clip(np.floor(size + 0.5), 1, 2), 0).astype(np.intp)


def order_columns(games: Games, rows: GameRows) -> dict[str, Column]:
    """The same judge's verdict on the pair in the other order.

    ``order.agree``, ``order.tie`` and ``order.missing`` (not asked there, or no verdict) are 0 or 1 with disagreement
    as what is left; ``order.signed`` is the other verdict's strength for this winner, 0 where it is missing.
    """
    other = games.strength[rows.pair, rows.judge, 1 - rows.order] * rows.sign
    given = games.given[rows.pair, rows.judge, 1 - rows.order]
    return {
        "order.agree": Column.full(given & (other > 0)),
        "order.tie": Column.full(given & (other == 0)),
        "order.missing": Column.full(~given),
        "order.signed": Column.full(np.where(given, other, 0.0)),
    }


def peer_columns(games: Games, rows: GameRows, weights: dict[str, Reliability]) -> dict[str, Column]:
    """What the other judges say about the pair, seen from each row's verdict.

    - ``peers.support``, ``peers.votes``: mean signed strength and mean sign of the peers' games; absent without peers.
    - ``peers.none``: 1 where no peer gave a verdict.
    - ``peers.of:MODEL``: mean signed strength of one model's judges; absent where they gave no verdict.
    - ``voices.NAME``: summed signed strengths of one judge over its orders, this judge's own included; absent where it
      gave no verdict.
    - ``consensus.sum``: summed strengths of peers (times the peers' share), this verdict and the judge's other one.
    - ``consensus.log_odds``: the same with each verdict replaced by its judge's reliability at that strength.
    - ``consensus.missing``: share of the games asked about the pair, this one included, that have no verdict.
    - ``consensus.strong``: share of the verdicts given that are strong.

    Args:
        weights: reliability by judge; a judge not named there counts as an average one.
    """
    reliability = _reliability_array(games, weights)
    log_odds = np.sign(games.strength) * reliability[np.arange(len(games.judges))[None, :, None], _levels(games)]
    nothing = np.zeros(len(rows))
    found: dict[str, Column] = {}
    for judge in np.unique(rows.judge):
        mine = rows.judge == judge
        peers = _peers(games, int(judge))
        share = weights[games.judges[judge]].share if games.judges[judge] in weights else _share(games, int(judge))
        part = _peers_of_judge(games, rows.select(mine), peers, share, reliability, log_odds)
        for name, column in part.items():
            whole = found.setdefault(name, Column(nothing.copy(), np.zeros(len(rows), dtype=bool)))
            whole.values[mine], whole.present[mine] = column.values, column.present
    return dict(sorted(found.items()))


def _peers(games: Games, judge: int) -> Bools:
    return np.asarray((np.arange(len(games.judges)) != judge) & games.shared[judge])


def _peers_of_judge(
    games: Games, rows: GameRows, peers: Bools, share: float, reliability: Floats, log_odds: Floats
) -> dict[str, Column]:
    sign, judge = rows.sign, int(rows.judge[0])
    given, strength = games.given[rows.pair][:, peers], games.strength[rows.pair][:, peers]
    count, asked = given.sum(axis=(1, 2)), games.asked[rows.pair][:, peers].sum(axis=(1, 2))
    some = np.maximum(count, 1)
    total = strength.sum(axis=(1, 2)) * sign
    values: dict[str, Floats] = {
        "peers.support": total / some,
        "peers.votes": np.sign(strength).sum(axis=(1, 2)) * sign / some,
        "peers.none": (count == 0).astype(np.float64),
    }
    other = (rows.pair, rows.judge, 1 - rows.order)
    own = reliability[rows.judge, rows.level]
    values["consensus.sum"] = total * share + rows.level + games.strength[other] * sign
    weighed = log_odds[rows.pair][:, peers].sum(axis=(1, 2)) * share
    values["consensus.log_odds"] = (weighed + log_odds[other]) * sign + own
    own_other = games.given[other]
    # This verdict is in the array too; where it was repeated, its cell contains the mean of the repetitions.
    strong = (np.abs(strength) == 2).sum(axis=(1, 2)) + (rows.level == 2)
    strong += np.abs(games.strength[other]) == 2
    verdicts = count + 1 + own_other
    records = asked + 1 + games.asked[other]
    values["consensus.missing"] = 1 - verdicts / records
    values["consensus.strong"] = strong / verdicts
    found = {name: Column.full(one) for name, one in values.items()}
    found |= {name: Column(values[name], count > 0) for name in ("peers.support", "peers.votes")}
    models = np.array(games.models)[peers]
    for model in sorted(set(models)):
        theirs = models == model
        games_of = given[:, theirs].sum(axis=(1, 2))
        mean = strength[:, theirs].sum(axis=(1, 2)) * sign / np.maximum(games_of, 1)
        found[f"peers.of:{model}"] = Column(mean, games_of > 0)
    for at in np.flatnonzero(peers | (np.arange(len(peers)) == judge)):
        heard = games.given[rows.pair, at]
        votes = (games.strength[rows.pair, at] * heard).sum(axis=1) * sign
        found[f"voices.{games.judges[at]}"] = Column(votes, heard.any(axis=1))
    return found


def _reliability_array(games: Games, weights: dict[str, Reliability]) -> Floats:
    """[judges, 3] weights by level; level 0 weighs nothing."""
    known = list(weights.values())
    average = np.mean([(one.plain, one.strong) for one in known], axis=0) if known else np.zeros(2)
    chosen = [weights.get(judge) for judge in games.judges]
    rows = [(0.0, *(average if one is None else (one.plain, one.strong))) for one in chosen]
    return np.array(rows).reshape(len(chosen), 3)
