"""What is logged, and above all what is not; traces; audit records."""

import importlib
import io
import json
import logging
import sys
import time

import pytest
from pydantic import ValidationError

from metajudge.providers import tracing
from metajudge.types import Judgment
from tests.api.conftest import panel_of
from tests.api.service_process import process
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer

logs = importlib.import_module("metajudge.api.logs")

SECRET = "The patient's name is Gertrude."
KEY = "mj_7Qm3vXr0pLwZt5Yh9Ke2Ds8Ua1"


def record(**changes):
    return judgment(**changes).model_dump(mode="json")


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


def failed():
    """A defect whose words quote what was judged."""
    try:
        try:
            Judgment.model_validate({"id": SECRET, "rationale": 3})
        except ValidationError as error:
            raise RuntimeError(SECRET) from error
    except RuntimeError as error:
        return error


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
    deadline = time.monotonic() + 5
    while not (records := [one for one in caplog.records if one.name == "metajudge.api.access"]):
        assert time.monotonic() < deadline, "nothing was logged"
        time.sleep(0.01)  # it is, once the answer is out
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


@pytest.fixture
def spans(monkeypatch):
    """What was traced, as the SDK's exporter has it."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="the SDK of OpenTelemetry is not installed")
    export = importlib.import_module("opentelemetry.sdk.trace.export")
    memory = importlib.import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(memory))
    monkeypatch.setattr(tracing, "tracer", lambda: provider.get_tracer("test"))
    return memory.get_finished_spans


def of_vets(spans):
    return [span for span in spans() if span.name == "metajudge.vet"]


def of_calls(spans):
    return [span for span in spans() if span.name != "metajudge.vet"]


class TestTraces:
    def test_one_trace_a_vet_with_an_evaluation_event_for_each_agent(self, serve, models, spans):
        server = models(answer=score_answer(5))
        client = serve(panels={"default": panel_of(server)})
        assert client.post("/v1/vet", json=record(rationale=SECRET)).status_code == 200
        (span,) = of_vets(spans)
        told = [event.attributes for event in span.events if event.name == "gen_ai.evaluation.result"]
        assert [one["gen_ai.evaluation.name"] for one in told] == ["a", "b", "metajudge"]
        assert {one["gen_ai.evaluation.score.value"] for one in told} == {5.0}
        assert told[-1]["gen_ai.evaluation.score.label"] == "accepted"
        assert span.attributes["metajudge.judgment.id"] == "j1"
        assert span.attributes["gen_ai.usage.input_tokens"] > 0
        assert "Gertrude" not in str(span.to_json())

    def test_every_vet_of_a_stream_and_of_a_job_has_its_own(self, serve, models, spans, tmp_path):
        server = models(answer=score_answer(5))
        client = serve(panels={"default": panel_of(server)}, store=tmp_path / "s.duckdb")
        client.post("/v1/vet/stream", json=record())
        location = client.post("/v1/vet/batch", json=[record(id=f"b{n}") for n in range(3)]).headers["location"]
        client.get(f"{location}/events")
        traces = {span.context.trace_id for span in of_vets(spans)}
        assert len(traces) == len(of_vets(spans)) == 4

    def test_each_request_to_a_model_is_a_span_below_its_vet_and_a_cached_reply_is_none(
        self, serve, models, spans, tmp_path
    ):
        server = models(answer=score_answer(5), faults=["500"])
        client = serve(panels={"default": panel_of(server)}, store=tmp_path / "s.duckdb")
        for _ in range(2):
            assert client.post("/v1/vet", json=record(rationale=SECRET)).status_code == 200
        calls, first = of_calls(spans), of_vets(spans)[0]
        assert sorted(span.name for span in calls if span.status.is_ok) == ["chat a", "chat b"]
        assert {(span.context.trace_id, span.parent.span_id) for span in calls} == {
            (first.context.trace_id, first.context.span_id)
        }
        (failed,) = [span for span in calls if not span.status.is_ok]
        assert failed.attributes["error.type"] == "server_error"
        again = next(span for span in calls if span.name == failed.name and span is not failed)
        assert (failed.attributes["metajudge.attempt"], again.attributes["metajudge.attempt"]) == (1, 2)
        assert again.attributes["gen_ai.usage.output_tokens"] > 0
        assert "Gertrude" not in "".join(span.to_json() for span in calls)

    def test_a_caller_s_trace_goes_on(self, serve, spans):
        parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        serve().post("/v1/vet", json=record(), headers={"traceparent": parent})
        (span,) = of_vets(spans)
        assert f"{span.context.trace_id:032x}" == "4bf92f3577b34da6a3ce929d0e0e4736"
        assert f"{span.parent.span_id:016x}" == "00f067aa0ba902b7"

    def test_a_failure_is_an_event_with_its_kind_and_no_score(self, serve, models, spans):
        server = models(faults=["401"] * 4)
        serve(panels={"default": panel_of(server)}).post("/v1/vet", json=record())
        (span,) = of_vets(spans)
        told = [event.attributes for event in span.events]
        assert [one.get("error.type") for one in told[:2]] == ["auth", "auth"]
        assert not any("gen_ai.evaluation.score.value" in one for one in told)

    def test_without_the_package_everything_works(self, serve, monkeypatch):
        monkeypatch.setattr(tracing, "tracer", lambda: None)
        assert serve().post("/v1/vet", json=record()).status_code == 200
