"""Assessments as bytes against the JSON of the same assessments as objects."""

import numpy as np
import pytest
from pydantic_core import to_json

from metajudge.bulk.forms import Forms, Own
from metajudge.bulk.signal_texts import SignalTexts, stored_keys
from metajudge.evidence.facts import SignalColumn
from metajudge.store.annotations import annotation_of
from metajudge.types import Assessment, Failure, GuaranteedThreshold, SignalValue, digest
from metajudge.types.decision import Action, Decision, DecisionInputs
from metajudge.vetting.finishing import stored_key

AGREE = SignalValue(value=1.0, state="agree", detail='“x” \u2028 "signals":{}')
MISSING = SignalValue(value=None, state="missing")
GUARANTEE = GuaranteedThreshold(threshold=0.6181, target=0.9, delta=0.1)
DECISION = Decision(
    policy="p",
    policy_digest="d",
    action=Action.APPROVE,
    justification="enough",
    inputs=DecisionInputs(basis="probability", value=0.5, confidence_rule="none", absent={"confidence": "no agents"}),
    margin=0.25,
)


def assessment(**more):
    given = {"judgment_id": 'i"\x08\U0001f600', "item_id": "7", "judge": "j", "status": "assessed", "final_score": 4.25}
    given |= {"accepted": True, "strategy": "signals", "threshold": 4.5, "panel_digest": "p", "judgment_digest": "abc"}
    return Assessment(**{**given, "metajudge_version": "1", "signals": {"order": AGREE}} | more)


@pytest.mark.parametrize(
    "annotation",
    [
        {},
        {"probability": 1e-09, "calibrated": True, "calibration": "c", "probability_marks": ("m",)},
        {"probability": 0.7, "calibrated": True, "guarantee": GUARANTEE, "accepted": False},
        {"probability": 0.123456789, "calibrated": True, "guarantee": GUARANTEE, "decision": DECISION},
    ],
)
def test_bytes_are_those_of_the_object(annotation):
    own = assessment(category='m"ath')
    if "decision" in annotation:
        inputs = DECISION.inputs.model_copy(update={"value": annotation["probability"]})
        annotation["decision"] = DECISION.model_copy(update={"inputs": inputs, "margin": 0.4})
    final = own.model_copy(update=annotation)
    number = annotation.get("probability")
    forms = Forms.of(own, final, by_number="decision" in annotation)
    texts = (to_json(final.judgment_id), b'"7"', b'"j"', b'"abc"')
    signals = b'"signals":{"order":%b}' % AGREE.model_dump_json().encode()
    gaps = Own(*texts, signals, *Own.numbers([number], [number], [None], [0.4])[0])
    assert forms.payload.fill(gaps).decode() == own.model_dump_json(exclude={"do"})
    assert forms.line.fill(gaps).decode() == final.model_dump_json() + "\n"
    said = annotation_of(final, own)
    assert (forms.annotation is None) == (said is None)
    if forms.annotation is not None:
        assert forms.annotation.fill(gaps).decode() == said


def test_a_judgment_without_signals():
    own = assessment(signals=None, status="failed", failure=Failure(kind="no_verdict", message='"signals":{}'))
    gaps = Own(to_json(own.judgment_id), b'"7"', b'"j"', b'"abc"', b'"signals":null')
    assert Forms.of(own, own, by_number=False).line.fill(gaps).decode() == own.model_dump_json() + "\n"


def test_signals_and_the_keys_that_depend_on_them():
    columns = {
        "order": SignalColumn(np.array([0, 1, 0]), [AGREE, MISSING]),
        "no_labels": SignalColumn(np.array([0, -1, -1]), [SignalValue(value=0.1234, state="no_labels")]),
    }
    texts, rows = SignalTexts(columns), np.array([2, 0, 1])
    for row, written, keyed in zip(rows.tolist(), texts.written(rows), texts.keyed(rows), strict=True):
        present = {name: value for name, column in columns.items() if (value := column.at(row)) is not None}
        whole = assessment(signals=present)
        assert f'"signals":{written},' in whole.model_dump_json()
        assert stored_keys(["ab"], [keyed]) == [stored_key("ab", whole)]
        plain = {name: value.model_dump() for name, value in present.items()}
        assert stored_key("ab", whole) == digest(["ab", plain])
