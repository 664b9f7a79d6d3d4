"""A look at an input before it is read: its format, a guess at its columns, some records, counts and problems."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from metajudge.errors import InputError
from metajudge.evidence.verdicts import Verdicts, VerdictsBuilder
from metajudge.reading import JudgmentSource, open_judgments
from metajudge.reading.containers.cells import TURNS, nested
from metajudge.reading.containers.kinds import tables_in, wrapped_table
from metajudge.reading.containers.lines import Reject, Source
from metajudge.reading.containers.tables import Survey, Table
from metajudge.reading.conversations import is_chat
from metajudge.reading.detect import is_written_whole
from metajudge.reading.guessed_values import numbers_in, unknown_values
from metajudge.reading.guesses import FieldGuess
from metajudge.reading.guessing import guess_mapping
from metajudge.reading.joined_labels import JoinReport
from metajudge.reading.mapped import MappedTable
from metajudge.reading.mapping import ASKED, FieldMap, check_columns, quoted
from metajudge.reading.people import PeopleCount, PeopleOnlyError
from metajudge.reading.reader import attempt
from metajudge.reading.right_rules import RightRules
from metajudge.reading.saved_maps import saved_map
from metajudge.reading.seen import samples
from metajudge.reading.spread import PREFIX
from metajudge.types import Judgment, Right, VerdictKind

Origin = Literal["format", "given", "kept", "guessed"]
_SHOWN_REJECTS = 5
_PLACEHOLDER = "(judge not named)"


class LabelsError(InputError):
    """Labels of another file cannot be read or joined."""


@dataclass(slots=True)
class Inspection:
    """What a look at an input found.

    Attributes:
        name, format: the path as given, and what it is.
        origin: where the way of reading comes from: the format itself, flags, ``metajudge-inputs.toml``, or a guess.
        mapping, fields: which column is what, None for formats that need none; the reasons of a guess.
        columns, samples: of a table that needs a mapping, with the first different values of each, as text.
        unknown: how often values among the first rows occur that mean nothing: of the verdict, else of a label.
        unknown_in: the field whose column has them.
        numbers: the lowest and the highest of them, where they are many different numbers.
        turns: the most turns of a conversation among the first rows, where no column says which one was judged.
        judgments, rejects, duplicates: counted over the whole input; None where it cannot be read yet.
        rows: of a table that cannot be read yet.
        judges, verdicts: how often each occurs; of a table that cannot be read yet, the values among its first rows.
        records: the first ones, as they would be read.
        problems: problems and notices.
        people: scores by people in the input.
        join: what labels of another file gave; None without any.
        facts, rules: of all judgments, None where the input cannot be read yet; what counts as right among them.
        told: what was read, a line each, an example last.
    """

    name: str
    format: str
    origin: Origin = "format"
    mapping: FieldMap | None = None
    fields: list[FieldGuess] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    samples: dict[str, list[str]] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    unknown_in: str = "verdict"
    numbers: tuple[float, float] | None = None
    turns: int | None = None
    judgments: int | None = None
    rejects: int | None = None
    duplicates: int | None = None
    rows: int | None = None
    judges: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    records: list[Judgment] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    people: PeopleCount = field(default_factory=PeopleCount)
    join: JoinReport | None = None
    facts: Verdicts | None = None
    rules: RightRules = field(default_factory=RightRules)
    told: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every record can be read in the way shown."""
        return self.rejects == 0

    @property
    def right(self) -> dict[VerdictKind, Right]:
        """The rule of each kind of verdict."""
        return self.rules.rules()

    def add(self, record: Judgment | Reject) -> None:
        """Takes a record, or why it cannot be read where it is one of the first."""
        if isinstance(record, Judgment):
            self.records.append(record)
        elif len(self.problems) < _SHOWN_REJECTS:
            self.problems.append(str(record))


Join = Callable[[JudgmentSource], JoinReport | None]
"""Adds labels of another file to a source."""


