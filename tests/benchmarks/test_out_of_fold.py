import json

import pytest
from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.out_of_fold import fit_out_of_fold
from metajudge.benchmarks.score_lines import score_lines

from metajudge.readers import open_judgments
from tests.doubles.graded import truth, verdicts, written


@pytest.fixture
def bench(tmp_path):
    return Bench(Request(benchmark="file"), open_judgments([written(tmp_path / "v.jsonl", verdicts(60))]))


@pytest.mark.slow
def test_every_labelled_judgment_has_a_probability_that_beats_the_raw_share(bench):
    fitted = fit_out_of_fold(bench, 2)
    assert set(fitted.probabilities) == {row.judgment_id for row in bench.observations.rows}
    findings = bench.findings(bench.plan(), (), fitted)
    rows = {row.column: row.cells[OVERALL] for row in findings.judges[0].rows}
    assert rows["calibrated out of fold, best 60 %"].precision.share > rows["raw judgments"].precision.share + 0.1
    assert rows["majority of peers agrees"].precision.share > rows["raw judgments"].precision.share
    assert any("Each of the 2 seeds by itself" in note for note in findings.judges[0].notes)
    assert any("the other half's labels" in note for note in findings.notes)


@pytest.mark.slow
def test_no_probability_saw_the_label_of_its_own_question(bench, tmp_path):
    rows = verdicts(60)
    for row in rows:
        if row["item"]["id"] == "q7":
            row["item"]["label"] = "bad" if truth(7) == "good" else "good"
    turned = Bench(Request(benchmark="file"), open_judgments([written(tmp_path / "t.jsonl", rows)]))
    before, after = (fit_out_of_fold(one, 1).probabilities for one in (bench, turned))
    # A fit starts where another fold's ended: equal up to what is left when it stops, far below a label's weight.
    assert [after[f"q7-{judge}"] for judge in ("ant", "bee", "cat", "dog")] == pytest.approx(
        [before[f"q7-{judge}"] for judge in ("ant", "bee", "cat", "dog")], rel=0, abs=1e-9
    )
    assert before != after


def test_scores_have_a_line_for_every_labelled_judgment_and_null_where_nothing_is_fitted(bench, tmp_path):
    lines = [json.loads(line) for line in score_lines(bench, (), fit_out_of_fold(bench, 1))]
    assert len(lines) == 240
    assert all(0 < line["probability"] < 1 and line["judge"] and line["correct"] in (True, False) for line in lines)
    few = Bench(Request(benchmark="file"), open_judgments([written(tmp_path / "few.jsonl", verdicts(3))]))
    fitted = fit_out_of_fold(few, 1)
    assert {json.loads(line)["probability"] for line in score_lines(few, (), fitted)} == {None}
    assert any(note.startswith("nothing is fitted for verdicts of kind category") for note in fitted.meaning)


@pytest.mark.slow
def test_kinds_are_fitted_and_shown_apart(tmp_path):
    rows = verdicts(40)
    grades = [
        {**row, "id": f"g{row['id']}", "item": {**row["item"], "id": f"g{row['item']['id']}"}, "verdict": grade}
        for row in verdicts(40, labelled=False)
        for grade in [4 if row["verdict"] == "good" else 2]
    ]
    for row in grades:
        row["item"]["label"] = 4 if truth(int(row["item"]["id"][2:])) == "good" else 2
    bench = Bench(Request(benchmark="file"), open_judgments([written(tmp_path / "both.jsonl", rows + grades)]))
    assert bench.rules.keys() == {"category", "grade"}
    fitted = fit_out_of_fold(bench, 1)
    assert fitted.signals.keys() == {"category", "grade"}
    findings = bench.findings(bench.plan(), (), fitted)
    names = [one.judge for one in findings.judges]
    assert names[:2] == ["all judges, category", "all judges, grade"]
    assert {one.decided for one in findings.judges[:2]} == {160}
