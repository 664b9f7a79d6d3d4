"""``metajudge vet`` as a user runs it: files, interruption, kill -9, policies, prompts, calibrations, and again."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.cli.fail_under import parse_fail_under, tell_missed
from metajudge.decision import Policy, load_policy
from metajudge.errors import ConfigurationError, PolicyError
from metajudge.prompts.versions import NEWEST
from metajudge.reading import JudgmentSource, write_jsonl
from metajudge.reading.jsonl import JudgmentLines
from metajudge.vetting import rerun
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
        options = ("--calibration", "none", "--fail-under", "precision=0.95")
        done = metajudge("vet", path, "--markdown", "report.md", "--out", "out.jsonl", *options)
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


@pytest.fixture
def given(tmp_path):
    path = tmp_path / "judgments.jsonl"
    write_jsonl(path, [judgment(f"j{number}") for number in range(3)])
    return path


def models(server, count=2):
    return [part for n in range(count) for part in ("--agent", f"a{n}=openai:model-{n}@{server.url}")]


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


SAID = "those of an earlier run"
OF_A_RUN = {
    *("run_id", "total_s", "wall_s", "reused", "results_known", "calls", "cached_calls", "usage", "cost_usd"),
    "known_cost_usd",
}


@pytest.fixture
def vet(in_process, tmp_path):
    """Vets 80 labelled pairs; gives what was printed as JSON, and whether an earlier run answered."""
    path = tmp_path / "in.jsonl"
    path.write_text("".join(one.model_dump_json() + "\n" for one in crowd(20)))

    def run(*options, path=path):
        done = run.done = in_process("vet", path, "--store", tmp_path / "s.db", "--json", *options)
        return json.loads(done.stdout), SAID in done.stderr

    run.path, run.said = path, lambda: run.done.stderr
    return run


def figures(printed):
    return {name: value for name, value in printed.items() if name not in OF_A_RUN}


def test_the_same_command_gives_the_same_figures_and_reads_no_judgment(vet, monkeypatch):
    first, told = vet()

    def read(*_):
        raise AssertionError("the input is read")

    monkeypatch.setattr(JudgmentSource, "scan", read)
    monkeypatch.setattr(JudgmentLines, "raw_lines", read)
    again, answered = vet()
    assert (told, answered) == (False, True)
    assert figures(again) == figures(first)
    assert again["counts"]["rows"]["all"]["compared"] > 0
    assert (again["results_known"], first["results_known"]) == (first["judgments"], 0)
    assert again["run_id"] != first["run_id"]


def test_a_file_of_results_is_always_written(vet, tmp_path):
    vet("--out", tmp_path / "first.jsonl")
    _, answered = vet("--out", tmp_path / "again.jsonl")
    assert not answered
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "first.jsonl").read_bytes()
    assert vet()[1]


@pytest.mark.parametrize("options", [["--threshold", "4"], ["--limit", "5"], ["--right", "equal"], ["--seed", "3"]])
def test_other_settings_are_computed(vet, options):
    vet()
    assert not vet(*options)[1]
    assert vet(*options)[1]


def test_another_input_under_the_same_name_is_computed(vet):
    first, _ = vet()
    vet.path.write_text("".join(one.model_dump_json() + "\n" for one in crowd(21)))
    found, answered = vet()
    assert not answered
    assert found["judgments"] > first["judgments"]


def test_a_store_that_another_run_changed_is_asked_anew(vet, tmp_path):
    vet()
    other = tmp_path / "other.jsonl"
    other.write_text("".join(one.model_dump_json() + "\n" for one in crowd(3, prefix="other")))
    vet(path=other)
    assert not vet()[1]
    assert vet()[1]


def test_another_version_of_counting_decides_anew_and_asks_nothing(vet, monkeypatch):
    with LLMServer(score_answer()) as server:
        first, _ = vet(*agents(server))
        asked = len(server.requests)
        monkeypatch.setattr(rerun, "COUNTING", rerun.COUNTING + 1)
        found, answered = vet(*agents(server))
        assert (answered, len(server.requests)) == (False, asked)
        assert "another version" in vet.said()
    assert figures(found) == figures(first)


def test_a_model_is_asked_no_more(vet):
    with LLMServer(score_answer()) as server:
        first, _ = vet(*agents(server))
        asked = len(server.requests)
        again, answered = vet(*agents(server))
        assert (answered, len(server.requests)) == (True, asked)
    assert (first["calls"], again["calls"], again["reused"]) == (asked, 0, first["judgments"])
    assert again["cost_usd"] == 0


def test_a_pipe_is_read_each_time(vet, tmp_path):
    """Its name says nothing of its content."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    found = []
    for count in (20, 3):
        text = "".join(one.model_dump_json() + "\n" for one in crowd(count))
        writer = threading.Thread(target=pipe.write_text, args=(text,))
        writer.start()
        found.append(vet(path=pipe))
        writer.join()
    assert [answered for _, answered in found] == [False, False]
    assert found[0][0]["judgments"] > found[1][0]["judgments"]


def test_another_mapping_of_the_columns_is_another_input(vet, tmp_path):
    table = tmp_path / "votes.csv"
    table.write_text("q,a,b,won,lost\n" + "".join(f"q{n},x,y,A,B\n" for n in range(5)))
    maps = tmp_path / "metajudge-inputs.toml"
    columns = '[inputs."votes.csv".columns]\nquestion = "q"\n"responses.A" = "a"\n"responses.B" = "b"\nverdict = "%s"\n'
    constants = '[inputs."votes.csv".constants]\njudge = "j"\n'
    for column in ("won", "lost"):
        maps.write_text(columns % column + constants)
        assert not vet(path=table)[1]
        assert vet(path=table)[1]


def test_a_bar_that_needs_labels_is_refused_again(vet, in_process, tmp_path):
    plain = tmp_path / "plain.jsonl"
    plain.write_text("".join(one.model_dump_json() + "\n" for one in crowd(20, labelled=False)))
    vet(path=plain)
    done = in_process("vet", plain, "--store", tmp_path / "s.db", "--fail-under", "precision=0.9")
    assert done.returncode == 2
    assert "needs labels" in done.stderr


def test_a_calibration_and_a_policy_give_the_same_figures(vet, tmp_path):
    calibration = fit_calibration(build_table(crowd(60), ["order", "strength", "peers"]), repeats=1)
    (tmp_path / "c.json").write_bytes(calibration.to_json())
    options = ["--calibration", tmp_path / "c.json", "--policy", "verdict"]
    (first, _), (again, answered) = vet(*options), vet(*options)
    assert answered
    assert again["decisions"] == first["decisions"]
    assert {**figures(again), "reviews": 0} == {**figures(first), "reviews": 0}


def test_bad_lines_are_reported_each_time(vet):
    with vet.path.open("a") as file:
        file.write("{half\n")
    assert [vet(), vet()][1][1] is False


def test_the_stored_answer_is_small_and_has_no_texts(vet, tmp_path):
    vet()
    query = "SELECT owner, body FROM service_answers"
    [(owner, body)] = in_store(tmp_path / "s.db", lambda store: store.ask(lambda c: c.execute(query).fetchall()))
    assert owner == "metajudge vet"
    assert crowd(1)[0].item.question.encode() not in body
    assert len(body) < 10_000
