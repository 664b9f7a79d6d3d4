"""Changes of a policy: a drafted instruction and how it compares with people, a proposal, and who put one in force.

A pattern in people's corrections says that a criterion is scored too high or too low. A draft answers it with a whole
new policy, in which judges are told more about the criterion. It is made of one half of the corrected records, by
question; the other half is held out, so that the comparison, paired by record, is about records the draft has not seen.
Its text is a template filled with people's reasons, unless a model writes it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
from pydantic import ConfigDict, Field

from metajudge.decision.policy import Policy
from metajudge.errors import InputError
from metajudge.feedback.backtest import Backtest, ChangeKind
from metajudge.feedback.cases import FEWEST_CORRECTIONS, DecidedCase, Direction, moved_score
from metajudge.feedback.metrics import Pattern
from metajudge.rubric.model import Criterion
from metajudge.stats.bootstrap import Ratio, bootstrap_difference
from metajudge.types import digest
from metajudge.types.figure import Figure
from metajudge.types.frozen import Frozen
from metajudge.types.spent import Calls

TEMPLATE = "template"
"""Who wrote a draft's text where no model did."""

MOST_REASONS = 5
LONGEST_REASON = 200


class DraftKind(StrEnum):
    """What a draft changes; all but an instruction are of earlier versions."""

    OFFSET = "offset"
    LEVELS = "levels"
    INSTRUCTION = "instruction"
    """A further instruction to judges about a criterion, so that they are asked anew."""
    CONFIDENCE = "confidence"


class Draft(Frozen):
    """A drafted version of a policy, unused until it was compared and is activated.

    Attributes:
        base_digest: the version it would replace; ``policy`` is the new one, whole.
        change: in words.
        pattern: what in people's corrections it answers; None in some of earlier versions.
        drafted_on, held_out: ids of the reviews it was made of, and of those it is to be compared on.
        quotes: ids of the cases whose reviewers' reasons its texts may repeat; ``metajudge forget`` reaches them.
        written_by: ``template``, or the model that wrote its texts.
        created_at: seconds since the epoch.
    """

    draft_id: str
    name: str
    base_digest: str
    kind: DraftKind
    change: str
    policy: Policy
    pattern: Pattern | None = None
    drafted_on: tuple[str, ...]
    held_out: tuple[str, ...]
    quotes: tuple[str, ...] = ()
    written_by: str = TEMPLATE
    created_at: float = Field(ge=0)


@dataclass(frozen=True, slots=True)
class Correction:
    """One record's correction of a criterion: the machine's score, people's, and their reasons."""

    machine: float
    people: float
    reasons: tuple[str, ...]


def draft_id(base_digest: str, policy: Policy, drafted_on: Sequence[str]) -> str:
    """The same change made of the same records is the same draft."""
    return digest(["draft", base_digest, policy.digest, list(drafted_on)])[:12]


def halves(cases: Sequence[DecidedCase], seed: int) -> tuple[list[DecidedCase], list[DecidedCase]]:
    """The cases to draft on and those held out, by question: a draw from the seed and the question alone."""
    draws = [int(digest(["draft", seed, case.question])[:13], 16) % 2 for case in cases]
    return (
        [case for case, draw in zip(cases, draws, strict=True) if draw == 0],
        [case for case, draw in zip(cases, draws, strict=True) if draw == 1],
    )


def corrections(cases: Sequence[DecidedCase], criterion: str) -> list[Correction]:
    """People's corrections of a criterion."""
    found = []
    for case in cases:
        if criterion in case.corrected and criterion in case.criteria:
            about = [one for one in case.decisions if criterion in (one.scores or {})]
            reasons = tuple(" ".join(one.reason.split())[:LONGEST_REASON] for one in about if one.reason.strip())
            found.append(Correction(case.criteria[criterion], case.corrected[criterion], reasons))
    return found


def reasons_of(found: Sequence[Correction]) -> tuple[str, ...]:
    """People's reasons, each once, in the order given, at most :data:`MOST_REASONS`."""
    return tuple(dict.fromkeys(reason for one in found for reason in one.reasons))[:MOST_REASONS]


