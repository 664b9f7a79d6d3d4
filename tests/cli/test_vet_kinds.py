"""``metajudge vet`` without agents on grades, categories and rankings."""

import json

import pytest

from tests.doubles.jsonl import lines


@pytest.fixture
def write(tmp_path):
    def file(*rows, name="in.jsonl"):
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        return path

    return file


def graded(item, judge, verdict, responses=1, **more):
    names = "ABC"[:responses]
    content = {"id": f"i{item}", "question": f"q{item}", "responses": {name: name for name in names}}
    return {"id": f"{item}-{judge}", "judge": judge, "verdict": verdict, "item": content, **more}


CROWD = [graded(item, judge, judge != "z" or item % 3 > 0) for item in range(30) for judge in "uvwxyz"]


@pytest.mark.slow
def test_one_judges_grades_are_unscored_with_the_evidence_that_is_missing(metajudge, write):
    path = write(*(graded(item, "x", item % 5) for item in range(4)))
    done = metajudge("vet", path, "--out", "out.jsonl")
    assert done.returncode == 0, done.stderr
    assert "unscored" in done.stdout
    assert "free evidence cannot decide on them" in done.stdout
    assert "no other judge graded this response, and this judge graded it once; no model was asked" in done.stdout
    assert "answers" not in done.stdout
    assert {one["status"] for one in lines(metajudge.folder / "out.jsonl")} == {"unscored"}


@pytest.mark.slow
def test_p_right_without_labels_is_named_so_and_can_be_left_out(metajudge, write):
    path = write(*CROWD)
    done = metajudge("vet", path, "--out", "out.jsonl")
    assert "P(right), no labels (6 judges, worth " in done.stdout
    assert "not calibrated, and no guarantee" in done.stdout
    assert "At most 94.4 % of the input's verdicts can be right" in done.stdout
    found = lines(metajudge.folder / "out.jsonl")
    assert {one["signals"]["no_labels"]["state"] for one in found} == {"no_labels"}
    assert {(one["probability"], one["calibrated"], one["guarantee"]) for one in found} == {(None, False, None)}
    plain = metajudge("vet", path, "--no-label-free", "--store", "other.duckdb", "--out", "plain.jsonl")
    assert "no labels" not in plain.stdout
    assert not any("no_labels" in one["signals"] for one in lines(metajudge.folder / "plain.jsonl"))


@pytest.mark.slow
def test_the_summary_counts_it_in_json(metajudge, write):
    summary, _ = metajudge.json("vet", write(*CROWD))
    found = summary["no_labels"]
    assert (found["judgments"], found["kept"]) == (180, summary["kept"])
    assert found["most_right"] == pytest.approx(170 / 180, abs=1e-6)
    assert found["expected_right"] / 180 == pytest.approx(0.9, abs=0.1)
    assert summary["rules"] == {"category": "equal"}


@pytest.mark.slow
def test_the_rule_of_what_is_right_can_be_given(metajudge, write):
    rows = [graded(item, judge, grade) for item in range(3) for judge, grade in (("x", 4), ("y", 4.4), ("z", 4.2))]
    strict, _ = metajudge.json("vet", write(*rows), "--right", "equal")
    near, _ = metajudge.json("vet", write(*rows), "--right", "within:0.5", "--store", "near.duckdb")
    assert (strict["kept"], near["kept"]) == (0, 9)
    assert near["rules"] == {"grade": "within:0.5"}
    wrong = metajudge("vet", write(*rows), "--right", "nearly")
    assert wrong.returncode == 2
    assert "no rule of what is right" in wrong.stderr


@pytest.mark.slow
def test_nine_identical_rankings_are_kept(metajudge, write):
    rows = [graded(1, f"j{n}", [["B"], ["A"], ["C"]], responses=3) for n in range(9)]
    summary, code = metajudge.json("vet", write(*rows))
    assert (summary["kept"], code) == (9, 0)
