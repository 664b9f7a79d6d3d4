"""One reviewable, a judgment, a clash or a case: what its views have, and how it is answered. Pure."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from metajudge.reviewables.labels import by_label, by_name, shown_order
from metajudge.reviewables.sheet import Asks, Choice, Passage, Said, Section, Sheet
from metajudge.reviewables.wording import why_here
from metajudge.reviews.deciding import decision_from
from metajudge.reviews.review import HumanDecision, Kind, ReviewState, ReviewStatus
from metajudge.types import AnyVerdict, Assessment, Category, Grade, Judgment, Ranking
from metajudge.types.judgment import Scale

_BLIND_FIELDS = {"review_id", "subject", "item_id", "category", "opened_at", "reviewers"}
_MOST_KEYS = 9
_HIDDEN_FIELDS = {"truth", "content"}
CANNOT_TELL = Choice("outcome", "cannot_tell", "Cannot tell", "c", "Not decidable; this is not a label.")


def may_see_people(state: ReviewState, reviewer: str | None) -> bool:
    """Whether others' decisions are shown: not to a person who still has to decide independently."""
    return reviewer is None or state.status is ReviewStatus.DECIDED or has_decided(state, reviewer)


def has_decided(state: ReviewState, reviewer: str | None) -> bool:
    """Whether a person has decided a review."""
    return any(one.reviewer == reviewer for one in state.decisions)


def record_of(state: ReviewState, reviewer: str | None, *, blind: bool) -> dict[str, Any]:
    """The flat fields of a view: of the review, its claims, and what people said.

    A blind record has the review's id, item and status, and how many have decided.
    """
    review, mine = state.review, may_see_people(state, reviewer)
    claims = [one.model_dump(mode="json") for one in state.claims]
    base = {"status": state.status.value, "claims": claims, "assigned": list(state.assigned)}
    if blind:
        fields = review.model_dump(mode="json", include=_BLIND_FIELDS)
        own = [claim for claim in claims if claim["reviewer"] == reviewer]
        return {"review": fields, **base, "claims": own, "decided": len(state.decisions)}

    def said(decisions: Iterable[HumanDecision]) -> list[dict[str, Any]]:
        return [one.model_dump(mode="json") for one in decisions if mine or one.reviewer == reviewer]

    return {
        "review": review.model_dump(mode="json", exclude=_HIDDEN_FIELDS),
        **base,
        "decisions": said(state.decisions),
        "history": said(state.history),
        "comments": [one.model_dump(mode="json") for one in state.comments if mine or one.author == reviewer],
    }


def people_of(state: ReviewState, reviewer: str | None, labels: Mapping[str, str]) -> tuple[Said, ...]:
    """What people said, oldest first; of others only where the reviewer need not decide independently any more."""
    mine = may_see_people(state, reviewer)
    current = {one.decision_id for one in state.decisions}
    found = [
        Said(
            what="decision" if one.amends is None else "amendment",
            who=one.reviewer,
            at=one.decided_at,
            words=_words(one, labels),
            reason=one.reason,
            blind=one.blind,
            bulk=one.bulk,
            current=one.decision_id in current,
        )
        for one in state.history
        if mine or one.reviewer == reviewer
    ]
    found += [Said("comment", one.author, one.at, one.text) for one in state.comments if mine or one.author == reviewer]
    return tuple(sorted(found, key=lambda one: one.at))


def _words(decision: HumanDecision, labels: Mapping[str, str]) -> str:
    verdict = "" if decision.verdict is None else f": {written(decision.verdict, labels)}"
    scores = "".join(f", {name} {score:g}" for name, score in (decision.scores or {}).items())
    way = ", from a file" if decision.origin == "import" else ""
    return f"{decision.outcome.value.replace('_', ' ')}{verdict}{scores}{way}"


def written(verdict: AnyVerdict | None, labels: Mapping[str, str]) -> str:
    """A verdict with labels in the place of names."""
    if verdict is None:
        return "no verdict"
    text = str(verdict)
    return text if isinstance(verdict, Grade | Category) else by_label(text, labels)


