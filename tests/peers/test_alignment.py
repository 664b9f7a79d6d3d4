"""Agreement with human rankings: missing and unknown models, ties, constant rankings, the best single evaluator."""

import numpy as np
import pytest

from metajudge.peers import HumanRanking, build_table
from metajudge.peers.alignment import Plan, align
from metajudge.peers.consensus import Agreements
from metajudge.peers.figures import Resamples
from tests.peers.elections import NAMES, ballot, ballots


def human(*groups):
    return HumanRanking(name="h", ranking=tuple((one,) if isinstance(one, str) else tuple(one) for one in groups))


def compare(given, reference, **plan):
    table = build_table(given)
    resamples = Resamples(len(table.questions), 200, np.random.default_rng(0))
    return align(Agreements(table), reference, Plan("kemeny", **plan), resamples)


def row(found, name="kemeny", measure="pearson", kind=None):
    (one,) = [r for r in found.rows if r.name == name and r.measure == measure and kind in (None, r.kind)]
    return one


def test_agreement_is_of_the_models_in_common_perfect_or_absent_with_the_reason():
    found = compare(ballots(4, phi=0.0), human(*NAMES))
    for measure in ("pearson", "kendall"):
        one = row(found, measure=measure)
        assert one.micro.median.value == pytest.approx(1)
        assert one.macro.value == pytest.approx(1)
        assert one.pooled.value == pytest.approx(1)
    found = compare(ballots(4, phi=0.0), human("ant", "cat", "dog", "gnu"))
    assert found.models == ("ant", "cat", "dog")
    assert found.missing == ("bee", "eel", "fox")
    assert found.unknown == ("gnu",)
    assert row(found).micro.median.value == pytest.approx(1)
    assert row(found, "bee").micro.median.value == pytest.approx(1), "who is not ranked may still evaluate"
    found = compare(ballots(2), human("ant", "gnu"))
    assert found.absent == "the human ranking 'h' shares 1 models with the ballots; two are needed"
    assert found.rows == ()


def test_ties_in_the_human_ranking_are_kept_and_a_flat_one_has_no_correlation():
    tied = compare(ballots(4, phi=0.0), human(["ant", "bee"], "cat", ["dog", "eel", "fox"]))
    assert tied.ties == (("ant", "bee"), ("dog", "eel", "fox"))
    assert 0.8 < row(tied).micro.median.value < 1
    flat = compare(ballots(4), human(NAMES))
    for one in flat.rows:
        assert one.micro.median.value is None
        assert "the reference puts all models in one place" in one.micro.median.absent
        assert one.macro.value is None


def test_an_evaluator_with_constant_rankings_has_no_correlation_and_is_counted():
    given = [one for one in ballots(4, phi=0.0) if one.evaluator != "ant"]
    given += [ballot("ant", [NAMES], f"q{n}") for n in range(4)]
    found = compare(given, human(*NAMES))
    alone = row(found, "ant")
    assert alone.micro.n == 0
    assert alone.micro.undefined == {"all models share one place, so no correlation is defined": 4}
    (difference,) = [d for d in found.differences if d.evaluator == "ant" and d.measure == "pearson"]
    assert difference.median.value is None
    assert "all models share one place" in difference.median.absent


def test_two_models_correlate_by_plus_or_minus_one_only():
    names = ("a", "b")
    given = [ballot("a", ["a", "b"]), ballot("b", ["b", "a"]), *(ballot(name, ["a", "b"], "q2") for name in "ab")]
    found = compare(given, human(*names))
    one = row(found)
    assert (one.micro.n, one.micro.median.value) == (1, 1.0)
    assert one.micro.undefined == {"all models share one place, so no correlation is defined": 1}
    free = row(found, "kemeny, self-free")
    assert (free.micro.n, free.micro.median.value) == (1, 1.0)


def test_one_question_gives_no_intervals_and_ties_of_the_best_evaluator_are_told():
    found = compare(ballots(1, phi=0.3), human(*NAMES))
    one = row(found)
    assert one.micro.median.low is None
    assert one.macro.low is None
    assert one.macro.value is not None
    given = [*ballots(9, phi=0.9, evaluators=("x", "y"), seed=4), *ballots(9, phi=0.0, evaluators=("good", "best"))]
    found = compare(given, human(*NAMES))
    best = next(one for one in found.best_single if one.measure == "pearson")
    assert best.evaluators == ("best", "good")
    assert best.median.value == pytest.approx(1)
    assert best.difference.value <= 0


def test_better_equal_and_worse_add_up_and_cut_ballots_have_their_own_rows():
    found = compare(ballots(15, phi=0.6, seed=2), human(*NAMES))
    for one in found.differences:
        assert one.better + one.equal + one.worse == one.median.n == 15
        mine = row(found, measure=one.measure).micro.median.value
        alone = row(found, one.evaluator, one.measure).micro.median.value
        assert one.median.value == pytest.approx(mine - alone)
    found = compare(ballots(15, phi=0.6, seed=2), human(*NAMES), top_k=(1, 6))
    whole, cut, uncut = (row(found, name).micro.median.value for name in ("kemeny", "kemeny, top 1", "kemeny, top 6"))
    assert uncut == pytest.approx(whole)
    changes = {one.k: one.relative.value for one in found.top_k_changes if one.measure == "pearson"}
    assert changes[1] == pytest.approx(cut / whole - 1)
    assert changes[6] == pytest.approx(0)


def test_leaving_self_out_changes_what_is_compared():
    given = ballots(15, phi=0.5, seed=2, selfish=("fox", "eel", "dog"))
    both = compare(given, human(*NAMES))
    without = compare(given, human(*NAMES), include_self="no")
    with_self = compare(given, human(*NAMES), include_self="yes")
    names = {
        mode: {r.name for r in one.rows if r.kind != "single"}
        for mode, one in zip("bnw", (both, without, with_self), strict=True)
    }
    assert names == {"b": {"kemeny", "kemeny, self-free"}, "n": {"kemeny, self-free"}, "w": {"kemeny"}}
    free = row(both, "kemeny, self-free")
    assert free.micro.median != row(both).micro.median
    assert free.pooled.value is None
    assert without.differences != both.differences


def test_swapping_names_changes_no_figure():
    new = dict(zip(NAMES, reversed(NAMES), strict=True))
    given = ballots(6, phi=0.8, seed=5)
    renamed = [ballot(new[b.evaluator], [[new[n] for n in g] for g in b.ranking], b.question_id) for b in given]
    one = compare(given, human(*NAMES))
    other = compare(renamed, human(*(new[name] for name in NAMES)))
    for measure in ("pearson", "kendall"):
        assert row(one, measure=measure) == row(other, measure=measure)
