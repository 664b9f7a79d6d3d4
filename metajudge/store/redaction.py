"""What is left of a record once its texts are forgotten: ids, digests, verdicts and numbers."""

from typing import Any, Final

import orjson

from metajudge.types import AgentResult, Assessment
from metajudge.types.decision import Decision

FORGOTTEN: Final = "[forgotten]"


def redact_item(payload: str) -> str:
    """An item's payload without question, responses and reference."""
    item: dict[str, Any] = orjson.loads(payload)
    item["question"] = FORGOTTEN
    item["responses"] = dict.fromkeys(item["responses"], FORGOTTEN)
    if item.get("reference") is not None:
        item["reference"] = FORGOTTEN
    return orjson.dumps(item).decode()


def redact_judgment(payload: str) -> str:
    """A judgment's payload without rationale, instruction and the caller's own data."""
    judgment: dict[str, Any] = orjson.loads(payload)
    judgment["rationale"] = FORGOTTEN
    judgment["meta"] = {}
    for name in ("instruction", "no_verdict"):
        if judgment.get(name) is not None:
            judgment[name] = FORGOTTEN
    return orjson.dumps(judgment).decode()


def redact_review(payload: str) -> str:
    """A review without what there was to see."""
    review: dict[str, Any] = orjson.loads(payload)
    if review.get("content") is not None:
        review["content"] = {}
    return orjson.dumps(review).decode()


def redact_decision(payload: str) -> str:
    """A human decision without the reviewer's reason, which may quote."""
    decision: dict[str, Any] = orjson.loads(payload)
    decision["reason"] = FORGOTTEN if decision.get("reason") else ""
    return orjson.dumps(decision).decode()


def redact_assessment(payload: str) -> str:
    """An assessment without explanations, messages of failures (they may quote) and details of signals."""
    a = Assessment.model_validate_json(payload)
    return a.model_copy(
        update={
            "agents": tuple(_redact_result(result) for result in a.agents),
            "summariser": None if a.summariser is None else _redact_result(a.summariser),
            "failure": None if a.failure is None else a.failure.model_copy(update={"message": FORGOTTEN}),
            "signals": None
            if a.signals is None
            else {name: signal.model_copy(update={"detail": ""}) for name, signal in a.signals.items()},
            "decision": None if a.decision is None else _redact_decision(a.decision),
        }
    ).model_dump_json()


def _redact_decision(d: Decision) -> Decision:
    """Why a number was absent may quote a failure, in inputs and justification; a policy's own words stay."""
    if not d.inputs.absent:
        return d
    inputs = d.inputs.model_copy(update={"absent": dict.fromkeys(d.inputs.absent, FORGOTTEN)})
    return d.model_copy(update={"inputs": inputs, "justification": FORGOTTEN})


def _redact_result(r: AgentResult) -> AgentResult:
    return r.model_copy(
        update={
            "criteria": None
            if r.criteria is None
            else {name: c.model_copy(update={"explanation": FORGOTTEN}) for name, c in r.criteria.items()},
            "failure": None if r.failure is None else r.failure.model_copy(update={"message": FORGOTTEN}),
            "opening": None if r.opening is None else _redact_result(r.opening),
            "draws": tuple(_redact_result(draw) for draw in r.draws),
        }
    )
