import pytest
from metajudge.benchmarks.benchmark import benchmark_named, find_folder, open_recorded

from metajudge.errors import InputError
from tests.doubles.judgebench import game, pair


def accuracy(place):
    folder = find_folder(benchmark_named("judgebench").card, place)
    found = benchmark_named("judgebench").accuracy(
        open_recorded(benchmark_named("judgebench").card, folder).all(), folder
    )
    return {one.judge: one for one in found}


def score(number, a, b, order="AB", decision=None, label=None, **changes):
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
    rewards = [score(0, 1.5, 1.5), score(1, -2, -2, label="B>A"), score(2, 0.5, 0.1)]
    place = folder(pairs, [game(0, "AB", "A>B")], reward_scores=rewards)
    found = accuracy(place)["reward"]
    assert found.kind == "reward model"
    assert (found.cells["Overall"].successes, found.cells["Overall"].n) == (1, 3)
    assert (found.agreeing.n, found.precision.n, found.precision.successes) == (1, 6, 4)


def test_pointwise_games_keep_upstreams_decision_when_one_side_is_unread(folder):
    texts = {"text_a": "", "text_b": "", "rubric_model": "none"}
    rows = [score(0, 0.9, -1.0, **texts), score(0, -1.0, -1.0, order="BA", **texts)]
    rows[1]["decision"] = None
    found = accuracy(folder([pair(0)], [game(0, "AB", "A>B")], pointwise=rows))["reward/pointwise, no rubric"]
    assert (found.cells["Overall"].successes, found.without_verdict) == (1, 1)


def test_a_reward_that_is_no_number_is_refused_with_its_place(folder):
    place = folder([pair(0)], [game(0, "AB", "A>B")], reward_scores=[score(0, 1.0, 2.0, score_a="high")])
    with pytest.raises(InputError, match=r"reward_scores\.jsonl:1: .*'high'"):
        accuracy(place)
