import json

import pytest
from metajudge.benchmarks.benchmark import benchmark_named, open_recorded
from metajudge.benchmarks.llmbar import AGREE, BOTH, FIRST, SWAPPED, UNREAD


def row(order, decision, label=None, *, item=0, strategy="CoT", stage=1, final=True, **scores):
    data = {"dataset": "llmbar", "subset": "LLMBar/Natural", "item_id": f"i{item}", "judge_model": "GPT"}
    data |= {"judge_prompt": strategy, "stage": stage, "final": final, "order": order, "decision": decision}
    return {**data, "label": label or ("B>A" if order == "BA" else "A>B"), "judgment_text": "words", **scores}


@pytest.fixture
def found(tmp_path):
    def run(*rows, label="A>B"):
        item = {"dataset": "llmbar", "subset": "LLMBar/Natural", "question": "?", "response_a": "x", "response_b": "y"}
        items = [{**item, "item_id": f"i{number}", "label": label} for number in range(2)]
        (tmp_path / "items.jsonl").write_text("".join(json.dumps(one) + "\n" for one in items))
        (tmp_path / "judgments.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
        llmbar = benchmark_named("llmbar")
        (only,) = llmbar.accuracy(open_recorded(llmbar.card, tmp_path).all(), tmp_path)
        return only

    return run


def shares(found):
    return {name: cells["Overall"].successes for name, cells in found.measures.items()}


def test_each_order_counts_by_itself_and_both_together(found):
    one = found(row("AB", "A>B"), row("BA", "A>B"), row("AB", "A>B", item=1), row("BA", "B>A", item=1))
    assert shares(one) == {FIRST: 2, SWAPPED: 1, BOTH: 1, AGREE: 1, UNREAD: 0}
    assert (one.cells["Overall"].successes, one.cells["Overall"].n) == (3, 4)


def test_a_strategy_of_two_stages_counts_by_its_final_stage(found):
    first = [row("AB", "B>A", strategy="Swap", final=False), row("BA", "B>A", strategy="Swap", final=False)]
    second = [row("AB", "A>B", strategy="Swap", stage=2), row("BA", "B>A", strategy="Swap", stage=2)]
    one = found(*first, *second)
    assert one.judge == "GPT/Swap"
    assert shares(one)[BOTH] == 1


@pytest.mark.parametrize(("label", "right"), [("A>B", (0, 1)), ("B>A", (1, 0))])
def test_a_tied_rating_is_right_in_one_order_only(found, label, right):
    rating = row("pointwise", "A=B", label, strategy="Rating", score_a="5", score_b="5")
    one = found(rating, label=label)
    assert (shares(one)[FIRST], shares(one)[SWAPPED]) == right
    assert (shares(one)[AGREE], one.ties, one.decided) == (0, 2, 0)


def test_two_unread_answers_agree_as_upstream_counts_them_and_are_not_right(found):
    one = found(row("AB", None), row("BA", None))
    assert shares(one) == {FIRST: 0, SWAPPED: 0, BOTH: 0, AGREE: 1, UNREAD: 2}
