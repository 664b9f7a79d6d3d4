"""Records as rows of the tables in ``migrations/``."""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from metajudge.errors import StoreError
from metajudge.store.sql import Row
from metajudge.types import AgentResult, Assessment, CallRecord, Item, Judgment, Reply, Usage
from metajudge.types.judgment import BESIDE

NOTHING: Final[dict[str, Any]] = {
    "probability": None,
    "probability_marks": (),
    "calibrated": False,
    "calibration": None,
    "guarantee": None,
    "outside_guarantee": (),
    "probability_source": None,
    "probability_threshold": None,
    "decision": None,
}
"""Values of these fields in an assessment without an annotation."""

DERIVED: Final = {"do"}
"""Fields of an assessment that follow from the others and are not stored."""

FIELDS: Final = ("status", "accepted", "failure", "decided_by", "cut", "cut_from", *NOTHING)
"""The fields that an annotation may set; a rule that decides sets the first six."""


def without_annotation(assessment: Assessment) -> Assessment:
    """The panel's own assessment; an outcome that another rule has set is kept."""
    return assessment.model_copy(update=NOTHING)


def annotation_of(assessment: Assessment, found: Assessment) -> str | None:
    """The fields added to the panel's assessment, as JSON; None if there are none."""
    if assessment is found:
        return None
    changed = {name for name in FIELDS if getattr(assessment, name) != getattr(found, name)}
    if not changed:
        return None
    plain = assessment.model_dump(mode="json", include=changed)
    return orjson.dumps(dict.fromkeys(sorted(changed)) | plain).decode()


def annotated_data(payload: str, annotation: str | None) -> dict[str, Any]:
    """An assessment with its annotation as plain data."""
    data: dict[str, Any] = orjson.loads(payload)
    return data if annotation is None else data | orjson.loads(annotation)


def annotated(payload: str, annotation: str | None) -> Assessment:
    """An assessment with its annotation."""
    text = payload if annotation is None else orjson.dumps(annotated_data(payload, annotation))
    return Assessment.model_validate_json(text)


ITEMS: Final = ("item_digest", "item_id", "category", "payload", "redacted")
JUDGMENTS: Final = ("judgment_digest", "judgment_id", "item_digest", "item_id", "judge", "payload", "redacted")
CALLS: Final = (
    *("key", "run_id", "endpoint", "model", "draw", "attempt", "status", "started_at", "latency_s", "reply_text"),
    *("reply_model", "finish", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "cost_usd"),
    *("failure_kind", "failure_message", "http_status", "redacted"),
)
ASSESSMENTS: Final = (
    *("assessment_id", "key", "run_id", "created_at", "judgment_digest", "judgment_id", "item_id", "judge", "status"),
    *("final_score", "accepted", "strategy", "panel_digest", "payload", "redacted"),
)
AGENT_SCORES: Final = (
    *("assessment_id", "position", "stage", "agent", "model", "role", "weight", "score", "criteria", "failure_kind"),
    *("skipped", "calls", "cached_calls", "cost_usd", "input_tokens", "output_tokens", "latency_s", "request_key"),
)
ANNOTATIONS: Final = (
    *("annotation_id", "assessment_id", "run_id", "created_at", "status", "accepted", "calibration", "probability"),
    *("policy", "policy_digest", "action", "payload", "redacted"),
)
"""Columns of the tables, in the order of the values of the rows below."""

_CONTENT = set(Item.model_fields) - BESIDE


class Subject(NamedTuple):
    """The judgment and panel of an assessment."""

    judgment_digest: str
    panel_digest: str


@dataclass(frozen=True, slots=True)
class AssessmentWrite:
    """An assessment, as rows that lack only a number and a time.

    Attributes:
        assessment: the panel's own; ``payload`` is the same as JSON.
        completed: with its annotation, which ``annotation`` has as JSON; None without an annotation.
        item: row of ``items``; ``judgment``: row of ``judgments``; None where the texts are kept apart.
    """

    key: str
    run_id: str
    assessment: Assessment
    payload: str
    completed: Assessment | None
    annotation: str | None
    item: Row | None = None
    judgment: Row | None = None

    @property
    def subject(self) -> Subject:
        return Subject(self.assessment.judgment_digest, self.assessment.panel_digest)


def assessment_write(
    key: str, judgment: Judgment | None, assessment: Assessment, found: Assessment | None, run_id: str
) -> AssessmentWrite:
    """The write of an assessment; see :meth:`metajudge.store.store.Store.save_assessment`.

    Args:
        judgment: None where its texts are kept apart.

    Raises:
        StoreError: a text that is not valid Unicode.
    """
    found = without_annotation(assessment) if found is None else found
    try:
        annotation = annotation_of(assessment, found)
        return AssessmentWrite(
            *(key, run_id, found, found.model_dump_json(exclude=DERIVED)),
            *(None if annotation is None else assessment, annotation),
            *((None, None) if judgment is None else (item_row(judgment), judgment_row(judgment))),
        )
    except (ValueError, TypeError) as error:
        raise StoreError(
            f"judgment {assessment.judgment_id!r} cannot be stored: {error}. Texts must be valid Unicode"
        ) from error


