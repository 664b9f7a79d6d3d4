"""A judged case as a reviewable."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from metajudge.cases.result import CaseResult, CriterionResult, StageResult, kept_result, quotes_in, stage_texts
from metajudge.reviewables.reviewable import CANNOT_TELL, Reviewable, number
from metajudge.reviewables.sheet import Choice, Fact, Passage, Section, Table

CHOICES = (
    Choice("outcome", "approve", "Approve", "a", "The case is good as it is."),
    Choice("outcome", "modify", "Modify", "m", "With the corrected scores below."),
    Choice("outcome", "reject", "Reject", "r", "The case is not good."),
    CANNOT_TELL,
)
COLUMNS = ("Criterion", "Score", "Confidence", "Weight", "Comment", "Quotes", "Weaknesses")


class CaseReviewable(Reviewable):
    """A case that judges scored, stage by stage."""

    kind = "case"

    @cached_property
    def result(self) -> CaseResult | None:
        """What the judges said; None where it was not kept, or was forgotten."""
        return kept_result(self.state.review.content)

    def machine(self) -> tuple[Section, ...]:
        judged = {} if self.result is None else {stage.name: stage for stage in self.result.stages}
        stages = [judged[name] for name in stage_texts(self.state.review.content) if name in judged]
        return (self._totals(), *(_stage(one) for one in stages if one.criteria or one.failure))

    def tips(self) -> tuple[str, ...]:
        return () if self.result is None else self.result.tips

    def outcomes(self, *, blind: bool) -> tuple[Choice, ...]:
        return CHOICES if self.state.review.criteria else tuple(one for one in CHOICES if one.value != "modify")

    def passages(self, order: Sequence[str], *, blind: bool) -> tuple[Passage, ...]:
        found = []
        for stage, (context, output) in stage_texts(self.state.review.content).items():
            if context is not None:
                found.append(Passage("context", f"{stage}: given", context, stage=stage))
            if output is not None:
                found.append(Passage("output", f"{stage}: output", output, stage=stage))
        return tuple(found)

    def _totals(self) -> Section:
        review, result = self.state.review, self.result
        facts = [Fact("Decision", review.action + (f": {result.reasoning}" if result and result.reasoning else ""))]
        facts += [Fact("Judges", review.judge or "none"), Fact("Score", number(review.score))]
        facts.append(Fact("Confidence", number(review.confidence)))
        facts.append(Fact("Distance to another decision", number(review.margin)))
        if review.policy is not None:
            facts.append(Fact("Policy", review.policy.name))
        if result is not None and result.gate is not None:
            facts.append(Fact("Gate", str(result.gate)))
        quotes = quotes_in(() if result is None else result.stages)
        if quotes.given:
            found = f"{quotes.found} of {quotes.given} stand in the texts"
            facts.append(Fact("Quotes", found, "bad" if quotes.invented else "good"))
        if quotes.warning:
            facts.append(Fact("Warning", quotes.warning, "bad"))
        scores = tuple((name.replace("_", " "), number(score)) for name, score in review.criteria.items())
        means = Table("Mean score of each criterion over the stages", ("Criterion", "Score"), scores)
        return Section("Result", tuple(facts), (means,) if scores else ())


def _stage(stage: StageResult) -> Section:
    facts = [Fact("Score", number(stage.weighted_score)), Fact("Confidence", number(stage.confidence_overall))]
    if stage.failure:
        facts.append(Fact("Why there is no score", stage.failure.message, "bad"))
    tables = [_table(f"{stage.name}: criteria", stage.criteria, stage.weights)] if stage.criteria else []
    for one in stage.each_judge:
        if one.failure:
            facts.append(Fact(one.judge, f"{one.failure.kind.value}: {one.failure.message}", "bad"))
        elif one.criteria:
            tables.append(_table(f"{one.judge} alone, score {number(one.weighted_score)}", one.criteria, {}))
    return Section(f"Stage {stage.name}", tuple(facts), tuple(tables))


def _table(title: str, criteria: Mapping[str, CriterionResult], weights: Mapping[str, float]) -> Table:
    rows = []
    for name, one in criteria.items():
        quotes = "\n".join(f"“{it.quote}” ({it.where}{f', {it.judge}' if it.judge else ''})" for it in one.evidence)
        share = "" if name not in weights else f"{weights[name]:.0%}"
        figures = (one.score_in_words, number(one.confidence), share)
        rows.append((name.replace("_", " "), *figures, one.comment, quotes, "\n".join(one.weaknesses)))
    return Table(title, COLUMNS, tuple(rows))
