"""A whole evaluation: what each error of an earlier study would need is impossible here."""

import itertools
import random
from fractions import Fraction

import pytest

from metajudge.clashes.clash import Clash, Judge, Place, evaluate
from metajudge.clashes.record import recount
from metajudge.clashes.tally import Voter, tally
from metajudge.errors import ConfigurationError, FailureKind, InputError, ModelTimeoutError
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Ranking
from tests.clashes.evaluations import LONG, SHORT, answers, generated, one
from tests.doubles.ranking import fails, panel, question, ranks_by, reply, shown


class TestErrorsOfTheStudy:
    async def test_votes_that_should_not_count_do_not_and_configured_ones_with_their_weight(self):
        watching = Judge("x", ranks_by(SHORT), own="x")
        base = panel(ranks_by(LONG), ranks_by(LONG), ranks_by(LONG))
        watched = Clash(judges=base.judges, observers=(watching, Judge("y", ranks_by(SHORT), own="y")))
        without, beside = await one(question(), base), await one(question(), watched)
        assert beside.tally == without.tally
        assert [vote.role for vote in beside.votes] == ["panel"] * 3 + ["observer"] * 2
        assert all(vote.weight is None for vote in beside.votes if vote.role == "observer")
        assert recount(beside) == beside.tally
        assert [vote.own_first for vote in beside.votes if vote.role == "observer"] == [False, True]
        voters = (Judge("x", ranks_by(SHORT), own="x"), Judge("y", ranks_by(SHORT), own="y"))
        judges = tuple(Judge(name, ranks_by(LONG), weight=2.0) for name in "abc")
        record = await one(question(), Clash(judges=judges, observers=voters, candidate_weight=1.0))
        assert record.tally.scores == {"x": 6.0, "y": 2.0}
        assert record.tally.margin == pytest.approx(4 / 8)
        assert not record.tally.unanimous
        assert recount(record) == record.tally

    async def test_ties_are_not_broken_by_label_order(self):
        first_shown = ScriptedModel(lambda request: reply(request, ["A0", "A1"]))
        seen = set()
        for seed in range(12):
            record = await one(question(), panel(first_shown, first_shown, seed=seed))
            seen.add(record.status)
            if record.status == "tie":
                assert (record.winner, record.tied) == (None, ("x", "y"))
        assert seen == {"ok", "tie"}

    async def test_a_lost_judge_is_recorded_and_never_shrinks_the_panel(self):
        record = await one(question(), panel(ranks_by(LONG), fails(ModelTimeoutError("late")), ranks_by(LONG)))
        assert record.panel == ("j1", "j2", "j3")
        assert (record.tally.voters, record.tally.votes) == (3, 2)
        assert record.votes[1].failure.kind is FailureKind.TIMEOUT
        assert record.tally.triage == "escalate"
        assert not record.everybody_asked

    async def test_the_label_map_is_that_of_the_prompt_and_repeats_have_keys_of_their_own(self):
        models = [ranks_by(LONG) for _ in range(3)]
        item = question(x="text of x", y="the text of y", z="z's own text")
        for seed in range(8):
            record = await one(item, panel(*models, seed=seed))
            for vote, model in zip(record.votes, models, strict=True):
                texts = shown(model.requests[-1])
                assert {label: item.responses[name] for label, name in vote.label_map.items()} == texts
            assert record.winner == "y"
        clash = panel(ranks_by(LONG))
        item = question()
        places = [Place(cycle, repeat, 2, 2) for cycle in (1, 2) for repeat in (1, 2)]
        assert len({place.key(item, clash) for place in places}) == len({place.id_of(item) for place in places}) == 4


async def test_swapping_candidates_or_renaming_them_never_changes_winner_or_ties():
    rng = random.Random(5)
    for trial in range(25):
        count = rng.randint(2, 5)
        texts = rng.sample(["a", "bb", "ccc", "dddd", "eeeee", "ffffff"], count)
        judges = [ranks_by(rng.choice([LONG, SHORT, lambda text: text[0]])) for _ in range(rng.randint(1, 4))]
        names = [f"m{n}" for n in range(count)]
        one_way = await one(question(**dict(zip(names, texts, strict=True))), panel(*judges, seed=trial))
        pairs = list(zip(names, texts, strict=True))
        rng.shuffle(pairs)
        other = await one(question(**dict(pairs)), panel(*judges, seed=trial))
        assert other.model_dump(exclude={"spent_usd"}) == one_way.model_dump(exclude={"spent_usd"})
        renamed = {f"z{rng.random()}": text for _, text in pairs}
        turned = await one(question(**renamed), panel(*judges, seed=trial))
        by_text = dict(pairs)
        assert renamed.get(turned.winner) == by_text.get(one_way.winner)
        assert {renamed[name] for name in turned.tied} == {by_text[name] for name in one_way.tied}


