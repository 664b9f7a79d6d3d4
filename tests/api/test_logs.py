"""What is logged, and above all what is not; traces; audit records."""

import importlib
import io
import json
import logging
import sys

import pytest
from pydantic import ValidationError

from metajudge.types import Judgment
from tests.api.nouns import SECRET, record
from tests.api.service_process import process
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.waiting import until

logs = importlib.import_module("metajudge.api.logs")


KEY = "mj_7Qm3vXr0pLwZt5Yh9Ke2Ds8Ua1"


def failed():
    """A defect whose words quote what was judged."""
    try:
        try:
            Judgment.model_validate({"id": SECRET, "rationale": 3})
        except ValidationError as error:
            raise RuntimeError(SECRET) from error
    except RuntimeError as error:
        return error


@pytest.fixture
def written(monkeypatch):
    """Configures logs as the service does and reads what was written, a line at a time."""
    root = logging.getLogger()
    named = [logging.getLogger(name) for name in (*logs.OWN, "uvicorn.access")]
    kept = [(one, one.handlers, one.propagate, one.level, one.disabled) for one in (root, *named)]
    stream = io.StringIO()

    def configured(**options):
        monkeypatch.setattr(sys, "stderr", stream)
        logs.configure_logs(**options)
        return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]

    yield configured
    logging.captureWarnings(False)
    for one, handlers, propagate, level, disabled in kept:
        one.handlers, one.propagate, one.disabled = handlers, propagate, disabled
        one.setLevel(level)


class TestLines:
    def test_every_line_is_json_also_of_other_libraries(self, written):
        lines = written()
        logging.getLogger("metajudge.api").info("one", extra={"request_id": "r1"})
        logging.getLogger("somebody.else").warning("two %s", 2)
        logging.getLogger("somebody.else").info("not this one")
        assert [one["message"] for one in lines()] == ["one", "two 2"]
        assert lines()[0]["request_id"] == "r1"
        assert all(one["timestamp"] and one["level"] and one["logger"] for one in lines())

    def test_an_error_s_words_stay_out(self, written):
        lines = written()
        logging.getLogger("metajudge.api").error("unhandled error", exc_info=failed())
        text = json.dumps(lines())
        assert "Gertrude" not in text
        assert "builtins.RuntimeError" in text
        assert "pydantic_core" in text
        assert "in failed" in text

    def test_unless_they_are_asked_for(self, written):
        lines = written(texts=True)
        logging.getLogger("metajudge.api").error("unhandled error", exc_info=failed())
        assert "Gertrude" in json.dumps(lines())


def test_the_access_log_holds_no_judged_text_no_key_and_no_query(serve, caplog):
    caplog.set_level(logging.INFO, "metajudge.api.access")
    serve(api_key=KEY).post("/v1/vet?secret=1", json=record(rationale=SECRET), headers={"x-api-key": KEY})
    records = until(lambda: [one for one in caplog.records if one.name == "metajudge.api.access"], "nothing was logged")
    assert [(one.route, one.status, one.caller) for one in records] == [("/v1/vet", 200, "default")]
    text = " ".join(str(vars(one)) for one in records)
    for unwanted in ("Gertrude", KEY, "secret"):
        assert unwanted not in text


def test_a_defect_is_a_500_with_its_id_in_answer_log_and_metrics(serve, monkeypatch, caplog):
    panels = importlib.import_module("metajudge.api.panels")

    async def broken(*_, **__):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(panels.Panels, "vet", broken)
    client = serve()
    answer = client.post("/v1/vet", json=record())
    assert (answer.status_code, answer.headers["content-type"]) == (500, "application/problem+json")
    assert "Gertrude" not in answer.text
    assert answer.headers["x-request-id"] == answer.json()["request_id"]
    assert [one.request_id for one in caplog.records if one.msg == "unhandled error"] == [answer.json()["request_id"]]
    assert 'metajudge_requests_total{method="POST",route="/v1/vet",status="500"} 1' in client.get("/metrics").text
    streamed = client.post("/v1/vet/stream", json=record())
    assert "Gertrude" not in streamed.text
    assert '"status":500' in streamed.text.replace(" ", "")


@pytest.mark.slow
def test_a_whole_run_s_log_is_json_without_a_text_or_a_key(tmp_path):
    with LLMServer(answer=score_answer(5), faults=["500", "malformed_content", "refusal"]) as server:
        (tmp_path / "p.toml").write_text(
            f'rubric = "baseline"\n[[agents]]\nname = "a"\nmodel = "openai:m1@{server.url}"\n'
        )
        headers = {"authorization": f"Bearer {KEY}"}
        with process(tmp_path, "--config", "p.toml", env={"METAJUDGE_API_KEY": KEY}) as (_, client):
            for number in range(5):
                client.post("/v1/vet", json=record(id=f"j{number}", rationale=SECRET), headers=headers)
            client.post("/v1/vet", json={**record(rationale=SECRET), "verdict": SECRET}, headers=headers)
            client.post("/v1/vet", content=SECRET.encode(), headers=headers)
            client.get("/v1/assessments/Gertrude", headers=headers)
            client.get("/v1/rubrics", headers={"authorization": "Bearer wrong-and-secret"})
    lines = (tmp_path / "serve.log").read_text().splitlines()
    assert [json.loads(line)["message"] for line in lines].count("request") >= 9
    text = "\n".join(lines)
    for unwanted in ("Gertrude", KEY, "wrong-and-secret", "sk-test"):
        assert unwanted not in text
