"""A verdict in several columns: of which one is 1, with a place for each response, or with a response at each place.

``onehot:win_a,win_b,tie`` names a column for each response, in their order, and one for a tie where there is one.
``ranks:rank_A,rank_B,rank_C`` has the place of each response (1 is the best), ``places:first,second,third`` the
response, or its model, at each place.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from metajudge.errors import InputError
from metajudge.reading.containers.cells import TEXTS, TURNS, cell, key_of
from metajudge.reading.containers.lines import BadLine
from metajudge.reading.containers.tables import Survey
from metajudge.reading.names import about

ONE_HOT: Final = "onehot:"
RANKS: Final = "ranks:"
PLACES: Final = "places:"
PREFIX: Final = (ONE_HOT, RANKS, PLACES)
"""How a column begins that stands for several."""
_TIE_NAME = re.compile(r"(?:.*[\s_.-])?(?:tie|tied|ties|draw|equal|both)(?:[\s_.-]both_?bad)?", re.I)
_SET, _UNSET = ("1", "true", "yes"), ("0", "false", "no", "")


@dataclass(frozen=True, slots=True)
class Spread:
    """Columns that are one verdict.

    Attributes:
        kind: one of :data:`PREFIX`.
        ids: of the responses, in the order of their columns.
        columns: one for each response or place.
        tie: the column that is 1 for a tie; None where no column says it.
    """

    kind: str
    ids: tuple[str, ...]
    columns: tuple[str, ...]
    tie: str | None = None

    @property
    def column(self) -> str:
        """All of the columns as a mapping names them."""
        return self.kind + ",".join([*self.columns, *([self.tie] if self.tie else [])])

    def read(self, data: Mapping[str, Any], models: Mapping[str, str]) -> str:
        """The winner's id, ``tie``, a ranking such as ``B>A=C``, or an empty text where all columns are empty.

        Args:
            data: a row.
            models: response id -> its model, where known.

        Raises:
            BadLine: the columns do not make one verdict.
        """
        names = columns_in(self.column)
        values = {name: key_of(cell(data, name)) for name in names}
        if not any(values.values()):
            return ""
        if self.kind == ONE_HOT:
            return self._winner(values)
        return self._places(values, models) if self.kind == PLACES else self._ranks(values)

    def _winner(self, values: Mapping[str, str]) -> str:
        odd = next((name for name, value in values.items() if value.casefold() not in (*_SET, *_UNSET)), None)
        if odd is not None:
            raise BadLine(f"column {odd!r} contains {values[odd][:40]!r}, which is neither 1 nor 0")
        chosen = [name for name, value in values.items() if value.casefold() in _SET]
        if len(chosen) != 1:
            count = f"{len(chosen)} of the columns are 1" if chosen else "none of the columns is 1"
            raise BadLine(f"{count} ({', '.join(values)}), and exactly one says who won")
        return "tie" if chosen[0] == self.tie else self.ids[self.columns.index(chosen[0])]

    def _ranks(self, values: Mapping[str, str]) -> str:
        groups: dict[int, list[str]] = {}
        for name, (column, value) in zip(self.ids, values.items(), strict=True):
            if not value.isascii() or not value.isdigit():
                raise BadLine(f"column {column!r} contains {value[:40]!r}, which is no place (1 is the best)")
            groups.setdefault(int(value[:9]), []).append(name)
        return ">".join("=".join(groups[place]) for place in sorted(groups))

    def _places(self, values: Mapping[str, str], models: Mapping[str, str]) -> str:
        known = {model.casefold(): name for name, model in models.items()} | {one.casefold(): one for one in self.ids}
        given = [known.get(value.casefold(), "") for value in values.values() if value]
        if "" in given or len(set(given)) < len(given):
            said = ", ".join(values.values())[:80]
            raise BadLine(f"columns {', '.join(values)} contain {said!r}, no ranking of {', '.join(self.ids)}")
        return ">".join(given)


def columns_in(column: str) -> tuple[str, ...]:
    """The columns that a mapping's column names: several for ``onehot:`` and the like."""
    column = column.removeprefix(TURNS)
    prefix = next((one for one in (*PREFIX, TEXTS) if column.startswith(one)), None)
    if prefix is None:
        return (column,)
    return tuple(part.strip() for part in column.removeprefix(prefix).split(",") if part.strip())


