from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metajudge.readers import open_judgments
from metajudge.readers.judgebench import judgebench_output
from metajudge.readers.lines import Reject, Source
from metajudge.readers.tables import json_lines
from metajudge.types import Judgment
from tests.readers.conftest import Write

Found = Callable[..., list[Any]]


def pair(**changes: Any) -> dict[str, Any]:
    data = (
        {"dataset": "judgebench", "subset": "livebench-math", "category": "Math", "item_id": "p1"}
        | {"original_id": "7", "response_model": "gpt-4o", "question": "2 + 2?", "response_a": "4"}
        | {"response_b": "5", "label": "A>B"}
    )
    return {**data, **changes}


def game(order: str = "AB", **changes: Any) -> dict[str, Any]:
    data = (
        {"dataset": "judgebench", "subset": "livebench-math", "category": "Math", "item_id": "p1"}
        | {"response_model": "gpt-4o", "source_repo": "ScalerLab/JudgeBench", "judge_model": "o1"}
        | {"judge_prompt": "arena_hard", "order": order, "label": "A>B" if order == "AB" else "B>A"}
        | {"decision": "A>B", "verdict": "A>>B", "judgment_text": "Assistant A is right: [[A>>B]]"}
        | {"has_explanation": False}
    )
    return {**data, **changes}


def output(**changes: Any) -> dict[str, Any]:
    data = (
        {"pair_id": "p1", "original_id": 7, "source": "mmlu-pro-law", "question": "2 + 2?"}
        | {"response_model": "gpt-4o", "response_A": "4", "response_B": "5", "label": "A>B"}
        | {"judge_name": "arena_hard"}
        | {"judgments": [played("A>B", "So: [[A>>B]]"), played("B>A", "So: [[B>A]]")]}
    )
    return {**data, **changes}


def played(decision: str | None, response: str, **changes: Any) -> dict[str, Any]:
    answer = {"judge_model": "o1", "prompt": "<|User Prompt|>...", "response": response}
    return {"judgment": {**answer, **changes}, "decision": decision}


@pytest.fixture
def folder(write: Write) -> Found:
    def _folder(*games: dict[str, Any], pairs: tuple[Any, ...] = (pair(),)) -> list[Judgment | Reject]:
        write("jb/pairs.jsonl", *pairs)
        path = write("jb/judgments.jsonl", *games)
        return list(open_judgments([path.parent]).scan())

    return _folder


def only_judgments(found: list[Judgment | Reject]) -> list[Judgment]:
    judgments = [entry for entry in found if isinstance(entry, Judgment)]
    assert len(judgments) == len(found), [str(entry) for entry in found if isinstance(entry, Reject)]
    return judgments


def test_swapped_game_is_turned_back_so_that_shown_first_does_not_mean_response_a(folder: Found) -> None:
    first, second = only_judgments(folder(game("AB"), game("BA")))
    # Both times the judge preferred what it saw first: right once, wrong once.
    assert (str(first.verdict), first.order, first.correct) == ("A>>B", ("A", "B"), True)
    assert (str(second.verdict), second.order, second.correct) == ("B>>A", ("B", "A"), False)
    assert first.item == second.item
    assert str(second.item.label) == "A>B"
    # "Assistant A" in the rationale is the response shown first.
    assert second.shown_labels == ("A", "B")


def test_folder_record_is_complete(folder: Found) -> None:
    (judgment,) = only_judgments(folder(game("BA")))
    assert judgment.id == "p1/o1/BA"
    assert judgment.judge == "o1"
    assert judgment.item.id == "p1"
    assert judgment.item.category == "Math"
    assert judgment.item.models == {"A": "gpt-4o", "B": "gpt-4o"}
    assert judgment.item.responses == {"A": "4", "B": "5"}
    assert judgment.rationale == "Assistant A is right: [[A>>B]]"
    assert judgment.meta == {
        "dataset": "judgebench",
        "subset": "livebench-math",
        "source_repo": "ScalerLab/JudgeBench",
        "judge_prompt": "arena_hard",
        "has_explanation": False,
    }


