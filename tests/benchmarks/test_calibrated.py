"""Calibrations on benchmark data, with a real (small) fit."""

import json

import numpy as np
import pytest
from metajudge.benchmarks.bench_report import report_of
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.probabilities import load_calibrated
from metajudge.benchmarks.score_lines import score_lines

from metajudge.calibration.files import save_calibration
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.report.html import to_html
from tests.benchmarks.benches import bench_of
from tests.doubles.judgebench import game, pair
from tests.doubles.promised import promise

PAIRS = 40


SEEN = range(PAIRS)
"""The pairs fitted on."""
FRESH = range(1_000, 1_000 + PAIRS)


def records(numbers):
    """The owl is right where it agrees with itself, which is on three pairs of four; the hawk says half of that."""
    games = []
    for number in numbers:
        stays = number % 4 != 3
        games.append(game(number, "AB", "A>B"))
        games.append(game(number, "BA", "B>A" if stays else "A>B", label="B>A"))
        games.append(game(number, "AB", "A>B" if number % 2 else "B>A", judge="hawk"))
    return [pair(number) for number in numbers], games


@pytest.fixture
def place(folder):
    return folder(*records(FRESH))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    where = tmp_path_factory.mktemp("fit")
    for name, rows in zip(("pairs", "judgments"), records(SEEN), strict=True):
        (where / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    judgments = open_judgments([where]).all()
    table = build_table(judgments, ["order"], report=lambda judgment: judgment.judge == "owl")
    return fit_calibration(table, folds=2, repeats=1)


@pytest.fixture
def file(fitted, tmp_path):
    def write(*guarantees):
        path = tmp_path / "cal.json"
        save_calibration(fitted.model_copy(update={"guarantees": guarantees}), path)
        return path

    return write


def rows_of(findings, judge):
    (one,) = [one for one in findings.judges if one.judge == judge]
    return {row.name: row for row in one.rows}


def test_rows_at_given_coverage_and_at_the_guarantee(place, file):
    bench = bench_of(place, judges=("owl",))
    findings = bench.findings(bench.plan(), (), load_calibrated(file(promise(0.75, target=0.9)), bench))
    rows = rows_of(findings, "owl")
    guaranteed = rows["guaranteed 90 %"]
    assert guaranteed.threshold.value == 0.75
    assert guaranteed.threshold.origin == "guaranteed, set on labels of its own"
    assert (guaranteed.cells[OVERALL].n, guaranteed.cells[OVERALL].selected) == (80, 60)
    assert guaranteed.cells[OVERALL].precision.share == 1.0
    assert "calibrated probability, best 60 %" in {row.column for row in rows.values()}
    (owl,) = findings.judges
    assert owl.reliability
    assert any("one judgment drawn per question" in note for note in owl.notes)
    assert "calibration" in findings.provenance
    assert "reliability" in to_html(report_of(findings))


def test_questions_of_the_fit_are_never_kept_under_the_guarantee(folder, file):
    bench = bench_of(folder(*records(SEEN)), judges=("owl",))
    calibrated = load_calibrated(file(promise(0.01, target=0.9)), bench)
    findings = bench.findings(bench.plan(), (), calibrated)
    assert not [name for name in rows_of(findings, "owl") if name.startswith("guaranteed")]
    (owl,) = findings.judges
    assert any("out-of-fold" in note for note in owl.notes)
    assert "No guarantee covers 80 of 80 judgments, which lie outside its domain." in owl.notes
    lines = [json.loads(line) for line in score_lines(bench, (), calibrated)]
    assert {line["guaranteed"] for line in lines} == {False}
    assert {tuple(line["probability_marks"]) for line in lines} == {("seen_in_fit",)}


def test_a_row_kept_by_a_promise_for_several_judges_claims_nothing_for_one_of_them(place, file, fitted):
    both = fitted.identity.model_copy(update={"judges": ("hawk", "owl")})
    together = fitted.model_copy(update={"identity": both, "guarantees": (promise(0.75, target=0.9),)})
    path = file()
    save_calibration(together, path)
    bench = bench_of(place, judges=("owl",))
    findings = bench.findings(bench.plan(), (), load_calibrated(path, bench, allow_other_identity=True))
    assert "guaranteed 90 %, judges together" in rows_of(findings, "owl")
    assert "guaranteed 90 %" not in rows_of(findings, "owl")
    (owl,) = findings.judges
    assert any("Judgments by hawk and owl, taken together and not each judge alone" in note for note in owl.notes)


def test_evidence_is_that_of_all_records_whatever_the_limit(place, file):
    whole = load_calibrated(file(), bench_of(place, judges=("owl",))).probabilities
    part = load_calibrated(file(), bench_of(place, judges=("owl",), limit=7)).probabilities
    assert len(part) == 14  # seven items in both orders
    assert np.allclose([whole[name] for name in part], list(part.values()))


def test_another_judge_is_refused_unless_told_to_and_marked_then(place, file):
    bench = bench_of(place, judges=("hawk",))
    with pytest.raises(InputError, match="--allow-other-calibration"):
        load_calibrated(file(promise(0.75, target=0.9)), bench)
    told = load_calibrated(file(promise(0.75, target=0.9)), bench, allow_other_identity=True)
    findings = bench.findings(bench.plan(), (), told)
    (hawk,) = findings.judges
    assert any(note.endswith("are by a judge the fit does not know.") for note in hawk.notes)
    assert "guaranteed 90 %" not in rows_of(findings, "hawk")
