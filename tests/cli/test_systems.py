"""``metajudge pull`` and ``metajudge push`` as a user runs them."""

import json

import pytest

from tests.doubles.verdict_systems import MLflowServer

pytestmark = pytest.mark.slow


@pytest.fixture
def server():
    with MLflowServer() as double:
        yield double


def test_pull_vet_push_and_push_again(metajudge, server):
    at = ("--url", server.url, "--per-second", "1000")
    pulled = metajudge("pull", "mlflow", *at, "--project", "interop", "--out", "in")
    assert (pulled.returncode, pulled.stdout.splitlines()) == (
        0,
        ["traces: 3 new, 0 replaced", "Next: metajudge vet in"],
    )
    assert metajudge("vet", "in", "--out", "a.jsonl").returncode == 0

    before = len(server.requests)
    dry = metajudge("push", "mlflow", "a.jsonl", *at, "--dry-run")
    assert "Nothing was sent" in dry.stdout
    assert "on tr-0: metajudge = ask, no score: verdict of openai:/gpt-4o-mini/correctness" in dry.stdout
    assert (dry.returncode, len(server.requests)) == (0, before)

    first, code = metajudge.json("push", "mlflow", "a.jsonl", *at)
    assert (code, first["created"], first["failed"]) == (0, 3, 0)
    again = metajudge("push", "mlflow", "a.jsonl", *at)
    assert again.stdout == (
        f"3 notes for {server.url}: 0 created, 0 updated, 0 there already, 3 sent before, 0 failed\n"
    )
    said = server.traces["tr-0"]["assessments"][1]
    assert (said["assessment_name"], said["feedback"]) == ("metajudge", {"value": "ask"})
    assert said["source"] == {"source_type": "CODE", "source_id": "metajudge"}


def test_what_is_not_taken_is_told_recorded_and_an_exit_code(metajudge, server):
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("push", "wandb", "a.jsonl"), "there is no system 'wandb'; there are mlflow, phoenix"),
        (("push", "mlflow", "a.jsonl", "--link", "https://x"), "--link needs {judgment_id}"),
        (("push", "mlflow", "none.jsonl", "--url", "http://127.0.0.1:9"), "cannot read none.jsonl"),
        (("pull", "mlflow", "--out", "x", "--url", "127.0.0.1"), "needs http:// or https://"),
        (("pull", "mlflow", "--out", "x", "--since", "soon"), "--since soon"),
    ],
)
def test_wrong_arguments_say_what_to_do(metajudge, words, said):
    done = metajudge(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_experiment_that_is_not_there_is_told(metajudge, server):
    done = metajudge("pull", "mlflow", "--url", server.url, "--project", "other", "--out", "in")
    assert done.returncode == 1
    assert "answered 404 to GET" in done.stderr