def test_decision_governs_where_the_mark_contradicts_it(folder: Found) -> None:
    (judgment,) = only_judgments(folder(game("BA", decision="B>A", verdict="A>>B")))
    assert str(judgment.verdict) == "A>B"
    assert judgment.meta["stated_verdict"] == "B>>A"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"verdict": None, "judgment_text": ""}, "the judge's answer is empty"),
        ({"verdict": None, "judgment_text": None}, "the judge's answer is empty"),
        ({"verdict": "A>>A", "judgment_text": "[[A>>A]]"}, "compared a response with itself"),
        ({"verdict": None, "judgment_text": "[[A>B]] no, [[B>A]]"}, "several different verdicts"),
        ({"verdict": None, "judgment_text": "cut off"}, "holds no verdict"),
        ({"verdict": None, "judgment_text": "[[A>B]]"}, "no verdict was recorded"),
    ],
)
def test_a_game_without_decision_is_kept_with_its_reason(folder: Found, changes: dict[str, Any], expected: str) -> None:
    (judgment,) = only_judgments(folder(game(decision=None, **changes)))
    assert judgment.verdict is None
    assert expected in (judgment.no_verdict or "")


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (game(item_id="p9"), "no pair with item_id 'p9' in "),
        (game("BA", label="A>B"), "label 'A>B' in the order shown (BA) contradicts the item's label 'A>B'"),
        (game("AA"), "'order' must be 'AB' or 'BA', not 'AA'"),
        ({k: v for k, v in game().items() if k != "judge_model"}, "missing field 'judge_model'"),
        (game(decision=1), "'decision' must be a string, not 1"),
        (game(judge_model=""), "'judge' is empty"),
    ],
)
def test_bad_games_are_rejected_and_the_rest_is_read(folder: Found, bad: dict[str, Any], expected: str) -> None:
    good, reject = folder(game(), bad)
    assert isinstance(good, Judgment)
    assert expected in reject.reason
    assert (Path(reject.file).name, reject.line) == ("judgments.jsonl", 2)


def test_bad_pairs_are_rejected_and_so_are_the_games_that_name_them(folder: Found) -> None:
    bad, clash = pair(item_id="p2", label="A>C"), pair(question="another")
    found = folder(game(), game(item_id="p2"), pairs=(pair(), pair(), bad, clash))
    reasons = [(Path(entry.file).name, entry.line, entry.reason) for entry in found if isinstance(entry, Reject)]
    assert [place[:2] for place in reasons] == [("pairs.jsonl", 3), ("pairs.jsonl", 4), ("judgments.jsonl", 2)]
    assert "label names 'C'" in reasons[0][2]
    assert "item_id 'p1' was already used for another pair" in reasons[1][2]
    (judgment,) = (entry for entry in found if isinstance(entry, Judgment))
    assert judgment.item.question == "2 + 2?"


def test_pointwise_scores_and_rubrics_beside_it_are_no_games(write: Write) -> None:
    pointwise = {key: value for key, value in game().items() if key not in {"judgment_text", "verdict"}}
    write("jb/pairs.jsonl.gz", pair(), packed=True)
    write("jb/judgments.jsonl.gz", game(), packed=True)
    write("jb/judgments_pointwise.jsonl", {**pointwise, "score_a": 1, "score_b": 0, "text_a": "", "text_b": ""})
    path = write("jb/rubrics.jsonl", {"rubric_id": "r", "item_id": "p1", "rubric": "text"})
    source = open_judgments([path.parent])
    assert [judgment.id for judgment in source] == ["p1/o1/AB"]
    assert source.rejects == 0
    assert source.formats == {str(path.parent): "JudgeBench folder"}


def test_both_games_of_an_output_file_become_judgments(write: Write) -> None:
    source = open_judgments([write("o1.out", output(judgments=[played("A>B", "[[A>>B]]"), played("A>B", "[[A>B]]")]))])
    first, second = source
    assert (first.id, str(first.verdict), first.order) == ("p1/o1/AB", "A>>B", ("A", "B"))
    assert (second.id, str(second.verdict), second.order) == ("p1/o1/BA", "B>A", ("B", "A"))
    assert (first.correct, second.correct) == (True, False)
    assert first.item.category == "Knowledge"
    assert first.item.models == {"A": "gpt-4o", "B": "gpt-4o"}
    assert first.meta == {"dataset": "judgebench", "subset": "mmlu-pro-law", "judge_prompt": "arena_hard"}
    assert list(source.formats.values()) == ["JudgeBench output"]


