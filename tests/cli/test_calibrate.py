"""``metajudge calibrate`` as a user runs it, on judgments made with a known truth."""

import json
import random

import pytest

from metajudge.readers import write_jsonl
from tests.cli.conftest import Command
from tests.doubles.judgments import judgment

pytestmark = pytest.mark.slow  # each fit compares several penalties


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
            "peers",
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


def test_a_threshold_takes_those_of_the_calibrations_judges_that_are_in_the_data(calibrate, folder):
    """New labels for one judge must not be refused for want of the others."""
    fit = ("--data", "labelled.jsonl", "--signals", "peers")
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
