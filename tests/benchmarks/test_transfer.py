"""The study of what carries over, on made crowds."""

import json

import numpy as np
import pytest
from metajudge.benchmarks.transfer import main
from metajudge.benchmarks.transfer_figures import compare, is_below
from metajudge.benchmarks.transfer_inputs import read_inputs

from metajudge.calibration.files import load_calibration
from metajudge.calibration.transfer import Prior
from metajudge.errors import InputError
from metajudge.readers import write_jsonl
from tests.doubles.crowds import crowd


def test_differences_are_paired_by_question() -> None:
    rng = np.random.default_rng(0)
    correct = rng.random(600) < 0.7
    questions = [f"q{number // 3}" for number in range(600)]
    good = np.where(correct, 0.8, 0.4)
    found = compare({"good": good, "base": np.full(600, correct.mean())}, correct, questions, resamples=200)
    assert found.questions == 200
    assert is_below(found.differences["base"]["log loss"])
    value, low, high = found.figures["good"]["best 60 %"]
    assert low <= value <= high
    assert value == pytest.approx(100.0)


def test_nothing_with_labels_is_an_error(tmp_path) -> None:
    with pytest.raises(InputError, match="no such file or folder"):
        read_inputs(tmp_path / "absent")
    with pytest.raises(InputError, match="no labelled judgments"):
        read_inputs(tmp_path)


@pytest.mark.slow
def test_two_files_of_ones_own_are_studied_and_resumed(tmp_path, capsys) -> None:
    data = tmp_path / "data"
    data.mkdir()
    write_jsonl(data / "one.jsonl", crowd(60))
    write_jsonl(data / "two.jsonl", crowd(50, seed=5, prefix="other"))
    arguments = {"seeds": 1, "resamples": 60, "work": tmp_path / "work.jsonl", "out": tmp_path / "out.json"}
    main(data, report=tmp_path / "r.md", write_prior=tmp_path / "prior.json", **arguments)
    first = json.loads((tmp_path / "out.json").read_text())
    assert [row["set"] for row in first["set"]] == ["one", "two"]
    assert {"transferred", "shipped", "heuristic", "base rate"} <= set(first["set"][0]["figures"])
    assert (tmp_path / "transfer-sets.svg").read_text().startswith("<svg")
    assert "Where a promise is refused" in (tmp_path / "r.md").read_text()
    prior = Prior.model_validate_json((tmp_path / "prior.json").read_text())
    assert [one.name for one in prior.sets] == ["one", "two"]
    assert load_calibration("shipped").transfer is not None
    lines = (tmp_path / "work.jsonl").read_text()
    (tmp_path / "work.jsonl").write_text(lines + '{"run": "half')  # the run was stopped here
    main(data, **arguments)
    assert json.loads((tmp_path / "out.json").read_text()) == first
    assert (tmp_path / "work.jsonl").read_text() == lines + '{"run": "half' + "\n"
    capsys.readouterr()
