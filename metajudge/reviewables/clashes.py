"""A clash as a reviewable."""

from collections.abc import Sequence
from functools import cached_property

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.reviews import clash_decision, clash_of, panel_verdict
from metajudge.clashes.sheet import ClashSheet, VoteSheet, blind_texts, full_sheet, labels_of, triage_of, verdict_of
from metajudge.judging.criteria import Criterion
from metajudge.report.tables import dollars
from metajudge.reviewables.labels import by_label
from metajudge.reviewables.reviewable import Answer, Reviewable, number
from metajudge.reviewables.sheet import Choice, Cue, Fact, Passage, Section, Table
from metajudge.reviews.review import HumanDecision
from metajudge.types import AnyVerdict


class ClashReviewable(Reviewable):
    """A panel's ranking of the candidates' answers."""

    kind = "clash"

    @cached_property
    def record(self) -> ClashRecord | None:
        """The evaluation; None where it was forgotten."""
        return clash_of(self.state.review)

    @cached_property
    def labels(self) -> dict[str, str]:
        """Label -> candidate."""
        return {} if self.record is None else labels_of(self.record, self.state.review.review_id)

    @cached_property
    def sheet(self) -> ClashSheet | None:
        """The full view; None with the record."""
        return None if self.record is None else full_sheet(self.record, self.labels)

    def tips(self) -> tuple[str, ...]:
        return () if self.record is None else (triage_of(self.record),)

    def outcomes(self, *, blind: bool) -> tuple[Choice, ...]:
        return () if self.record is None else super().outcomes(blind=blind)

    def decision(
        self, reviewer: str, answer: Answer, verdict: str | AnyVerdict | None, decided_at: float
    ) -> HumanDecision:
        review, written = self.state.review, None if verdict is None else str(verdict)
        return clash_decision(review, reviewer, answer.outcome, written, reason=answer.reason, decided_at=decided_at)

    def passages(self, order: Sequence[str], *, blind: bool) -> tuple[Passage, ...]:
        if self.record is None or self.sheet is None:
            return ()
        record, criteria = self.record, self.sheet.criteria
        texts = blind_texts(record) if blind else {}
        full = {one.label: one for one in self.sheet.answers}
        found = [Passage("question", "Question", record.question)]
        for label in order:
            one, title = full[label], f"Answer {label}"
            if blind:
                found.append(Passage("response", title, texts[one.given.name], label))
                continue
            note = ", ".join(filter(None, (one.given.model, "the answer was cut" if one.cut else "")))
            found.append(Passage("response", title, one.given.text or "", label, "", one.given.name, note, one.best))
        if record.reference:
            found.append(Passage("reference", "Reference", record.reference))
        if criteria:
            lines = [f"{one.name} ({one.weight:.0%}){f': {one.asks}' if one.asks else ''}" for one in criteria]
            found.append(Passage("criteria", "Criteria", "\n".join(lines)))
        return tuple(found)

    def machine(self) -> tuple[Section, ...]:
        if self.record is None or self.sheet is None:
            return ()
        sheet, verdict = self.sheet, panel_verdict(self.record)
        facts = [Fact("Verdict", verdict_of(self.record)), Fact("To be done", triage_of(self.record))]
        if verdict is not None:
            facts.append(Fact("Ranking", by_label(str(verdict).replace(" ", ""), self.labels)))
            facts.append(Fact("By the candidates' names", str(verdict)))
        facts += [Fact(name, value) for name, value in sheet.facts]
        facts += [Fact(f"No answer of {name}", why, "bad") for name, why in sheet.missing]
        facts += [Fact("Notice", one, "warn") for one in self.record.notices]
        answers = Table(
            "Answers, best first",
            ("Answer", "Candidate", "Model", "Points", "Best", "Cost", "Seconds", "Names hidden"),
            tuple(
                (
                    one.label,
                    one.given.name,
                    one.given.model or "unknown",
                    number(one.points),
                    "yes" if one.best else "",
                    cost if one.generated else "given",
                    number(one.given.latency_s),
                    ", ".join(one.given.hidden_names) + ("; the answer was cut" if one.cut else ""),
                )
                for one in sheet.answers
                for cost in ["unknown" if one.given.cost_usd is None else dollars(one.given.cost_usd)]
            ),
        )
        labels = [one.label for one in sheet.answers]
        means = Table(
            f"Mean scores, criteria {sheet.criteria_source or 'given'}",
            ("Criterion", *labels),
            tuple(
                (f"{one.name} ({one.weight:.0%})", *(number(sheet.mean(label, one.key)) for label in labels))
                for one in sheet.criteria
            ),
        )
        found = [Section("Panel", tuple(facts), (answers, means)), _votes("Votes", sheet.votes, sheet.criteria)]
        if sheet.observers:
            found.append(_votes("Observers, who do not count", sheet.observers, sheet.criteria))
        return tuple(found)


def _votes(title: str, votes: Sequence[VoteSheet], criteria: Sequence[Criterion]) -> Section:
    names = {one.key: one.name for one in criteria}
    rows = tuple(
        (
            one.vote.judge,
            one.vote.model,
            one.vote.role,
            "" if one.vote.weight is None else f"{one.vote.weight:g}",
            one.written or f"no vote: {one.problem}",
            "" if one.own is None else f"{one.own}{', put first' if one.vote.own_first else ''}",
        )
        for one in votes
    )
    scores = tuple(
        (one.vote.judge, score.label, names.get(score.criterion, score.criterion), str(score.score), score.reason)
        for one in votes
        for score in one.scores
    )
    tables = [Table(title, ("Judge", "Model", "Role", "Weight", "Ranking", "Own answer"), rows)]
    if scores:
        tables.append(Table("Scores", ("Judge", "Answer", "Criterion", "Score", "Reason"), scores))
    texts = tuple(Cue(f"Comparison by {one.vote.judge}", one.comparison) for one in votes if one.comparison)
    return Section(title, tables=tuple(tables), texts=texts)
