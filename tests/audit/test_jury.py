import numpy as np
import pytest

from metajudge.audit.jury import jury_of
from metajudge.audit.peers import build_peers
from metajudge.types.right import parse_right
from tests.audit.records import single, table_of


def jury(judges, items=400, labelled=True):
    """Judges -> (error rate, seed); the same seed makes the same errors."""
    wrong = {name: np.random.default_rng(seed).random(items) < rate for name, (rate, seed) in judges.items()}
    judgments = [
        single(f"i{at}", name, (at % 2 == 0) != bool(wrong[name][at]), label=at % 2 == 0 if labelled else None)
        for at in range(items)
        for name in judges
    ]
    table = table_of(judgments)
    return jury_of(table, build_peers(table))


def test_independent_judges_count_in_full_and_copies_once():
    apart = jury({"a": (0.3, 1), "b": (0.3, 2), "c": (0.3, 3)})
    assert apart.effective.estimate == pytest.approx(3, abs=0.2)
    alike = jury({"a": (0.3, 1), "b": (0.3, 1), "c": (0.3, 1)})
    assert alike.effective.estimate == pytest.approx(1)
    assert alike.pairs[0].error_correlation.estimate == pytest.approx(1)
    assert alike.pairs[0].agreement.estimate == 1


def test_two_judges_of_which_one_copies():
    found = jury({"a": (0.3, 1), "copy": (0.3, 1), "c": (0.3, 3)})
    # 3^2 / (3 + 2 * 1), with the correlations of a and c near 0
    assert found.effective.estimate == pytest.approx(9 / 5, abs=0.15)
    assert found.effective.interval[0] < found.effective.estimate < found.effective.interval[1]


def test_the_cheapest_panel_that_is_as_good_drops_the_rest():
    found = jury({"good": (0.05, 1), "bad": (0.4, 2), "worse": (0.45, 3)}, items=800)
    assert found.panels[0].judges == ("good",)
    assert found.cheapest.judges == ("good",)
    assert {name for name, _ in found.drop} == {"bad", "worse"}
    assert found.panels[-1].difference.estimate == 0
    assert "good alone" in found.sentence


def test_all_are_needed_where_each_adds():
    found = jury({"a": (0.3, 1), "b": (0.3, 2), "c": (0.3, 3)}, items=1500)
    assert found.cheapest is None
    assert found.drop == ()
    assert found.panels[-1].accuracy.estimate > found.panels[0].accuracy.estimate + 0.04


def test_without_labels_only_agreement_is_given():
    found = jury({"a": (0.2, 1), "b": (0.2, 1), "c": (0.2, 3)}, labelled=False)
    assert (found.reference, found.panels, found.cheapest, found.effective) == ("nothing", (), None, None)
    assert found.pairs[0].agreement.estimate == 1
    assert found.pairs[0].error_correlation is None
    assert "Without labels" in found.sentence
    assert jury({"a": (0.2, 1)}) is None


def test_panels_of_grades_take_the_median():
    judgments = [
        single(f"i{at}", name, 3.0 + off * (at % 2), label=3.0)
        for at in range(40)
        for name, off in (("high", 2.0), ("low", -2.0), ("right", 0.0))
    ]
    table = table_of(judgments, parse_right("within:1"))
    found = jury_of(table, build_peers(table))
    assert found.panels[-1].accuracy.estimate == 1.0
    assert {pair.error_correlation is None for pair in found.pairs} == {True, False}
