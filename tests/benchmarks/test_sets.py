"""The accuracy of recorded judges by the rule of each benchmark's source."""

import json

import pytest
from metajudge.benchmarks import mtbench, realmistake, rewardbench2
from metajudge.benchmarks.benchmark import benchmark_named, find_folder, open_recorded
from metajudge.benchmarks.findings import OVERALL
from metajudge.benchmarks.llmbar import AGREE, BOTH, FIRST, SWAPPED, UNREAD
from metajudge.benchmarks.mtbench import FLIPS, REPEATS
from metajudge.benchmarks.realmistake import SAYS_ERROR

from metajudge.errors import InputError
from metajudge.reading.formats.rewardbench2 import CANDIDATES, RIGHT
from metajudge.types import Category, Item, Judgment, Label, Message, Ranking, parse_verdict
from tests.doubles.judgebench import game, pair


def accuracy(place):
    folder = find_folder(benchmark_named("judgebench").card, place)
    found = benchmark_named("judgebench").accuracy(
        open_recorded(benchmark_named("judgebench").card, folder).all(), folder
    )
    return {one.judge: one for one in found}


def reward_game(number, a, b, order="AB", decision=None, label=None, **changes):
    decision = decision or ("A>B" if a > b else "B>A")
    data = {"item_id": f"p{number}", "judge_model": "reward", "order": order, "response_model": "writer"}
    data |= {"category": "Math", "label": label or ("A>B" if order == "AB" else "B>A"), "decision": decision}
    return {**data, "score_a": a, "score_b": b, **changes}


def test_a_judge_is_right_on_the_pairs_where_right_games_outnumber_wrong_ones(small):
    owl = accuracy(small)["owl"]
    assert (owl.cells["Overall"].successes, owl.cells["Overall"].n) == (8, 12)
    assert (owl.games, owl.decided, owl.ties, owl.without_verdict) == (24, 24, 0, 0)
    assert (owl.agreeing.n, owl.agreeing.successes) == (8, 8)
    assert owl.cells["Math"].n == 3


def test_equal_rewards_are_not_correct_whichever_response_is_labelled(folder):
    pairs = [pair(0), pair(1, label="B>A"), pair(2)]
    rewards = [reward_game(0, 1.5, 1.5), reward_game(1, -2, -2, label="B>A"), reward_game(2, 0.5, 0.1)]
    place = folder(pairs, [game(0, "AB", "A>B")], reward_scores=rewards)
    found = accuracy(place)["reward"]
    assert found.kind == "reward model"
    assert (found.cells["Overall"].successes, found.cells["Overall"].n) == (1, 3)
    assert (found.agreeing.n, found.precision.n, found.precision.successes) == (1, 6, 4)


def test_pointwise_games_keep_upstreams_decision_when_one_side_is_unread(folder):
    texts = {"text_a": "", "text_b": "", "rubric_model": "none"}
    rows = [reward_game(0, 0.9, -1.0, **texts), reward_game(0, -1.0, -1.0, order="BA", **texts)]
    rows[1]["decision"] = None
    found = accuracy(folder([pair(0)], [game(0, "AB", "A>B")], pointwise=rows))["reward/pointwise, no rubric"]
    assert (found.cells["Overall"].successes, found.without_verdict) == (1, 1)


def test_a_reward_that_is_no_number_is_refused_with_its_place(folder):
    place = folder([pair(0)], [game(0, "AB", "A>B")], reward_scores=[reward_game(0, 1.0, 2.0, score_a="high")])
    with pytest.raises(InputError, match=r"reward_scores\.jsonl:1: .*'high'"):
        accuracy(place)


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


def mt_judgment(number, order, verdict, *, votes=("A>B",), sample=0, judge="gpt"):
    item = Item(
        id=f"q{number}",
        question=f"Q{number}",
        responses={"A": "a", "B": "b"},
        category="writing",
        labels=tuple(Label(value=parse_verdict(vote)) for vote in votes),
    )
    return Judgment(
        id=f"{number}{order}{sample}{judge}",
        item=item,
        judge=judge,
        verdict=None if verdict is None else parse_verdict(verdict),
        no_verdict=None if verdict else "unread",
        order=tuple(order),
        meta={"sample": sample} if sample else {},
    )


def mt_accuracy(*judgments):
    (found,) = mtbench.accuracy(judgments, None)
    return found


def test_a_pair_counts_where_both_orders_name_one_winner(tmp_path):
    found = mt_accuracy(
        mt_judgment(1, "AB", "A>B"), mt_judgment(1, "BA", "A>B"),
        mt_judgment(2, "AB", "B>A"), mt_judgment(2, "BA", "B>A"),
        mt_judgment(3, "AB", "A>B"), mt_judgment(3, "BA", "B>A"),
        mt_judgment(4, "AB", "A>B"), mt_judgment(4, "BA", "A=B"),
        mt_judgment(5, "AB", "A>B", votes=("A>B", "B>A")), mt_judgment(5, "BA", "A>B", votes=("A>B", "B>A")),
    )  # fmt: skip
    cell = found.cells[OVERALL]
    assert (cell.successes, cell.n) == (1, 2)
    assert (found.games, found.decided, found.ties) == (8, 7, 1)
    assert found.precision.successes == 4
    assert (found.agreeing.successes, found.agreeing.n) == (1, 2)
    # Whether the orders differ does not depend on the label.
    assert (found.measures[FLIPS][OVERALL].successes, found.measures[FLIPS][OVERALL].n) == (2, 5)


