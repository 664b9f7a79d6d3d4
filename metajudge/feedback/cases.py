"""Decided cases: the automatic decision, people's decisions, and the numbers behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from metajudge.cases.quotes import QuoteCount
from metajudge.cases.records import LABEL
from metajudge.cases.result import kept_result, mean_scores, quotes_in
from metajudge.decision.deciding import action_of
from metajudge.decision.policy import Policy
from metajudge.decision.profile import CasePlan, category_key
from metajudge.reviews.agreement import label_of
from metajudge.reviews.review import HumanDecision, Outcome, ReviewState
from metajudge.types.decision import Absent

APPROVED, REJECTED = "APPROVE", "REJECT"
FEWEST_CORRECTIONS = 5
"""So many corrected scores of a criterion are needed to say anything of it."""


class Direction(StrEnum):
    """In which way machine and people disagree."""

    TOO_LENIENT = "too_lenient"
    """Approved, and people judge it wrong."""
    TOO_STRICT = "too_strict"
    """Rejected, and people judge it right."""
    NEEDLESS_REVIEW = "needless_review"
    """Sent to people, who had nothing to change."""


@dataclass(frozen=True, slots=True)
class DecidedCase:
    """One case that people decided.

    Attributes:
        question: the unit of independence: an item's digest or id.
        action: what the policy decided.
        right: whether the verdict (or the case's output) is right by people's majority; None where undecided.
        truth: the item's true label, None where it has none; metrics of people's judgment do not use it.
        inclusion: probability with which such a case was reviewed; statistics weigh by its inverse.
        quotes: share of the judges' quotes that stand in the texts, in [0, 1]; None where it is not known.
        criteria: criterion -> the machine's score (mean over agents), with the weights it was combined with;
            ``corrected``: people's.
        decisions: people's decisions, with reasons.
        review_id: of the review that people decided; None where there was none.
    """

    case_id: str
    question: str
    action: str
    right: bool | None
    decisions: tuple[HumanDecision, ...]
    judge: str | None = None
    category: str | None = None
    policy: str | None = None
    policy_digest: str | None = None
    score: float | None = None
    probability: float | None = None
    confidence: float | None = None
    quotes: float | None = None
    truth: bool | None = None
    inclusion: float = 1.0
    criteria: Mapping[str, float] = field(default_factory=dict)
    criterion_weights: Mapping[str, float] = field(default_factory=dict)
    corrected: Mapping[str, float] = field(default_factory=dict)
    review_id: str | None = None

    @property
    def weight(self) -> float:
        return 1.0 / self.inclusion

    @property
    def review_was_needed(self) -> bool | None:
        """Whether people changed or rejected anything; None where undecided."""
        outcomes = {one.outcome for one in self.decisions} - {Outcome.CANNOT_TELL}
        return None if not outcomes else outcomes != {Outcome.APPROVE}

    def people_score(self, criterion: str) -> float | None:
        """People's score of a criterion: their correction, or the machine's where they let it stand.

        None where they rejected the case or could not tell, which says nothing about one criterion.
        """
        if criterion in self.corrected:
            return self.corrected[criterion]
        kept = {one.outcome for one in self.decisions} - {Outcome.CANNOT_TELL}
        return self.criteria.get(criterion) if kept and kept <= {Outcome.APPROVE, Outcome.MODIFY} else None

    @property
    def disagreement(self) -> Direction | None:
        """How machine and people disagree, None where they agree or it is undecided."""
        if self.action == APPROVED:
            return Direction.TOO_LENIENT if self.right is False else None
        if self.action == REJECTED:
            return Direction.TOO_STRICT if self.right is True else None
        return Direction.NEEDLESS_REVIEW if self.review_was_needed is False else None

    @property
    def agreed(self) -> bool | None:
        """Whether machine and people agree; None where people are undecided."""
        known = self.right if self.action in (APPROVED, REJECTED) else self.review_was_needed
        return None if known is None else self.disagreement is None


def decided_case(state: ReviewState) -> DecidedCase | None:
    """A case from a review; None where it is not decided yet."""
    if not state.decisions:
        return None
    review = state.review
    right, quotes = label_of(state.decisions, review.verdict), None
    if review.subject == "case":  # right when more people approve it than reject or modify it
        votes = [one.outcome is Outcome.APPROVE for one in state.decisions if one.outcome is not Outcome.CANNOT_TELL]
        right = None if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)
        result = kept_result(review.content)
        quotes = quotes_in(() if result is None else result.stages).share
    policy = review.policy
    alike = (
        *("action", "judge", "category", "score", "probability", "confidence", "truth", "inclusion"),
        *("criteria", "criterion_weights", "review_id"),
    )
    return DecidedCase(
        case_id=review.subject_id,
        question=review.question or review.item_id,
        right=right,
        decisions=state.decisions,
        policy=None if policy is None else policy.name,
        policy_digest=None if policy is None else policy.digest,
        quotes=quotes,
        corrected=mean_scores(one.scores or {} for one in state.decisions),
        **{name: getattr(review, name) for name in alike},
    )


def recorded_case(record: Mapping[str, Any], policy: str) -> DecidedCase | None:
    """A judged case with a label, from its record in the audit log; None without a label or by another policy."""
    decision = record["decision"]
    if record.get(LABEL) is None or decision["policy"] != policy:
        return None
    criteria = mean_scores(
        {name: one["score"] for name, one in stage["criteria"].items()} for stage in record["stages"].values()
    )
    return DecidedCase(
        case_id=record["case_id"],
        question=record["case_digest"],
        action=decision["action"],
        right=None,
        decisions=(),
        judge=", ".join(record["judge_models"]),
        category=record["weights_used"],
        policy=policy,
        policy_digest=record["policy_digest"],
        score=record["overall_quality_score"],
        confidence=record["overall_confidence"],
        quotes=QuoteCount(**record.get("quotes", {"given": 0, "found": 0}), short=0).share,
        truth=record[LABEL],
        criteria=criteria,
    )


def with_labels(decided: Sequence[DecidedCase], labelled: Sequence[DecidedCase]) -> list[DecidedCase]:
    """Decided cases and labelled ones together; a case in both has its label once, in its record."""
    known = {case.question for case in labelled}
    own = [replace(case, truth=None) if case.question in known else case for case in decided]
    return [*own, *labelled]


def same_categories(cases: Sequence[DecidedCase], plan: CasePlan | None) -> list[DecidedCase]:
    """The cases with one spelling for each category: the profile's name, else the first in order of the alphabet."""
    first: dict[str, str] = {}
    for category in sorted({case.category for case in cases if case.category is not None}):
        profile = None if plan is None else plan.profile_for(category)
        first.setdefault(category_key(category), category if profile is None else profile.name)
    return [
        case if case.category is None else replace(case, category=first[category_key(case.category)]) for case in cases
    ]


def replayed(policy: Policy, cases: Sequence[DecidedCase]) -> list[DecidedCase]:
    """The cases as the policy would have decided them, with people's decisions."""
    return [replace(case, action=action) for case, action in zip(cases, actions(policy, cases), strict=True)]


def actions(policy: Policy, cases: Sequence[DecidedCase]) -> list[str]:
    """The action for each case, as :func:`metajudge.decision.deciding.decide` gives it."""
    absent, found = Absent("not recorded"), []
    learned = None if policy.adjustment is None else policy.adjustment.confidence
    for case in cases:
        sure = case.confidence if case.confidence is None or learned is None else learned.apply(case.confidence)
        numbers = (absent if one is None else one for one in (value_of(policy, case), sure, case.quotes))
        found.append(action_of(policy, *numbers).value)
    return found


def shifts_of(cases: Sequence[DecidedCase]) -> dict[str, list[float]]:
    """Criterion -> people's corrected score less the machine's, case by case."""
    found: dict[str, list[float]] = {}
    for case in cases:
        for name, score in case.corrected.items():
            if name in case.criteria:
                found.setdefault(name, []).append(score - case.criteria[name])
    return found


def moved_score(policy: Policy, criterion: str, score: float | None) -> float | None:
    """A criterion's score with the policy's learned offset, on its scale."""
    offset = 0.0 if policy.adjustment is None else policy.adjustment.offsets.get(criterion, 0.0)
    return None if score is None else min(max(score + offset, policy.scale.low), policy.scale.high)


def value_of(policy: Policy, case: DecidedCase) -> float | None:
    """What the policy decides on, its adjustment made; None where there is nothing."""
    value = case.score if policy.basis == "score" else case.probability
    if value is None or policy.adjustment is None:
        return value
    return policy.adjustment.apply(value, policy.scale, case.criteria, case.criterion_weights)
