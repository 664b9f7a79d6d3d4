"""Records as rows of the tables in ``migrations/``; the order of the values is the order of the columns."""

from collections.abc import Container
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson

from metajudge.errors import FailureKind, StoreError
from metajudge.store.annotations import DERIVED, annotated, annotation_of, without_annotation
from metajudge.store.lookups import key_hash
from metajudge.types import AgentResult, Assessment, CallRecord, Item, Judgment, Reply, Usage
from metajudge.types.judgment import BESIDE

Row = tuple[Any, ...]

_CONTENT = set(Item.model_fields) - BESIDE


class Subject(NamedTuple):
    """The judgment and panel of an assessment."""

    judgment_digest: str
    panel_digest: str


@dataclass(frozen=True, slots=True)
class AssessmentWrite:
    """An assessment with its judgment, as rows that lack only a number and a time.

    Attributes:
        assessment: the panel's own; ``payload`` is the same as JSON.
        completed: with its annotation, which ``annotation`` has as JSON; None without an annotation.
        item: row of ``items``, None if this process has already stored it; likewise ``judgment``.
        again: whether there may already be a row under this key. Not in the write-ahead log: for replayed records the
            database is asked.
    """

    key: str
    run_id: str
    assessment: Assessment
    payload: str
    completed: Assessment | None
    annotation: str | None
    item: Row | None
    judgment: Row | None
    again: bool = True

    @property
    def said(self) -> str | None:
        """The annotation, which has no gaps here."""
        return self.annotation

    @property
    def subject(self) -> Subject:
        return Subject(self.assessment.judgment_digest, self.assessment.panel_digest)


def assessment_write(
    key: str,
    judgment: Judgment,
    assessment: Assessment,
    found: Assessment | None,
    run_id: str,
    *,
    stored: Container[str] = (),
    again: bool = True,
) -> AssessmentWrite:
    """The write of an assessment; see :meth:`metajudge.store.protocol.Store.save_assessment`.

    Args:
        stored: digests of items and judgments that this process has stored already.

    Raises:
        StoreError: a text that is not valid Unicode.
    """
    found = without_annotation(assessment) if found is None else found
    try:
        annotation = annotation_of(assessment, found)
        return AssessmentWrite(
            *(key, run_id, found, found.model_dump_json(exclude=DERIVED)),
            *(None if annotation is None else assessment, annotation),
            None if judgment.item.digest in stored else item_row(judgment),
            None if judgment.digest in stored else judgment_row(judgment),
            again,
        )
    except (ValueError, TypeError) as error:
        raise StoreError(f"judgment {judgment.id!r} cannot be stored: {error}. Texts must be valid Unicode") from error


def encode(record: CallRecord | AssessmentWrite) -> bytes:
    """A record as bytes for the write-ahead log."""
    if isinstance(record, CallRecord):
        try:
            return b"c" + orjson.dumps(record)
        except TypeError:  # a lone surrogate, which the database cannot store either
            text, model, failure = map(storable, (record.reply_text, record.reply_model, record.failure_message))
            changed = replace(record, reply_text=text, reply_model=model, failure_message=failure)
            return b"c" + orjson.dumps(changed)
    values = [record.key, record.run_id, record.payload, record.item, record.judgment, record.annotation]
    return b"a" + orjson.dumps(values)


def decode(payload: bytes) -> CallRecord | AssessmentWrite:
    """A record from the write-ahead log."""
    data = orjson.loads(payload[1:])
    if payload[:1] == b"c":
        usage, kind = data.pop("usage"), data.pop("failure_kind")
        data.pop("probabilities", None)  # of tokens, which versions before this one logged
        return CallRecord(
            **data,
            usage=None if usage is None else Usage(**usage),
            failure_kind=None if kind is None else FailureKind(kind),
        )
    key, run_id, text, item, judgment, *rest = data
    if rest:
        found, annotation = annotated(text, None), rest[0]
        completed = None if annotation is None else annotated(text, annotation)
    else:  # an earlier version wrote both as one
        completed = annotated(text, None)
        found = without_annotation(completed)
        annotation = annotation_of(completed, found)
        text = found.model_dump_json(exclude=DERIVED)
        completed = None if annotation is None else completed
    rows = (item and tuple(item), judgment and tuple(judgment))
    return AssessmentWrite(key, run_id, found, text, completed, annotation, *rows)


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
        *(number, key_hash(write.key), write.key, write.run_id, created_at),
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


def call_row(number: int, call: CallRecord) -> Row:
    u = call.usage
    tokens = (None,) * 4 if u is None else (u.input_tokens, u.cached_tokens, u.cache_write_tokens, u.output_tokens)
    return (
        *(number, key_hash(call.key), call.key, call.run_id, call.endpoint, call.model, call.draw, call.attempt),
        *(call.status, call.started_at, call.latency_s, storable(call.reply_text), storable(call.reply_model)),
        *(call.finish, *tokens, call.cost_usd),
        *(None if call.failure_kind is None else call.failure_kind.value, storable(call.failure_message)),
        *(call.http_status, False, None),  # the last for token probabilities, which earlier versions stored
    )


def has_reply(call: CallRecord) -> bool:
    """Whether a recorded call leaves a reply in the cache."""
    return call.status == "ok" and call.reply_text is not None


def reply_of_call(call: CallRecord) -> Reply | None:
    """The reply a recorded call leaves in the cache, None for a failed one."""
    if not has_reply(call) or call.reply_text is None:
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


def storable(text: str | None) -> str | None:
    """The text with lone surrogates, which UTF-8 and so the database cannot store, replaced by ``?``."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "replace").decode("utf-8")
