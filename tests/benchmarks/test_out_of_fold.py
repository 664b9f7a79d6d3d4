import json

import pytest
from metajudge.benchmarks.bench import Bench, Request
from metajudge.benchmarks.probabilities import fit_out_of_fold
from metajudge.benchmarks.score_lines import score_lines

from metajudge.readers import open_judgments
from tests.doubles.graded import truth, verdicts, written


@pytest.fixture
def bench(tmp_path):
    return Bench(Request(benchmark="file"), open_judgments([written(tmp_path / "v.jsonl", verdicts(60))]))


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
