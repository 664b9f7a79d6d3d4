from itertools import pairwise

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.voting import bradley_terry, count_votes, dawid_skene, plackett_luce
from tests.voting.profiles import made_votes


def test_two_candidates_have_a_closed_form_and_errors_the_spread_of_repeated_estimates():
    found = bradley_terry([["a", "b"]] * 30 + [["b", "a"]] * 10)
    assert found.scores["a"] - found.scores["b"] == pytest.approx(np.log(3))
    # Var(log odds) = 1/30 + 1/10; with mean 0 each strength is half the difference.
    assert found.standard_errors["a"] == pytest.approx(np.sqrt(1 / 30 + 1 / 10) / 2)
    assert found.win_probability("a", "b") == pytest.approx(0.75)
    assert found.log_likelihood == pytest.approx(30 * np.log(0.75) + 10 * np.log(0.25))
    assert found.comparisons == 40
    fits = [
        bradley_terry(count_votes(*made_votes(seed, count=1500)[:3], candidates=list("abcde"))) for seed in range(150)
    ]
    estimates, truth = [list(one.scores.values()) for one in fits], made_votes()[3]
    found = list(fits[1].standard_errors.values())
    assert np.std(estimates, axis=0) == pytest.approx(found, rel=0.25)
    assert np.mean(estimates, axis=0) == pytest.approx(truth, abs=0.03)


def test_davidson_is_at_a_maximum():
    counts = count_votes(*made_votes(2, count=400, ties=0.3)[:3], candidates=list("abcde"))
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


def test_plackett_luce_of_top_lists_ties_and_pairs():
    ballots = [["a"]] * 5 + [["b"]] * 3 + [["c"]] * 2
    found = plackett_luce(ballots, unranked="below", prior=1e-9)
    odds = np.exp(list(found.scores.values()))
    assert odds / odds.sum() == pytest.approx([0.5, 0.3, 0.2], abs=1e-6)
    assert found.choices == 10
    ballots = [[["a", "b"], "c"], ["c", "a", "b"], ["b", "c", "a"]]
    assert plackett_luce([[["a", "b"], "c"]] * 3 + [["c", ["a", "b"]]]).ranking == (("a", "b"), ("c",))
    with pytest.raises(InputError, match="ballot 0 has a tie"):
        plackett_luce(ballots, ties="refuse")
    assert plackett_luce([*ballots[1:], ["a", "b", "c"]], ties="refuse").choices == 6
    source = np.random.default_rng(0)
    ballots = [[str(i) for i in source.choice(5, 2, replace=False)] for _ in range(300)]
    one, other = plackett_luce(ballots), bradley_terry(ballots)
    assert dict(one.scores) == pytest.approx(dict(other.scores))
    assert dict(one.standard_errors) == pytest.approx(dict(other.standard_errors))
    assert one.log_likelihood == pytest.approx(other.log_likelihood)


def labelled(seed=0, items=400, accuracies=(0.9, 0.8, 0.7, 0.6), classes=3):
    source = np.random.default_rng(seed)
    truth = source.integers(0, classes, items)
    wrong = (truth[:, None] + source.integers(1, classes, (items, len(accuracies)))) % classes
    given = np.where(source.random(wrong.shape) < accuracies, truth[:, None], wrong)
    rows = [(f"i{i}", f"v{v}", int(given[i, v])) for i in range(items) for v in range(len(accuracies))]
    return truth, tuple(zip(*rows, strict=True))


@pytest.mark.parametrize("model", ["full", "one_coin"])
def test_dawid_skene_recovers_accuracies_without_labels(model):
    truth, data = labelled()
    found = dawid_skene(*data, model=model)
    assert found.converged
    assert [v.accuracy for v in found.voters.values()] == pytest.approx([0.9, 0.8, 0.7, 0.6], abs=0.07)
    decisions = found.decisions()
    right = np.mean([decisions[f"i{i}"] == (int(t),) for i, t in enumerate(truth)])
    assert right > 0.9
    assert found.posterior.sum(axis=1) == pytest.approx(1.0)
    assert found.voters["v0"].labels == 400
    for voter in found.voters.values():
        assert np.sum(voter.confusion, axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("model", ["full", "one_coin"])
def test_em_never_lowers_the_likelihood_which_is_that_of_the_labels(model):
    _, data = labelled(seed=3, items=80)
    reached = [dawid_skene(*data, model=model, iterations=n, tolerance=0).log_likelihood for n in range(1, 12)]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(reached))
    _, data = labelled(seed=1, items=20, accuracies=(0.9, 0.7), classes=2)
    found = dawid_skene(*data, model=model, iterations=3)
    order = found.classes
    total = 0.0
    for item in found.items:
        given = {v: label for i, v, label in zip(*data, strict=True) if i == item}
        total += np.log(
            sum(
                found.prior[c]
                * np.prod([found.voters[v].confusion[c][order.index(label)] for v, label in given.items()])
                for c in range(2)
            )
        )
    assert found.log_likelihood == pytest.approx(total)


def test_restarts_are_seeded_and_undecided_items_stay_undecided():
    _, data = labelled(seed=5, items=60, accuracies=(0.7, 0.6, 0.55))
    one, other = (dawid_skene(*data, restarts=6, rng=np.random.default_rng(1)) for _ in range(2))
    assert one.starts == other.starts
    assert len(one.starts) == 7
    assert one.log_likelihood == max(one.starts)
    found = dawid_skene(["q", "q"], ["v", "w"], ["A", "B"], model="one_coin")
    assert set(found.decisions()["q"]) == {"A", "B"}


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], [], []), {}, "there are no labels"),
        ((["q"], ["v"], []), {}, "1 items, 1 voters and 0 labels"),
        ((["q"], ["v"], ["A"]), {}, "every label is 'A'"),
        ((["q", "q"], ["v", "v"], ["A", "B"]), {}, "'v' labels item 'q' twice"),
        ((["q", "r"], ["v", "v"], ["A", None]), {}, "missing"),
        ((["q", "r"], ["v", "v"], ["A", float("nan")]), {}, "missing"),
        ((["q"], ["v"], ["C"]), {"classes": ["A", "B"]}, "'C' is not among the classes"),
        ((["q", "r"], ["v", "v"], ["A", "B"]), {"restarts": 1}, "restarts need rng"),
        ((["q", "r"], ["v", "v"], ["A", "B"]), {"model": "two_coin"}, "model must be"),
        ((["q", "r"], ["v", "v"], ["A", "B"]), {"smoothing": -1}, "0 or more"),
    ],
)
def test_bad_labels_are_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        dawid_skene(*arguments, **options)
