"""``metajudge calibrate threshold``: promises by group, as a user asks for them."""

import json

import pytest

from metajudge.readers import write_jsonl
from tests.cli.conftest import Command
from tests.doubles.crowds import crowd

pytestmark = pytest.mark.slow  # a fit compares several penalties

SKILLS = {"owl": 0.92, "wren": 0.9, "jay": 0.5}


def without_label(one):
    return one.model_copy(update={"item": one.item.model_copy(update={"label": None})})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A calibration; labelled data of other questions."""
    folder = tmp_path_factory.mktemp("threshold")
    write_jsonl(folder / "fit.jsonl", crowd(100, seed=1, skills=SKILLS))
    write_jsonl(folder / "new.jsonl", crowd(160, seed=2, skills=SKILLS, prefix="n"))
    done = Command(folder)("calibrate", "fit", "--data", "fit.jsonl", "--share", "1", "--out", "cal.json")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def ask(made, tmp_path):
    (tmp_path / "cal.json").write_bytes((made / "cal.json").read_bytes())
    command = Command(tmp_path)

    def threshold(data, *more):
        return command(*("calibrate", "threshold", "--calibration", "cal.json", "--data", str(made / data)), *more)

    return threshold


def stored(tmp_path):
    return json.loads((tmp_path / "cal.json").read_text())


def test_what_can_be_promised_is_one_look_over_targets_and_the_highest_is_stored(ask, tmp_path):
    done = ask("new.jsonl", "--target", "0.99", "--or-lower")
    assert done.returncode == 0, done.stderr
    (stamp,) = stored(tmp_path)["guarantees"]
    (entry,) = stored(tmp_path)["looks"]["entries"]
    assert 0.6 < stamp["target"] < 0.99
    assert (stamp["level"], stamp["look"], entry["target"]) == (pytest.approx(0.075), 1, 0.99)
    assert f"at least {100 * stamp['target']:g} % of all of them are right" in done.stdout
    assert f"level 0.075 of delta 0.1: passed at {stamp['target']:g}." in done.stdout
    assert ask("new.jsonl", "--target", "0.99", "--or-lower").stdout.startswith("The same look again")
    assert len(stored(tmp_path)["looks"]["entries"]) == 1


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        ("new.jsonl", ["--procedure", "graphical"], "leave it out for the default, `ranks`"),
        ("new.jsonl", ["--by", "judge", "--schedule", "anytime"], "declare another schedule"),
        ("new.jsonl", ["--by", "judge", "--or-lower"], "leave out --by or --or-lower"),
        ("new.jsonl", ["--procedure", "e_process", "--or-lower"], "leave out the lower targets"),
    ],
)
def test_what_cannot_be_promised_is_refused_and_spends_nothing(ask, tmp_path, data, more, message):
    done = ask(data, "--target", "0.8", *more)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "looks" not in stored(tmp_path)


def test_thresholds_lie_in_ranks_of_the_unlabelled_questions_where_they_are_more_than_the_fits(ask, made, tmp_path):
    rest = crowd(130, seed=6, skills=SKILLS, prefix="u")
    write_jsonl(made / "more.jsonl", [*crowd(80, seed=3, skills=SKILLS, prefix="s"), *map(without_label, rest)])
    asked = {"more.jsonl": (), "new.jsonl": (), "more.jsonl by bets": ("--procedure", "e_process")}
    origins = []
    for data, more in asked.items():
        done = ask(data.split()[0], "--target", "0.8", "--judge", "owl", *more, "--json")
        assert done.returncode == 0, done.stderr
        origins += [one["procedure"]["origin"] for one in stored(tmp_path)["guarantees"]]
    assert origins[0] == "ranks of 260 scores without labels of 130 other questions"
    # Nothing without a label; and bets, whose thresholds stay the same while labels are added: the questions of the fit.
    assert origins[1] == origins[2] == "ranks of 600 scores without labels of 600 other questions"