def verdicts(asks: Asks, order: Sequence[str], verdict: AnyVerdict | None, scale: Scale | None) -> tuple[Choice, ...]:
    """Verdicts that can be picked; their values are labels, so that they tell nothing of the authors.

    Args:
        order: labels as shown; the first key is for the first.
        scale: the item's; names its categories.
    """
    match asks:
        case "comparison":
            left, right = order
            found = [
                (f"{left}>>{right}", f"{left} is much better"),
                (f"{left}>{right}", f"{left} is better"),
                ("=".join(sorted(order)), "Equally good"),
                (f"{right}>{left}", f"{right} is better"),
                (f"{right}>>{left}", f"{right} is much better"),
            ]
        case "ranking":
            others = {one: "=".join(sorted(set(order) - {one})) for one in order}
            found = [(f"{one}>{rest}", f"{one} is best") for one, rest in others.items()]
            found.append(("=".join(sorted(order)), "All equally good"))
        case "category" if isinstance(verdict, Category) and isinstance(verdict.value, bool):
            found = [("true", "yes (true)"), ("false", "no (false)")]
        case "category":
            found = [(name, name) for name in scale or () if isinstance(name, str)]
        case _:
            found = []
    return tuple(
        Choice("verdict", value, words, str(place) if place <= _MOST_KEYS else "")
        for place, (value, words) in enumerate(found, 1)
    )


def hint(asks: Asks, order: Sequence[str], scale: Scale | None, verdict: AnyVerdict | None) -> str:
    """How to write a verdict; "" where none is asked for. Never gives the judge's away."""
    match asks:
        case "comparison":
            left, right = sorted(order)
            return f"{left}>{right}, {left}={right} or {right}>{left} (>> for much better)"
        case "ranking":
            ranked = sorted(order)
            tied = ">".join([*ranked[:-2], "=".join(ranked[-2:])])
            return f"{ranked[0]} (the best one), {'='.join(ranked)} or a whole ranking such as {tied}"
        case "grade":
            known = scale is not None and not isinstance(scale[0], str)
            return f"a number from {scale[0]:g} to {scale[1]:g}" if known and scale is not None else "a number"
        case "category" if isinstance(verdict, Category) and isinstance(verdict.value, bool):
            return "true or false"
        case "category":
            named = [name for name in scale or () if isinstance(name, str)]
            return " or ".join(named) if named else "a category"
        case _:
            return ""


def number(value: float | None, unit: str = "") -> str:
    """A number in words; ``none`` where there is none."""
    return "none" if value is None else f"{value:.4g}{unit}"


