"""The answer's schema: what providers constrain, in their common part of JSON Schema."""

import jsonschema
import pytest

from metajudge.agents import output_schema
from metajudge.prompts.reply_form import ReplyForm
from metajudge.rubric import load_rubric, validate_rubric_text

OPTIONAL = """
version: 1
name: mine
title: Mine
description: Mine.
kind: criteria
scale: {low: 0, high: 1, step: 0.5}
criteria:
  - {name: one, title: One, description: One., weight: 1, levels: {0: bad, 0.5: so so, 1: good}}
  - {name: two, title: Two, description: Two., weight: 2, optional: true, levels: {0: bad, 0.5: so so, 1: good}}
"""


def walk(schema):
    yield schema
    for value in schema.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                yield from walk(part)


@pytest.mark.parametrize("name", ["short", "long", "binary", "baseline"])
def test_every_object_is_closed_and_every_property_required(name):
    schema = output_schema(load_rubric(name)).schema
    jsonschema.Draft202012Validator.check_schema(schema)
    objects = [part for part in walk(schema) if part.get("type") == "object"]
    assert objects
    for part in objects:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])


def test_one_property_per_criterion_in_rubric_order_with_the_scales_points():
    rubric = load_rubric("short")
    schema = output_schema(rubric).schema
    assert list(schema["properties"]) == list(rubric.scored_names)
    assert schema["properties"]["accuracy"]["properties"]["score"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}


def test_explanations_come_first_unless_asked_otherwise():
    rubric = load_rubric("baseline")
    assert list(output_schema(rubric).schema["properties"]["overall"]["properties"]) == ["explanation", "score"]
    scores_first = output_schema(rubric, ReplyForm(explanations="after")).schema
    assert list(scores_first["properties"]["overall"]["properties"]) == ["score", "explanation"]


def test_a_binary_rubric_asks_for_a_word():
    properties = output_schema(load_rubric("binary")).schema["properties"]["correct"]["properties"]
    assert properties["verdict"] == {"type": "string", "enum": ["correct", "wrong"]}


def test_only_optional_criteria_may_be_null_and_fractions_are_numbers():
    schema = output_schema(validate_rubric_text(OPTIONAL, "test")).schema
    assert schema["properties"]["one"]["properties"]["score"] == {"type": "number", "enum": [0, 0.5, 1]}
    assert {"type": "null"} in schema["properties"]["two"]["properties"]["score"]["anyOf"]


def test_no_keyword_that_a_provider_drops():
    dropped = {"minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "$ref", "oneOf"}
    for name in ("short", "binary", "baseline"):
        assert not dropped & {key for part in walk(output_schema(load_rubric(name)).schema) for key in part}
