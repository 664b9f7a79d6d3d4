"""Guesses by the values of columns and the form of their names, for tables whose names are in no list of known ones."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from metajudge.reading.containers.cells import TURNS, cell, key_of, nested
from metajudge.reading.containers.tables import Survey
from metajudge.reading.mapped_labels import vocabularies_of
from metajudge.reading.mapping import FLAGS, FieldMap
from metajudge.reading.names import heard, side_of
from metajudge.reading.spread import ONE_HOT, Spread, columns_in
from metajudge.reading.vocabulary import UnknownValueError, unclear

_USUAL_TIES: Final = frozenset(["c", "0.5", "1.5"])
"""What often stands for a tie, but may also be a third response or a score."""
_DEPTH: Final = 3
_TEXT: Final = 12
"""Characters of a text at least, on average, to be taken for a question or a response."""
MOST_VALUES: Final = 6
_TIE_WIDTH: Final = 0.1
"""The share of a scale that is proposed as a tie."""


def suggested(value: str) -> str | None:
    """What to propose where a person is asked for a value's meaning; None where nothing is likely."""
    return "tie" if value.strip().casefold() in _USUAL_TIES else None


def paired_columns(names: Sequence[str], survey: Survey) -> dict[str, str]:
    """Two columns of texts whose names differ in their side alone: id -> column; empty without such a pair."""
    stems: dict[str, dict[str, str]] = {}
    for name in names:
        found = side_of(name)
        if found is not None and found[0] in ("A", "B") and _is_text(survey, name):
            stems.setdefault(found[1], {}).setdefault(found[0], name)
    pairs = [pair for pair in stems.values() if len(pair) == 2]
    best = max(pairs, key=lambda pair: sum(_length(survey, name) for name in pair.values()), default={})
    return {side: best[side] for side in sorted(best)}


def column_that_names_columns(names: Sequence[str], survey: Survey) -> tuple[str, list[str]] | None:
    """A column whose values are the names of two other columns, and these; None without one."""
    known = {name.strip().casefold(): name for name in names}
    for name in names:
        values = [value.casefold() for value in survey.keys(name)]
        named = {known[value] for value in values if value in known and known[value] != name}
        if len(named) == 2 and sum(value in known for value in values) >= 0.5 * len(values):
            return name, [one for one in names if one in named]
    return None


def columns_of_models(names: Sequence[str], survey: Survey, verdict: str) -> tuple[str, str] | None:
    """Two columns of which one or the other is equal to the verdict in nearly every row that has a winner."""
    values = survey.keys(verdict)
    keys = {name: survey.keys(name) for name in names if name != verdict}
    equal = {name: [key == value for key, value in zip(keys[name], values, strict=True)] for name in keys}
    for first, second in combinations([name for name in keys if any(equal[name])], 2):
        one_of_them = [one != two for one, two in zip(equal[first], equal[second], strict=True)]
        if sum(one_of_them) >= 0.5 * len(values):
            return first, second
    return None


def columns_of_people(names: Sequence[str], survey: Survey, verdicts: Iterable[str]) -> list[str]:
    """Columns that are named after people, each by a name (``human_anna``), and say what the verdicts say.

    Two or more of them, with words: a number in such a column may be anything.
    """
    known = {key.casefold() for name in verdicts for key in survey.keys(name)}
    found = []
    for name in names:
        said = heard(name)
        if said is None or (said.by, said.what, said.known) != ("people", "value", False):
            continue
        keys = {key.casefold() for key in survey.keys(name)} - {""}
        found += [name] if keys and keys <= known and not any(key[0].isdigit() for key in keys) else []
    return found if len(found) > 1 else []


def question_column(names: Sequence[str], survey: Survey) -> str | None:
    """The column of texts that is most like a question: it has question marks, or else repeats; None without one."""
    asks = {name: sum("?" in text for text in survey.texts(name)) for name in names if _is_text(survey, name)}
    asked = max(asks, key=lambda name: asks[name], default=None)
    return asked if asked is not None and (len(asks) == 1 or asks[asked] >= 0.3 * len(survey.rows)) else None


def few_values(names: Sequence[str], survey: Survey) -> list[str]:
    """Columns with a few different short values, which may be verdicts."""
    found = {name: set(survey.keys(name)) for name in names}
    return [
        name
        for name, values in found.items()
        if 1 < len(values) <= MOST_VALUES and len(values) < len(survey.rows) and all(len(one) <= 40 for one in values)
    ]


def nested_paths(data: Mapping[str, Any]) -> list[str]:
    """Dotted paths to the values of objects that are JSON text in a cell."""
    found = []
    for key, value in data.items():
        inside = nested(value) if isinstance(value, str) else None
        if isinstance(inside, dict):
            found += [f"{key}.{name}" for name in inside]
    return found


def as_turns(survey: Survey, columns: Mapping[str, str]) -> dict[str, str]:
    """Columns of lists of texts, one a turn, as ``turns:`` columns: field -> column; empty where they are none."""
    fields = {name: column for name, column in columns.items() if name == "question" or name.startswith("responses.")}
    cells = [nested(value) for column in fields.values() for value in survey.cells(column)[:50]]
    if not cells or "question" not in fields or len(fields) < 2:
        return {}
    if not all(
        isinstance(one, list) and one and all(text is None or isinstance(text, str) for text in one) for one in cells
    ):
        return {}
    return {name: f"{TURNS}{column}" for name, column in fields.items()}


