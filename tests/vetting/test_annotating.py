"""Calibration and policy on many assessments: each as in a table of its own."""

import numpy as np
import pytest

from metajudge import Engine
from metajudge.calibration.fit import fit_calibration
from metajudge.calibration.table import build_table
from metajudge.decision import load_policy, parse_policy
from metajudge.evidence.verdicts import collected
from metajudge.monitor.report import promise_id
from metajudge.strategies import Panel, StrategyName
from metajudge.vetting.annotating import annotated_column
from metajudge.vetting.probability import Probabilities
from tests.decision.policy_texts import band, small
from tests.doubles.crowds import crowd
from tests.doubles.graders import graded
from tests.doubles.judgments import judgment
from tests.vetting.test_probability import guaranteed

FITTED_ON = crowd(60)
MIXED = [
    *crowd(20, seed=9, prefix="new"),
    *FITTED_ON[:9],
    judgment("tie", judge="owl", verdict="A=B"),
    judgment("none", judge="owl", verdict=None, no_verdict="cut"),
    judgment("other", judge="stork"),
    judgment("ranked", judge="owl", verdict=[["A"], ["B"]], category="maths/sums"),
]
LEARNED = {"recalibration": {"intercept": 0.2, "slope": 0.7}}
PANEL = Panel((), StrategyName.SIGNALS, 4.5)
BANDS = [
    band("REJECT", {"below": 0.4}),
    band("REVIEW", {"at_least": 0.4, "below": 0.8}),
    band("APPROVE", {"at_least": 0.8}),
]


@pytest.fixture(scope="module")
def calibration():
    return fit_calibration(build_table(FITTED_ON, ["order", "strength", "peers"]), repeats=1)


async def own_assessments(judgments):
    found = {}
    async with Engine() as engine:
        await engine.vet_all(judgments, on_result=lambda at, _, one: found.update({at: one}))
    return [found[at] for at in range(len(judgments))]


async def compared(calibration, judgments, policy, broken=frozenset(), panel=PANEL, **options):
    """Both ways: all at once, and one after the other."""
    own = await own_assessments(judgments)
    overlay = None if calibration is None else Probabilities.of_facts(calibration, collected(judgments), **options)
    forms = [one.model_copy(update={"judgment_id": "", "signals": None}).model_dump_json() for one in own]
    different = list(dict.fromkeys(forms))
    codes = np.array([different.index(form) for form in forms])
    first = [own[forms.index(form)] for form in different]
    rows = np.arange(len(own))[::-1]  # in any order
    of = {"probabilities": overlay, "rows": rows, "policy": policy, "broken": broken}
    column = annotated_column(first, codes[rows], lambda _: panel, **of)
    together = [column.at(at, own[row]) for at, row in enumerate(rows.tolist())][::-1]
    alone = []
    for row, one in enumerate(own):
        of |= {"rows": np.array([row])}
        alone.append(annotated_column([one], np.zeros(1, dtype=np.intp), lambda _: panel, **of).at(0, one))
    return together, alone


@pytest.mark.parametrize("name", ["none", "verdict", "verdict_score", "learned"])
@pytest.mark.parametrize("promised", [False, True])
async def test_each_is_what_it_is_alone(calibration, name, promised):
    learned = parse_policy(small(bands=BANDS, adjustment=LEARNED), "mine.yaml")
    policy = {"none": None, "learned": learned}.get(name) if name in ("none", "learned") else load_policy(name)
    fitted = guaranteed(guaranteed(calibration, 0.75), 0.5, ("owl",)) if promised else calibration
    together, alone = await compared(fitted, MIXED, policy)
    assert together == alone
    assert [one.model_dump_json() for one in together] == [one.model_dump_json() for one in alone]


@pytest.mark.parametrize("given", [{"cut": 0.75}, {"cut": 0.3}, {"threshold_typed": True}])
async def test_a_cut_and_a_threshold_that_are_given_decide_alike(calibration, given):
    panel = Panel((), StrategyName.SIGNALS, 4.5, **given)
    together, alone = await compared(guaranteed(calibration, 0.5, ("owl",)), MIXED, None, panel=panel)
    assert together == alone
    decided_by = {(one.decided_by, one.cut, one.cut_from) for one in together if one.kept is not None}
    by_score = ("score", 4.5, "typed")
    assert decided_by == {by_score if "threshold_typed" in given else ("probability", given["cut"], "typed")}
    assert all(one.probability >= 0.5 for one in together if one.guarantee)
    assert any(one.guarantee for one in together)


async def test_without_a_calibration_a_policy_decides_on_scores_alone():
    together, alone = await compared(None, MIXED, load_policy("verdict_score"))
    assert together == alone
    assert len({one.decision.action for one in together}) > 1


async def test_a_broken_promise_decides_on_nothing_and_judges_not_fitted_on_only_where_allowed(calibration):
    both = guaranteed(guaranteed(calibration, 0.5, ("owl",)), 0.5, ("wren",))
    broken = {promise_id(both.digest, next(one for one in both.promises if one.judges == ("owl",)).stamp())}
    together, alone = await compared(both, MIXED, load_policy("verdict"), broken)
    assert together == alone
    assert {one.judge for one in together if one.guarantee} == {"wren"}
    assert any("promise_broken" in one.probability_marks for one in together)
    together, alone = await compared(calibration, MIXED, load_policy("verdict"), allow_other_identity=True)
    assert together == alone
    other = next(one for one in together if one.judge == "stork")
    assert other.probability is not None
    assert "other_judge" in other.probability_marks


async def test_grades_are_decided_alike():
    records = graded(40)
    fitted = fit_calibration(build_table(records[: len(records) // 2], None), repeats=1)
    together, alone = await compared(guaranteed(fitted, 0.6), records, load_policy("verdict"))
    assert together == alone
    assert any(one.guarantee for one in together)
