"""Counting a panel: Borda by hand, ties as results, nobody counted who should not be, nobody lost silently."""

import itertools
import random
from fractions import Fraction

import pytest

from metajudge.clashes.tally import Voter, tally
from metajudge.errors import ConfigurationError, InputError
from metajudge.types import Ranking


def ranking(text):
    return Ranking(tuple(tuple(group.split("=")) for group in text.split(">")))


def count(*texts, weights=None, quorum=None, candidates=None):
    """One voter a text; None for a lost one."""
    voters = [Voter(f"j{n}", (weights or [1.0] * len(texts))[n]) for n in range(len(texts))]
    given = {f"j{n}": None if text is None else ranking(text) for n, text in enumerate(texts)}
    names = candidates or sorted(ranking(next(text for text in texts if text)).ids)
    return tally(names, voters, given, quorum=quorum)


def by_hand(names, ballots, weights):
    """Borda by its definition: K minus the mid-rank, weighted."""
    scores = dict.fromkeys(names, Fraction(0))
    for ballot, weight in zip(ballots, weights, strict=True):
        before = 0
        for group in ballot.groups:
            rank = Fraction(2 * before + len(group) + 1, 2)
            for name in group:
                scores[name] += Fraction(repr(weight)) * (len(names) - rank)
            before += len(group)
    return scores


def test_two_of_three_is_a_split_verdict():
    found = count("x>y", "y>x", "x>y")
    assert (found.status, found.winner, found.scores) == ("ok", "x", {"x": 2.0, "y": 1.0})
    assert found.margin == pytest.approx(1 / 3)
    assert found.agreement == pytest.approx(2 / 3)
    assert not found.unanimous
    assert (found.triage, found.why) == ("escalate", "2 of 3 put x first")


def test_a_tie_is_a_result_and_names_all_who_share_the_first_place():
    found = count("x>y>z", "y>x>z")
    assert (found.status, found.winner, found.tied) == ("tie", None, ("x", "y"))
    assert (found.margin, found.agreement, found.triage) == (0.0, None, "escalate")
    assert found.why == "x, y share the first place"


def test_float_weights_do_not_break_a_tie():
    found = count("x>y", "x>y", "x>y", "y>x", weights=[0.1, 0.1, 0.1, 0.3])
    assert found.status == "tie"


@pytest.mark.parametrize("models", [(None, None, None), ("gpt-4o", "gpt-4o-mini")])
def test_different_voters_that_agree_are_unanimous(models):
    voters = [Voter(f"j{n}", model=model) for n, model in enumerate(models)]
    found = tally(["x", "y"], voters, {voter.name: ranking("x>y") for voter in voters})
    assert (found.margin, found.agreement, found.unanimous, found.triage, found.why) == (1.0, 1.0, True, "accept", None)
    assert found.independent == len(models)


@pytest.mark.parametrize(
    ("candidates", "voters", "why"),
    [
        (("a", "b"), [Voter("j")], "one voter cannot agree with itself"),
        (("a", "b"), [Voter("j", 3.0, model="gpt-4o")], "one voter cannot agree with itself"),
        (
            ("a", "b"),
            [Voter("j", model="gpt-4o"), Voter("k", model="openai/GPT-4o")],
            "2 voters are one model, which cannot agree with itself",
        ),
        (
            ("a", "b"),
            [Voter("j", model="gpt-4o"), Voter("candidate:x", panel=False, model="gpt-4o")],
            "2 voters are one model, which cannot agree with itself",
        ),
        (("a",), [Voter("j"), Voter("k")], "one candidate: there was nothing to prefer"),
    ],
)
def test_nobody_is_unanimous_alone_and_it_says_why(candidates, voters, why):
    found = tally(candidates, voters, {voter.name: ranking(">".join(candidates)) for voter in voters})
    assert found.winner == "a"
    assert (found.unanimous, found.triage, found.why) == (False, "escalate", why)


