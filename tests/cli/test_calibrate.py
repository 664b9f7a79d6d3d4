"""``metajudge calibrate`` as a user runs it, on judgments made with a known truth."""

import json
import random

import pytest

from metajudge.readers import write_jsonl
from tests.cli.conftest import Command
from tests.doubles.judgments import judgment

pytestmark = pytest.mark.slow  # each fit compares several penalties, shared and per judge


def crowd(questions=60, seed=0):
    """Three judges in both orders: owl is good, wren is fair, jay follows the position."""
    generator = random.Random(seed)
    for i in range(questions):
        right = generator.choice(["A>B", "B>A"])
        wrong = "B>A" if right == "A>B" else "A>B"
        for judge, skill in (("owl", 0.9), ("wren", 0.7), ("jay", 0.5)):
            for order in (("A", "B"), ("B", "A")):
                verdict = right if generator.random() < skill else wrong
                if judge == "jay":
                    verdict = f"{order[0]}>{order[1]}"
                name = f"q{i}-{judge}-{''.join(order)}"
                yield judgment(
                    name,
                    item_id=f"q{i}",
                    question=f"question {i}",
                    judge=judge,
                    order=order,
                    label=right,
                    verdict=verdict,
                )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with labelled judgments, and calibrations of the good judge and of the one that follows the position."""
    folder = tmp_path_factory.mktemp("calibrate")
    write_jsonl(folder / "labelled.jsonl", crowd())
    fresh = crowd(80, seed=1)
    renamed = [
        one.model_copy(update={"item": one.item.model_copy(update={"question": f"new {one.item.question}"})})
        for one in fresh
    ]
    write_jsonl(folder / "other.jsonl", renamed)
    command = Command(folder)
    for judge, out in (("owl", "owl.json"), ("owl", "again.json"), ("jay", "jay.json")):
        done = command(
            "calibrate",
            "fit",
            "--data",
            "labelled.jsonl",
            "--signals",
            "order,strength,peers",
            "--judge",
            judge,
            "--out",
            out,
        )
        assert done.returncode == 0, done.stderr
        assert "all judges" in done.stdout
    return folder


@pytest.fixture
def calibrate(folder):
    command = Command(folder)
    return lambda *arguments: command("calibrate", *arguments)


def threshold(calibrate, name, data, target, *more):
    return calibrate("threshold", "--calibration", name, "--data", data, "--target", target, *more)


def test_the_same_input_gives_the_same_bytes(folder):
    assert (folder / "owl.json").read_bytes() == (folder / "again.json").read_bytes()
    json.loads((folder / "owl.json").read_text())


def test_a_threshold_is_stored_with_its_meaning_and_marked_where_it_is_approximate(calibrate):
    assert "No guaranteed threshold stored" in calibrate("show", "owl.json").stdout
    done = threshold(calibrate, "owl.json", "labelled.jsonl", "0.7", "--out", "with.json")
    assert done.returncode == 0, done.stderr
    assert "This is look 1 at" in done.stdout
    assert "level 0.075 of delta 0.1: passed" in done.stdout
    assert "Judgments by owl with a probability of" in done.stdout
    assert "with 90 % confidence at least 70 % of all of them are right" in done.stdout
    assert "approximate" in done.stdout
    shown = calibrate("show", "with.json").stdout
    assert "Guarantee: Judgments by owl with a probability" in shown
    assert "look 1 at" in shown
    assert "look 1 at" in calibrate("show", "owl.json").stdout, "the labels were looked at, wherever the threshold goes"


def test_on_questions_of_its_own_it_is_not_approximate(calibrate):
    done = threshold(calibrate, "again.json", "other.jsonl", "0.7", "--out", "exact.json")
    assert done.returncode == 0, done.stderr
    assert "approximate" not in done.stdout


def test_where_nothing_can_be_guaranteed_it_abstains_records_the_look_and_never_accepts_all(calibrate, folder):
    before = json.loads((folder / "jay.json").read_bytes())
    done = threshold(calibrate, "jay.json", "labelled.jsonl", "0.99")
    assert done.returncode == 1
    assert "No threshold can be guaranteed" in done.stdout
    assert "The next look is tested at a level of 0.0125" in done.stdout
    assert "not reachable" in done.stdout
    after = json.loads((folder / "jay.json").read_bytes())
    (look,) = after.pop("looks")["entries"]
    assert (look["outcome"], look["target"], look["level"]) == ("abstention", 0.99, pytest.approx(0.075))
    assert after == before

    again = threshold(calibrate, "jay.json", "labelled.jsonl", "0.99")
    assert again.returncode == 1
    assert "The same look again" in again.stdout
    assert json.loads((folder / "jay.json").read_bytes())["looks"]["entries"] == [look]
    other = threshold(calibrate, "jay.json", "labelled.jsonl", "0.98")
    assert "This is look 2" in other.stdout
    assert "level 0.0125 of delta 0.1: abstained" in other.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--signals", "order,astrology"), "astrology"),
        (("--judge", "nobody"), "the judges here are"),
        (("--signals", "rewards"), "rewards"),
        (("--signals", "agents"), "agents"),
    ],
)
def test_bad_input_is_named(calibrate, arguments, message):
    done = calibrate("fit", "--data", "labelled.jsonl", "--out", "cal.json", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_unlabelled_one_class_and_too_few(calibrate, folder):
    for name, records, message in (
        ("none", [judgment(f"j{i}", label=None) for i in range(20)], "label"),
        ("one", [judgment(f"j{i}") for i in range(20)], "are right"),
        ("few", list(crowd(2)), "fold"),
    ):
        write_jsonl(folder / f"{name}.jsonl", records)
        done = calibrate("fit", "--data", f"{name}.jsonl", "--signals", "order,strength", "--out", "cal.json")
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(("target", "delta"), [("1.0", "0.1"), ("0.9", "0"), ("0", "0.1")])
def test_targets_nobody_can_meet(calibrate, target, delta):
    done = threshold(calibrate, "owl.json", "labelled.jsonl", target, "--delta", delta)
    assert done.returncode == 2
    assert "strictly between 0 and 1" in done.stderr


def test_a_threshold_takes_those_of_the_calibrations_judges_that_are_in_the_data(calibrate, folder):
    """New labels for one judge must not be refused for want of the others."""
    fit = ("--data", "labelled.jsonl", "--signals", "order,strength,peers", "--pooled")
    assert calibrate("fit", *fit, "--out", "all.json").returncode == 0
    lines = [one for one in (folder / "other.jsonl").read_text().splitlines() if json.loads(one)["judge"] != "jay"]
    (folder / "two.jsonl").write_text("\n".join(lines) + "\n")
    done = calibrate(
        "threshold", "--calibration", "all.json", "--data", "two.jsonl", "--target", ".6", "--out", "x.json"
    )
    assert done.returncode == 0, done.stderr
    assert "Judgments by owl and wren, taken together and not each judge alone" in done.stdout
    assert calibrate("show", "all.json", "--data", "two.jsonl").returncode == 0
    (folder / "none.jsonl").write_text("\n".join(lines).replace('"owl"', '"emu"').replace('"wren"', '"rhea"') + "\n")
    done = calibrate("threshold", "--calibration", "all.json", "--data", "none.jsonl", "--target", ".6")
    assert done.returncode == 2
    assert "the judges here are emu, rhea" in done.stderr
