"""What reviewers' decisions say together: a label for each review, and how far reviewers agree."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from metajudge.reviews.review import HumanDecision, Outcome, ReviewState
from metajudge.stats.agreement import Agreement, cohen_kappa, krippendorff_alpha
from metajudge.types import AnyVerdict, Category, Grade, Pairwise, Right, is_right, kind_of
from metajudge.types.label import is_ruling
from metajudge.types.right import DEFAULTS


def verdict_is_right(decision: HumanDecision, verdict: AnyVerdict | None, rule: Right | None = None) -> bool | None:
    """Whether a person judges a verdict right; None where the decision does not say.

    A corrected verdict speaks through its winner: another winner makes the judge's verdict wrong, the same one (with
    another strength) leaves it right. A corrected grade or category is compared with the judge's by the rule. Corrected
    scores alone, and ``cannot_tell``, say nothing about the verdict.

    Args:
        rule: for grades and categories; None for the default of the kind.
    """
    match decision.outcome:
        case Outcome.APPROVE:
            return True
        case Outcome.REJECT:
            return False
        case Outcome.MODIFY if decision.verdict is not None and verdict is not None:
            return same_answer(verdict, decision.verdict, rule)
        case _:
            return None


def same_answer(verdict: AnyVerdict, own: AnyVerdict, rule: Right | None = None) -> bool | None:
    """Whether a person's verdict is the judge's: the same winner or tie; for grades and categories by the rule.

    Returns:
        None for a grade beside a category where the rule cannot compare them.
    """
    if isinstance(verdict, Grade | Category):
        kind = kind_of(verdict)
        return is_right(verdict, own, rule if rule is not None and rule.applies(kind) else DEFAULTS[kind])
    return own.winner == verdict.winner


def label_of(decisions: Iterable[HumanDecision], verdict: AnyVerdict | None, rule: Right | None = None) -> bool | None:
    """The majority's word on a verdict; None without one, and where as many say yes as no.

    Of a reviewer's decisions the newest counts; where there is a ruling, it alone
    (:func:`~metajudge.types.label.is_ruling`).
    """
    newest = {one.reviewer: one for one in sorted(decisions, key=lambda one: one.decided_at)}
    rulings = [one for name, one in newest.items() if is_ruling(name)]
    counts = Counter(verdict_is_right(one, verdict, rule) for one in rulings[-1:] or newest.values())
    return None if counts[True] == counts[False] else counts[True] > counts[False]


@dataclass(frozen=True, slots=True)
class ReviewerAgreement:
    """Agreement of reviewers on reviews that several decided.

    Attributes:
        alpha: Krippendorff's alpha over outcomes, all reviewers together; None where no review has two decisions.
        pairs: (first, second) -> Cohen's kappa on the reviews both decided.
        unanimous: reviews with at least two decisions that are all the same.
        shared: reviews with at least two decisions.
        by_reviewer: reviewer -> outcome -> how often.
    """

    alpha: Agreement | None
    pairs: dict[tuple[str, str], Agreement]
    unanimous: int
    shared: int
    by_reviewer: dict[str, dict[str, int]]


def reviewer_agreement(states: Sequence[ReviewState]) -> ReviewerAgreement:
    """Agreement on outcomes; ``cannot_tell`` is an outcome like the others."""
    told = [{one.reviewer: one.outcome.value for one in state.decisions} for state in states]
    shared = [outcomes for outcomes in told if len(outcomes) > 1]
    reviewers = sorted({name for outcomes in told for name in outcomes})
    pairs = {}
    for first, second in combinations(reviewers, 2):
        both = [one for one in shared if first in one and second in one]
        if both:
            pairs[first, second] = cohen_kappa([one[first] for one in both], [one[second] for one in both])
    ratings: list[list[Hashable | None]] = [[outcomes.get(name) for name in reviewers] for outcomes in shared]
    counts = {name: Counter(outcomes[name] for outcomes in told if name in outcomes) for name in reviewers}
    return ReviewerAgreement(
        alpha=krippendorff_alpha(ratings) if shared else None,
        pairs=pairs,
        unanimous=sum(len(set(outcomes.values())) == 1 for outcomes in shared),
        shared=len(shared),
        by_reviewer={name: dict(sorted(count.items())) for name, count in counts.items()},
    )


class Ruling(StrEnum):
    """The outcome of a review that is decided."""

    RIGHT = "right"
    """More people judge the verdict right than wrong."""
    CORRECTED = "corrected"
    """It is wrong, and most of those who judged it give the same verdict in its place."""
    WRONG = "wrong"
    """It is wrong, and there is no such verdict."""
    DIVIDED = "divided"
    """As many people judge it right as wrong."""
    CANNOT_TELL = "cannot_tell"
    """No decision says whether it is right: all of them are ``cannot_tell`` or correct scores alone."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """A ruling and, where people gave one, the verdict that replaces the judge's.

    Attributes:
        verdict: set for CORRECTED; for RIGHT where people kept the winner and changed the strength; else None.
    """

    ruling: Ruling
    verdict: AnyVerdict | None = None


def settlement_of(decisions: Sequence[HumanDecision], verdict: AnyVerdict | None, reviewers: int) -> Settlement | None:
    """The settled outcome of one review; None while fewer people have decided than were asked to.

    Args:
        decisions: all decisions of the review, one a person.
        verdict: the judge's; None where it gave none.
        reviewers: how many people are to decide.
    """
    if len(decisions) < reviewers:
        return None
    right, wrong = list[HumanDecision](), list[HumanDecision]()
    for one in decisions:
        own = verdict is None and one.outcome is Outcome.MODIFY and one.verdict is not None
        said = False if own else verdict_is_right(one, verdict)  # the judge gave no verdict, and the person did
        if said is not None:
            (right if said else wrong).append(one)
    if not right and not wrong:
        return Settlement(Ruling.CANNOT_TELL)
    if len(right) == len(wrong):
        return Settlement(Ruling.DIVIDED)
    if len(right) > len(wrong):
        given = _shared_verdict(right, len(right))
        return Settlement(Ruling.RIGHT, None if given == verdict else given)
    given = _shared_verdict(wrong, len(right) + len(wrong))
    return Settlement(Ruling.WRONG) if given is None else Settlement(Ruling.CORRECTED, given)


def _shared_verdict(decisions: Sequence[HumanDecision], votes: int) -> AnyVerdict | None:
    """The verdict that more than half of the votes wrote; strengths may differ, and the weakest is taken."""
    groups: dict[str, list[AnyVerdict]] = {}
    for one in decisions:
        if one.verdict is not None:
            groups.setdefault(_side(one.verdict), []).append(one.verdict)
    for same in groups.values():
        if 2 * len(same) > votes:
            return min(same, key=lambda given: given.strength if isinstance(given, Pairwise) else 0)
    return None


def _side(verdict: AnyVerdict) -> str:
    """Equal for verdicts that prefer the same, however strongly."""
    if isinstance(verdict, Pairwise):
        return f"{verdict.winner} of {sorted(verdict.ids)}"
    return str(verdict).casefold() if isinstance(verdict, Category) else str(verdict)
