"""Calibrations, plans and scores as files."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import orjson
import pytest

from metajudge.calibration.domain import Mark
from metajudge.calibration.files import load_calibration, locked, save_calibration, save_fit
from metajudge.calibration.guarantee import guaranteed_threshold
from metajudge.calibration.looks import Looks
from metajudge.errors import InputError
from tests.calibration.fitted_crowd import values


def test_saved_and_read_again_it_gives_the_same_probabilities_and_the_same_bytes(fitted, fresh, tmp_path):
    save_calibration(fitted, tmp_path / "cal.json")
    again = load_calibration(tmp_path / "cal.json")
    assert np.array_equal(values(again.probabilities(fresh)), values(fitted.probabilities(fresh)))
    save_calibration(again, tmp_path / "again.json")
    assert (tmp_path / "cal.json").read_bytes() == (tmp_path / "again.json").read_bytes()


def test_a_calibration_whose_verdicts_were_cut_is_refused_and_one_without_them_still_reads(fitted, table, tmp_path):
    data = orjson.loads(fitted.to_json())
    old = {**data, "provenance": {name: one for name, one in data["provenance"].items() if name != "verdicts"}}
    (tmp_path / "old.json").write_bytes(orjson.dumps(old))
    assert set(load_calibration(tmp_path / "old.json").probabilities(table).marks) == {(Mark.SEEN,)}
    data["provenance"]["verdicts"].popitem()
    (tmp_path / "cut.json").write_bytes(orjson.dumps(data))
    with pytest.raises(InputError, match="verdicts do not match"):
        load_calibration(tmp_path / "cut.json")


def test_a_calibration_of_another_version_is_refused(fitted, tmp_path):
    data = orjson.loads(fitted.to_json())
    data["identity"]["version"] = 99
    path = tmp_path / "cal.json"
    path.write_bytes(orjson.dumps(data))
    with pytest.raises(InputError, match=r"of version 99.*fit it again"):
        load_calibration(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not valid JSON"), ("[]", "is no calibration"), ('{"identity": {"version": 1}}', "damaged calibration")],
)
def test_what_is_no_calibration_is_refused(tmp_path, content, message):
    (tmp_path / "cal.json").write_text(content)
    with pytest.raises(InputError, match=message):
        load_calibration(tmp_path / "cal.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*nowhere"):
        load_calibration(tmp_path / "nowhere.json")


def test_the_file_holds_no_texts_and_no_python(fitted):
    text = fitted.to_json().decode()
    assert "question 1" not in text
    assert json.loads(text)["identity"]["judges"] == ["jay", "owl", "wren"]


def test_looks_made_at_the_same_time_are_all_recorded(fitted, tmp_path):
    """Each reads, looks and writes under the lock: none takes the place of another."""
    path = tmp_path / "cal.json"
    save_calibration(fitted, path)

    def one(number):
        with locked(path):
            looks = Looks(load_calibration(path).looks)
            rows = [0.9] * 30, [True] * 30, [f"q{at}" for at in range(30)]
            guaranteed_threshold(*rows, target=0.5 + number / 100, delta=0.1, looks=looks)
            time.sleep(0.01)
            save_calibration(fitted.model_copy(update={"looks": looks.ledger}), path)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(one, range(6)))
    entries = load_calibration(path).looks.entries
    assert [one.number for one in entries] == [1, 2, 3, 4, 5, 6]
    assert len({one.target for one in entries}) == 6


def test_another_fit_in_the_same_file_keeps_its_looks(fitted, tmp_path):
    path, looks = tmp_path / "cal.json", Looks()
    assert save_fit(fitted, path) == 0
    guaranteed_threshold([0.9] * 9, [True] * 9, list("abcdefghi"), target=0.8, delta=0.1, looks=looks)
    save_calibration(fitted.model_copy(update={"looks": looks.ledger}), path)
    assert save_fit(fitted, path) == 1
    assert load_calibration(path).looks == looks.ledger
