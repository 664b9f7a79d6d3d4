import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.voting import bradley_terry, count_votes, plackett_luce
from tests.voting.made_votes import made_votes


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
    with pytest.raises(InputError, match="no cycle of comparisons has more wins than draws"):
        bradley_terry(ballots, ties="davidson")
    assert bradley_terry(ballots, ties="davidson", prior=0.5).draw_parameter > 0


def test_davidson_takes_two_wins_round_a_draw():
    found = bradley_terry([["a", "b"], ["b", "c"], [["a", "c"]]], ties="davidson")
    assert found.scores["a"] > found.scores["b"] > found.scores["c"]


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
