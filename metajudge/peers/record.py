"""The records of peer evaluation, a line of a JSONL file each: answers to questions, and ballots that rank them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from metajudge.errors import InputError
from metajudge.reading.containers.lines import Reject, Source, read_lines
from metajudge.reading.questions import Name
from metajudge.reading.reader import each, split
from metajudge.types import Failure
from metajudge.types.frozen import Finite

Groups = tuple[Annotated[tuple[Name, ...], Field(min_length=1)], ...]
Status = Literal["ok", "failed"]


class _Attempted(Finite):
    status: Status = "ok"
    failure: Failure | None = None
    replied: bool = True
    attempt: int = Field(default=1, ge=1)
    key: str | None = None
    cost_usd: float | None = Field(default=None, ge=0)
    calls: int | None = Field(default=None, ge=0)
    meta: dict[str, Any] = Field(default_factory=dict)


class _RankingAsked(Finite):
    version: Literal[1] = Field(default=1, description="Version of this record's format.")
    question_id: Name
    domain: Name | None = None
    evaluator: Name
    candidates: tuple[Name, ...] = ()
    ranking: Groups | None = Field(default=None, description="Groups of tied candidates, best first.")
    labels: dict[str, Name] | None = None
    seed: int | None = None


class Ballot(_Attempted, _RankingAsked):
    """One evaluator's ranking of the answers to one question, or the reason it is missing.

    A file of rankings from elsewhere needs ``question_id``, ``evaluator`` and ``ranking`` alone; a ranking is a list
    of candidates or of groups of tied candidates, best first. Candidates that were shown but not ranked (a top-k
    ballot) stand together below the ranked ones.

    Attributes:
        candidates: whose answers were shown; where it is empty, those of ``labels``, and where there are none either,
            every candidate that some ballot of this question ranks.
        labels: label shown -> candidate, in the order shown. ``seed`` is what the order was drawn with.
        attempt: 1 for the first; a file keeps every attempt, and the one of the highest number that succeeded counts
            (a question is ranked anew where an answer that was missing has come).
        replied: False where a failed evaluator could not be asked, so that asking again later may help.
        key: digest of everything the ballot depends on: a ballot of the same key is not asked for again.
        cost_usd: of this attempt; None where unknown.
        meta: model, parameters, digests of prompts and requests, and whatever else is to be kept.
    """

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: Any) -> Any:
        """A bare name is a group of one, and the labels say who was shown."""
        if not isinstance(data, dict):
            return data
        data = dict(data)
        ranking, labels = data.get("ranking"), data.get("labels")
        if isinstance(ranking, list | tuple):
            data["ranking"] = tuple((one,) if isinstance(one, str) else one for one in ranking)
        if not data.get("candidates") and isinstance(labels, dict):
            data["candidates"] = tuple(labels.values())
        return data

    @model_validator(mode="after")
    def _check(self) -> "Ballot":
        refuse_repeated(self.candidates, "candidates names")
        if self.labels is not None and set(self.labels.values()) != set(self.candidates):
            raise ValueError("labels and candidates name different candidates")
        if self.status == "failed":
            if self.failure is None or self.ranking is not None:
                raise ValueError("a failed ballot has a failure (kind and message) and no ranking")
            return self
        if self.failure is not None or self.ranking is None:
            raise ValueError("a ballot of status ok has a ranking and no failure; give status failed where it failed")
        if not self.ranking:
            raise ValueError("the ranking is empty: give status failed and a failure instead")
        refuse_repeated(self.ranked, "the ranking names")
        unknown = [name for name in self.ranked if self.candidates and name not in self.candidates]
        if unknown:
            raise ValueError(f"the ranking names {_list(unknown)}, which is not among the candidates shown")
        return self

    @property
    def ranked(self) -> tuple[str, ...]:
        """The candidates that have a place, best first; the order within a group means nothing."""
        return tuple(name for group in self.ranking or () for name in group)

    @property
    def place(self) -> tuple[str, str]:
        """What the ballot is for: question and evaluator."""
        return self.question_id, self.evaluator


class _Written(Finite):
    version: Literal[1] = 1
    question_id: Name
    model: Name
    text: str | None = None


class PeerAnswer(_Attempted, _Written):
    """One model's answer to one question, or the reason it is missing.

    Attributes:
        text: may be empty (a model may answer nothing); None only where it failed.
        replied: False where the model could not be asked, so that asking again later may help.
        attempt, key, cost_usd, calls, meta: as for a :class:`Ballot`.
    """

    key: str
    calls: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _check(self) -> "PeerAnswer":
        if (self.text is None) != (self.status == "failed") or (self.failure is None) != (self.status == "ok"):
            raise ValueError("an answer has a text and status ok, or a failure and status failed")
        return self

    @property
    def place(self) -> tuple[str, str]:
        """What the answer is for: question and model."""
        return self.question_id, self.model


@dataclass(frozen=True, slots=True)
class BallotFile:
    """The contents of a file of ballots.

    Attributes:
        ballots: one a question and evaluator, in order of first appearance: the last attempt that succeeded, else the
            last one.
        rejects: lines that are no ballots, with the reason.
    """

    ballots: tuple[Ballot, ...]
    rejects: tuple[Reject, ...] = ()


def read_ballots(path: Path) -> BallotFile:
    """Reads a JSONL file of ballots, plain or gzip.

    Raises:
        InputError: the file cannot be read, contains no ballot, or two rankings of one question by one evaluator.
    """
    source = Source(path, str(path))
    attempts, rejects = split(
        each(source, read_lines(source), lambda line: (Ballot.model_validate(line.data), f"{path}:{line.number}"))
    )
    if not attempts:
        reason = f"; {rejects[0]}" if rejects else ": it is empty"
        raise InputError(
            f"{path} contains no ballot{reason}. A line is an object with question_id, evaluator and ranking, "
            'for instance {"question_id": "q1", "evaluator": "m1", "ranking": ["m2", ["m1", "m3"]]}'
        )
    return BallotFile(_counted(attempts), tuple(rejects))


def counted_ballots(attempts: Iterable[Ballot]) -> tuple[Ballot, ...]:
    """One ballot a question and evaluator, as :attr:`BallotFile.ballots`.

    Raises:
        InputError: two different rankings of one question by one evaluator.
    """
    return _counted((ballot, f"ballot {number}") for number, ballot in enumerate(attempts, start=1))


def _counted(attempts: Iterable[tuple[Ballot, str]]) -> tuple[Ballot, ...]:
    """Those that count, of attempts with their places in the input."""
    found: dict[tuple[str, str], tuple[Ballot, str]] = {}
    for ballot, where in attempts:
        earlier, there = found.get(ballot.place, (None, ""))
        if earlier is None or earlier.status == "failed":
            found[ballot.place] = ballot, where
        elif ballot.status == "failed" or ballot.attempt < earlier.attempt:
            continue
        elif ballot.attempt > earlier.attempt:
            found[ballot.place] = ballot, where
        elif earlier.key is None or (earlier.key, _sets(earlier)) != (ballot.key, _sets(ballot)):
            # The same line may be there twice, as after an interruption between writing and noting; this is another.
            raise InputError(
                f"{where}: evaluator {ballot.evaluator!r} ranks question {ballot.question_id!r} twice "
                f"(first at {there}): keep one of the two, or name the evaluators apart"
            )
    return tuple(ballot for ballot, _ in found.values())


def _sets(ballot: Ballot) -> list[frozenset[str]]:
    return [frozenset(group) for group in ballot.ranking or ()]


def refuse_repeated(names: Sequence[str], what: str) -> None:
    """Raises ValueError where a name comes more than once; ``what`` says of what."""
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"{what} {_list(repeated)} more than once")


def _list(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))
