"""What the OpenAPI document says of each operation: the scopes it needs, and the errors it may answer with."""

from typing import Any, Final

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


def declare(document: dict[str, Any], *, keyed: bool = True) -> dict[str, Any]:
    """Adds the required scopes of each operation to a document, and leaves it only the errors that it can answer with.

    In ``security`` one of the scopes listed is enough. Errors that a route declares itself stay.

    Args:
        keyed: whether the service has keys.
    """
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
