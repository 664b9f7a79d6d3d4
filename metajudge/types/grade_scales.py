"""Whether grades of several judges, and of people, are on one scale: two scales are never compared as one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from metajudge.types.judgment import Item
from metajudge.types.verdict import AnyVerdict, Grade

FEWEST: Final = 10
"""Items without a declared scale from which the grades on them say which scale they are on."""
_TOPS: Final = (1.0, 5.0, 7.0, 10.0, 100.0)
"""The highest grades of usual scales."""
_FEW: Final = 10.0
_UNUSED: Final = 1.6
"""Up to 10, a scale whose highest grade is so many times that of another is another one."""


@dataclass(slots=True)
class Grades:
    """Grades of one judge, or of people.

    Attributes:
        lowest, highest: of them.
        items: up to :data:`FEWEST` items that have one.
    """

    lowest: float = math.inf
    highest: float = -math.inf
    items: set[object] = field(default_factory=set)

    def add(self, value: float, item: object) -> None:
        """Takes a grade of an item."""
        self.lowest, self.highest = min(self.lowest, value), max(self.highest, value)
        if len(self.items) < FEWEST:
            self.items.add(item)

    def __str__(self) -> str:
        return f"{self.lowest:g} to {self.highest:g}"


def one_scale(first: Grades, second: Grades) -> bool:
    """Whether nothing says that grades are on two scales.

    They are where all of one are up to 10, and all of the other above. They are, too, where both vary on at least
    :data:`FEWEST` items, and: their highest grades are those of different usual
    scales (1, 5, 7, 10, 100), or far apart below 10; or one goes about as far below 0 as above, and the other does not;
    or one begins and ends a grade above the other, which begins with 0.
    """
    lower, upper = sorted((first, second), key=lambda one: (one.highest, one.lowest))
    if lower.items and lower.highest <= _FEW < upper.lowest:
        return False
    if any(len(one.items) < FEWEST or one.lowest == one.highest for one in (first, second)):
        return True
    if _top(lower.highest) != _top(upper.highest) or _two_sided(lower) != _two_sided(upper):
        return False
    if lower.highest > 1 and upper.highest <= _FEW and upper.highest >= _UNUSED * lower.highest:
        return False
    return not (lower.lowest == 0 and upper.lowest == 1 and upper.highest == lower.highest + 1)


def _two_sided(grades: Grades) -> bool:
    return grades.lowest < 0 and -grades.lowest >= grades.highest / 2


def _top(high: float) -> float:
    return next((top for top in _TOPS if high <= top), math.inf)


@dataclass(slots=True)
class GradeScales:
    """Grades by judge and of people, on items without a declared scale: on others, that is the scale of all."""

    judges: dict[str, Grades] = field(default_factory=dict)
    people: Grades = field(default_factory=Grades)

    def add(self, judge: str, verdict: AnyVerdict | None, item: Item) -> None:
        """Takes a verdict, and what people say of its item."""
        if not isinstance(verdict, Grade) or item.scale:
            return
        self.judges.setdefault(judge, Grades()).add(verdict.value, item.id)
        if isinstance(item.truth, Grade):
            self.people.add(item.truth.value, item.id)

    def unlike_people(self) -> list[str]:
        """The judges whose grades are not on people's scale."""
        return [name for name, grades in self.judges.items() if not one_scale(grades, self.people)]

    def groups(self) -> dict[str, int]:
        """Judge -> the number of its scale: those of one number can be compared."""
        scales: list[list[Grades]] = []
        found: dict[str, int] = {}
        for name in sorted(self.judges):
            grades = self.judges[name]
            at = next((at for at, same in enumerate(scales) if all(one_scale(grades, one) for one in same)), None)
            if at is None:
                at = len(scales)
                scales.append([])
            scales[at].append(grades)
            found[name] = at
        return found

    def sentences(self) -> list[str]:
        """What is not compared, and how a scale is declared."""
        declare = "declare the scale if it is one (--map scale:=LOW..HIGH; in a record item.scale)"
        found = []
        if unlike := self.unlike_people():
            graded = _listed(self.judges, unlike)
            found.append(
                f"Two scales are not compared: {graded}, people from {self.people}. No figure says how often such "
                f"a judge is right: {declare}, or say which grades are the same (--map-values label:1=2,...)."
            )
        groups = self.groups()
        if len(set(groups.values())) > 1:
            found.append(
                f"Judges on two scales are not compared with each other: {_listed(self.judges, list(groups))}; "
                f"{declare}, or put them on one first."
            )
        return found


def _listed(judges: Mapping[str, Grades], names: Sequence[str]) -> str:
    shown = ", ".join(f"{name} grades from {judges[name]}" for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
