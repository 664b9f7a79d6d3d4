"""Consensus on rankings, grades and categories: who agrees with an answer, weighed by what each answer is worth.

As for pairs (:mod:`metajudge.evidence.consensus`), what a judge is worth is its agreement with the most frequent answer
of the other families, one step of the model of Dawid and Skene (1979). Two things differ. An answer has a side, a
category or the place of the response chosen: a judge that nearly always says "pass" says little by it, and much by
"fail". And judges that agree more than what each is worth explains are discounted: they repeat one another. The
same judge again, in another order, or under another prompt of its model is no peer: its agreement is stability.

Scale use: how severe a judge is, how widely it grades, and where a grade stands among its others.
"""

from collections.abc import Mapping

import numpy as np

from metajudge.evidence.answers import Answers
from metajudge.evidence.consensus import PRIOR_GAMES, Column, Reliability
from metajudge.stats.arrays import Bools, Floats, Indices
from metajudge.types.frozen import Frozen

SIDE_PRIOR = 10.0
"""A side's rate is drawn to its judge's own as if so many answers of that rate had been seen."""

PAIR_PRIOR = 20.0
"""The excess agreement of two judges is drawn to 0 as if so many answers without any had been seen."""

MOST_VOICES = 64
"""With more judges than this, models are voices instead; with more models, there are none."""

RATE_RANGE = (0.05, 0.95)

FACTOR_STEPS = 50
MOST_LOADING = 0.98


def answer_reliabilities(answers: Answers) -> dict[str, Reliability]:
    """What every judge's answers are worth, from verdicts alone: labels are never seen.

    The weight of an answer is the log-odds that it agrees with the most frequent answer of the other families (a family
    has one vote, its judges' mean), less the log-odds of agreeing by chance. ``plain`` is over all answers of a judge,
    ``sides`` for each side, drawn to ``plain``; ``share`` is what one of its votes counts for:
    ``1 / (1 + sum over other judges of excess)``, where the excess of two judges is what one common factor, the truth,
    leaves of their agreement beyond chance (Cohen's kappa with one chance for all), as a share of what it could leave.
    """
    if not answers.table.judges or not len(answers.table.item):
        return {}
    with_majority = _with_majority(answers)
    counts = np.zeros((2, len(answers.table.judges), len(answers.sides)))
    for at, sign in enumerate((1, -1)):
        mine = with_majority == sign
        np.add.at(counts[at], (answers.table.judge[mine], answers.side[mine]), 1.0)
    agreeing, differing = counts
    both = agreeing + differing
    rate = (agreeing.sum(axis=1) + PRIOR_GAMES) / (both.sum(axis=1) + 2 * PRIOR_GAMES)
    chance = np.clip(answers.chance, *RATE_RANGE)
    used = np.maximum(both.sum(axis=1), 1e-9)
    mean_chance = np.where(used > 1e-6, (both * chance).sum(axis=1) / used, chance.mean())
    by_side = (agreeing + SIDE_PRIOR * rate[:, None]) / (both + SIDE_PRIOR)
    weights = _log_odds(by_side) - _log_odds(chance)
    plain = _log_odds(rate) - _log_odds(np.clip(mean_chance, *RATE_RANGE))
    share = _shares(answers)
    return {
        judge: Reliability(
            plain=float(plain[at]),
            strong=float(plain[at]),
            share=float(share[at]),
            sides={side: float(weights[at, place]) for place, side in enumerate(answers.sides) if side},
        )
        for at, judge in enumerate(answers.table.judges)
    }


def _with_majority(answers: Answers) -> Floats:
    """[records] 1 where the record's answer is the most frequent of the other families, -1 where not, 0 if open."""
    families = sorted(set(answers.kin))
    member = np.array([[kin == family for family in families] for kin in answers.kin], dtype=np.float64)
    votes = (answers.share @ member) / np.maximum((answers.counts > 0) @ member, 1)
    others = votes.sum(axis=1, keepdims=True) - votes
    lead = np.sign(np.round(others - answers.strongest_rival(others), 9))
    family = member.argmax(axis=1)[answers.table.judge]
    known = answers.option >= 0
    found = np.zeros(len(answers.table.item))
    found[known] = lead[answers.option[known], family[known]]
    return found


