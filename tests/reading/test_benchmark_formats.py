"""Recorded verdicts of benchmarks: ReaLMistake, RewardBench 2 and its scores, Arena-Hard, AlpacaEval."""

import gzip
import json
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.reading.formats.realmistake import WITHHELD
from metajudge.reading.rewards import find_reward_scores, read_reward_scores
from metajudge.types import Category, Ranking
from tests.reading.conftest import Write
from tests.reading.interop_files import INTEROP


def detection(model: str = "gpt-4-0613", **changes: Any) -> dict[str, Any]:
    task = {"task_name": "math_problem_generation", "task_source": "aqua", "difficulty": "easy"}
    metadata = {"id": f"math_problem_generation_7_{model}", "llm_response_model": model, **task}
    said = {"response": " The response errs. ", "prediction": "error", "label": "error", "correct": True}
    return {**said, "metadata": metadata, "judge": "gpt-4", "prompt_name": "prompt_1", **changes}


def test_a_record_is_one_category_with_its_label_and_its_prompt(write: Write) -> None:
    path = write("judgments.jsonl.gz", detection(), packed=True)
    source = open_judgments([path])
    (judgment,) = source
    assert list(source.formats.values()) == ["ReaLMistake detections"]
    assert (judgment.id, judgment.judge) == ("math_problem_generation_7_gpt-4-0613/gpt-4/prompt_1", "gpt-4/prompt_1")
    assert judgment.verdict == judgment.item.truth == Category("error")
    assert judgment.correct is True
    assert (judgment.rationale, judgment.item.category) == ("The response errs.", "math_problem_generation")
    assert (judgment.meta["judge_model"], judgment.meta["judge_prompt"]) == ("gpt-4", "prompt_1")
    assert judgment.item.responses == {"A": WITHHELD}
    assert judgment.item.models == {"A": "gpt-4-0613"}


def choice(letter: str = "B", **changes: Any) -> dict[str, Any]:
    data = (
        {"id": "5", "subset": "Precise IF", "results": 1.0, "parsed_letter": letter}
        | {"judgement_text": f"[[{letter}]]", "phase": "P2a", "judge": "org/judge", "ordering": 6}
        | {"permutation": [1, 0, 2, 3], "row": 9}
    )
    return {**data, **changes}


def test_reward_scores_beside_the_passes_name_the_same_items(write: Write) -> None:
    row = {"id": "5", "subset": "Precise IF", "num_correct": 1, "scores": [[2.5], [1], [0.5], [-1]], "model": "rm"}
    path = write("data/reward_scores.jsonl.gz", row, packed=True)
    write("data/judgments.jsonl", choice())
    (judgment,) = open_judgments([path.parent])
    found = find_reward_scores(path.parent)
    assert found == path
    (score,) = read_reward_scores(found)
    assert score.item_id == judgment.item.id
    assert score.margin("0", "3") == pytest.approx(3.5)


RESULTS = INTEROP / "published" / "rewardbench2-results.json"


def test_the_scores_of_a_reward_model_are_a_ranking() -> None:
    source = open_judgments([RESULTS])
    found = list(source)
    assert (source.formats, source.rejects) == ({str(RESULTS): "RewardBench 2 results"}, 0)
    assert [one.verdict for one in found] == [
        Ranking((("0",), ("1",), ("2",), ("3",))),
        Ranking((("1", "2"), ("0",), ("3",))),
        Ranking((("0",), ("1",), ("2",), ("3",))),
    ]
    labels = [Ranking((("0",), ("1", "2", "3"))), Ranking((("0", "1"), ("2", "3")))]
    assert [one.item.label for one in found[1:]] == labels
    told = found[0].judge, found[0].item.id, found[0].item.category
    assert told == ("ours/wren-reward", "Factuality/1", "Factuality")


def test_scores_in_the_order_shown_are_turned_back(tmp_path):
    rows = [
        {"item_id": "i", "judge_model": "rm", "order": "AB", "score_a": 1.5, "score_b": -2, "label": "A>B"},
        {"item_id": "k", "judge_model": "rm", "order": "BA", "score_a": 1.5, "score_b": -2},
        {"item_id": "l", "model": "other", "scores": {"x": 1, "y": 2}},
    ]
    path = tmp_path / "reward_scores.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    assert find_reward_scores(tmp_path) == path
    first, second, third = read_reward_scores(path)
    assert (first.margin("A", "B"), second.margin("A", "B"), third.margin("x", "y")) == (3.5, -3.5, -1)
    assert third.margin("x", "z") is None


def test_a_folder_without_scores_has_none(tmp_path):
    assert find_reward_scores(tmp_path) is None
    assert find_reward_scores(tmp_path / "reward_scores.jsonl") is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"item_id": "i", "judge_model": "rm", "score_a": 1}', "field 'score_b' is missing"),
        ('{"item_id": "i", "judge_model": "rm", "score_a": "high", "score_b": 1}', "finite number, not 'high'"),
        ('{"item_id": "i", "judge_model": "rm", "order": "BC", "score_a": 2, "score_b": 1}', "order must be"),
        ('{"item_id": "", "model": "rm", "scores": {"A": 1}}', "item_id must be a text"),
        ("{half", ":1"),
        ("", "is empty"),
    ],
)
def test_a_bad_line_is_named_with_file_and_line(tmp_path, line, message):
    path = tmp_path / "reward_scores.jsonl"
    path.write_text(line)
    with pytest.raises(InputError, match=message):
        read_reward_scores(path)


@pytest.mark.parametrize("name", ["reasons", "bare"])
def test_what_alpaca_eval_wrote_has_its_text_its_time_and_the_order_shown(name: str) -> None:
    path = INTEROP / "alpaca_eval" / f"alpaca-{name}.json"
    source = open_judgments([path])
    found = list(source)
    written = json.loads(path.read_text())
    assert (source.rejects, len(found)) == (0, 6)
    for row, one in zip(written, found, strict=True):
        assert one.meta["time"] == row["preference_date"]
        assert one.meta["judge_version"] == "alpaca_eval==0.6.6"
        assert one.meta["order_known"]
        said_first = "(a)" in row["preference_raw_completion"] or "[[A]]" in row["preference_raw_completion"]
        assert (one.order[0] == one.verdict.winner) == said_first
        assert one.rationale == ("" if name == "bare" else row["preference_raw_completion"])
    assert {one.order for one in found} == {("A", "B"), ("B", "A")}
