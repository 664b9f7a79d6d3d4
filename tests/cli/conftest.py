"""Runs the installed command in a process of its own, in an empty folder."""

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from metajudge.cli import main
from metajudge.reading import write_jsonl
from tests.doubles.judgments import judgment


class Command:
    def __init__(self, folder):
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        self.env = {**kept, "XDG_CONFIG_HOME": str(folder / "config"), "PYTHONWARNINGS": "error"}

    def process(self, *command, of=subprocess.run, **more):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return of(list(map(str, command)), **{"cwd": self.folder, "env": self.env, **streams, **more})

    def start(self, *arguments):
        return self.process(sys.executable, "-m", "metajudge", *arguments, of=subprocess.Popen)

    def __call__(self, *arguments, stdin=None):
        return self.process(sys.executable, "-m", "metajudge", *arguments, timeout=300, input=stdin)

    def json(self, *arguments):
        done = self(*arguments, "--json")
        return json.loads(done.stdout), done.returncode


@pytest.fixture
def metajudge(tmp_path):
    return Command(tmp_path)


@pytest.fixture
def in_process(tmp_path, monkeypatch, capsys):
    """The command, in this process and in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("METAJUDGE_STORE", raising=False)

    def _run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", ["metajudge", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return SimpleNamespace(returncode=ended.value.code or 0, stdout=out, stderr=err)

    return _run


@pytest.fixture
def sixty(tmp_path):
    """A file of 60 judgments."""
    path = tmp_path / "judgments.jsonl"
    write_jsonl(path, [judgment(f"j{i}") for i in range(60)])
    return path


def agents(server):
    return ("--agent", f"openai:gpt-4o-mini@{server.url}", "--agent", f"anthropic:claude-sonnet-4-5@{server.url}")
