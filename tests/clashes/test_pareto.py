"""The Pareto front: who is beaten by nobody."""

import random

from metajudge.clashes.pareto import CandidateFigures, pareto_front


def front(*rows):
    return [(one.standing, one.dominated_by) for one in pareto_front([CandidateFigures(*row) for row in rows])]


def test_better_quality_at_higher_cost_is_no_domination():
    assert front(("good", 0.9, 2.0, 1.0), ("cheap", 0.5, 1.0, 1.0), ("bad", 0.4, 2.0, 1.0)) == [
        ("front", ()), ("front", ()), ("dominated", ("cheap", "good")),
    ]  # fmt: skip


def test_equals_do_not_dominate_each_other():
    assert front(("a", 0.5, 1.0, 1.0), ("b", 0.5, 1.0, 1.0)) == [("front", ())] * 2
    assert front(("a", 0.5, 1.0, 1.0), ("b", 0.5, 1.0, 2.0))[1] == ("dominated", ("a",))


def test_an_unknown_cost_is_no_cost_of_zero():
    found = pareto_front([CandidateFigures("a", 0.5, None, 1.0), CandidateFigures("b", 0.1, 5.0, 9.0)])
    assert (found[0].standing, found[0].why) == ("not_comparable", "cost not known")
    assert found[1].standing == "front"


def test_the_order_of_candidates_changes_nothing():
    rng = random.Random(1)
    rows = [CandidateFigures(str(n), rng.randint(0, 3) / 3, rng.randint(1, 3), rng.randint(1, 3)) for n in range(9)]
    whole = {one.candidate.name: one for one in pareto_front(rows)}
    for _ in range(20):
        shuffled = rng.sample(rows, len(rows))
        assert {one.candidate.name: one for one in pareto_front(shuffled)} == whole
    assert any(one.standing == "front" for one in whole.values())
