"""What counts as right in an input: the rule that was given, else the default of each kind of verdict."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metajudge.types import AnyVerdict, Grade, Right, VerdictKind, default_right, kind_of
from metajudge.types.grade_scales import FEWEST, Grades, GradeScales


class Rules:
    """The rule of every kind.

    Labels are read for one thing: whether grades stand against labels that say pass or fail, and in which range
    (:func:`~metajudge.types.right.default_right`). No verdict is compared with them.

    Args:
        given: a rule for the kinds it applies to; None for the default of each kind.
        verdicts: of the input.
        labels: of the items that were graded or put into a category.

    Attributes:
        scales: of grades; judges on two of them are not compared.
    """

    def __init__(
        self, given: Right | None = None, verdicts: Iterable[AnyVerdict] = (), labels: Iterable[AnyVerdict] = ()
    ) -> None:
        self.given, self.scales = given, GradeScales()
        self._verdicts, self._labels = tuple(verdicts), tuple(labels)
        self.kinds: set[VerdictKind] = set(map(kind_of, self._verdicts))
        self._found: dict[VerdictKind, Right] = {}

    def of(self, kind: VerdictKind) -> Right:
        """The rule of a kind."""
        if self.given is not None and self.given.applies(kind):
            return self.given
        if kind not in self._found:
            self._found[kind] = default_right(kind, self._verdicts, self._labels)
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
