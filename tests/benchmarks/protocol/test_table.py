"""Standings and tables: our entries and baselines, ties, and what is refused."""

import json

import numpy as np
import pytest
import typer
from metajudge.benchmarks.live.scripted import made_judgments
from metajudge.benchmarks.protocol.entries import write_entries
from metajudge.benchmarks.protocol.items import open_asked
from metajudge.benchmarks.protocol.ranking import ranked
from metajudge.benchmarks.protocol.scores import Entry, VetterScore
from metajudge.benchmarks.protocol.standing import standing_of
from metajudge.benchmarks.protocol.table import make_table
from typer.testing import CliRunner

from metajudge.calibration.quality import auc, log_losses
from metajudge.cli import bench as bench_cli
from metajudge.errors import InputError
from metajudge.report import Absent
from metajudge.stats.influence import mean
from tests.doubles.live_runs import made_file

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(bench_cli.app, name="bench")


def run(*words):
    return CliRunner().invoke(app, ["bench", *map(str, words)])


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    return open_asked(made_file(tmp_path_factory.mktemp("made") / "made.jsonl", 60))


def entry(asked, value, name="v", field="probability"):
    lines = {}
    for row in asked.rows:
        found = value(row)
        given = {field: found} if found is not None else {"reason": "none"}
        lines[row.judgment_id] = VetterScore(vetter=name, vetter_version="1", judgment_id=row.judgment_id, **given)
    return Entry(name, "1", lines, 0)


def guess(row):
    return 0.9 if row.correct is (int(row.item_id[1:]) % 4 > 0) else 0.2


def test_the_figures_are_those_of_the_package(asked):
    def value(row):
        return round((int(row.item_id[1:]) % 10) / 10 * (0.5 + row.correct / 2), 3)

    found = standing_of(entry(asked, value), asked.rows)
    values = np.array([value(row) for row in asked.rows])
    right = np.array([row.correct for row in asked.rows])
    assert found.auc.value == pytest.approx(auc(values, right))
    assert found.log_loss.value == pytest.approx(log_losses(values, right).mean())
    assert found.brier.value == pytest.approx(((values - right) ** 2).mean())
    assert found.auc.low <= found.auc.value <= found.auc.high
    assert (found.n, found.questions, found.abstained) == (180, 60, 0)


def test_what_a_vetter_is_silent_on_ranks_last_and_has_no_log_loss(asked):
    silent = standing_of(entry(asked, lambda row: 0.9 if row.correct else None), asked.rows)
    assert silent.auc.value == pytest.approx(1)
    assert isinstance(silent.log_loss, Absent)
    assert silent.abstained == sum(not row.correct for row in asked.rows)
    nothing = standing_of(entry(asked, lambda row: None), asked.rows)
    assert nothing.auc.value == pytest.approx(0.5)


def test_scores_that_are_no_probabilities_have_ranks_but_no_losses(asked):
    found = standing_of(entry(asked, lambda row: 10.0 * row.correct, field="score"), asked.rows)
    assert isinstance(found.brier, Absent)
    assert found.precision_40.value == pytest.approx(1)


def test_entries_that_cannot_be_told_apart_share_their_ranks():
    rng = np.random.default_rng(0)
    questions = [f"q{number}" for number in range(200)]
    good, same, bad = rng.random(200) < 0.9, rng.random(200) < 0.9, rng.random(200) < 0.5
    figures = {name: mean(one.astype(float), questions) for name, one in (("a", good), ("b", same), ("c", bad))}
    found = {one.name: one for one in ranked(figures)}
    assert (found["a"].shown, found["b"].shown, found["c"].shown) == ("1-2", "1-2", "3")
    assert found["a"].tied == ("b",)
    down = {one.name: one.shown for one in ranked(figures, best="lowest")}
    assert down == {"a": "2-3", "b": "2-3", "c": "1"}
    renamed = {one.name: one.shown for one in ranked({name: figures[name] for name in ("c", "b", "a")})}
    assert renamed == {name: one.shown for name, one in found.items()}


