"""Bradley-Terry and Plackett-Luce: estimates, errors, and comparisons that have no finite estimate."""

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.voting import (
    bootstrap_strengths,
    borda,
    bradley_terry,
    count_votes,
    kemeny,
    median_rank,
    plackett_luce,
    plurality,
    read_profile,
)


def made_votes(seed=0, size=5, count=3000, ties=0.0):
    source = np.random.default_rng(seed)
    strengths = np.linspace(-1, 1, size)
    first = source.integers(0, size, count)
    second = (first + source.integers(1, size, count)) % size
    outcome = np.where(source.random(count) < 1 / (1 + np.exp(strengths[second] - strengths[first])), 1, -1)
    outcome[source.random(count) < ties] = 0
    return count_votes(first, second, outcome, candidates=[f"m{i}" for i in range(size)]), strengths


def test_two_candidates_have_a_closed_form():
    found = bradley_terry([["a", "b"]] * 30 + [["b", "a"]] * 10)
    assert found.scores["a"] - found.scores["b"] == pytest.approx(np.log(3))
    # Var(log odds) = 1/30 + 1/10; with mean 0 each strength is half the difference.
    assert found.standard_errors["a"] == pytest.approx(np.sqrt(1 / 30 + 1 / 10) / 2)
    assert found.win_probability("a", "b") == pytest.approx(0.75)
    assert found.log_likelihood == pytest.approx(30 * np.log(0.75) + 10 * np.log(0.25))
    assert found.comparisons == 40


def test_standard_errors_are_the_spread_of_repeated_estimates():
    estimates = [list(bradley_terry(made_votes(seed, count=1500)[0]).scores.values()) for seed in range(150)]
    one, truth = made_votes(1, count=1500)
    found = list(bradley_terry(one).standard_errors.values())
    assert np.std(estimates, axis=0) == pytest.approx(found, rel=0.25)
    assert np.mean(estimates, axis=0) == pytest.approx(truth, abs=0.03)


def test_davidson_recovers_the_draw_parameter():
    source = np.random.default_rng(4)
    strengths, nu = np.array([-0.8, 0.0, 0.8]), 0.7
    first = source.integers(0, 3, 20_000)
    second = (first + source.integers(1, 3, 20_000)) % 3
    gap = strengths[first] - strengths[second]
    weights = np.stack([np.exp(gap / 2), np.full(len(gap), nu), np.exp(-gap / 2)])
    drawn = source.random(len(gap)) * weights.sum(axis=0)
    outcome = np.where(drawn < weights[0], 1, np.where(drawn < weights[0] + nu, 0, -1))
    found = bradley_terry(count_votes(first, second, outcome, candidates=list("abc")), ties="davidson")
    assert found.draw_parameter == pytest.approx(nu, abs=0.03)
    assert list(found.scores.values()) == pytest.approx(strengths, abs=0.05)
    assert 0.005 < found.standard_errors["b"] < 0.03


def test_davidson_is_at_a_maximum():
    counts, _ = made_votes(2, count=400, ties=0.3)
    found = bradley_terry(counts, ties="davidson")
    assert found.log_likelihood == pytest.approx(davidson_likelihood(counts, found.scores, found.draw_parameter))
    for name in counts.candidates:
        for step in (-0.01, 0.01):
            moved = {**found.scores, name: found.scores[name] + step}
            assert davidson_likelihood(counts, moved, found.draw_parameter) < found.log_likelihood
    for factor in (0.98, 1.02):
        assert davidson_likelihood(counts, found.scores, found.draw_parameter * factor) < found.log_likelihood


def davidson_likelihood(counts, scores, nu):
    total = 0.0
    for i, first in enumerate(counts.candidates):
        for j, second in enumerate(counts.candidates):
            if i < j:
                a, b = np.exp(scores[first]), np.exp(scores[second])
                whole = a + b + nu * np.sqrt(a * b)
                total += counts.prefer[i, j] * np.log(a / whole) + counts.prefer[j, i] * np.log(b / whole)
                total += counts.tied[i, j] * np.log(nu * np.sqrt(a * b) / whole)
    return total


def test_draws_ignored_or_halved_are_different_answers():
    ballots = [["a", "b"]] * 6 + [["b", "a"]] * 2 + [[["a", "b"]]] * 8
    gap = {ties: np.subtract(*bradley_terry(ballots, ties=ties).scores.values()) for ties in ("half", "ignore")}
    assert gap["ignore"] == pytest.approx(np.log(3))
    assert gap["half"] == pytest.approx(np.log(10 / 6))


