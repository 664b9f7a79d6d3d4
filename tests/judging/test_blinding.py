"""Labels: drawn uniformly, independent of the order given, undone in one place."""

import itertools
from collections import Counter

import pytest
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.judging.blinding import Blinding, blind, unblind
from metajudge.types import Ranking


def test_the_order_given_changes_nothing_and_every_seed_evaluation_and_judge_has_its_own_draw():
    names = ["b", "a", "d", "c"]
    drawn = {blind(order, seed=3, evaluation="e", judge="j") for order in itertools.permutations(names)}
    assert len(drawn) == 1
    assert blind((name for name in names), seed=3, evaluation="e", judge="j") in drawn
    names = [f"m{n}" for n in range(12)]
    first = blind(names, seed=1, evaluation="e", judge="j").order
    assert blind(names, seed=2, evaluation="e", judge="j").order != first
    assert blind(names, seed=1, evaluation="f", judge="j").order != first
    assert blind(names, seed=1, evaluation="e", judge="k").order != first
    assert sorted(first) == sorted(names)


def test_all_orders_are_equally_likely_and_rankings_come_back_by_the_stored_map():
    counts = Counter(blind("abc", seed=n, evaluation="e", judge="j").order for n in range(3000))
    assert len(counts) == 6
    chi2 = sum((count - 500) ** 2 / 500 for count in counts.values())
    assert chi2 < 20.5  # five degrees of freedom, p = 0.001
    stored = Blinding(seed=0, evaluation="e", judge="j", order=("y", "z", "x"))
    assert stored.label_map == {"A0": "y", "A1": "z", "A2": "x"}
    assert unblind(stored, [["A2"], ["A0"], ["A1"]]) == Ranking((("x",), ("y",), ("z",)))
    again = Blinding.model_validate_json(stored.model_dump_json())
    assert unblind(again, [["A2"], ["A0"], ["A1"]]) == Ranking((("x",), ("y",), ("z",)))
    stored = Blinding(seed=0, evaluation="e", judge="j", order=("z", "a"))
    assert unblind(stored, [["A0", "A1"]]) == Ranking((("a", "z"),))


@pytest.mark.parametrize(
    "ranking", [[], [["A0"]], [["A0"], ["A0"]], [["A0"], ["A2"]], [["A0"], ["A1"], ["A1"]], [["A0"], [], ["A1"]]]
)
def test_what_is_no_permutation_is_never_turned_back(ranking):
    with pytest.raises(InputError, match="names each of them once"):
        unblind(blind("xy", seed=0, evaluation="e", judge="j"), ranking)


def test_nobody_and_a_name_twice_are_errors():
    for names in ([], ["x", "x"]):
        with pytest.raises(InputError, match="cannot blind"):
            blind(names, seed=0, evaluation="e", judge="j")
    with pytest.raises(ValidationError):
        Blinding(seed=0, evaluation="e", judge="j", order=("x", "x"))