def _shares(answers: Answers) -> Floats:
    """[judges] what one vote of a judge counts for beside those that repeat it."""
    size, records = len(answers.table.judges), np.flatnonzero(answers.option >= 0)
    one = np.zeros((size, answers.options))
    np.add.at(one, (answers.table.judge[records], answers.option[records]), 1.0)
    met = one @ (answers.counts > 0)
    agreed = one @ answers.share
    chance = float(np.clip(answers.chance[answers.side[records]].mean(), *RATE_RANGE)) if len(records) else 0.5
    beyond = (agreed / np.maximum(met, 1) - chance) / (1 - chance) * met / (met + PAIR_PRIOR)
    beyond = (beyond + beyond.T) / 2
    np.fill_diagonal(beyond, 0)
    loadings = _loadings(beyond)
    explained = np.outer(loadings, loadings)
    excess = np.clip((beyond - explained) / (1 - explained), 0, 1)
    np.fill_diagonal(excess, 0)
    return np.asarray(1 / (1 + excess.sum(axis=1)))


def _loadings(beyond: Floats) -> Floats:
    """[judges] least squares loadings of one common factor, the truth, on agreement beyond chance between judges."""
    found = np.full(len(beyond), 0.5)
    for _ in range(FACTOR_STEPS):
        squares = (found**2).sum() - found**2
        found = np.clip((found + beyond @ found / np.maximum(squares, 1e-9)) / 2, 0, MOST_LOADING)
    return found


def answer_columns(answers: Answers, rows: Indices, weights: dict[str, Reliability]) -> dict[str, Column]:
    """What the judges say about each row's answer.

    - ``peers.support``: mean agreement of the other judges, one vote each, from -1 to 1; absent without peers.
    - ``peers.votes``: the mean of its signs.
    - ``peers.none``: 1 where no peer gave a comparable verdict.
    - ``peers.rival``: the largest share of the peers that agree on one other answer.
    - ``peers.log_odds``: as ``consensus.log_odds``, of the peers alone.
    - ``voices.NAME``: agreement of one judge (one model, where there are many judges), from -1 to 1, this judge's own
      records included; absent where it gave no comparable verdict.
    - ``consensus.sum``: judges that agree less those that agree on the strongest other answer.
    - ``consensus.log_odds``: the same with each judge's vote weighed by its worth on that side, and by its share.
    - ``consensus.missing``: share of the item's records that have no verdict.

    Args:
        weights: reliability by judge; a judge not named there counts as an average one.
    """
    option, judge = answers.option[rows], answers.table.judge[rows]
    given, share, signed = answers.counts > 0, answers.share, answers.signed
    worth = _worth(answers, weights) / np.maximum(answers.counts, 1)
    columns = {
        "consensus.sum": Column.full(_margin(answers, share.sum(axis=1))[option]),
        "consensus.log_odds": Column.full(_margin(answers, worth.sum(axis=1))[option]),
        "consensus.missing": Column.full(_missing(answers)[answers.table.item[rows]]),
    }
    found = {name: np.zeros(len(rows)) for name in ("support", "votes", "none", "rival", "log_odds")}
    for number in np.unique(judge):
        at = np.flatnonzero(judge == number)
        peers, options = np.arange(len(answers.table.judges)) != number, option[at]
        many = given[:, peers].sum(axis=1)
        some = np.maximum(many, 1)
        found["support"][at] = (signed[:, peers].sum(axis=1) / some)[options]
        found["votes"][at] = (np.sign(signed[:, peers]).sum(axis=1) / some)[options]
        found["none"][at] = many[options] == 0
        found["rival"][at] = answers.strongest_rival(share[:, peers].sum(axis=1) / some)[options]
        found["log_odds"][at] = _margin(answers, worth[:, peers].sum(axis=1))[options]
    some_peers = found["none"] == 0
    columns |= {f"peers.{name}": Column.where(values, some_peers) for name, values in found.items() if name != "none"}
    return columns | {"peers.none": Column.full(found["none"])} | _voices(answers, option, signed, given)


