"""The metrics on a port of their own."""

import importlib
import socket

import httpx2
import pytest

from metajudge.errors import ConfigurationError
from tests.api.pages.conftest import key
from tests.doubles.quick_server import serving

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


def test_an_address_without_a_port_is_refused():
    with pytest.raises(ConfigurationError, match="give both"):
        server_module.run([], lambda _file, _flags: None, metrics_host="0.0.0.0")
