"""From the records of ``metajudge clash`` to evaluations: one an item and run, by the declared retry rule."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

from metajudge.clashes.record import ClashRecord, attempt_that_counts
from metajudge.clashes.tally import Voter
from metajudge.errors import InputError
from metajudge.readers.lines import Line, Reject, Source, read_lines
from metajudge.readers.reasons import reason_of
from metajudge.types import Grade, digest

from .records import Evaluation


@dataclass(slots=True)
class Recorded:
    """Evaluations of recorded runs.

    Attributes:
        evaluations: one an item and run; the run is the record's repeat.
        panel: the judges declared, the same in all records.
        left_out: records that are no labelled pair, by reason.
        counting: the record that counts for each evaluation, those left out included.
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
    records = []
    for line in read_lines(Source(path, str(path))):
        if isinstance(line, Reject):
            raise InputError(f"{line}; repair or remove the line")
        try:
            records.append(ClashRecord.model_validate(line.data))
        except ValidationError as error:
            raise InputError(
                f"{path}:{line.number}: {reason_of(error)}; is this a file of `metajudge clash`?"
            ) from None
    return records


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
        chosen = attempt_that_counts(mine)
        spent = [record.spent_usd for record in mine]
        known = [cost for cost in spent if cost is not None]
        counted.append((chosen, sum(known) if len(known) == len(spent) else None))
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
    found.independent = _independent(found)
    return found


def _independent(found: Recorded) -> int:
    """Different models on the panel, as its votes record them; a judge that never voted counts as one of its own."""
    models = {vote.judge: vote.model for one in found.counting for vote in one.votes if vote.role == "panel"}
    return len({Voter(judge, model=models.get(judge)).identity for judge in found.panel})


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
        reason=record.why or "" if record.status != "ok" else "",
        votes={vote.judge: vote.groups.winner if vote.groups is not None else None for vote in panel},
        shown_first={vote.judge: vote.order[0] for vote in panel if vote.order},
        models=record.models,
        confidence=None if record.tally is None else record.tally.margin,
        cost_usd=cost,
    )
