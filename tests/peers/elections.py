"""Made-up ballots of evaluators who see one true order more or less well."""

import random
from itertools import permutations

from metajudge.peers import Ballot, HumanRanking, Options, analyse

NAMES = ("ant", "bee", "cat", "dog", "eel", "fox")
HUMAN = HumanRanking(name="h", ranking=tuple((name,) for name in NAMES))


def mallows(source, names, phi):
    """A ranking at random: ``phi`` 0 gives the names' own order, 1 any order alike (repeated insertion)."""
    ranking = []
    for number, name in enumerate(names):
        weights = [phi ** (number - place) for place in range(number + 1)]
        ranking.insert(source.choices(range(number + 1), weights)[0], name)
    return ranking


def ballots(questions=20, names=NAMES, phi=0.5, seed=0, selfish=(), evaluators=None, labels=False):
    """Every evaluator ranks all answers of every question; ``selfish`` ones put themselves first."""
    source = random.Random(seed)
    found = []
    for question in range(questions):
        for evaluator in evaluators or names:
            ranking = mallows(source, names, phi)
            if evaluator in selfish:
                ranking.remove(evaluator)
                ranking.insert(0, evaluator)
            shown = source.sample(names, len(names))
            given = {f"A{n}": name for n, name in enumerate(shown)} if labels else None
            found.append(
                Ballot(question_id=f"q{question}", evaluator=evaluator, ranking=ranking, labels=given, seed=seed)
            )
    return found


def ballot(evaluator, ranking, question="q", **more):
    return Ballot(question_id=question, evaluator=evaluator, ranking=ranking, **more)


def failed(question, evaluator, kind="timeout"):
    return Ballot(
        question_id=question,
        evaluator=evaluator,
        status="failed",
        failure={"kind": kind, "message": "no answer in 120 s"},
    )


def quick(given, *humans, **options):
    """Findings of no resamples."""
    return analyse(given, Options(**{"resamples": 0, **options}), humans)


def standing(found, name):
    (one,) = [one for one in found.standings if one.model == name]
    return one


def best_orders(rankings, names):
    """Kemeny by trying every order: least cost and all orders that have it; a ranking is a list of groups."""
    places = [{name: number for number, group in enumerate(groups) for name in group} for groups in rankings]

    def cost(order):
        place = {name: number for number, name in enumerate(order)}
        return sum(
            1.0 if (one[a] < one[b]) != (place[a] < place[b]) else 0.0
            for one in places
            for i, a in enumerate(names)
            for b in names[i + 1 :]
            if a in one and b in one and one[a] != one[b]
        )

    costs = {order: cost(order) for order in permutations(names)}
    least = min(costs.values())
    return [order for order, value in costs.items() if value == least]


def mean_places(orders, names):
    return {name: sum(order.index(name) + 1 for order in orders) / len(orders) for name in names}
