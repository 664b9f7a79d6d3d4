"""Servers of local models: one process a model file, started with the first call, ended with the run."""

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO, Any

from metajudge.errors import ConfigurationError, ConnectionFailedError
from metajudge.installation import install_command
from metajudge.providers.client import EndpointClient
from metajudge.providers.local_child import MISSING
from metajudge.providers.model import Endpoint

CONTEXT_TOKENS = 8192
"""Tokens of prompt and answer together; a model trained on fewer has fewer."""

START_TIMEOUT_S = 300.0
STOP_TIMEOUT_S = 5.0


class LocalServer:
    """llama.cpp with one model, in a process of its own on a free port of loopback.

    Attributes:
        one_at_a_time: the server answers one request after the other. The run's limits see to that before a call is
            counted; this limit applies where a panel file allows more.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.one_at_a_time = asyncio.Semaphore(1)
        self._name = name
        self._starting = asyncio.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._client: EndpointClient | None = None

    @property
    def pid(self) -> int | None:
        """The process, None where it was not started (or is ended)."""
        return None if self._process is None else self._process.pid

    async def client(self) -> EndpointClient:
        """A client of the running server, which is started where it was not.

        Raises:
            ConfigurationError: the package is missing, or llama.cpp cannot load the file.
            ConnectionFailedError: the server was started, and has ended since.
        """
        async with self._starting:
            if self._client is None:
                url = await asyncio.to_thread(self._start)
                self._client = EndpointClient(Endpoint("openai", f"{url}/v1"), None, "", pool_size=1)
        if self._process is None or self._process.poll() is not None:
            code = "" if self._process is None else f" (exit code {self._process.returncode})"
            raise ConnectionFailedError(
                f"the server of {self.path.name} has ended{code}: is there enough memory? {self._tail()}"
            )
        return self._client

    async def aclose(self) -> None:
        """Ends the process; harmless when repeated."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        await asyncio.to_thread(self._stop)

    def _start(self) -> str:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        command = [sys.executable, "-m", "metajudge.providers.local_child"]
        self._process = process = subprocess.Popen(  # noqa: S603 - our own module
            [*command, str(self.path), self._name, str(CONTEXT_TOKENS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # a terminal's Ctrl-C is for us: calls in flight may finish
        )
        reply = _first_line(process)
        if "url" in reply:
            return str(reply["url"])
        tail = self._tail()
        self._stop()
        if reply.get("error") == MISSING:
            raise ConfigurationError(
                f"local models need the package xllamacpp ({reply.get('why')}): {install_command('local')}"
            )
        raise ConfigurationError(
            f"llama.cpp cannot serve {self.path}: {reply.get('error')}. Is it a complete model file of a known kind, "
            f"and is there enough memory? {tail}"
        )

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()  # the sign to end
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        if self._log is not None:
            self._log.close()

    def _tail(self) -> str:
        """The last error lines of llama.cpp's log."""
        if self._log is None or self._log.closed:
            return ""
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").splitlines()
        wrong = [line.strip() for line in lines if "error" in line.lower() or "failed" in line.lower()]
        return f"Its output: {' / '.join(wrong[-3:])[:500]}" if wrong else ""


def _first_line(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """What the child says first; an error where it says nothing in time."""
    lines: list[bytes] = []
    assert process.stdout is not None
    reader = threading.Thread(target=lambda out: lines.append(out.readline()), args=(process.stdout,), daemon=True)
    reader.start()
    reader.join(START_TIMEOUT_S)
    if not lines:
        process.kill()
        reader.join()
        return {"error": f"it was not ready after {START_TIMEOUT_S:g} s"}
    if not lines[0].strip():
        return {"error": f"it ended at once, with exit code {process.wait()}"}
    reply: dict[str, Any] = json.loads(lines[0])
    return reply


class LocalServers:
    """The servers of one run, one a file however many agents ask it."""

    def __init__(self) -> None:
        self._servers: dict[Path, LocalServer] = {}

    def of(self, path: Path, name: str) -> LocalServer:
        """The server of a file, made but not started."""
        key = path.resolve()
        found = self._servers.get(key)
        if found is None:
            found = self._servers[key] = LocalServer(key, name)
        return found

    async def aclose(self) -> None:
        """Ends every server."""
        servers, self._servers = self._servers, {}
        for server in servers.values():
            await server.aclose()
