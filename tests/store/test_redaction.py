import json

import orjson
import pytest

from metajudge.decision import decide_verdict, load_policy
from metajudge.store import RunRecord, queries
from metajudge.store.redaction import (
    FORGOTTEN,
    HIDDEN,
    hide_headers,
    redact_assessment,
    redact_draft,
    redact_item,
    redact_judgment,
    without_label,
    without_labels,
)
from metajudge.types import AgentResult, Assessment, CriterionScore, Failure, Item, Judgment, SignalValue

REVIEWED = {
    Item: "id question responses category label reference models labels scale conversation metadata question_id replies",
    Judgment: "version id item judge verdict no_verdict rationale order labels instruction meta defaulted",
    CriterionScore: "score explanation not_applicable source reported digit_mass fallback spread",
    Failure: "kind message",
    SignalValue: "value state detail",
    AgentResult: "agent model role weight score analysis analysis_missing criteria failure skipped opening calls cached_calls cost_usd usage "
    "latency_s prompt_digest reported_model scoring fine_score samples valid_samples spread draws mended",
    Assessment: "version judgment_id item_id judge status final_score score_bounds accepted decided_by cut cut_from renormalised failure not_applicable "
    "agents summariser signals cascade decision probability probability_marks probability_source probability_threshold calibrated calibration guarantee outside_guarantee strategy threshold category route rubric rubric_digest prompt_digest prompt_version "
    "panel_digest judgment_digest seed calls cached_calls cost_usd usage metajudge_version given_to_do given_kept mended defaulted",
}


@pytest.mark.parametrize("model", REVIEWED, ids=lambda model: model.__name__)
def test_new_field_that_may_hold_judged_text_is_not_overlooked(model) -> None:
    """A field not listed here is new: redact it if it can hold text, then list it."""
    assert set(model.model_fields) == set(REVIEWED[model].split())


def test_conversation_and_metadata_are_redacted_and_labels_stay(records) -> None:
    judgment = records.judgment(1)
    beside = {
        "labels": [{"value": "A>B", "annotator": "ann"}],
        "conversation": [{"role": "user", "content": "SECRET"}],
        "metadata": {"A": {"trace": "SECRET"}},
        "replies": {"A": [{"role": "assistant", "tool_calls": [{"name": "SECRET", "arguments": "SECRET"}]}]},
    }
    item = Item.model_validate({**judgment.item.model_dump(), **beside})
    for payload in (redact_item(item.model_dump_json()), redact_judgment(json.dumps({"item": beside}))):
        assert "SECRET" not in payload
        assert "ann" in payload
    assert item.truth is not None
    shown = without_label(judgment.model_copy(update={"item": item}))
    assert shown.item.labels == ()
    assert shown.item.metadata is None
    assert shown.correct is None


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


AGENT = {"name": "a", "model": "openai:a", "headers": {"X-Gateway-Token": "SECRET", "X-Team": "SECRET"}}
CONFIG = {"panel": {"agents": [AGENT], "routes": {"math": {"agents": [AGENT]}}}, "panel_digest": "d"}


def test_no_value_of_a_header_is_shown_whatever_its_name() -> None:
    hidden = hide_headers(CONFIG)
    assert "SECRET" not in repr(hidden)
    assert hidden["panel"]["agents"][0]["headers"] == {"X-Gateway-Token": HIDDEN, "X-Team": HIDDEN}
    assert hidden["panel"]["agents"][0]["model"] == "openai:a"
    assert hidden["panel_digest"] == "d"
    assert "SECRET" in repr(CONFIG), "what was given is left as it is"


async def test_a_header_is_neither_kept_with_a_run_nor_shown_of_an_older_one(reopen) -> None:
    store = await reopen()
    await store.start_run(RunRecord("new", "vet", 1.0, "running", CONFIG))
    store = await reopen(store)
    kept = await store.ask(lambda connection: connection.execute("SELECT config FROM runs").fetchall())
    shown = [*(await store.runs()), await store.show("new")]
    await store.close()
    assert "SECRET" not in repr(kept)
    assert "X-Gateway-Token" in repr(shown)
    assert "SECRET" not in repr(shown)


def test_a_run_that_an_earlier_version_kept_shows_no_header() -> None:
    row = ("old", "vet", 1.0, "finished", orjson.dumps(CONFIG).decode(), 2.0, None)
    assert "SECRET" not in repr(queries._run(row))


def test_a_judgment_without_its_label_repeats_it_nowhere(records) -> None:
    judgment = records.judgment(1, meta={"gold": "A"})
    bare = without_label(judgment)
    assert (bare.item.label, bare.meta, bare.correct) == (None, {}, None)
    assert bare.vetting_digest == judgment.vetting_digest


def test_a_cases_label_is_withheld_like_an_items() -> None:
    entry = {"subject": "c1", "payload": {"label": True, "type": "climate"}}
    found = {"judgments": [], "reviews": [{"item_id": "c1", "truth": True}], "audit_log": [entry]}
    shown = without_labels(found, lambda item: item == "c1")
    assert shown["reviews"][0]["truth"] is None
    assert shown["audit_log"][0]["payload"] == {"type": "climate"}
    assert without_labels(found, lambda _item: False) == found


def test_a_draft_loses_the_texts_that_may_repeat_reasons_and_keeps_its_numbers() -> None:
    plan = {"levels": {"depth": {"7": "secret"}}, "instructions": {"depth": "secret"}, "rubric": "r"}
    draft = {"draft_id": "d", "change": "secret", "policy": {"cases": plan, "adjustment": {"offsets": {"depth": -3}}}}
    kept = redact_draft(json.dumps(draft))
    assert "secret" not in kept
    assert json.loads(kept)["policy"]["adjustment"] == {"offsets": {"depth": -3}}
    assert json.loads(kept)["policy"]["cases"]["levels"] == {"depth": {"7": FORGOTTEN}}
