"""What the service tells of itself: logs and what is not in them, metrics, traces, what a collector gets."""

import http.server
import importlib
import io
import json
import logging
import socket
import subprocess
import sys
import threading

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from pydantic import ValidationError

from metajudge.errors import ConfigurationError, FailureKind
from metajudge.providers import metering
from metajudge.providers.metering import Meter
from metajudge.types import Assessment, Judgment, Usage
from tests.api.conftest import panel_of
from tests.api.nouns import SECRET, record
from tests.api.pages.conftest import key
from tests.api.service_process import process
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.quick_server import serving
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


metrics = importlib.import_module("metajudge.api.metrics")
METER = Meter(sent=7, replies=5, cost_usd=0.25, unpriced=1, usage=Usage(input_tokens=10, output_tokens=3))
METER.failures[FailureKind.TIMEOUT] = 2


def told(counts):
    text = counts.text(METER, {"metajudge_queue_depth": ("Jobs that wait to be started.", 4)}).decode()
    families = list(text_string_to_metric_families(text))
    samples = {
        (one.name, tuple(sorted(one.labels.items()))): one.value for family in families for one in family.samples
    }
    return {family.name: family.type for family in families}, samples


def test_answers_are_counted_by_route_and_status_and_their_times_add_up():
    counts = metrics.Metrics()
    counts.request("GET", "/v1/jobs/{job_id}", 200, 0.004)
    counts.request("GET", "/v1/jobs/{job_id}", 200, 3.0)
    counts.request("BREW", "(none)", 404, 200.0)
    _, samples = told(counts)
    answered = (("method", "GET"), ("route", "/v1/jobs/{job_id}"), ("status", "200"))
    assert samples["metajudge_requests_total", answered] == 2
    assert samples["metajudge_requests_total", (("method", "(other)"), ("route", "(none)"), ("status", "404"))] == 1
    route = ("route", "/v1/jobs/{job_id}")
    below = {
        le: samples["metajudge_request_seconds_bucket", (("le", le), route)] for le in ("0.005", "2.5", "5.0", "+Inf")
    }
    assert below == {"0.005": 1, "2.5": 1, "5.0": 2, "+Inf": 2}
    assert samples["metajudge_request_seconds_sum", (route,)] == 3.004
    assert samples["metajudge_request_seconds_bucket", (("le", "120.0"), ("route", "(none)"))] == 0
    assert samples["metajudge_request_seconds_count", (("route", "(none)"),)] == 1


app_module = importlib.import_module("metajudge.api.app")
metrics_port = importlib.import_module("metajudge.api.metrics_port")
server_module = importlib.import_module("metajudge.api.server")


@pytest.fixture
def addresses():
    """A service with keys and with metrics on a port of their own: the addresses of both."""
    options = app_module.ServiceOptions(keys=(key("reader", "read"),))
    app = app_module.create_app(options)
    listening = metrics_port.bind_metrics("127.0.0.1", 0)
    config = server_module.server_config(app, options, "127.0.0.1", 0)
    with serving(server_module.graceful_server(config, app, listening)) as url:
        yield url, f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_metrics_need_no_key_on_their_own_port_and_nothing_else_is_there(addresses):
    service, own = addresses
    assert httpx2.get(f"{service}/metrics").status_code == 401
    httpx2.get(f"{service}/healthz")
    found = httpx2.get(f"{own}/metrics")
    assert found.status_code == 200
    assert 'route="/healthz"' in found.text
    assert [httpx2.get(f"{own}{path}").status_code for path in ("/", "/healthz", "/v1/jobs")] == [404] * 3
    assert httpx2.post(f"{own}/metrics").status_code == 405


def test_a_page_of_another_site_cannot_read_them_under_its_own_name(addresses):
    _, own = addresses
    assert httpx2.get(f"{own}/metrics", headers={"host": "evil.example"}).status_code == 403
    assert httpx2.get(f"{own}/metrics", headers={"host": "localhost:1"}).status_code == 200


def test_a_port_that_is_taken_is_an_error_before_anything_is_served():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError, match="try another --metrics-port"):
            metrics_port.bind_metrics("127.0.0.1", port)


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


telemetry = importlib.import_module("metajudge.api.server")
SPAN = """
import importlib
assert importlib.import_module("metajudge.api.server").configure_traces()
from opentelemetry import trace
with trace.get_tracer("test").start_as_current_span("one"):
    importlib.import_module("metajudge.api.tracing").event_logger().emit(event_name="gen_ai.evaluation.result")
from opentelemetry import _logs
_logs.get_logger_provider().shutdown()
trace.get_tracer_provider().shutdown()
"""


def test_without_an_endpoint_nothing_is_set_up(monkeypatch):
    for name in telemetry.ENDPOINTS:
        monkeypatch.delenv(name, raising=False)
    assert not telemetry.configure_traces()
    monkeypatch.setenv(telemetry.ENDPOINTS[0], "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert not telemetry.configure_traces()


def test_an_endpoint_without_the_sdk_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setenv(telemetry.ENDPOINTS[0], "http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(telemetry.ConfigurationError, match="otel"):
        telemetry.configure_traces()


@pytest.mark.slow
def test_spans_and_events_reach_the_endpoint(monkeypatch):
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    paths = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
        monkeypatch.setenv(telemetry.ENDPOINTS[0], f"http://127.0.0.1:{server.server_port}")
        subprocess.run([sys.executable, "-c", SPAN], check=True, timeout=60)
        server.shutdown()
    assert sorted(paths) == ["/v1/logs", "/v1/traces"]
