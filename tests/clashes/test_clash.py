"""A whole evaluation: what each error of an earlier study would need is impossible here."""

import random

import pytest

from metajudge.clashes.clash import Clash, Judge, Place, evaluate
from metajudge.clashes.record import recount
from metajudge.errors import FailureKind, ModelTimeoutError
from metajudge.providers.scripted import ScriptedModel
from tests.clashes.candidates import answers, generated
from tests.clashes.evaluations import LONG, SHORT, one
from tests.doubles.ranking import fails, panel, question, ranks_by, reply, says, shown


class TestErrorsOfTheStudy:
    async def test_votes_that_should_not_count_do_not_an_observer_changes_nothing(self):
        watching = Judge("x", ranks_by(SHORT), own="x")
        base = panel(ranks_by(LONG), ranks_by(LONG), ranks_by(LONG))
        watched = Clash(judges=base.judges, observers=(watching, Judge("y", ranks_by(SHORT), own="y")))
        without, beside = await one(question(), base), await one(question(), watched)
        assert beside.tally == without.tally
        assert [vote.role for vote in beside.votes] == ["panel"] * 3 + ["observer"] * 2
        assert all(vote.weight is None for vote in beside.votes if vote.role == "observer")
        assert recount(beside) == beside.tally
        assert [vote.own_first for vote in beside.votes if vote.role == "observer"] == [False, True]

    async def test_configured_voters_count_with_their_weight(self):
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

    async def test_the_label_map_is_that_of_the_prompt_for_every_judge(self):
        models = [ranks_by(LONG) for _ in range(3)]
        item = question(x="text of x", y="the text of y", z="z's own text")
        for seed in range(8):
            record = await one(item, panel(*models, seed=seed))
            for vote, model in zip(record.votes, models, strict=True):
                texts = shown(model.requests[-1])
                assert {label: item.responses[name] for label, name in vote.label_map.items()} == texts
            assert record.winner == "y"

    async def test_a_row_counts_once_repeats_have_keys_of_their_own(self):
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

    async def test_another_attempt_asks_only_whom_it_could_not_ask(self):
        lost = [ModelTimeoutError("late")]
        judge, second = ranks_by(LONG), ranks_by(LONG)
        flaky = ScriptedModel(lambda request: lost.pop() if lost else second._script(request))
        clash = panel(judge, flaky, says("A0 is best"))
        first = await one(question(), clash)
        again = await one(question(), clash, earlier={first.key: first})
        assert (first.attempt, again.attempt, again.key) == (1, 2, first.key)
        assert len(judge.requests) == 1
        assert again.votes[1].failure is None
        assert again.votes[2] == first.votes[2]
        assert again.everybody_asked

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
