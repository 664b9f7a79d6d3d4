"""The content of a clash's page: answers under neutral names, and the panel's votes once visible. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from metajudge.clashes.record import ClashRecord, JudgeVote
from metajudge.clashes.showing import blind_texts
from metajudge.judging.answers import CandidateAnswer
from metajudge.types import Failure

from .case_view import seeded_order, titles_of


@dataclass(frozen=True, slots=True)
class Seat:
    """One answer, in this person's order; ``text`` has the names that reveal its author removed."""

    title: str
    text: str
    answer: CandidateAnswer
    points: float | None
    first: bool


@dataclass(frozen=True, slots=True)
class VoteLine:
    """One judge's ranking with the page's names of the answers; None with a failure."""

    vote: JudgeVote
    ranking: str | None
    failure: Failure | None

    @property
    def counted(self) -> bool:
        """Whether the vote counts for the verdict: observers do not count."""
        return self.vote.role != "observer"


@dataclass(frozen=True, slots=True)
class Given:
    """One judge's score of one answer on one criterion."""

    judge: str
    score: int
    reason: str


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One criterion: for each answer the counted judges' mean (None without scores), and each score."""

    name: str
    asks: str
    weight: float
    means: tuple[float | None, ...]
    given: tuple[tuple[Given, ...], ...]


def seats_of(record: ClashRecord, review_id: str, reviewer: str | None) -> tuple[Seat, ...]:
    """The available answers, in this person's order."""
    texts = blind_texts(record)
    order = seeded_order(list(texts), review_id, reviewer)
    answers = {one.name: one for one in record.candidates}
    points = {} if record.tally is None else record.tally.scores
    first = {record.winner} if record.winner is not None else set(record.tied)
    return tuple(
        Seat(
            title,
            texts[name],
            answers[name],
            points.get(name),
            name in first,
        )
        for name, title in zip(order, titles_of(len(order)), strict=True)
    )


def vote_lines(record: ClashRecord, seats: Sequence[Seat]) -> list[VoteLine]:
    """Every judge's ranking, counted votes first."""
    names = {seat.answer.name: seat.title for seat in seats}
    lines = [VoteLine(vote, _ranking(vote, names), vote.failure) for vote in record.votes]
    return sorted(lines, key=lambda line: not line.counted)


def score_rows(record: ClashRecord, seats: Sequence[Seat]) -> list[ScoreRow]:
    """Scores by criterion, of the counted judges."""
    rows = []
    for criterion in () if record.criteria is None else record.criteria.criteria:
        given = tuple(
            tuple(
                Given(vote.judge, result.score, result.reason)
                for vote in record.votes
                if vote.role != "observer"
                and (result := vote.scores.get(seat.answer.name, {}).get(criterion.key)) is not None
            )
            for seat in seats
        )
        means = tuple(sum(one.score for one in cell) / len(cell) if cell else None for cell in given)
        rows.append(ScoreRow(criterion.name, criterion.asks, criterion.weight, means, given))
    return rows


def _ranking(vote: JudgeVote, names: dict[str, str]) -> str | None:
    if vote.groups is None:
        return None
    return ", then ".join(" and ".join(sorted(names.get(one, one) for one in group)) for group in vote.groups.groups)
