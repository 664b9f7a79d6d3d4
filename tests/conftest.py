"""Fixtures for tests of every folder."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from typer.testing import CliRunner

from tests.doubles.postgres_urls import NO_SERVER

settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")


def pytest_runtest_logreport(report):
    """Lists the tests that were skipped for want of a PostgreSQL server, so that they can be run with one."""
    wanted = os.environ.get("METAJUDGE_WANTS_POSTGRES")
    if wanted and "PYTEST_XDIST_WORKER" not in os.environ and report.skipped and NO_SERVER in str(report.longrepr):
        with Path(wanted).open("a") as file:
            file.write(f"{report.nodeid}\n")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs ``metajudge ARGUMENTS...`` in this process, in an empty folder, without keys or a default store."""
    from metajudge.cli.app import app  # here, so that tests without commands do not wait for it

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "METAJUDGE_WEBHOOK_SECRET", "METAJUDGE_STORE"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*arguments):
        done = CliRunner().invoke(app, [str(argument) for argument in arguments])
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    return invoke


@pytest.fixture
async def store(tmp_path):
    """An empty store, open."""
    from metajudge.store import open_store

    opened = await open_store(tmp_path / "store.db")
    yield opened
    await opened.close()
