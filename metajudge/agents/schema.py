"""The JSON Schema an agent's answer must follow, in the part of JSON Schema that providers accept.

One required property per criterion, no additional ones, a score as an enumeration of the scale's points
(ranges are dropped or moved into descriptions by some providers).
"""

from typing import Any

from metajudge.prompts.reply_form import ReplyForm
from metajudge.providers.model import OutputSchema
from metajudge.rubric import Rubric

VOTES = ("correct", "wrong")
"""The answers a binary rubric allows."""

ANALYSIS = "analysis"
"""The property with the free text that a reply opens with."""

EXPLAINED = ReplyForm()
"""A score for each criterion, each after its explanation."""


def output_schema(rubric: Rubric, form: ReplyForm = EXPLAINED) -> OutputSchema:
    """Builds the answer's schema; property order is the order in which constrained decoding writes."""
    answer = object_schema(_entry(_vote() if rubric.kind == "binary" else score_schema(rubric), rubric, form))
    properties: dict[str, Any] = {ANALYSIS: {"type": "string"}} if form.analysis else {}
    optional = {criterion.name for criterion in rubric.criteria if criterion.optional}
    for name in rubric.scored_names:
        if name in optional:
            nullable = {"anyOf": [score_schema(rubric), {"type": "null"}]}
            properties[name] = object_schema(_entry(nullable, rubric, form))
        else:
            properties[name] = answer
    return OutputSchema("meta_judgment", object_schema(properties))


def _entry(value: dict[str, Any], rubric: Rubric, form: ReplyForm) -> dict[str, Any]:
    named = {"verdict" if rubric.kind == "binary" else "score": value}
    explanation = {"explanation": {"type": "string"}}
    match form.explanations:
        case "before":
            return {**explanation, **named}
        case "after":
            return {**named, **explanation}
        case "none":
            return named


def score_schema(rubric: Rubric) -> dict[str, Any]:
    """One of the points of a rubric's scale."""
    points = list(rubric.scale.points)
    integral = all(isinstance(point, int) for point in points)
    return {"type": "integer" if integral else "number", "enum": points}


def _vote() -> dict[str, Any]:
    return {"type": "string", "enum": list(VOTES)}


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """An object of which every property is required, and no other allowed."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
