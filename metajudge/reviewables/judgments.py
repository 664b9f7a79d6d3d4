"""A judge's verdict as a reviewable."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from metajudge.clashes.sheet import telling_names
from metajudge.evidence.words import signal_lines
from metajudge.judging.identity import hide_identities
from metajudge.reviewables.labels import in_reviewers_words, judges_labels, labels_for
from metajudge.reviewables.reviewable import Reviewable, number, written
from metajudge.reviewables.sheet import Cue, Fact, Passage, Section, Table
from metajudge.types import AgentResult, Assessment, Category, Grade, Judgment


def blind_texts(judgment: Judgment) -> Mapping[str, str]:
    """Response -> its text without names of models, of the judge and of the responses, where they tell something."""
    item = judgment.item
    known = [*(item.models or {}).values(), judgment.judge]
    names = telling_names(item.responses)
    return hide_identities(item.responses, question=item.question, models=known, names=names).shown


class JudgmentReviewable(Reviewable):
    """A judge's verdict on the responses of an item."""

    kind = "judgment"

    @cached_property
    def labels(self) -> dict[str, str]:
        """Label -> response; of a graded item the graded one alone."""
        if self.judgment is None:
            return {}
        single = isinstance(self.judgment.verdict, Grade | Category)
        names = self.judgment.order if single else tuple(self.judgment.item.responses)
        return labels_for(names, self.judgment.item.digest)

    def tips(self) -> tuple[str, ...]:
        decision = None if self.assessment is None else self.assessment.decision
        return () if decision is None else (decision.justification,)

    def passages(self, order: Sequence[str], *, blind: bool) -> tuple[Passage, ...]:
        if self.judgment is None:
            return ()
        item = self.judgment.item
        texts = blind_texts(self.judgment) if blind else item.responses
        winner = None if blind or self.judgment.verdict is None else self.judgment.verdict.winner
        seen = {} if blind else {label: shown for shown, label in judges_labels(self.judgment, self.labels).items()}
        found = [Passage("question", "Question", item.question)]
        for label in order:
            name = self.labels[label]
            note = f"the judge saw it as {seen[label]}" if label in seen else ""
            shown = None if blind else name
            picked = winner is not None and winner == name
            found.append(Passage("response", f"Response {label}", texts[name], label, "", shown, note, picked))
        if item.reference:
            found.append(Passage("reference", "Reference", item.reference))
        return tuple(found)

    def machine(self) -> tuple[Section, ...]:
        found = () if self.judgment is None else (self._verdict(self.judgment),)
        if self.assessment is not None:
            return (*found, *results(self.assessment))
        review = self.state.review
        numbers = {"Score": review.score, "Probability": review.probability, "Confidence": review.confidence}
        known = {name: value for name, value in numbers.items() if value is not None}
        scores = {name.replace("_", " "): score for name, score in review.criteria.items()}
        facts = [Fact(name, number(value)) for name, value in (*known.items(), *scores.items())]
        return (*found, Section("Result of vetting", (Fact("Policy's action", review.action), *facts)))

    def _verdict(self, judgment: Judgment) -> Section:
        seen = judges_labels(judgment, self.labels)
        said = written(judgment.verdict, self.labels)
        facts = [Fact("Judge", judgment.judge), Fact("Verdict", said)]
        if judgment.verdict is not None and said != str(judgment.verdict):
            facts.append(Fact("By the responses' own names", str(judgment.verdict)))
        if judgment.no_verdict:
            facts.append(Fact("Why there is no verdict", judgment.no_verdict, "warn"))
        if seen:
            facts.append(Fact("The judge's labels", ", ".join(f"{one} is {label}" for one, label in seen.items())))
        texts = [Cue("Rationale", in_reviewers_words(judgment.rationale, seen))] if judgment.rationale else []
        if judgment.instruction:
            texts.append(Cue("Instruction to the judge", judgment.instruction))
        return Section("Verdict", tuple(facts), texts=tuple(texts))


def results(assessment: Assessment) -> list[Section]:
    """What the meta-judges of an assessment said, what it came to, and the free signals."""
    agents = (*assessment.agents, *(() if assessment.summariser is None else (assessment.summariser,)))
    tables = [one for one in (_criteria(agents), _agents(agents, assessment.threshold)) if one.rows]
    title = "Results of the meta-judges" if agents else "Result of vetting"
    texts = tuple(Cue(f"Analysis of {one.agent}", one.analysis) for one in agents if one.analysis)
    found = [Section(title, tuple(_totals(assessment)), tuple(tables), texts)]
    lines = signal_lines(assessment.signals)
    if lines:
        signals = (Fact(one.title, f"{one.words}{f' ({one.detail})' if one.detail else ''}", one.tone) for one in lines)
        found.append(Section("Signals", tuple(signals)))
    return found


def _criteria(agents: Sequence[AgentResult]) -> Table:
    names = dict.fromkeys(name for agent in agents for name in agent.criteria or {})
    rows = tuple((name.replace("_", " "), *(_opinion(agent, name) for agent in agents)) for name in names)
    return Table("Scores by criterion", ("Criterion", *(one.agent for one in agents)), rows)


def _opinion(agent: AgentResult, name: str) -> str:
    one = (agent.criteria or {}).get(name)
    if one is None:
        return "failed" if agent.failure is not None else "not asked" if agent.skipped else "not scored"
    if one.score is None:
        return f"does not apply{'' if one.not_applicable is None else f': {one.not_applicable}'}"
    return f"{one.score:g}{f': {one.explanation}' if one.explanation else ''}"


def _agents(agents: Sequence[AgentResult], threshold: float) -> Table:
    return Table(
        "Agents",
        ("Agent", "Model", "Score", "Weight", "Result"),
        tuple(
            (
                f"{one.agent}{f' ({one.role})' if one.role else ''}",
                one.reported_model or one.model,
                number(one.score),
                f"{one.weight:g}",
                _result(one, threshold),
            )
            for one in agents
        ),
    )


def _result(agent: AgentResult, threshold: float) -> str:
    if agent.failure is not None:
        return f"{agent.failure.kind.value.replace('_', ' ')}: {agent.failure.message}"
    if agent.skipped or agent.score is None:
        return "not asked: the decision was already final" if agent.skipped else "no score"
    opening = "" if agent.opening is None else f"; first independent score {number(agent.opening.score)}"
    return f"trusts the verdict: {'yes' if agent.score > threshold else 'no'}{opening}"


def _totals(one: Assessment) -> list[Fact]:
    combined = number(one.final_score) if one.final_score is not None else "none"
    if one.final_score is None and one.score_bounds is not None:
        combined = f"between {one.score_bounds[0]:.4g} and {one.score_bounds[1]:.4g}: stopped early"
    if one.final_score is None and one.failure is not None:
        combined = f"none: {one.failure.message}"
    over = ", over the valid answers alone" if one.renormalised else ""
    facts = [
        Fact("Combined score", f"{combined} by {one.strategy.replace('_', ' ')}, threshold {one.threshold:g}{over}")
    ]
    marks = "".join(f"; {mark}" for mark in one.probability_marks)
    facts.append(Fact("Probability of being correct", f"{number(one.probability)}{marks}"))
    if one.decision is not None:
        made = one.decision
        facts.append(Fact("Decision", f"{made.action.value} by policy {made.policy}: {made.justification}"))
        facts.append(Fact("Confidence", number(made.inputs.confidence)))
        facts.append(Fact("Distance to another decision", number(made.margin)))
    cost = "unknown" if one.cost_usd is None else f"${one.cost_usd:.4f}"
    facts.append(Fact("Cost", f"{cost}, {one.calls} calls"))
    return facts