class TestRepeatsAndAttempts:
    async def test_repeats_judge_the_same_answers_with_fresh_replies(self):
        judge, writer = ranks_by(LONG), answers("a")
        clash = generated(("x", writer), ("y", answers("bb")), judges=(Judge("j", judge),))
        records = await evaluate(question(), clash, [Place(1, repeat, 1, 3) for repeat in (1, 2, 3)])
        assert [record.id for record in records] == ["q1/r1", "q1/r2", "q1/r3"]
        assert len(writer.requests) == 1
        assert len({request.draw for request in judge.requests}) == 3
        assert [record.spent_usd for record in records] == [pytest.approx(0.02), 0.0, 0.0]

    async def test_what_determines_the_verdict_is_in_the_key(self):
        item = question()
        keys = {
            Place().key(item, clash)
            for clash in (
                panel(ranks_by(LONG)),
                panel(ranks_by(LONG), seed=1),
                panel(ranks_by(LONG), ties=True),
                panel(ranks_by(LONG), ranks_by(LONG)),
                panel(ranks_by(LONG, name="other")),
                panel(ranks_by(LONG), quorum=1),
            )
        }
        assert len(keys) == 6
        changed = question(x="other", y="short")
        assert Place().key(changed, panel(ranks_by(LONG))) not in keys
        swapped = question(y="short", x="long answer")
        assert Place().key(swapped, panel(ranks_by(LONG))) in keys


# Counting a panel: Borda by hand, ties as results, nobody counted who should not be, nobody lost silently.
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


def test_two_of_three_is_a_split_verdict_and_a_tie_names_all_who_share_the_first_place():
    found = count("x>y", "y>x", "x>y")
    assert (found.status, found.winner, found.scores) == ("ok", "x", {"x": 2.0, "y": 1.0})
    assert found.margin == pytest.approx(1 / 3)
    assert found.agreement == pytest.approx(2 / 3)
    assert not found.unanimous
    assert (found.triage, found.why) == ("escalate", "2 of 3 put x first")
    found = count("x>y>z", "y>x>z")
    assert (found.status, found.winner, found.tied) == ("tie", None, ("x", "y"))
    assert (found.margin, found.agreement, found.triage) == (0.0, None, "escalate")
    assert found.why == "x, y share the first place"
    weighted = count("x>y", "x>y", "x>y", "y>x", weights=[0.1, 0.1, 0.1, 0.3])
    assert weighted.status == "tie", "float weights do not break it"


@pytest.mark.parametrize("models", [(None, None, None), ("gpt-4o", "gpt-4o-mini")])
def test_different_voters_that_agree_are_unanimous(models):
    voters = [Voter(f"j{n}", model=model) for n, model in enumerate(models)]
    found = tally(["x", "y"], voters, {voter.name: ranking("x>y") for voter in voters})
    assert (found.margin, found.agreement, found.unanimous, found.triage, found.why) == (1.0, 1.0, True, "accept", None)
    assert found.independent == len(models)


ALONE = "one voter cannot agree with itself"
COPIES = "2 voters are one model, which cannot agree with itself"


@pytest.mark.parametrize(
    ("candidates", "voters", "why"),
    [
        ("ab", [Voter("j")], ALONE),
        ("ab", [Voter("j", 3.0, model="gpt-4o")], ALONE),
        ("ab", [Voter("j", model="gpt-4o"), Voter("k", model="openai/GPT-4o")], COPIES),
        ("ab", [Voter("j", model="gpt-4o"), Voter("candidate:x", panel=False, model="gpt-4o")], COPIES),
        ("a", [Voter("j"), Voter("k")], "one candidate: there was nothing to prefer"),
    ],
)
def test_nobody_is_unanimous_alone_and_it_says_why(candidates, voters, why):
    found = tally(tuple(candidates), voters, {voter.name: ranking(">".join(candidates)) for voter in voters})
    assert found.winner == "a"
    assert (found.unanimous, found.triage, found.why) == (False, "escalate", why)


class TestLostJudges:
    def test_a_lost_judge_stays_in_every_denominator_and_below_the_quorum_there_is_no_verdict(self):
        found = count("x>y", "x>y", None)
        assert (found.winner, found.voters, found.votes, found.complete) == ("x", 3, 2, False)
        assert (found.margin, found.agreement) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
        assert (found.unanimous, found.triage, found.settled) == (False, "escalate", True)
        found = count("x>y>z", "x>z>y", None)
        assert not count("x>y", "y>x", None).settled
        assert found.settled == (4 - 1 > 2)
        found = count("x>y", None, None)
        assert (found.status, found.winner, found.scores, found.margin) == ("no_verdict", None, {}, None)
        assert found.why == "1 of 3 judges gave a ranking, 2 are needed"
        assert count("x>y", "x>y", None, quorum=3).status == "no_verdict"
        assert count("x>y", None, None, quorum=1).winner == "x"
        voters = [Voter("a"), Voter("b"), Voter("c"), Voter("self", 1.0, panel=False)]
        given = {"a": ranking("x>y"), "self": ranking("x>y")}
        assert tally(["x", "y"], voters, given).status == "no_verdict", "candidates' votes do not make the quorum"


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

    @pytest.mark.parametrize(
        ("second", "quorum", "error", "message"),
        [
            *((text, None, InputError, "not rank each of x, y, z once") for text in ("x>y", "x>y>w", "x>y>z>w")),
            *(("x>y>z", quorum, ConfigurationError, "quorum") for quorum in (0, 4)),
        ],
    )
    def test_a_ranking_of_others_and_a_quorum_nobody_can_reach_are_refused(self, second, quorum, error, message):
        with pytest.raises(error, match=message):
            count("x>y>z", second, "x>y>z", quorum=quorum, candidates=["x", "y", "z"])


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
