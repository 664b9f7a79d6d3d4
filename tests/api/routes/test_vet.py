"""POST /v1/vet over a real socket, with a model behind it that speaks a provider's protocol."""

import pytest

from tests.api.conftest import panel_of
from tests.api.nouns import record
from tests.doubles.llm_server import score_answer


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


def test_a_policy_by_name_adds_its_decision_and_asks_nobody_again(serve, models, tmp_path):
    server = models(answer=score_answer(5))
    client = serve(panels={"default": panel_of(server, "a")}, store=tmp_path / "s.duckdb")
    plain = client.post("/v1/vet", json=record()).json()
    decided = client.post("/v1/vet", json={"judgment": record(), "policy": "verdict_score"}).json()
    assert (server.count, "decision" in plain) == (1, False)
    assert decided["decision"]["action"] == "REVIEW_PRIORITY"  # one agent has no agreement
