import json

import pytest
from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.observations import Observation, Observations
from metajudge.benchmarks.out_of_fold import fit_out_of_fold
from metajudge.benchmarks.out_of_fold_scores import OutOfFold
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


def rows(count, right):
    return Observations(
        [
            Observation(f"j{n}", f"i{n}", f"q{n}", "owl", "", "A", right(n), {}, None, kind="category")
            for n in range(count)
        ]
    )


def fitted(observations, value):
    run = {row.judgment_id: value(at) for at, row in enumerate(observations.rows)}
    return OutOfFold(run, [run], {"category": ("peers",)}, {})


def selected(found, observations):
    return {one.name: one for one in found.selections(observations, found.score(observations))}


def test_a_row_that_aims_at_a_precision_keeps_what_the_other_half_guarantees():
    observations = rows(400, lambda n: n % 2 == 0 or n % 40 == 1)
    found = fitted(observations, lambda n: 0.95 if n % 2 == 0 else 0.2)
    aimed = selected(found, observations)["aims at 90 % precision"]
    assert aimed.kept.tolist() == [n % 2 == 0 for n in range(400)]
    assert aimed.threshold.origin == "guaranteed, set on the other half of the questions"


def test_with_too_few_questions_no_threshold_is_guaranteed_and_nothing_kept():
    observations = rows(10, lambda n: n % 2 == 0)
    aimed = selected(fitted(observations, lambda n: 0.95 if n % 2 == 0 else 0.2), observations)
    assert not aimed["aims at 90 % precision"].kept.any()
    assert "calibrated out of fold, best 40 %" in {one.column for one in aimed.values()}


def test_where_a_judgment_has_no_probability_there_are_no_rows():
    observations = rows(4, lambda n: True)
    found = OutOfFold({"j0": 0.9}, [{"j0": 0.9}], {}, {"grade": "too few questions"})
    assert selected(found, observations) == {}
    assert any("kind grade: too few questions" in one for one in found.meaning)
