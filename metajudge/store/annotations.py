"""Annotations: a calibration's probability and a policy's decision, apart from the panel's own assessment."""

from typing import Any, Final

import orjson

from metajudge.types import Assessment

NOTHING: Final[dict[str, Any]] = {
    "probability": None,
    "probability_marks": (),
    "calibrated": False,
    "calibration": None,
    "guarantee": None,
    "outside_guarantee": (),
    "probability_source": None,
    "probability_threshold": None,
    "decision": None,
}
"""Values of these fields in an assessment without an annotation."""

DERIVED: Final = {"do"}
"""Fields of an assessment that follow from the others and are not stored."""

FIELDS: Final = ("status", "accepted", "failure", "decided_by", "cut", "cut_from", *NOTHING)
"""The fields that an annotation may set; a rule that decides sets the first six."""


def without_annotation(assessment: Assessment) -> Assessment:
    """The panel's own assessment; an outcome that another rule has set is kept."""
    return assessment.model_copy(update=NOTHING)


def annotation_of(assessment: Assessment, found: Assessment) -> str | None:
    """The fields added to the panel's assessment, as JSON; None if there are none."""
    if assessment is found:
        return None
    changed = {name for name in FIELDS if getattr(assessment, name) != getattr(found, name)}
    if not changed:
        return None
    plain = assessment.model_dump(mode="json", include=changed)
    return orjson.dumps(dict.fromkeys(sorted(changed)) | plain).decode()


def annotated_data(payload: str, annotation: str | None) -> dict[str, Any]:
    """An assessment with its annotation as plain data."""
    data: dict[str, Any] = orjson.loads(payload)
    return data if annotation is None else data | orjson.loads(annotation)


def annotated(payload: str, annotation: str | None) -> Assessment:
    """An assessment with its annotation."""
    text = payload if annotation is None else orjson.dumps(annotated_data(payload, annotation))
    return Assessment.model_validate_json(text)
