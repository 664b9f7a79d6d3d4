import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metajudge.errors import InputError
from metajudge.readers import open_judgments
from metajudge.readers.lines import Reject
from metajudge.types import Judgment
from tests.readers.conftest import Write

Found = Callable[..., list[Any]]

ITEM = {
    "dataset": "llmbar",
    "subset": "LLMBar/Natural",
    "item_id": "LLMBar/Natural/0000",
    "question": "Name a fruit.",
    "response_a": "apple",
    "response_b": "car",
    "label": "A>B",
}


def evaluation(order: str = "AB", **changes: Any) -> dict[str, Any]:
    data = (
        {"dataset": "llmbar", "subset": "LLMBar/Natural", "item_id": "LLMBar/Natural/0000"}
        | {"judge_model": "GPT-4", "judge_prompt": "CoT", "stage": 1, "final": True, "order": order}
        | {"label": "B>A" if order == "BA" else "A>B", "decision": "A>B", "text_verdict": "A>B"}
        | {"judgment_text": "Therefore, Output (a) is better.", "finish": "stop", "has_explanation": False}
    )
    return {**data, **changes}


@pytest.fixture
def read(write: Write) -> Found:
    def _read(*rows: dict[str, Any]) -> list[Judgment | Reject]:
        write("llmbar/items.jsonl", ITEM)
        write("llmbar/aux.jsonl", {"item_id": ITEM["item_id"], "judge_model": "GPT-4", "metrics": "m"})
        path = write("llmbar/judgments.jsonl", *rows)
        return list(open_judgments([path.parent]).scan())

    return _read


def test_swapped_evaluation_is_turned_back_with_its_text_verdict(read: Found) -> None:
    first, second = read(evaluation("AB"), evaluation("BA", text_verdict="B>A"))
    assert (str(first.verdict), first.meta["text_verdict"], first.correct) == ("A>B", "A>B", True)
    assert (str(second.verdict), second.order, second.correct) == ("B>A", ("B", "A"), False)
    # The text contradicts the published decision; the decision stays the verdict.
    assert second.meta["text_verdict"] == "A>B"
    assert second.shown_labels == ("a", "b")


def test_record_is_complete(read: Found) -> None:
    (judgment,) = read(evaluation())
    assert judgment.id == "LLMBar/Natural/0000/GPT-4/CoT/AB"
    assert judgment.judge == "GPT-4/CoT"
    assert judgment.item.category == "LLMBar/Natural"
    assert judgment.item.responses == {"A": "apple", "B": "car"}
    assert judgment.item.models is None
    assert judgment.meta == {
        "dataset": "llmbar",
        "subset": "LLMBar/Natural",
        "judge_model": "GPT-4",
        "judge_prompt": "CoT",
        "stage": 1,
        "final": True,
        "finish": "stop",
        "has_explanation": False,
        "text_verdict": "A>B",
    }


def test_stages_of_one_strategy_are_judges_of_their_own(read: Found) -> None:
    rows = [
        evaluation(judge_prompt="Swap", stage=1, final=False),
        evaluation(judge_prompt="Swap", stage=2, text_verdict=None),
        evaluation(judge_prompt="Vanilla", text_verdict=None),
    ]
    found = read(*rows)
    assert [judgment.judge for judgment in found] == ["GPT-4/Swap#1", "GPT-4/Swap#2", "GPT-4/Vanilla"]
    assert len({judgment.id for judgment in found}) == 3


def test_ratings_are_pairwise_verdicts_in_the_stored_order(read: Found) -> None:
    rated = {"judge_prompt": "Rating", "text_verdict": None, "judgment_text": ""}
    tie, none = read(
        evaluation("pointwise", **rated, decision="A=B", score_a="7", score_b="7"),
        evaluation("pointwise", **rated, judge_model="X", decision=None, score_a="", score_b="0"),
    )
    assert str(tie.verdict) == "A=B"
    assert tie.id.endswith("/GPT-4/Rating/pointwise")
    assert tie.meta["pointwise"] is True
    assert tie.meta["scores"] == {"A": "7", "B": "7"}
    assert none.no_verdict == "the scores cannot be compared: '' and '0'"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"judgment_text": "", "finish": ""}, "the judge's answer is empty"),
        ({"judgment_text": "", "finish": "policy"}, "the judge's answer is empty (finish: policy)"),
        ({"judgment_text": "Bo", "finish": "cut"}, "no verdict could be read from the judge's answer (finish: cut)"),
        ({"decision": "A>A"}, "the recorded decision 'A>A' is none of A>B, A=B, B>A"),
    ],
)
def test_no_verdict_says_why(read: Found, changes: dict[str, Any], expected: str) -> None:
    (judgment,) = read(evaluation(**{"decision": None, "text_verdict": None, **changes}))
    assert judgment.no_verdict == expected