def item_row(judgment: Judgment) -> Row:
    """An item, once for all its judgments; what is no part of its digest is in their rows."""
    item = judgment.item
    return (item.digest, item.id, item.category, item.model_dump_json(exclude={"id", *BESIDE}), False)


def judgment_row(judgment: Judgment) -> Row:
    """A judgment, with what its own record says beside the item's content: labels, conversation, metadata."""
    payload = judgment.model_dump_json(exclude={"item": _CONTENT if judgment.item.says_more else True})
    return (judgment.digest, judgment.id, judgment.item.digest, judgment.item.id, judgment.judge, payload, False)


def judgment_data(payload: str, item_id: str, item: str) -> dict[str, Any]:
    """A judgment with its item as plain data, from the payloads of their two rows."""
    data: dict[str, Any] = orjson.loads(payload)
    beside = data.pop("item", {})
    return {**data, "item": {"id": item_id, **orjson.loads(item), **beside}}


def assessment_row(number: int, write: AssessmentWrite, created_at: float) -> Row:
    a = write.assessment
    return (
        *(number, write.key, write.run_id, created_at),
        *(a.judgment_digest, a.judgment_id, a.item_id, a.judge, a.status.value, a.final_score, a.accepted),
        *(a.strategy, a.panel_digest, write.payload, False),
    )


def annotation_row(number: int, assessment_id: int, write: AssessmentWrite, created_at: float) -> Row:
    a, decision = write.completed or write.assessment, None if write.completed is None else write.completed.decision
    decided = (None,) * 3 if decision is None else (decision.policy, decision.policy_digest, decision.action.value)
    return (
        *(number, assessment_id, write.run_id, created_at, a.status.value, a.accepted, a.calibration, a.probability),
        *(*decided, write.annotation, False),
    )


def agent_rows(number: int, assessment: Assessment) -> list[Row]:
    """One row for each result, including answers before a discussion and each of several draws."""
    rows: list[Row] = []
    for position, result in enumerate(assessment.agents):
        if result.opening is not None:
            rows += _rows_of(number, position, "opening", result.opening)
        rows += _rows_of(number, position, "agent", result)
    if assessment.summariser is not None:
        rows += _rows_of(number, len(assessment.agents), "summariser", assessment.summariser)
    return rows


def _rows_of(number: int, position: int, stage: str, result: AgentResult) -> list[Row]:
    """The result and its draws, each of which has a call of its own."""
    draws = [_agent_row(number, position, "draw", draw) for draw in result.draws]
    return [_agent_row(number, position, stage, result), *draws]


def _agent_row(number: int, position: int, stage: str, r: AgentResult) -> Row:
    criteria = None
    if r.criteria is not None:
        criteria = orjson.dumps({name: c.score for name, c in r.criteria.items()}).decode()
    failure = None if r.failure is None else r.failure.kind.value
    return (
        *(number, position, stage, r.agent, r.model, r.role, r.weight, r.score, criteria, failure, r.skipped),
        *(r.calls, r.cached_calls, r.cost_usd, r.usage.input_tokens, r.usage.output_tokens, r.latency_s),
        r.prompt_digest,
    )


def call_row(call: CallRecord) -> Row:
    u = call.usage
    tokens = (None,) * 4 if u is None else (u.input_tokens, u.cached_tokens, u.cache_write_tokens, u.output_tokens)
    return (
        *(call.key, call.run_id, call.endpoint, call.model, call.draw, call.attempt),
        *(call.status, call.started_at, call.latency_s, call.reply_text, call.reply_model),
        *(call.finish, *tokens, call.cost_usd),
        *(None if call.failure_kind is None else call.failure_kind.value, call.failure_message),
        *(call.http_status, False),
    )


def reply_of_call(call: CallRecord) -> Reply | None:
    """The reply a recorded call leaves in the cache, None for a failed one."""
    if call.status != "ok" or call.reply_text is None:
        return None
    return Reply(
        text=call.reply_text,
        finish=call.finish or "other",
        model=call.reply_model or call.model,
        usage=call.usage,
        cost_usd=call.cost_usd,
        latency_s=call.latency_s,
        attempts=0,
        cached=True,
    )


REPLY_COLUMNS = (
    "call_id, key, reply_text, finish, coalesce(reply_model, model), latency_s, cost_usd, "
    "input_tokens, cached_tokens, cache_write_tokens, output_tokens"
)


def reply_of_row(row: Row) -> Reply:
    """A reply from ``REPLY_COLUMNS``."""
    _, _, text, finish, model, latency, cost, *tokens = row
    usage = None if tokens[0] is None else Usage(*tokens)
    return Reply(text, finish or "other", model, usage, cost, latency, 0, True)
