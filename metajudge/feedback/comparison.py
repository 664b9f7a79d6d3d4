"""Agreement with people before and after a drafted change, on the records held out of it, paired by record."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from pydantic import ConfigDict, Field

from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.feedback.cases import DecidedCase, moved_score
from metajudge.feedback.drafts import Draft
from metajudge.stats.bootstrap import Ratio, bootstrap_difference
from metajudge.types.figure import Figure
from metajudge.types.frozen import Frozen
from metajudge.types.spent import Calls

CONFIDENCE = 0.99
"""Of the intervals: stricter than usual, since several drafts may be tried on the same records."""
FEWEST_QUESTIONS = 10
RESAMPLES = 4_000
BOOTSTRAP = "bootstrap over questions, paired by record"
NO_SPREAD = "every record moved alike, so a bootstrap has no spread: how others would move is not known from it"
Pairs = Sequence[tuple[DecidedCase, DecidedCase]]
Measure = Callable[[DecidedCase, DecidedCase], float | None]
"""A record as it is or as the draft makes it, and the record as it is -> a number, None where it has none."""


class _Means(Frozen):
    definition: str
    before: float
    after: float


class Paired(Figure, _Means):
    """One figure before and after, with the interval of the difference.

    Attributes:
        value: after less before, stored as ``difference``, with its interval at :attr:`Comparison.confidence`.
        n: records in it.
        method: how the interval was made, and what it does not say.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    value: float = Field(alias="difference")
    n: int
    questions: int
    method: str = BOOTSTRAP


class _Drafted(Frozen):
    draft_id: str
    better: bool
    reason: str
    records: int
    agreement: Paired | None = None
    score_error: Paired | None = None
    confidence_error: Paired | None = None
    left_out: dict[str, int] = Field(default_factory=dict)
    confidence: float = CONFIDENCE
    seed: int = 0
    judges: dict[str, str] = Field(default_factory=dict)


class Comparison(Calls, _Drafted):
    """What a draft changes, on records held out of it.

    Attributes:
        better: whether the score error improved beyond noise and agreement did not get worse
            beyond noise.
        agreement: share of records where the action agrees with people's decisions; None where too few have one.
        score_error: mean absolute difference from people's score of the draft's criterion; None where too few have one.
        confidence_error: mean squared difference of confidence from whether the score held, in records of earlier
            versions.
        left_out: reason -> records that could not be compared.
        judges: judge -> model that judged anew.
    """


def compare(
    draft: Draft, base: Policy, pairs: Pairs, *, left_out: Mapping[str, int] | None = None, seed: int = 0
) -> Comparison:
    """Compares the held-out records as they are with what the draft makes of them.

    Args:
        base: the version in force, by which ``before`` was decided.
        pairs: each record before and after, with people's decisions and the machine's numbers and action.

    Raises:
        InputError: too few records to say anything.
    """
    questions = {before.question for before, _ in pairs}
    if len(questions) < FEWEST_QUESTIONS:
        raise InputError(
            f"{len(pairs)} held-out records about {len(questions)} questions are too few to compare: at least "
            f"{FEWEST_QUESTIONS} questions are needed; review more cases, then draft again{_lost(left_out or {})}"
        )
    agreement = _paired(
        pairs, _agreed, "records where the action agrees with people's decision / records decided", seed
    )
    score = None if draft.pattern is None else _score_error(base, draft, draft.pattern.where, pairs, seed)
    better, reason = _verdict(score, agreement)
    return Comparison(
        draft_id=draft.draft_id,
        better=better,
        reason=reason,
        records=len(pairs),
        agreement=agreement,
        score_error=score,
        left_out=dict(left_out or {}),
        seed=seed,
    )


def _lost(left_out: Mapping[str, int]) -> str:
    """What else there was, for an error message."""
    found = "; ".join(f"{count} left out: {reason}" for reason, count in left_out.items() if count)
    return f" ({found})" if found else ""


def _score_error(base: Policy, draft: Draft, criterion: str, pairs: Pairs, seed: int) -> Paired | None:
    def error(case: DecidedCase, recorded: DecidedCase) -> float | None:
        people = recorded.people_score(criterion)
        own = moved_score(base if case is recorded else draft.policy, criterion, case.criteria.get(criterion))
        return None if people is None or own is None else abs(own - people)

    definition = f"mean |score - people's score| of {criterion}, on records where people corrected it or let it stand"
    return _paired(pairs, error, definition, seed)


def _agreed(case: DecidedCase, _recorded: DecidedCase) -> float | None:
    return None if case.agreed is None else float(case.agreed)


def _paired(pairs: Pairs, figure: Measure, definition: str, seed: int) -> Paired | None:
    """Means before and after over the records that have both; None with fewer than the fewest questions."""
    rows = []
    for recorded, after in pairs:
        first, second = figure(recorded, recorded), figure(after, recorded)
        if first is not None and second is not None:
            rows.append((first, second, recorded))
    questions = [recorded.question for _, _, recorded in rows]
    if len(set(questions)) < FEWEST_QUESTIONS:
        return None
    weight = np.array([recorded.weight for _, _, recorded in rows])
    old, new = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    found = bootstrap_difference(
        Ratio(new * weight, weight),
        Ratio(old * weight, weight),
        questions,
        rng=np.random.default_rng([seed, len(rows)]),
        resamples=RESAMPLES,
        confidence=CONFIDENCE,
    )
    return Paired(
        definition=definition,
        before=float(np.average(old, weights=weight)),
        after=float(np.average(new, weights=weight)),
        difference=found.estimate,
        low=found.low,
        high=found.high,
        n=len(rows),
        questions=len(set(questions)),
        method=NO_SPREAD if np.ptp(new - old) == 0 else BOOTSTRAP,
    )


def _verdict(main: Paired | None, agreement: Paired | None) -> tuple[bool, str]:
    if main is None:
        return False, f"too few held-out records to measure the score error: at least {FEWEST_QUESTIONS} questions"
    low, high = main.interval
    change = (
        f"score error {main.before:.3g} before, {main.after:.3g} after: {main.value:+.3g} "
        f"({low:+.3g} to {high:+.3g}, {100 * CONFIDENCE:g} %, n = {main.n})"
    )
    if high >= 0:
        return False, f"{change}: not better beyond noise"
    if agreement is not None and agreement.interval[1] < 0:
        return (
            False,
            f"{change}, but agreement with people gets worse beyond noise ({100 * agreement.value:+.1f} points)",
        )
    return True, change
