"""A look at an input before it is read: its format, a guess at its columns, some records, counts and problems."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from metajudge.errors import InputError
from metajudge.reading import JudgmentSource, Reject, open_judgments
from metajudge.reading.containers.cells import TURNS, nested
from metajudge.reading.containers.kinds import tables_in, wrapped_table
from metajudge.reading.containers.lines import Line, Source
from metajudge.reading.containers.tables import Survey, Table
from metajudge.reading.conversations import is_chat, text_of
from metajudge.reading.detect import is_written_whole
from metajudge.reading.guessed_values import numbers_in, unknown_values
from metajudge.reading.guessing import FieldGuess, guess_mapping
from metajudge.reading.joined_labels import JoinReport
from metajudge.reading.mapped import MappedTable
from metajudge.reading.mapping import ASKED, PREFIX, TEXTS, FieldMap, check_columns, quoted
from metajudge.reading.people import PeopleCount, PeopleOnlyError
from metajudge.reading.reader import attempt
from metajudge.reading.right_rules import RightRules
from metajudge.reading.saved_maps import saved_map
from metajudge.reading.scales import scale_text
from metajudge.types import Category, Grade, Judgment, Right, VerdictKind, kind_of
from metajudge.types.label import answers

Origin = Literal["format", "given", "kept", "guessed"]
_SHOWN_REJECTS = 5
_PLACEHOLDER = "(judge not named)"
MOST_WORDS = 20
_ONE_OWN = "(label of the record)"
BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "meta.time": ("time", "timestamp", "created_at", "judged_at", "datetime", "date"),
    "meta.judge_version": ("judge_version", "model_version", "version", "snapshot", "revision"),
    "meta.prompt_version": ("prompt_version", "prompt_name", "prompt_template"),
}
"""What an audit uses beside a verdict -> the columns that may hold it, the likeliest first."""

TOLERATED: Final = 0.1
"""Rows that cannot be read, to those that can, at most: with more of them the guess is wrong."""


@dataclass(slots=True)
class VerdictKinds:
    """Counts over an input.

    Attributes:
        rules: what counts as right; give it the rule asked for.
        kinds: verdicts of each kind.
        words: how often each category occurs.
        scales: declared scales, with the number of items that have them.
        annotators: labels by each person; those without a name together.
        labels: item -> how many labels it has.
        items: ids of the items, with or without labels.
        grades: the lowest and the highest grade; None without grades.
    """

    rules: RightRules = field(default_factory=RightRules)
    kinds: Counter[VerdictKind] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)
    scales: Counter[str] = field(default_factory=Counter)
    annotators: Counter[str] = field(default_factory=Counter)
    labels: dict[str, int] = field(default_factory=dict)
    items: set[str] = field(default_factory=set)
    grades: tuple[float, float] | None = None

    def add(self, judgment: Judgment) -> None:
        """Counts one judgment; the labels of an item once."""
        self.rules.add(judgment)
        verdict, item = judgment.verdict, judgment.item
        if verdict is not None:
            self.kinds[kind_of(verdict)] += 1
        if isinstance(verdict, Category):
            self.words[str(verdict)] += 1
        if isinstance(verdict, Grade):
            low, high = self.grades or (verdict.value, verdict.value)
            self.grades = min(low, verdict.value), max(high, verdict.value)
        if item.id in self.items:
            return
        self.items.add(item.id)
        if item.scale is not None:
            self.scales[scale_text(item.scale)] += 1
        given = [one.annotator or "(no name)" for one in answers(item.labels)]
        given = given or ([_ONE_OWN] if item.label is not None else [])
        self.annotators.update(given)
        if given:
            self.labels[item.id] = len(given)

    def right(self) -> dict[VerdictKind, Right]:
        """The rule of each kind; see :meth:`~metajudge.reading.right_rules.RightRules.rules`."""
        return self.rules.rules()

    def to_json(self) -> dict[str, Any]:
        """Plain data; absent parts are null."""
        per_item = Counter(self.labels.values())
        return {
            "kinds": dict(self.kinds),
            "categories": dict(self.words.most_common(MOST_WORDS)) or None,
            "grades": None if self.grades is None else list(self.grades),
            "scales": dict(self.scales) or None,
            "right": {kind: str(rule) for kind, rule in self.right().items()},
            "labels": {
                "items": len(self.items),
                "labelled_items": len(self.labels),
                "annotators": dict(self.annotators),
                "per_item": {str(count): items for count, items in sorted(per_item.items())},
            },
        }


@dataclass(slots=True)
class Inspection:
    """What a look at an input found.

    Attributes:
        name: the path as given.
        format: what it is.
        origin: where the way of reading comes from: the format itself, flags, ``metajudge-inputs.toml``, or a guess.
        complete: whether every record can be read in the way shown.
        mapping: which column is what; None for formats that need none.
        fields: the reasons of a guess.
        columns: of a table that needs a mapping; ``samples`` has the first different values of each, as text.
        unknown: values of the verdict among the first rows that mean nothing.
        numbers: the lowest and the highest of them, where they are many different numbers.
        turns: the most turns of a conversation among the first rows, where no column says which one was judged.
        judgments: counted over the whole input; None where it cannot be read yet.
        rejects: records that cannot be read, likewise.
        duplicates: records that came before, likewise.
        rows: rows of a table that cannot be read yet.
        judges: who judged, with counts.
        verdicts: how often each verdict occurs; of a table that cannot be read yet, each value among its first rows.
        records: the first ones, as they would be read.
        problems: problems and notices.
        people: scores by people in the input.
        kinds: kinds of verdicts, scales and people's labels.
        join: what labels of another file gave; None without any.
    """

    name: str
    format: str
    origin: Origin = "format"
    complete: bool = True
    mapping: FieldMap | None = None
    fields: list[FieldGuess] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    samples: dict[str, list[str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
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
    kinds: VerdictKinds = field(default_factory=VerdictKinds)
    join: JoinReport | None = None


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
) -> Inspection:
    """Looks at a file or folder, all of it where it can be read.

    Args:
        name: the path.
        given: which column is what, as far as it is known; the rest is guessed.
        records: how many records to keep.
        prefix_ids: as for :func:`metajudge.reading.open_judgments`.
        join: adds labels of another file; None without any.
        right: what counts as right; None for the default of each kind of verdict.
        as_table: whether to guess at the columns of a file of another tool's format, too.

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
        guess = guess_mapping(table.columns(), survey.rows)
    mapping = _merged(guess.mapping, known)
    try:
        found = counted(mapping)
        found.problems = [*(() if mapping.missing() else _open(guess.problems, known)), *found.problems]
    except LabelsError:
        raise
    except InputError as error:
        found = Inspection(name, table.format, complete=False, rows=sum(1 for _ in table.rows()))
        found.verdicts = guess.verdicts
        found.problems = [*(_open(guess.problems, known) or [str(error)]), *_as_items(mapping, name)]
        if not set(mapping.missing()) - {"judge"}:
            named = mapping.updated(constants={"judge": _PLACEHOLDER}) if "judge" in mapping.missing() else mapping
            _preview(found, MappedTable(table, named, survey=False), survey.rows)
        del found.records[records:]
    found.origin, found.mapping, found.columns = "guessed", mapping, table.columns()
    _open_values(found, mapping, survey)
    found.samples = {name: _sample(survey, name) for name in found.columns}
    found.fields = [one for one in guess.fields if mapping.columns.get(one.field) == one.column]
    return found


