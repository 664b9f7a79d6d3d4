"""Fixtures for tests of every folder."""

import pytest
from typer.testing import CliRunner


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
