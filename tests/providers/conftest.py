"""Fixtures that tests of several modules share."""

import subprocess

import pytest

from metajudge.providers import local_server
from tests.doubles.fake_llama import install_fake


@pytest.fixture
def fake(tmp_path, monkeypatch):
    folder = install_fake(tmp_path / "fake")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


@pytest.fixture
def started(monkeypatch):
    """The processes started, in order."""
    processes = []
    real = subprocess.Popen

    def popen(*arguments, **options):
        process = real(*arguments, **options)
        if "metajudge.providers.local_child" in arguments[0]:
            processes.append(process)
        return process

    monkeypatch.setattr(local_server.subprocess, "Popen", popen)
    return processes
