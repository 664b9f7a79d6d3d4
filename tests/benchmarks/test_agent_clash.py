"""The recomputed study on small made evaluations: what is counted, what is not, and what is refused."""

import json
import random

import typer
from metajudge.benchmarks.agent_clash.study import to_json

from metajudge.cli import bench as bench_cli
from tests.benchmarks.agent_clash.studies import values
from tests.doubles.clash_study import relabelled, row, study

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
app.add_typer(bench_cli.app)


def test_exchanging_labels_everywhere_changes_nothing_but_positions(figures):
    rows = study()
    one, other = values(figures(rows)), values(figures(relabelled(rows)))
    changed = {name for name in one if one[name] != other[name]}
    assert changed <= {name for name in one if name.startswith("audit.position.")}
    assert changed


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


def test_an_experiment_that_is_not_there_has_no_figures_rather_than_zeros(figures):
    found = figures([row(1), row(2, "abb")])
    zeros = {name: one.value for name, one in found.items() if one.n == 0 and one.value not in (None, [])}
    assert zeros == {}
    assert found["t6.run1.matches"].why == "There are no such rows in these data."
