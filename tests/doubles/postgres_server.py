"""A PostgreSQL server of a test's own, to be killed and started again."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "postgres"


class PostgresServer:
    """Runs in a folder of its own (which PostgreSQL's user can reach); ``url`` names a database on it."""

    def __init__(self, folder: Path) -> None:
        if not os.environ.get("METAJUDGE_TEST_POSTGRES"):
            pytest.skip("METAJUDGE_TEST_POSTGRES is not set, so there may be no PostgreSQL here (see .ci/postgres)")
        self.folder = folder
        self.url = ""
        self.start()

    def start(self) -> None:
        port = [str(urlsplit(self.url).port)] if self.url else []
        done = subprocess.run(
            ["bash", SCRIPT, "start", self.folder, *port], capture_output=True, text=True, timeout=90, check=False
        )
        assert done.returncode == 0, done.stderr
        self.url = done.stdout.split("=", 1)[1].strip()

    def kill(self) -> None:
        """kill -9 of the server; its sessions end with it."""
        os.kill(self._pid(), signal.SIGKILL)
        time.sleep(0.2)

    def stop(self) -> None:
        subprocess.run(["bash", SCRIPT, "stop", self.folder], capture_output=True, timeout=60, check=False)

    def _pid(self) -> int:
        return int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    """A server of the test's own; for tests that name it in their own module."""
    folder = Path(tempfile.mkdtemp(prefix="metajudge-test-postgres-"))
    one = PostgresServer(folder)
    yield one
    one.stop()
    shutil.rmtree(folder, ignore_errors=True)
