"""What the service answers, at every route: status, content type, JSON, the numbers and links of pages.

One script (:mod:`tests.edges.http_script`) fills a store and reads it back; every exchange is a recording.
"""

import json

import pytest

from tests.edges.http_script import GROUPS, world
from tests.edges.recorded import RECORDINGS, check
from tests.edges.serving import openapi, routes

pytestmark = pytest.mark.timeout(600)
FOLDER = "http"


@pytest.fixture(scope="module")
def exchanges(tmp_path_factory):
    """Every exchange by its name."""
    with world(tmp_path_factory.mktemp("http")) as kept:
        return kept


@pytest.mark.parametrize("group", GROUPS)
def test_the_service_answers_as_recorded(exchanges, group):
    names = [name for name in exchanges if name.partition("/")[0] == group]
    assert names, f"the script has no exchange {group}/..."
    differing = []
    for name in names:
        try:
            check(f"{FOLDER}/{name}", exchanges[name])
        except AssertionError as error:
            differing.append(str(error))
    assert not differing, "\n\n".join(differing)


def test_no_recorded_exchange_has_disappeared(exchanges):
    recorded = {path.relative_to(RECORDINGS / FOLDER).with_suffix("").as_posix() for path in _files()}
    assert recorded - {"operations"} - exchanges.keys() == set()


def test_every_route_of_the_application_has_a_recording():
    recorded = {json.loads(path.read_text("utf-8")).get("route") for path in _files()}
    declared = {f"{method} {path}" for method, path in routes()}
    assert len(declared) > 90, "the routes of the application were not found"
    assert declared - recorded == set(), "record an exchange with these routes in tests/edges/http_script.py"


def test_the_openapi_document_declares_the_operations_that_clients_were_made_for():
    document = openapi()
    found = {
        f"{method.upper()} {path}": _operation(document, one)
        for path, methods in document["paths"].items()
        for method, one in methods.items()
    }
    check(f"{FOLDER}/operations", found)


def _files():
    return (RECORDINGS / FOLDER).rglob("*.json")


def _operation(document, one):
    parameters = [f"{each['in']} {each['name']}{' required' * each['required']}" for each in one.get("parameters", ())]
    content = one.get("requestBody", {}).get("content", {})
    return {
        "parameters": sorted(parameters),
        "body": {kind: _properties(document, each.get("schema", {})) for kind, each in content.items()},
        "responses": " ".join(sorted(one["responses"])),
    }


def _properties(document, schema):
    """Names of the properties of a body's schema; of each of its alternatives, and of an array's items."""
    if "$ref" in schema:
        return _properties(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return [_properties(document, one) for one in schema[choice]]
    if schema.get("type") == "array":
        return {"items": _properties(document, schema.get("items", {}))}
    required = set(schema.get("required", ()))
    return sorted(f"{name}{' required' * (name in required)}" for name in schema.get("properties", {}))
