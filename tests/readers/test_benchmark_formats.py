"""Recorded verdicts of benchmarks: ReaLMistake, RewardBench 2 and its scores, Arena-Hard, AlpacaEval."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import Reject, open_judgments
from metajudge.readers.realmistake import WITHHELD
from metajudge.readers.rewards import find_reward_scores, read_reward_scores
from metajudge.types import Category, Ranking
from tests.readers.conftest import Write
from tests.readers.interop_files import INTEROP


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


def test_responses_of_both_models_to_one_example_are_one_question_and_two_items(write: Write) -> None:
    first, second = open_judgments([write("r.jsonl", detection(), detection("meta-llama/Llama-2-70b-chat-hf"))])
    assert first.item.question == second.item.question
    assert first.item.id != second.item.id
    assert first.item.digest != second.item.digest


def test_an_unread_prediction_is_no_verdict_and_an_unknown_one_a_bad_line(write: Write) -> None:
    rows = [detection(prediction=None), detection(prediction="maybe", prompt_name="prompt_2")]
    unread, bad = open_judgments([write("r.jsonl", *rows)]).scan()
    assert unread.verdict is None
    assert "could be read" in (unread.no_verdict or "")
    assert "prediction" in bad.reason


def choice(letter: str = "B", **changes: Any) -> dict[str, Any]:
    data = (
        {"id": "5", "subset": "Precise IF", "results": 1.0, "parsed_letter": letter}
        | {"judgement_text": f"[[{letter}]]", "phase": "P2a", "judge": "org/judge", "ordering": 6}
        | {"permutation": [1, 0, 2, 3], "row": 9}
    )
    return {**data, **changes}


def test_the_letter_is_turned_back_to_the_candidate_at_that_slot(write: Write) -> None:
    right, wrong = open_judgments([write("passes.jsonl", choice("B"), choice("A", phase="P2b"))])
    assert right.verdict == Ranking((("0",), ("1", "2", "3")))
    assert right.correct is True
    assert wrong.verdict == Ranking((("1",), ("0", "2", "3")))
    assert wrong.correct is False
    assert right.order == ("1", "0", "2", "3")
    assert right.shown_labels == ("A", "B", "C", "D")
    assert right.item == wrong.item
    assert right.item.category == "Precise IF"
    assert [right.id, wrong.id] == ["Precise IF/5/org/judge/P2a/6", "Precise IF/5/org/judge/P2b/6"]


def test_items_of_one_subset_and_id_in_other_rows_stay_apart(write: Write) -> None:
    rows = [choice(), choice(row=10), choice(phase="P2b"), choice(phase="P2b", row=10)]
    found = list(open_judgments([write("passes.jsonl", *rows)]))
    assert [one.item.id for one in found] == ["Precise IF/5", "Precise IF/5/10"] * 2


def test_an_unread_choice_is_no_verdict_and_a_permutation_of_other_candidates_a_bad_line(write: Write) -> None:
    rows = choice("error"), choice("error", phase="x", judgement_text=""), choice(permutation=[0, 0, 1, 2])
    *unread, bad = open_judgments([write("p.jsonl", *rows)]).scan()
    assert [one.verdict for one in unread] == [None, None]
    assert ["A to D" in unread[0].no_verdict, "empty" in unread[1].no_verdict] == [True, True]
    assert "permutation" in bad.reason


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


def test_results_of_judges_that_write_are_refused_because_they_name_no_choice(write: Write) -> None:
    data = json.loads(RESULTS.read_text())
    del data["scores"]
    with pytest.raises(InputError, match="whether the choice was right and not what it was"):
        open_judgments([write("results.json", data)])


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


def prompt(question: str, first: str, second: str) -> str:
    return (
        f"<|User Prompt|>\n{question}\n\n<|The Start of Assistant A's Answer|>\n{first}\n<|The End of Assistant A's "
        f"Answer|>\n\n<|The Start of Assistant B's Answer|>\n{second}\n<|The End of Assistant B's Answer|>"
    )


def old(scores: tuple[str | None, str | None] = ("A>>B", "B>A"), **changes: Any) -> dict[str, Any]:
    """A line as version 0.1 writes it: the second game shows the answers swapped."""
    shown = (prompt("Why?", "base", "new\n"), prompt("Why?", "new\n", "base"))
    games = [
        {"user_prompt": text, "judgment": f"\nMy own answer... [[{score}]]", "score": score}
        for text, score in zip(shown, scores, strict=True)
    ]
    return {"question_id": "q1", "model": "new-7b", "judge": "gpt-4-1106-preview", "games": games} | changes


def new(**changes: Any) -> dict[str, Any]:
    """A line as version 2.0 writes it."""
    shown = (prompt("Why?", "base", "new"), prompt("Why?", "new", "base"))
    games = [
        {
            "score": score,
            "judgment": {"answer": f"I think [[{score}]]"},
            "prompt": [{"role": "system", "content": "Be fair."}, {"role": "user", "content": text}],
        }
        for text, score in zip(shown, ("A<B", "A=B"), strict=True)
    ]
    head = {"uid": "u1", "category": "hard_prompt", "judge": "gpt-4.1", "model": "new-7b", "baseline": "o3-mini"}
    return {**head, "games": games, **changes}


def test_both_games_are_turned_back_to_the_models(write: Write) -> None:
    source = open_judgments([write("x.jsonl", old())])
    first, second = source
    assert source.formats.popitem()[1] == "Arena-Hard judgments"
    assert first.item == second.item
    assert first.item.responses == {"A": "base", "B": "new\n"}
    assert first.item.models == {"B": "new-7b"}
    # Shown first in the second game was the model: B>A there means that the baseline is better.
    assert [(str(one.verdict), one.order) for one in (first, second)] == [("A>>B", ("A", "B")), ("A>B", ("B", "A"))]
    assert (first.id, first.judge) == ("q1/new-7b/gpt-4-1106-preview/AB", "gpt-4-1106-preview")
    assert first.rationale == "My own answer... [[A>>B]]"


def test_version_two_names_baseline_category_and_instruction(write: Write) -> None:
    first, second = open_judgments([write("x.jsonl", new())])
    assert first.item.models == {"A": "o3-mini", "B": "new-7b"}
    assert (first.item.category, first.instruction) == ("hard_prompt", "Be fair.")
    assert first.id == "u1/o3-mini/new-7b/gpt-4.1/AB"
    assert [str(first.verdict), str(second.verdict)] == ["B>A", "A=B"]


def test_a_game_without_a_score_or_not_played_has_no_verdict_with_the_reason(write: Write) -> None:
    first, second = open_judgments([write("x.jsonl", new(games=[new()["games"][0] | {"score": None}, None]))])
    assert (first.verdict, second.verdict) == (None, None)
    assert first.no_verdict is not None
    assert "the game is null" in str(second.no_verdict)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (old(games=[None, None]), "no game has its prompt"),
        (old(games=[{"user_prompt": "Judge this.", "judgment": "", "score": "A>B"}]), "is not that of Arena-Hard"),
        (
            old(games=[{"user_prompt": prompt("?", prompt("?", "x", "y"), "z"), "judgment": "", "score": "A>B"}]),
            "the template's marks several times",
        ),
        (
            old(games=[{"user_prompt": prompt("?", "x", y), "judgment": "", "score": "A>B"} for y in "yz"]),
            "do not show the same question and answers in both orders",
        ),
        ({"uid": "u", "judge": "j", "model": "m", "games": []}, "'games' has too few entries"),
        ({"uid": "u", "judge": "j", "model": "m", "games": [{"judgment": ""}]}, "missing field 'games.0.score'"),
    ],
)
def test_a_line_whose_texts_are_unsure_is_rejected_and_the_others_stay(
    write: Write, line: dict[str, Any], reason: str
) -> None:
    source = open_judgments([write("x.jsonl", old(), line)])
    rejects = [record for record in source.scan() if isinstance(record, Reject)]
    assert [(reject.line, reason in reject.reason) for reject in rejects] == [(2, True)], rejects
    assert len(list(source)) == 2


def annotation(preference: Any = 1, raw: Any = None, **changes: Any) -> dict[str, Any]:
    """An entry as ``annotations.json`` holds it."""
    entry = (
        {"instruction": "Name a Broadway actor.", "output_1": "Meryl Streep."}
        | {"generator_1": "gpt4_1106_preview", "dataset": "helpful_base", "output_2": "Nobody."}
        | {"generator_2": "Mistral-7B", "annotator": "weighted_alpaca_eval_gpt4_turbo"}
        | {"preference": preference, "price_per_example": 0.01, "time_per_example": 0.17, "raw_completion": raw}
    )
    return {**entry, **changes}


def ranked(best: str, why: str = "It is better.") -> dict[str, Any]:
    other = "m" if best == "M" else "M"
    models = [{"model": best, "rank": 1}, {"model": other, "rank": 2}]
    return {"concise_explanation": why, "ordered_models": models}


def read(path: Path, *entries: dict[str, Any]) -> list[Any]:
    path.write_text(json.dumps(list(entries), indent=2))
    return list(open_judgments([path]).scan())


@pytest.mark.parametrize(
    ("preference", "expected"),
    [(1, "A>B"), (2, "B>A"), (1.5, "A=B"), (0, "A=B"), (1.9900139974, "B>A"), (1.4593660117, "A>B"), (1.0, "A>B")],
)
def test_preferences_become_verdicts(tmp_path: Path, preference: float, expected: str) -> None:
    (one,) = read(tmp_path / "annotations.json", annotation(preference))
    assert str(one.verdict) == expected
    assert one.meta["preference"] == preference
    assert one.judge == "weighted_alpaca_eval_gpt4_turbo"
    assert one.item.models == {"A": "gpt4_1106_preview", "B": "Mistral-7B"}
    assert one.item.category == "helpful_base"


def test_no_preference_is_no_verdict_and_nonsense_too(tmp_path: Path) -> None:
    found = read(tmp_path / "a.json", annotation(None), annotation(-1, annotator="other"))
    assert [one.verdict for one in found] == [None, None]
    assert [one.no_verdict for one in found] == [
        "the annotator's completion could not be parsed: preference is null",
        "the recorded preference -1 is none of 1 to 2 or 0",
    ]


@pytest.mark.parametrize(
    ("preference", "raw", "order"),
    [
        (1, ranked("m"), ("A", "B")),
        (1, ranked("M"), ("B", "A")),
        (2, ranked("m"), ("B", "A")),
        (1.99, {"text": "m", "logprobs": {}}, ("B", "A")),
        (1.46, {"text": "M", "logprobs": {}}, ("B", "A")),
        (1, "M", ("B", "A")),
    ],
)
def test_the_order_shown_follows_from_the_completion(
    tmp_path: Path, preference: float, raw: Any, order: tuple[str, str]
) -> None:
    (one,) = read(tmp_path / "a.json", annotation(preference, raw))
    assert (one.order, one.labels, one.meta["order_known"]) == (order, ("m", "M"), True)


@pytest.mark.parametrize(("preference", "raw"), [(1, None), (1, "Output (a) is better"), (1.5, ranked("m")), (1, {})])
def test_an_order_that_is_not_recorded_is_not_claimed(tmp_path: Path, preference: float, raw: Any) -> None:
    (one,) = read(tmp_path / "a.json", annotation(preference, raw))
    assert (one.labels, one.meta["order_known"]) == (None, False)


def test_a_broken_entry_is_rejected_by_its_number_and_field(tmp_path: Path) -> None:
    first, second = read(tmp_path / "a.json", annotation(output_1=None), annotation())
    assert (first.line, first.reason) == (1, "'output_1' must be a string, not null")
    assert str(second.verdict) == "A>B"


def test_two_annotators_judge_one_item_and_the_same_annotation_twice_is_a_duplicate(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([annotation(), annotation(2, annotator="other"), annotation()]))
    source = open_judgments([path])
    first, second = source
    assert first.item == second.item
    assert source.duplicates == 1
    assert source.formats[str(path)] == "AlpacaEval annotations"


def test_lines_of_annotations_are_read_too(write: Write) -> None:
    assert len(list(open_judgments([write("a.jsonl", annotation())]))) == 1


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
