import importlib

import pytest

from metajudge.providers import tracing
from tests.api.conftest import panel_of
from tests.api.logged import SECRET, record
from tests.doubles.llm_server import score_answer


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
