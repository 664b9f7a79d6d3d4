"""Consensus on rankings, grades and categories: who agrees with an answer.

The same judge again, in another order, or under another prompt of its model is no peer: its agreement is stability.
"""

import numpy as np

from metajudge.evidence.answers import Answers
from metajudge.evidence.consensus import Column
from metajudge.stats.arrays import Bools, Floats, Indices

MOST_VOICES = 64
"""With more judges than this, models are voices instead; with more models, there are none."""


MOST_SPLIT = 100
"""Up to so many judges times sides, a judge's votes are also told apart by what they say."""


def answer_columns(answers: Answers, rows: Indices) -> dict[str, Column]:
    """What the judges say about each row's answer.

    - ``peers.support``: mean agreement of the other judges, one vote each, from -1 to 1; absent without peers.
    - ``peers.votes``: the mean of its signs.
    - ``peers.none``: 1 where no peer gave a comparable verdict.
    - ``peers.rival``: the largest share of the peers that agree on one other answer.
    - ``voices.NAME``: agreement of one judge (one model, where there are many judges), from -1 to 1, this judge's own
      records included; absent where it gave no comparable verdict.
    - ``voices.NAME@SIDE``: the part of it that comes from its records with this answer: a judge that nearly always says
      "pass" says little by it, and much by "fail".
    - ``consensus.sum``: judges that agree less those that agree on the strongest other answer.
    - ``consensus.missing``: share of the item's records that have no verdict.
    """
    option, judge = answers.option[rows], answers.table.judge[rows]
    given, share, signed = answers.counts > 0, answers.share, answers.signed
    columns = {
        "consensus.sum": Column.full(_margin(answers, share.sum(axis=1))[option]),
        "consensus.missing": Column.full(_missing(answers)[answers.table.item[rows]]),
    }
    found = {name: np.zeros(len(rows)) for name in ("support", "votes", "none", "rival")}
    for number in np.unique(judge):
        at = np.flatnonzero(judge == number)
        peers, options = np.arange(len(answers.table.judges)) != number, option[at]
        many = given[:, peers].sum(axis=1)
        some = np.maximum(many, 1)
        found["support"][at] = (signed[:, peers].sum(axis=1) / some)[options]
        found["votes"][at] = (np.sign(signed[:, peers]).sum(axis=1) / some)[options]
        found["none"][at] = many[options] == 0
        found["rival"][at] = answers.strongest_rival(share[:, peers].sum(axis=1) / some)[options]
    some_peers = found["none"] == 0
    columns |= {f"peers.{name}": Column.where(values, some_peers) for name, values in found.items() if name != "none"}
    return columns | {"peers.none": Column.full(found["none"])} | _voices(answers, option, signed, given)


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
    columns, record, of = {}, answers.compared_record, answers.compared_option
    by_side = len(set(names)) * len(answers.sides) <= MOST_SPLIT
    for name in sorted(set(names)):
        member = np.array([one == name for one in names])
        many = given[:, member].sum(axis=1)
        mean = signed[:, member].sum(axis=1) / np.maximum(many, 1)
        columns[f"voices.{name}"] = Column.where(mean[option], many[option] > 0)
        mine = member[answers.table.judge[record]]
        count = np.maximum(np.bincount(of[mine], minlength=answers.options), 1)
        for place, side in enumerate(answers.sides if by_side else ()):
            at = mine & (answers.side[record] == place)
            total = np.bincount(of[at], 2 * answers.agrees[at] - 1, answers.options)
            columns[f"voices.{name}@{side}"] = Column.where((total / count)[option], many[option] > 0)
    return columns


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
