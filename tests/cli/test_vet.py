"""``metajudge vet`` as a user runs it: bad lines, exit codes, interruption, kill -9, policies, prompts, calibrations."""

import json
import signal
from pathlib import Path

import pytest

from metajudge.cli.fail_under import parse_fail_under, tell_missed
from metajudge.decision import Policy, load_policy
from metajudge.errors import ConfigurationError, PolicyError
from metajudge.prompts.versions import NEWEST
from metajudge.readers import write_jsonl
from metajudge.vetting.bars import Bar, Reached
from tests.cli.conftest import agents
from tests.doubles.crowds import crowd
from tests.doubles.jsonl import lines
from tests.doubles.judgments import judgment
from tests.doubles.llm_server import LLMServer, score_answer
from tests.doubles.prompt_sets import NEXT, next_set
from tests.doubles.waiting import until
from tests.reviewables.planted import in_store

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


@pytest.fixture
def files(metajudge):
    write_jsonl(metajudge.folder / "labelled.jsonl", crowd(60))
    write_jsonl(metajudge.folder / "fresh.jsonl", crowd(20, seed=9, prefix="new", labelled=False))
    done = metajudge("calibrate", "fit", "--data", "labelled.jsonl", "--signals", "peers", "--out", "cal.json")
    assert done.returncode == 0, done.stderr
    return metajudge


@pytest.mark.slow
def test_a_probability_is_explained_by_the_store_after_its_calibrations_file_is_gone(files):
    assert files("vet", "fresh.jsonl", "--calibration", "cal.json", "--out", "out.jsonl").returncode == 0
    whole = json.loads((files.folder / "cal.json").read_text())
    (files.folder / "cal.json").unlink()
    one = lines(files.folder / "out.jsonl")[0]
    shown = json.loads(files("show", one["judgment_id"], "--json").stdout)
    assert shown["calibrations"][one["calibration"]]["identity"] == whole["identity"]
    (entry,) = json.loads(files("show", one["calibration"], "--json").stdout)["audit_log"]
    assert entry["payload"] == whole


def graded(item, judge, verdict, responses=1, **more):
    names = "ABC"[:responses]
    content = {"id": f"i{item}", "question": f"q{item}", "responses": {name: name for name in names}}
    return {"id": f"{item}-{judge}", "judge": judge, "verdict": verdict, "item": content, **more}


CROWD = [graded(item, judge, judge != "z" or item % 3 > 0) for item in range(30) for judge in "uvwxyz"]


@pytest.mark.slow
def test_the_share_of_peers_decides_and_the_headline_gives_its_cut(metajudge):
    """By hand: where all six agree 6/7 of the peers do, where z differs 5/7 for the five others, and 1/7 for z."""
    path = metajudge.folder / "in.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in CROWD))
    summary, _ = metajudge.json("vet", path)
    assert (summary["kept"], summary["discarded"], summary["unscored"]) == (120, 60, 0)
    rule = "by agreement, from a share of 0.75 of the peers on (the default)"
    assert summary["decided_by"] == {rule: 180}
    assert summary["rules"] == {"category": "equal"}
    printed = metajudge("vet", path, "--store", "again.duckdb").stdout
    assert f"Vetted by free evidence alone, uncalibrated; kept {rule}" in printed
    assert "Verdicts that are no pairs kept without labels were right in " in printed
    assert "expected right" not in printed


@pytest.fixture
def given(tmp_path):
    path = tmp_path / "judgments.jsonl"
    write_jsonl(path, [judgment(f"j{number}") for number in range(3)])
    return path


def models(server, count=2):
    return [part for n in range(count) for part in ("--agent", f"a{n}=openai:model-{n}@{server.url}")]


def test_a_policy_switches_early_exit_off(run, given, tmp_path):
    with LLMServer(score_answer(1)) as server:
        command = ("vet", given, *models(server, 3), "--strategy", "majority_vote")
        run(*command, "--out", "early.jsonl")
        early = server.count
        run(*command, "--policy", "verdict_score", "--out", "a.jsonl")
        assert early == 6
        assert server.count == 9, "only those not asked before are asked"
    assert all(row["final_score"] == 1.0 for row in lines(tmp_path / "a.jsonl"))
    assert {row["decision"]["action"] for row in lines(tmp_path / "a.jsonl")} == {"REJECT"}


