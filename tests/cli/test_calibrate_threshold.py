"""``metajudge calibrate plan`` and ``threshold``: labels are drawn, filled in and looked at, as a user does it."""

import csv
import json
import shlex

import pytest

from metajudge.reading import write_jsonl
from tests.cli.conftest import Command
from tests.doubles.crowds import crowd

pytestmark = pytest.mark.slow  # a fit compares several penalties

SKILLS = {"owl": 0.8, "wren": 0.7, "jay": 0.6}
RANDOM = ("--labels-drawn", "random")


def without_label(one):
    return one.model_copy(update={"item": one.item.model_copy(update={"label": None})})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A calibration; data of other questions, with and without labels."""
    folder = tmp_path_factory.mktemp("threshold")
    new = crowd(160, seed=2, skills=SKILLS, prefix="n")
    write_jsonl(folder / "fit.jsonl", crowd(100, seed=1, skills=SKILLS))
    write_jsonl(folder / "labelled.jsonl", new)
    write_jsonl(folder / "new.jsonl", map(without_label, new))
    done = Command(folder)("calibrate", "fit", "--data", "fit.jsonl", "--share", "1", "--out", "cal.json")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def calibrate(made, tmp_path, in_process):
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return lambda *words: in_process("calibrate", *words)


@pytest.fixture
def ask(calibrate):
    return lambda data, *more: calibrate("threshold", "--calibration", "cal.json", "--data", data, *more)


def stored(tmp_path):
    return json.loads((tmp_path / "cal.json").read_text())


def fill(path, truth):
    """Fills a sheet in with the labels of another file; the items in their order."""
    right = {one["item"]["id"]: one["item"]["label"] for one in map(json.loads, truth.read_text().splitlines())}
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows({**row, "label": right[row["item_id"]]} for row in rows)
    return [row["item_id"] for row in rows]


def advised(done):
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("Next: ")]
    return shlex.split(line)[3:]


def test_a_planned_sheet_filled_in_gives_a_promise_above_its_floor_by_the_command_that_is_printed(calibrate, tmp_path):
    asked = ("plan", "new.jsonl", "--for", "0.93", "--calibration", "cal.json", "--judge", "owl")
    done = calibrate(*asked, "--questions", "100")
    assert done.returncode == 0, done.stderr
    (plan,) = stored(tmp_path)["looks"]["plans"]
    assert plan["questions"] == 100 < plan["among"] < 160
    assert f"Drawn: 100 of {plan['among']} questions (100 items), seed 0" in done.stdout
    assert f"Below this floor lie {160 - plan['among']} questions" in done.stdout
    first = fill(tmp_path / "to-label.csv", tmp_path / "labelled.jsonl")
    found = calibrate(*advised(done))
    assert found.returncode == 0, found.stderr
    (stamp,) = stored(tmp_path)["guarantees"]
    assert (stamp["questions"], stamp["floor"]) == (100, plan["floor"])
    assert plan["floor"] == min(stamp["procedure"]["grid"][-1], plan["floor"]) <= stamp["threshold"]
    assert "as stated" not in found.stdout
    assert "stated_random" not in stamp
    again = calibrate(*asked, "--questions", "100")
    assert again.returncode == 2
    assert "to-label.csv is there, and may have labels by now" in again.stderr
    grown = calibrate(*asked, "--questions", "110", "--labels", "to-label.csv", "--seed", "5", "--out", "more.csv")
    assert grown.returncode == 0, grown.stderr
    with (tmp_path / "more.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["item_id"] for row in rows][:100] == first, "the floor and the order of the first plan stay"
    assert [bool(row["label"]) for row in rows] == [True] * 100 + [False] * 10
    part = calibrate(*advised(grown))
    assert part.returncode == 0, part.stderr
    assert "100 of the 110 questions drawn have a label" in part.stderr


def test_without_a_calibration_the_draw_is_from_all_and_serves_the_fit_and_the_promise(calibrate, tmp_path):
    done = calibrate("plan", "new.jsonl", "--for", "0.7", "--questions", "150")
    assert done.returncode == 0, done.stderr
    fill(tmp_path / "to-label.csv", tmp_path / "labelled.jsonl")
    fitted = calibrate(*advised(done), "--share", "0.5")
    assert fitted.returncode == 0, fitted.stderr
    (then,) = [one for one in done.stdout.splitlines() if one.startswith("Then: ")]
    found = calibrate(*shlex.split(then)[3:])
    assert found.returncode == 0, found.stderr
    assert "at least 70 % of all of them are right on new questions like the 75" in found.stdout


def test_only_drawn_labels_carry_a_promise_and_on_the_users_word_it_says_so(ask, tmp_path):
    done = ask("labelled.jsonl", "--target", "0.7")
    assert done.returncode == 2
    assert "0 drawn, 0 picked, 160 unknown" in done.stderr
    assert "--labels-drawn random" in done.stderr
    with (tmp_path / "picked.csv").open("w") as stream:
        stream.write("item_id,label,chosen\n" + "".join(f"n{at},A>B,picked\n" for at in range(40)))
    done = ask("new.jsonl", "--target", "0.7", "--labels", "picked.csv", *RANDOM)
    assert done.returncode == 2
    assert "0 drawn, 40 picked, 0 unknown" in done.stderr
    assert "looks" not in stored(tmp_path), "a refusal spends nothing"
    done = ask("labelled.jsonl", "--target", "0.7", *RANDOM)
    assert done.returncode == 0, done.stderr
    assert ", if the labelled questions were drawn at random, as stated." in done.stdout
    (stamp,) = stored(tmp_path)["guarantees"]
    assert stamp["stated_random"] is True


def test_what_can_be_promised_is_one_look_over_targets_and_the_highest_is_stored(ask, tmp_path):
    done = ask("labelled.jsonl", "--target", "0.99", "--judge", "owl", *RANDOM)
    assert done.returncode == 0, done.stderr
    (stamp,) = stored(tmp_path)["guarantees"]
    (entry,) = stored(tmp_path)["looks"]["entries"]
    assert 0.6 < stamp["target"] < 0.99
    assert (stamp["level"], stamp["look"], entry["target"]) == (pytest.approx(0.075), 1, 0.99)
    assert "99 % is not reached. Judgments by owl with" in done.stdout
    assert f"at least {100 * stamp['target']:g} % of all of them are right" in done.stdout
    assert f"level 0.075 of delta 0.1: passed at {stamp['target']:g}." in done.stdout
    assert ask("labelled.jsonl", "--target", "0.99", "--judge", "owl", *RANDOM).stdout.startswith("The same look again")
    assert len(stored(tmp_path)["looks"]["entries"]) == 1


def test_after_a_miss_the_command_that_draws_more_runs_on_that_input(calibrate, ask, tmp_path):
    rows = [
        *crowd(30, seed=3, skills=SKILLS, prefix="s"),
        *map(without_label, crowd(120, seed=6, skills=SKILLS, prefix="u")),
    ]
    write_jsonl(tmp_path / "few.jsonl", rows)
    done = ask("few.jsonl", "--target", "0.9", "--judge", "owl", *RANDOM)
    assert "Next: metajudge calibrate plan few.jsonl --for 0.9" in done.stdout
    again = calibrate(*advised(done))
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "more-to-label.csv").exists()


def test_thresholds_lie_in_ranks_of_the_unlabelled_questions_where_they_are_more_than_the_fits(ask, tmp_path):
    rest = crowd(130, seed=6, skills=SKILLS, prefix="u")
    write_jsonl(tmp_path / "more.jsonl", [*crowd(80, seed=3, skills=SKILLS, prefix="s"), *map(without_label, rest)])
    fitted = (tmp_path / "cal.json").read_bytes()
    origins = []
    for data, more in (("more.jsonl", ()), ("labelled.jsonl", ()), ("more.jsonl", ("--schedule", "anytime"))):
        (tmp_path / "cal.json").write_bytes(fitted)
        done = ask(data, "--target", "0.6", "--judge", "owl", *more, *RANDOM, "--json")
        assert done.returncode == 0, done.stderr
        origins += [one["procedure"]["origin"] for one in stored(tmp_path)["guarantees"]]
    assert origins[0] == "ranks of 260 scores without labels of 130 other questions"
    # Nothing without a label; and bets, whose thresholds stay the same while labels are added: the questions of the fit.
    assert origins[1] == origins[2] == "ranks of 600 scores without labels of 600 other questions"
