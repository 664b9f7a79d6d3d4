"""What to say of words that mean no verdict: what each may mean, in the words of the command line or of Python."""

from collections.abc import Mapping, Sequence

from metajudge.readers.mapping import FieldMap, Wording


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
