"""Standings, the Pareto front, figures of the paper, agreement with people, and what is seen first."""

import random
from itertools import product

import pytest

from metajudge.clashes.clash import Clash, Judge, voter_name
from metajudge.clashes.concordance import CEILING, FEWEST, LEVEL, PRIOR_WORK, compared_with_chance, first_shown
from metajudge.clashes.pareto import CandidateFigures, pareto_front
from metajudge.clashes.record import judgments_of_clash
from metajudge.clashes.run import rounds, run_rounds
from metajudge.clashes.standings import standings_of
from metajudge.errors import ModelTimeoutError, RefusedError
from metajudge.providers.scripted import ScriptedModel
from metajudge.types import Item
from tests.clashes.evaluations import LONG, answers, generated, one
from tests.doubles.ranking import fails, panel, question, ranks_by, reply, shown


class TestCandidates:
    async def test_answers_are_made_once_with_cost_latency_and_time_to_first_token(self):
        clash = generated(
            ("x", answers("long answer", latency_s=2.0, first_token_s=0.5)), ("y", answers("short")),
            judges=(Judge("j", ranks_by(LONG)),),
        )  # fmt: skip
        record = await one(question(), clash)
        x, y = record.candidates
        assert (x.text, x.cost_usd, x.latency_s, x.first_token_s, x.first_token_absent) == (
            "long answer", 0.01, 2.0, 0.5, None,
        )  # fmt: skip
        assert (y.first_token_s, y.first_token_absent) == (None, "the answer did not come as a stream")
        assert record.winner == "x"
        assert record.spent_usd == pytest.approx(0.02)

    async def test_the_standings_do_not_say_that_lost_answers_were_given(self):
        lost = fails(ModelTimeoutError("late"))
        judges = (Judge("j", ranks_by(LONG)),)
        made = await one(
            question(), generated(("x", answers("long")), ("y", lost), ("z", answers("zz")), judges=judges)
        )
        (late,) = (row for row in standings_of([made]).candidates if row.name == "y")
        assert {late.cost_usd.why, late.latency_s.why} == {"none of its answers arrived"}
        given = await one(question(), panel(ranks_by(LONG)))
        assert {row.latency_s.why for row in standings_of([given]).candidates} == {
            "the answers were given, not generated"
        }

    async def test_an_empty_answer_is_an_answer_and_a_refusal_is_none(self):
        clash = generated(
            ("x", answers("")), ("y", answers("b")), ("z", fails(RefusedError("no"))),
            judges=(Judge("j", ranks_by(LONG)),),
        )  # fmt: skip
        record = await one(question(), clash)
        assert record.answered == {"x": "", "y": "b"}
        assert record.winner == "y"
        assert record.candidates[2].replied

    async def test_one_candidate_wins_without_a_margin_and_without_two_answers_there_is_nothing_to_compare(self):
        lost = fails(ModelTimeoutError("late"))
        judges = (Judge("j", ranks_by(LONG)),)
        record = await one(question(), generated(("x", answers("a")), ("y", lost), judges=judges))
        assert (record.status, record.why) == ("no_verdict", "1 of 2 candidates answered: there is nothing to compare")
        record = await one(question(), generated(("x", lost), ("y", lost), judges=judges))
        assert record.status == "error"
        assert record.votes == ()
        record = await one(question(), generated(("x", answers("a")), judges=(Judge("j", ranks_by(LONG)),)))
        assert (record.winner, record.tally.margin) == ("x", None)
        assert record.votes[0].scores["x"]["c1"].score == 4
        assert judgments_of_clash(record) == []

    async def test_a_judge_that_is_a_candidate_too_is_asked_apart_and_counted_once(self):
        model = ScriptedModel(lambda request: reply(request, ["A0", "A1"]) if request.schema else "an answer")
        clash = generated(
            ("same", model), ("y", answers("b")), judges=(Judge("same", model),),
            observers=(Judge("same", model, own="same"),),
        )  # fmt: skip
        record = await one(question(), clash)
        assert [vote.judge for vote in record.votes] == ["same", voter_name(clash.observers[0])]
        assert record.tally.voters == 1


# The Pareto front: who is beaten by nobody.
def front(*rows):
    return [(one.standing, one.dominated_by) for one in pareto_front([CandidateFigures(*row) for row in rows])]


