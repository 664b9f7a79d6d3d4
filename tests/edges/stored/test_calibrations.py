"""Calibrations that 0.2 wrote: the ledger of looks counts on, promises and their procedures are read."""

import json

import pytest

from tests.edges.recorded import check, steady
from tests.edges.stored.stores import LOOKS, PROCEDURES, threshold
from tests.stored.commands import run

SHOWN = ("calibration", "pooled", *(f"by_{name}" for name in PROCEDURES))


@pytest.mark.parametrize("name", SHOWN)
def test_it_is_shown(place, name):
    with place("evidence"):
        done = run("calibrate", "show", f"{name}.json", "--json")
    assert done.code == 0, done.stderr
    check(f"stored/show_{name}", brief(steady(done.json())))


def test_a_look_taken_before_costs_nothing_again(fresh):
    with fresh("evidence"):
        before = ledger()
        done = run(*LOOKS[-1])
        assert done.code == 0, done.stderr
        assert done.json()["repeated"] is True
        assert ledger() == before
    assert [one["number"] for one in before] == [1, 2]


def test_a_third_look_gets_what_the_first_two_left(fresh):
    with fresh("evidence") as (folder, _):
        lines = (folder / "look_more.jsonl").read_text("utf-8").splitlines(keepends=True)
        new = [line.replace('"n', '"x') for line in lines[:180]]
        (folder / "third.jsonl").write_text("".join([*lines, *new]), "utf-8")
        done = run(*threshold("calibration.json", "third.jsonl", "--target", "0.8"))
        found = {"exit": done.code, "look": steady(done.json()["look"]), "ledger": ledger()}
    assert [one["level"] for one in found["ledger"]][:2] == pytest.approx([0.075, 0.0125])
    assert sum(one["level"] for one in found["ledger"]) < 0.1
    check("stored/third_look", steady(found))


def test_looks_stay_spent_under_another_recipe(fresh):
    with fresh("evidence"):
        refused = run(*threshold("calibration.json", "look.jsonl", "--target", "0.75", "--unit", "item"))
        assert refused.code == 2
        assert "fit it again: `metajudge calibrate fit --unit item ...`" in refused.stderr
        before = ledger()
        done = run(
            "calibrate", "fit", "--data", "fit.jsonl", "--unit", "item", "--share", "1", "--out", "calibration.json"
        )
        assert done.code == 0, done.stderr
        assert "2 look(s)" in done.stdout
        done = run(*threshold("calibration.json", "look_more.jsonl", "--target", "0.75"))
        assert done.json()["look"]["level"] == pytest.approx(0.1 * 0.25 / 6)
        assert done.json()["look"]["relation"] == "rescored"
        fewer = run(*threshold("calibration.json", "look.jsonl", "--target", "0.7"))
        assert fewer.code == 2
        assert "are missing" in fewer.stderr
        assert ledger()[:2] == before


@pytest.mark.slow
@pytest.mark.parametrize("name", ["calibration", "by_bonferroni"])
def test_it_is_applied(fresh, name):
    with fresh("evidence") as (folder, _):
        done = run(*f"vet new.jsonl --calibration {name}.json --store other.db --out out.jsonl --json".split())
        assert done.code == 0, done.stderr
        rows = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()][:24]
    kept = ("judgment_id", "final_score", "accepted", "probability", "probability_threshold", "outside_guarantee")
    check(f"stored/applied_{name}", [[one.get(name) for name in kept] for one in rows])


def ledger():
    """The looks that the calibration holds."""
    shown = run("calibrate", "show", "calibration.json", "--json").json()
    return list(looks_in(shown) or ())


def looks_in(value):
    """The list of looks, wherever in the answer it stands."""
    if isinstance(value, dict):
        if isinstance(value.get("looks"), list):
            return value["looks"]
        value = list(value.values())
    found = [looks_in(one) for one in value] if isinstance(value, list) else []
    return next((one for one in found if one), None)


def brief(value):
    """Long lists of numbers by their ends and their length."""
    if isinstance(value, dict):
        return {name: brief(one) for name, one in value.items()}
    if isinstance(value, list):
        short = [brief(one) for one in value]
        return short if len(short) <= 24 else [*short[:4], f"{len(short)} in all", *short[-4:]]
    return value
