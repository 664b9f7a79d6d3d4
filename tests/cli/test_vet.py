"""``metajudge vet`` as a user runs it: bad lines, exit codes, interruption, kill -9."""

import json
import signal
from pathlib import Path

import pytest

from metajudge.cli.fail_under import parse_fail_under, tell_missed
from metajudge.errors import ConfigurationError
from metajudge.vetting.bars import Bar, Reached
from tests.cli.conftest import agents
from tests.doubles.jsonl import lines
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.waiting import until

SAMPLE = Path(__file__).parents[2] / "benchmarks" / "sample" / "judgments.jsonl"


def without_effort(assessment):
    """An assessment without what a second try may change: calls, tokens, cost, latency."""
    if isinstance(assessment, dict):
        effort = {"calls", "cached_calls", "cost_usd", "usage", "latency_s"}
        return {name: without_effort(value) for name, value in assessment.items() if name not in effort}
    return [without_effort(one) for one in assessment] if isinstance(assessment, list) else assessment


class TestOffline:
    @pytest.mark.slow
    def test_the_report_as_markdown_shows_names_and_never_markup(self, metajudge):
        path = metajudge.folder / "in.jsonl"
        rows = lines(SAMPLE)
        kept = [{**row, "id": f"{row['id']}|<b>"} for row in rows]
        path.write_text("".join(json.dumps(row) + "\n" for row in kept))
        done = metajudge("vet", path, "--markdown", "report.md", "--fail-under", "precision=0.95", "--out", "out.jsonl")
        assert done.returncode == 5
        text = (metajudge.folder / "report.md").read_text()
        assert text.startswith("### metajudge vet\n")
        assert (
            "- **missed**: precision 0.9 (36 of 40 kept are right; 95 % interval by question 50.9 to 98.7 %) is below"
            in text
        )
        assert "| kept | 40 |  |" in text
        assert "/AB\\|\\<b\\>" in text
        assert "|<b>" not in text

    def test_a_report_that_cannot_be_written_is_refused_before_the_run(self, metajudge):
        done = metajudge("vet", SAMPLE, "--markdown", "missing/report.md", "--out", "out.jsonl")
        assert done.returncode == 2
        assert "there is no folder missing" in done.stderr
        assert not (metajudge.folder / "out.jsonl").exists()


class TestUsage:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["vet", SAMPLE, "--out", SAMPLE], "is read and would be overwritten"),
            (["vet", SAMPLE, "--budget-usd", "-1", "--agent", "ollama:m"], "budget"),
            (["serve", "--host", "0.0.0.0"], "METAJUDGE_API_KEY"),
        ],
    )
    def test_errors_name_the_cause_and_exit_with_2(self, metajudge, arguments, message):
        done = metajudge(*arguments)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.slow
    def test_a_second_process_works_on_the_store_at_the_same_time(self, metajudge, sixty):
        with LLMServer(answer=score_answer(5), latency_s=0.05) as server:
            first = metajudge.start("vet", sixty, *agents(server), "--concurrency", 2)
            until(lambda: server.count)
            second = metajudge("vet", sixty, *agents(server))
            first.communicate()
        assert (first.returncode, second.returncode) == (0, 0), second.stderr
        assert metajudge("runs").stdout.count("finished") == 2


@pytest.mark.slow
class TestStoppedInTheMiddle:
    def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(self, metajudge, sixty):
        with LLMServer(answer=score_answer(5), latency_s=0.05) as server:
            command = ("vet", sixty, *agents(server), "--concurrency", 4, "--out", "out.jsonl", "--no-early-exit")
            process = metajudge.start(*command, "--json")
            until(lambda: server.count >= 30)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
            assert process.returncode == 130, err
            first = json.loads(out)
            assert first["end"] == "interrupted"
            assert len(lines(metajudge.folder / "out.jsonl")) == first["assessed"] < 60
            second, code = metajudge.json(*command)
            assert server.count == first["calls"] + second["calls"] == 120
        assert (code, second["assessed"]) == (0, 60)
        assert len(lines(metajudge.folder / "out.jsonl")) == 60

    def test_after_kill_9_finished_calls_are_not_repeated_and_results_are_the_same(self, metajudge, sixty):
        with LLMServer(answer=score_answer(5), latency_s=0.05) as server:
            command = ("vet", sixty, *agents(server), "--concurrency", 4, "--no-early-exit")
            process = metajudge.start(*command, "--out", "killed.jsonl")
            until(lambda: server.count >= 40)
            process.kill()
            process.communicate()
            before = server.count
            _, code = metajudge.json(*command, "--out", "resumed.jsonl")
            assert code == 0
            # Only what was in flight at the kill (4 at most) may be asked twice.
            assert 120 <= server.count <= 120 + 4
            assert server.count > before
            metajudge.json(*command, "--out", "undisturbed.jsonl", "--store", "other.duckdb")
        resumed, undisturbed = (lines(metajudge.folder / name) for name in ("resumed.jsonl", "undisturbed.jsonl"))
        assert without_effort(resumed) == without_effort(undisturbed)
        assert not (metajudge.folder / "killed.jsonl").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.9", "write --fail-under precision=0.9"),
        ("recall=0.9", "write --fail-under precision=0.9"),
        ("precision=high", "'high' is not a number"),
        ("precision=90", "for 90 % write 0.9"),
        ("precision=nan", "between 0 and 1"),
        ("kept=-0.1", "between 0 and 1"),
        ("kept=.8 kept=.9", "twice"),
    ],
)
def test_a_bar_that_means_nothing_is_the_users_mistake(text, said):
    with pytest.raises(ConfigurationError, match=said):
        parse_fail_under(text.split())


def test_a_missed_bar_is_told(capsys):
    assert tell_missed([Reached(Bar("kept", 0.9), 1, 2)])
    assert not tell_missed([Reached(Bar("kept", 0.5), 1, 2)])
    assert "kept 0.5 (1 of 2 kept) is below 0.9" in capsys.readouterr().err
