"""Assessments as bytes: the JSON of one result, with gaps for what belongs to each judgment alone.

A form is the JSON of a real :class:`~metajudge.types.Assessment` with marks in the gaps, so that every other byte is as
pydantic writes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from pydantic_core import to_json

from metajudge.store.annotations import DERIVED, annotation_of
from metajudge.store.bulk import AnnotationRow
from metajudge.types import Assessment

_TEXT: Final = "7f9c2ba4e88f827d616045507605853e"
_OWN: Final = tuple(f"{_TEXT}-{name}" for name in ("id", "item", "judge", "digest"))
_PROBABILITY, _VALUE, _UNADJUSTED, _MARGIN = 0.618033988749, 0.577215664901, 0.915965594177, 0.693147180559
"""Texts and numbers that no input has, as marks."""


def in_words(probability: float) -> bytes:
    """A probability as a decision's reasons name it."""
    return f"the probability {probability:.4g} ".encode()


_IN_WORDS: Final = in_words(_PROBABILITY)
_MARKS: Final = (
    *(b'"%b"' % mark.encode() for mark in _OWN),
    b'"signals":{}',
    *map(to_json, (_PROBABILITY, _VALUE, _UNADJUSTED, _MARGIN)),
    _IN_WORDS,
)

Numbers: TypeAlias = Sequence[float | None]


class Own(NamedTuple):
    """What belongs to a judgment alone, as JSON: texts and signals, then the numbers of calibration and policy."""

    judgment_id: bytes
    item_id: bytes
    judge: bytes
    digest: bytes
    signals: bytes
    probability: bytes = b"null"
    value: bytes = b"null"
    unadjusted: bytes = b"null"
    margin: bytes = b"null"
    in_words: bytes = b""

    @classmethod
    def numbers(
        cls, probabilities: Numbers, values: Numbers, unadjusted: Numbers, margins: Numbers
    ) -> list[tuple[bytes, ...]]:
        """The numbers of many judgments as the last fields."""
        words = [b"" if one is None else in_words(one) for one in probabilities]
        return list(zip(*map(numbers_as_json, (probabilities, values, unadjusted, margins)), words, strict=True))


def numbers_as_json(numbers: Numbers) -> list[bytes]:
    """The JSON of each number, as pydantic writes it."""
    return to_json(numbers)[1:-1].split(b",") if numbers else []


class Form:
    """A text with gaps.

    Args:
        text: with marks in the gaps.
    """

    def __init__(self, text: bytes) -> None:
        parts, gaps, rest = list[bytes](), list[int](), text
        while found := [(at, gap) for gap, mark in enumerate(_MARKS) if (at := rest.find(mark)) >= 0]:
            at, gap = min(found)
            parts += [rest[:at], b""]
            gaps.append(gap)
            rest = rest[at + len(_MARKS[gap]) :]
        self._parts = [*parts, rest]
        self._values = itemgetter(*gaps, 0, 0)  # two more, so that it gives a tuple

    def fill(self, own: Sequence[bytes]) -> bytes:
        """The text of one judgment."""
        parts = self._parts.copy()
        parts[1::2] = self._values(own)[:-2]
        return b"".join(parts)


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of one ending.

    Attributes:
        payload: the panel's own assessment as a store keeps it.
        line: the assessment as a line of a file of results.
        annotation: what calibration and policy add, as a store keeps it; None where they add nothing.
    """

    payload: Form
    line: Form
    annotation: Form | None

    @classmethod
    def of(cls, own: Assessment, final: Assessment, *, by_number: bool) -> "Forms":
        """The forms of an assessment by the panel and with its annotation.

        Args:
            by_number: whether the policy decides on the probability, so that its numbers are each judgment's own.
        """
        panels, ended = _marked(own), _marked(final, by_number=by_number)
        said = annotation_of(ended, panels.model_copy(update={"signals": ended.signals}))
        return cls(
            Form(panels.model_dump_json(exclude=DERIVED).encode()),
            Form(ended.model_dump_json().encode() + b"\n"),
            None if said is None else Form(said.encode()),
        )


def annotation_row(final: Assessment, probability: float | None, payload: bytes) -> AnnotationRow:
    """The row of an annotation."""
    decision = final.decision
    return AnnotationRow(
        status=final.status.value,
        accepted=final.accepted,
        calibration=final.calibration,
        probability=probability,
        policy=None if decision is None else decision.policy,
        policy_digest=None if decision is None else decision.policy_digest,
        action=None if decision is None else decision.action.value,
        payload=payload,
    )


def _marked(assessment: Assessment, *, by_number: bool = False) -> Assessment:
    """An assessment with marks in place of what belongs to its judgment alone."""
    names = ("judgment_id", "item_id", "judge", "judgment_digest")
    update: dict[str, object] = {**dict(zip(names, _OWN, strict=True)), "signals": {}}
    if assessment.probability is not None:
        update["probability"] = _PROBABILITY
    decision = assessment.decision
    if by_number and decision is not None:
        inputs = {"value": _VALUE} | ({} if decision.inputs.unadjusted is None else {"unadjusted": _UNADJUSTED})
        changed: dict[str, object] = {"inputs": decision.inputs.model_copy(update=inputs)}
        if decision.margin is not None:
            changed["margin"] = _MARGIN
        update["decision"] = decision.model_copy(update=changed)
    return assessment.model_copy(update=update)
