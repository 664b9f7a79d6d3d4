"""Words of a table's columns: which stand for no answer, and what to say of those that mean nothing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metajudge.readers.cells import cell, key_of
from metajudge.readers.mapped_labels import values_listed
from metajudge.readers.mapping import FieldMap, Wording
from metajudge.readers.one_hot import PREFIX
from metajudge.readers.vocabulary import Vocabulary, beside

_SHOWN = 8


def vocabularies_of(
    mapping: FieldMap, rows: Iterable[Mapping[str, Any]], wording: Wording
) -> tuple[Vocabulary, Vocabulary, list[str]]:
    """What the values of verdicts and of people's labels mean, by the columns they stand in.

    Args:
        mapping: which column is what.
        rows: the first ones.
        wording: how messages name what the user gives.

    Returns:
        That of verdicts, that of labels, and a sentence for each column with values that stand for no answer.
    """
    columns = {
        name: column
        for name, column in mapping.columns.items()
        if name.split(".")[0] in ("verdict", "label", "human_labels") and not column.startswith(PREFIX)
    }
    seen: dict[str, Counter[str]] = {name: Counter() for name in columns}
    for row in rows:
        for name, column in columns.items():
            value = cell(row, column)
            seen[name].update(map(key_of, values_listed(value) if name == "human_labels" else [value]))
    judged = seen.get("verdict", Counter[str]())
    labels = {value for name, values in seen.items() if name != "verdict" for value in values}
    verdict = Vocabulary(mapping.values, categories=True, beside=beside(judged, labels))
    label = Vocabulary(mapping.values, categories=True, column="label", beside=beside(labels, judged))
    told = []
    for name, counts in seen.items():
        what, known = ("verdicts", verdict) if name == "verdict" else ("labels", label)
        silent = known.silent_among(counts, several=len(mapping.response_ids) > 1)
        if silent:
            shown = ", ".join(f"{value!r} ({counts[value]:,})" for value in silent[:_SHOWN])
            more = ", ..." if len(silent) > _SHOWN else ""
            told.append(
                f"No {what} but words for none, in column {columns[name]!r}: {shown}{more}; "
                f"{wording.meanings({silent[0]: 'MEANING'})} says otherwise."
            )
    return verdict, label, told


def example(*values: str) -> dict[str, str]:
    """A meaning for each value: the usual one, or a place for it."""
    meanings = {"c": "tie", "0.5": "tie", "1.5": "tie", "both": "tie"}
    return {value: meanings.get(value.casefold(), "MEANING") for value in values}


def vocabulary_fault(
    unknown: Mapping[str, int], first: Mapping[str, str], mapping: FieldMap, name: str, wording: Wording
) -> str:
    """Why the words of a table cannot be read as verdicts, with the fix.

    Args:
        unknown: word -> how often it stands in the rows looked at.
        first: word -> its first place.
        mapping: which column is what.
        name: of the file.
        wording: how messages name what the user gives.
    """
    shown = ", ".join(f"{value!r} ({count})" for value, count in list(unknown.items())[:8])
    more = f" and {len(unknown) - 8} more" if len(unknown) > 8 else ""
    ids: Sequence[str] = mapping.response_ids
    one = next(iter(unknown))
    column = mapping.columns.get(first[one].rpartition(": ")[2], mapping.columns.get("verdict"))
    advice = "a number" if len(ids) == 1 else f"{ids[0]}, {ids[0]}>{ids[1]}, tie"
    models = (
        ""
        if mapping.model_columns or len(ids) == 1
        else " If these are models' names, map the columns that name the "
        f"models: {wording.mapped(f'models.{ids[0]}=COLUMN,models.{ids[1]}=COLUMN')}."
    )
    return (
        f"{name}: {shown}{more} in column {column!r} are no verdicts here, first at {first[one]}. Say what each means: "
        f"{wording.meanings(example(*list(unknown)[:8]))}, where a meaning is {advice} or none.{models}"
    )