def mean_shift(found: Sequence[Correction]) -> float:
    """People's score less the machine's, mean.

    Raises:
        InputError: too few corrections to draft on.
    """
    if len(found) < FEWEST_CORRECTIONS:
        raise InputError(
            f"{len(found)} corrections to draft on are too few: at least {FEWEST_CORRECTIONS} are needed in the half "
            "that is not held out"
        )
    return sum(one.people - one.machine for one in found) / len(found)


def instruction_text(criterion: Criterion, found: Sequence[Correction]) -> str:
    """An instruction to judges from people's corrections and reasons."""
    shift = mean_shift(found)
    way = "too high" if shift < 0 else "too low"
    text = (
        f"People who checked earlier evaluations found that {criterion.name} ({criterion.title}) was scored {way}, by "
        f"{abs(shift):.2g} points on average. "
    )
    reasons = reasons_of(found)
    if not reasons:
        return text + "Check each claim under this criterion before you settle on its score."
    listed = "\n".join(f"- {reason}" for reason in reasons)
    return f"{text}Before you settle on its score, look for what they pointed to:\n{listed}"


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
    lost = {reason: count for reason, count in (left_out or {}).items() if count}
    questions = {before.question for before, _ in pairs}
    if len(questions) < FEWEST_QUESTIONS:
        others = "; ".join(f"{count} left out: {reason}" for reason, count in lost.items())
        raise InputError(
            f"{len(pairs)} held-out records about {len(questions)} questions are too few to compare: at least "
            f"{FEWEST_QUESTIONS} questions are needed; review more cases, then draft again"
            f"{f' ({others})' if others else ''}"
        )
    decided = "records where the action agrees with people's decision / records decided"
    agreement = _paired(pairs, lambda case, _: None if case.agreed is None else float(case.agreed), decided, seed)
    score, criterion = None, "" if draft.pattern is None else draft.pattern.where

    def error(case: DecidedCase, recorded: DecidedCase) -> float | None:
        people = recorded.people_score(criterion)
        own = moved_score(base if case is recorded else draft.policy, criterion, case.criteria.get(criterion))
        return None if people is None or own is None else abs(own - people)

    if criterion:
        what = f"mean |score - people's score| of {criterion}, on records where people corrected it or let it stand"
        score = _paired(pairs, error, what, seed)
    better, reason = _verdict(score, agreement)
    return Comparison(
        draft_id=draft.draft_id,
        better=better,
        reason=reason,
        records=len(pairs),
        agreement=agreement,
        score_error=score,
        left_out=lost,
        seed=seed,
    )


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
        points = f"{100 * agreement.value:+.1f} points"
        return False, f"{change}, but agreement with people gets worse beyond noise ({points})"
    return True, change


class Proposal(Frozen):
    """A new version of a policy, unused until it is activated.

    Attributes:
        base_digest: the version it would replace; ``policy`` is the new one, whole.
        change: in words.
        patterns: what in people's decisions suggested it.
        cases: ids of the decided cases it was fitted on.
        created_at: seconds since the epoch.
    """

    proposal_id: str
    name: str
    base_digest: str
    kind: ChangeKind
    direction: Direction
    change: str
    policy: Policy
    patterns: tuple[Pattern, ...]
    backtest: Backtest
    cases: tuple[str, ...]
    created_at: float
    status: Literal["proposed", "refused"]


class Activation(Frozen):
    """The audit record of a policy version put in force.

    Attributes:
        by: who did it; at: seconds since the epoch.
        proposal_id: of the proposal, or of the draft.
        backtest: the evidence at that time; None for a draft, whose evidence is ``comparison``.
        reason: in that person's words.
    """

    name: str
    proposal_id: str
    base_digest: str
    digest: str
    by: str = Field(min_length=1, max_length=200)
    at: float
    reason: str = ""
    backtest: Backtest | None = None
    comparison: Comparison | None = Field(default=None, exclude_if=lambda given: given is None)
    policy: Policy

    @property
    def evidence(self) -> str:
        """The evidence in words."""
        found = self.comparison if self.backtest is None else self.backtest
        return "no evidence recorded" if found is None else found.reason