@pytest.mark.slow
def test_a_table_of_equal_entries_is_one_tie_in_at_least_95_percent():
    rng, orders, runs = np.random.default_rng(1), 0, 300
    questions = [f"q{number}" for number in range(100)]
    for _ in range(runs):
        figures = {name: mean((rng.random(100) < 0.7).astype(float), questions) for name in "abcde"}
        orders += any(one.shown != "1-5" for one in ranked(figures))
    assert orders / runs <= 0.07  # 4 % in 1,500 runs


@pytest.mark.slow
def test_our_entries_and_every_baseline_are_in_the_table(tmp_path):
    made = made_file(tmp_path / "made.json", 80, judges={"ada": 0.8, "bea": 0.8, "cid": 0.8, "dan": 0.6})
    asked = open_asked(made)
    written, missing = write_entries(asked, tmp_path)
    assert missing == []
    table = make_table(asked, tmp_path, "auc")
    names = {one.standing.vetter: one for one in table.entries}
    assert set(names) == {
        "random", "base rate", "free evidence", "label-free", "Dawid-Skene", "majority of peers",
        "calibrated out of fold",
    }  # fmt: skip
    assert names["majority of peers"].standing.auc.low > 0.5
    assert names["random"].standing.auc.low < 0.5 < names["random"].standing.auc.high
    assert len(written) == 7
    by_loss = make_table(asked, tmp_path, "log_loss")
    assert {one.standing.vetter for one in by_loss.entries if one.place is None} >= {"random", "free evidence"}


def test_a_file_that_does_not_hold_is_named_and_not_in_the_table(asked, tmp_path):
    whole = entry(asked, guess)
    (tmp_path / "good.jsonl").write_text("".join(one.model_dump_json() + "\n" for one in whole.scores.values()))
    (tmp_path / "bad.jsonl").write_text("{}\n")
    table = make_table(asked, tmp_path)
    assert [one.standing.vetter for one in table.entries] == ["v"]
    assert "not in the format" in table.refused["bad.jsonl"][0]
    (tmp_path / "copy.jsonl").write_text((tmp_path / "good.jsonl").read_text())
    with pytest.raises(InputError, match="both by v 1"):
        make_table(asked, tmp_path)


def test_a_folder_without_entries_is_refused(asked, tmp_path):
    with pytest.raises(InputError, match="no files of scores"):
        make_table(asked, tmp_path)
    with pytest.raises(InputError, match="no such folder"):
        make_table(asked, tmp_path / "none")


@pytest.mark.slow
def test_the_commands_go_from_withheld_labels_to_a_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made_file(tmp_path / "made.jsonl", 40)
    assert run("withhold", "made.jsonl", "--out", "pub", "--keep", "labels.jsonl").exit_code == 0
    done = run("entries", "--items", "pub", "--labels", "labels.jsonl", "--out", "entries")
    assert done.exit_code == 0, done.output
    checked = run("score", "entries/label-free.jsonl", "--items", "pub")
    assert checked.exit_code == 0
    assert "The labels are withheld" in checked.output
    scored = run(
        "score", "entries/label-free.jsonl", "--items", "pub", "--labels", "labels.jsonl", "--json-out", "s.json"
    )
    assert "area under the curve" in scored.output
    assert json.loads((tmp_path / "s.json").read_text())["n"] == 120
    table = run("table", "entries", "--items", "pub", "--labels", "labels.jsonl", "--report", "t.html")
    assert table.exit_code == 0, table.output
    assert "a range of ranks is a tie" in table.output
    (tmp_path / "entries" / "bad.jsonl").write_text("{}\n")
    assert run("score", "entries/bad.jsonl", "--items", "pub").exit_code == 1
    assert run("table", "entries", "--items", "made.jsonl").exit_code == 1
    assert run("table", "entries", "--items", "made.jsonl", "--by", "luck").exit_code == 2


def test_made_judgments_are_the_same_for_the_same_seed():
    assert made_judgments(5, seed=3) == made_judgments(5, seed=3)