def test_a_policy_that_does_not_fit_ends_the_run_before_anything_is_asked(run, given, tmp_path):
    with LLMServer(score_answer(5)) as server:
        with pytest.raises(ConfigurationError, match="is for cases"):
            run("vet", given, *models(server), "--policy", "risk_analysis")
        with pytest.raises(PolicyError, match="did you mean verdict"):
            run("vet", given, *models(server), "--policy", "verdct")
        data = load_policy("verdict_score").model_dump(mode="json")
        data["scale"] = {"low": 0, "high": 5}
        (tmp_path / "mine.yaml").write_text(json.dumps(data))
        with pytest.raises(ConfigurationError, match=r"scores from 0\.\.5, and the panel's go from 1 to 5"):
            run("vet", given, *models(server), "--policy", "mine.yaml")
        with pytest.raises(ConfigurationError, match="is for cases"):
            run("vet", given, *models(server), "--rubric", "risk_analysis")
        assert server.count == 0


def test_the_content_of_a_policy_stays_in_the_store_when_its_file_is_gone(run, given, tmp_path):
    (tmp_path / "mine.yaml").write_text(load_policy("verdict_score").model_dump_json().replace("verdict_score", "mine"))
    with LLMServer(score_answer(5)) as server:
        run("vet", given, *models(server), "--policy", "mine.yaml", "--out", "a.jsonl")
        (tmp_path / "mine.yaml").unlink()
        again = run("vet", given, *models(server), "--policy", "mine", "--out", "b.jsonl")
    assert again.exit_code == 0
    digest = lines(tmp_path / "b.jsonl")[0]["decision"]["policy_digest"]
    assert digest == lines(tmp_path / "a.jsonl")[0]["decision"]["policy_digest"]
    (entry,) = in_store(tmp_path / "metajudge.db", lambda store: store.audit_log.entries("policy", "mine"))
    assert Policy.model_validate(entry.payload["policy"]).digest == digest


@pytest.fixture
def four(tmp_path):
    write_jsonl(tmp_path / "judgments.jsonl", [judgment(f"j{number}") for number in range(4)])
    (tmp_path / "next").mkdir()
    with next_set(tmp_path / "next"):
        yield tmp_path / "judgments.jsonl"


def panel(server, folder, *lines):
    agents = [
        f'[[agents]]\nname = "a{n}"\nmodel = "openai:m{n}@{server.url}"\nprice = {{ input = 1, output = 1 }}'
        for n in range(2)
    ]
    (folder / "panel.toml").write_text("\n".join([*lines, *agents]))
    return ("--config", folder / "panel.toml")


def priced(run, *arguments):
    done = run("vet", *arguments, "--dry-run", "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_dry_run_prices_what_is_not_stored_and_a_change_of_the_set(run, four, tmp_path):
    with LLMServer(score_answer(5)) as server:
        asked = panel(server, tmp_path, f"prompt_version = {NEWEST}")
        before = priced(run, four, *asked)
        assert not (tmp_path / "metajudge.db").exists()
        assert run("vet", four, *asked, "--limit", 3).exit_code == 0
        rest, change = priced(run, four, *asked), priced(run, four, *asked, "--prompt-version", NEXT)
        pinned = priced(run, four, *panel(server, tmp_path, f"prompt_version = {NEXT}"))
        assert server.count == 6
        assert run("vet", four, *asked, "--prompt-version", NEXT).exit_code == 0
        assert server.count == 14
        after = priced(run, four, *asked, "--prompt-version", NEXT)
    seen = [(one["prompt_version"], one["stored"], one["calls"]) for one in (before, rest, change, pinned, after)]
    assert seen == [(NEWEST, 0, 8), (NEWEST, 3, 2), (NEXT, 0, 8), (NEXT, 0, 8), (NEXT, 4, 0)]
    assert 0 == after["cost_usd"] < rest["cost_usd"] < before["cost_usd"] < change["cost_usd"]


def test_what_ended_without_a_score_is_not_stored(run, four, tmp_path):
    with LLMServer(lambda _: "prose") as server:
        asked = panel(server, tmp_path)
        run("vet", four, *asked)
        assert priced(run, four, *asked)["stored"] == 0


def test_a_policy_asks_every_agent_and_counts_as_stored_what_was_asked_so(run, four, tmp_path):
    with LLMServer(score_answer(5)) as server:
        asked = (*panel(server, tmp_path), "--policy", "verdict_score")
        run("vet", four, *asked)
        assert priced(run, four, *asked)["stored"] == 4
        assert priced(run, four, *asked[:2], "--no-early-exit")["stored"] == 4
        assert priced(run, four, *asked[:2])["stored"] == 0


def test_a_store_that_cannot_be_read_is_said_and_counts_for_nothing(run, four, tmp_path):
    (tmp_path / "metajudge.db").write_text("no store")
    done = run("vet", four, "--agent", "openai:gpt-4o-mini", "--dry-run")
    assert done.exit_code == 0
    assert "0 of them stored" in done.stdout
    assert "the estimate does not include stored results" in done.stderr
