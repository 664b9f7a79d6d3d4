"""POST /v1/vet over a real socket, with a model behind it that speaks a provider's protocol."""

import pytest

from metajudge.calibration.files import save_calibration
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.panels.config import panel_config
from metajudge.types import Assessment, Judgment
from tests.doubles.crowds import crowd
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import score_answer


def panel(server, name="mini", **options):
    agents = [{"name": name, "model": f"openai:gpt-4o-mini@{server.url}"}]
    return panel_config({"agents": agents, **options})


def record(**changes):
    return judgment(**changes).model_dump(mode="json")


KINDS = [
    ("A>>B", "A>>B: A is much better than B"),
    ([["B"], ["A"]], "B > A: a ranking, best first"),
    (4, "4: the grade the judge gave the response, on a scale from 1 (lowest) to 5 (highest)"),
    (True, "true: the judge's answer about the response is yes"),
    ("pass", "pass: the category the judge put the response in"),
    ({"category": "a=b"}, "a=b: the category the judge put the response in"),
]


def kinds():
    """A judgment of every kind of verdict, with two people's labels of the same kind."""
    for number, (verdict, _) in enumerate(KINDS):
        one = record(id=f"k{number}")
        several = isinstance(verdict, list) or verdict == "A>>B"
        responses = {"A": "4", "B": "5"} if several else {"A": "4"}
        labels = [{"value": verdict, "annotator": name} for name in ("ada", "ben")]
        item = {**one["item"], "responses": responses, "label": None, "labels": labels}
        item |= {"scale": [1, 5]} if verdict == 4 else {}
        yield {**one, "item": item, "verdict": verdict, "order": list(responses)}


def test_every_kind_of_verdict_is_vetted_with_a_policy_and_comes_back_out_of_the_store(serve, models, tmp_path):
    server = models(answer=score_answer(5))
    client = serve(panels={"default": panel(server)}, store=tmp_path / "s.duckdb")
    for body, (_, shown) in zip(kinds(), KINDS, strict=True):
        answer = client.post("/v1/vet", json={"judgment": body, "policy": "verdict_score"})
        assert answer.status_code == 200, answer.text
        assessment = Assessment.model_validate(answer.json())
        assert (assessment.do.action, assessment.decision.inputs.value) == ("ask", 5.0)
        assert shown in server.bodies[-1]["messages"][-1]["content"]
        assert assessment.judgment_digest == Judgment.model_validate(body).digest
        again = client.post("/v1/vet", json=body).json()
        assert again["final_score"] == 5.0
    assert server.count == len(KINDS)


def test_a_models_failure_is_an_answer_with_a_typed_reason_not_a_server_error(serve, models):
    server = models(faults=["401"] * 10)
    response = serve(panels={"default": panel(server)}).post("/v1/vet", json=record())
    assert response.status_code == 200
    assert response.json()["status"] == "failed"
    assert response.json()["failure"]["kind"] == "auth"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"judgment": {**record(), "verdict": "A>C"}}, "verdict names 'C'"),
        ({**record(), "rational": "typo"}, "rational: Extra inputs are not permitted"),
        ({"judgment": record(), "panel": "nobody"}, "unknown panel 'nobody'; this service has default"),
        ({"judgment": record(), "rubric": "../../etc/passwd"}, "unknown rubric"),
        ({"judgment": record(), "rubrik": "short"}, "rubrik: Extra inputs are not permitted"),
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


class TestCalibration:
    @pytest.fixture
    def calibration(self, tmp_path):
        path = tmp_path / "calibration.json"
        save_calibration(fit_calibration(build_table(crowd(60), ["order", "strength", "peers"]), repeats=1), path)
        return path

    def test_an_unknown_judge_has_no_probability_and_is_no_error(self, serve, calibration):
        client = serve(panels={"default": panel_config({})}, calibration=calibration)
        response = client.post("/v1/vet", json=record(judge="stork"))
        assert response.status_code == 200
        assert (response.json()["probability"], response.json()["probability_marks"]) == (None, ["other_judge"])


def test_a_policy_by_name_adds_its_decision_and_asks_nobody_again(serve, models, tmp_path):
    server = models(answer=score_answer(5))
    client = serve(panels={"default": panel(server)}, store=tmp_path / "s.duckdb")
    plain = client.post("/v1/vet", json=record()).json()
    decided = client.post("/v1/vet", json={"judgment": record(), "policy": "verdict_score"}).json()
    unknown = client.post("/v1/vet", json={"judgment": record(), "policy": "nothing"})
    cases = client.post("/v1/vet", json={"judgment": record(), "policy": "risk_analysis"})
    a_file = client.post("/v1/vet", json={"judgment": record(), "policy": "../secret.yaml"})
    assert server.count == 1
    assert "decision" not in plain
    assert decided["decision"]["action"] == "REVIEW_PRIORITY"  # one agent has no agreement
    assert decided["decision"]["inputs"]["value"] == 5.0
    assert [answer.status_code for answer in (unknown, cases, a_file)] == [422, 422, 422]
    assert "looks like a file" in a_file.json()["detail"]
