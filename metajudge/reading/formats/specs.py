"""A format as data: what marks a record, where question and answer stand, and where the scores of judges and of people.

A part of a record is named by where it stands: dotted paths in columns or in nested data, divided by ``|``, of which
the first one that is not empty is meant; ``=TEXT`` is that text; a function reads what no path says.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeAlias

from metajudge.reading.containers.cells import cell, text_in
from metajudge.reading.containers.kinds import entries_of
from metajudge.reading.containers.lines import BadLine, Line, Source
from metajudge.reading.containers.tables import Table
from metajudge.reading.formats.scored_runs import (
    AssessedRun,
    AssessedRuns,
    RecordedRun,
    RecordedScore,
    asked_and_answered,
    reference_text,
)
from metajudge.reading.formats.stated_scores import reason_text
from metajudge.reading.own_notes import KEY, is_ours
from metajudge.reading.people import PersonScore

Row: TypeAlias = Mapping[str, Any]
Get: TypeAlias = str | Callable[[Row], Any] | None
RECORD: Final = "record"
OF_RUN: Final = "id of the run"
"""Where an entry of a record has the record itself, and the id of the run that it makes."""
ENTRY: Final[Mapping[str, Get]] = {name: name for name in ("name", "by", "value", "reason", "error")} | {"id": None}
"""Where an entry that a function makes has the parts of a score."""


def get(row: Row, where: Get) -> Any:
    """A part of a record; None where it is empty."""
    if where is None or not isinstance(where, str):
        return None if where is None else where(row)
    found = (one[1:] if one.startswith("=") else cell(row, one) for one in where.split("|"))
    return next((one for one in found if one not in (None, "")), None)


def is_marked(record: Row, marks: str) -> bool:
    """Whether a record has all keys of a mark: ``a|b`` is one of them, ``!a`` none of them."""
    keys = record.keys()
    return all(one[1:] not in keys if one[0] == "!" else not keys.isdisjoint(one.split("|")) for one in marks.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What the records of a format are.

    Attributes:
        name: for people.
        marks, test: keys of every record, as :func:`is_marked` reads them, and what else is true of it; no keys where
            records only stand inside an object.
        read: a record as a whole, in place of everything below but ``inside``.
        opened: a record with its parts where the paths below find them; raises what ``UNREADABLE`` lists.
        run: ``id``, ``asked``, ``answered``, ``category``, ``model``, ``reference``, ``aliases``; or a function.
        each: the entries of a record, each a score; None where a record is one, of the run that it names.
        score: ``name`` (or ``judge``, where the name says nothing else), ``by`` (the judge's model), ``value``,
            ``reason``, ``error``, ``id`` (where it is empty ``RUN/NAME``; None for one made of the row), ``run``.
        meta: what else is noted of a judge's score; under the empty name an object of several.
        person: a path with ``=VALUE`` that says that a person gave a score.
        people: ``annotator``, ``time``, and ``value`` where it stands elsewhere than a judge's.
        ours: the metadata in which ``metajudge push`` leaves its mark.
        inside: the records in a file that is one object; None for an object of another format.
    """

    name: str
    marks: str = ""
    test: Callable[[Row], bool] | None = None
    opened: Callable[[Row], Row] | None = None
    read: Callable[[Row], AssessedRun] | None = None
    run: Mapping[str, Get] | Callable[[Row], RecordedRun | None] = field(default_factory=dict)
    each: Callable[[Row], Iterable[Row]] | None = None
    score: Mapping[str, Get] = field(default_factory=lambda: ENTRY)
    meta: Mapping[str, Get] = field(default_factory=dict)
    person: str = "by_person=True"
    people: Mapping[str, Get] = field(default_factory=dict)
    ours: str | None = None
    inside: Callable[[Row], list[Any] | None] | None = None

    def recognises(self, record: Row) -> bool:
        """Whether a record is one, by its keys."""
        return bool(self.marks) and is_marked(record, self.marks) and (self.test is None or self.test(record))

    def run_of(self, row: Row) -> RecordedRun | None:
        """Question and answer; None for a record without an id."""
        part = self.run
        if not isinstance(part, Mapping):
            return part(row)
        name = get(row, part["id"])
        if name in (None, ""):
            return None
        return RecordedRun(
            id=str(name),
            **asked_and_answered(get(row, part["asked"]), get(row, part["answered"])),
            category=text_in(get(row, part.get("category"))),
            model=text_in(get(row, part.get("model"))),
            reference=reference_text(get(row, part.get("reference"))),
            aliases=tuple(get(row, part.get("aliases")) or ()),
        )

    def score_of(self, row: Row) -> RecordedScore | PersonScore | None:
        """A score, by a judge or by a person; None for what ``metajudge push`` wrote."""
        if self.ours is not None and (is_ours(cell(row, self.ours)) or cell(row, f"{self.ours}.{KEY}")):
            return None
        part, named = self.score, "name" in self.score
        where, run = part["name" if named else "judge"], text_in(get(row, part.get("run")))
        title = get(row, where)
        if title is None:
            raise KeyError(str(where).split("|")[0])
        name = str(title)
        path, _, wanted = self.person.partition("=")
        if str(get(row, path)) == wanted:
            said = {"value": part["value"], "time": self.meta.get("time"), **self.people}
            annotator = text_in(get(row, said.get("annotator")))
            return PersonScore(name, annotator, run, get(row, said["value"]), get(row, said["time"]))
        by, meta = text_in(get(row, part.get("by"))), {key: get(row, one) for key, one in self.meta.items()}
        several = meta.pop("", None) or {}
        return RecordedScore(
            id=None if part["id"] is None else text_in(get(row, part["id"])) or f"{run or row.get(OF_RUN)}/{name}",
            run=run,
            judge=name if by is None else f"{by}/{name}",
            name=name if named else None,
            value=get(row, part["value"]),
            comment=reason_text(get(row, part.get("reason"))),
            error=text_in(get(row, part.get("error"))),
            meta={**({} if "judge_model" in meta else {"judge_model": by}), **meta, **several},
        )

    def assessed(self, row: Row) -> AssessedRun:
        """A record as a run with what was said of it."""
        if self.read is not None:
            return self.read(row)
        record = row if self.opened is None else self.opened(row)
        run = self.run_of(record)
        more = {RECORD: record, OF_RUN: None if run is None else run.id}
        said = [self.score_of({**one, **more}) for one in (() if self.each is None else self.each(record))]
        scores = [one for one in said if isinstance(one, RecordedScore)]
        return AssessedRun(run, scores, [one for one in said if isinstance(one, PersonScore)])

    def reader(self, table: Table, values: Mapping[str, str]) -> AssessedRuns:
        """Reads a table of such records."""

        def read(line: Line) -> AssessedRun:
            if self.marks and not self.recognises(line.data):
                raise BadLine(f"no record of {self.name}: its fields are {', '.join(map(str, list(line.data)[:8]))}")
            return self.assessed(line.data)

        return AssessedRuns(self.name, table.source, table.rows, read, values)

    def reader_inside(self, source: Source, data: Row, values: Mapping[str, str]) -> AssessedRuns | None:
        """Reads a file that is one object: the records in it, or the one that it is; None for any other object."""
        records = None if self.inside is None else self.inside(data)
        if records is None and self.recognises(data):
            records = [data]
        table = Table(self.name, source, partial(entries_of, records))  # type: ignore[arg-type]
        return None if records is None else self.reader(table, values)
