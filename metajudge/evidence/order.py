"""Order consistency: does the judge say the same when the responses change places?"""

import numpy as np

from metajudge.evidence.comparison import decided_verdict, stance
from metajudge.evidence.grouping import Interned, Key, compared, joined
from metajudge.evidence.verdicts import SignalColumn, Verdicts
from metajudge.stats.arrays import Bools, Ints
from metajudge.types import AnyVerdict, SignalValue


def order_consistency(facts: Verdicts) -> SignalColumn:
    """Compares each verdict with the same judge's verdict on the same responses in another order.

    For a pair the other order is the reversed one; for more responses any other order of the same ones counts.
    Several verdicts are combined by the majority of their signs (same winner +1, another winner -1, tie 0).
    Strength plays no part.

    Agreement is no proof: a weak judge on adversarial items agrees with itself and is wrong (LLMBar).

    Returns:
        1 ``agree``, -1 ``disagree``, 0 ``other_tied``; absent as ``missing`` (never judged in another order),
        ``other_no_verdict`` (judged, without a verdict), ``own_tied``, ``grade`` or ``no_verdict``.
    """
    undecided = [decided_verdict(one) for one in (*facts.verdicts, None)]
    decided = np.array([not isinstance(one, SignalValue) for one in undecided])[facts.verdict]
    asked, count, total, first = _others(facts, np.flatnonzero(decided))
    key = Key.of(np.where(decided, 0, 2 + facts.verdict), len(facts.verdicts) + 2)
    key = key.then(asked.astype(np.int64), 2).then(count, len(facts) + 1).then(total + 1, 3)
    place, rows = key.then(np.where(count == 1, first, 0), len(facts.verdicts)).distinct()
    values = Interned[SignalValue]()
    codes = []
    for row in rows.tolist():
        found = undecided[facts.verdict[row]]
        if not isinstance(found, SignalValue):
            verdict = facts.verdicts[int(first[row])]
            found = _combined(bool(asked[row]), int(count[row]), int(total[row]), verdict)
        codes.append(values.code(found))
    return SignalColumn(np.array(codes, dtype=np.int32)[place], values.values)


def _others(facts: Verdicts, rows: Ints) -> tuple[Bools, Ints, Ints, Ints]:
    """What the judges of rows said in other orders; nothing of the rows that are not named.

    Returns:
        [n] each: whether there is a record in another order, how many verdicts can be compared, the sign of the sum of
        their signs, and the first verdict there.
    """
    size, order, verdict = len(facts), facts.order, facts.verdict
    shown = facts.shown[order]
    asked, count = np.zeros(size, dtype=bool), np.zeros(size, dtype=np.int64)
    total, first = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    key = Key.of(facts.item, len(facts.items)).then(facts.judge, len(facts.judges)).dense()
    for part, of, other in joined(key.codes[rows], key.codes, key.bound):
        some = rows[part]
        kept = (order[some[of]] != order[other]) & (shown[some[of]] == shown[other])
        asked[some[of[kept]]] = True
        kept &= verdict[other] >= 0
        of, said = of[kept], verdict[other[kept]]
        signs = compared(verdict[some[of]], said, facts.verdicts, facts.verdicts, stance)
        # Assigned last to first, so that the first verdict stays.
        first[some[of[::-1]]] = said[::-1]
        known = ~np.isnan(signs)
        count[some] = np.bincount(of[known], minlength=len(some))
        total[some] = np.sign(np.bincount(of[known], signs[known], len(some)))
    return asked, count, total, first


def _combined(asked: bool, count: int, total: int, first: AnyVerdict) -> SignalValue:
    """The signal from the verdicts in other orders.

    Args:
        total: sign of the sum of their signs.
    """
    if not asked:
        return SignalValue(value=None, state="missing", detail="the judge was not asked in another order")
    if not count:
        return SignalValue(
            value=None, state="other_no_verdict", detail="in the other order the judge gave no comparable verdict"
        )
    detail = f"other order: {first}" if count == 1 else f"majority of {count} verdicts"
    state = "agree" if total > 0 else "disagree" if total < 0 else "other_tied"
    return SignalValue(value=float(total), state=state, detail=detail)
