"""Scale use: how severe a judge is, how widely it grades, and where a grade stands among its others."""

from collections.abc import Mapping

import numpy as np

from metajudge.evidence.answers import Answers
from metajudge.evidence.consensus import Column
from metajudge.stats.arrays import Floats, Indices
from metajudge.types.frozen import Frozen

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
