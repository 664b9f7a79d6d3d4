"""An audit of judgments: what the command, the service and Python programs call."""

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from metajudge.audit.card import AuditDocument
from metajudge.audit.report import FREE, audit
from metajudge.calibration.fit import why_no_calibration
from metajudge.errors import InputError
from metajudge.evidence.units import stated
from metajudge.reading import JudgmentSource
from metajudge.reading.frames import judgments_in
from metajudge.reading.joined_labels import On, join
from metajudge.reading.jsonl import JudgmentLines
from metajudge.reading.label_files import LabelRow, LabelRows, read_labels
from metajudge.reading.passes import Kept
from metajudge.reading.reasons import JudgmentLike, as_judgment, as_record
from metajudge.reading.vocabulary import without_silent_verdicts
from metajudge.report.audit.published import published
from metajudge.types import Judgment
from metajudge.types.frozen import Finite
from metajudge.types.judgment import Id
from metajudge.types.right import Right, parse_right


@dataclass(frozen=True, slots=True)
class Audited:
    """An audit, and what joining people's labels gave to know.

    Attributes:
        found: the audit.
        judgments: what was audited, with their labels.
        notices: sentences on the labels.
    """

    found: AuditDocument
    judgments: Sequence[Judgment]
    notices: tuple[str, ...] = field(default=())


class PersonLabel(Finite):
    """What a person says is right, with the judgment or the item that it is about.

    Attributes:
        id: of the judgment.
        item_id: of the item.
        response: of an item with one response: its id, or the model that wrote it, beside ``item_id``.
        value: a grade, a category, a verdict such as ``A>B``, a response's id or ``tie``.
        annotator: who says it.
        time: when.
    """

    id: Id | None = Field(default=None, max_length=1000)
    item_id: Id | None = Field(default=None, max_length=1000)
    response: str | None = Field(default=None, min_length=1, max_length=1000)
    value: bool | int | float | Annotated[str, Field(min_length=1, max_length=1000)] | list[list[str]]
    annotator: str | None = Field(default=None, min_length=1, max_length=300)
    time: datetime | None = None

    @model_validator(mode="after")
    def _check(self) -> "PersonLabel":
        if self.id is None and self.item_id is None:
            raise ValueError("a label names a judgment (id) or an item (item_id)")
        return self

    def row(self, number: int) -> LabelRow:
        """The label as a file's row, which the join takes."""
        keys = {name: one for name in KEYS if (one := getattr(self, name)) is not None}
        return LabelRow(keys, self.value, self.annotator, self.time, "labels", number)


KEYS = ("id", "item_id", "response")


def label_rows(labels: Sequence[PersonLabel | Mapping[str, Any]]) -> LabelRows:
    """Labels in memory, as a join takes them.

    Raises:
        InputError: one that is not valid, or none at all.
    """
    if not labels:
        raise InputError("there is no label: leave labels out, or give at least one")
    given = [as_record(one, PersonLabel, f"label {number}") for number, one in enumerate(labels, start=1)]
    rows = [one.row(number) for number, one in enumerate(given, start=1)]
    named = {name for row in rows for name in row.keys}
    columns = [[name] if name in named else [] for name in KEYS]
    return LabelRows(rows=rows, ids=columns[0], items=columns[1], responses=columns[2])


def audit_judgments(
    judgments: Iterable[JudgmentLike] | Path | str,
    *,
    labels: Sequence[PersonLabel | Mapping[str, Any]] | Path | str | None = None,
    on: On | None = None,
    right: Right | str | None = None,
    unit: str | None = None,
) -> AuditDocument:
    """Audits the judges of some judgments: agreement with people, biases, stability, corrected rates, power.

    Args:
        judgments: of all judges; records or plain data (``metajudge schema judgment``), a path, or a frame.
        labels: a file of people's labels, or labels as records or plain data (:class:`PersonLabel`); None if the
            judgments hold them.
        on: what the labels name: ``id``, ``item`` or ``item+response``; None to find it by the values.
        right: what counts as right, as ``--right`` takes it; None for the default of each kind.
        unit: what is independent of each other: ``item``, ``question``, or a field of ``meta`` or the item; None to
            find it (:mod:`metajudge.evidence.units`).

    Returns:
        The document; ``model_dump_json()`` gives the JSON of ``metajudge audit --json``.

    Raises:
        InputError: no judgment, labels that match nothing, or a rule that does not exist.

    Example:
        >>> audit_judgments(open_judgments(["grades.csv"]), labels="people.csv").judges[0].accuracy  # doctest: +SKIP
    """
    rows = None
    if labels is not None:
        rows = read_labels([labels]) if isinstance(labels, Path | str) else label_rows(labels)
    audited = audited_by(judgments_in(judgments), rows, on=on, right=right, unit=unit)
    return published(audited.found, notices=audited.notices)


def audited_by(
    judgments: Iterable[JudgmentLike],
    labels: LabelRows | None = None,
    *,
    on: On | None = None,
    right: Right | str | None = None,
    unit: str | None = None,
) -> Audited:
    """As :func:`audit_judgments`, with the audit as it is and the judgments audited."""
    rule = _rule(right)
    whole = isinstance(judgments, JudgmentSource) and judgments.judges is None and judgments.limit is None
    given: Sequence[Judgment]
    if isinstance(judgments, JudgmentSource):
        given = judgments.collect(Kept) if whole else list(judgments)
        own = all(name == JudgmentLines.format for name in judgments.formats.values())
    else:
        plain = list(judgments)
        given = [as_judgment(one, place=f"judgment {at}") for at, one in enumerate(plain, start=1)]
        own = not any(isinstance(one, Judgment) for one in plain)
    given = without_silent_verdicts(given) if own else given
    notices = _without_verdicts(given)
    if unit is not None:
        given = [*map(stated(unit), given)]
    elif isinstance(judgments, JudgmentSource):
        unit = judgments.unit
    if labels is not None:
        given, joined = join(given, labels, on)
        notices += joined.notices
    found = audit(given, right=rule, unit=unit)
    why = why_no_calibration(given, rule) if any(step.goal == "calibrate" for step in found.next) else None
    if why is not None:
        steps = tuple(step for step in found.next if step.goal not in ("calibrate", "guarantee"))
        found = found.model_copy(update={"next": (*steps, FREE)})
        notices.append(f"No calibration is advised: {why}.")
    return Audited(found, given, tuple(notices))


def demo_judgments() -> Iterator[Judgment]:
    """The shipped sample for ``metajudge audit --demo``: simulated verdicts with planted biases."""
    packed = files("metajudge.benchmarks.sample").joinpath("audit", "judgments.jsonl.gz").read_bytes()
    return (Judgment.model_validate_json(line) for line in gzip.decompress(packed).splitlines())


def _rule(right: Right | str | None) -> Right | None:
    if not isinstance(right, str):
        return right
    try:
        return parse_right(right)
    except ValueError as error:
        raise InputError(str(error)) from None


def _without_verdicts(judgments: Sequence[Judgment]) -> list[str]:
    """What to know where no judge gave a verdict."""
    if not judgments:
        raise InputError("there are no judgments: an audit needs verdicts of at least one judge")
    if any(one.verdict is not None for one in judgments):
        return []
    reasons = Counter(one.no_verdict for one in judgments).most_common(3)
    said = ", ".join(f"{reason} ({count:,})" for reason, count in reasons)
    return [f"None of the {len(judgments):,} judgments has a verdict, so no figure can be computed. Reasons: {said}."]
