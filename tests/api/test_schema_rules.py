"""What the document says of a body is what the service accepts: rules between fields, names of fields, reviewers."""

import copy
import importlib

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012
from starlette.testclient import TestClient

from tests.api.routes.test_judging import ITEM

app_module = importlib.import_module("metajudge.api.app")
declaring = importlib.import_module("metajudge.api.declaring")
schemas = importlib.import_module("metajudge.api.schemas")
JUDGMENT, GRADE = schemas.EXAMPLE_JUDGMENT, schemas.EXAMPLE_GRADE


@pytest.fixture(scope="module")
def built():
    return app_module.create_app(app_module.ServiceOptions()).openapi()


@pytest.fixture(scope="module")
def documents(built):
    return {keyed: declaring.declare(copy.deepcopy(built), keyed=keyed) for keyed in (True, False)}


def fits(document, operation, body):
    """Whether a body is valid by the document."""
    method, _, path = operation.partition(" ")
    declared = document["paths"][path][method.lower()]["requestBody"]["content"]["application/json"]["schema"]
    whole = Resource.from_contents(document, default_specification=DRAFT202012)
    found = jsonschema.Draft202012Validator(_absolute(declared), registry=Registry().with_resource("doc:", whole))
    return found.is_valid(body)


def _absolute(schema):
    if isinstance(schema, dict):
        return {name: f"doc:{one}" if name == "$ref" else _absolute(one) for name, one in schema.items()}
    return [_absolute(one) for one in schema] if isinstance(schema, list) else schema


RUBRIC = {"name": "mine", "title": "t", "description": "d"}
BALLOT = {"question_id": "q", "evaluator": "e"}
REFUSED = [
    ("POST /v1/vet", {**JUDGMENT, "verdict": None}),
    ("POST /v1/vet", {**JUDGMENT, "item": {**JUDGMENT["item"], "responses": {"A": "x", "not an id": "y"}}}),
    ("POST /v1/judge", {"item": {**ITEM, "responses": {"A": "x"}}}),
    ("POST /v1/judge", {"item": {**ITEM, "responses": {"A": "x", "B": "y", "C": "z"}}}),
    ("POST /v1/clash", {}),
    ("POST /v1/clash", {"question": {"id": "q", "question": "Why?"}}),
    ("POST /v1/rank", {"rankings": [[["a"], ["b"]]], "rule": "borda", "prior": 1}),
    ("POST /v1/rank", {"rankings": [[["a"], ["b"]]], "rule": "borda", "ties": "half"}),
    ("POST /v1/rank", {"rankings": [[["a"], ["b"]]], "ties": "breslow"}),
    ("POST /v1/rank", {"rankings": [[["a"], ["b"]]], "candidates": []}),
    ("POST /v1/peers", {"ballots": [BALLOT]}),
    ("POST /v1/peers", {"ballots": [{**BALLOT, "status": "failed", "ranking": [["a"], ["b"]]}]}),
    ("POST /v1/peers", {"ballots": [{**BALLOT, "ranking": [["a"], ["b"]]}], "rule": "luck"}),
    ("POST /v1/reviews/decide", {"reviews": ["a", "a"], "outcome": "approve", "reviewer": "ada"}),
    ("POST /v1/reviews/decide", {"reviews": ["a", "b"], "scores": {"clarity": 1}, "reviewer": "ada"}),
    ("POST /v1/reviews/{review_id}/claim", {}),
    ("POST /v1/reviews/{review_id}/comment", {"text": "well"}),
    ("PUT /v1/rubrics/{name}", RUBRIC),
    ("PUT /v1/rubrics/{name}", {**RUBRIC, "kind": "holistic", "weight_sets": {"Not A Name": {}}}),
    ("POST /v1/export/preferences", {"selection": {"rule": "min_probability"}}),
    ("POST /v1/export/preferences", {"selection": {"rule": "accepted", "target": 0.9, "delta": 0.1}}),
    ("POST /v1/export/preferences", {"selection": {"rule": "guarantee", "target": 2, "delta": 0.1}}),
    ("POST /v1/export/preferences", {"split": [0.25, 0.25, 0.25, 0.25]}),
    ("POST /v1/export/preferences", {"format": "kto", "balance_length": True}),
    ("POST /v1/export/preferences", {"by_label": True}),
]
ACCEPTED = [
    ("POST /v1/vet", JUDGMENT),
    ("POST /v1/vet", {"judgment": GRADE}),
    ("POST /v1/vet", {**JUDGMENT, "verdict": None, "no_verdict": "the reply was cut"}),
    ("POST /v1/judge", {"item": ITEM}),
    ("POST /v1/judge", {"item": {**ITEM, "responses": {"A": "x"}}, "grade": True}),
    ("POST /v1/clash", {"item": ITEM}),
    ("POST /v1/clash", {"question": {"id": "q", "question": "Why?"}, "candidates": "default"}),
    ("POST /v1/rank", {"rankings": [[["a"], ["b"]]], "ties": "ignore"}),
    ("POST /v1/rank", {"rankings": [[["a"], ["b"]]], "rule": "bradley_terry", "ties": "davidson", "prior": 0.5}),
    ("POST /v1/peers", {"ballots": [{**BALLOT, "ranking": [["a"], ["b"]]}], "rule": "borda"}),
    ("POST /v1/reviews/{review_id}/claim", {"reviewer": "ada"}),
    ("POST /v1/reviews/decide", {"reviews": ["a", "b"], "outcome": "approve", "reviewer": "ada"}),
    ("POST /v1/export/preferences", {}),
    (
        "POST /v1/export/preferences",
        {"selection": {"rule": "guarantee", "target": 0.9, "delta": 0.1}, "split": [0.9, 0.1]},
    ),
]


def told(case):
    return f"{case[0]} {str(case[1])[-60:]}"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    options = app_module.ServiceOptions(store=tmp_path_factory.mktemp("rules") / "s.duckdb")
    with TestClient(app_module.create_app(options), base_url="http://127.0.0.1") as one:
        yield one


@pytest.mark.parametrize("case", REFUSED, ids=told)
def test_what_the_service_refuses_is_not_valid_by_the_document(documents, client, case):
    (operation, body), document = case, documents[False]
    assert not fits(document, operation, body)
    method, _, path = operation.partition(" ")
    answer = client.request(method, path.replace("{review_id}", "r1").replace("{name}", "mine"), json=body)
    assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("case", ACCEPTED, ids=told)
def test_what_the_service_takes_is_valid_by_the_document(documents, case):
    assert fits(documents[False], *case)


def test_with_keys_a_reviewer_needs_no_name_and_operations_need_a_key(documents):
    claim = "POST /v1/reviews/{review_id}/claim", {}
    assert fits(documents[True], *claim)
    vet = {keyed: one["paths"]["/v1/vet"]["post"]["security"] for keyed, one in documents.items()}
    assert vet[True]
    assert vet[False] == [], "without keys nobody is asked for one"


def test_every_rule_is_about_a_model_of_the_document(built):
    rules = importlib.import_module("metajudge.api.declaring").RULES
    assert set(rules) <= set(built["components"]["schemas"])


def test_what_depends_on_the_store_is_a_conflict_and_no_mistake_of_the_caller(client):
    for path in ("/v1/feedback/proposals", "/v1/feedback/drafts"):
        assert client.post(path).status_code == 409
        assert client.post(f"{path}?policy=unknown").status_code == 404