def _counted(
    name: str, records: int, prefix_ids: bool, join: Join | None, right: Right | None, mapping: FieldMap | None
) -> Inspection:
    """Everything about an input that can be read; arguments as those of :func:`inspect_input`.

    Raises:
        InputError: it cannot be read.
        LabelsError: labels cannot be read or joined, which is no fault of the input.
    """
    source = open_judgments([name], mapping=mapping, prefix_ids=prefix_ids)
    if source.guessed:
        raise InputError(f"{name} is read by a guess")
    found = Inspection(name, next(iter(source.formats.values())))
    try:
        found.join = None if join is None else join(source)
    except InputError as error:
        raise LabelsError(str(error)) from None
    found.kinds = VerdictKinds(RightRules(right))
    if found.format.endswith("mapped"):
        given = mapping is not None and bool(mapping.columns)
        kept = None if given else saved_map(name)
        found.origin = "given" if given else "kept" if kept else "format"
        found.mapping = (
            source.mapping if given else kept.updated(values=mapping.values if mapping else {}) if kept else None
        )
    for record in source.scan():
        if isinstance(record, Reject):
            if len(found.problems) < _SHOWN_REJECTS:
                found.problems.append(str(record))
            continue
        found.kinds.add(record)
        found.judges[record.judge] += 1
        found.verdicts["(none)" if record.verdict is None else str(record.verdict)] += 1
        if len(found.records) < records:
            found.records.append(record)
    found.judgments, found.rejects, found.duplicates = source.judgments, source.rejects, source.duplicates
    found.people = source.people
    if source.rejects > len(found.problems):
        found.problems.append(f"and {source.rejects - len(found.problems)} more records that cannot be read")
    found.problems += [*source.told, *found.kinds.rules.scales.sentences()]
    found.complete = source.rejects == 0
    return found


class LabelsError(InputError):
    """Labels of another file cannot be read or joined."""