def test_bad_rows_are_rejected(read: Found) -> None:
    rows = [evaluation("BA", label="A>B"), evaluation("CD"), evaluation(item_id="?"), evaluation(stage="x")]
    good, *bad = read(evaluation(), *rows)
    assert isinstance(good, Judgment)
    reasons = [entry.reason for entry in bad if isinstance(entry, Reject)]
    assert len(reasons) == 4
    assert "contradicts the item's label" in reasons[0]
    assert reasons[1] == "'order' must be 'AB', 'BA' or 'pointwise', not 'CD'"
    assert reasons[2].startswith("no pair with item_id '?'")
    assert "'stage'" in reasons[3]


ENTRY = {"input": "Name a fruit.", "output_1": "apple", "output_2": "car", "label": 1}


def stage(first: str | None, second: str | None, text: str = "Output (a) is better.") -> dict[str, Any]:
    return {
        "swap = False": {"completion": [text, "stop"], "winner": first},
        "swap = True": {"completion": [text, "stop"], "winner": second},
    }


def save(tmp_path: Path, strategy: str, *results: Any, folder: str = "Dataset/LLMBar/Natural") -> Path:
    path = tmp_path / folder / "evaluators" / "GPT-4" / strategy / "result.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([{**ENTRY, "results": result} for result in results], indent=2))
    return path


def test_winner_is_recorded_in_stored_order_and_must_not_be_turned_back_twice(tmp_path: Path) -> None:
    # Shown first both times, and preferred both times: "1" unswapped and, already turned back, "2" swapped.
    path = save(tmp_path, "CoT", [stage("1", "2")])
    first, second = open_judgments([path])
    assert (str(first.verdict), first.order, first.correct) == ("A>B", ("A", "B"), True)
    assert (str(second.verdict), second.order, second.correct) == ("B>A", ("B", "A"), False)
    # The text speaks of the order shown and agrees with both.
    assert (first.meta["text_verdict"], second.meta["text_verdict"]) == ("A>B", "B>A")


def test_ids_and_judges_are_those_of_the_folder_layout(tmp_path: Path) -> None:
    save(tmp_path, "Swap", [stage("1", "2"), stage("1", "1")])
    save(tmp_path, "Metrics_Reference", [["metrics", "stop"], ["reference", "stop"], stage("1", None)])
    source = open_judgments([tmp_path])
    found = list(source)
    prefix = "LLMBar/Natural/0000/GPT-4"
    strategies = ("/Metrics_Reference", "/Swap#1", "/Swap#2")
    ids = [f"{strategy}/{order}" for strategy in strategies for order in ("AB", "BA")]
    assert [judgment.id.removeprefix(prefix) for judgment in found] == ids
    assert [judgment.meta["final"] for judgment in found] == [True, True, False, False, True, True]
    assert found[1].no_verdict == "no verdict could be read from the judge's answer (finish: stop)"
    assert found[0].item.category == "LLMBar/Natural"
    # Swap's second stage asks for the verdict only: its text states none.
    assert [("text_verdict" in judgment.meta) for judgment in found] == [False, False, True, True, False, False]
    assert source.formats == {str(tmp_path): "LLMBar result.json"}


def test_ratings_use_the_scores_and_not_the_made_up_games(tmp_path: Path) -> None:
    def rated(first: str, second: str) -> list[Any]:
        made_up = {"swap = False": {"winner": "1"}, "swap = True": {"winner": "2"}}
        return [{"score_1": [first, "stop"], "score_2": [second, "stop"], **made_up}]

    found = list(open_judgments([save(tmp_path, "Rating", rated("7", "7"), rated("3", "9"), rated("", "0"))]))
    assert [judgment.verdict and str(judgment.verdict) for judgment in found] == ["A=B", "B>A", None]
    assert found[2].no_verdict == "the scores cannot be compared: '' and '0'"


def test_bad_entries_are_rejected_with_their_number(tmp_path: Path) -> None:
    path = save(tmp_path, "CoT", [stage("1", "2")], [stage("3", "2")])
    entries = json.loads(path.read_text())
    entries.append({"input": "no results"})
    path.write_text(json.dumps(entries))
    found = list(open_judgments([path]).scan())
    assert [type(entry) for entry in found] == [Judgment, Judgment, Reject, Reject]
    assert [entry.line for entry in found if isinstance(entry, Reject)] == [2, 3]
    assert "winner" in str(found[2])
    assert "missing field 'output_1'" in str(found[3])


def test_a_list_elsewhere_is_no_result_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps([{**ENTRY, "results": []}]))
    with pytest.raises(InputError, match=r"only a path .*/evaluators/MODEL/STRATEGY/"):
        open_judgments([path])


def test_half_a_result_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = save(tmp_path, "CoT", [stage("1", "2")])
    path.write_text(path.read_text()[:-20])
    with pytest.raises(InputError, match=r"result\.json:1: the file is damaged or ends early"):
        open_judgments([path])
