"""The simulation finds a broken promise where there is one, and the product's procedures within what is allowed."""

import json
from dataclasses import replace

import numpy as np
import pytest
import typer
from metajudge.benchmarks.guarantee_simulation import looked, main, simulated
from metajudge.benchmarks.made_populations import populations
from metajudge.benchmarks.threshold_rules import asymptotic, drawn, ours

RNG = np.random.default_rng(0)
EVERY = {one.name: one for one in populations()}


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_no_promise_is_broken_more_often_than_delta(name):
    row = simulated(EVERY[name], ours("ranks"), 150, 1)
    assert row["broken"] <= row["allowed"]


def test_looking_again_with_more_labels_keeps_the_promise_at_the_levels_of_the_ledger():
    below, rule = EVERY["a hair below, n 60"], ours("ranks")
    assert simulated(below, rule, 60, 0, 8)["broken"] <= 0.1
    at_full_delta = [looked(below, lambda draw: rule(replace(draw, delta=0.1)), 8, RNG) for _ in range(60)]
    assert sum(found is not None for found in at_full_delta) > 8  # what the schedule prevents


def test_one_drawn_judgment_does_not_prove_all_kept_ones():
    """Hard questions carry more: a test of one judgment a question promises another quantity."""
    one = EVERY["hard questions carry more, n 190"]
    other = simulated(one, drawn("ranks"), 40, 0)
    assert other["broken"] > other["allowed"]
    assert simulated(one, ours("ranks"), 40, 0)["broken"] <= 0.1


@pytest.mark.slow
def test_the_asymptotic_test_is_seen_to_be_invalid():
    row = simulated(EVERY["a hair below, n 60"], asymptotic, 600, 0)
    assert row["broken"] > row["allowed"]


def test_timid_bold_and_shifted_scores_give_the_same_coverage_exactly():
    found = [
        simulated(EVERY[f"calibrated pairs, {kind}"], ours("ranks"), 20, 3) for kind in ("timid", "bold", "shifted")
    ]
    assert len({(row["coverage"], row["broken"], row["abstained"]) for row in found}) == 1


def test_a_run_goes_on_where_it_stopped(tmp_path, capsys):
    out = tmp_path / "found.jsonl"
    out.write_text(
        json.dumps(
            {
                "population": "ties",
                "target": 0.85,
                "n": 200,
                "broken": 0.5,
                "allowed": 0.1,
                "coverage": 0,
                "abstained": 0,
            }
        )
        + "\n"
    )
    with pytest.raises(typer.Exit) as ended:
        main(repetitions=2, procedure="ranks", out=out, only="ties", cross=False, seed=0, looks=1)
    assert ended.value.exit_code == 1  # the stored row was broken too often
    assert [json.loads(line)["population"] for line in out.read_text().splitlines()] == ["ties", "ties, up to four"]
    assert "1 of 2 populations within what is allowed. ties" in capsys.readouterr().out
