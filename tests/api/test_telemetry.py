"""Traces are sent where OpenTelemetry's variables name an endpoint, and nowhere else."""

import http.server
import importlib
import subprocess
import sys
import threading

import pytest

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
