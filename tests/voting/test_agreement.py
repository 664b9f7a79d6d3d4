import numpy as np
import pytest

from metajudge.errors import InputError
from metajudge.voting import agreement_weighted_borda, voter_independence

NAMES = [f"m{i}" for i in range(6)]


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


def test_skills_from_agreement_alone_are_near_the_measured_ones_or_what_is_missing_is_said():
    ballots, truth = panel(voters=6, questions=150)
    blind, measured = voter_independence(ballots), voter_independence(ballots, truth=truth)
    assert list(blind.skills.values()) == pytest.approx(list(measured.skills.values()), abs=0.08)
    ballots, truth = panel(questions=3)
    assert "share only 45 pairs" in voter_independence(ballots).caution
    two = {voter: ballots[voter] for voter in ("v0", "v1")}
    with pytest.raises(InputError, match="nothing shows who errs"):
        voter_independence(two)
    assert voter_independence(two, truth=truth).from_truth
    with pytest.raises(InputError, match="question 'q0': ballot 1 names 'm1' twice"):
        voter_independence({**two, "v1": {"q0": ["m1", "m1"]}})


@pytest.mark.parametrize("ballots", [[["a", "b"]] * 3, {"x": [["a", "b"]]}, None])
@pytest.mark.parametrize("truth", [None, {"q": ["a", "b"]}])
def test_rankings_that_are_not_by_voter_and_question_are_refused(ballots, truth):
    with pytest.raises(InputError, match="a mapping of voters"):
        voter_independence(ballots, truth=truth)


def test_weights_are_learned_from_agreement_and_capped_and_voters_who_ranked_nothing_refused():
    with pytest.raises(InputError, match="no voter ranked anything"):
        voter_independence({"x": {}, "y": {}, "z": {}})
    good, bad = list("abcdef"), list("fedcba")
    found = agreement_weighted_borda([good, good[:2] + good[:1:-1], list("bacdef"), list("abdcfe"), bad])
    assert found.learned
    assert found.voter_weights[4] == 0.0
    assert sum(found.voter_weights) == pytest.approx(5)
    assert found.winners == ("a",)
    tight = agreement_weighted_borda([good, list("bacdef"), list("abdcfe"), bad, bad[1:] + bad[:1]], cap=1.2)
    assert max(tight.voter_weights) <= 1.2 + 1e-9
    assert tight.capped


def test_a_clique_that_raises_its_own_weight_is_warned_of_and_no_other():
    honest = [list("abcdef"), list("bacdfe"), list("acbedf")]
    found = agreement_weighted_borda([*honest, *[list("fedbca")] * 3])
    assert found.cliques == ((3, 4, 5),)
    assert "3, 4, 5 agree as copies do" in found.warning
    found = agreement_weighted_borda([list("abc")] * 4)
    assert (found.cliques, found.warning) == ((), None)
    assert found.voter_weights == (1.0,) * 4
    found = agreement_weighted_borda([list("abc"), list("cba")])
    assert not found.learned
    assert "no weights could be learned" in found.warning
    assert found.ties == (("a", "b", "c"),)
    with pytest.raises(InputError, match="cap must be at least 1"):
        agreement_weighted_borda([list("abc")], cap=0.5)
