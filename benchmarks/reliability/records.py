"""A panel's result for one labelled pair in one run, from the records of ``metajudge clash``."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from metajudge.clashes.record import ClashRecord, attempt_that_counts
from metajudge.clashes.tally import Voter
from metajudge.errors import InputError
from metajudge.reading.containers.lines import Line, Source, read_lines
from metajudge.stats.stability import Correctness
from metajudge.types import Grade, digest
from metajudge.types.spent import sum_if_known

from ..figure import checked_lines

Status = Literal["ok", "tie", "no_verdict", "error"]
"""The panel named a winner; it tied; it answered without one (too few usable rankings); it could not be asked."""

TIE = "tie"
"""The label of a tie where verdicts are compared; no response may be called so."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The panel's verdict on one pair in one run.

    Attributes:
        run: from 1.
        cluster: what makes evaluations dependent: the same question with the same responses, whatever they are called.
        status: the result; only ``ok`` has a winner.
        votes: panel judge -> the response it ranked first; None for a tie of its own or a failure.
        shown_first: panel judge -> the response that stood first in its blinded order, by the stored label map.
        models: response -> the model that wrote it, where known.
        confidence: margin of the panel in [0, 1]; None without a verdict.
        cost_usd: of this evaluation, None where unknown.
    """

    item: str
    run: int
    cluster: str
    sides: tuple[str, str]
    human: str
    status: Status
    winner: str | None = None
    votes: Mapping[str, str | None] = field(default_factory=dict)
    shown_first: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    confidence: float | None = None
    cost_usd: float | None = None

    def __post_init__(self) -> None:
        where = f"evaluation {self.item} of run {self.run}"
        if len(set(self.sides)) != 2 or TIE in self.sides:
            raise InputError(f"{where}: sides must be two response ids other than {TIE!r}")
        if self.human not in self.sides:
            raise InputError(f"{where}: the human's choice {self.human!r} is neither response")
        if (self.winner is not None) != (self.status == "ok") or self.winner not in (None, *self.sides):
            raise InputError(f"{where}: status {self.status} does not go with winner {self.winner!r}")
        for name, choice in (*self.votes.items(), *self.shown_first.items()):
            if choice is not None and choice not in self.sides:
                raise InputError(f"{where}: {name} chose {choice!r}, which is neither response")

    @property
    def outcome(self) -> Correctness:
        """Against the human's choice."""
        if self.status == "ok":
            return Correctness.RIGHT if self.winner == self.human else Correctness.WRONG
        return {"tie": Correctness.TIE, "no_verdict": Correctness.NO_VERDICT, "error": Correctness.ERROR}[self.status]

    @property
    def decided(self) -> bool:
        return self.status == "ok"

    @property
    def right(self) -> bool:
        return self.winner == self.human

    @property
    def label(self) -> str | None:
        """For comparing runs: side A or B, a tie, or None without a verdict."""
        if self.winner is not None:
            return self.side(self.winner)
        return TIE if self.status == "tie" else None

    def side(self, response: str) -> str:
        """A for the first response of the item, B for the second."""
        return "A" if response == self.sides[0] else "B"


def by_item(evaluations: Sequence[Evaluation]) -> dict[str, list[Evaluation]]:
    """Item -> its evaluations, by run."""
    items: dict[str, list[Evaluation]] = {}
    for one in sorted(evaluations, key=lambda one: one.run):
        items.setdefault(one.item, []).append(one)
    return items


@dataclass(slots=True)
class Recorded:
    """Evaluations of recorded runs.

    Attributes:
        evaluations: one an item and run; the run is the record's repeat.
        panel: the judges declared, the same in all records.
        left_out: records that are no labelled pair, by reason.
        counting: the record that counts for each evaluation, those left out included.
        independent: different models on the panel, as its votes record them; a judge that never voted is one.
    """

    evaluations: list[Evaluation] = field(default_factory=list)
    panel: tuple[str, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    attempts: int = 0
    counting: list[ClashRecord] = field(default_factory=list)
    independent: int = 0


def holds_clash_records(path: Path) -> bool:
    """Whether the first readable line of a file is a record of ``metajudge clash``."""
    first = next((line for line in read_lines(Source(path, str(path))) if isinstance(line, Line)), None)
    return first is not None and {"votes", "panel", "key"} <= set(first.data)


def read_clash_records(path: Path) -> list[ClashRecord]:
    """Reads records.

    Raises:
        InputError: a line is broken or no record, with its number.
    """
    return [record for _, record in checked_lines(path, ClashRecord, "is this a file of `metajudge clash`?")]


def counted_attempts(records: Iterable[ClashRecord]) -> list[tuple[ClashRecord, float | None]]:
    """One record an evaluation, with the dollars of all its attempts.

    The rule is the one stored in each record, see :func:`~metajudge.clashes.record.attempt_that_counts`.
    """
    attempts: dict[tuple[str, int, int], list[ClashRecord]] = {}
    for record in records:
        attempts.setdefault((record.item_id, record.cycle, record.repeat), []).append(record)
    counted = []
    for mine in attempts.values():
        mine.sort(key=lambda record: record.attempt)
        counted.append((attempt_that_counts(mine), sum_if_known(record.spent_usd for record in mine)))
    return counted


def evaluations_of(records: Sequence[ClashRecord]) -> Recorded:
    """Takes the labelled pairs among records of one panel.

    Raises:
        InputError: the records are of different panels.
    """
    panels = {record.panel for record in records}
    if len(panels) > 1:
        raise InputError(
            "the records are of different panels ("
            + "; ".join(", ".join(panel) for panel in sorted(panels))
            + "): analyse each panel's file by itself"
        )
    found = Recorded(panel=next(iter(panels), ()), attempts=len(records))
    for record, cost in counted_attempts(records):
        found.counting.append(record)
        why = _unfit(record)
        if why:
            found.left_out[why] += 1
        else:
            found.evaluations.append(_evaluation(record, cost))
    models = {vote.judge: vote.model for one in found.counting for vote in one.votes if vote.role == "panel"}
    found.independent = len({Voter(judge, model=models.get(judge)).identity for judge in found.panel})
    return found


def _unfit(record: ClashRecord) -> str:
    if len(record.candidates) != 2:
        return "not of two responses"
    if record.label is None or isinstance(record.label, Grade) or record.label.winner is None:
        return "without a human winner"
    if record.label.winner not in {one.name for one in record.candidates}:
        return "whose human winner is neither response"
    return "of a later cycle, whose responses are others" if record.cycle != 1 else ""


def _evaluation(record: ClashRecord, cost: float | None) -> Evaluation:
    first, second = (one.name for one in record.candidates)
    panel = [vote for vote in record.votes if vote.role == "panel"]
    return Evaluation(
        item=record.item_id,
        run=record.repeat,
        cluster=digest({"question": record.question, "responses": sorted(one.text or "" for one in record.candidates)}),
        sides=(first, second),
        human=record.label.winner or "" if record.label is not None else "",
        status=record.status,
        winner=record.winner,
        votes={vote.judge: vote.groups.winner if vote.groups is not None else None for vote in panel},
        shown_first={vote.judge: vote.order[0] for vote in panel if vote.order},
        models=record.models,
        confidence=None if record.tally is None else record.tally.margin,
        cost_usd=cost,
    )
