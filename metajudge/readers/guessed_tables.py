"""Tables of no known format, read by a guess where that reads (nearly) every row: for a look that costs nothing.

What spends money or stores results asks for a mapping instead; see :func:`metajudge.readers.inspection.inspect_input`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from metajudge.errors import InputError
from metajudge.readers.inspection import Inspection, inspect_input
from metajudge.readers.mapping import FieldMap

BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "meta.time": ("time", "timestamp", "created_at", "judged_at", "datetime", "date"),
    "meta.judge_version": ("judge_version", "model_version", "version", "snapshot", "revision"),
    "meta.prompt_version": ("prompt_version", "prompt_name", "prompt_template"),
}
"""What an audit uses beside a verdict -> the columns that may hold it, the likeliest first."""

TOLERATED: Final = 0.1
"""Rows that cannot be read, to those that can, at most: with more of them the guess is wrong."""


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
    if found.origin == "guessed" and mapping is not None and mapping.missing() == ("judge",):
        known = given or FieldMap()
        named = known.model_copy(update={"constants": {**known.constants, "judge": Path(name).stem}})
        found = inspect_input(name, named, records=0)
        mapping = found.mapping
    if found.origin != "guessed" or mapping is None or not _complete(found):
        return None
    return mapping.model_copy(update={"columns": {**mapping.columns, **_beside(found.columns, mapping)}})


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


def _complete(found: Inspection) -> bool:
    return bool(found.judgments) and (found.rejects or 0) <= TOLERATED * (found.judgments or 0)


def _beside(columns: Sequence[str], mapping: FieldMap) -> dict[str, str]:
    free = {name.casefold(): name for name in columns if name not in mapping.used_columns}
    return {
        target: free[name]
        for target, names in BESIDE.items()
        for name in [next((one for one in names if one in free), None)]
        if name is not None and target not in mapping.columns
    }
