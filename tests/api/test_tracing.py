import importlib

import pytest

from metajudge.providers import metering
from metajudge.types import Assessment
from tests.api.conftest import panel_of
from tests.api.nouns import SECRET, record
from tests.doubles.llm_server import score_answer

api_tracing = importlib.import_module("metajudge.api.tracing")
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def spans(monkeypatch):
    """What was traced, as the SDK's exporter has it."""
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="the SDK of OpenTelemetry is not installed")
    export = importlib.import_module("opentelemetry.sdk.trace.export")
    memory = importlib.import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(memory))
    monkeypatch.setattr(metering, "tracer", lambda: provider.get_tracer("test"))
    return memory.get_finished_spans


@pytest.fixture
def records(monkeypatch):
    """What was emitted as log records, as the SDK's exporter has it."""
    sdk = pytest.importorskip("opentelemetry.sdk._logs", reason="the SDK of OpenTelemetry is not installed")
    export = importlib.import_module("opentelemetry.sdk._logs.export")
    memory = export.InMemoryLogRecordExporter()
    provider = sdk.LoggerProvider()
    provider.add_log_record_processor(export.SimpleLogRecordProcessor(memory))
    monkeypatch.setattr(api_tracing._logs, "get_logger_provider", lambda: provider)
    return lambda: [one.log_record for one in memory.get_finished_logs()]


def of_vets(spans):
    return [span for span in spans() if span.name == "metajudge.vet"]


class TestTraces:
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
        calls, first = [span for span in spans() if span.name != "metajudge.vet"], of_vets(spans)[0]
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
        serve().post("/v1/vet", json=record(), headers={"traceparent": PARENT})
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
        monkeypatch.setattr(metering, "tracer", lambda: None)
        assert serve().post("/v1/vet", json=record()).status_code == 200


class TestEvents:
    """The names are held against the package of the semantic conventions."""

    def test_results_are_records_of_the_caller_s_trace_with_who_evaluated(self, serve, models, spans, records):
        names = pytest.importorskip("opentelemetry.semconv._incubating.attributes.gen_ai_attributes")
        server = models(answer=score_answer(5))
        client = serve(panels={"default": panel_of(server)})
        said = record(rationale=SECRET, meta={"gen_ai.response.id": "chatcmpl-1"})
        found = Assessment.model_validate(client.post("/v1/vet", json=said, headers={"traceparent": PARENT}).json())
        (span,) = of_vets(spans)
        assert not span.events, "events are not told twice"
        told = records()
        assert {one.event_name for one in told} == {"gen_ai.evaluation.result"}
        assert {(one.trace_id, one.span_id) for one in told} == {(span.context.trace_id, span.context.span_id)}
        assert f"{told[0].trace_id:032x}" in PARENT
        agent, whole = dict(told[0].attributes), dict(told[-1].attributes)
        assert [one.attributes[names.GEN_AI_EVALUATION_NAME] for one in told] == ["a", "b", "metajudge"]
        assert whole[names.GEN_AI_EVALUATION_SCORE_VALUE] == 5.0
        assert whole[names.GEN_AI_EVALUATION_SCORE_LABEL] == "keep"
        assert whole[names.GEN_AI_RESPONSE_ID] == "chatcmpl-1"
        assert (agent["metajudge.evaluator.kind"], agent["gen_ai.request.model"]) == ("model", found.agents[0].model)
        assert whole["metajudge.evaluator.panel"] == found.panel_digest
        assert whole["metajudge.evaluator.version"] == found.metajudge_version
        assert whole["metajudge.judge"] == found.judge
        known = {value for name, value in vars(names).items() if name.startswith("GEN_AI_")}
        for one in (agent, whole):
            assert {name for name in one if name.startswith("gen_ai.")} <= known
        assert "Gertrude" not in str([one.attributes for one in told])
        assert names.GEN_AI_EVALUATION_EXPLANATION not in agent.keys() | whole.keys()

    def test_explanations_are_there_only_where_content_is_captured(self, serve, models, spans, records, monkeypatch):
        client = serve(panels={"default": panel_of(models(answer=score_answer(5)))})
        for value, texts in (("true", True), ("EVENT_ONLY", True), ("false", False), ("NO_CONTENT", False)):
            monkeypatch.setenv(api_tracing.CAPTURE, value)
            client.post("/v1/vet", json=record(id=value))
            said = [one.attributes.get("gen_ai.evaluation.explanation") for one in records()[-3:]]
            assert (said[-1] == "the score 5 is above the threshold 4.5") is texts
            assert all((one is not None) is texts for one in said)

    def test_a_judgment_links_to_the_span_it_is_about(self, serve, spans):
        client = serve()
        for meta in ({"traceparent": PARENT}, {"traceparent": "nonsense"}, {"traceparent": 7}):
            client.post("/v1/vet", json=record(meta=meta))
        links = [[f"{link.context.span_id:016x}" for link in span.links] for span in of_vets(spans)]
        assert links == [["00f067aa0ba902b7"], [], []]