@pytest.mark.parametrize("model", [bradley_terry, plackett_luce])
def test_a_candidate_that_always_wins_has_no_finite_strength_and_is_no_huge_number(model):
    ballots = [["a", "b", "c"], ["a", "c", "b"]]
    with pytest.raises(InputError, match=r"'a' never lost to 'b', 'c'.*infinite.*prior"):
        model(ballots)
    found = model(ballots, prior=0.5)
    assert 0 < found.scores["a"] < 5
    assert found.scores["b"] == pytest.approx(found.scores["c"])
    assert found.ranking == (("a",), ("b", "c"))
    assert found.prior == 0.5


@pytest.mark.parametrize("model", [bradley_terry, plackett_luce])
def test_groups_that_no_ballot_joins_have_no_common_scale(model):
    ballots = [["a", "b"], ["b", "a"], ["x", "y"], ["y", "x"]]
    with pytest.raises(InputError, match="no ballot compares 'a', 'b' with 'x', 'y'"):
        model(ballots)
    assert list(model(ballots, prior=1).scores.values()) == pytest.approx([0.0] * 4, abs=1e-9)


@pytest.mark.parametrize("model", [bradley_terry, plackett_luce])
def test_one_candidate_is_not_compared(model):
    with pytest.raises(InputError, match="there is only 'a'"):
        model([["a"]])


@pytest.mark.parametrize("prior", [-1, float("nan"), float("inf")])
def test_a_prior_is_a_number_of_pseudo_wins(prior):
    for model in (bradley_terry, plackett_luce):
        with pytest.raises(InputError, match="prior must be a finite number"):
            model([["a", "b"]], prior=prior)


def test_davidson_needs_draws_and_wins():
    with pytest.raises(InputError, match="needs draws"):
        bradley_terry([["a", "b"], ["b", "a"]], ties="davidson")
    with pytest.raises(InputError, match="every comparison is a draw"):
        bradley_terry([[["a", "b"]]], ties="davidson")


@pytest.mark.parametrize(
    "ballots",
    [
        [["a", "b"], [["a", "b"]]],
        [["a", "b"], ["b", "c"], [["a", "b"]], [["b", "c"]]],
        [["a", "b"], [["b", "c"]], ["c", "d"], [["d", "a"]]],
    ],
)
def test_davidson_names_comparisons_whose_draw_parameter_is_infinite(ballots):
    with pytest.raises(InputError, match="no circle of comparisons holds more wins than draws"):
        bradley_terry(ballots, ties="davidson")
    assert bradley_terry(ballots, ties="davidson", prior=0.5).draw_parameter > 0


def test_davidson_takes_two_wins_round_a_draw():
    found = bradley_terry([["a", "b"], ["b", "c"], [["a", "c"]]], ties="davidson")
    assert found.scores["a"] > found.scores["b"] > found.scores["c"]


def test_votes_on_pairs_are_not_read_as_top_two_lists():
    ballots = [["a", "b"], ["b", "c"], ["c", "a"]]
    assert bradley_terry(ballots).comparisons == 3
    assert bradley_terry(ballots, unranked="below").comparisons == 9


def test_plackett_luce_top_lists_say_nothing_about_the_rest():
    ballots = [["a"]] * 5 + [["b"]] * 3 + [["c"]] * 2
    found = plackett_luce(ballots, unranked="below", prior=1e-9)
    odds = np.exp(list(found.scores.values()))
    assert odds / odds.sum() == pytest.approx([0.5, 0.3, 0.2], abs=1e-6)
    assert found.choices == 10


def test_plackett_luce_ties_by_breslow_or_not_at_all():
    ballots = [[["a", "b"], "c"], ["c", "a", "b"], ["b", "c", "a"]]
    assert plackett_luce([[["a", "b"], "c"]] * 3 + [["c", ["a", "b"]]]).ranking == (("a", "b"), ("c",))
    with pytest.raises(InputError, match="ballot 0 has a tie"):
        plackett_luce(ballots, ties="refuse")
    assert plackett_luce([*ballots[1:], ["a", "b", "c"]], ties="refuse").choices == 6


