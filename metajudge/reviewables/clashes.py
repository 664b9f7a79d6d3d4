"""A clash as a reviewable."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.reviews import clash_decision, clash_of, panel_verdict
from metajudge.clashes.sheet import ClashSheet, VoteSheet, blind_sheet, full_sheet, labels_of, triage_of, verdict_of
from metajudge.judging.criteria import Criterion
from metajudge.report.tables import dollars
from metajudge.reviewables.comparing import asked_for, hint, verdicts
from metajudge.reviewables.judgments import MISSING
from metajudge.reviewables.labels import by_label, by_name, shown_order
from metajudge.reviewables.parts import frame_of, number, outcomes_about_verdict, people_of
from metajudge.reviewables.reviewable import Answer
from metajudge.reviewables.sheet import Asks, Choice, Cue, Fact, Passage, Section, Sheet, Table
from metajudge.reviews.review import HumanDecision, ReviewState


@dataclass(frozen=True)
class ClashReviewable:
    """A :class:`~metajudge.reviewables.reviewable.Reviewable`."""

    state: ReviewState
    kind: Literal["clash"] = "clash"

    @cached_property
    def record(self) -> ClashRecord | None:
        """The evaluation; None where it was forgotten."""
        return clash_of(self.state.review)

    @cached_property
    def labels(self) -> dict[str, str]:
        """Label -> candidate."""
        return {} if self.record is None else labels_of(self.record, self.state.review.review_id)

    @cached_property
    def asks(self) -> Asks:
        """What kind of answer is wanted: a comparison of two, a ranking of more."""
        return asked_for(None, len(self.labels))

    def blind_view(self, reviewer: str | None) -> Sheet:
        return self._view(reviewer, None, outcomes_about_verdict(given=False, scores=False), blind=True)

    def full_view(self, reviewer: str | None) -> Sheet:
        review = self.state.review
        sheet = None if self.record is None else full_sheet(self.record, self.labels)
        given = outcomes_about_verdict(given=review.verdict is not None, scores=False)
        found = self._view(reviewer, sheet, given, blind=False)
        return replace(
            found,
            machine=() if sheet is None or self.record is None else self._machine(sheet, self.record),
            tips=() if sheet is None else (triage_of(sheet.record),),
            people=people_of(self.state, reviewer, self.labels),
            record={**found.record, "verdict": None if review.verdict is None else str(review.verdict)},
        )

    def _view(
        self, reviewer: str | None, sheet: ClashSheet | None, outcomes: tuple[Choice, ...], *, blind: bool
    ) -> Sheet:
        frame = frame_of(self.kind, self.state, reviewer, blind=blind)
        if self.record is None:
            return replace(frame, asks=self.asks, missing=MISSING)
        order = shown_order(self.labels, self.state.review.review_id, reviewer)
        return replace(
            frame,
            passages=self._blind_passages(self.record, order) if sheet is None else _full_passages(sheet, order),
            asks=self.asks,
            choices=(*verdicts(self.asks, order, None, None), *outcomes),
            hint=hint(self.asks, order, None, None),
        )

    def named(self, verdict: str) -> str:
        return by_name(verdict, self.labels)

    def decide(self, reviewer: str, answer: Answer, *, decided_at: float) -> HumanDecision:
        verdict = answer.verdict
        made = clash_decision(
            self.state.review,
            reviewer,
            answer.outcome,
            None if verdict is None else self.named(str(verdict)),
            reason=answer.reason,
            decided_at=decided_at,
        )
        return made.model_copy(update={"blind": answer.blind, "bulk": answer.bulk})

    def _blind_passages(self, record: ClashRecord, order: Sequence[str]) -> tuple[Passage, ...]:
        sheet = blind_sheet(record, self.labels)
        found = [Passage("question", "Question", sheet.question)]
        found += [Passage("response", f"Answer {label}", sheet.answers[label], label) for label in order]
        return (*found, *_asked(sheet.reference, sheet.criteria))

    def _machine(self, sheet: ClashSheet, record: ClashRecord) -> tuple[Section, ...]:
        verdict = panel_verdict(record)
        facts = [Fact("Verdict", verdict_of(record)), Fact("To be done", triage_of(record))]
        if verdict is not None:
            facts.append(Fact("Ranking", by_label(str(verdict).replace(" ", ""), self.labels)))
            facts.append(Fact("By the candidates' names", str(verdict)))
        facts += [Fact(name, value) for name, value in sheet.facts]
        facts += [Fact(f"No answer of {name}", why, "bad") for name, why in sheet.missing]
        facts += [Fact("Notice", one, "warn") for one in record.notices]
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
                    "given" if not one.generated else _cost(one.given.cost_usd),
                    number(one.given.latency_s),
                    ", ".join(one.given.hidden_names) + ("; the answer was cut" if one.cut else ""),
                )
                for one in sheet.answers
            ),
        )
        found = [Section("Panel", tuple(facts), (answers, _means(sheet))), _votes("Votes", sheet.votes, sheet.criteria)]
        if sheet.observers:
            found.append(_votes("Observers, who do not count", sheet.observers, sheet.criteria))
        return tuple(found)


def _full_passages(sheet: ClashSheet, order: Sequence[str]) -> tuple[Passage, ...]:
    answers = {one.label: one for one in sheet.answers}
    found = [Passage("question", "Question", sheet.record.question)]
    for label in order:
        one, model = answers[label], answers[label].given.model
        note = ", ".join((*((model,) if model else ()), *(("the answer was cut",) if one.cut else ())))
        found.append(
            Passage("response", f"Answer {label}", one.given.text or "", label, "", one.given.name, note, one.best)
        )
    return (*found, *_asked(sheet.record.reference, sheet.criteria))


def _cost(usd: float | None) -> str:
    return "unknown" if usd is None else dollars(usd)


def _asked(reference: str | None, criteria: Sequence[Criterion]) -> tuple[Passage, ...]:
    found = [Passage("reference", "Reference", reference)] if reference else []
    if criteria:
        lines = [f"{one.name} ({one.weight:.0%}){f': {one.asks}' if one.asks else ''}" for one in criteria]
        found.append(Passage("criteria", "Criteria", "\n".join(lines)))
    return tuple(found)


def _means(sheet: ClashSheet) -> Table:
    labels = [one.label for one in sheet.answers]
    rows = tuple(
        (f"{one.name} ({one.weight:.0%})", *(number(sheet.mean(label, one.key)) for label in labels))
        for one in sheet.criteria
    )
    return Table(f"Mean scores, criteria {sheet.criteria_source or 'given'}", ("Criterion", *labels), rows)


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
