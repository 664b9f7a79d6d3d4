"""``metajudge calibrate``: held-out questions and agents' scores, as a user runs them."""

import json

import pytest

from metajudge.readers import write_jsonl
from metajudge.types import AgentResult, Assessment, Status
from tests.cli.conftest import Command
from tests.doubles.crowds import crowd

pytestmark = pytest.mark.slow  # each fit compares a dozen models, several times


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibrate")
    records = crowd(120)
    write_jsonl(folder / "data.jsonl", records)
    lines = []
    for number, one in enumerate(records):
        good = 4.0 if one.correct else 2.0
        agents = tuple(
            AgentResult(agent=name, model=f"m-{name}", weight=1.0, score=score)
            for name, score in (("sharp", good + number % 3 / 4), ("dull", 1.0 + number % 5))
        )
        lines.append(
            Assessment(
                judgment_id=one.id,
                item_id=one.item.id,
                judge=one.judge,
                status=Status.ASSESSED,
                accepted=True,
                final_score=3.0,
                agents=agents,
                strategy="weighted_average",
                threshold=4.5,
                rubric_digest="r",
                prompt_digest="p",
                panel_digest="d",
                judgment_digest=one.digest,
                metajudge_version="0",
            ).model_dump_json()
        )
    (folder / "scores.jsonl").write_text("\n".join(lines) + "\n")
    done = Command(folder)(
        "calibrate",
        "fit",
        "--data",
        "data.jsonl",
        "--signals",
        "peers",
        "--share",
        "0.5",
        "--out",
        "half.json",
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def calibrate(folder):
    command = Command(folder)
    return lambda *arguments: command("calibrate", *arguments)


def test_questions_left_out_of_the_fit_give_an_exact_threshold(calibrate, folder):
    done = calibrate(
        "threshold", "--calibration", "half.json", "--data", "data.jsonl", "--target", "0.7", "--out", "with.json"
    )
    assert done.returncode == 0, done.stderr
    assert "approximate" not in done.stdout
    assert "60 of 120 questions that were not fitted on" in done.stderr
    (found,) = json.loads((folder / "with.json").read_text())["guarantees"]
    assert found["questions"] == 60
    assert not found["approximate"]


def test_all_questions_give_an_approximate_one(calibrate):
    done = calibrate(
        "threshold",
        "--calibration",
        "half.json",
        "--data",
        "data.jsonl",
        "--target",
        "0.7",
        "--questions",
        "all",
        "--out",
        "all.json",
    )
    assert done.returncode == 0, done.stderr
    assert "approximate" in done.stdout


def test_where_no_question_is_new_asking_for_new_ones_says_what_to_do(calibrate):
    calibrate("fit", "--data", "data.jsonl", "--signals", "peers", "--out", "whole.json")
    done = calibrate(
        "threshold", "--calibration", "whole.json", "--data", "data.jsonl", "--target", "0.7", "--questions", "new"
    )
    assert done.returncode == 2
    assert "--share" in done.stderr


def test_agents_scores_are_a_signal_and_part_of_the_identity(calibrate, folder):
    done = calibrate(
        "fit",
        "--data",
        "data.jsonl",
        "--signals",
        "strength,agents",
        "--agent-scores",
        "scores.jsonl",
        "--out",
        "a.json",
    )
    assert done.returncode == 0, done.stderr
    identity = json.loads((folder / "a.json").read_text())["identity"]
    assert identity["agents"] == {"dull": "m-dull", "sharp": "m-sharp"}
    assert (identity["rubrics"], identity["prompts"]) == (["r"], ["p"])
    other = (folder / "scores.jsonl").read_text().replace("m-sharp", "m-other")
    (folder / "other.jsonl").write_text(other)
    done = calibrate(
        "threshold",
        "--calibration",
        "a.json",
        "--data",
        "data.jsonl",
        "--target",
        "0.7",
        "--agent-scores",
        "other.jsonl",
    )
    assert done.returncode == 2
    assert "its agents are" in done.stderr
