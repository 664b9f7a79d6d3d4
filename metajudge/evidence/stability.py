"""Stability: the same judge again, in another order, or by another prompt or version of its model."""

import numpy as np

from metajudge.evidence.answers import Answers
from metajudge.evidence.consensus import Column
from metajudge.stats.arrays import Floats, Indices


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
    total = answers.totals(np.ones(len(answers.table.item)))[option, judge] - same
    count = answers.counts()[option, judge] - same_count
    share = total / np.maximum(count, 1)
    return {
        "order.agree": Column.full(np.where(count > 0, share, 0.0)),
        "order.missing": Column.full(count == 0),
        "order.signed": Column.full(np.where(count > 0, 2 * share - 1, 0.0)),
    }


def version_columns(answers: Answers, rows: Indices) -> dict[str, Column]:
    """``versions.support``: mean agreement (-1 to 1) of other judges that are the same model; absent without any."""
    counts = answers.counts()
    share = answers.totals(np.ones(len(answers.table.item))) / np.maximum(counts, 1)
    signed, given = np.where(counts > 0, 2 * share - 1, 0.0), (counts > 0).astype(np.float64)
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
