"""Real runs on Ray, in processes of their own: results, reruns, a killed worker, a budget."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.distributed.folder import ResultsFolder
from metajudge.readers import write_jsonl
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer
from tests.doubles.postgres_urls import stores_on_postgres

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


@pytest.fixture(scope="module")
def free(tmp_path_factory):
    """Judgments of three judges in both orders, with labels, and a calibration fitted on others like them."""
    folder = tmp_path_factory.mktemp("free")
    write_jsonl(folder / "judgments.jsonl", made(400))
    table = build_table(made(60, first=1_000), ["order", "strength", "peers"], kind="pairwise")
    calibration = fit_calibration(table, repeats=1, folds=2)
    (folder / "calibration.json").write_bytes(calibration.to_json())
    return folder


def made(items, first=0):
    """What each judge says of an item is of its own making, and in one order perhaps another thing."""
    rng = random.Random(first)
    for item in range(first, first + items):
        for judge in ("owl", "fox", "cat"):
            for order in (("A", "B"), ("B", "A")):
                verdict = rng.choice(["A>B", "A>B", "A>>B", "B>A", "A=B"])
                question = f"What is {item} + 2?"
                yield judgment(
                    f"{item}-{judge}-{order[0]}",
                    item_id=f"i{item}",
                    question=question,
                    judge=judge,
                    order=order,
                    verdict=verdict,
                    category=f"c{item % 3}",
                )


def free_command(free, *options):
    vet = [sys.executable, "-m", "metajudge", "vet", str(free / "judgments.jsonl"), "--strategy", "signals", "--json"]
    return [*vet, "--calibration", str(free / "calibration.json"), "--policy", "verdict", *map(str, options)]


def one_process(free, tmp_path, *options):
    done = run(free_command(free, "--store", tmp_path / "s.duckdb", "--out", tmp_path / "local.jsonl", *options))
    lines = (tmp_path / "local.jsonl").read_text().splitlines()
    return json.loads(done.stdout), dict(enumerate(plain(json.loads(line)) for line in lines))


def test_free_evidence_calibration_and_policy_equal_one_process_though_a_worker_is_killed(free, tmp_path):
    local, expected = one_process(free, tmp_path)
    out = tmp_path / "out"
    process = subprocess.Popen(
        free_command(free, "--engine", "ray", "--out", out, "--workers", 2),
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    while process.poll() is None and not list(out.glob("part-*")):
        time.sleep(0.02)
    for worker in workers_below(process.pid)[:1]:  # none where they were faster than this test
        os.kill(worker, signal.SIGKILL)
    output, _ = process.communicate(timeout=200)
    summary = json.loads(output)
    assert results(out) == expected
    same = ("judgments", "assessed", "kept", "decisions", "probability_marks", "with_probability", "rules")
    assert {name: summary[name] for name in same} == {name: local[name] for name in same}
    assert summary["labels"] == local["labels"]
    assert "no review is opened" in summary["notices"][-1]


@pytest.fixture
def store():
    with stores_on_postgres() as make:
        yield make()


def test_a_store_on_postgresql_has_after_ray_what_one_process_leaves_there(free, judgments, store, tmp_path):
    spread = run(free_command(free, "--engine", "ray", "--out", tmp_path / "out", "--workers", 4, "--store", store))
    assert spread.returncode == 0, spread.stderr
    again, expected = one_process(free, tmp_path, "--store", store)  # of two stores the last one is taken
    assert results(tmp_path / "out") == expected
    assert (again["results_known"], again["reviews"]) == (len(expected), 0)
    waiting = sum(again["decisions"].get(action, 0) for action in ("REVIEW", "REVIEW_PRIORITY"))
    assert json.loads(spread.stdout)["reviews"] == waiting > 0
    with LLMServer(answer=score) as server:
        asked = run(ray_command(judgments, server, tmp_path / "asked", "--store", store))
        assert (asked.returncode, server.count) == (0, 120), asked.stderr
        known = run(command(judgments, server, "--store", store))
        assert (known.returncode, server.count, json.loads(known.stdout)["reused"]) == (0, 120, 120), known.stderr


def test_bars_rules_and_chosen_judges_are_as_in_one_process(free, tmp_path):
    options = ["--fail-under", "kept=0.99", "--judge", "owl", "--limit", 300, "--right", "top1"]
    local, expected = one_process(free, tmp_path, *options)
    out = tmp_path / "out"
    spread = run(free_command(free, "--engine", "ray", "--out", out.as_uri(), "--workers", 2, *options))
    assert spread.returncode == 5, spread.stderr
    summary = json.loads(spread.stdout)
    assert results(out) == expected
    assert len(expected) == 300
    assert (summary["labels"], summary["fail_under"]) == (local["labels"], local["fail_under"])


def test_other_records_change_the_evidence_and_a_rerun_sees_them(free, tmp_path):
    some = tmp_path / "judgments.jsonl"
    (tmp_path / "calibration.json").write_bytes((free / "calibration.json").read_bytes())
    everything = (free / "judgments.jsonl").read_text().splitlines(keepends=True)
    out = tmp_path / "out"
    for lines in (everything[:200:2], everything[:200]):
        some.write_text("".join(lines))
        done = run(free_command(tmp_path, "--engine", "ray", "--out", out, "--workers", 1))
        assert done.returncode == 0, done.stderr
    _, expected = one_process(tmp_path, tmp_path)
    assert results(out) == expected


def test_limits_hold_over_all_workers_together(judgments, tmp_path):
    panel = tmp_path / "panel.toml"
    with LLMServer(answer=score, latency_s=0.05) as server:
        panel.write_text(
            f'[[agents]]\nmodel = "openai:gpt-4o-mini@{server.url}"\n'
            f'[limits."{server.url}/v1"]\nconcurrency = 3\nrequests_per_minute = 1200\n'
        )
        options = ["--config", str(panel), "--engine", "ray", "--out", str(tmp_path / "out"), "--workers", "2"]
        started = time.monotonic()
        done = run([sys.executable, "-m", "metajudge", "vet", str(judgments), "--json", *options])
        assert done.returncode == 0, done.stderr
        assert server.max_in_flight <= 3
        assert server.count == 120
    assert time.monotonic() - started >= 120 / 20 - 1, "1,200 a minute over both workers"


def test_a_budget_s_file_counts_all_workers_with_other_commands(judgments, tmp_path):
    file = tmp_path / "team.budget"
    budget = ["--budget-calls", 50, "--budget-file", file]
    with LLMServer(answer=score) as server:
        stopped = run(ray_command(judgments, server, tmp_path / "out", *budget))
        assert stopped.returncode == 3, stopped.stderr
        assert server.count == 50
        again = run(command(judgments, server, "--store", tmp_path / "s.duckdb", *budget))
        assert (again.returncode, server.count) == (3, 50)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "spark"], "local or ray"),
        (["--engine", "ray"], "give --out DIR"),
        (["--engine", "ray", "--out", "x", "--policy", "verdict_score", "--review-sample", "0.5"], "give --store"),
        (["--engine", "ray", "--out", "x", "--policy", "verdict_score", "--reviewers", "2"], "give --store"),
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
