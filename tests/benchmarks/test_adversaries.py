"""Attacks on made judgments: the bookkeeping of the study."""

import importlib
import json
import os
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from metajudge.evidence.facts import collected
from tests.doubles.dependent_judges import judged

adversaries = importlib.import_module("metajudge.benchmarks.adversaries")
DATA = os.environ.get("METAJUDGE_DATA")


@pytest.fixture(scope="module")
def facts():
    return collected(judged(80))


def test_vetting_here_is_that_of_the_product(facts, tmp_path):
    import metajudge

    given = list(judged(80))
    known = {one.judgment_id: one for one in metajudge.vet(given)}
    found = adversaries.vetted(facts)
    for row, name in enumerate(facts.judgment_ids):
        assert found.kept[row] == (known[name].accepted is True)
        score = known[name].final_score
        assert np.isnan(found.score[row]) if score is None else found.score[row] == score


def test_exact_copies_that_are_added_change_nothing_and_without_the_discount_they_do():
    facts = collected(judged(200))
    attack = next(one for one in adversaries.ATTACKS if one.name == "two copies are added to three")
    clean = adversaries.vetted(facts)
    row = adversaries._row("made", facts, clean, [(np.ones(200, dtype=bool), None)] * 2, attack, 1.0, list(range(5)))
    assert (row.found, row.set_thresholds, row.broken) == (1.0, 0, None)
    assert (row.change.value, row.coverage) == (0.0, row.usual)
    assert row.undefended.value != 0.0
    assert row.counts_as == pytest.approx(25 / 11)


def test_audited_verdicts_until_people_notice():
    assert adversaries.until_noticed(0.9, 0.9) is None
    assert adversaries.until_noticed(0.9, 0.899) is None
    few, many = adversaries.until_noticed(0.9, 0.5), adversaries.until_noticed(0.9, 0.8)
    assert few < 20 < many < 200


def test_wrong_arguments_say_what_there_is(tmp_path):
    app = typer.Typer()
    app.command()(adversaries.main)
    for words in (["--data", tmp_path, "--only", "moon"], ["--data", tmp_path]):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 2
        assert "judgebench" in done.output


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="METAJUDGE_DATA names no folder of recorded data")
def test_three_copies_of_five_cost_three_points_at_most_or_it_is_said(tmp_path):
    """The recorded judges as they are raise no alarm; a second run takes what is there."""
    app = typer.Typer()
    app.command()(adversaries.main)
    words = ["--data", DATA, "--only", "judgebench", "--seeds", "3", "--trials", "0", "--json", tmp_path / "found.json"]
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    found = json.loads(Path(tmp_path / "found.json").read_text("utf-8"))["sets"]["judgebench"]
    assert [one["found"] for one in found["recorded"]] == [[]]
    copies = [one for one in found["rows"] if "copies" in one["attack"]]
    for one in copies:
        assert one["change"]["value"] > -0.03 or one["found"] + one["untold"] == 1.0
        assert one["innocent"] == 0.0
    before = (tmp_path / "found.json").read_bytes()
    assert CliRunner().invoke(app, [str(word) for word in words]).exit_code == 0
    assert (tmp_path / "found.json").read_bytes() == before
