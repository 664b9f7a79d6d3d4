import json
import random

import pytest


@pytest.mark.slow
def test_a_time_limit_that_comes_first_is_exit_code_1_with_the_bound(metajudge, tmp_path):
    source = random.Random(1)
    names = [f"m{i}" for i in range(60)]
    path = tmp_path / "hard.jsonl"
    path.write_text("\n".join(json.dumps({"ranking": source.sample(names, 60)}) for _ in range(7)), "utf-8")
    done = metajudge("rank", path, "--time-limit", "0.000001", "--json")
    assert done.returncode == 1
    data = json.loads(done.stdout)
    assert data["proven"] is False
    assert data["bound"] < data["cost"]
    assert "no order costs less than" in done.stderr


@pytest.mark.slow
def test_judgments_without_models_are_refused_and_never_ranked_by_place(metajudge, tmp_path):
    def one(number, **models):
        item = {"id": f"q{number}", "question": f"{number}?", "responses": {"A": "x", "B": "y"}}
        return {
            "id": f"j{number}",
            "item": item | ({"models": models} if models else {}),
            "judge": "g",
            "verdict": "B>A",
        }

    path = tmp_path / "j.jsonl"
    path.write_text("\n".join(json.dumps(one(number)) for number in range(3)), "utf-8")
    done = metajudge("rank", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "item.models" in done.stderr
    assert "--map models.A=COLUMN,models.B=COLUMN" in done.stderr

    rows = [one(1, A="gpt", B="claude"), one(2, A="claude", B="gpt"), one(3, A="gpt", B="claude"), one(4)]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    done = metajudge("rank", path)
    assert "2 candidates, 3 ballots" in done.stdout
    assert "says nothing about any single question" in done.stdout
    assert done.stderr.count("skipped:") == 1
