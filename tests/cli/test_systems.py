"""``metajudge pull`` and ``metajudge push`` where a system refuses."""

import json

import pytest

from tests.doubles.verdict_systems import MLflowServer

pytestmark = pytest.mark.slow


def test_what_is_not_taken_is_told_recorded_and_an_exit_code(metajudge):
    with MLflowServer() as server:
        at = ("--url", server.url, "--per-second", "1000")
        metajudge("pull", "mlflow", *at, "--project", "interop", "--out", "in")
        metajudge("vet", "in", "--out", "a.jsonl")
        del server.traces["tr-1"]
        done = metajudge("push", "mlflow", "a.jsonl", *at)
    assert done.returncode == 1
    assert "2 created" in done.stdout
    assert "1 failed" in done.stdout
    assert done.stderr.startswith("  a-1: ")
    ledger = [json.loads(line) for line in (metajudge.folder / "a.jsonl.mlflow.pushed.jsonl").read_text().splitlines()]
    assert [one.get("wrote") for one in ledger] == ["created", None, "created"]
