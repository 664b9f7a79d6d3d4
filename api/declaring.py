"""What the OpenAPI document says of each operation: the scopes it needs, and the errors it may answer with."""

from collections.abc import Iterator
from typing import Any, Final

from metajudge.peers.consensus import RULES as PEER_RULES
from metajudge.voting.options import MODELS, TIES, Rule

from .authorization import ROUTES, Operation
from .errors import RESPONSES, Problem
from .keys import Scope

SCHEMES: Final = ("HTTPBearer", "APIKeyHeader")
"""Names of the two security schemes in the OpenAPI document."""
_CONFLICTS: Final = ("/v1/reviews/", "/v1/rubrics/", "/v1/policies/", "/v1/feedback/")
"""Changes here conflict with others', or with what is built in."""
_LATE: Final = ("/v1/rank", "/v1/peers", "/v1/audit", "/v1/export", "/v1/feedback", "/v1/monitor")
"""What is computed in a process or thread, with a time limit."""
_MODELS: Final = ("/v1/vet", "/v1/judge", "/v1/clash", "/v1/cases")
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


def _field(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A field that is given fits this schema."""
    return {"properties": {name: schema}}


def _or_null(**schema: Any) -> dict[str, Any]:
    return {"anyOf": [schema, _NULL]}


def _all(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"allOf": list(parts)}


def _any(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": list(parts)}


_PROBABILITY: Final = _or_null(type="number", exclusiveMinimum=0, exclusiveMaximum=1)
_SHARES: Final = {"type": "number", "exclusiveMinimum": 0, "maximum": 1}
RULES: Final[dict[str, dict[str, Any]]] = {
    "Judgment": _any(_given("verdict"), _given("no_verdict")),
    "JudgeRequest": _any(
        _is("grade", True), _field("item", _field("responses", {"minProperties": 2, "maxProperties": 2}))
    ),
    "ClashRequest": _any(
        _all(_given("item"), _absent("question")), _all(_given("question", "candidates"), _absent("item"))
    ),
    "Ballot": _any(
        _all(_is_not("status", "failed"), _given("ranking"), _absent("failure"), _field("ranking", {"minItems": 1})),
        _all(_is("status", "failed"), _given("failure"), _absent("ranking")),
    ),
    "PeersRequest": _field("rule", _or_null(enum=list(PEER_RULES))),
    "BulkRequest": _all(
        _field("reviews", {"uniqueItems": True, "items": {"minLength": 1}}),
        _any(_field("reviews", {"maxItems": 1}), _field("scores", {"maxProperties": 0})),
    ),
    "RankRequest": _all(
        _field("candidates", _or_null(type="array", minItems=1)),
        _any(_absent("ties"), *(_all(_rule(rule), _is("ties", *allowed)) for rule, allowed in TIES.items())),
        _any(_absent("prior"), _is("rule", *(rule.value for rule in MODELS))),
    ),
    "Rubric": _any(
        _is("kind", "holistic", "binary"), {"required": ["criteria"], **_field("criteria", {"minItems": 1})}
    ),
    "Selection": _all(
        {"properties": {"target": _PROBABILITY, "delta": _PROBABILITY}},
        _field("min_probability", _or_null(type="number", minimum=0, maximum=1)),
        _any(
            _all(_is_not("rule", "min_probability", "guarantee"), _absent("min_probability", "target", "delta")),
            _all(_is("rule", "min_probability"), _given("min_probability"), _absent("target", "delta")),
            _all(_is("rule", "guarantee"), _given("target", "delta"), _absent("min_probability")),
        ),
    ),
    "ExportRequest": _all(
        _field("split", _or_null(type="array", minItems=1, maxItems=3, items=_SHARES)),
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
    if keyed:
        return
    for name in _BY_REVIEWERS:
        schema = schemas[name]
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


def declare(document: dict[str, Any], *, keyed: bool = True) -> dict[str, Any]:
    """Adds the required scopes of each operation to a document, and leaves it only the errors that it can answer with.

    In ``security`` one of the scopes listed is enough. Errors that a route declares itself stay.

    Args:
        keyed: whether the service has keys.
    """
    narrow(document, keyed=keyed)
    document["components"]["schemas"]["Problem"] = Problem.model_json_schema()
    routes = {route.replace(":path}", "}"): one for route, one in ROUTES.items()}
    for path, operations in document["paths"].items():
        for method, described in operations.items():
            found = routes.get(f"{method.upper()} {path}")
            if found is None:
                continue
            possible = errors_of(method.upper(), path, described, found)
            common = {str(status) for status in RESPONSES} - {str(status) for status in possible}
            described["responses"] = {
                status: one for status, one in described["responses"].items() if status not in common
            }
            if found.scopes:
                _add_scopes(described, found, keyed=keyed)
    return document


def errors_of(method: str, path: str, described: dict[str, Any], operation: Operation) -> frozenset[int]:
    """The statuses of errors that an operation may answer with.

    Args:
        path: as declared, with its parameters in braces.
        described: the operation in the document.
    """
    given, changes = described.get("parameters", ()), method != "GET"
    keyed = any(one["name"] == "Idempotency-Key" for one in given)
    at_models = method == "POST" and path.startswith(_MODELS) and not path.endswith("/batch")
    of_names = path.startswith("/v1/feedback") or path == "/v1/reviews/decide"  # of a policy, of reviews in the body
    found = (
        ({400, 403, 500, 503}, True),  # a malformed or foreign host, a failure, and too many open requests
        ({401, 429}, bool(operation.scopes)),
        ({408, 413, 415, 422}, "requestBody" in described),
        ({422}, bool(given) or changes),
        ({404, 422}, "{" in path),
        ({404}, of_names),
        ({409}, keyed or (changes and path.startswith(_CONFLICTS))),
        ({504}, path.startswith(_LATE)),
        ({502, 504}, at_models),
    )
    return frozenset(status for statuses, answered in found if answered for status in statuses)


def _add_scopes(described: dict[str, Any], operation: Operation, *, keyed: bool) -> None:
    scopes = [scope.value for scope in Scope if scope in operation.scopes]
    described["security"] = [{scheme: [scope]} for scheme in SCHEMES for scope in scopes] if keyed else []
    names = " or ".join(f"`{scope}`" for scope in scopes)
    owner = " and the key that sent the job, or `admin`" if operation.owned else ""
    needs = f"Needs scope {names}{owner}."
    if needs not in described.get("description", ""):
        described["description"] = f"{described.get('description', '')}\n\n{needs}".strip()
