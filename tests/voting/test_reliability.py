"""Who can be trusted, without labels: Dawid-Skene, cliques, effective number of voters, learned weights."""

from itertools import pairwise

import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.voting import agreement_weighted_borda, dawid_skene, voter_independence

NAMES = [f"m{i}" for i in range(6)]


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


def test_em_never_lowers_the_likelihood():
    _, data = labelled(seed=3, items=80)
    reached = [dawid_skene(*data, iterations=steps, tolerance=0).log_likelihood for steps in range(1, 12)]
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(reached))


def test_log_likelihood_is_that_of_the_labels():
    _, data = labelled(seed=1, items=20, accuracies=(0.9, 0.7), classes=2)
    found = dawid_skene(*data, model="one_coin", iterations=3)
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


def test_restarts_are_seeded_and_keep_the_best_start():
    _, data = labelled(seed=5, items=60, accuracies=(0.7, 0.6, 0.55))
    one, other = (dawid_skene(*data, restarts=6, rng=np.random.default_rng(1)) for _ in range(2))
    assert one.starts == other.starts
    assert len(one.starts) == 7
    assert one.log_likelihood == max(one.starts)


def test_one_undecided_item_keeps_both_classes():
    found = dawid_skene(["q", "q"], ["v", "w"], ["A", "B"], model="one_coin")
    assert set(found.decisions()["q"]) == {"A", "B"}


def test_items_of_one_pattern_share_a_row_and_nothing_changes():
    _, data = labelled(items=100, accuracies=(0.9, 0.8, 0.6), classes=2)
    wide = tuple(f"v{i}" for i in range(70))
    found = dawid_skene(*data, iterations=20, tolerance=0)
    # 70 voters need more than a 64-bit key, so no rows are shared; 67 of them label one further item alike.
    extra = (("x",) * 70, wide, (0,) * 70)
    joined = dawid_skene(*(a + b for a, b in zip(data, extra, strict=True)), iterations=20, tolerance=0)
    assert joined.posterior[:100] == pytest.approx(found.posterior, abs=0.05)


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


def panel(seed=0, voters=7, questions=60, copies=0, swaps=4):
    """Noisy rankings of a hidden order; the first ``copies`` voters hand in the same ballot."""
    source = np.random.default_rng(seed)
    ballots = {f"v{v}": {} for v in range(voters)}
    truth = {}
    for q in range(questions):
        truth[f"q{q}"] = [NAMES[i] for i in source.permutation(6)]
        for voter in ballots:
            ballot = list(truth[f"q{q}"])
            for _ in range(swaps):
                i = source.integers(0, 5)
                ballot[i], ballot[i + 1] = ballot[i + 1], ballot[i]
            ballots[voter][f"q{q}"] = ballot
        for v in range(copies):
            ballots[f"v{v}"][f"q{q}"] = ballots["v0"][f"q{q}"]
    return ballots, truth


def test_independent_voters_count_in_full():
    ballots, truth = panel()
    found = voter_independence(ballots)
    assert found.effective == pytest.approx(7, abs=0.7)
    assert found.cliques == ()
    assert found.caution is None
    measured = voter_independence(ballots, truth=truth)
    assert measured.cliques == ()
    assert 3.5 < measured.effective < 6, "all find the same pairs hard, and measured errors show it"


@pytest.mark.parametrize("copies", [2, 3, 4])
def test_copies_are_named_and_do_not_count_as_more_voters(copies):
    ballots, truth = panel(copies=copies)
    measured = voter_independence(ballots, truth=truth)
    without = voter_independence(panel()[0], truth=panel()[1])
    assert measured.effective < without.effective - 0.3 * (copies - 1)
    assert measured.cliques == (tuple(f"v{v}" for v in range(copies)),)
    assert measured.from_truth
    blind = voter_independence(ballots)
    assert blind.cliques == measured.cliques
    assert blind.effective < 7 - 0.5 * (copies > 2)


def test_skills_from_agreement_alone_are_near_the_measured_ones():
    ballots, truth = panel(voters=6, questions=150)
    blind, measured = voter_independence(ballots), voter_independence(ballots, truth=truth)
    assert list(blind.skills.values()) == pytest.approx(list(measured.skills.values()), abs=0.08)


def test_few_pairs_two_voters_and_bad_ballots_are_said():
    ballots, truth = panel(questions=3)
    assert "share only 45 pairs" in voter_independence(ballots).caution
    two = {voter: ballots[voter] for voter in ("v0", "v1")}
    with pytest.raises(InputError, match="who errs cannot be told"):
        voter_independence(two)
    assert voter_independence(two, truth=truth).from_truth
    with pytest.raises(InputError, match="question 'q0': ballot 1 names 'm1' twice"):
        voter_independence({**two, "v1": {"q0": ["m1", "m1"]}})


def test_weights_are_learned_from_agreement_and_capped():
    good, bad = list("abcdef"), list("fedcba")
    found = agreement_weighted_borda([good, good[:2] + good[:1:-1], list("bacdef"), list("abdcfe"), bad])
    assert found.learned
    assert found.voter_weights[4] == 0.0
    assert sum(found.voter_weights) == pytest.approx(5)
    assert found.winners == ("a",)
    tight = agreement_weighted_borda([good, list("bacdef"), list("abdcfe"), bad, bad[1:] + bad[:1]], cap=1.2)
    assert max(tight.voter_weights) <= 1.2 + 1e-9
    assert tight.capped


def test_a_clique_that_raises_its_own_weight_is_warned_of():
    honest = [list("abcdef"), list("bacdfe"), list("acbedf")]
    found = agreement_weighted_borda([*honest, *[list("fedbca")] * 3])
    assert found.cliques == ((3, 4, 5),)
    assert "3, 4, 5 agree as copies do" in found.warning


def test_everybody_agreeing_is_no_clique():
    found = agreement_weighted_borda([list("abc")] * 4)
    assert (found.cliques, found.warning) == ((), None)
    assert found.voter_weights == (1.0,) * 4


def test_no_weights_from_nothing():
    found = agreement_weighted_borda([list("abc"), list("cba")])
    assert not found.learned
    assert "no weights could be learned" in found.warning
    assert found.ties == (("a", "b", "c"),)
    with pytest.raises(InputError, match="cap must be at least 1"):
        agreement_weighted_borda([list("abc")], cap=0.5)


@pytest.mark.parametrize("ballots", [[["a", "b"]] * 3, {"x": [["a", "b"]]}, None])
@pytest.mark.parametrize("truth", [None, {"q": ["a", "b"]}])
def test_rankings_that_are_not_by_voter_and_question_are_refused(ballots, truth):
    with pytest.raises(InputError, match="a mapping of voters"):
        voter_independence(ballots, truth=truth)


def test_voters_who_ranked_nothing_are_refused():
    with pytest.raises(InputError, match="no voter ranked anything"):
        voter_independence({"x": {}, "y": {}, "z": {}})
