"""The service in a process of its own, to be killed."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

import httpx2


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def process(folder, *arguments, env=None):
    """Runs ``metajudge serve``; hands out the process and a client."""
    port = free_port()
    command = [sys.executable, "-m", "metajudge", "serve", "--port", str(port), "--store", str(folder / "s.duckdb")]
    environ = {**os.environ, "OPENAI_API_KEY": "sk-test", **(env or {})}
    with (folder / "serve.log").open("ab") as log:
        one = subprocess.Popen([*command, *arguments], stdout=log, stderr=log, env=environ, cwd=folder)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:
            deadline = time.monotonic() + 90
            while True:
                assert one.poll() is None, (folder / "serve.log").read_text()[-2000:]
                with contextlib.suppress(httpx2.HTTPError):
                    if client.get("/healthz").status_code == 200:
                        break
                assert time.monotonic() < deadline, "the service did not start"
                time.sleep(0.1)
            yield one, client
    finally:
        if one.poll() is None:
            one.send_signal(signal.SIGTERM)
            try:
                one.wait(15)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()
