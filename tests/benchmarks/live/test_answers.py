"""The verdicts of a run, from its scores alone."""

import numpy as np
import pytest
from metajudge.benchmarks.live.answers import analyse, judged, table_of
from metajudge.benchmarks.live.plan import make_plan
from metajudge.benchmarks.live.records import RunRecord
from metajudge.benchmarks.live.setup import FREE_EVIDENCE, PANEL

from metajudge.errors import InputError
from metajudge.report import Absent
from metajudge.stats.influence import Effect
from tests.doubles.live_runs import candidates, scored, setup

RUN = RunRecord(run_id="r", plan="p", fixed_at="2026-11-23T08:00:00+00:00", end="finished")


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    found = candidates(tmp_path_factory.mktemp("made"), questions=80)
    return make_plan(setup(), found, source="made", questions=80, per_question=1, seed=0, budget_usd=5.0)


def lines(planned, accuracy, seed=0):
    plan, items = planned
    rng = np.random.default_rng(seed)
    return [scored(name, item, bool(rng.random() < accuracy[name])) for name in plan.setup.agents for item in items]


EQUAL = {"agent-1": 0.8, "agent-2": 0.8, "agent-1-no-analysis": 0.8}


def test_a_planted_effect_is_found_and_named(planned):
    plan, items = planned
    found = analyse(plan, items, lines(planned, {**EQUAL, "agent-1": 0.98, "agent-1-no-analysis": 0.55}), RUN)
    think = next(one for one in found.answers if one.topic == "think")
    assert think.verdict == "yes"
    assert think.effect.low < 0.43 < think.effect.high
    assert (think.n, think.questions, think.missing) == (80, 80, 0)
    cost = next(one for one in found.answers if one.topic == "cost")
    assert cost.effect.value > 1.9  # two agents are paid for the panel


def test_an_effect_the_other_way_round_is_no_yes(planned):
    plan, items = planned
    found = analyse(plan, items, lines(planned, {**EQUAL, "agent-1": 0.55, "agent-1-no-analysis": 0.98}), RUN)
    assert next(one for one in found.answers if one.topic == "think").verdict == "no, the other way round"


def test_nothing_is_answered_before_the_plan_is_done(planned):
    plan, items = planned
    every = lines(planned, EQUAL)
    for run, part in ((RUN.model_copy(update={"end": "budget"}), every), (RUN, every[:-1])):
        found = analyse(plan, items, part, run)
        assert not found.complete
        assert {one.verdict for one in found.answers} == {"too few to say"}
        assert all(isinstance(one.effect, Absent) for one in found.answers)


def test_missing_scores_are_counted_and_too_many_leave_the_question_open(planned):
    plan, items = planned
    every = lines(planned, {**EQUAL, "agent-1": 0.98, "agent-1-no-analysis": 0.55})
    for count, open_ in ((8, False), (9, True)):
        part = [
            line.model_copy(update={"score": None, "failure": "parse_failure"}) if place < count else line
            for place, line in enumerate(every)
        ]
        found = analyse(plan, items, part, RUN)
        think = next(one for one in found.answers if one.topic == "think")
        assert (think.verdict == "too few to say") is open_
        assert think.missing == count
        assert found.failures == {"agent-1": count}


def test_a_panel_without_an_answer_of_one_of_two_has_no_score(planned):
    plan, items = planned
    every = lines(planned, EQUAL)
    every[0] = every[0].model_copy(update={"score": None, "failure": "timeout"})
    table = table_of(plan, items, every)
    assert np.isnan(table.scores[PANEL][0])
    assert table.scores[PANEL][1] == np.mean([table.scores[name][1] for name in plan.setup.panel])


def test_an_unknown_price_leaves_the_costs_open_and_nothing_else(planned):
    plan, items = planned
    every = [line.model_copy(update={"usd": None}) for line in lines(planned, EQUAL)]
    found = analyse(plan, items, every, RUN)
    assert found.usd is None
    cost = next(one for one in found.answers if one.topic == "cost")
    assert "unknown" in cost.effect.absent
    assert not isinstance(found.answers[0].effect, Absent)


def test_nothing_asked_nothing_paid_and_nothing_kept_are_said_so(planned):
    plan, items = planned
    nothing = analyse(plan, items, [], RUN.model_copy(update={"end": "interrupted"}))
    assert {one.verdict for one in nothing.answers} == {"too few to say"}
    assert nothing.arms[1].scored == 0
    free = [line.model_copy(update={"usd": 0.0}) for line in lines(planned, EQUAL)]
    assert "costs nothing" in analyse(plan, items, free, RUN).answers[-1].effect.absent
    low = [line.model_copy(update={"score": 1.0}) for line in free]
    assert "keeps no right verdict" in analyse(plan, items, low, RUN).answers[-1].effect.absent


def test_scores_that_are_not_the_plans_are_refused(planned):
    plan, items = planned
    every = lines(planned, EQUAL)
    with pytest.raises(InputError, match="two scores"):
        table_of(plan, items, [*every, every[0]])
    with pytest.raises(InputError, match="no such agent"):
        table_of(plan, items, [every[0].model_copy(update={"agent": "agent-9"})])


def test_the_verdict_is_what_the_interval_says(planned):
    plan, _ = planned

    def effect(low, high):
        return Effect((low + high) / 2, low, high, 80, 0.99, "", 0.01, 80, 0.5)

    for low, high, verdict in (
        (0.01, 0.2, "yes"),
        (-0.2, -0.01, "no, the other way round"),
        (-0.04, 0.04, "no difference found"),
        (-0.04, 0.06, "too few to say"),
    ):
        assert judged(effect(low, high), plan, "area")[0] == verdict


def test_free_evidence_costs_nothing_and_has_its_own_line(planned):
    plan, items = planned
    found = analyse(plan, items, lines(planned, EQUAL), RUN)
    evidence = found.arms[0]
    assert evidence.arm == FREE_EVIDENCE
    assert evidence.calls == 0
    assert isinstance(evidence.usd_each, Absent)
    assert found.arms[-1].arm == PANEL
    assert found.arms[-1].calls == 160
