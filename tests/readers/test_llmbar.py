from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from metajudge.readers import open_judgments
from metajudge.readers.lines import Reject
from metajudge.types import Judgment

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
    data = {
        "dataset": "llmbar",
        "subset": "LLMBar/Natural",
        "item_id": "LLMBar/Natural/0000",
        "judge_model": "GPT-4",
        "judge_prompt": "CoT",
        "stage": 1,
        "final": True,
        "order": order,
        "label": "B>A" if order == "BA" else "A>B",
        "decision": "A>B",
        "text_verdict": "A>B",
        "judgment_text": "Therefore, Output (a) is better.",
        "finish": "stop",
        "has_explanation": False,
    }
    return {**data, **changes}


@pytest.fixture
def read(write: Callable[..., Path]) -> Callable[..., list[Judgment | Reject]]:
    def _read(*rows: dict[str, Any]) -> list[Judgment | Reject]:
        write("llmbar/items.jsonl", ITEM)
        write("llmbar/aux.jsonl", {"item_id": ITEM["item_id"], "judge_model": "GPT-4", "metrics": "m"})
        path = write("llmbar/judgments.jsonl", *rows)
        return list(open_judgments([path.parent]).scan())

    return _read


def test_swapped_evaluation_is_turned_back_with_its_text_verdict(
    read: Callable[..., list[Judgment]],
) -> None:
    first, second = read(evaluation("AB"), evaluation("BA", text_verdict="B>A"))
    assert (str(first.verdict), first.meta["text_verdict"], first.correct) == ("A>B", "A>B", True)
    assert (str(second.verdict), second.order, second.correct) == ("B>A", ("B", "A"), False)
    # The text contradicts the published decision; the decision stays the verdict.
    assert second.meta["text_verdict"] == "A>B"
    assert second.shown_labels == ("a", "b")


def test_record_is_complete(read: Callable[..., list[Judgment]]) -> None:
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


def test_stages_of_one_strategy_are_judges_of_their_own(read: Callable[..., list[Judgment]]) -> None:
    rows = [
        evaluation(judge_prompt="Swap", stage=1, final=False),
        evaluation(judge_prompt="Swap", stage=2, text_verdict=None),
        evaluation(judge_prompt="Vanilla", text_verdict=None),
    ]
    found = read(*rows)
    assert [judgment.judge for judgment in found] == ["GPT-4/Swap#1", "GPT-4/Swap#2", "GPT-4/Vanilla"]
    assert len({judgment.id for judgment in found}) == 3


def test_ratings_are_pairwise_verdicts_in_the_stored_order(read: Callable[..., list[Judgment]]) -> None:
    rated = {"judge_prompt": "Rating", "text_verdict": None, "judgment_text": ""}
    tie, none = read(
        evaluation("pointwise", **rated, decision="A=B", score_a="7", score_b="7"),
        evaluation(
            "pointwise", **rated, item_id=ITEM["item_id"], judge_model="X", decision=None, score_a="", score_b="0"
        ),
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
        (
            {"judgment_text": "", "finish": "content management policy"},
            "the judge's answer is empty (finish: content management policy)",
        ),
        (
            {"judgment_text": "Bo", "finish": "length"},
            "no verdict could be read from the judge's answer (finish: length)",
        ),
        ({"decision": "A>A"}, "the recorded decision 'A>A' is none of A>B, A=B, B>A"),
    ],
)
def test_no_verdict_says_why(read: Callable[..., list[Judgment]], changes: dict[str, Any], expected: str) -> None:
    (judgment,) = read(evaluation(**{"decision": None, "text_verdict": None, **changes}))
    assert judgment.no_verdict == expected


def test_bad_rows_are_rejected(read: Callable[..., list[Judgment | Reject]]) -> None:
    rows = [
        evaluation(),
        evaluation("BA", label="A>B"),
        evaluation("CD"),
        evaluation(item_id="?"),
        evaluation(stage="x"),
    ]
    good, *bad = read(*rows)
    assert isinstance(good, Judgment)
    reasons = [entry.reason for entry in bad if isinstance(entry, Reject)]
    assert len(reasons) == 4
    assert "contradicts the item's label" in reasons[0]
    assert reasons[1] == "'order' must be 'AB', 'BA' or 'pointwise', not 'CD'"
    assert reasons[2].startswith("no pair with item_id '?'")
    assert "'stage'" in reasons[3]
