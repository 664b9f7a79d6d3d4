import pytest
from hypothesis import given
from hypothesis import strategies as st

from metajudge.errors import InputError
from metajudge.stats.panels import MOST_JUDGES, Unity, majority, panel_ablation, panel_result, unity

VOTES = st.lists(st.sampled_from(["A", "B", None]), min_size=1, max_size=7)


@pytest.mark.parametrize(
    ("votes", "size", "winner", "kind"),
    [
        ("AAA", 3, "A", Unity.UNANIMOUS),
        ("AAB", 3, "A", Unity.SPLIT),
        ("AA", 3, "A", Unity.INCOMPLETE),
        ("AB", 3, None, Unity.INCOMPLETE),
        ("A", 3, None, Unity.INCOMPLETE),
        ("AB", 2, None, Unity.SPLIT),
        ("ABC", 3, None, Unity.SPLIT),
        ("", 3, None, Unity.INCOMPLETE),
    ],
)
def test_a_majority_is_of_the_configured_panel_and_a_lost_judge_no_unanimity(votes, size, winner, kind):
    assert majority(list(votes), size) == winner
    assert unity(list(votes), size) is kind


@given(VOTES, st.randoms(use_true_random=False))
def test_order_and_names_of_votes_change_nothing(votes, rng):
    shuffled = list(votes)
    rng.shuffle(shuffled)
    renamed = [{"A": "z", "B": "y", None: None}[vote] for vote in votes]
    assert majority(votes, len(votes)) == majority(shuffled, len(votes))
    assert unity(votes, len(votes)) is unity(renamed, len(votes))


def test_an_observers_vote_is_refused():
    with pytest.raises(InputError, match="4 votes of a panel of 3"):
        majority("AAAB", 3)


def test_ablation_counts_every_panel_and_keeps_ties_out_of_both_sides():
    votes = [{"x": "A", "y": "A", "z": "B"}, {"x": "B", "y": "A", "z": "B"}, {"x": "A", "y": None}]
    found = {result.judges: result for result in panel_ablation(votes, ["A", "A", "A"], ["x", "y", "z"])}
    assert len(found) == 7
    assert (found[("x",)].right, found[("x",)].wrong, found[("x",)].undecided) == (2, 1, 0)
    pair = found[("x", "y")]
    assert (pair.right, pair.wrong, pair.undecided, pair.n) == (1, 0, 2, 3)
    assert pair.concordance is not None
    assert pair.concordance.estimate == 1
    assert pair.of_all.estimate == pytest.approx(1 / 3)
    whole = found[("x", "y", "z")]
    assert (whole.right, whole.wrong, whole.undecided) == (1, 1, 1)


def test_a_judge_that_never_voted_has_no_concordance():
    found = panel_result([{"x": "A"}], ["A"], ["ghost"])
    assert (found.concordance, found.undecided) == (None, 1)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="1 evaluations, 0 human choices"):
        panel_result([{}], [], ["x"])
    with pytest.raises(InputError, match="at most 12"):
        panel_ablation([{}], ["A"], [str(n) for n in range(MOST_JUDGES + 1)])
