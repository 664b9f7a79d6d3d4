"""A real service on a real socket."""

import contextlib
import importlib
import threading
import time

import httpx2
import pytest

app_module = importlib.import_module("metajudge.api.app")


@contextlib.contextmanager
def running(options):
    import uvicorn

    config = uvicorn.Config(app_module.create_app(options), host="127.0.0.1", port=0, log_level="error", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started:
        assert thread.is_alive(), "the service did not start"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    try:
        with httpx2.Client(base_url=f"http://{host}:{port}", timeout=20) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


@pytest.fixture
def serve():
    """Starts a service with the given options and hands out a client for it."""
    with contextlib.ExitStack() as stack:
        yield lambda **options: stack.enter_context(running(app_module.ServiceOptions(**options)))