def inspect_input(
    name: str,
    given: FieldMap | None = None,
    *,
    records: int = 3,
    prefix_ids: bool = False,
    join: Join | None = None,
    right: Right | None = None,
    as_table: bool = False,
    dropped: Collection[str] = (),
    judge: str | None = None,
) -> Inspection:
    """Looks at a file or folder, all of it where it can be read.

    Args:
        given: which column is what, as far as it is known; the rest is guessed.
        records: how many records to keep.
        join: adds labels of another file.
        right: what counts as right; None for the default of each kind of verdict.
        as_table: whether to guess at the columns of a file of another tool's format, too.
        dropped: columns that are not guessed to be anything.
        judge: of a table that names none.

    Raises:
        InputError: it is missing or of no kind that is known, or the mapping names a column that is not there.
    """
    counted = partial(_counted, name, records, prefix_ids, join, right)
    try:
        if as_table and given is None:
            raise InputError(f"{name} is no table")
        return counted(given)
    except (LabelsError, PeopleOnlyError):
        raise
    except InputError:
        table = _table(name, given)
        if table is None:
            raise
        survey = table.survey()
        if not survey.rows:
            raise
        known = given or saved_map(name) or FieldMap()
        check_columns(known, table.columns(), name)
        guess = guess_mapping([one for one in table.columns() if one not in dropped], survey.rows)
    mapping = guess.with_given(known)
    if judge is not None and "judge" in mapping.missing():
        mapping = mapping.updated(constants={"judge": judge})
    try:
        found = counted(mapping)
        found.problems = [*(() if mapping.missing() else guess.questions(known)), *found.problems]
    except LabelsError:
        raise
    except InputError as error:
        found = Inspection(name, table.format, rows=sum(1 for _ in table.rows()), verdicts=guess.verdicts)
        found.problems = [*(guess.questions(known) or [str(error)]), *_as_items(mapping, name)]
        if not set(mapping.missing()) - {"judge"}:
            named = mapping.updated(constants={"judge": _PLACEHOLDER}) if "judge" in mapping.missing() else mapping
            reader = MappedTable(table, named, survey=False)
            for row in survey.rows:
                found.add(attempt(reader.source, row, reader.judgment))
        del found.records[records:]
    found.origin, found.mapping, found.columns = "guessed", mapping, table.columns()
    _open_values(found, mapping, survey)
    found.samples = {name: samples(survey, name) for name in found.columns}
    found.fields = [one for one in guess.fields if mapping.columns.get(one.field) == one.column]
    return found


def _counted(
    name: str, records: int, prefix_ids: bool, join: Join | None, right: Right | None, mapping: FieldMap | None
) -> Inspection:
    """Everything about an input that can be read.

    Raises:
        InputError: it cannot be read.
        LabelsError: labels cannot be read or joined, which is no fault of the input.
    """
    source = open_judgments([name], mapping=mapping, prefix_ids=prefix_ids)
    if any(one.guessed for one in source.mapped):
        raise InputError(f"{name} is read by a guess")
    found = Inspection(name, next(iter(source.formats.values())))
    try:
        found.join = None if join is None else join(source)
    except InputError as error:
        raise LabelsError(str(error)) from None
    if found.format.endswith("mapped"):
        if mapping is not None and mapping.columns:
            found.origin, found.mapping = "given", source.mapping
        elif (kept := saved_map(name)) is not None:
            found.origin, found.mapping = "kept", kept.updated(values=mapping.values if mapping else {})
    found.rules, builder = RightRules(right), VerdictsBuilder(texts=False)
    for record in source.scan():
        if isinstance(record, Judgment):
            builder.add(record)
            found.rules.add(record)
        if isinstance(record, Reject) or len(found.records) < max(records, 1):
            found.add(record)
    facts = found.facts = builder.facts()
    found.judges = Counter(facts.judges[code] for code in facts.judge.tolist())
    for code, count in Counter(facts.verdict.tolist()).items():
        found.verdicts["(none)" if code < 0 else str(facts.verdicts[code])] += count
    found.judgments, found.rejects, found.duplicates = source.judgments, source.rejects, source.duplicates
    found.people, found.told = source.people, source.lines(facts, found.records[0])
    del found.records[records:]
    if source.rejects > len(found.problems):
        found.problems.append(f"and {source.rejects - len(found.problems)} more records that cannot be read")
    found.problems += [*source.told, *found.rules.scales.sentences()]
    return found


def _open_values(found: Inspection, mapping: FieldMap, survey: Survey) -> None:
    """Notes what the values of a mapping's columns leave open."""
    for name, column in sorted(mapping.columns.items(), key=lambda one: one[0] != "verdict"):
        if name.split(".")[0] not in ("verdict", "label") or column.startswith(PREFIX) or not mapping.response_ids:
            continue
        if unknown := unknown_values(survey, mapping, name):
            found.unknown, found.unknown_in = unknown, name
            pairs = name == "verdict" and len(mapping.response_ids) > 1
            found.numbers = numbers_in(Counter(survey.keys(column))) if pairs else None
            break
    if "turn" not in mapping.columns and "turn" not in mapping.constants:
        turns = [0]
        for name in mapping.response_columns.values():
            cells = [nested(value) for value in survey.cells(name)]
            turns += [len(one) // 2 for one in cells if is_chat(one)]
            turns += [len(one) for one in cells if TURNS in name and isinstance(one, list)]
        found.turns = max(turns) if max(turns) > 1 else None


def _as_items(mapping: FieldMap, name: str) -> list[str]:
    """What a table without verdicts is good for."""
    if mapping.missing(ASKED) or "verdict" not in mapping.missing():
        return []
    names = ("question", "item_id", "responses", "models", "category", "reference", "label", "human_labels", "scale")
    columns = {field: column for field, column in mapping.columns.items() if field.split(".")[0] in names}
    flags = FieldMap(columns=columns).to_flags()
    return [f"without verdicts it can be items that are yet to be judged: metajudge judge {quoted(name)} {flags}"]


def _table(name: str, known: FieldMap | None) -> Table | None:
    try:
        table = next(iter(tables_in(Source(Path(name), name))), None)
        table = table and (wrapped_table(table, is_written_whole, known) or table)
        return table if table is not None and table.columns() else None
    except InputError:
        return None
