"""What the OpenAPI document says of each operation: the scopes it needs, and the errors it may answer with."""

from typing import Any, Final

from .authorization import ROUTES, Operation
from .errors import RESPONSES, Problem
from .keys import Scope
from .schema_rules import narrow

SCHEMES: Final = ("HTTPBearer", "APIKeyHeader")
"""Names of the two security schemes in the OpenAPI document."""
_EVERYWHERE: Final = frozenset({400, 403, 500, 503})
"""A malformed or foreign host, a failure, and too many open requests."""
_OF_BODIES: Final = frozenset({408, 413, 415, 422})
_OF_KEYS: Final = frozenset({401, 429})
_AT_MODELS: Final = frozenset({502, 504})
_COMPUTED: Final = frozenset({504})
_CONFLICTS: Final = ("/v1/reviews/", "/v1/rubrics/", "/v1/policies/", "/v1/feedback/")
"""Changes here conflict with others', or with what is built in."""
_LATE: Final = ("/v1/rank", "/v1/peers", "/v1/audit", "/v1/export", "/v1/feedback", "/v1/monitor")
"""What is computed in a process or thread, with a time limit."""
_OF_A_POLICY: Final = "/v1/feedback"
"""What may be asked of a policy by its name."""
_OF_NAMED_REVIEWS: Final = "/v1/reviews/decide"
"""Its reviews are in the body."""
_MODELS: Final = ("/v1/vet", "/v1/judge", "/v1/clash", "/v1/cases")
_HEADER: Final = "Idempotency-Key"


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
    found = set(_EVERYWHERE)
    given = described.get("parameters", ())
    if operation.scopes:
        found |= _OF_KEYS
    if "requestBody" in described:
        found |= _OF_BODIES
    if given or method != "GET":
        found.add(422)
    if "{" in path:
        found |= {404, 422}
    if path.startswith(_OF_A_POLICY) or path == _OF_NAMED_REVIEWS:
        found.add(404)
    keyed = any(one["name"] == _HEADER for one in given)
    if keyed or (method != "GET" and path.startswith(_CONFLICTS)):
        found.add(409)
    if path.startswith(_LATE):
        found |= _COMPUTED
    if method == "POST" and path.startswith(_MODELS) and not path.endswith("/batch"):
        found |= _AT_MODELS
    return frozenset(found)


def _add_scopes(described: dict[str, Any], operation: Operation, *, keyed: bool) -> None:
    scopes = [scope.value for scope in Scope if scope in operation.scopes]
    described["security"] = [{scheme: [scope]} for scheme in SCHEMES for scope in scopes] if keyed else []
    names = " or ".join(f"`{scope}`" for scope in scopes)
    owner = " and the key that sent the job, or `admin`" if operation.owned else ""
    needs = f"Needs scope {names}{owner}."
    if needs not in described.get("description", ""):
        described["description"] = f"{described.get('description', '')}\n\n{needs}".strip()