MISSING = "The texts are not in the store: they were deleted or never stored."


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person says of a reviewable.

    Attributes:
        outcome: None with a verdict of one's own, which is compared with the machine's.
        verdict: by labels (``R1>R2=R3``), by the responses' own names, or a verdict.
        scores: corrected scores, ``CRITERION=NUMBER`` each.
        blind: whether the machine's result was hidden until the answer was chosen.
        bulk: whether it was given for several reviews at once.
    """

    outcome: str | None = None
    verdict: str | AnyVerdict | None = None
    scores: tuple[str, ...] = ()
    reason: str = ""
    blind: bool = False
    bulk: bool = False


@dataclass(frozen=True)
class Reviewable(ABC):
    """A review with what it is about; its kinds say what there is to read, and what the machine made of it.

    Attributes:
        judgment: of a judgment's review, without its label, which no view has; None where it was forgotten.
        assessment: the one that the review's policy decided, else the newest; None without one.
    """

    state: ReviewState
    judgment: Judgment | None = None
    assessment: Assessment | None = None
    kind: ClassVar[Kind]

    @property
    def labels(self) -> dict[str, str]:
        """Label -> response, of those that an answer can name."""
        return {}

    @property
    def verdict(self) -> AnyVerdict | None:
        """The machine's."""
        return self.state.review.verdict if self.judgment is None else self.judgment.verdict

    @property
    def asks(self) -> Asks:
        """What kind of answer is wanted, as the judge's was; else a comparison of two, a ranking of more."""
        match None if self.judgment is None else self.judgment.verdict:
            case Grade():
                return "grade"
            case Category():
                return "category"
            case Ranking() if len(self.labels) > 1:
                return "ranking"
        return "outcome" if len(self.labels) < 2 else "comparison" if len(self.labels) == 2 else "ranking"

    @abstractmethod
    def passages(self, order: Sequence[str], *, blind: bool) -> tuple[Passage, ...]:
        """The texts, responses by label in an order; empty where they were forgotten."""

    @abstractmethod
    def machine(self) -> tuple[Section, ...]:
        """What the machine said."""

    @abstractmethod
    def tips(self) -> tuple[str, ...]:
        """What tips the decision."""

    def outcomes(self, *, blind: bool) -> tuple[Choice, ...]:
        """The outcomes to choose from: without a machine's verdict there is nothing to approve or reject."""
        found = []
        if not blind and (self.verdict is not None or (self.kind == "judgment" and self.judgment is None)):
            found.append(Choice("outcome", "approve", "Approve", "a", "The verdict is right."))
            found.append(Choice("outcome", "reject", "Reject", "r", "The verdict is wrong."))
        if not blind and self.state.review.criteria:
            found.append(Choice("outcome", "modify", "Modify", "m", "With the corrected scores below."))
        return (*found, CANNOT_TELL)

    def view(self, reviewer: str | None, *, blind: bool) -> Sheet:
        """Texts under labels, and how to answer; in full with names, the machine's result and what people said."""
        review, verdict = self.state.review, self.verdict
        order = shown_order(self.labels, review.review_id, reviewer)
        scale = None if self.judgment is None else self.judgment.item.scale
        passages = self.passages(order, blind=blind)
        record = record_of(self.state, reviewer, blind=blind)
        said: dict[str, Any] = {}
        if not blind:
            people = people_of(self.state, reviewer, self.labels)
            said = {"criteria": review.criteria, "machine": self.machine(), "tips": self.tips(), "people": people}
            record |= {} if self.kind == "case" else {"verdict": None if verdict is None else str(verdict)}
        elif self.kind == "case":  # its scores can be corrected
            said["criteria"] = dict.fromkeys(review.criteria)
        return Sheet(
            kind=self.kind,
            blind=blind,
            review_id=review.review_id,
            item_id=review.item_id,
            category=review.category,
            heading=f"Review {review.review_id}" if blind else f"{self.kind.capitalize()} {review.subject_id}",
            why=why_here(review, blind=blind),
            status=self.state.status.value,
            reviewer=reviewer,
            passages=passages,
            asks=self.asks,
            choices=(*verdicts(self.asks, order, verdict, scale), *self.outcomes(blind=blind)),
            hint=hint(self.asks, order, scale, verdict),
            record=record,
            missing="" if passages else MISSING,
            **said,
        )

    def named(self, verdict: str) -> str:
        """A verdict written with labels, with the responses' names in their place; another one as it is."""
        return by_name(verdict, self.labels) if self.asks in ("comparison", "ranking") else verdict

    def decide(self, reviewer: str, answer: Answer, *, decided_at: float) -> HumanDecision:
        """The decision record of an answer, for the store's queue.

        Raises:
            InputError: an answer that cannot be recorded; with what to write.
        """
        verdict = self.named(answer.verdict) if isinstance(answer.verdict, str) else answer.verdict
        made = self.decision(reviewer, answer, verdict, decided_at)
        return made.model_copy(update={"blind": answer.blind, "bulk": answer.bulk})

    def decision(
        self, reviewer: str, answer: Answer, verdict: str | AnyVerdict | None, decided_at: float
    ) -> HumanDecision:
        """The same with the answer's verdict in terms of names."""
        return decision_from(
            self.state.review,
            self.judgment,
            reviewer,
            answer.outcome,
            verdict,
            answer.scores,
            reason=answer.reason,
            decided_at=decided_at,
        )
