"""Cases as records, and judging them: rules that combine, quotes, what is refused."""

import json

import pytest
from pydantic import ValidationError

from metajudge.cases.case import Case
from metajudge.cases.judge import CaseJudge
from metajudge.decision import case_rubric
from metajudge.errors import InputError
from metajudge.providers.scripted import ScriptedModel
from tests.cases.panels import NOW, RISK, panel
from tests.doubles.cases import ANALYSIS, RELEVANCE, flood, scored


def test_a_stage_is_there_once():
    stage = {"name": "s", "output": "x"}
    with pytest.raises(ValidationError, match="'s' is there twice"):
        Case(id="c", type="t", stages=[stage, stage])


def test_the_callers_own_data_is_no_part_of_what_is_judged():
    assert flood(meta={"ticket": 1}).digest == flood().digest
    assert flood(type="regulatory").digest != flood().digest


async def test_a_rubric_that_asks_for_no_confidence_gives_none_and_the_policy_says_what_then():
    rubric = case_rubric(RISK).model_copy(update={"asks": ("evidence",)})

    def answer(request):
        table = ANALYSIS if "completeness" in request.system else RELEVANCE
        entries = {name: {"comment": "", "evidence": [], "score": score} for name, (score, _) in table.items()}
        return json.dumps(entries)

    result = await panel(CaseJudge("plain", ScriptedModel(answer)), rubric=rubric).judge(flood(), now=NOW)
    assert result.overall_quality_score == pytest.approx(8.7368421, abs=1e-6)
    assert result.overall_confidence is None
    assert "does not ask for confidence" in result.absent["overall_confidence"]
    assert result.action == "REVIEW_PRIORITY"


async def test_evidence_is_looked_up_in_the_output():
    judge = scored(evidence=["stands on the NORTH  bank", "a flood warning was issued", "made up by the judge"])
    result = await panel(judge).judge(flood(), now=NOW)
    quotes = result.stages[0].criteria["traceability"].evidence
    assert [(one.in_output, one.in_context) for one in quotes] == [(True, False), (False, True), (False, False)]


def test_what_a_policy_cannot_judge_is_refused_before_anything_is_asked():
    judged = panel()
    with pytest.raises(InputError, match="no weight profile for type 'cyber'"):
        judged.check(flood(type="cyber"))
    stages = [stage.model_dump() for stage in flood().stages]
    with pytest.raises(InputError, match=r"has no stage 'risk_analyzer'.*did you mean risk_analysis"):
        judged.check(flood(stages=[stages[0], {**stages[1], "name": "risk_analyzer"}]))
    with pytest.raises(InputError, match="lacks risk_analysis"):
        judged.check(flood(stages=stages[:1]))
    with pytest.raises(ValueError, match="is there twice"):
        flood(stages=[stages[0], stages[0]])
