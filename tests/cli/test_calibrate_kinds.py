"""``metajudge calibrate`` on grades and categories."""

import json

from metajudge.reading import write_jsonl
from tests.cli.conftest import Command
from tests.doubles.graders import graded


def test_labels_under_one_instruction_are_fitted_and_promised_by_item(tmp_path):
    given = [
        one.model_copy(update={"item": one.item.model_copy(update={"question": "Is it good?"}), "meta": {"day": "x"}})
        for one in graded(120)
    ]
    write_jsonl(tmp_path / "labels.jsonl", given)
    command = Command(tmp_path)
    done = command(
        "calibrate", "fit", "--data", "labels.jsonl", "--signals", "peers", "--share", ".5", "--out", "c.json"
    )
    assert done.returncode == 0, done.stderr
    assert "One text covers 120 of 120 items" in done.stderr
    assert " judgments of 60 questions by" in done.stdout
    made = json.loads((tmp_path / "c.json").read_text())
    assert (made["recipe"], len(made["provenance"]["questions"])) == ({"unit": "item", "fit": 2}, 60)
    options = (
        "calibrate",
        "threshold",
        "--calibration",
        "c.json",
        "--data",
        "labels.jsonl",
        "--target",
        ".6",
        "--labels-drawn",
        "random",
    )
    done = command(*options)
    assert done.returncode == 0, done.stderr
    assert "on new items like the 60 the threshold was set on" in done.stdout
    refused = command(*options, "--unit", "question")
    assert refused.returncode == 2
    assert (
        "this calibration was fitted by item: give `--unit item`, or fit it again: `metajudge calibrate fit --unit "
        in (refused.stderr)
    )
    done = command("vet", "labels.jsonl", "--calibration", "c.json", "--out", "o.jsonl", "--store", "s.db")
    lines = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    fitted = {name for names in made["provenance"]["questions"].values() for name in names}
    assert {one["judgment_id"] for one in lines if "seen" in str(one["probability_marks"])} >= fitted
    assert ", 120 questions)" in done.stdout
    assert (
        "1 text covers all 120 items" in command("vet", "labels.jsonl", "--unit", "question", "--store", "t.db").stdout
    )
    done = command("calibrate", "fit", "--data", "labels.jsonl", "--unit", "day", "--out", "d.json")
    assert done.returncode == 2
    assert "labelled judgments are of one question" in done.stderr
