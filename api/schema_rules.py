"""Rules of request bodies that types alone do not say, as far as a schema can: they go into the OpenAPI document.

The validators of the models apply them. What no schema can say (that an order names an item's responses, that weights
are as many as rankings, that a name is known to this service) stays a 422 with its reason.
"""

from collections.abc import Iterator
from typing import Any, Final

from metajudge.peers.consensus import RULES as PEER_RULES
from metajudge.voting.options import MODELS, TIES, Rule

_NULL: Final = {"type": "null"}


def _absent(*names: str) -> dict[str, Any]:
    """These fields are left out or null."""
    return {"properties": dict.fromkeys(names, _NULL)}


def _given(*names: str) -> dict[str, Any]:
    """These fields have a value."""
    return {"required": list(names), "properties": {name: {"not": _NULL} for name in names}}


def _is(name: str, *values: Any) -> dict[str, Any]:
    """A field is given and has one of these values."""
    return {"required": [name], "properties": {name: {"enum": list(values)}}}


def _is_not(name: str, *values: Any) -> dict[str, Any]:
    """A field has none of these values; it may be left out."""
    return {"properties": {name: {"not": {"enum": list(values)}}}}


def _rule(rule: Rule) -> dict[str, Any]:
    """This voting rule, the default included."""
    return {"properties": {"rule": {"enum": [rule.value]}}, "required": [] if rule is Rule.KEMENY else ["rule"]}


def _all(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"allOf": list(parts)}


def _any(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": list(parts)}


_PROBABILITY: Final = {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, _NULL]}
RULES: Final[dict[str, dict[str, Any]]] = {
    "Judgment": _any(_given("verdict"), _given("no_verdict")),
    "JudgeRequest": _any(
        _is("grade", True),
        {"properties": {"item": {"properties": {"responses": {"minProperties": 2, "maxProperties": 2}}}}},
    ),
    "ClashRequest": _any(
        _all(_given("item"), _absent("question")),
        _all(_given("question", "candidates"), _absent("item")),
    ),
    "Ballot": _any(
        _all(
            _is_not("status", "failed"),
            _given("ranking"),
            _absent("failure"),
            {"properties": {"ranking": {"minItems": 1}}},
        ),
        _all(_is("status", "failed"), _given("failure"), _absent("ranking")),
    ),
    "PeersRequest": {"properties": {"rule": {"anyOf": [{"enum": list(PEER_RULES)}, _NULL]}}},
    "BulkRequest": _all(
        {"properties": {"reviews": {"uniqueItems": True, "items": {"minLength": 1}}}},
        _any({"properties": {"reviews": {"maxItems": 1}}}, {"properties": {"scores": {"maxProperties": 0}}}),
    ),
    "RankRequest": _all(
        {"properties": {"candidates": {"anyOf": [{"type": "array", "minItems": 1}, _NULL]}}},
        _any(_absent("ties"), *(_all(_rule(rule), _is("ties", *allowed)) for rule, allowed in TIES.items())),
        _any(_absent("prior"), _is("rule", *(rule.value for rule in MODELS))),
    ),
    "Rubric": _any(
        _is("kind", "holistic", "binary"), {"required": ["criteria"], "properties": {"criteria": {"minItems": 1}}}
    ),
    "Selection": _all(
        {"properties": {"target": _PROBABILITY, "delta": _PROBABILITY}},
        {"properties": {"min_probability": {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, _NULL]}}},
        _any(
            _all(_is_not("rule", "min_probability", "guarantee"), _absent("min_probability", "target", "delta")),
            _all(_is("rule", "min_probability"), _given("min_probability"), _absent("target", "delta")),
            _all(_is("rule", "guarantee"), _given("target", "delta"), _absent("min_probability")),
        ),
    ),
    "ExportRequest": _all(
        {
            "properties": {
                "split": {
                    "anyOf": [
                        {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": 3,
                            "items": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
                        },
                        _NULL,
                    ]
                }
            }
        },
        _any(_is("kind", "judgments"), _is_not("by_label", True)),
        _any(_is_not("kind", "judgments"), _all(_is_not("from_grades", True), _absent("pass_mark"))),
        _any(_is("format", "kto"), _absent("pass_mark")),
        _any(_is_not("format", "kto"), _all(_is_not("balance_length", True), _absent("max_length"))),
    ),
}
"""Name of a model in the document -> what holds between its fields."""

_BY_REVIEWERS: Final = (
    "ClaimRequest",
    "ReleaseRequest",
    "DecisionRequest",
    "AmendmentRequest",
    "BulkRequest",
    "CommentRequest",
)


def narrow(document: dict[str, Any], *, keyed: bool) -> None:
    """Adds the rules to a document, once.

    Args:
        keyed: whether the service has keys; without any a reviewer gives a name, as there is no key to take it from.
    """
    schemas = document["components"]["schemas"]
    for schema in _within(schemas):
        if "patternProperties" in schema:
            schema.setdefault("additionalProperties", False)
    for name, rule in RULES.items():
        if name in schemas:
            schemas[name]["allOf"] = [rule]
    if not keyed:
        _require_reviewer(document)


def _require_reviewer(document: dict[str, Any]) -> None:
    for name in _BY_REVIEWERS:
        schema = document["components"]["schemas"][name]
        schema["required"] = sorted({*schema.get("required", ()), "reviewer"})
        schema["properties"]["reviewer"]["anyOf"] = [{"type": "string", "minLength": 1, "maxLength": 200}]
    for given in document["paths"]["/v1/reviews/progress"]["get"]["parameters"]:
        if given["name"] == "reviewer":
            given["required"] = True
            given["schema"]["anyOf"] = [{"type": "string", "minLength": 1, "maxLength": 300}]


def _within(data: Any) -> Iterator[dict[str, Any]]:
    """Every schema within a document."""
    if isinstance(data, dict):
        yield data
        for value in data.values():
            yield from _within(value)
    elif isinstance(data, list):
        for value in data:
            yield from _within(value)
