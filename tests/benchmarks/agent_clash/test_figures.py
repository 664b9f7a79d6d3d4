"""Figures of the recomputed study on small made evaluations: what is counted, what is not, and what is explained."""

import json
import random

import typer
from metajudge.benchmarks.agent_clash.figures import PUBLISHED, Explanation, agrees, beside, compare
from metajudge.benchmarks.agent_clash.study import to_json

from metajudge.cli import bench as bench_cli
from tests.doubles.clash_study import PANEL, row, study


def test_no_statistic_is_made_up_where_rows_are_missing(figures):
    found = figures([row(1)])
    assert {"t6.run1.matches", "e2e.stable", "run3.still_wrong", "t9.z", "self.first"} <= set(found)
    for name in (
        "t6.run1.wilson",
        "e2e.stable",
        "run3.still_wrong_p",
        "t9.z",
        "self.first",
        "exp1.kappa_side",
        "t3.ids",
    ):
        assert found[name].value in (None, []), name
    assert all(one.why for one in found.values() if one.value is None)
    assert {name for name in PUBLISHED if not name.startswith(("ablation", "split.by"))} <= set(found)
    parsed = json.loads(to_json(found))
    assert parsed["elo.direction"]["value"] is None
    assert "not published" in parsed["elo.direction"]["why"]


def shown(*given):
    return beside("exp1.sign_p_exact", compare(*given))


def test_an_explanation_counts_only_where_it_gives_the_papers_figure():
    good = shown(0.2266, 11, "d", None, Explanation(how="another test", value=0.1317))
    assert good.why == "The paper's figure is another test."
    bad = shown(0.2266, 11, "d", None, Explanation(how="another test", value=0.5))
    assert "here that gives 0.5" in str(bad.why)
    assert shown(0.1317, 11, "d").why is None
    assert "No computation" in str(shown(0.3, 11, "d").why)


def test_agreement_is_to_the_last_printed_digit():
    assert agrees(0.7604, PUBLISHED["exp1.kappa_side"])
    assert not agrees(0.7639, PUBLISHED["exp1.kappa_side"])  # printed 0.760
    assert agrees({"difference": -24.96, "n": 44, "more": 1}, PUBLISHED["self.by_model.gpt-4"])
    assert not agrees({"n": 44}, PUBLISHED["self.by_model.gpt-4"])
    assert not agrees(None, PUBLISHED["t9.z"])


def test_a_lost_judge_makes_no_panel_unanimous(figures):
    found = figures([row(1, "aa-"), row(2, "ab-"), row(3, "aaa"), row(4, "aab"), row(5, "b--")])
    assert found["unanimity.unanimous"].n == 1
    assert found["unanimity.split"].n == 1
    assert "3 rows that lack a panel judge" in found["unanimity.unanimous"].why
    # two of three decide, one of two does not
    assert found["ablation.panel"].n == 3
    assert "2 more rows have no majority" in found["ablation.panel"].why
    assert found["audit.fewer_than_panel"].value == 3
    assert found[f"ablation.mtbench.{PANEL[2]}"].n == 2


app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(bench_cli.app)


def test_altered_studies_never_crash_and_never_print_a_number_that_is_none(figures):
    rng = random.Random(11)
    for _ in range(25):
        rows = rng.sample(study(rng.randrange(100)), rng.randrange(1, 60))
        for one in rows:
            if rng.random() < 0.2:
                one["judges"] = [v for v in one["judges"] if rng.random() < 0.6]
            if rng.random() < 0.1:
                one["human_winner"] = rng.choice([None, "tie", ""])
            if rng.random() < 0.1:
                one.update(status="no_verdict", ai_winner=None, judges=[], label_map=None)
            if rng.random() < 0.1:
                one.update(cost_usd=None, elapsed_s=None, e2e=None, confidence_recorded=None)
        text = to_json(figures(rows))
        assert "NaN" not in text
        assert "Infinity" not in text
        for entry in json.loads(text).values():
            assert entry["value"] is not None or entry["why"]
            assert set(entry) <= {"value", "n", "interval", "definition", "paper", "why"}


def test_the_order_of_the_file_changes_nothing(figures):
    rows = [row(number, votes, cost_usd=0.1 * number) for number, votes in enumerate(["aaa", "aab", "abb"] * 4, 1)]
    rows += [row(number, "aa-", experiment="arena", cost_usd=0.7 / number) for number in range(1, 14)]
    assert to_json(figures(rows)) == to_json(figures(rows[::-1]))