def test_plackett_luce_of_pairs_is_bradley_terry():
    source = np.random.default_rng(0)
    ballots = [[str(i) for i in source.choice(5, 2, replace=False)] for _ in range(300)]
    one, other = plackett_luce(ballots), bradley_terry(ballots)
    assert dict(one.scores) == pytest.approx(dict(other.scores))
    assert dict(one.standard_errors) == pytest.approx(dict(other.standard_errors))
    assert one.log_likelihood == pytest.approx(other.log_likelihood)


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
    for name, interval in found.intervals.items():
        assert interval.high - interval.low == pytest.approx(2 * 1.96 * fit.standard_errors[name], rel=0.2)
        assert interval.low < fit.scores[name] < interval.high
        assert 1 <= interval.best_rank <= interval.worst_rank <= 5
    assert (found.undefined, found.votes) == (0, 2000)


def test_resamples_that_separate_are_counted_and_left_out():
    counts = count_votes(["a"] * 8 + ["b"], ["b"] * 8 + ["a"], [1] * 9)
    found = bootstrap_strengths(counts, rng=np.random.default_rng(0), resamples=200)
    assert 40 < found.undefined < 110  # (8/9)^9 = 35 % of the resamples hold no win of b
    never = count_votes(["a", "a"], ["b", "b"], [1, 1])
    with pytest.raises(InputError, match="no resample ties all candidates together"):
        bootstrap_strengths(never, rng=np.random.default_rng(0))


def test_same_seed_same_intervals():
    counts, _ = made_votes(ties=0.2)
    one, other = (bootstrap_strengths(counts, rng=np.random.default_rng(5), resamples=50) for _ in range(2))
    assert one == other


@pytest.mark.parametrize("scale", [1e-90, 1e-12, 1e9, 1e90])
def test_the_scale_of_weights_changes_errors_and_nothing_else(scale):
    ballots = [list("abc"), list("bca"), list("cab"), [["a", "b"], "c"]]
    weights = [3, 2, 1, 1]
    for rule, options in ((bradley_terry, {}), (bradley_terry, {"ties": "davidson"}), (plackett_luce, {})):
        plain = rule(ballots, weights=weights, **options)
        scaled = rule(ballots, weights=[scale * weight for weight in weights], **options)
        assert scaled.scores == pytest.approx(plain.scores, abs=1e-9)
        assert scaled.standard_errors["a"] * np.sqrt(scale) == pytest.approx(plain.standard_errors["a"])


def test_a_lopsided_vote_is_fitted_to_the_end_not_nearly():
    found = bradley_terry([["a", "b"], ["b", "a"]], weights=[1e11, 1])
    assert found.scores["a"] - found.scores["b"] == pytest.approx(np.log(1e11), abs=1e-4)


def test_many_like_ballots_are_counted_once_and_mean_the_same():
    source = np.random.default_rng(3)
    names = [f"m{i}" for i in range(6)]
    kinds = [[names[i] for i in source.permutation(6)[: source.integers(2, 7)]] for _ in range(40)]
    kinds += [[["m0", "m1"], "m2"], [{"m3"}, "m0"], ("m5", "m4")]
    ballots = [kinds[i] for i in source.integers(0, len(kinds), 1500)]
    for rule in (bradley_terry, plackett_luce, borda, median_rank, plurality, kemeny):
        options = {"prior": 0.5} if rule in (bradley_terry, plackett_luce) else {}
        counted = rule(ballots, **options)
        each = rule(read_profile(ballots), **options)
        assert counted.ranking == each.ranking
        assert counted.scores == pytest.approx(each.scores)


def test_a_fault_among_many_ballots_is_named_by_its_own_number():
    for fault, words in (
        (["a", "a"], "ballot 1200 names 'a' twice"),
        ("ab", "ballot 1200 is 'ab'"),
        ([], "1200 is empty"),
    ):
        ballots = [["a", "b"], ["b", "a"]] * 600 + [fault] + [["a", "b"]] * 5
        with pytest.raises(InputError, match=words):
            borda(ballots)
    with pytest.raises(InputError, match="ballot 1200 has a tie"):
        plackett_luce([["a", "b"], ["b", "a"]] * 600 + [[["a", "b"]]], ties="refuse")


@pytest.mark.parametrize("size", [3, 300])
def test_votes_by_name_and_by_index_are_counted_alike(size):
    source = np.random.default_rng(size)
    names = [f"名{i}" for i in range(size)]
    first = source.integers(0, size, 2000)
    second = (first + source.integers(1, size, 2000)) % size
    outcome = source.integers(-1, 2, 2000)
    by_index = count_votes(first, second, outcome, candidates=names)
    by_name = count_votes([names[i] for i in first], [names[i] for i in second], outcome.tolist(), candidates=names)
    assert np.array_equal(by_index.prefer, by_name.prefer)
    assert np.array_equal(by_index.tied, by_name.tied)


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
