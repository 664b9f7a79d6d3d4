"""Bodies that are no JSON, not UTF-8, not Unicode or of another type: refused before anything is asked or kept."""

import json

import pytest

from tests.api.conftest import panel_of
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import score_answer

JSON = {"content-type": "application/json"}
HALF = "half a pair: \ud83d"


def record(**changes):
    return {**judgment().model_dump(mode="json"), **changes}


def item(question):
    return {**record()["item"], "label": None, "question": question}


@pytest.fixture
def service(serve, models, tmp_path):
    """A client, and the server of models behind it."""
    server = models(answer=score_answer(5))
    return serve(panels={"default": panel_of(server)}, store=tmp_path / "s.duckdb"), server


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/vet", record(rationale=HALF)),
        ("/v1/vet", {"judgment": record(rationale=HALF)}),
        ("/v1/vet/stream", record(rationale=HALF)),
        ("/v1/vet/batch", [record(rationale=HALF)]),
        ("/v1/judge", {"item": item(HALF)}),
        ("/v1/clash", {"item": item(HALF)}),
        ("/v1/rank", {"rankings": [[[HALF], ["b"]]]}),
        ("/v1/reviews/x/claim", {"reviewer": HALF}),
    ],
)
def test_a_text_that_is_no_unicode_is_refused_and_nobody_is_asked(service, path, body):
    client, server = service
    for content in (json.dumps(body).encode(), json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")):
        answer = client.post(path, content=content, headers={**JSON, "idempotency-key": "k"})
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), answer.text
        assert "JSON" in answer.json()["detail"]
    assert server.count == 0


@pytest.mark.parametrize("levels", [300, 500, 3000])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/vet", lambda deep: record(meta=deep)),
        ("/v1/vet", lambda deep: {"judgment": record(meta=deep)}),
        ("/v1/vet/stream", lambda deep: record(meta=deep)),
        ("/v1/vet/batch", lambda deep: [record(meta=deep)]),
        ("/v1/judge", lambda deep: {"item": {**item("?"), "metadata": {"A": deep}}}),
        ("/v1/clash", lambda deep: {"item": {**item("?"), "metadata": {"A": deep}}}),
        ("/v1/cases", lambda deep: {"case": {"id": "c", "type": "climate", "stages": [{"name": "s", "output": deep}]}}),
        ("/v1/audit", lambda deep: {"judgments": [record(meta=deep)]}),
        ("/v1/rank", lambda deep: {"rankings": deep}),
    ],
)
def test_data_too_deep_to_be_written_again_is_refused_on_every_path(service, path, body, levels):
    client, server = service
    text = json.dumps(body("DEEP")).replace('"DEEP"', '{"a":' * (levels - 1) + "{}" + "}" * (levels - 1))
    answer = client.post(path, content=text, headers=JSON)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), answer.text
    assert server.count == 0


def test_data_that_can_be_written_again_is_kept(service):
    client, _ = service
    deep = json.loads('{"a":' * 189 + "{}" + "}" * 189)
    assert client.post("/v1/vet", json=record(id="deep", meta=deep)).status_code == 200
    assert client.get("/v1/assessments/deep").json()["judgments"][0]["judgment"]["meta"] == deep


def test_whole_pairs_and_texts_about_escapes_are_fine(service):
    client, _ = service
    for number, text in enumerate(("smile: \U0001f600", "write \\ud83d or \\\\ud83d", "nul \x00 too")):
        answer = client.post("/v1/vet", content=json.dumps(record(id=f"j{number}", rationale=text)), headers=JSON)
        assert answer.status_code == 200, answer.text
        kept = client.get(f"/v1/assessments/j{number}").json()
        assert kept["judgments"][0]["judgment"]["rationale"] == text


def test_json_is_utf_8(service):
    answer = service[0].post("/v1/vet", content=json.dumps(record()).encode("utf-16"), headers=JSON)
    assert (answer.status_code, "UTF-8" in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/x-www-form-urlencoded", None])
@pytest.mark.parametrize("path", ["/v1/vet", "/v1/vet/stream", "/v1/judge", "/v1/rank"])
def test_another_content_type_is_told_which_one_to_send(service, path, kind):
    headers = {} if kind is None else {"content-type": kind}
    answer = service[0].post(path, content=json.dumps(record()).encode(), headers=headers)
    assert answer.status_code == 415
    assert "send application/json" in answer.json()["detail"]


@pytest.mark.parametrize("policy", ["nothing", "risk_analysis", "../secret.yaml"])
def test_a_batch_stream_or_vet_by_a_policy_that_cannot_decide_is_refused_before_it_begins(service, policy):
    client, server = service
    batch = client.post("/v1/vet/batch", json=[record()], params={"policy": policy})
    stream = client.post("/v1/vet/stream", json={"judgment": record(), "policy": policy})
    plain = client.post("/v1/vet", json={"judgment": record(), "policy": policy})
    assert [batch.status_code, stream.status_code, plain.status_code] == [422, 422, 422]
    assert client.get("/v1/jobs").json()["jobs"] == []
    assert server.count == 0
