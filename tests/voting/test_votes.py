import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.voting import bootstrap_strengths, bradley_terry, count_votes
from tests.voting.made_votes import made_votes


def test_votes_on_pairs_are_not_read_as_top_two_lists():
    ballots = [["a", "b"], ["b", "c"], ["c", "a"]]
    assert bradley_terry(ballots).comparisons == 3
    assert bradley_terry(ballots, unranked="below").comparisons == 9


def test_counting_votes_by_name_and_by_index_is_the_same():
    names = ["x", "y", "z"]
    first, second, outcome = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2]), np.array([1, 0, -1, 1])
    by_index = count_votes(first, second, outcome, candidates=names)
    by_name = count_votes([names[i] for i in first], [names[i] for i in second], outcome, candidates=names)
    for one in (by_index, by_name):
        assert one.prefer.tolist() == [[0, 1, 2], [0, 0, 0], [0, 0, 0]]
        assert one.tied.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert by_index.total == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], []), "there are no votes"),
        ((["a"], ["b", "c"], [1]), "1 firsts, 2 seconds and 1 outcomes"),
        ((["a"], ["a"], [1]), "'a' is compared with itself"),
        ((["a"], ["b"], [2]), "an outcome is 1"),
        ((["a"], ["b"], [0.5]), "an outcome is 1"),
        ((["a"], ["b"], [float("nan")]), "an outcome is 1"),
        ((np.array([0]), np.array([1]), [1]), "need candidates"),
    ],
)
def test_bad_votes_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        count_votes(*arguments)


def test_votes_for_strangers_are_refused():
    with pytest.raises(InputError, match="names 'q', which is not among"):
        count_votes(["a"], ["q"], [1], candidates=["a", "b"])
    with pytest.raises(InputError, match="index outside 0 to 1"):
        count_votes(np.array([0]), np.array([2]), [1], candidates=["a", "b"])


def test_bootstrap_intervals_agree_with_standard_errors():
    counts, _ = made_votes(count=2000)
    fit = bradley_terry(counts)
    found = bootstrap_strengths(counts, rng=np.random.default_rng(0), resamples=400)
    for name, (low, high) in found.intervals.items():
        assert high - low == pytest.approx(2 * 1.96 * fit.standard_errors[name], rel=0.2)
        assert low < fit.scores[name] < high
        best, worst = found.ranks[name]
        assert 1 <= best <= worst <= 5
    assert (found.undefined, found.votes) == (0, 2000)


def test_resamples_that_separate_are_counted_and_left_out():
    counts = count_votes(["a"] * 8 + ["b"], ["b"] * 8 + ["a"], [1] * 9)
    found = bootstrap_strengths(counts, rng=np.random.default_rng(0), resamples=200)
    assert 40 < found.undefined < 110  # (8/9)^9 = 35 % of the resamples hold no win of b
    never = count_votes(["a", "a"], ["b", "b"], [1, 1])
    with pytest.raises(InputError, match="no resample ties all candidates together"):
        bootstrap_strengths(never, rng=np.random.default_rng(0))


@pytest.mark.parametrize("size", [3, 300])
def test_votes_by_name_are_counted_as_by_index(size):
    source = np.random.default_rng(size)
    first = source.integers(0, size, 20_001)
    second = (first + source.integers(1, size, len(first))) % size
    outcome = source.integers(-1, 2, len(first))
    names = [f"m{i}" for i in range(size)]
    by_index = count_votes(first, second, outcome, candidates=names)
    given = count_votes([names[i] for i in first], [names[i] for i in second], outcome, candidates=names)
    assert np.array_equal(given.prefer, by_index.prefer)
    assert np.array_equal(given.tied, by_index.tied)
    found = count_votes([names[i] for i in first], [names[i] for i in second], outcome)
    order = [found.candidates.index(name) for name in names]
    assert np.array_equal(found.prefer[np.ix_(order, order)], by_index.prefer)
    small = (first % 200).astype(np.uint8), (second % 200).astype(np.uint8)
    apart = small[0] != small[1]
    named = [f"n{i}" for i in range(200)]
    assert count_votes(small[0][apart], small[1][apart], outcome[apart], candidates=named).total == apart.sum()


def test_votes_that_would_be_miscounted_are_refused():
    with pytest.raises(InputError, match="candidates names 'a' twice"):
        count_votes(["a", "b"], ["b", "a"], [1, 1], candidates=["a", "a", "b"])
    with pytest.raises(InputError, match="candidates names 'a' twice"):
        count_votes(np.array([0]), np.array([2]), [1], candidates=["a", "a", "b"])
    with pytest.raises(InputError, match="not true or false"):
        count_votes(["a", "b"], ["b", "a"], [True, False])
    for nameless in (None, float("nan"), ["a"]):
        with pytest.raises(InputError, match="which is no name"):
            count_votes(["a", nameless], ["b", "b"], [1, 1])
    with pytest.raises(InputError, match="'z', which is not among"):
        count_votes(["a", "z"], ["b", "b"], [1, 1], candidates=["a", "b"])
