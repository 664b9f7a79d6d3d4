"""What is reviewed, who has it, and what was decided."""

from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from metajudge.errors import InputError
from metajudge.types import Verdict, digest
from metajudge.types.frozen import Frozen
from metajudge.types.judgment import Scale

_LONGEST_NAME = 200
CLASH_PANEL = "clash panel"
"""The judge named in a clash's review."""

Kind = Literal["judgment", "clash", "case"]

Name = Annotated[str, Field(min_length=1, max_length=_LONGEST_NAME)]
Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


def reviewer_name(text: str) -> str:
    """A reviewer's name without the space around it: "ada" and "ada " are one person, who decides once.

    Raises:
        InputError: nothing is left, more than 200 characters, or some that do not print.
    """
    name = text.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(f"{text!r} is not a valid reviewer name: give 1 to {_LONGEST_NAME} printable characters")
    return name


class ReviewOrigin(StrEnum):
    """Why something is reviewed."""

    POLICY = "policy"
    """A policy decided on review."""
    AUDIT = "audit"
    """Drawn at random from what a policy approved or rejected."""
    REQUEST = "request"
    """A person requested it."""


class PolicyUsed(Frozen):
    """The policy version a decision was made with."""

    name: str
    digest: str


class ReviewRow(NamedTuple):
    """A review as a queue keeps it; ``payload`` is its JSON."""

    review_id: str
    subject_id: str
    item_id: str
    judge: str | None
    category: str | None
    policy_digest: str | None
    priority: int
    margin: float | None
    opened_at: float
    reviewers: int
    payload: str


class Review(Frozen):
    """One verdict, or one case, that people are asked about.

    Attributes:
        subject_id: the judgment's or the case's id; ``subject_digest`` that of its content.
        action: what the policy decided, such as REVIEW_PRIORITY; APPROVE or REJECT for an audit.
        priority: 0 first.
        margin: distance of the deciding value to the nearest boundary of the policy, None where it has none; the
            smallest is asked first.
        origin: why it is here.
        inclusion: probability with which a record such as this one was sent here: 1 by policy, the audited share for
            an audit. Statistics weigh by its inverse.
        score, probability, confidence: the machine's, None where absent.
        opened_at: seconds since the epoch.
        reviewers: how many different people are to decide.
        verdict: the judge's, None for a case; ``answer_scale`` the declared one of a grade or category.
        truth: whether the verdict is right by the item's own label, None without one; not shown to reviewers.
        question: digest of what makes cases depend on each other, the item's content.
        criteria: criterion -> the machine's score, the mean over agents; ``criterion_weights`` those it was
            combined with; ``scale`` the ends of their scale, None where there are no such scores.
        content: the content to review, where the store has it nowhere else (cases).
        blind: whether the policy wants decisions before the machine's result is shown.
    """

    review_id: str
    subject: Literal["judgment", "case"] = "judgment"
    subject_id: str
    subject_digest: str
    item_id: str
    judge: str | None = None
    category: str | None = None
    action: str
    priority: Annotated[int, Field(ge=0, le=9)] = 1
    margin: float | None = None
    origin: ReviewOrigin = ReviewOrigin.POLICY
    inclusion: Annotated[float, Field(gt=0, le=1)] = 1.0
    policy: PolicyUsed | None = None
    score: float | None = None
    probability: Probability | None = None
    confidence: Probability | None = None
    opened_at: float
    reviewers: Annotated[int, Field(ge=1, le=20)] = 1
    verdict: Verdict | None = None
    answer_scale: Scale | None = Field(default=None, exclude_if=lambda given: given is None)
    truth: bool | None = None
    question: str | None = None
    criteria: dict[str, float] = Field(default_factory=dict)
    criterion_weights: dict[str, float] = Field(default_factory=dict)
    scale: tuple[float, float] | None = None
    content: dict[str, Any] | None = None
    blind: bool = Field(default=False, exclude_if=lambda given: not given)

    @property
    def row(self) -> ReviewRow:
        """As a queue keeps it."""
        names = [name for name in ReviewRow._fields if name not in ("policy_digest", "payload")]
        own = {name: getattr(self, name) for name in names}
        used = None if self.policy is None else self.policy.digest
        return ReviewRow(**own, policy_digest=used, payload=self.model_dump_json())

    @property
    def kind(self) -> Kind:
        """What it is about."""
        return "judgment" if self.subject == "judgment" else "clash" if self.judge == CLASH_PANEL else "case"

    @staticmethod
    def id_for(subject_digest: str, policy: PolicyUsed | None) -> str:
        """One review a content and policy version: the same decision made again opens nothing new."""
        return digest(["review", subject_digest, None if policy is None else policy.digest])[:16]