def test_a_single_game_and_a_game_the_runner_could_not_play(write: Write) -> None:
    single = output(pair_id="p2", judgments=[played("B>A", "[[B>A]]")])
    failed = output(pair_id="p3", judgments=[None, played("A>B", "")])
    lost = output(pair_id="p4", judgments=[None, None])
    none = output(pair_id="p5", judgments=[])
    three = output(pair_id="p6", judgments=[None, None, None])
    source = open_judgments([write("x", single, failed, lost, none, three)])
    found = list(source.scan())
    judgments = [entry for entry in found if isinstance(entry, Judgment)]
    assert [judgment.id for judgment in judgments] == ["p2/o1/AB", "p3/o1/AB", "p3/o1/BA"]
    assert "the game is null" in (judgments[1].no_verdict or "")
    assert str(judgments[2].verdict) == "B>A"
    assert [entry.reason for entry in found if isinstance(entry, Reject)] == [
        "every game in 'judgments' is null: the runner failed, and nothing names the judge",
        "'judgments' has too few entries (at least 1): 0",
        "'judgments' has too many entries (at most 2): 3",
    ]


def test_reward_scores_are_turned_back_too(write: Write) -> None:
    games = [
        {"judgment": {"judge_model": "rm", "scores": [2.5, 1.5]}, "decision": "A>B"},
        {"judgment": {"judge_model": "rm", "prompt": "", "response": "", "scores": [1.5, 2.5]}, "decision": "B>A"},
    ]
    first, second = open_judgments([write("x", output(judge_name="reward_model", judgments=games))])
    assert first.meta["scores"] == second.meta["scores"] == {"A": 2.5, "B": 1.5}
    assert str(first.verdict) == str(second.verdict) == "A>B"


def test_another_prompt_is_another_judge_with_its_own_labels(write: Write) -> None:
    vanilla = output(judge_name="vanilla", judgments=[played("A>B", "Output (a)"), played("A>B", "Output (a)")])
    first, second = open_judgments([write("x", vanilla)])
    assert first.judge == "o1/vanilla"
    assert first.meta["judge_model"] == "o1"
    assert second.id == "p1/o1/vanilla/BA"
    assert second.shown_labels == ("a", "b")


def test_several_marks_in_an_output_leave_the_strength_of_the_decision(write: Write) -> None:
    (judgment,) = open_judgments([write("x", output(judgments=[played("A>B", "[[A>>B]] [[A>B]]")]))])
    assert str(judgment.verdict) == "A>B"


def test_output_lines_with_faults_are_rejected_whole(write: Write) -> None:
    path = write("x", output(label="A>D"), output(judgments=[{"decision": "A>B"}]), output(question=None))
    found = list(judgebench_output(json_lines(Source(path, "x"))).read())
    assert [str(entry) for entry in found] == [
        "x:1: label names 'D', but the item's responses are A, B",
        "x:2: missing field 'judgments.0.judgment'",
        "x:3: 'question' must be a string, not null",
    ]


@pytest.mark.parametrize(
    ("name", "judge", "expected"),
    [
        ("judge_name=arena_hard,judge_model=gpt-4o-mini.jsonl", "gpt-4o-mini", "gpt-4o-mini"),
        ("judge_name=arena_hard,judge_model=meta_llama-8b.jsonl", "meta/llama-8b", "meta/llama-8b"),
        ("judge_name=arena_hard,judge_model=meta_llama-8b.jsonl", "other", None),
        ("games.jsonl", "gpt-4o-mini", None),
    ],
)
def test_the_files_name_names_the_judge_of_games_that_were_never_played(
    write: Write, name: str, judge: str, expected: str | None
) -> None:
    lost, named = (
        output(pair_id="p2", judgments=[None]),
        output(judgments=[played("A>B", "[[A>B]]", judge_model=judge)]),
    )
    first, second = open_judgments([write(name, lost, named)]).scan()
    assert isinstance(second, Judgment)
    assert (first.judge if isinstance(first, Judgment) else None) == expected
    assert not isinstance(first, Judgment) or first.verdict is None
