"""Verdicts that are spread over several columns, of which one is 1: ``winner_model_a, winner_model_b, winner_tie``.

A mapping names them as ``verdict=onehot:winner_model_a,winner_model_b,winner_tie``: one column for each response, in
the order of the responses, and one for a tie where there is one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metajudge.errors import InputError
from metajudge.readers.cells import TURNS, cell, key_of
from metajudge.readers.lines import BadLine

PREFIX = "onehot:"
_TIE_NAME = re.compile(r"(?:.*[\s_.-])?(?:tie|tied|ties|draw|equal|both)(?:[\s_.-]both_?bad)?", re.I)
_SET, _UNSET = ("1", "true", "yes"), ("0", "false", "no", "")


@dataclass(frozen=True, slots=True)
class OneHot:
    """Columns of which one is 1.

    Attributes:
        columns: response id -> column.
        tie: the column that is 1 for a tie; None where no column says it.
    """

    columns: Mapping[str, str]
    tie: str | None

    def read(self, data: Mapping[str, Any]) -> str:
        """The winner's id, ``tie``, or an empty text where all columns are empty.

        Raises:
            BadLine: none or several of the columns are 1, or one is neither 1 nor 0.
        """
        names = [*self.columns.values(), *([self.tie] if self.tie else [])]
        values = {name: key_of(cell(data, name)).casefold() for name in names}
        if not any(values.values()):
            return ""
        odd = next((name for name, value in values.items() if value not in (*_SET, *_UNSET)), None)
        if odd is not None:
            raise BadLine(f"column {odd!r} contains {values[odd][:40]!r}, which is neither 1 nor 0")
        chosen = [name for name, value in values.items() if value in _SET]
        if len(chosen) != 1:
            count = f"{len(chosen)} of the columns are 1" if chosen else "none of the columns is 1"
            raise BadLine(f"{count} ({', '.join(names)}), and exactly one says who won")
        if chosen[0] == self.tie:
            return "tie"
        return next(name for name, column in self.columns.items() if column == chosen[0])


def columns_in(column: str) -> tuple[str, ...]:
    """The columns that a mapping's column names: several for ``onehot:``."""
    column = column.removeprefix(TURNS)
    if not column.startswith(PREFIX):
        return (column,)
    return tuple(part.strip() for part in column.removeprefix(PREFIX).split(",") if part.strip())


def one_hot_of(column: str, ids: Sequence[str]) -> OneHot | None:
    """A mapping's column as one-hot columns; None for a plain one.

    Raises:
        InputError: there are not as many columns as responses, or one more.
    """
    if not column.startswith(PREFIX):
        return None
    names = columns_in(column)
    if len(ids) < 2 or len(names) not in (len(ids), len(ids) + 1) or len(set(names)) < len(names):
        raise InputError(
            f"{column!r} names {len(names)} columns for {len(ids)} responses: name one column for each of "
            f"{', '.join(ids) or 'the responses'}, in this order, and then one for a tie, if there is one"
        )
    return OneHot(dict(zip(ids, names, strict=False)), names[len(ids)] if len(names) > len(ids) else None)


def find_one_hot(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], marks: Sequence[str]) -> OneHot | None:
    """Columns that look one-hot: one for each response, and perhaps one for ties.

    Args:
        columns: names.
        rows: some rows; each of the columns contains 0 and 1 alone.
        marks: by which letter or number the names of the responses' columns end, as ``a`` and ``b``.
    """
    flags = [name for name in columns if is_flag(name, rows)]
    for first in flags:
        stem = first[: -len(marks[0])] if marks and first.lower().endswith(marks[0].lower()) else ""
        if not re.search(r"win|prefer|better|chosen|vote|verdict|label", stem, re.I):
            continue
        sides = [next((one for one in flags if one.lower() == f"{stem}{mark}".lower()), None) for mark in marks]
        if None in sides:
            continue
        named = dict(zip(marks, (one for one in sides if one is not None), strict=True))
        return OneHot(named, tie_beside(first, [one for one in flags if one not in sides], rows))
    return None


def is_flag(column: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a column contains 0 and 1 alone, and both of them."""
    values = {key_of(cell(row, column)).casefold() for row in rows}
    return values <= {*_SET, *_UNSET} and bool(values & set(_SET)) and bool(values & set(_UNSET))


def tie_beside(column: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str | None:
    """The column of zeros and ones that is 1 for a tie where ``column`` is 1 for a winner; None without one."""
    family = re.split(r"[\s_.-]", column)[0].lower()
    for name in columns:
        if name != column and _TIE_NAME.fullmatch(name) and (name.lower().startswith(family) or "_" not in name):
            values = {key_of(cell(row, name)).casefold() for row in rows}
            if values <= {*_SET, *_UNSET}:
                return name
    return None