def spread_of(column: str, ids: Sequence[str]) -> Spread | None:
    """A mapping's column as several ones; None for a plain one.

    Raises:
        InputError: there are not as many columns as responses (or, of which one is 1, one more).
    """
    kind = next((one for one in PREFIX if column.startswith(one)), None)
    if kind is None:
        return None
    names, more = columns_in(column), kind == ONE_HOT
    if len(ids) < 2 or not len(ids) <= len(names) <= len(ids) + more or len(set(names)) < len(names):
        raise InputError(
            f"{column!r} names {len(names)} columns for {len(ids)} responses: name one column for each of "
            f"{', '.join(ids) or 'the responses'}, in this order{', and then one for a tie, if there is one' * more}"
        )
    return Spread(kind, tuple(ids), names[: len(ids)], names[len(ids)] if len(names) > len(ids) else None)


def find_spread(columns: Sequence[str], survey: Survey, ids: Sequence[str]) -> Spread | None:
    """Columns that look like one verdict together; None without any.

    Args:
        columns: names.
        survey: some rows.
        ids: of the responses; empty where no column is one: ranks then say how many there are.
    """
    for marks in (ids, [str(number) for number in range(1, len(ids) + 1)]) if len(ids) > 1 else ():
        if (found := _one_hot(columns, survey, ids, marks)) is not None:
            return found
    ranks = {side[1]: name for name in columns if (side := about(name)) is not None and side[0] == "ranks"}
    wanted = tuple(ids) or tuple(sorted(ranks))
    if len(wanted) < 2 or ranks.keys() != set(wanted):
        return None
    names = tuple(ranks[one] for one in wanted)
    keys = {key for name in names for key in survey.keys(name) if key}
    if not keys.isdisjoint(map(str, range(1, 10))):
        # Of two responses "1" and "2" both readings are one; of more, rank_1=3 may be the third response.
        return None if len(wanted) > 2 and names[0][-1:].isdigit() else Spread(RANKS, wanted, names)
    return Spread(PLACES, wanted, names) if keys else None


def _one_hot(columns: Sequence[str], survey: Survey, ids: Sequence[str], marks: Sequence[str]) -> Spread | None:
    """Columns of zeros and ones, one for each mark by which their names end, and perhaps one for ties."""
    flags = [name for name in columns if is_flag(name, survey)]
    for first in flags:
        stem = first[: -len(marks[0])] if first.lower().endswith(marks[0].lower()) else ""
        if not re.search(r"win|prefer|better|chosen|vote|verdict|label", stem, re.I):
            continue
        lowered = {one.lower(): one for one in reversed(flags)}
        sides = [lowered[name] for mark in marks if (name := f"{stem}{mark}".lower()) in lowered]
        if len(sides) == len(marks):
            tie = tie_beside(first, [one for one in flags if one not in sides], survey)
            return Spread(ONE_HOT, tuple(ids), tuple(sides), tie)
    return None


def is_flag(column: str, survey: Survey) -> bool:
    """Whether a column contains 0 and 1 alone, and both of them."""
    values = {key.casefold() for key in survey.keys(column)}
    return values <= {*_SET, *_UNSET} and bool(values & set(_SET)) and bool(values & set(_UNSET))


def is_tie_name(column: str) -> bool:
    """Whether a column's name says that its values are about ties."""
    return _TIE_NAME.fullmatch(column) is not None


def tie_beside(column: str, columns: Sequence[str], survey: Survey) -> str | None:
    """The column of zeros and ones that is 1 for a tie where ``column`` is 1 for a winner; None without one."""
    family = re.split(r"[\s_.-]", column)[0].lower()
    found = (name for name in columns if name != column and is_tie_name(name))
    known = (name for name in found if name.lower().startswith(family) or "_" not in name)
    return next((one for one in known if {key.casefold() for key in survey.keys(one)} <= {*_SET, *_UNSET}), None)
