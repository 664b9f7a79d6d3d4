"""What counts as right in an input: the rule that was given, else the default of each kind of verdict."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metajudge.types import AnyVerdict, Category, Grade, Right, VerdictKind, default_right, kind_of
from metajudge.types.grade_scales import FEWEST, Grades, GradeScales


class Rules:
    """The rule of every kind, from judgments added one at a time; of grades only the ends and two examples are kept.

    Labels are read for one thing: whether grades stand against labels that say pass or fail, and in which range
    (:func:`~metajudge.types.right.default_right`). No verdict is compared with them.

    Attributes:
        scales: of grades; judges on two of them are not compared.

    Args:
        given: a rule for the kinds it applies to; None for the default of each kind.
    """

    def __init__(self, given: Right | None = None) -> None:
        self.given = given
        self.kinds: set[VerdictKind] = set()
        self.scales = GradeScales()
        self._verdicts = _Examples()
        self._labels = _Examples()
        self._found: dict[VerdictKind, Right] = {}

    def add(self, verdict: AnyVerdict | None, truth: AnyVerdict | None) -> None:
        """Counts a verdict in, and its item's label; for pairs and rankings nothing depends on it."""
        if verdict is not None:
            self.kinds.add(kind_of(verdict))
        if not isinstance(verdict, Grade | Category):
            return
        changed = self._verdicts.add(verdict)
        if truth is not None:
            changed = self._labels.add(truth) or changed
        if changed:
            self._found.clear()

    def of(self, kind: VerdictKind) -> Right:
        """The rule of a kind, by what was added so far."""
        if self.given is not None and self.given.applies(kind):
            return self.given
        if kind not in self._found:
            self._found[kind] = default_right(kind, self._verdicts.every(), self._labels.every())
        return self._found[kind]


def scales_of(
    judges: Sequence[str],
    verdicts: Sequence[AnyVerdict],
    truths: Sequence[AnyVerdict],
    columns: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]], NDArray[np.integer[Any]]],
    item: NDArray[np.integer[Any]],
    declared: Sequence[bool],
) -> GradeScales:
    """The scales of grades in an input.

    Args:
        columns: [n] places in them; -1 where there is none.
        item: [n] number of the item.
        declared: [items] whether the item has a scale of its own.
    """
    found = GradeScales()
    if not any(isinstance(one, Grade) for one in verdicts):
        return found
    judge, verdict, truth = columns
    said, right = grade_values(verdicts)[verdict], grade_values(truths)[truth]
    rows = np.flatnonzero(np.isfinite(said) & ~np.array(declared, dtype=bool)[item])
    codes, first = np.unique(judge[rows], return_index=True)
    for code in codes[np.argsort(first)].tolist():
        own = rows[judge[rows] == code]
        found.judges[judges[code]] = _grades(said[own], item[own])
    labelled = rows[np.isfinite(right[rows])]
    if len(labelled):
        found.people = _grades(right[labelled], item[labelled])
    return found


def grade_values(verdicts: Sequence[AnyVerdict]) -> NDArray[np.float64]:
    """[verdicts + 1] grades; NaN for others, and for -1."""
    return np.array([*(one.value if isinstance(one, Grade) else np.nan for one in verdicts), np.nan])


def _grades(values: NDArray[np.float64], items: NDArray[np.integer[Any]]) -> Grades:
    return Grades(float(values.min()), float(values.max()), set(np.unique(items)[:FEWEST].tolist()))


class _Examples:
    """As few verdicts as give the same default rule as all of them."""

    def __init__(self) -> None:
        self._lowest: Grade | None = None
        self._highest: Grade | None = None
        self._broken: Grade | None = None
        self._category: Category | None = None

    def add(self, verdict: AnyVerdict) -> bool:
        """Whether the examples changed."""
        if isinstance(verdict, Category):
            changed = self._category is None
            self._category = self._category or verdict
            return changed
        return isinstance(verdict, Grade) and self._add_grade(verdict)

    def _add_grade(self, verdict: Grade) -> bool:
        before = (self._lowest, self._highest, self._broken)
        self._lowest = verdict if self._lowest is None else min(self._lowest, verdict, key=_value)
        self._highest = verdict if self._highest is None else max(self._highest, verdict, key=_value)
        if self._broken is None and verdict.value != int(verdict.value):
            self._broken = verdict
        return before != (self._lowest, self._highest, self._broken)

    def every(self) -> list[AnyVerdict]:
        kept = (self._lowest, self._highest, self._broken, self._category)
        return [one for one in kept if one is not None]


def _value(grade: Grade) -> float:
    return grade.value
