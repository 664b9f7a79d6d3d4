"""How judgments end: the panels' results, and what a calibration and a policy make of them, each once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from metajudge.bulk.forms import Forms, Own, annotation_row
from metajudge.store.bulk import AnnotationRow
from metajudge.types import Assessment

Codes = NDArray[np.int64]


class Annotated(Protocol):
    """What a calibration and a policy say of n judgments; see :class:`metajudge.vetting.annotating.AnnotatedColumn`."""

    @property
    def codes(self) -> NDArray[np.intp]: ...
    @property
    def kinds(self) -> Sequence[Assessment]: ...
    @property
    def found(self) -> Sequence[int]: ...
    @property
    def probabilities(self) -> NDArray[np.float64]: ...
    @property
    def decided(self) -> NDArray[np.bool_]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def unadjusted(self) -> NDArray[np.float64]: ...
    @property
    def margins(self) -> NDArray[np.float64]: ...
    def at(self, row: int, own: Assessment) -> Assessment: ...


Annotate = Callable[[Sequence[Assessment], Codes, Codes], Annotated]
"""Annotates judgments: different assessments by the panels, each judgment's place among them, and its row."""


@dataclass(frozen=True, slots=True, eq=False)
class Endings:
    """Endings of m judgments.

    Attributes:
        codes: [m] places in ``finals``.
        owns, finals: the panel's own assessment, and the one with its annotation; the values that belong to a judgment
            alone are those of some judgment.
        annotated: None without a calibration and a policy.
    """

    codes: Codes
    owns: Sequence[Assessment]
    finals: Sequence[Assessment]
    annotated: Annotated | None = None
    _forms: dict[int, Forms] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Sequence[Assessment], codes: Codes, rows: Codes, annotate: Annotate | None) -> "Endings":
        """The endings of results.

        Args:
            found: different results of the panels.
            codes: [m] each judgment's place in ``found``.
            rows: [m] each judgment's row in the facts.
            annotate: None without a calibration and a policy.
        """
        if annotate is None or not len(codes):
            return cls(codes, found, found)
        said = annotate(found, codes, rows)
        return cls(said.codes.astype(np.int64), [found[place] for place in said.found], said.kinds, said)

    def forms(self, code: int) -> Forms:
        """The forms of an ending."""
        made = self._forms.get(code)
        if made is None:
            by_number = self.annotated is not None and bool(self.annotated.decided[code])
            made = self._forms[code] = Forms.of(self.owns[code], self.finals[code], by_number=by_number)
        return made

    def numbers(self, at: slice) -> list[tuple[bytes, ...]]:
        """What calibration and policy say of each judgment of a part in numbers, as :meth:`Own.numbers` gives it."""
        said = self.annotated
        if said is None:
            return [()] * len(self.codes[at])
        columns = (said.probabilities, said.values, said.unadjusted, said.margins)
        return Own.numbers(*([None if one != one else one for one in column[at].tolist()] for column in columns))

    def annotations(self, at: slice, owns: Sequence[Sequence[bytes]]) -> list[AnnotationRow | None]:
        """What calibration and policy say of each judgment of a part, as a store keeps it.

        Args:
            owns: what belongs to each of them alone; see :class:`~metajudge.bulk.forms.Own`.
        """
        said, codes = self.annotated, self.codes[at].tolist()
        if said is None:
            return [None] * len(codes)
        numbers = [None if one != one else one for one in said.probabilities[at].tolist()]
        return [
            None
            if (form := self.forms(code).annotation) is None
            else annotation_row(self.finals[code], number, form.fill(own))
            for code, number, own in zip(codes, numbers, owns, strict=True)
        ]

    def assessment(self, at: int) -> Assessment:
        """One judgment's assessment; id, item, judge and signals are those of some judgment."""
        code = int(self.codes[at])
        return self.finals[code] if self.annotated is None else self.annotated.at(at, self.owns[code])