def _worth(answers: Answers, weights: dict[str, Reliability]) -> Floats:
    """[options, judges] summed weights of the records that agree."""
    known = list(weights.values())
    average = float(np.mean([one.plain for one in known])) if known else 0.0
    found = np.full((len(answers.table.judges), len(answers.sides)), average)
    for at, judge in enumerate(answers.table.judges):
        if judge in weights:
            one = weights[judge]
            found[at] = [one.share * one.sides.get(side, one.plain) for side in answers.sides]
    return answers.totals(found[answers.table.judge, answers.side])


def _margin(answers: Answers, values: Floats) -> Floats:
    return np.asarray(values - answers.strongest_rival(values))


def _missing(answers: Answers) -> Floats:
    """[items] the share of records without a comparable verdict."""
    items = len(answers.table.question)
    compared = np.zeros(len(answers.table.item), dtype=bool)
    compared[answers.compared_record] = True
    asked = np.bincount(answers.table.item, minlength=items)
    return np.asarray(1 - np.bincount(answers.table.item, weights=compared, minlength=items) / np.maximum(asked, 1))


def _voices(answers: Answers, option: Indices, signed: Floats, given: Bools) -> dict[str, Column]:
    names = answers.table.judges if len(answers.table.judges) <= MOST_VOICES else answers.models
    if len(set(names)) > MOST_VOICES:
        return {}
    columns = {}
    for name in sorted(set(names)):
        member = np.array([one == name for one in names])
        many = given[:, member].sum(axis=1)
        mean = signed[:, member].sum(axis=1) / np.maximum(many, 1)
        columns[f"voices.{name}"] = Column.where(mean[option], many[option] > 0)
    return columns


def _log_odds(rate: Floats) -> Floats:
    return np.asarray(np.log(rate) - np.log1p(-rate))


def repeat_columns(answers: Answers, rows: Indices) -> dict[str, Column]:
    """``repeats.support``: mean agreement (-1 to 1) of the judge's other verdicts in the same order; absent if none."""
    total, count = _same_order(answers, rows)
    return {"repeats.support": Column.where(2 * (total - 1) / np.maximum(count - 1, 1) - 1, count > 1)}


def other_order_columns(answers: Answers, rows: Indices) -> dict[str, Column]:
    """The same judge's verdicts on the item in other orders.

    ``order.agree`` is the share of them that agree, 0 where there are none; ``order.missing`` is 1 there;
    ``order.signed`` is the mean agreement from -1 to 1, 0 where there are none.
    """
    option, judge = answers.option[rows], answers.table.judge[rows]
    same, same_count = _same_order(answers, rows)
    total = answers.agreeing[option, judge] - same
    count = answers.counts[option, judge] - same_count
    share = total / np.maximum(count, 1)
    return {
        "order.agree": Column.full(np.where(count > 0, share, 0.0)),
        "order.missing": Column.full(count == 0),
        "order.signed": Column.full(np.where(count > 0, 2 * share - 1, 0.0)),
    }


def version_columns(answers: Answers, rows: Indices) -> dict[str, Column]:
    """``versions.support``: mean agreement (-1 to 1) of other judges that are the same model; absent without any."""
    signed, given = answers.signed, (answers.counts > 0).astype(np.float64)
    models = np.array(answers.models)
    option, judge = answers.option[rows], answers.table.judge[rows]
    values, present = np.zeros(len(rows)), np.zeros(len(rows))
    for number in np.unique(judge):
        others = models == models[number]
        others[number] = False
        at = judge == number
        values[at] = signed[:, others].sum(axis=1)[option[at]]
        present[at] = given[:, others].sum(axis=1)[option[at]]
    return {"versions.support": Column.where(values / np.maximum(present, 1), present > 0)}


