"""Rubrics: criteria with weights on a scale, by name or from a YAML file."""

from metajudge.rubric.loading import (
    BUILTIN_RUBRICS,
    CASE_RUBRICS,
    list_case_rubrics,
    list_rubrics,
    load_rubric,
    validate_rubric_text,
)
from metajudge.rubric.model import Criterion, Rubric, RubricKind, Scale

__all__ = [
    "BUILTIN_RUBRICS",
    "CASE_RUBRICS",
    "Criterion",
    "Rubric",
    "RubricKind",
    "Scale",
    "list_case_rubrics",
    "list_rubrics",
    "load_rubric",
    "validate_rubric_text",
]
