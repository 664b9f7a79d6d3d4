"""Redacts an item's texts in data shared by replicas of the service: results of jobs and kept answers."""

import orjson

from metajudge.store.redaction import FORGOTTEN, redact_assessment
from metajudge.store.sql import Connection


def redact_service(connection: Connection, item_id: str) -> None:
    """Redacts the results about an item, and drops the answers under idempotency keys that contain some.

    A repeated request is then answered from the redacted assessment.
    """
    rows = connection.execute(
        "SELECT job_id, item, payload FROM service_results JOIN service_jobs USING (job_id) "
        "WHERE request::json->>'kind' IS NULL "
        "AND judgment_id IN (SELECT judgment_id FROM judgments WHERE item_id = $1)",
        [item_id],
    ).fetchall()
    for job_id, item, payload in rows:
        connection.execute(
            "UPDATE service_results SET payload = $3 WHERE job_id = $1 AND item = $2",
            [job_id, item, redact_assessment(bytes(payload).decode()).encode()],
        )
    connection.execute(  # of clashes and cases nothing but the text remains to be kept
        "UPDATE service_results r SET payload = $2 FROM service_jobs j "
        "WHERE j.job_id = r.job_id AND j.request::json->>'kind' IS NOT NULL AND r.judgment_id = $1",
        [item_id, orjson.dumps(FORGOTTEN)],
    )
    for name in (b'"item_id":', b'"case_id":', b'"item":{"id":'):
        connection.execute(
            "DELETE FROM service_answers WHERE position($1::BYTEA IN body) > 0", [name + orjson.dumps(item_id)]
        )
