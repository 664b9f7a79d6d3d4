"""Random profiles with everything a real vote has, and Kemeny by trying every order."""

import random
from fractions import Fraction
from itertools import permutations

import numpy as np


def random_profile(seed, max_candidates=6, max_voters=7, *, weighted=True):
    """(candidates, ballots, weights): ties, truncation, missing candidates, fractional weights by the seed."""
    source = random.Random(seed)
    names = [f"m{i}" for i in range(source.randint(1, max_candidates))]
    ballots = [random_ballot(source, names) for _ in range(source.randint(1, max_voters))]
    kinds = [None, [source.randint(1, 4) for _ in ballots], [Fraction(source.randint(1, 6), 6) for _ in ballots]]
    kinds.append([source.randint(1, 5) / 10 for _ in ballots])
    return names, ballots, kinds[seed % 4] if weighted else None


def random_ballot(source, names):
    kept = source.sample(names, source.randint(1, len(names)) if source.random() < 0.5 else len(names))
    ballot = []
    for name in kept:
        if ballot and source.random() < 0.25:
            ballot[-1] = [*ballot[-1], name]
        else:
            ballot.append([name])
    return [group[0] if len(group) == 1 and source.random() < 0.7 else group for group in ballot]


def shuffled_ballots(seed, candidates, voters):
    """Strict complete ballots."""
    source = random.Random(seed)
    return [source.sample(candidates, len(candidates)) for _ in range(voters)]


def near_ballots(seed, candidates, voters, swaps):
    """Strict complete ballots at some random neighbouring swaps from the order of the candidates."""
    source = random.Random(seed)
    ballots = []
    for _ in range(voters):
        ballot = list(candidates)
        for _ in range(swaps):
            i = source.randrange(len(ballot) - 1)
            ballot[i], ballot[i + 1] = ballot[i + 1], ballot[i]
        ballots.append(ballot)
    return ballots


def groups_of(ballot):
    return [[entry] if isinstance(entry, str | int) else list(entry) for entry in ballot]


def brute_force(names, ballots, weights, ties, unranked):
    """(least cost, set of all orders of that cost), by the definition, over every permutation."""
    weights = [Fraction(str(weight)) for weight in weights or [1] * len(ballots)]
    costs = dict.fromkeys(permutations(names), Fraction(0))
    for ballot, weight in zip(ballots, weights, strict=True):
        place = {name: i for i, group in enumerate(groups_of(ballot)) for name in group}
        for order in costs:
            costs[order] += weight * ballot_cost(order, place, ties, unranked)
    least = min(costs.values())
    return least, {order for order, cost in costs.items() if cost == least}


def ballot_cost(order, place, ties, unranked):
    cost = Fraction(0)
    for i, above in enumerate(order):
        for below in order[i + 1 :]:
            if unranked == "ignore" and (above not in place or below not in place):
                continue
            first, second = place.get(above, len(order)), place.get(below, len(order))
            if first == second:
                cost += Fraction(1, 2) if ties == "half" else 0
            elif first > second:
                cost += 1
    return cost


# Tennessee's capital: 42 % Memphis, 26 % Nashville, 15 % Chattanooga, 17 % Knoxville, each by distance.
TENNESSEE = {
    "ballots": [
        ["Memphis", "Nashville", "Chattanooga", "Knoxville"],
        ["Nashville", "Chattanooga", "Knoxville", "Memphis"],
        ["Chattanooga", "Knoxville", "Nashville", "Memphis"],
        ["Knoxville", "Chattanooga", "Nashville", "Memphis"],
    ],
    "weights": [42, 26, 15, 17],
}


def rank(rule, data, **options):
    return rule([list(ballot) for ballot in data["ballots"]], weights=data["weights"], **options)


def made_votes(seed=0, size=5, count=3000, ties=0.0):
    """(first, second, outcome, strengths) of votes on pairs drawn from known strengths."""
    source = np.random.default_rng(seed)
    strengths = np.linspace(-1, 1, size)
    first = source.integers(0, size, count)
    second = (first + source.integers(1, size, count)) % size
    outcome = np.where(source.random(count) < 1 / (1 + np.exp(strengths[second] - strengths[first])), 1, -1)
    outcome[source.random(count) < ties] = 0
    return first, second, outcome, strengths
