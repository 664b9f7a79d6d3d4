"""What /metrics says, read by the parser of the Prometheus client."""

import importlib
import socket

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from metajudge.errors import ConfigurationError, FailureKind
from metajudge.providers.metering import Meter
from metajudge.types import Usage
from tests.api.pages.conftest import key
from tests.doubles.quick_server import serving

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