class TestLostJudges:
    def test_a_lost_judge_stays_in_every_denominator(self):
        found = count("x>y", "x>y", None)
        assert (found.winner, found.voters, found.votes, found.complete) == ("x", 3, 2, False)
        assert found.margin == pytest.approx(2 / 3)
        assert found.agreement == pytest.approx(2 / 3)
        assert not found.unanimous
        assert found.triage == "escalate"
        assert found.settled

    def test_a_verdict_that_the_lost_judge_could_change_says_so(self):
        found = count("x>y>z", "x>z>y", None)
        assert not count("x>y", "y>x", None).settled
        assert found.settled == (4 - 1 > 2)

    def test_below_the_quorum_there_is_no_verdict_and_no_number(self):
        found = count("x>y", None, None)
        assert (found.status, found.winner, found.scores, found.margin) == ("no_verdict", None, {}, None)
        assert found.why == "1 of 3 judges gave a ranking, 2 are needed"
        assert count("x>y", "x>y", None, quorum=3).status == "no_verdict"
        assert count("x>y", None, None, quorum=1).winner == "x"

    def test_candidates_votes_do_not_make_the_quorum(self):
        voters = [Voter("a"), Voter("b"), Voter("c"), Voter("self", 1.0, panel=False)]
        given = {"a": ranking("x>y"), "self": ranking("x>y")}
        assert tally(["x", "y"], voters, given).status == "no_verdict"


class TestWhoMayCount:
    @pytest.mark.parametrize(
        ("voters", "given", "error", "message"),
        [
            ([Voter("j")], {"x": ranking("y>x")}, InputError, "x is not of the declared panel"),
            ([Voter("j"), Voter("j")], {}, ConfigurationError, "j is a voter twice"),
            *(([Voter("j", wrong)], {}, ConfigurationError, "weight") for wrong in (0, -1, float("nan"), float("inf"))),
        ],
    )
    def test_who_is_no_voter_is_refused(self, voters, given, error, message):
        with pytest.raises(error, match=message):
            tally(["x", "y"], voters, {"j": ranking("x>y"), **given})

    @pytest.mark.parametrize("text", ["x>y", "x>y>w", "x>y>z>w"])
    def test_a_ranking_of_others_is_refused(self, text):
        with pytest.raises(InputError, match="does not rank each of x, y, z once"):
            count("x>y>z", text, candidates=["x", "y", "z"])

    @pytest.mark.parametrize("quorum", [0, 4])
    def test_a_quorum_nobody_can_reach_is_refused(self, quorum):
        with pytest.raises(ConfigurationError, match="quorum"):
            count("x>y", "x>y", "x>y", quorum=quorum)


def random_panel(rng):
    names = [f"c{n}" for n in range(rng.randint(2, 5))]
    ballots, weights = [], []
    for _ in range(rng.randint(1, 6)):
        order = rng.sample(names, len(names))
        groups = [[order[0]]]
        for name in order[1:]:
            groups[-1].append(name) if rng.random() < 0.2 else groups.append([name])
        ballots.append(Ranking(tuple(tuple(group) for group in groups)))
        weights.append(rng.choice([1.0, 1.0, 2.0, 0.3]))
    return names, ballots, weights


def test_relabelling_and_reordering_never_change_winner_or_ties():
    rng = random.Random(7)
    for _ in range(300):
        names, ballots, weights = random_panel(rng)
        voters = [Voter(f"j{n}", weight) for n, weight in enumerate(weights)]
        given = {f"j{n}": ballot for n, ballot in enumerate(ballots)}
        found = tally(names, voters, given)
        hand = by_hand(names, ballots, weights)
        best = max(hand.values())
        first = sorted(name for name in names if hand[name] == best)
        assert list(found.tied) == (first if len(first) > 1 else [])
        assert found.winner == (first[0] if len(first) == 1 else None)
        assert all(found.scores[name] == pytest.approx(float(hand[name])) for name in names)
        assert 0.0 <= found.margin <= 1.0
        other = dict(zip(names, rng.sample([f"z{n}" for n in range(len(names))], len(names)), strict=True))
        turned = tally(
            rng.sample(list(other.values()), len(names)),
            rng.sample(voters, len(voters)),
            {name: one.relabelled(other) for name, one in given.items()},
        )
        assert turned.winner == (None if found.winner is None else other[found.winner])
        assert set(turned.tied) == {other[name] for name in found.tied}
        assert (turned.margin, turned.unanimous) == (pytest.approx(found.margin), found.unanimous)


def test_all_panels_of_three_over_three_by_hand():
    orders = [Ranking(tuple((name,) for name in order)) for order in itertools.permutations("abc")]
    for ballots in itertools.product(orders, repeat=3):
        found = tally("abc", [Voter(n) for n in "xyz"], dict(zip("xyz", ballots, strict=True)))
        hand = by_hand("abc", ballots, [1.0] * 3)
        best = [name for name in "abc" if hand[name] == max(hand.values())]
        assert (found.winner or found.tied) == (best[0] if len(best) == 1 else tuple(best))
        assert found.unanimous == (len({one.winner for one in ballots}) == 1)
