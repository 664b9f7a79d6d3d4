"""Order within a question: do a judge and its peers order the responses of one question alike?"""

import numpy as np

from metajudge.evidence.answers import AnswerRows, Answers
from metajudge.evidence.consensus import Column
from metajudge.evidence.scale_use import item_means
from metajudge.stats.arrays import Floats, Indices


def question_columns(answers: Answers, rows: AnswerRows) -> dict[str, Column]:
    """How a grade stands among the judge's grades of the question's other responses.

    - ``question.contrast``: the grade less the judge's mean over the question's other responses.
    - ``question.peers``: the same of the peers, on average.
    - ``question.order``: 1 where both have the same sign, -1 where they differ, 0 where either is 0.

    Absent where the judge, or every peer, graded fewer than two responses of the question.
    """
    grid = item_means(answers)
    contrast = _contrasts(grid, answers.question)
    item, judge = answers.item[rows.record], answers.judge[rows.record]
    own, mine = contrast[item, judge], np.arange(len(rows))
    peers = contrast[item]
    peers[mine, judge] = np.nan
    count = np.isfinite(peers).sum(axis=1)
    average = np.nansum(peers, axis=1) / np.maximum(count, 1)
    graded = np.isfinite(own) & np.isfinite(answers.number[rows.record])
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