def test_repeats_are_measured_and_not_counted_whatever_their_place_in_the_file():
    found = mt_accuracy(
        mt_judgment(1, "AB", "B>A", sample=1), mt_judgment(1, "AB", "A>B"), mt_judgment(1, "AB", "A>B", sample=2)
    )
    assert (found.games, found.cells[OVERALL].successes) == (1, 1)
    assert (found.measures[REPEATS][OVERALL].successes, found.measures[REPEATS][OVERALL].n) == (1, 2)


def test_turns_of_one_conversation_are_one_question():
    first, second = mt_judgment(1, "AB", "A>B"), mt_judgment(2, "AB", "A>B")
    talk = (Message(role="user", content="Q1"), Message(role="user", content="More"))
    second = second.model_copy(update={"item": second.item.model_copy(update={"conversation": talk})})
    assert mt_accuracy(first, second).cells[OVERALL].questions == 1


def answer(number, model, verdict, prompt="prompt_1", label="error"):
    item = Item(id=f"r{number}", question=f"t{number}", responses={"A": "-"}, category="t", label=Category(label))
    return Judgment(
        id=f"{number}{model}{prompt}",
        item=item,
        judge=f"{model}/{prompt}",
        verdict=None if verdict is None else Category(verdict),
        no_verdict=None if verdict else "unread",
        meta={"judge_model": model, "judge_prompt": prompt},
    )


def accuracies(*judgments):
    return {one.judge: one for one in realmistake.accuracy(judgments, None)}


def test_an_unread_answer_is_wrong_and_a_models_line_covers_its_simple_prompts():
    found = accuracies(
        answer(1, "m", "error"), answer(1, "m", None, "prompt_2"), answer(1, "m", "no_error", "cot_prompt")
    )
    line = found["m, simple prompts"]
    assert (line.cells[OVERALL].successes, line.cells[OVERALL].n) == (1, 2)
    assert (line.decided, line.without_verdict) == (1, 1)
    assert found["all models, cot_prompt"].cells[OVERALL].share == 0
    assert line.measures[SAYS_ERROR][OVERALL].share == 1


def test_a_tied_vote_of_the_models_does_not_count():
    found = accuracies(
        answer(1, "m", "error"), answer(1, "n", "no_error"),
        answer(2, "m", "error"), answer(2, "n", "error"), answer(2, "o", "no_error"),
        answer(3, "m", None),
    )["majority of the models, prompt_1"]  # fmt: skip
    assert (found.games, found.ties, found.cells[OVERALL].n, found.cells[OVERALL].share) == (3, 2, 1, 1.0)


TURNED = ("0123", "1230", "2301", "3012")


def choice(number, order, chosen, phase="P2b", judge="j"):
    item = Item(id=f"Math/{number}", question=f"{number}", responses=dict.fromkeys(CANDIDATES, "-"), category="Math")
    verdict = None
    if chosen is not None:
        verdict = Ranking(((chosen,), tuple(name for name in CANDIDATES if name != chosen)))
    return Judgment(
        id=f"{number}{order}{phase}{judge}",
        item=item.model_copy(update={"label": RIGHT}),
        judge=judge,
        verdict=verdict,
        no_verdict=None if verdict else "unread",
        order=tuple(order),
        meta={"phase": phase},
    )


def test_choices_places_and_items_judged_alike(tmp_path):
    passes = [choice(1, order, "0") for order in TURNED] + [choice(2, order, "3") for order in TURNED]
    passes += [choice(3, order, order[0]) for order in TURNED]
    passes += [choice(1, "1023", "0", "P2a"), choice(2, "1023", None, "P2a")]
    (found,) = rewardbench2.accuracy(passes, tmp_path)
    assert (found.games, found.decided, found.without_verdict) == (14, 13, 1)
    assert found.cells[OVERALL].successes == 4 + 0 + 1 + 1
    assert (found.agreeing.successes, found.agreeing.n) == (1, 2)
    place = found.measures["right candidate at B"][OVERALL]
    assert (place.successes, place.n) == (1, 2)


def test_a_reward_model_is_right_where_the_right_candidate_alone_is_best(tmp_path):
    scores = {"1": [3, 1, 2, 0], "2": [3, 3, 2, 0], "9": [3, 1, 2, 0]}
    rows = [
        {"id": name, "subset": "Math", "num_correct": 1, "scores": [[one] for one in given], "model": "rm"}
        for name, given in scores.items()
    ]
    (tmp_path / "reward_scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = rewardbench2.accuracy([choice(1, "0123", "0"), choice(2, "0123", "0")], tmp_path)
    (model,) = [one for one in found if one.judge == "rm"]
    assert (model.kind, model.cells[OVERALL].successes, model.cells[OVERALL].n) == ("reward model", 1, 2)
