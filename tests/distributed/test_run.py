"""Real runs on Ray, in processes of their own: results, reruns, a killed worker, a budget."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from metajudge.distributed.folder import ResultsFolder
from metajudge.readers import write_jsonl
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer

pytest.importorskip("ray", reason="needs Ray: pip install 'metajudge-vet[ray]'")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

VARYING = ("latency_s", "calls", "cached_calls", "attempts", "cost_usd", "usage")


@pytest.fixture
def judgments(tmp_path):
    path = tmp_path / "judgments.jsonl"
    write_jsonl(path, (judgment(f"j{i}", verdict="A>B" if i % 3 else "B>A") for i in range(120)))
    return path


def score(body):
    """A score of its own for each judgment, so that results cannot be mixed up unseen."""
    text = json.dumps(body["messages"])
    names = body["response_format"]["json_schema"]["schema"]["required"]
    return json.dumps({name: {"explanation": "seen", "score": 1 + hash_of(text) % 5} for name in names})


def hash_of(text):
    return sum(text.encode())


def command(judgments, server, *options):
    agent = f"openai:gpt-4o-mini@{server.url}"
    return [*(sys.executable, "-m", "metajudge", "vet", str(judgments), "--agent", agent, "--json", *map(str, options))]


def ray_command(judgments, server, out, *options):
    return command(judgments, server, "--engine", "ray", "--out", out, "--workers", 2, "--concurrency", 8, *options)


def environment():
    return {**os.environ, "OPENAI_API_KEY": "key", "RAY_USAGE_STATS_ENABLED": "0"}


def run(arguments):
    return subprocess.run(arguments, env=environment(), capture_output=True, text=True, timeout=240)


def plain(value):
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items() if name not in VARYING}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def results(folder):
    found = list(ResultsFolder(folder).assessments())
    assert len({index for index, _ in found}) == len(found), "a judgment is there twice"
    return {index: plain(json.loads(assessment.model_dump_json())) for index, assessment in found}


def test_the_same_results_as_in_one_process_and_nothing_asked_again(judgments, tmp_path):
    with LLMServer(answer=score) as server:
        first = run(ray_command(judgments, server, tmp_path / "out"))
        assert first.returncode == 0, first.stderr
        assert server.count == 120
        again = run(ray_command(judgments, server, tmp_path / "out"))
        assert server.count == 120
        local = run(command(judgments, server, "--store", tmp_path / "s.duckdb", "--out", tmp_path / "local.jsonl"))
    summary = json.loads(first.stdout)
    assert (summary["judgments"], summary["assessed"], summary["calls"]) == (120, 120, 120)
    assert json.loads(again.stdout)["reused"] == 120
    one_process = [plain(json.loads(line)) for line in (tmp_path / "local.jsonl").read_text().splitlines()]
    assert results(tmp_path / "out") == dict(enumerate(one_process))
    assert json.loads(local.stdout)["labels"] == summary["labels"]


def test_a_killed_worker_loses_nothing_and_repeats_no_finished_call(judgments, tmp_path):
    with LLMServer(answer=score, latency_s=0.3) as server:
        process = subprocess.Popen(
            ray_command(judgments, server, tmp_path / "out"),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        deadline = time.monotonic() + 60
        while server.count < 40 and time.monotonic() < deadline:
            time.sleep(0.05)
        worker = workers_below(process.pid)[0]
        os.kill(worker, signal.SIGKILL)
        output, _ = process.communicate(timeout=200)
    summary = json.loads(output)
    assert process.returncode == 0
    assert (summary["judgments"], summary["assessed"]) == (120, 120)
    assert sorted(results(tmp_path / "out")) == list(range(120))
    assert 120 <= server.count <= 124, "only what the killed worker had in flight is asked again"


def test_a_budget_holds_over_all_workers_and_a_larger_one_goes_on(judgments, tmp_path):
    with LLMServer(answer=score) as server:
        stopped = run(ray_command(judgments, server, tmp_path / "out", "--budget-usd", "0.02"))
        before = server.count
        finished = run(ray_command(judgments, server, tmp_path / "out"))
        assert server.count == 120
    assert stopped.returncode == 3, stopped.stderr
    summary = json.loads(stopped.stdout)
    assert summary["end"] == "budget"
    assert 0 < before < 120
    assert summary["known_cost_usd"] <= 0.02
    assert finished.returncode == 0
    assert json.loads(finished.stdout)["reused"] == before


def test_faults_of_a_model_end_in_the_same_failures(judgments, tmp_path):
    with LLMServer(answer=score, faults=lambda request: "refusal" if "(j7)" in str(request.body) else None) as server:
        ended = run(ray_command(judgments, server, tmp_path / "out"))
    summary = json.loads(ended.stdout)
    assert ended.returncode == 1
    assert (summary["assessed"], summary["unscored"] + summary["failed"]) == (119, 1)
    assert summary["agent_failures"] == {"refused": 1}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "spark"], "local or ray"),
        (["--engine", "ray"], "give --out DIR"),
        (["--engine", "ray", "--out", "x", "--policy", "verdict_score"], "--policy is not supported with"),
        (["--engine", "ray", "--out", "x", "--ray-address", "127.0.0.1:1"], "no Ray cluster"),
    ],
)
def test_what_does_not_go_together_is_refused(options, said, judgments, tmp_path):
    with LLMServer() as server:
        refused = subprocess.run(
            command(judgments, server, *options),
            env=environment(),
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=240,
        )
    assert refused.returncode == 2, refused.stderr
    assert said in refused.stderr


def workers_below(pid):
    """Processes of Ray that vet, started by a process or its children."""
    found = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    below = {str(pid)}
    for _ in rows:
        below |= {row[0] for row in rows if row[1] in below}
    return [int(row[0]) for row in rows if row[0] in below and "VetWorker" in row[2]]
