"""A judged case as a reviewable."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from metajudge.cases.sheet import CaseSheet, CriterionLine, StageSheet, case_sheet, stage_texts
from metajudge.reviewables.judgments import MISSING
from metajudge.reviewables.parts import CANNOT_TELL, frame_of, number, people_of
from metajudge.reviewables.reviewable import Answer
from metajudge.reviewables.sheet import Choice, Fact, Passage, Section, Sheet, Table
from metajudge.reviews.deciding import decision_from
from metajudge.reviews.review import HumanDecision, ReviewState

CHOICES = (
    Choice("outcome", "approve", "Approve", "a", "The case is good as it is."),
    Choice("outcome", "modify", "Modify", "m", "With the corrected scores below."),
    Choice("outcome", "reject", "Reject", "r", "The case is not good."),
    CANNOT_TELL,
)
COLUMNS = ("Criterion", "Score", "Confidence", "Weight", "Comment", "Quotes", "Weaknesses")


@dataclass(frozen=True)
class CaseReviewable:
    """A :class:`~metajudge.reviewables.reviewable.Reviewable`."""

    state: ReviewState
    kind: Literal["case"] = "case"

    @cached_property
    def sheet(self) -> CaseSheet:
        """What the judges said."""
        return case_sheet(self.state.review.content)

    def blind_view(self, reviewer: str | None) -> Sheet:
        return replace(self._view(reviewer, blind=True), criteria=dict.fromkeys(self.state.review.criteria))

    def full_view(self, reviewer: str | None) -> Sheet:
        return replace(
            self._view(reviewer, blind=False),
            criteria=self.state.review.criteria,
            machine=(self._totals(), *(_stage(one) for one in self.sheet.stages if one.rows or one.failure)),
            tips=self.sheet.tips,
            people=people_of(self.state, reviewer, {}),
        )

    def _view(self, reviewer: str | None, *, blind: bool) -> Sheet:
        frame, passages = frame_of(self.kind, self.state, reviewer, blind=blind), self._passages()
        choices = CHOICES if self.state.review.criteria else tuple(one for one in CHOICES if one.value != "modify")
        return replace(frame, passages=passages, choices=choices, missing="" if passages else MISSING)

    def named(self, verdict: str) -> str:
        return verdict

    def decide(self, reviewer: str, answer: Answer, *, decided_at: float) -> HumanDecision:
        made = decision_from(
            self.state.review,
            None,
            reviewer,
            answer.outcome,
            answer.verdict,
            answer.scores,
            reason=answer.reason,
            decided_at=decided_at,
        )
        return made.model_copy(update={"blind": answer.blind, "bulk": answer.bulk})

    def _passages(self) -> tuple[Passage, ...]:
        found = []
        for stage, (context, output) in stage_texts(self.state.review.content).items():
            if context is not None:
                found.append(Passage("context", f"{stage}: given", context, stage=stage))
            if output is not None:
                found.append(Passage("output", f"{stage}: output", output, stage=stage))
        return tuple(found)

    def _totals(self) -> Section:
        review, sheet = self.state.review, self.sheet
        facts = [Fact("Decision", review.action + (f": {sheet.reasoning}" if sheet.reasoning else ""))]
        facts += [Fact("Judges", review.judge or "none"), Fact("Score", number(review.score))]
        facts.append(Fact("Confidence", number(review.confidence)))
        facts.append(Fact("Distance to another decision", number(review.margin)))
        if review.policy is not None:
            facts.append(Fact("Policy", review.policy.name))
        if sheet.gate:
            facts.append(Fact("Gate", sheet.gate))
        if sheet.quotes:
            found = f"{sheet.quotes_found} of {sheet.quotes} stand in the texts"
            facts.append(Fact("Quotes", found, "bad" if sheet.invented else "good"))
        if sheet.warning:
            facts.append(Fact("Warning", sheet.warning, "bad"))
        scores = tuple((name.replace("_", " "), number(score)) for name, score in review.criteria.items())
        means = Table("Mean score of each criterion over the stages", ("Criterion", "Score"), scores)
        return Section("Result", tuple(facts), (means,) if scores else ())


def _stage(stage: StageSheet) -> Section:
    facts = [Fact("Score", number(stage.score)), Fact("Confidence", number(stage.confidence))]
    if stage.failure:
        facts.append(Fact("Why there is no score", stage.failure, "bad"))
    tables = [Table(f"{stage.name}: criteria", COLUMNS, tuple(map(_row, stage.rows)))] if stage.rows else []
    for one in stage.judges:
        if one.failure:
            facts.append(Fact(one.judge, one.failure, "bad"))
        elif one.rows:
            tables.append(Table(f"{one.judge} alone, score {number(one.score)}", COLUMNS, tuple(map(_row, one.rows))))
    return Section(f"Stage {stage.name}", tuple(facts), tuple(tables))


def _row(line: CriterionLine) -> tuple[str, ...]:
    quotes = "\n".join(f"“{one.text}” ({one.where}{f', {one.judge}' if one.judge else ''})" for one in line.quotes)
    score = "does not apply" if line.score is None else f"{line.score:g}"
    weight = "" if line.weight is None else f"{line.weight:.0%}"
    named = line.name.replace("_", " ")
    return named, score, number(line.confidence), weight, line.comment, quotes, "\n".join(line.weaknesses)
