"""Stability: does the judge say the same again, and does its model under another prompt?"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from metajudge.evidence.comparison import RecordedVerdict, agreement, comparable_verdict, same_subject
from metajudge.types import AnyVerdict, Judgment, Right, SignalValue


def repeat_agreement(judgment: Judgment, recorded: Iterable[RecordedVerdict], rule: Right) -> SignalValue:
    """Compares the verdict with the same judge's other verdicts on the same responses in the same order.

    Agreement with oneself is no proof: a judge repeats its mistakes, too.

    Args:
        judgment: the judgment in question, counted once among ``recorded`` if an equal verdict is there.
        recorded: verdicts on the same item, of any judge.
        rule: what counts as right for the kind of the verdict.

    Returns:
        The share of the other verdicts that agree minus the share that disagree, in [-1, 1], as ``agree``, ``mixed``
        or ``disagree``; absent as ``missing`` (judged once), or with a state of
        :func:`~metajudge.evidence.comparison.comparable_verdict`.
    """
    own = comparable_verdict(judgment, rule)
    if isinstance(own, SignalValue):
        return own
    mine = Counter(
        other.verdict
        for other in recorded
        if other.judge == judgment.judge and other.order == judgment.order and other.verdict is not None
    )
    mine[own] -= 1
    found = [sign for verdict in mine.elements() for sign in _signs(own, [verdict], rule)]
    if not found:
        return SignalValue(value=None, state="missing", detail="the judge was asked once")
    return _stability(found, "other verdicts of this judge")


def variant_agreement(
    judgment: Judgment, recorded: Iterable[RecordedVerdict], rule: Right, variants: Collection[str]
) -> SignalValue:
    """Compares the verdict with those of the same model under other prompts or versions of the prompt.

    Args:
        judgment, recorded, rule: as for :func:`repeat_agreement`.
        variants: names of the judges that are the same model.

    Returns:
        As :func:`repeat_agreement` does, each variant with one vote, the mean of its verdicts; absent as ``missing``
        where there is none.
    """
    own = comparable_verdict(judgment, rule)
    if isinstance(own, SignalValue):
        return own
    by_judge: defaultdict[str, list[int]] = defaultdict(list)
    for other in recorded:
        if other.judge in variants and other.judge != judgment.judge and same_subject(judgment, other):
            by_judge[other.judge] += _signs(own, [other.verdict], rule)
    votes = [sum(signs) / len(signs) for _, signs in sorted(by_judge.items()) if signs]
    if not votes:
        return SignalValue(value=None, state="missing", detail="the judge's model was asked with one prompt only")
    return _stability(votes, "other prompts of this model")


def _signs(own: AnyVerdict, others: Iterable[AnyVerdict | None], rule: Right) -> list[int]:
    compared = (agreement(own, other, rule) for other in others if other is not None)
    return [sign for sign in compared if sign is not None]


def _stability(votes: Sequence[float], what: str) -> SignalValue:
    value = sum(votes) / len(votes)
    state = "agree" if value == 1 else "disagree" if value == -1 else "mixed"
    agreeing = sum(vote > 0 for vote in votes)
    return SignalValue(value=value, state=state, detail=f"{agreeing} of {len(votes)} {what} agree")