def _open_values(found: Inspection, mapping: FieldMap, survey: Survey) -> None:
    """Notes what the values of a mapping's columns leave open."""
    column = mapping.columns.get("verdict")
    if column is not None and len(mapping.response_ids) > 1 and not column.startswith(PREFIX):
        found.unknown = unknown_values(survey, mapping)
        found.numbers = numbers_in(Counter(survey.keys(column))) if found.unknown else None
    if "turn" not in mapping.columns and "turn" not in mapping.constants:
        turns = [0]
        for name in mapping.response_columns.values():
            cells = [nested(value) for value in survey.cells(name)]
            turns += [len(one) // 2 for one in cells if is_chat(one)]
            turns += [len(one) for one in cells if TURNS in name and isinstance(one, list)]
        found.turns = max(turns) if max(turns) > 1 else None


def _sample(survey: Survey, column: str) -> list[str]:
    """The first three different values of a column, as text."""
    texts = (text_of(value) for value in survey.cells(column) if value is not None)
    return list(dict.fromkeys(text for text in texts if text))[:3]


def _as_items(mapping: FieldMap, name: str) -> list[str]:
    """What a table without verdicts is good for."""
    if mapping.missing(ASKED) or "verdict" not in mapping.missing():
        return []
    names = ("question", "item_id", "responses", "models", "category", "reference", "label", "human_labels", "scale")
    columns = {field: column for field, column in mapping.columns.items() if field.split(".")[0] in names}
    flags = FieldMap(columns=columns).to_flags()
    return [f"without verdicts it can be items that are yet to be judged: metajudge judge {quoted(name)} {flags}"]


def _preview(found: Inspection, reader: MappedTable, rows: Sequence[Line]) -> None:
    """The first records that can be read, and why others cannot."""
    for row in rows:
        record = attempt(reader.source, row, reader.judgment)
        if isinstance(record, Judgment):
            found.records.append(record)
        elif len(found.problems) < _SHOWN_REJECTS:
            found.problems.append(str(record))


def _merged(guess: FieldMap, given: FieldMap) -> FieldMap:
    """A guess, overridden by what was given."""
    families = ("responses.", "models.") if given.response_ids else ()
    columns = {
        name: column
        for name, column in guess.columns.items()
        if column not in given.columns.values() and name not in given.constants and not name.startswith(families)
    }
    values = guess.values | given.values
    return FieldMap(columns=given.columns | columns | given.columns, constants=given.constants, values=values)


def _open(problems: Sequence[str], given: FieldMap) -> list[str]:
    """The problems of a guess that flags do not answer."""
    answered = {*given.columns, *given.constants}
    return [
        problem
        for problem in problems
        if not any(f"--map {name.split('.')[0]}" in problem for name in answered)
        and not (given.values and ("taken for" in problem or "say what each means" in problem))
    ]


def _table(name: str, known: FieldMap | None) -> Table | None:
    try:
        table = next(iter(tables_in(Source(Path(name), name))), None)
        return None if table is None else wrapped_table(table, is_written_whole, known) or table
    except InputError:
        return None


def guess_table(name: str, given: FieldMap | None = None) -> FieldMap | None:
    """The guessed mapping of a table that nothing else says how to read; what is given is not guessed.

    A table without a column for the judge gets one judge, named after the file.

    Args:
        name: the path.
        given: the part of the mapping that was given.

    Returns:
        None for an input that needs no guess, and where the guess leaves many rows unread, or fields open.

    Raises:
        InputError: the input is missing or of no kind that is known.
    """
    found = inspect_input(name, given, records=0)
    mapping = found.mapping
    if found.origin == "guessed" and mapping is not None and set(mapping.missing()) - set(TEXTS) == {"judge"}:
        named = (given or FieldMap()).updated(constants={"judge": Path(name).stem})
        found = inspect_input(name, named, records=0)
        mapping = found.mapping
    complete = found.judgments and (found.rejects or 0) <= TOLERATED * found.judgments
    if found.origin != "guessed" or mapping is None or not complete:
        return None
    return mapping.updated(_beside(found.columns, mapping))


def guess_tables(names: Sequence[str], given: FieldMap | None = None) -> FieldMap | None:
    """One guessed mapping for several inputs; None where they would need different ones."""
    if "-" in names:
        return None
    try:
        guesses = [guess_table(name, given) for name in names]
    except InputError:
        return None  # opening the inputs says what is wrong
    first = guesses[0] if guesses else None
    return first if all(one == first for one in guesses) else None


def _beside(columns: Sequence[str], mapping: FieldMap) -> dict[str, str]:
    free = {name.casefold(): name for name in columns if name not in mapping.used_columns}
    found = {target: [free[name] for name in names if name in free] for target, names in BESIDE.items()}
    return {target: names[0] for target, names in found.items() if names and target not in mapping.columns}
