import pytest

from metajudge.decision import decide_verdict, load_policy
from metajudge.store.redaction import FORGOTTEN, redact_assessment, redact_item, redact_judgment
from metajudge.types import AgentResult, Assessment, CriterionScore, Failure, Item, Judgment, SignalValue

REVIEWED = {
    Item: "id question responses category label reference models",
    Judgment: "version id item judge verdict no_verdict rationale order labels instruction meta",
    CriterionScore: "score explanation source reported digit_mass fallback spread",
    Failure: "kind message",
    SignalValue: "value state detail",
    AgentResult: "agent model role weight score criteria failure skipped opening calls cached_calls cost_usd usage "
    "latency_s prompt_digest reported_model scoring fine_score samples valid_samples spread draws",
    Assessment: "version judgment_id item_id judge status final_score score_bounds accepted renormalised failure "
    "agents summariser signals cascade decision probability probability_marks calibrated calibration guarantee strategy threshold category route rubric rubric_digest prompt_digest "
    "panel_digest judgment_digest seed calls cached_calls cost_usd usage metajudge_version",
}


@pytest.mark.parametrize("model", REVIEWED, ids=lambda model: model.__name__)
def test_new_field_that_may_hold_judged_text_is_not_overlooked(model) -> None:
    """A field not listed here is new: redact it if it can hold text, then list it."""
    assert set(model.model_fields) == set(REVIEWED[model].split())


def test_redacted_item_and_judgment_are_still_valid_records(records) -> None:
    judgment = records.judgment(1, mark="SECRET", verdict=None, no_verdict="it said SECRET")
    item = Item.model_validate_json(redact_item(judgment.item.model_dump_json()))
    assert "SECRET" not in repr(item)
    assert (item.id, item.category, item.label, list(item.responses)) == (
        *(judgment.item.id, "math", judgment.item.label),
        ["A", "B"],
    )
    left = Judgment.model_validate_json(redact_judgment(judgment.model_copy(update={"item": item}).model_dump_json()))
    assert "SECRET" not in repr(left)
    assert left.no_verdict == FORGOTTEN
    assert left.order == judgment.order


def test_a_decision_does_not_quote_what_was_forgotten(records) -> None:
    """The reason why there is no score is a failure's message, and that may quote the item."""
    judgment = records.judgment(1)
    failure = {"kind": "bad_reply", "message": "it said SECRET"}
    assessment = records.assessment(judgment, mark="SECRET", failure=failure)
    assessment = assessment.model_copy(update={"final_score": None})
    decided = assessment.model_copy(update={"decision": decide_verdict(load_policy("verdict_score"), assessment)})
    assert "SECRET" in repr(decided.decision)
    left = Assessment.model_validate_json(redact_assessment(decided.model_dump_json()))
    assert "SECRET" not in repr(left)
    assert left.decision.action == decided.decision.action


def test_absent_texts_stay_absent(records) -> None:
    judgment = records.judgment(1, instruction=None)
    left = Judgment.model_validate_json(redact_judgment(judgment.model_dump_json()))
    assert (left.instruction, left.no_verdict) == (None, None)


def test_redacted_assessment_keeps_every_number(records) -> None:
    judgment = records.judgment(1)
    assessment = records.assessment(judgment, mark="SECRET", failure={"kind": "bad_reply", "message": "SECRET"})
    left = Assessment.model_validate_json(redact_assessment(assessment.model_dump_json()))
    assert "SECRET" not in repr(left)
    assert left.agents[1].opening is not None
    blank = assessment.model_dump_json().replace("SECRET", FORGOTTEN)
    assert left.model_dump_json().count(FORGOTTEN) >= blank.count(FORGOTTEN) - 1  # a signal's detail becomes empty
    numbers = {"final_score", "accepted", "threshold", "calls", "judgment_digest", "status"}
    assert left.model_dump(include=numbers) == assessment.model_dump(include=numbers)
