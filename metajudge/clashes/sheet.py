"""What one evaluation has to show, for whoever renders it: terminal, report, page, export. Pure.

:func:`blind_sheet` has what a person may see who decides blind; :func:`full_sheet` adds names, rankings, scores,
reasons and the verdict. Both call answers by the labels that they are given. Judges write of "A0" and "A1", the labels
that each of them saw; a full sheet has their words in the reader's labels.
"""

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from metajudge.clashes.record import ClashRecord, JudgeVote, Role
from metajudge.errors import InputError
from metajudge.judging.identity import hide_identities
from metajudge.types import Ranking, digest

_JUDGES_LABEL = re.compile(r"\bA[0-9]{1,3}\b")
_SIGNS = re.compile(r">{1,2}")


def blind_texts(record: ClashRecord) -> dict[str, str]:
    """Candidate -> its answer without names that reveal its author.

    The rule is applied anew, whatever was hidden from the judges: an earlier version hid less, and hiding may have been
    switched off for the run.
    """
    known = [one.model for one in record.candidates if one.model is not None]
    found = [name for one in record.candidates for name in one.hidden_names]
    found += telling_names(record.answered)
    models = [*record.models.values(), *known]
    return hide_identities(record.answered, question=record.question, models=models, names=found).shown


def telling_names(names: Iterable[str]) -> list[str]:
    """The candidates' names that are hidden wherever they stand: those that are no ordinary words.

    A name of several parts, or with a digit or a capital letter, is taken for one that means the candidate; a plain
    word such as "python" is hidden only where the context tells (:mod:`metajudge.judging.identity`).
    """
    return [name for name in names if not name.isalpha() or name != name.lower()]


def labels_of(record: ClashRecord, review_id: str) -> dict[str, str]:
    """Label -> candidate, in the order in which the answers are shown; drawn for this review, the same every time.

    Labels are R1, R2, ... or begin with another letter where a candidate is called so.
    """
    names = sorted(record.answered)
    random.Random(int(digest(["labels", review_id]), 16)).shuffle(names)
    letter = next(one for one in "RSTUVWXYZ" if not any(re.fullmatch(rf"{one}\d+", name) for name in names))
    return {f"{letter}{place}": name for place, name in enumerate(names, start=1)}


def ranking_by_label(text: str, labels: Mapping[str, str]) -> Ranking:
    """A person's verdict in terms of candidates: ``R2>R1=R3``, or ``R2`` alone for the best one.

    Labels and candidates' names may be given, not both in one verdict.

    Args:
        labels: label -> candidate.

    Raises:
        InputError: not every answer once; says what to write.
    """
    groups = [[part.strip() for part in group.split("=")] for group in _SIGNS.split(text.strip())]
    named = [name for group in groups for name in group]
    known = dict(labels) if set(named) <= set(labels) else {name: name for name in labels.values()}
    if len(named) == 1 and named[0] in known and len(known) > 1:
        groups.append([name for name in known if name != named[0]])
        named = [name for group in groups for name in group]
    if sorted(named) != sorted(known):
        example = ">".join(labels)
        raise InputError(
            f"{text!r} does not rank {', '.join(labels)} once each: write a ranking such as {example} "
            f"(= for equals), or the best one alone, such as {next(iter(labels), 'R1')}"
        )
    return Ranking(tuple(tuple(sorted(known[name] for name in group)) for group in groups))


@dataclass(frozen=True, slots=True)
class CriterionSheet:
    """One criterion.

    Attributes:
        weight: its share; those of a sheet sum to 1.
    """

    key: str
    name: str
    asks: str
    weight: float


@dataclass(frozen=True, slots=True)
class BlindAnswer:
    """An answer without names that reveal its author."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class BlindClash:
    """What a person may see who decides blind: no name, no ranking, no score, no verdict."""

    question: str
    reference: str | None
    answers: tuple[BlindAnswer, ...]
    criteria: tuple[CriterionSheet, ...]


@dataclass(frozen=True, slots=True)
class AnswerSheet:
    """An answer with its author and result.

    Attributes:
        text: as it was given, nothing hidden.
        hidden: names that were hidden from the judges.
        points: Borda points; None without a verdict.
        best: whether it won, or shares the first place.
        cut: whether the answer was truncated.
        cost_usd, latency_s: None where unknown, and where the answer was given.
    """

    label: str
    name: str
    model: str | None
    text: str
    hidden: tuple[str, ...]
    points: float | None
    best: bool
    generated: bool
    cut: bool
    cost_usd: float | None
    latency_s: float | None


@dataclass(frozen=True, slots=True)
class ScoreSheet:
    """One judge's score, 1 to 5, of one answer on one criterion."""

    label: str
    criterion: str
    score: int
    reason: str


