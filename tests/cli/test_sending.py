"""``--batch`` and the budget's options as a user gives them: killed, interrupted, resumed, shared, refused."""

import json
import signal

import pytest

from tests.doubles.batch_server import BatchServer
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.waiting import until

pytestmark = pytest.mark.slow  # every test is a process of its own, or several

POLL = ("--batch", "--batch-poll", "0.1")


@pytest.fixture
def crowd(metajudge):
    lines = [judgment(f"j{i}").model_dump_json() for i in range(20)]
    (metajudge.folder / "in.jsonl").write_text("\n".join(lines) + "\n")
    metajudge.env["OPENAI_API_KEY"] = "sk-test-key"
    return "in.jsonl"


def agent(server):
    return "--agent", f"openai:gpt-4o-mini@{server.url}"


def assessments(path):
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return [(row["judgment_id"], row["final_score"], row["accepted"]) for row in rows]


class TestBatches:
    @pytest.mark.parametrize("fault", [pytest.param(None, marks=pytest.mark.slow), "stall"])
    def test_after_kill_9_nothing_is_submitted_twice(self, metajudge, crowd, fault):
        """``stall``: killed between the submission and its being noted down."""
        with BatchServer(polls=10_000, submit_faults=[fault]) as server:
            command = ("vet", crowd, *agent(server), *POLL, "--out", "out.jsonl")
            process = metajudge.start(*command)
            until(lambda: server.batches and (fault or server.batches[0].looks > 1))
            process.kill()
            process.communicate()
            server.polls = 0
            summary, code = metajudge.json(*command)
            assert (code, summary["assessed"], len(server.batches)) == (0, 20, 1)
            assert len(server.live) + len(server.requests) == 20
            again, _ = metajudge.json(*command)
            assert (again["reused"], again["calls"]) == (20, 0)
            live, _ = metajudge.json("vet", crowd, *agent(server), "--store", "live.duckdb", "--out", "live.jsonl")
        assert live["cost_usd"] == pytest.approx(2 * summary["cost_usd"] * 20 / 19, rel=0.01)
        assert assessments(metajudge.folder / "live.jsonl") == assessments(metajudge.folder / "out.jsonl")

    @pytest.mark.slow
    def test_ctrl_c_leaves_the_batch_and_the_same_command_goes_on(self, metajudge, crowd):
        with BatchServer(polls=10_000) as server:
            command = ("vet", crowd, *agent(server), *POLL)
            process = metajudge.start(*command)
            until(lambda: server.batches and server.batches[0].looks > 1)
            process.send_signal(signal.SIGINT)
            out, said = process.communicate(timeout=20)
            assert process.returncode == 130
            assert "Interrupted. Run the same command again" in out
            assert "submitted; it may take a day" in said
            done = metajudge(*command, "--batch-wait", "0")
            assert done.returncode == 4
            assert "Batches are with their provider" in done.stdout
            server.polls = 0
            summary, code = metajudge.json(*command)
        assert (code, summary["assessed"], len(server.batches)) == (0, 20, 1)

    @pytest.mark.slow
    def test_judge_in_batches(self, metajudge, crowd):
        with BatchServer() as server:
            command = ("judge", crowd, "--judge", f"openai:gpt-4o-mini@{server.url}", "--json")
            done = metajudge(*command, *POLL, "--out", "batch.jsonl")
            summary = json.loads(done.stdout)
            assert (done.returncode, summary["judgments"]) == (0, 40)
            assert (len(server.live), len(server.requests)) == (1, 39)
            metajudge(*command, "--out", "live.jsonl", "--store", "live.duckdb")
        files = [(metajudge.folder / name).read_text().splitlines() for name in ("batch.jsonl", "live.jsonl")]
        batch, live = ([json.loads(line) for line in lines] for lines in files)
        costs = [[row["meta"].pop("cost_usd") for row in rows] for rows in (batch, live)]
        assert batch == live
        assert sum(costs[0]) == pytest.approx(sum(costs[1]) * (1 + 39 / 2) / 40, rel=0.01)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--batch-wait", "5"], "--batch-wait needs --batch: add it"),
            (["--budget-file", "b.sqlite"], "a budget's file without a limit limits nothing"),
            (["--budget-file", "in.jsonl", "--budget-calls", "5"], "in.jsonl cannot be used"),
            (["--budget-calls", "0"], "the budget in calls must be a positive number"),
            (["--budget-tokens", "-3"], "the budget in tokens must be a positive number"),
        ],
    )
    def test_useless_options_are_refused_with_exit_code_2(self, metajudge, crowd, arguments, said):
        done = metajudge("vet", crowd, "--agent", "openai:gpt-4o-mini", *arguments)
        assert done.returncode == 2
        assert said in " ".join(done.stderr.replace("│", " ").split())


def test_commands_that_share_a_budgets_file_stop_together_and_a_raised_budget_goes_on(metajudge, crowd):
    shared = ("--budget-file", "b.sqlite", "--concurrency", "3")
    with LLMServer(answer=score_answer(5), latency_s=0.02) as server:
        command = ("vet", crowd, *agent(server), *shared)
        running = [
            metajudge.start(*command, "--store", f"{name}.duckdb", "--budget-calls", "25", "--json") for name in "ab"
        ]
        ended = [json.loads(process.communicate(timeout=60)[0]) for process in running]
        assert server.count == 25
        assert "budget" in {one["end"] for one in ended}
        done = metajudge(*command, "--store", "a.duckdb", "--budget-calls", "25")
        left = 20 - ended[0]["assessed"]
        assert (done.returncode, server.count) == (3 if left else 0, 25)
        assert metajudge(*command, "--store", "a.duckdb", "--budget-calls", "60").returncode == 0
        assert server.count == 25 + left
