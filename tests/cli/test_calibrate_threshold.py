"""``metajudge calibrate threshold``: promises by group and about one file, as a user asks for them."""

import json

import pytest

from metajudge.readers import write_jsonl
from tests.cli.conftest import Command
from tests.doubles.crowds import crowd

pytestmark = pytest.mark.slow  # a fit compares several penalties, shared and per judge

SKILLS = {"owl": 0.92, "wren": 0.9, "jay": 0.5}


def without_label(one):
    return one.model_copy(update={"item": one.item.model_copy(update={"label": None})})


def second_turn(one):
    """Another item of the same question, without a label."""
    item = one.item.model_copy(update={"id": f"{one.item.id}-2", "label": None})
    return one.model_copy(update={"id": f"{one.id}-2", "item": item})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A calibration; labelled data of other questions; and a file of which half of the questions are labelled."""
    folder = tmp_path_factory.mktemp("threshold")
    write_jsonl(folder / "fit.jsonl", crowd(100, seed=1, skills=SKILLS))
    write_jsonl(folder / "new.jsonl", crowd(160, seed=2, skills=SKILLS, prefix="n"))
    sample, rest = crowd(80, seed=3, skills=SKILLS, prefix="s"), crowd(80, seed=4, skills=SKILLS, prefix="r")
    write_jsonl(folder / "file.jsonl", [*sample, *map(without_label, rest)])
    write_jsonl(folder / "partly.jsonl", [*sample, *map(second_turn, sample), *map(without_label, rest)])
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


def test_a_promise_for_each_judge_is_one_look_and_all_hold_together(ask, tmp_path):
    done = ask("new.jsonl", "--target", "0.8", "--by", "judge", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["look"]["number"] == 1
    assert found["look"]["level"] == pytest.approx(0.075)
    assert set(found["results"]) == set(SKILLS)
    owl = found["results"]["owl"]
    assert (owl["kind"], owl["judges"], owl["among"], owl["delta"], owl["look"]) == ("guarantee", ["owl"], 3, 0.1, 1)
    assert "Judgments by owl with" in owl["sentence"]
    assert "This holds for all 3 promises together." in owl["sentence"]
    passed = {name for name, one in found["results"].items() if one["kind"] == "guarantee"}
    assert {name for one in stored(tmp_path)["guarantees"] for name in one["judges"]} == passed
    again = ask("new.jsonl", "--target", "0.8", "--by", "judge")
    assert "The same look again" in again.stdout
    assert "owl: Judgments by owl with" in again.stdout
    assert len(stored(tmp_path)["looks"]["entries"]) == 1


def test_promises_by_category_cover_their_items_and_spend_from_the_same_ledger(ask, tmp_path):
    assert ask("new.jsonl", "--target", "0.8", "--judge", "owl").returncode == 0
    done = ask("new.jsonl", "--target", "0.8", "--judge", "owl", "--by", "category")
    assert done.returncode == 0, done.stderr
    assert "This is look 2 at" in done.stdout
    assert "in category Code" in done.stdout
    assert {one.get("category") for one in stored(tmp_path)["guarantees"]} == {None, "Code", "Math"}


def test_a_promise_about_this_file_lists_what_it_keeps_and_is_stamped_on_nothing(ask, tmp_path):
    done = ask("file.jsonl", "--target", "0.8", "--judge", "owl", "--this-file", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (one,) = found["results"].values()
    assert one["population"] == "this_file"
    assert "on the very questions that the 80 labelled ones were drawn from at random" in one["sentence"]
    assert found["file"]["judgments"] == 320
    assert found["file"]["labelled"] == 160
    assert found["file"]["outside"] == 0
    kept = found["file"]["kept"]
    assert {name[0] for name in kept} == {"s", "r"}
    assert all("/owl/" in name for name in kept)
    assert stored(tmp_path)["guarantees"] == []
    assert len(stored(tmp_path)["looks"]["entries"]) == 1
    assert "Nothing is stored" in ask("file.jsonl", "--target", "0.8", "--judge", "owl", "--this-file").stdout


def test_judgments_without_a_label_of_labelled_questions_are_outside_of_it_and_counted(ask):
    done = ask("partly.jsonl", "--target", "0.7", "--judge", "owl", "--this-file", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["file"]
    assert (found["labelled"], found["outside"]) == (160, 160)
    assert not any(name.endswith("-2") for name in found["kept"])


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        ("new.jsonl", ["--this-file"], "no question of the file is without a label"),
        ("file.jsonl", ["--this-file", "--by", "judge"], "leave out --by"),
        ("file.jsonl", ["--this-file", "--out", "other.json"], "not stored"),
        ("new.jsonl", ["--by", "judge", "--schedule", "anytime"], "declare another schedule"),
    ],
)
def test_what_cannot_be_promised_is_refused_and_spends_nothing(ask, tmp_path, data, more, message):
    done = ask(data, "--target", "0.8", *more)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "looks" not in stored(tmp_path)


def test_an_abstention_about_this_file_gives_no_advice_about_other_questions(ask):
    done = ask("file.jsonl", "--target", "0.99", "--judge", "jay", "--this-file")
    assert done.returncode == 1
    assert "No threshold can be guaranteed" in done.stdout
    assert "more labelled questions" not in done.stdout


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