@dataclass(frozen=True, slots=True)
class VoteSheet:
    """One judge's ranking and reasons.

    Attributes:
        weight: None for an observer.
        ranking: groups of labels, best first; None with ``problem``.
        problem: why there is no ranking.
        comparison: the judge's comparison, in the sheet's labels.
        own: label of the judge's own answer, where it has one here.
        own_first: whether it put that answer first, alone.
    """

    judge: str
    model: str
    role: Role
    weight: float | None
    ranking: tuple[tuple[str, ...], ...] | None
    problem: str | None
    comparison: str
    scores: tuple[ScoreSheet, ...]
    own: str | None
    own_first: bool | None

    @property
    def counted(self) -> bool:
        """Whether the vote counts for the verdict."""
        return self.role != "observer"

    @property
    def written(self) -> str | None:
        """The ranking as ``R2 > R1 = R3``."""
        return None if self.ranking is None else " > ".join(" = ".join(group) for group in self.ranking)


@dataclass(frozen=True, slots=True)
class ClashSheet:
    """Everything that one evaluation has to show.

    Attributes:
        answers: best first by points, then in the order of the labels.
        verdict: the result in a sentence.
        triage: ``accept`` or ``escalate`` in words, with the reason.
        facts: name -> value, in words: votes, agreement, margin, blinding.
        votes: of the judges and voters that count.
        observers: of those that do not.
        missing: candidates without an answer, with the reason.
    """

    id: str
    category: str | None
    question: str
    reference: str | None
    answers: tuple[AnswerSheet, ...]
    criteria: tuple[CriterionSheet, ...]
    criteria_source: str
    verdict: str
    triage: str
    facts: tuple[tuple[str, str], ...]
    votes: tuple[VoteSheet, ...]
    observers: tuple[VoteSheet, ...]
    missing: tuple[tuple[str, str], ...]
    notices: tuple[str, ...]

    @property
    def best(self) -> tuple[AnswerSheet, ...]:
        """The winning answer, or those that share the first place."""
        return tuple(one for one in self.answers if one.best)

    @property
    def scored(self) -> bool:
        """Whether a judge that counts scored the answers."""
        return bool(self.criteria) and any(vote.scores for vote in self.votes)

    def mean(self, label: str, criterion: str) -> float | None:
        """Mean score of an answer on a criterion by the judges that count; None where none scored it."""
        found = [
            one.score for vote in self.votes for one in vote.scores if (one.label, one.criterion) == (label, criterion)
        ]
        return sum(found) / len(found) if found else None


def blind_sheet(record: ClashRecord, labels: Mapping[str, str]) -> BlindClash:
    """The blind view.

    Args:
        labels: label -> candidate, in the order in which the answers are shown; see
            :func:`~metajudge.clashes.sheet.labels_of`.
    """
    texts = blind_texts(record)
    answers = tuple(BlindAnswer(label, texts[name]) for label, name in labels.items())
    return BlindClash(record.question, record.reference, answers, criteria_of(record))


def full_sheet(record: ClashRecord, labels: Mapping[str, str] | None = None) -> ClashSheet:
    """The full view.

    Args:
        labels: label -> candidate; None calls the answers by their candidates' names.
    """
    given = dict(labels) if labels is not None else {name: name for name in record.answered}
    called = {name: label for label, name in given.items()}
    votes = [_vote(record, vote, called) for vote in record.votes]
    return ClashSheet(
        id=record.id,
        category=record.category,
        question=record.question,
        reference=record.reference,
        answers=_answers(record, called),
        criteria=criteria_of(record),
        criteria_source=_criteria_source(record),
        verdict=verdict_of(record),
        triage=triage_of(record),
        facts=tuple(_facts(record)),
        votes=tuple(one for one in votes if one.counted),
        observers=tuple(one for one in votes if not one.counted),
        missing=tuple((one.name, one.failure.message) for one in record.candidates if one.failure is not None),
        notices=record.notices,
    )


def criteria_of(record: ClashRecord) -> tuple[CriterionSheet, ...]:
    """What judges were to weigh; empty where nobody was asked."""
    criteria = () if record.criteria is None else record.criteria.criteria
    return tuple(CriterionSheet(one.key, one.name, one.asks, one.weight) for one in criteria)


