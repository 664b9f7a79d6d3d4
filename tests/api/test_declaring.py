"""What the document says of each operation's errors and scopes: its own, not everybody's."""

import copy
import importlib

import pytest

app_module = importlib.import_module("metajudge.api.app")
declaring = importlib.import_module("metajudge.api.declaring")


@pytest.fixture(scope="module")
def document():
    return declaring.declare(app_module.create_app(app_module.ServiceOptions()).openapi())


@pytest.mark.parametrize(
    ("method", "path", "has", "lacks"),
    [
        ("get", "/v1/rubrics", {401, 403, 429}, {404, 408, 409, 413, 415, 422, 502, 504}),
        ("get", "/v1/jobs/{job_id}", {401, 404, 422}, {409, 413, 415, 502, 504}),
        ("post", "/v1/vet", {409, 413, 415, 422, 502, 504}, {404, 507}),
        ("post", "/v1/clash", {409, 413, 415, 422, 502, 504}, {404, 507}),
        ("post", "/v1/cases/batch", {409, 413, 415, 422, 503}, {404, 502, 504}),
        ("post", "/v1/rank", {413, 422, 504}, {404, 409, 502}),
        ("post", "/v1/reviews/{review_id}/claim", {404, 409, 422}, {502, 504}),
        ("post", "/v1/export/preferences", {504, 507}, {404, 409, 502}),
        ("get", "/metrics", {401, 403, 429}, {404, 422, 502}),
    ],
)
def test_an_operation_declares_its_own_errors(document, method, path, has, lacks):
    told = {int(status) for status in document["paths"][path][method]["responses"]}
    assert has <= told
    assert not lacks & told
    assert 405 not in told, "a method that is not there is no answer of this one"


def test_operations_differ(document):
    sets = {
        frozenset(one["responses"])
        for path, operations in document["paths"].items()
        for one in operations.values()
        if path.startswith("/v1/")
    }
    assert len(sets) >= 8


def test_declaring_again_changes_nothing(document):
    assert declaring.declare(copy.deepcopy(document)) == document
