"""POST /v1/vet over a real socket, with a model behind it that speaks a provider's protocol."""

import importlib

import pytest

from tests.api.nouns import record

LOOSE = {"question": "2 + 2?", "responses": ["4", "5"], "verdict": "A"}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"judgment": {**record(), "verdict": "A>C"}}, "verdict names 'C'"),
        ({**record(), "rational": "typo"}, "rational: Extra inputs are not permitted"),
        ({"judgment": record(), "panel": "nobody"}, "unknown panel 'nobody'; this service has default"),
        ({"judgment": record(), "rubric": "../../etc/passwd"}, "unknown rubric"),
        ({"judgment": record(), "rubrik": "short"}, "rubrik: Extra inputs are not permitted"),
        ({"judgment": record(), "policy": "../secret.yaml"}, "looks like a file"),
        ([], "valid dictionary"),
        ({**LOOSE, "verdict": 1}, "verdict: '1' is no verdict here: known are A, B, A>B or tie"),
        ({"judgment": {**LOOSE, "responses": "4"}}, "responses: found a str: give a list of texts"),
        ({"judgment": record(), "others": [{**LOOSE, "rational": ""}]}, "rational: Extra inputs are not permitted"),
    ],
)
def test_bad_requests_are_problem_details_that_name_the_field(serve, body, detail):
    response = serve().post("/v1/vet", json=body)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert detail in problem["detail"]
    assert problem["status"] == 422
    assert problem["request_id"] == response.headers["x-request-id"]
    assert "function-after" not in response.text


@pytest.mark.parametrize(
    ("body", "status"), [({"judgment": {}}, 422), ({"judgment": None, "panel": "x"}, 422), ({"panel": "x"}, 422)]
)
def test_what_cannot_be_vetted_is_refused_before_the_stream(serve, body, status):
    answer = serve().post("/v1/vet/stream", json=body)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_policy_that_goes_while_it_is_waited_for_ends_the_stream_with_a_problem(serve, monkeypatch):
    async def known_by_now(self, choice):
        pass

    monkeypatch.setattr(importlib.import_module("metajudge.api.panels").Panels, "check", known_by_now)
    answer = serve().post("/v1/vet/stream", json={"judgment": record(), "policy": "nothing"})
    assert "event: error" in answer.text
    assert '"status":422' in answer.text.replace(" ", "")