def test_equals_do_not_dominate_each_other_and_better_quality_at_higher_cost_is_no_domination():
    assert front(("good", 0.9, 2.0, 1.0), ("cheap", 0.5, 1.0, 1.0), ("bad", 0.4, 2.0, 1.0)) == [
        ("front", ()), ("front", ()), ("dominated", ("cheap", "good")),
    ]  # fmt: skip
    assert front(("a", 0.5, 1.0, 1.0), ("b", 0.5, 1.0, 1.0)) == [("front", ())] * 2
    assert front(("a", 0.5, 1.0, 1.0), ("b", 0.5, 1.0, 2.0))[1] == ("dominated", ("a",))


def test_an_unknown_cost_is_no_cost_of_zero_and_the_order_of_candidates_changes_nothing():
    found = pareto_front([CandidateFigures("a", 0.5, None, 1.0), CandidateFigures("b", 0.1, 5.0, 9.0)])
    assert (found[0].standing, found[0].why) == ("not_comparable", "cost not known")
    assert found[1].standing == "front"
    rng = random.Random(1)
    rows = [CandidateFigures(str(n), rng.randint(0, 3) / 3, rng.randint(1, 3), rng.randint(1, 3)) for n in range(9)]
    whole = {one.candidate.name: one for one in pareto_front(rows)}
    for _ in range(20):
        shuffled = rng.sample(rows, len(rows))
        assert {one.candidate.name: one for one in pareto_front(shuffled)} == whole
    assert any(one.standing == "front" for one in whole.values())


# Figures of the paper, as printed there.
def test_tables_4_10_and_12_of_the_paper():
    printed = {(one.method, one.benchmark): (one.agreement, one.kappa) for one in PRIOR_WORK}
    assert printed["people: crowd and expert", "Chatbot Arena"] == (CEILING, None)
    assert printed["people: two experts", "Chatbot Arena"] == ("79 to 90 %", None)
    assert printed["panel of three, Agent Clash", "MT-Bench"] == ("88.0 %", "0.760")
    assert printed["panel of three, Agent Clash", "Chatbot Arena"] == ("76.0 %", "0.520")
    assert printed["the panel, unanimous", "both, pooled"] == ("84.9 %", None)
    assert len(PRIOR_WORK) == 15


# A judge that takes what it sees first is found, one that does not is left alone, and the p-value is exact.
def takes_the_first(request):
    return reply(request, list(shown(request)))


def tail(first, sizes):
    """P(sum >= first), by listing all outcomes."""
    total = 0.0
    for outcome in product((0, 1), repeat=len(sizes)):
        if sum(outcome) >= first:
            chance = 1.0
            for hit, size in zip(outcome, sizes, strict=True):
                chance *= 1 / size if hit else 1 - 1 / size
            total += chance
    return total


@pytest.mark.parametrize("sizes", [[2] * 8, [3] * 9, [2, 3, 4, 2, 2, 5, 3, 2, 2]])
@pytest.mark.parametrize("first", [0, 3, 7])
def test_the_p_value_is_that_of_all_outcomes_listed(sizes, first):
    rows = [(size, place < first) for place, size in enumerate(sizes)]
    (found,) = compared_with_chance({"j": rows})
    assert found.p_value == pytest.approx(tail(first, sizes))
    assert found.expected == pytest.approx(sum(1 / size for size in sizes))


async def test_a_judge_that_always_takes_the_first_answer_shown_is_reported_and_a_fair_one_is_not():
    judges = (Judge("fond", ScriptedModel(takes_the_first, name="fond")), Judge("fair", ranks_by(len, name="fair")))
    items = [Item(id=f"q{n}", question=f"{n}?", responses={"a": "long answer", "b": "no"}) for n in range(16)]
    _, records = await run_rounds(rounds(items, Clash(judges)), workers=4, on_record=lambda *_: None)
    fair, fond = first_shown(records)
    assert (fond.judge, fond.first, fond.n, fond.reported) == ("fond", 16, 16, True)
    assert fond.p_value == pytest.approx(2**-16)
    assert fond.level == LEVEL / 2
    assert "in 16 of 16 evaluations (chance gives 8.0; exact one-sided p = 1.5e-05, level 0.005)" in fond.sentence()
    assert not fair.reported


def test_too_few_evaluations_are_never_tested():
    rows = [(2, True)] * (FEWEST - 1)
    (found,) = compared_with_chance({"j": rows})
    assert (found.p_value, found.reported) == (None, False)
    assert "nothing is tested" in found.sentence()


def test_judges_that_ignore_the_order_are_reported_no_more_often_than_the_level_says():
    rng = random.Random(11)
    runs, reported = 2000, 0
    for _ in range(runs):
        seen = {judge: [(3, rng.random() < 1 / 3) for _ in range(20)] for judge in "xyz"}
        reported += any(one.reported for one in compared_with_chance(seen))
    assert reported / runs <= LEVEL + 3 * (LEVEL / runs) ** 0.5
