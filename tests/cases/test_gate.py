import pytest

from metajudge.errors import InputError
from tests.cases.panels import NOW, RISK, panel, with_plan
from tests.doubles.cases import RELEVANCE, flood, scored


def with_gate(**changes):
    return with_plan(gate={**RISK.cases.gate.model_dump(mode="json"), **changes})


def gated(relevance, *, place="context"):
    stages = [stage.model_dump() for stage in flood().stages]
    stages[0][place] = {"relevance": relevance}
    return flood(stages=stages)


@pytest.mark.parametrize(
    ("relevance", "action", "gate"),
    [
        (0.0, "REJECT", "archive"),
        (0.4999, "REJECT", "archive"),
        (0.5, "REVIEW", "quick_review"),
        (0.6999, "REVIEW", "quick_review"),
        (0.7, "APPROVE", None),
        (1, "APPROVE", None),
    ],
)
async def test_the_gates_boundaries(relevance, action, gate):
    judge = scored()
    result = await panel(judge).judge(gated(relevance), now=NOW)
    assert (result.action, result.decision.gate) == (action, gate)
    assert result.gate.value == relevance
    assert len(judge.model.requests) == (2 if gate is None else 0), "a case the gate ends costs nothing"
    if gate is not None:
        assert result.overall_quality_score is None
        assert gate in result.absent["overall_quality_score"]


async def test_a_case_without_a_stated_relevance_goes_on_and_says_so():
    result = await panel().judge(flood(), now=NOW)
    assert result.gate.value is None
    assert result.gate.step == "go_on"
    assert "states no relevance" in result.reasoning


async def test_a_case_that_the_gate_ends_needs_no_later_stage():
    case = gated(0.2)
    result = await panel().judge(case.model_copy(update={"stages": case.stages[:1]}), now=NOW)
    assert result.decision.gate == "archive"


@pytest.mark.parametrize("relevance", [1.2, -0.1, True, "0.9", None])
def test_a_relevance_that_is_no_number_from_0_to_1_is_refused(relevance):
    with pytest.raises(InputError, match="relevance of stage 'relevance_check' must be a number from 0 to 1"):
        panel().check(gated(relevance))


def test_two_different_relevances_are_refused():
    stages = [stage.model_dump() for stage in flood().stages]
    stages[0] |= {"context": {"relevance": 0.4}, "output": {"relevance": 0.8}}
    with pytest.raises(InputError, match="state it in one of them"):
        panel().check(flood(stages=stages))


async def test_a_gate_by_score_judges_its_stage_first_and_spares_the_others():
    low = dict.fromkeys(RELEVANCE, (4, 0.9))
    judge = scored(low)
    result = await panel(judge, policy=with_gate(value="score")).judge(flood(), now=NOW)
    assert result.gate.value == pytest.approx(0.4)
    assert result.decision.gate == "archive"
    assert [stage.name for stage in result.stages] == ["relevance_check"]
    assert len(judge.model.requests) == 1
    good = await panel(policy=with_gate(value="score")).judge(flood(), now=NOW)
    assert good.gate.value == pytest.approx(0.9)
    assert good.action == "APPROVE"
