"""Evaluators: agreement, error correlations, order effects."""

import random

import numpy as np
import pytest
from scipy.stats import kendalltau

from metajudge.peers import Ballot, HumanRanking, Options, analyse, build_table
from metajudge.peers.figures import Resamples
from metajudge.peers.standing import _null_variance, evaluator_pairs, evaluator_standings
from tests.peers.elections import NAMES, ballots, failed, mallows


def resamples(table):
    return Resamples(len(table.questions), 500, np.random.default_rng(0))


def test_agreement_is_the_mean_tau_over_questions():
    given = ballots(5, phi=0.6, evaluators=("x", "y"))
    table = build_table(given)
    ((pair,), _) = evaluator_pairs(table, None, resamples(table))
    expected = [kendalltau(table.places[q, 0], table.places[q, 1]).statistic for q in range(5)]
    assert pair.agreement.value == pytest.approx(np.mean(expected))
    first, second = evaluator_standings(table, resamples(table))
    assert first.agreement.value == second.agreement.value == pytest.approx(np.mean(expected))
    assert first.ballots == 5
    assert not first.ranks_itself


def pairs_of(given, human=None):
    table = build_table(given)
    found, independence = evaluator_pairs(table, human, resamples(table))
    return {(one.first, one.second): one for one in found}, independence


def test_independent_evaluators_share_no_errors_although_questions_differ():
    rng = np.random.default_rng(0)
    given = []
    for question in range(300):
        truth = rng.permutation(6)
        for name in NAMES:
            noisy = truth + rng.normal(scale=1.0, size=6)
            ranking = [NAMES[k] for k in np.argsort(noisy)]
            given.append(Ballot(question_id=f"q{question}", evaluator=name, ranking=ranking))
    pairs, independence = pairs_of(given, HumanRanking(name="h", ranking=tuple((name,) for name in NAMES)))
    assert independence.effective.value > 5
    assert independence.cliques == ()
    assert np.mean([one.error_correlation.value for one in pairs.values()]) == pytest.approx(0, abs=0.05)
    # One human ranking knows nothing of single questions: their differences look like errors that all share.
    assert np.mean([one.error_correlation_to_people.value for one in pairs.values()]) > 0.2


def test_copies_of_one_evaluator_are_a_clique():
    source = random.Random(0)
    given = []
    for question in range(100):
        copied = mallows(source, NAMES, 0.7)
        for name in NAMES:
            ranking = copied if name in ("ant", "bee", "cat") else mallows(source, NAMES, 0.7)
            given.append(Ballot(question_id=f"q{question}", evaluator=name, ranking=ranking))
    pairs, independence = pairs_of(given)
    assert independence.cliques == (("ant", "bee", "cat"),)
    assert independence.effective.value < 5
    assert pairs["ant", "bee"].error_correlation.value > 0.5
    assert pairs["ant", "bee"].error_correlation_to_people.absent == "there is no human ranking"
    found = analyse(given, Options(resamples=0))
    (caution,) = [one for one in found.cautions if one.kind == "clique"]
    assert caution.names == ("ant", "bee", "cat")


def test_a_human_ranking_of_strangers_gives_no_errors_and_two_evaluators_cannot_be_told_apart():
    pairs, _ = pairs_of(ballots(10), HumanRanking(name="h", ranking=(("gnu",), ("yak",))))
    assert all(one.error_correlation_to_people.value is None for one in pairs.values())
    assert all(one.error_correlation.value is not None for one in pairs.values())
    pairs, independence = pairs_of(ballots(10, evaluators=("x", "y")))
    assert "give at least three" in independence.effective.absent
    assert "give at least three" in pairs["x", "y"].error_correlation.absent
    assert pairs["x", "y"].agreement.value is not None


def test_evaluators_who_rank_what_they_read_first_are_found():
    source = random.Random(1)
    given = []
    for question in range(30):
        for name in ("x", "y"):
            shown = source.sample(NAMES, len(NAMES))
            ranking = shown if name == "x" else mallows(source, NAMES, 0.5)
            labels = {f"A{n}": one for n, one in enumerate(shown)}
            given.append(Ballot(question_id=f"q{question}", evaluator=name, ranking=ranking, labels=labels))
    table = build_table(given)
    biased, fair = evaluator_standings(table, resamples(table))
    assert biased.order_effect.value == pytest.approx(1)
    assert fair.order_effect.low < 0 < fair.order_effect.high
    assert biased.order_p.value < 1e-6 < 0.01 < fair.order_p.value
    found = analyse(given, Options(resamples=0))
    assert [one.names for one in found.cautions if one.kind == "order_effect"] == [("x",)]


@pytest.mark.slow
@pytest.mark.parametrize("ranking", [NAMES, [NAMES[:3], *NAMES[3:]], [NAMES[:2], NAMES[2:]]])
def test_the_p_value_of_an_order_effect_has_the_variance_that_random_orders_have(ranking):
    source = random.Random(2)
    given = []
    for question in range(4000):
        shown = source.sample(NAMES, len(NAMES))
        labels = {f"A{n}": one for n, one in enumerate(shown)}
        given.append(Ballot(question_id=f"q{question}", evaluator="x", ranking=ranking, labels=labels))
    table = build_table(given)
    taus = [kendalltau(table.places[q, 0], table.shown[q, 0]).statistic for q in range(4000)]
    assert _null_variance(table.places[0, 0]) == pytest.approx(np.var(taus), rel=0.08)


def test_an_order_that_was_not_recorded_is_absent_and_losses_are_counted_by_kind():
    table = build_table(ballots(3))
    assert evaluator_standings(table, resamples(table))[0].order_effect.absent == "the order shown is not recorded"
    given = [*ballots(4, evaluators=NAMES[:5]), failed("q0", "fox"), failed("q1", "fox", "refused")]
    given += [failed("q9", "fox")]
    table = build_table(given)
    assert table.left_out[0].question_id == "q9"
    assert evaluator_standings(table, resamples(table))[-1].lost == {"refused": 1, "timeout": 2}
