"""A judge that takes what it sees first is found, one that does not is left alone, and the p-value is exact."""

import random
from itertools import product

import pytest

from metajudge.clashes.clash import Clash, Judge
from metajudge.clashes.first_shown import FEWEST, LEVEL, compared_with_chance, first_shown
from metajudge.clashes.run import rounds, run_rounds
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Item
from tests.doubles.ranking import ranks_by, reply, shown


def takes_the_first(request):
    return reply(request, list(shown(request)))


def tail(first, sizes):
    """P(sum >= first), by listing all outcomes."""
    total = 0.0
    for outcome in product((0, 1), repeat=len(sizes)):
        if sum(outcome) >= first:
            chance = 1.0
            for hit, size in zip(outcome, sizes, strict=True):
                chance *= 1 / size if hit else 1 - 1 / size
            total += chance
    return total


@pytest.mark.parametrize("sizes", [[2] * 8, [3] * 9, [2, 3, 4, 2, 2, 5, 3, 2, 2]])
@pytest.mark.parametrize("first", [0, 3, 7])
def test_the_p_value_is_that_of_all_outcomes_listed(sizes, first):
    rows = [(size, place < first) for place, size in enumerate(sizes)]
    (found,) = compared_with_chance({"j": rows})
    assert found.p_value == pytest.approx(tail(first, sizes))
    assert found.expected == pytest.approx(sum(1 / size for size in sizes))


async def test_a_judge_that_always_takes_the_first_answer_shown_is_reported_and_a_fair_one_is_not():
    judges = (Judge("fond", ScriptedModel(takes_the_first, name="fond")), Judge("fair", ranks_by(len, name="fair")))
    items = [Item(id=f"q{n}", question=f"{n}?", responses={"a": "long answer", "b": "no"}) for n in range(16)]
    _, records = await run_rounds(rounds(items, Clash(judges)), workers=4, on_record=lambda *_: None)
    fair, fond = first_shown(records)
    assert (fond.judge, fond.first, fond.n, fond.reported) == ("fond", 16, 16, True)
    assert fond.p_value == pytest.approx(2**-16)
    assert fond.level == LEVEL / 2
    assert "in 16 of 16 evaluations (chance gives 8.0; exact one-sided p = 1.5e-05, level 0.005)" in fond.sentence()
    assert not fair.reported


def test_too_few_evaluations_are_never_tested():
    rows = [(2, True)] * (FEWEST - 1)
    (found,) = compared_with_chance({"j": rows})
    assert (found.p_value, found.reported) == (None, False)
    assert "nothing is tested" in found.sentence()


def test_judges_that_ignore_the_order_are_reported_no_more_often_than_the_level_says():
    rng = random.Random(11)
    runs, reported = 2000, 0
    for _ in range(runs):
        seen = {judge: [(3, rng.random() < 1 / 3) for _ in range(20)] for judge in "xyz"}
        reported += any(one.reported for one in compared_with_chance(seen))
    assert reported / runs <= LEVEL + 3 * (LEVEL / runs) ** 0.5
