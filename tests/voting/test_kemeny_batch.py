import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.voting import kemeny, kemeny_batch, read_profile
from tests.voting.profiles import random_profile


@pytest.mark.parametrize("size", [1, 2, 3, 5, 6, 7, 8])
@pytest.mark.parametrize(("ties", "unranked"), [("half", "below"), ("ignore", "ignore")])
def test_equals_one_vote_at_a_time(size, ties, unranked):
    source = np.random.default_rng(size)
    places = source.integers(0, size, (40, 4, size))
    ranked = source.random(places.shape) < 0.8 if unranked == "ignore" else None
    weights = [1, 2, 0.5, 1 / 3]
    batch = kemeny_batch(places, weights=weights, ties=ties, ranked=ranked, positions=True)
    for vote in range(len(places)):
        seen = np.ones((4, size), dtype=bool) if ranked is None else ranked[vote]
        kept = [voter for voter in range(4) if seen[voter].any()]
        if not kept:
            continue
        ballots = [grouped(places[vote, voter], seen[voter]) for voter in kept]
        single = kemeny(
            ballots,
            candidates=list(range(size)),
            weights=[weights[voter] for voter in kept],
            ties=ties,
            unranked=unranked,
        )
        assert batch.cost[vote] == pytest.approx(single.cost, abs=1e-12)
        assert batch.n_optima[vote] == single.n_optima
        assert batch.mean_rank[vote].tolist() == pytest.approx(list(single.mean_rank.values()))
        assert batch.span[vote].tolist() == [[span.best, span.worst] for span in single.span.values()]


def grouped(places, seen):
    return [
        [i for i in range(len(places)) if seen[i] and places[i] == place]
        for place in sorted({places[i] for i in range(len(places)) if seen[i]})
    ]


def test_takes_the_places_of_profiles():
    _, ballots, _ = random_profile(12)
    profile = read_profile(ballots)
    assert kemeny_batch(profile.places[None]).cost[0] == kemeny(profile).cost


def test_large_weights_are_not_rounded_to_single_precision():
    places = [[[0, 1, 2], [2, 1, 0]]]
    batch = kemeny_batch(places, weights=[2**38, 2**38 + 1])
    assert batch.n_optima[0] == 1
    assert batch.cost[0] == 3 * 2**38


def test_mean_rank_without_positions_is_an_error_not_a_number():
    with pytest.raises(InputError, match="positions=True"):
        _ = kemeny_batch([[[0, 1]]]).mean_rank


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ([[0, 1]], "array \\[votes, voters, candidates\\]"),
        ([[[0.5, 1.0]]], "whole numbers"),
        ([[[float("nan"), 1.0]]], "whole numbers"),
        ([[[-1, 0]]], "a place is 0 or more"),
        (np.zeros((1, 1, 13), dtype=int), "up to 12 candidates"),
        (np.zeros((0, 1, 3), dtype=int), "none of them empty"),
    ],
)
def test_bad_places_are_refused(places, message):
    with pytest.raises(InputError, match=message):
        kemeny_batch(places)