class Claim(Frozen):
    """Who has a review in hand, and until when (seconds since the epoch)."""

    review_id: str
    reviewer: Name
    claimed_at: float
    expires_at: float


class Outcome(StrEnum):
    """What a person decided about a judgment."""

    APPROVE = "approve"
    """The verdict is right."""
    MODIFY = "modify"
    """Another verdict, or other scores, would have been right."""
    REJECT = "reject"
    """The verdict is wrong."""
    CANNOT_TELL = "cannot_tell"
    """Undecidable; this is not a label."""


class HumanDecision(Frozen):
    """One person's decision on one review.

    Attributes:
        verdict: the corrected verdict, for MODIFY.
        scores: corrected scores by criterion, for MODIFY; for a case means over its stages, as in the review.
        reason: in the reviewer's words.
        decided_at: seconds since the epoch.
        blind: whether the machine's verdict was hidden until the outcome was chosen.
        policy: the policy version whose decision was judged.
        origin: ``review`` from the queue, ``import`` from a file.
        amends: :attr:`decision_id` of the same person's earlier decision on this review, which this one replaces.
        bulk: whether it was made together with others, by one action.
        seconds: from the claim to the decision; None where that is unknown.
    """

    review_id: str
    reviewer: Name
    outcome: Outcome
    verdict: Verdict | None = None
    scores: dict[str, Annotated[float, Field(allow_inf_nan=False)]] | None = None
    reason: str = ""
    decided_at: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    blind: bool = False
    policy: PolicyUsed | None = None
    origin: Literal["review", "import"] = "review"
    amends: str | None = Field(default=None, exclude_if=lambda given: given is None)
    bulk: bool = Field(default=False, exclude_if=lambda given: not given)
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        default=None, exclude_if=lambda given: given is None
    )

    @model_validator(mode="after")
    def _check(self) -> "HumanDecision":
        corrected = self.verdict is not None or bool(self.scores)
        if self.outcome is Outcome.MODIFY and not corrected:
            raise ValueError("a decision to modify needs the corrected verdict or scores")
        if self.outcome is not Outcome.MODIFY and corrected:
            raise ValueError(f"a decision to {self.outcome} cannot carry a corrected verdict or scores; modify can")
        return self

    @property
    def decision_id(self) -> str:
        """Names the decision; another one of the same person on the same review has another id."""
        return digest(["decision", self.review_id, self.reviewer, self.decided_at, self.amends])[:16]

    def data(self, *fields: str) -> dict[str, Any]:
        """Some of its fields as plain data, in this order, with the verdict as text."""
        found = self.model_dump(mode="json", include=set(fields))
        found["verdict"] = None if self.verdict is None else str(self.verdict)
        return {name: found[name] for name in fields}

    def same_as(self, other: "HumanDecision") -> bool:
        """Whether two decisions say the same, whenever, blind or not, and by whichever way they came in."""
        compared = ("review_id", "reviewer", "outcome", "verdict", "scores", "reason")
        return all((getattr(self, name) or None) == (getattr(other, name) or None) for name in compared)


class ReviewStatus(StrEnum):
    """How far a review has come."""

    OPEN = "open"
    CLAIMED = "claimed"
    DECIDED = "decided"


class Comment(Frozen):
    """A remark on a review; it is kept and never changed."""

    review_id: str
    author: Name
    at: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    text: Annotated[str, Field(min_length=1, max_length=10_000)]


class ReviewState(Frozen):
    """A review with all that happened to it so far.

    Attributes:
        claims: leases in force.
        decisions: the newest of each person, in the order in which they decided first.
        history: every decision in the order recorded, also those that an amendment replaced.
        comments: oldest first.
        assigned: who is to review it; empty for anybody.
    """

    review: Review
    status: ReviewStatus
    claims: tuple[Claim, ...] = ()
    decisions: tuple[HumanDecision, ...] = ()
    history: tuple[HumanDecision, ...] = ()
    comments: tuple[Comment, ...] = ()
    assigned: tuple[str, ...] = ()

    def claim_of(self, reviewer: str) -> Claim | None:
        """The person's lease in force."""
        return next((one for one in self.claims if one.reviewer == reviewer), None)

    def decision_of(self, reviewer: str) -> HumanDecision | None:
        """The person's newest decision."""
        return next((one for one in self.decisions if one.reviewer == reviewer), None)