def _same_order(answers: Answers, rows: Indices) -> tuple[Floats, Floats]:
    """[n] agreeing verdicts and all verdicts of the judge in the row's order, the row itself included."""
    record = answers.compared_record
    key = _key(answers, answers.compared_option, record)
    mine = _key(answers, answers.option[rows], rows)
    names, place = np.unique(np.concatenate([key, mine]), return_inverse=True)
    place = place.ravel()
    total = np.bincount(place[: len(key)], weights=answers.agrees, minlength=len(names)).astype(np.float64)
    count = np.bincount(place[: len(key)], minlength=len(names)).astype(np.float64)
    mine_at = place[len(key) :]
    return total[mine_at], count[mine_at]


def _key(answers: Answers, option: Indices, record: Indices) -> Indices:
    orders = int(answers.table.order.max(initial=0)) + 1
    return np.asarray(
        (option * len(answers.table.judges) + answers.table.judge[record]) * orders + answers.table.order[record]
    )


POINTS = 21
"""A judge's distribution of grades is kept as so many quantiles."""


class ScaleUse(Frozen):
    """How one judge uses its scale; calibrations store it.

    Attributes:
        sd: their standard deviation, 0 where all are equal.
        quantiles: evenly spaced from the lowest grade to the highest.
    """

    mean: float
    sd: float
    quantiles: tuple[float, ...]

    def rank(self, values: Floats) -> Floats:
        """The share of the judge's grades below each value, plus half of those equal to it; in [0, 1]."""
        points = np.array(self.quantiles)
        low, high = np.searchsorted(points, values), np.searchsorted(points, values, side="right")
        return np.asarray((low + high) / (2 * len(points)))


def scale_uses(answers: Answers) -> dict[str, ScaleUse]:
    """Scale use of every judge whose verdicts are numbers: grades, ordered categories, pass and fail."""
    found = {}
    for at, judge in enumerate(answers.table.judges):
        values = answers.number[(answers.table.judge == at) & np.isfinite(answers.number)]
        if len(values):
            points = np.quantile(values, np.linspace(0, 1, POINTS), method="inverted_cdf")
            found[judge] = ScaleUse(mean=values.mean(), sd=values.std(), quantiles=tuple(points.tolist()))
    return found


