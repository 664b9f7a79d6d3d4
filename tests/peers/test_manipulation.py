"""The attack simulator: what its judges do, and what must come out where the answer is known."""

import numpy as np
import pytest
from metajudge.benchmarks.manipulation import (
    MODELS,
    SCENARIOS,
    Scenario,
    ambiguity,
    ambiguity_table,
    ballots,
    colluding,
    honest,
    places_in,
    records,
    recovery,
    recovery_table,
    run,
    self_free,
    table_of,
    vote,
    warned,
    warned_table,
    with_self_first,
)

from metajudge.peers.consensus import question_consensus

TRUTH = np.arange(1.0, MODELS + 1)


def rng():
    return np.random.default_rng(0)


def test_without_noise_honest_judges_give_the_truth():
    assert (places_in(honest(rng(), 20, "mallows", 1e-9)) == TRUTH).all()
    assert (places_in(honest(rng(), 20, "plackett-luce", 1e3)) == TRUTH).all()


def test_mallows_noise_has_the_probability_it_should():
    rankings = honest(rng(), 20_000, "mallows", 0.5)
    weights = 0.5 ** np.arange(MODELS)
    in_place = (rankings == np.arange(MODELS)).all(axis=1).mean()
    expected = np.prod([1 / weights[: k + 1].sum() for k in range(MODELS)])
    assert in_place == pytest.approx(expected, rel=0.1)


def test_the_dishonest_do_what_their_name_says():
    found = ballots(rng(), Scenario("s", "self-preferring", 2), 50, "mallows", 0.5)
    assert (found[:, 4, 4] == 1).all()
    assert (found[:, 5, 5] == 1).all()
    assert not (found[:, 3, 3] == 1).all()
    reversed_ = ballots(rng(), Scenario("r", "reversing", 1), 50, "mallows", 1e-9)
    assert (reversed_[:, 5] == TRUTH[::-1]).all()
    assert colluding(2).tolist() == [6, 5, 4, 3, 1, 2]
    for scenario in ("noisy", "colluding"):
        given = ballots(rng(), Scenario("x", scenario, 2), 5, "mallows", 0.5)
        assert (np.sort(given, axis=2) == TRUTH).all(), "every ballot is a ranking"


def test_putting_oneself_first_moves_the_others_down_by_one():
    assert with_self_first(np.array([[2.0, 1.0, 3.0, 4.0, 6.0, 5.0]]), 2).tolist() == [[3, 2, 1, 4, 6, 5]]


def test_recovery_of_the_truth_its_reverse_and_a_tie_of_all():
    tau, top = recovery(np.array([TRUTH, TRUTH[::-1], np.full(MODELS, 3.5)]))
    assert tau.tolist() == pytest.approx([1, -1, 0])
    assert top.tolist() == pytest.approx([1, 0, 1 / MODELS])


def test_self_free_places_ignore_what_a_model_says_of_itself():
    honest_ones = ballots(rng(), Scenario("h"), 30, "mallows", 0.4)
    lying = honest_ones.copy()
    lying[:, 5] = with_self_first(lying[:, 5], 5)
    assert np.array_equal(self_free(lying)[:, 5], self_free(honest_ones)[:, 5])
    assert (vote(lying, "kemeny")[:, 5] <= vote(honest_ones, "kemeny")[:, 5]).all()


def test_plurality_knows_nothing_where_everybody_votes_for_itself_and_kemeny_does():
    given = ballots(rng(), Scenario("s", "self-preferring", 6), 60, "mallows", 0.5)
    assert recovery(vote(given, "plurality"))[0].max() == 0
    assert recovery(vote(given, "kemeny"))[0].mean() > 0.7


def test_a_clique_of_two_costs_kemeny_most_of_the_truth():
    fair, biased = (
        recovery(vote(ballots(rng(), Scenario("s", "colluding", judges), 60, "mallows", 0.5), "kemeny"))[0].mean()
        for judges in (0, 2)
    )
    assert fair > biased + 0.2


def test_odd_panels_are_ambiguous_far_less_often():
    given = ballots(rng(), Scenario("s"), 200, "mallows", 0.5)
    shares = [(question_consensus(table_of(given[:, :judges])).optima > 1).mean() for judges in (5, 6)]
    assert shares[0] < 0.3 < 0.6 < shares[1]


@pytest.mark.slow
def test_the_tables_can_be_made():
    found = list(run(20, 1, 0, "mallows", 0.5))
    assert {one.scenario for one in found} == {one.name for one in SCENARIOS}
    assert "± " in recovery_table(found, "tau", "caption").notes[0]
    assert len(ambiguity_table(list(ambiguity(20, 0))).rows) == 4
    cautions = {one.scenario: one for one in warned(3, 0, "mallows", 0.5)}
    assert cautions["3 colluding"].clique_is_guilty == 1
    assert len(warned_table(list(cautions.values())).rows) == len(SCENARIOS)


def test_records_hold_the_same_ballots():
    places = ballots(rng(), Scenario("h"), 3, "mallows", 0.5)
    given = records(places)
    assert len(given) == 3 * MODELS
    assert [int(group[0][1:]) for group in given[7].ranking] == np.argsort(places[1, 1]).tolist()
