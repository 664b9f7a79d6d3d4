"""Redaction of records: forgotten texts, labels, secrets in headers."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from metajudge.store.rows import DERIVED
from metajudge.types import AgentResult, Assessment, Judgment
from metajudge.types.decision import Decision

FORGOTTEN: Final = "[forgotten]"
HIDDEN: Final = "[hidden]"

_UNLABELLED: Final[dict[str, Any]] = {"label": None, "labels": (), "metadata": None}


def redact_item(payload: str) -> str:
    """An item's payload without question, responses, messages, reference and metadata; labels stay."""
    item: dict[str, Any] = orjson.loads(payload)
    item["question"] = FORGOTTEN
    item["responses"] = dict.fromkeys(item["responses"], FORGOTTEN)
    if item.get("reference") is not None:
        item["reference"] = FORGOTTEN
    _redact_beside(item)
    return orjson.dumps(item).decode()


def redact_judgment(payload: str) -> str:
    """A judgment's payload without rationale, instruction, conversation and the caller's own data; labels stay."""
    judgment: dict[str, Any] = orjson.loads(payload)
    judgment["rationale"] = FORGOTTEN
    judgment["meta"] = {}
    _redact_beside(judgment.get("item", {}))
    for name in ("instruction", "no_verdict"):
        if judgment.get(name) is not None:
            judgment[name] = FORGOTTEN
    return orjson.dumps(judgment).decode()


def _redact_beside(item: dict[str, Any]) -> None:
    if "conversation" in item:
        item["conversation"] = [{"role": one["role"], "content": FORGOTTEN} for one in item["conversation"]]
    for name in ("replies", "metadata"):
        item.pop(name, None)


def redact_review(payload: str) -> str:
    """A review without the texts that were shown."""
    review: dict[str, Any] = orjson.loads(payload)
    if review.get("content") is not None:
        review["content"] = {}
    return orjson.dumps(review).decode()


def redact_decision(payload: str) -> str:
    """A human decision without the reviewer's reason, which may quote."""
    decision: dict[str, Any] = orjson.loads(payload)
    decision["reason"] = FORGOTTEN if decision.get("reason") else ""
    return orjson.dumps(decision).decode()


def redact_event(payload: str) -> str:
    """An amendment or a comment without its text, which may quote."""
    event: dict[str, Any] = orjson.loads(payload)
    if "text" in event:
        event["text"] = FORGOTTEN
    if event.get("reason"):
        event["reason"] = FORGOTTEN
    return orjson.dumps(event).decode()


def redact_draft(payload: str) -> str:
    """A drafted change without the texts that may repeat reviewers' reasons; it can then not be activated."""
    draft: dict[str, Any] = orjson.loads(payload)
    draft["change"] = FORGOTTEN
    plan = draft["policy"]["cases"]
    for texts in (plan.get("instructions", {}), *plan.get("levels", {}).values()):
        texts.update(dict.fromkeys(texts, FORGOTTEN))
    return orjson.dumps(draft).decode()


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
    ).model_dump_json(exclude=DERIVED)


def redact_annotation(payload: str) -> str:
    """An annotation without messages of failures and without why a policy's number was absent."""
    data: dict[str, Any] = orjson.loads(payload)
    if "agents" in data:  # a migrated row that differed from its assessment in more than its annotation
        return redact_assessment(payload)
    if data.get("failure") is not None:
        data["failure"]["message"] = FORGOTTEN
    if data.get("decision") is not None:
        data["decision"] = _redact_decision(Decision.model_validate(data["decision"])).model_dump(mode="json")
    return orjson.dumps(data).decode()


def _redact_decision(d: Decision) -> Decision:
    """The reason for a missing number may quote a failure, in inputs and justification; a policy's own text is kept."""
    if not d.inputs.absent:
        return d
    inputs = d.inputs.model_copy(update={"absent": dict.fromkeys(d.inputs.absent, FORGOTTEN)})
    return d.model_copy(update={"inputs": inputs, "justification": FORGOTTEN})


def _redact_result(r: AgentResult) -> AgentResult:
    return r.model_copy(
        update={
            "analysis": None if r.analysis is None else FORGOTTEN,
            "criteria": None
            if r.criteria is None
            else {name: c.model_copy(update={"explanation": FORGOTTEN}) for name, c in r.criteria.items()},
            "failure": None if r.failure is None else r.failure.model_copy(update={"message": FORGOTTEN}),
            "opening": None if r.opening is None else _redact_result(r.opening),
            "draws": tuple(_redact_result(draw) for draw in r.draws),
        }
    )


def hide_headers(config: Any) -> Any:
    """A run's configuration with the names of request headers but not their values, any of which may be a secret."""
    if isinstance(config, Mapping):
        return {
            name: dict.fromkeys(value, HIDDEN)
            if name == "headers" and isinstance(value, Mapping)
            else hide_headers(value)
            for name, value in config.items()
        }
    return [hide_headers(one) for one in config] if isinstance(config, list | tuple) else config


def without_label(judgment: Judgment) -> Judgment:
    """A judgment for a reviewer who must not see the label.

    What people said (``labels``) and the caller's own data, which may repeat the label, are also removed.
    """
    item = judgment.item.model_copy(update=_UNLABELLED)
    item.__dict__.pop("truth", None)  # computed from the labels that are gone
    return judgment.model_copy(update={"item": item, "meta": {}})


def without_labels(found: Mapping[str, Any], withheld: Callable[[str], bool]) -> dict[str, Any]:
    """The result of a store's ``show``, without the labels of some items and data derived from them.

    Args:
        withheld: whether the label of an item, by its id, must not be shown.

    Returns:
        The same with ``labels_withheld``: the ids of the items whose labels were taken out, where there are any.
    """
    items = {one["judgment"]["item"]["id"] for one in found["judgments"]}
    hidden = {one for one in items | {one["item_id"] for one in found["reviews"]} if withheld(one)}
    if not hidden:
        return dict(found)
    judgments = [
        _without_label_data(one) if one["judgment"]["item"]["id"] in hidden else one for one in found["judgments"]
    ]
    reviews = [{**one, "truth": None} if one["item_id"] in hidden else one for one in found["reviews"]]
    records = [_without_case_label(one) if one["subject"] in hidden else one for one in found["audit_log"]]
    shown = {"judgments": judgments, "reviews": reviews, "audit_log": records}
    return {**found, **shown, "labels_withheld": sorted(hidden)}


def _without_case_label(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "payload": {name: value for name, value in entry["payload"].items() if name != "label"}}


def _without_label_data(row: Mapping[str, Any]) -> dict[str, Any]:
    judgment = row["judgment"]
    item = {name: value for name, value in judgment["item"].items() if name not in _UNLABELLED}
    return {**row, "judgment": {**judgment, "meta": {}, "item": {**item, "label": None}}}