def scale_columns(answers: Answers, rows: Indices, uses: Mapping[str, ScaleUse]) -> dict[str, Column]:
    """The grade itself, among its judge's grades and among its peers'; absent where a verdict is no number.

    - ``scale.value``: the grade.
    - ``scale.level``: its distance from the judge's mean, in the judge's standard deviations.
    - ``scale.rank``: its rank among the judge's grades, 0 to 1.
    - ``scale.mean``, ``scale.sd``: the judge's severity and spread.
    - ``scale.gap``, ``scale.distance``: mean of the peers' grades on the item less this one, and its absolute value.
    - ``scale.median``: absolute difference from the peers' median.
    - ``scale.level_gap``: the same difference as ``scale.gap`` in levels, so that severity plays no part.
    - ``scale.spread``: standard deviation of the peers' grades.
    """
    value, judge = answers.number[rows], answers.table.judge[rows]
    known = np.isfinite(value)
    nothing = ScaleUse(mean=0.0, sd=0.0, quantiles=(0.0,))
    uses_of = [uses.get(name, nothing) for name in answers.table.judges]
    named = np.array([name in uses for name in answers.table.judges], dtype=bool)[judge] & known
    mean, sd = (np.array([getattr(use, what) for use in uses_of]) for what in ("mean", "sd"))
    level = (np.nan_to_num(value) - mean[judge]) / np.where(sd > 0, sd, 1.0)[judge]
    rank = np.zeros(len(rows))
    for number in np.unique(judge):
        at = judge == number
        rank[at] = uses_of[number].rank(np.nan_to_num(value[at]))
    columns = {
        "scale.value": Column.where(np.nan_to_num(value), known),
        "scale.level": Column.where(level, named),
        "scale.rank": Column.where(rank, named),
        "scale.mean": Column.where(mean[judge], named),
        "scale.sd": Column.where(sd[judge], named),
    }
    grid = item_means(answers)
    levels = (grid - mean) / np.where(sd > 0, sd, 1.0)
    item = answers.table.item[rows]
    peers, peer_levels = grid[item], levels[item]
    peers[np.arange(len(rows)), judge] = peer_levels[np.arange(len(rows)), judge] = np.nan
    there = known & np.isfinite(peers).any(axis=1)
    count = np.maximum(np.isfinite(peers).sum(axis=1), 1)
    average = np.nansum(peers, axis=1) / count
    gap, level_gap = average - np.nan_to_num(value), np.nansum(peer_levels, axis=1) / count - level
    middle = np.zeros(len(rows))
    middle[there] = np.abs(np.nanmedian(peers[there], axis=1) - value[there])
    spread = np.sqrt(np.nansum((peers - average[:, None]) ** 2, axis=1) / count)
    return columns | {
        "scale.gap": Column.where(gap, there),
        "scale.distance": Column.where(np.abs(gap), there),
        "scale.median": Column.where(middle, there),
        "scale.level_gap": Column.where(level_gap, there & named),
        "scale.spread": Column.where(spread, there),
    }


def item_means(answers: Answers) -> Floats:
    """[items, judges] the mean grade, NaN where a judge gave none."""
    shape = (len(answers.table.question), len(answers.table.judges))
    total, count = np.zeros(shape), np.zeros(shape)
    known = np.isfinite(answers.number)
    np.add.at(total, (answers.table.item[known], answers.table.judge[known]), answers.number[known])
    np.add.at(count, (answers.table.item[known], answers.table.judge[known]), 1.0)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def question_columns(answers: Answers, rows: Indices) -> dict[str, Column]:
    """How a grade stands among the judge's grades of the question's other responses.

    - ``question.contrast``: the grade less the judge's mean over the question's other responses.
    - ``question.peers``: the same of the peers, on average.
    - ``question.order``: 1 where both have the same sign, -1 where they differ, 0 where either is 0.

    Absent where the judge, or every peer, graded fewer than two responses of the question.
    """
    grid = item_means(answers)
    contrast = _contrasts(grid, answers.table.question)
    item, judge = answers.table.item[rows], answers.table.judge[rows]
    own, mine = contrast[item, judge], np.arange(len(rows))
    peers = contrast[item]
    peers[mine, judge] = np.nan
    count = np.isfinite(peers).sum(axis=1)
    average = np.nansum(peers, axis=1) / np.maximum(count, 1)
    graded = np.isfinite(own) & np.isfinite(answers.number[rows])
    both = graded & (count > 0)
    return {
        "question.contrast": Column.where(np.nan_to_num(own), graded),
        "question.peers": Column.where(average, both),
        "question.order": Column.where(np.sign(np.round(np.nan_to_num(own) * average, 12)), both),
    }


def _contrasts(grid: Floats, question: Indices) -> Floats:
    """[items, judges] an item's grade less the mean of the question's other items, NaN without others."""
    size = int(question.max(initial=-1)) + 1
    total, count = np.zeros((size, grid.shape[1])), np.zeros((size, grid.shape[1]))
    np.add.at(total, question, np.nan_to_num(grid))
    np.add.at(count, question, np.isfinite(grid))
    others = count[question] - 1
    mean = (total[question] - np.nan_to_num(grid)) / np.maximum(others, 1)
    return np.where(np.isfinite(grid) & (others > 0), grid - mean, np.nan)
