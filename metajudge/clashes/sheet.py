"""What one evaluation has to show, for whoever renders it: terminal, report, page, export. Pure.

:func:`blind_texts` are what a person may see who decides blind; :func:`full_sheet` has names, rankings, scores,
reasons and the verdict, with the answers under the labels that it is given. Judges write of "A0" and "A1", the labels
that each of them saw; a full sheet has their words in the reader's labels.
"""

import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from metajudge.clashes.record import ClashRecord, JudgeVote
from metajudge.errors import InputError
from metajudge.judging.answers import CandidateAnswer
from metajudge.judging.criteria import Criterion
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
class AnswerSheet:
    """An answer with its author and result.

    Attributes:
        given: the answer as it was given, nothing hidden.
        points: Borda points; None without a verdict.
        best: whether it won, or shares the first place.
    """

    label: str
    given: CandidateAnswer
    points: float | None
    best: bool

    @property
    def generated(self) -> bool:
        """Whether it was made for the clash; if not, it has no cost and no latency here."""
        return self.given.source == "generated"

    @property
    def cut(self) -> bool:
        """Whether the answer was truncated."""
        return self.given.finish == "length"


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
        vote: as recorded, in the judge's own labels.
        written: the ranking in the sheet's labels, as ``R2 > R1 = R3``; None with ``problem``.
        problem: why there is no ranking.
        comparison: the judge's comparison, in the sheet's labels.
        own: label of the judge's own answer, where it has one here.
    """

    vote: JudgeVote
    written: str | None
    problem: str | None
    comparison: str
    scores: tuple[ScoreSheet, ...]
    own: str | None


@dataclass(frozen=True, slots=True)
class ClashSheet:
    """Everything that one evaluation has to show.

    Attributes:
        answers: best first by points, then in the order of the labels.
        votes: of the judges and voters that count.
        observers: of those that do not.
    """

    record: ClashRecord
    answers: tuple[AnswerSheet, ...]
    votes: tuple[VoteSheet, ...]
    observers: tuple[VoteSheet, ...]

    @property
    def best(self) -> tuple[AnswerSheet, ...]:
        """The winning answer, or those that share the first place."""
        return tuple(one for one in self.answers if one.best)

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria that judges weighed; empty without any."""
        return () if self.record.criteria is None else self.record.criteria.criteria

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

    @property
    def missing(self) -> tuple[tuple[str, str], ...]:
        """Candidates without an answer, with the reason."""
        given = self.record.candidates
        return tuple((one.name, one.failure.message) for one in given if one.failure is not None)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Votes, agreement, margin and blinding: name and value, in words."""
        record, tally, facts = self.record, self.record.tally, []
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

    @property
    def criteria_source(self) -> str:
        """Where the criteria come from, in words; empty where there are none."""
        found = self.record.criteria
        if found is None:
            return ""
        words = {
            "generated": f"proposed by {found.model} from the question alone",
            "generic": "the generic four",
            "fallback": "the generic four, because the proposed ones could not be used",
            "given": "given",
        }
        return words[found.source] + (f" ({found.why.message})" if found.why is not None else "")


def full_sheet(record: ClashRecord, labels: Mapping[str, str] | None = None) -> ClashSheet:
    """The full view.

    Args:
        labels: label -> candidate; None calls the answers by their candidates' names.
    """
    given = dict(labels) if labels is not None else {name: name for name in record.answered}
    called = {name: label for label, name in given.items()}
    votes = [_vote(record, vote, called) for vote in record.votes]
    counted, observers = ([one for one in votes if one.vote.counted is counts] for counts in (True, False))
    points = {} if record.tally is None else record.tally.scores
    best = {record.winner} if record.winner is not None else set(record.tied)
    answers = {one.name: one for one in record.candidates}
    found = [AnswerSheet(label, answers[name], points.get(name), name in best) for name, label in called.items()]
    found.sort(key=lambda one: -1.0 if one.points is None else one.points, reverse=True)
    return ClashSheet(record, tuple(found), tuple(counted), tuple(observers))


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


def _vote(record: ClashRecord, vote: JudgeVote, called: Mapping[str, str]) -> VoteSheet:
    keys = [] if record.criteria is None else [one.key for one in record.criteria.criteria]
    seen = {label: called.get(name, name) for label, name in vote.label_map.items()}
    scores = [
        ScoreSheet(called.get(name, name), key, one.score, in_labels(one.reason, seen))
        for name, row in vote.scores.items()
        for key, one in row.items()
        if key in keys
    ]
    order = {label: place for place, label in enumerate(called.values())}
    groups = () if vote.groups is None else vote.groups.groups
    written = " > ".join(" = ".join(sorted(called.get(name, name) for name in group)) for group in groups)
    return VoteSheet(
        vote=vote,
        written=None if vote.groups is None else written,
        problem=None if vote.groups is not None else (vote.failure.message if vote.failure else "no ranking"),
        comparison=in_labels(vote.comparison, seen),
        scores=tuple(sorted(scores, key=lambda one: (order.get(one.label, len(order)), keys.index(one.criterion)))),
        own=None if vote.own is None else called.get(vote.own, vote.own),
    )


def in_labels(text: str, seen: Mapping[str, str]) -> str:
    """A judge's words with the labels it saw replaced by the reader's.

    Args:
        seen: the judge's label -> the reader's.
    """
    return _JUDGES_LABEL.sub(lambda match: seen.get(match.group(), match.group()), text)
