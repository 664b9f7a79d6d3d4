"""Redacts an item's texts in the tables."""

from collections.abc import Callable
from typing import Final

import orjson

from metajudge.store.queries import case_requests
from metajudge.store.redaction import (
    FORGOTTEN,
    redact_annotation,
    redact_assessment,
    redact_decision,
    redact_draft,
    redact_event,
    redact_item,
    redact_judgment,
    redact_review,
)
from metajudge.store.sql import Connection

_DIGESTS: Final = """
    SELECT item_digest FROM judgments WHERE item_id = $1 UNION SELECT item_digest FROM items WHERE item_id = $1
"""
_JUDGED: Final = f"SELECT judgment_digest FROM judgments WHERE item_digest IN ({_DIGESTS}) OR item_id = $1"  # noqa: S608
_ASSESSED: Final = f"item_id = $1 OR judgment_digest IN ({_JUDGED})"
_ANNOTATED: Final = f"assessment_id IN (SELECT assessment_id FROM assessments WHERE {_ASSESSED})"  # noqa: S608
_REVIEWED: Final = "review_id IN (SELECT review_id FROM reviews WHERE item_id = $1)"
_LINKED: Final = f"""
    SELECT request_key FROM agent_scores JOIN assessments USING (assessment_id)
    WHERE ({_ASSESSED}) AND request_key IS NOT NULL
"""  # noqa: S608
_UNLINKED: Final = "SELECT request_key FROM agent_scores WHERE request_key IS NOT NULL"


def known(connection: Connection, item_id: str) -> bool:
    """Whether anything is kept about an item."""
    (count,) = connection.row(
        f"""SELECT (SELECT count(*) FROM ({_JUDGED}) AS judged) + (SELECT count(*) FROM assessments WHERE
        {_ASSESSED}) + (SELECT count(*) FROM reviews WHERE item_id = $1) + (SELECT count(*) FROM audit_log WHERE kind
        = 'case' AND subject = $1)""",  # noqa: S608
        [item_id],
    )
    return bool(count)


_TABLES: Final[tuple[tuple[str, str, str, Callable[[str], str]], ...]] = (
    ("annotations", "annotation_id", _ANNOTATED, redact_annotation),
    ("assessments", "assessment_id", _ASSESSED, redact_assessment),
    ("items", "item_digest", f"item_digest IN ({_DIGESTS})", redact_item),
    ("judgments", "judgment_digest", f"judgment_digest IN ({_JUDGED})", redact_judgment),
    ("reviews", "review_id", "item_id = $1", redact_review),
    ("review_decisions", "decision_id", _REVIEWED, redact_decision),
    ("review_events", "event_id", f"kind IN ('amend', 'comment') AND {_REVIEWED}", redact_event),
)
"""Tables with texts: name, key, which rows are about an item, and what redacts a row."""
_CALLS: Final = f"""
    NOT redacted AND (key IN ({_LINKED}) OR key IN (SELECT unnest($2::VARCHAR[]))
        OR (key NOT IN ({_UNLINKED}) AND key NOT IN (SELECT unnest($3::VARCHAR[]))))
"""


def affected(connection: Connection, item_id: str) -> dict[str, int]:
    """What :func:`redact` would redact: table -> rows; without tables of which no row would be."""
    if not known(connection, item_id):
        return {}
    found = {}
    for table, _, condition, _ in _TABLES:
        (found[table],) = connection.row(
            f"SELECT count(*) FROM {table} WHERE NOT redacted AND ({condition})",  # noqa: S608
            [item_id],
        )
    found["drafts"] = len(_drafts_about(connection, item_id))
    cases = [case_requests(connection, item_id), case_requests(connection)]
    (found["calls"],) = connection.row(f"SELECT count(*) FROM calls WHERE {_CALLS}", [item_id, *cases])  # noqa: S608
    return {table: count for table, count in found.items() if count}


def redact(connection: Connection, item_id: str) -> int:
    """Redacts, in the caller's transaction, all texts about an item; returns the number of redacted rows.

    An item with the same content under another id is the same text and goes with it. A call belongs to the
    item when an assessment, or a case's record, names its key; calls that neither names (a run was killed before the
    assessment was complete, a repair, a later round of a discussion) might quote any item, so their texts are
    dropped too; these calls are then made again when needed.
    """
    _redact_service(connection, item_id)
    count = 0
    for table, key, condition, redacted in _TABLES:
        rows = connection.rows(f"SELECT {key}, payload FROM {table} WHERE NOT redacted AND ({condition})", [item_id])  # noqa: S608
        change = f"UPDATE {table} SET payload = $1, redacted = true WHERE {key} = $2"  # noqa: S608
        for value, payload in rows:
            connection.execute(change, [redacted(payload), value])
        count += len(rows)
    drafts = _drafts_about(connection, item_id)
    for number, payload in drafts:
        connection.execute("UPDATE audit_log SET payload = $1 WHERE entry_id = $2", [redact_draft(payload), number])
    cases = [case_requests(connection, item_id), case_requests(connection)]
    calls = connection.execute(
        f"""UPDATE calls SET redacted = true, token_probabilities = NULL,
                reply_text = CASE WHEN reply_text IS NULL THEN NULL ELSE '{FORGOTTEN}' END,
                failure_message = CASE WHEN failure_message IS NULL THEN NULL ELSE '{FORGOTTEN}' END
            WHERE {_CALLS}""",  # noqa: S608
        [item_id, *cases],
    )
    return count + len(drafts) + calls.rowcount


def _redact_service(connection: Connection, item_id: str) -> None:
    """Redacts the results about an item, and drops the answers under idempotency keys that contain some.

    A repeated request is then answered from the redacted assessment. Of clashes and cases nothing but the text would
    remain to be kept.
    """
    judged = "judgment_id IN (SELECT judgment_id FROM judgments WHERE item_id = $1)"
    for vetted, condition in ((True, judged), (False, "judgment_id = $1")):
        query = f"""SELECT job_id, item, payload, request FROM service_results JOIN service_jobs USING (job_id)
            WHERE {condition}"""  # noqa: S608
        for job_id, item, payload, request in connection.rows(query, [item_id]):
            if vetted == ("kind" not in orjson.loads(request)):
                text = redact_assessment(bytes(payload).decode()).encode() if vetted else orjson.dumps(FORGOTTEN)
                connection.execute(
                    "UPDATE service_results SET payload = $3 WHERE job_id = $1 AND item = $2", [job_id, item, text]
                )
    marks = [name + orjson.dumps(item_id) for name in (b'"item_id":', b'"case_id":', b'"item":{"id":')]
    last = ["", ""]
    query = "SELECT owner, key, body FROM service_answers WHERE (owner, key) > ($1, $2) ORDER BY owner, key LIMIT 100"
    while answers := connection.rows(query, last):
        for owner, key, body in answers:
            last = [owner, key]
            if body is not None and any(mark in bytes(body) for mark in marks):
                connection.execute("DELETE FROM service_answers WHERE owner = $1 AND key = $2", last)


def _drafts_about(connection: Connection, item_id: str) -> list[tuple[int, str]]:
    """Drafted changes whose texts may repeat what reviewers wrote about the item."""
    rows = connection.rows(
        "SELECT entry_id, payload FROM audit_log WHERE kind = 'draft' AND strpos(payload, $1) > 0",
        [orjson.dumps(item_id).decode()],
    )
    return [(number, payload) for number, payload in rows if item_id in orjson.loads(payload).get("quotes", ())]
