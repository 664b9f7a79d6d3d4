"""``metajudge vet`` without agents on grades, categories and rankings."""

import json

import pytest


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
