"""Consensus by question and over all: against brute force, with and without a model's own ballot."""

from collections import defaultdict

import numpy as np
import pytest

from metajudge.errors import ConfigurationError
from metajudge.peers import build_table
from metajudge.peers.consensus import RULES, Agreements, question_consensus
from tests.peers.elections import NAMES, ballot, ballots, best_orders, mean_places


def by_question(given):
    found = defaultdict(list)
    for one in given:
        found[one.question_id].append(one)
    return found


def test_kemeny_of_each_question_is_the_mean_over_all_best_orders_with_ties_and_cut_ballots():
    given = ballots(12, NAMES[:4], phi=0.8, seed=3)
    table = build_table(given)
    found = question_consensus(table)
    ambiguous = 0
    for question, these in by_question(given).items():
        q = table.questions.index(question)
        orders = best_orders([one.ranking for one in these], NAMES[:4])
        expected = mean_places(orders, NAMES[:4])
        assert found.places[q].tolist() == pytest.approx([expected[name] for name in NAMES[:4]])
        assert found.optima[q] == len(orders)
        ambiguous += len(orders) > 1
    assert ambiguous > 2, "the profiles must hold cases with several optima"
    given = [
        ballot("a", [["a", "b"], "c"], candidates=["a", "b", "c", "d"]),
        ballot("b", ["d"], candidates=["a", "b", "c", "d"]),
        ballot("c", ["c", "b", ["a", "d"]]),
    ]
    rankings = [(("a", "b"), ("c",), ("d",)), (("d",), ("a", "b", "c")), (("c",), ("b",), ("a", "d"))]
    orders = best_orders(rankings, ("a", "b", "c", "d"))
    expected = mean_places(orders, ("a", "b", "c", "d"))
    found = question_consensus(build_table(given))
    assert found.places[0].tolist() == pytest.approx([expected[name] for name in "abcd"])
    assert found.optima[0] == len(orders)


@pytest.mark.parametrize("rule", RULES)
def test_sfe_is_the_place_in_the_consensus_without_the_models_own_ballots(rule):
    given = ballots(6, NAMES[:4], phi=0.8, seed=1, selfish=("dog",))
    found = Agreements(build_table(given)).self_free(rule)
    for k, name in enumerate(NAMES[:4]):
        others = question_consensus(build_table([one for one in given if one.evaluator != name]), rule)
        assert found.places[:, k].tolist() == pytest.approx(others.places[:, k].tolist())


def test_an_outside_evaluator_leaves_everybodys_place_alone():
    given = ballots(3, NAMES[:4], evaluators=("x", "y", "z"))
    table = build_table(given)
    assert np.array_equal(Agreements(table).self_free().places, question_consensus(table).places)


@pytest.mark.parametrize("rule", RULES)
def test_names_and_their_order_decide_nothing(rule):
    given = ballots(8, NAMES[:5], phi=0.9, seed=2)
    new = dict(zip(NAMES[:5], ("zed", "yak", "xen", "wok", "vim"), strict=True))
    renamed = [
        ballot(new[one.evaluator], [[new[name] for name in group] for group in one.ranking], one.question_id)
        for one in reversed(given)
    ]
    first, second = build_table(given), build_table(renamed)
    one, other = question_consensus(first, rule), question_consensus(second, rule)
    columns = [second.models.index(new[name]) for name in first.models]
    rows = [second.questions.index(name) for name in first.questions]
    assert np.allclose(one.places, other.places[np.ix_(rows, columns)])
    whole, again = Agreements(first).overall(rule), Agreements(second).overall(rule)
    assert {new[name]: place for name, place in whole.places.items()} == pytest.approx(again.places)


def test_overall_is_one_vote_of_all_ballots_and_opposite_ones_tie_everybody():
    given = ballots(5, NAMES[:4], phi=0.7, seed=8)
    orders = best_orders([one.ranking for one in given], NAMES[:4])
    found = Agreements(build_table(given)).overall()
    assert found.places == pytest.approx(mean_places(orders, NAMES[:4]))
    assert found.optima == len(orders)
    assert found.ballots == 20
    assert set(found.orders) == set(orders)
    table = build_table([ballot("a", ["a", "b", "c"]), ballot("b", ["c", "b", "a"])])
    for rule in RULES:
        assert len(Agreements(table).overall(rule).ranking[0]) > 1
    assert Agreements(table).overall().optima == 6
    assert question_consensus(table).places.tolist() == [[2.0, 2.0, 2.0]]


def test_a_model_that_answered_only_some_questions_has_no_place_in_the_others_nor_an_unknown_rule():
    given = [*ballots(2, NAMES[:3]), *(one for one in ballots(4, NAMES[:4], seed=1) if one.question_id > "q1")]
    found = question_consensus(build_table(given))
    assert found.there[:, 3].tolist() == [False, False, True, True]
    assert found.places[0, 3] == 0
    with pytest.raises(ConfigurationError, match=r"no voting rule 'dictator'.*kemeny"):
        question_consensus(build_table(ballots(1)), "dictator")


def test_sixty_candidates_whose_orders_are_beyond_counting_are_tied_where_nothing_is_settled():
    names = [f"m{number:02}" for number in range(60)]
    table = build_table([ballot("x", names), ballot("y", [*names[:20], *reversed(names[20:])])])
    found = question_consensus(table)
    assert found.places[0, :20].tolist() == list(range(1, 21))
    assert set(found.places[0, 20:]) == {40.5}
    overall = Agreements(table).overall()
    assert overall.ranking[20:] == (tuple(names[20:]),)
    assert overall.span["m59"] == (21, 60)
    assert found.optima[0] != 1


def test_a_near_random_profile_of_sixty_ends_with_an_answer_that_names_do_not_change():
    given = ballots(1, [f"m{number:02}" for number in range(60)], phi=1.0, evaluators=("x", "y", "z"))
    renamed = [ballot(b.evaluator, [[f"n{99 - int(n[1:])}" for n in g] for g in b.ranking]) for b in given]
    one, other = (question_consensus(build_table(some)) for some in (given, renamed))
    assert np.allclose(one.places[0], other.places[0, ::-1])
    assert np.array_equal(one.optima, other.optima)
