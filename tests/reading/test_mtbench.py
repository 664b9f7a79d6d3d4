import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from metajudge.errors import InputError
from metajudge.reading import open_judgments
from metajudge.types import Pairwise


def item(turn: int = 1, votes: tuple[str, ...] = ("a", "tie", "a"), **changes: Any) -> dict[str, Any]:
    data = (
        {"item_id": f"q7-t{turn}-m1-m2", "question_id": 7, "turn": turn, "category": "writing"}
        | {"model_a": "m1", "model_b": "m2", "question": "And shorter?" if turn == 2 else "Write a poem."}
        | {"prior_turns": json.dumps([["Write a poem.", "first poem", "second poem"]] if turn == 2 else [])}
        | {"answer_a": "alpha", "answer_b": "beta", "human_label": "a", "votes": json.dumps(votes)}
        | {"voters": json.dumps([f"expert_{n}" for n in range(len(votes))])}
    )
    return {**data, **changes}


def verdict(order: str = "ab", mark: str = "first", turn: int = 1, **changes: Any) -> dict[str, Any]:
    data = {
        "judge_id": "gpt-4-0613-pair",
        "template": "pair-v2",
        "contexts": [{"item_id": f"q7-t{turn}-m1-m2", "order": order, "condition": "base"}],
        "verdict": mark,
        "text": "The first is better.",
        "sample": 0,
    }
    return {**data, **changes}


@pytest.fixture
def folder(tmp_path: Path, write: Callable[..., Path]) -> Callable[..., Path]:
    def _folder(items: list[dict[str, Any]], *rows: dict[str, Any]) -> Path:
        path = write("mt/judgments.jsonl.gz", *rows, packed=True)
        lines = write("rows.jsonl", *items)
        duckdb.sql(
            f"COPY (FROM read_json_auto('{lines}', format='newline_delimited')) TO '{path.parent}/items.parquet'"
        )
        return path.parent

    return _folder


def test_both_orders_are_turned_back_and_repeats_keep_their_own_ids(folder: Callable[..., Path]) -> None:
    rows = [verdict(), verdict("ba", "second"), verdict("ba", "tie", sample=1), verdict("ba", "error", sample=2)]
    found = list(open_judgments([folder([item()], *rows)]))
    assert [str(one.verdict) for one in found] == ["A>B", "A>B", "A=B", "None"]
    assert [one.order for one in found[:2]] == [("A", "B"), ("B", "A")]
    ids = ["AB", "BA", "BA/1", "BA/2"]
    assert [one.id for one in found] == [f"q7-t1-m1-m2/gpt-4-0613-pair/{name}" for name in ids]
    assert found[0].meta["judge_model"] == "gpt-4-0613"
    assert found[0].correct is True


def test_votes_are_labels_by_annotator_and_a_split_vote_is_a_tie(folder: Callable[..., Path]) -> None:
    split = item(2, ("a", "b"), human_label="tie")
    first, second = open_judgments([folder([item(), split], verdict(), verdict(turn=2))])
    assert [(str(one.value), one.annotator) for one in first.item.labels] == [
        ("A>B", "expert_0"),
        ("A=B", "expert_1"),
        ("A>B", "expert_2"),
    ]
    assert first.item.label is None
    assert first.item.truth == Pairwise("A", "B", 1)
    assert second.item.label is None
    assert second.item.truth == Pairwise("A", "B", 0)
    assert second.correct is None


def test_a_label_other_than_the_votes_majority_is_kept(folder: Callable[..., Path]) -> None:
    (found,) = open_judgments([folder([item(human_label="b")], verdict())])
    assert str(found.item.truth) == "B>A"


def test_a_second_turn_contains_the_conversation_so_far(folder: Callable[..., Path]) -> None:
    (found,) = open_judgments([folder([item(2)], verdict(turn=2))])
    assert found.item.question == found.item.opening == "Write a poem."
    assert found.item.responses["B"] == "assistant: second poem\n\nuser: And shorter?\n\nassistant: beta"
    assert [one.content for one in found.item.replies["B"]] == ["second poem", "And shorter?", "beta"]


def test_prompts_and_padded_responses_are_judges_of_their_own(folder: Callable[..., Path]) -> None:
    padded = [{"item_id": "q7-t1-m1-m2", "order": "ab", "condition": "padded"}]
    rows = [verdict(judge_id="qwen", template=name) for name in ("bare", "cot")]
    rows.append(verdict(judge_id="qwen", template="bare", contexts=padded))
    rows.append(verdict(judge_id="gpt-4-0613-single", template="single-v1", score_a=9, score_b=4))
    found = list(open_judgments([folder([item()], *rows)]))
    assert [one.judge for one in found] == ["qwen/bare", "qwen/cot", "qwen/bare/padded", "gpt-4-0613-single"]
    assert [one.meta["judge_model"] for one in found] == ["qwen", "qwen", "qwen", "gpt-4-0613"]
    assert found[3].meta["pointwise"] is True
    assert found[3].meta["scores"] == {"A": 9.0, "B": 4.0}


def test_one_text_may_serve_several_items(folder: Callable[..., Path]) -> None:
    contexts = [{"item_id": f"q7-t{turn}-m1-m2", "order": "ab", "condition": "base"} for turn in (1, 2)]
    found = list(open_judgments([folder([item(), item(2)], verdict(contexts=contexts))]))
    assert [one.item.id for one in found] == ["q7-t1-m1-m2", "q7-t2-m1-m2"]


def test_annotations_beside_the_items_are_further_judges(folder: Callable[..., Path]) -> None:
    place = folder([item()], verdict())
    (place / "alttest").mkdir()
    given = {"gpt-4o": {"7__m1__m2__1": "model_b", "8__m1__m2__1": "tie"}}
    (place / "alttest" / "llm_annotations.json").write_text(json.dumps(given))
    _, found, bad = open_judgments([place]).scan()
    assert (found.judge, str(found.verdict)) == ("gpt-4o", "B>A")
    assert "8__m1__m2__1" in bad.reason
    assert bad.line == 2


def test_one_half_of_the_folder_is_refused_with_what_is_missing(folder: Callable[..., Path]) -> None:
    place = folder([item()], verdict())
    with pytest.raises(InputError, match="give the folder with both files"):
        open_judgments([place / "judgments.jsonl.gz"])
    (place / "items.parquet").unlink()
    with pytest.raises(InputError, match="but not the items"):
        open_judgments([place])


def test_a_verdict_on_an_unknown_item_is_a_bad_line(folder: Callable[..., Path]) -> None:
    _, bad = open_judgments([folder([item()], verdict(), verdict(turn=3))]).scan()
    assert "no item with item_id" in bad.reason