def verdict_of(record: ClashRecord) -> str:
    """The result: a winner, a tie, or none with the reason."""
    if record.winner is not None:
        return f"{record.winner} wins"
    if record.tied:
        return f"tie between {' and '.join(record.tied)}"
    return f"no verdict: {record.why}" if record.why else "no verdict"


def triage_of(record: ClashRecord) -> str:
    """Whether a person has to make the call, and why."""
    if record.tally is not None and record.tally.triage == "accept":
        return "accept: unanimous"
    why = record.why if record.tally is None else record.tally.why
    return f"escalate to a person{f': {why}' if why else ''}"


def _facts(record: ClashRecord) -> list[tuple[str, str]]:
    tally, facts = record.tally, []
    if tally is not None:
        facts.append(("Votes", f"{tally.votes} of {tally.voters} declared voters; quorum {tally.quorum}"))
        if tally.agreement is not None:
            facts.append(("Agreement", f"{tally.agreement:.0%} of the weight put the winner first, alone"))
        if tally.margin is not None:
            facts.append(("Margin", f"{tally.margin:.2f} of 1"))
        if not tally.settled and tally.status != "no_verdict":
            facts.append(("Missing votes", "could have changed the result"))
    if record.blinding is not None:
        count = len(record.blinding.hidden)
        hidden = f"{count or 'no'} {'name' if count == 1 else 'names'} hidden from the judges"
        facts.append(("Blinding", hidden if record.blinding.hiding else "off: judges could read who wrote what"))
    return facts


def _criteria_source(record: ClashRecord) -> str:
    found = record.criteria
    if found is None:
        return ""
    words = {
        "generated": f"proposed by {found.model} from the question alone",
        "generic": "the generic four",
        "fallback": "the generic four, because the proposed ones could not be used",
        "given": "given",
    }
    return words[found.source] + (f" ({found.why.message})" if found.why is not None else "")


def _answers(record: ClashRecord, called: Mapping[str, str]) -> tuple[AnswerSheet, ...]:
    points = {} if record.tally is None else record.tally.scores
    best = {record.winner} if record.winner is not None else set(record.tied)
    answers = {one.name: one for one in record.candidates}
    found = []
    for name, label in called.items():
        one = answers[name]
        generated = one.source == "generated"
        found.append(
            AnswerSheet(
                label=label,
                name=name,
                model=one.model,
                text=one.text or "",
                hidden=one.hidden_names,
                points=points.get(name),
                best=name in best,
                generated=generated,
                cut=one.finish == "length",
                cost_usd=one.cost_usd if generated else None,
                latency_s=one.latency_s,
            )
        )
    return tuple(sorted(found, key=lambda one: -1.0 if one.points is None else one.points, reverse=True))


def _vote(record: ClashRecord, vote: JudgeVote, called: Mapping[str, str]) -> VoteSheet:
    names = {} if record.criteria is None else {one.key: one.name for one in record.criteria.criteria}
    seen = {label: called.get(name, name) for label, name in vote.label_map.items()}
    scores = [
        ScoreSheet(called.get(name, name), key, one.score, in_labels(one.reason, seen))
        for name, row in vote.scores.items()
        for key, one in row.items()
        if key in names
    ]
    order = {label: place for place, label in enumerate(called.values())}
    keys = list(names)
    return VoteSheet(
        judge=vote.judge,
        model=vote.model,
        role=vote.role,
        weight=vote.weight,
        ranking=None if vote.groups is None else _labelled(vote.groups, called),
        problem=None if vote.groups is not None else (vote.failure.message if vote.failure else "no ranking"),
        comparison=in_labels(vote.comparison, seen),
        scores=tuple(sorted(scores, key=lambda one: (order.get(one.label, len(order)), keys.index(one.criterion)))),
        own=None if vote.own is None else called.get(vote.own, vote.own),
        own_first=vote.own_first,
    )


def _labelled(ranking: Ranking, called: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(sorted(called.get(name, name) for name in group)) for group in ranking.groups)


def in_labels(text: str, seen: Mapping[str, str]) -> str:
    """A judge's words with the labels it saw replaced by the reader's.

    Args:
        seen: the judge's label -> the reader's.
    """
    return _JUDGES_LABEL.sub(lambda match: seen.get(match.group(), match.group()), text)
