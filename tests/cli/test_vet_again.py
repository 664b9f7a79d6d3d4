"""An identical ``metajudge vet`` is answered from the stored run; anything else is computed whole."""

import json
import os
import threading

import pytest

from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.readers import JudgmentSource
from metajudge.readers.jsonl import JudgmentLines
from metajudge.vetting import rerun
from tests.cli.conftest import agents
from tests.doubles.crowds import crowd
from tests.doubles.llm_server import LLMServer, score_answer
from tests.reviewables.planted import in_store

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