def inside(survey: Survey, column: str) -> str:
    """The path to the one text in each cell of a column whose cells are objects with one and the same key."""
    cells = [nested(value) for value in survey.cells(column)[:50]]
    whole = all(isinstance(one, dict) and len(one) == 1 and isinstance(next(iter(one.values())), str) for one in cells)
    keys = {key for one in cells for key in one} if whole else set()
    return f"{column}.{keys.pop()}" if len(keys) == 1 else column


def numbers_in(values: Counter[str]) -> tuple[float, float] | None:
    """The lowest and highest of many different numbers; None where values are few, or no numbers."""
    try:
        numbers = [float(value) for value in values if value]
    except ValueError:
        return None
    if len(numbers) <= 3 or all(number.is_integer() for number in numbers):
        return None
    return min(numbers), max(numbers)


def example_ranges(low: float, high: float, ids: Sequence[str] = ("A", "B")) -> str:
    """Ranges as ``--map-values`` takes them: high numbers for the first response, a tie in the middle.

    Args:
        low, high: the ends of the scale; 0 and 1, -1 and 1, or 1 and 2 where the numbers lie within them.
        ids: of the two responses.
    """
    usual = ((0.0, 1.0), (-1.0, 1.0), (1.0, 2.0))
    low, high = next(((start, end) for start, end in usual if start <= low and high <= end), (low, high))
    first, second = ids[0], ids[1]
    middle, half = (low + high) / 2, _TIE_WIDTH * (high - low) / 2
    ends = f"{middle - half:.4g}", f"{middle + half:.4g}"
    return f"..{ends[0]}={second},{ends[0]}..{ends[1]}=tie,{ends[1]}..={first}"


def asked(field: str, column: str, unknown: Counter[str], several: bool) -> str:
    """What a person must say of values that mean nothing by themselves."""
    span = numbers_in(unknown) if field == "verdict" and several else None
    if span is not None:
        return (
            f"{column!r} has numbers from {span[0]:g} to {span[1]:g}: say which mean which response, such as "
            f"--map-values '{example_ranges(*span)}' (`metajudge import` asks)"
        )
    choices = "an id, A>B, tie or none" if several else "a number, a word or none"
    models = "; for models' names map models.A and models.B" if several else ""
    what = field.split(".")[0]
    return (
        f"{unclear(column, unknown, what)}: say what each means, --map-values "
        f"'{','.join(f'{value}=MEANING' for value in list(unknown)[:8])}' ({choices}; before a value {what}: where it "
        f"means this in {what}s alone){models}"
    )


def unknown_values(survey: Survey, mapping: FieldMap, field: str = "verdict") -> Counter[str]:
    """How often values of a field's column occur that mean nothing here, in the order of their first row."""
    of_verdicts, of_labels, _ = vocabularies_of(mapping, survey, FLAGS)
    vocabulary = of_verdicts if field == "verdict" else of_labels
    models = {name: survey.keys(model) for name, model in mapping.model_columns.items()}
    found = Counter[str]()
    for number, value in enumerate(survey.cells(mapping.columns[field])):
        names = {name: keys[number] for name, keys in models.items()}
        try:
            vocabulary.read_named(value, mapping.response_ids, names, mapping.response_columns, None)
        except UnknownValueError:
            found[key_of(value)] += 1
    return found


def spread_value(spread: Spread, data: Mapping[str, Any]) -> str:
    """The column that says who won, for a count; what else the columns say together."""
    values = {name: key_of(cell(data, name)) for name in columns_in(spread.column)}
    chosen = next((name for name, value in values.items() if value.casefold() in ("1", "true")), "(none)")
    return chosen if spread.kind == ONE_HOT else ", ".join(values.values())


def plain_name(column: str) -> str:
    """A column's name as a person's name in a field may be."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", column)


def is_list(value: Any) -> bool:
    """Whether a cell is a list, also as text."""
    return isinstance(value, list) or (isinstance(value, str) and re.match(r"\s*\[(?!\[)", value) is not None)


def _length(survey: Survey, name: str) -> float:
    return sum(map(len, survey.texts(name))) / max(len(survey.rows), 1)


def _is_text(survey: Survey, name: str) -> bool:
    """Whether a column has texts: not numbers, and long or different in most rows."""
    values = survey.texts(name)
    words = [value for value in values if value and not re.fullmatch(r"[\d.,+-]{1,40}", value)]
    if not words or len(words) < 0.5 * len(values):
        return False
    return _length(survey, name) >= _TEXT or len(set(words)) > MOST_VALUES or len(set(words)) == len(values)


def paths(data: Mapping[str, Any], prefix: str = "", depth: int = 1) -> Iterator[str]:
    """Dotted paths to values inside nested objects."""
    for key, value in data.items():
        if prefix:
            yield f"{prefix}{key}"
        if isinstance(value, dict) and depth < _DEPTH:
            yield from paths(value, f"{prefix}{key}.", depth + 1)
