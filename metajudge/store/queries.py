"""Read-only queries."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from metajudge.store.redaction import hide_headers
from metajudge.store.rows import annotated, annotated_data, judgment_data
from metajudge.store.sql import Connection as Cursor
from metajudge.store.sql import pages
from metajudge.store.versions import CURRENT, newest_of_its_run, versions
from metajudge.types import Assessment, Judgment

MAX_SHOWN: Final = 1_000
"""Maximum number of assessments and of calls that :func:`show` returns; the newest are shown."""

_RUNS: Final = """
    SELECT r.run_id, r.command, r.started_at, coalesce(e.status, 'running'), r.config, e.occurred_at, e.summary
    FROM runs r LEFT JOIN (
        SELECT run_id, max(event_id) AS last FROM run_events GROUP BY run_id
    ) newest ON newest.run_id = r.run_id LEFT JOIN run_events e ON e.event_id = newest.last
"""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One invocation of a command over many records.

    Attributes:
        status: ``running``, ``finished``, ``interrupted``, ``budget`` (stopped at its budget) or ``failed``;
            a run whose process was killed stays ``running`` until the next one on this store opens it.
        config: the settings of the run, as plain data without secrets.
        summary: counts at the end (or so far).
    """

    run_id: str
    command: str
    started_at: float
    status: str
    config: Mapping[str, Any]
    finished_at: float | None = None
    summary: Mapping[str, Any] | None = None


def newest_assessments(cursor: Cursor, after: int = 0, limit: int = 1000) -> list[tuple[int, Assessment]]:
    """A page of the current assessment of each judgment by each panel, with its newest annotation, oldest first.

    Each comes with the number of its version (see :mod:`metajudge.store.versions`).

    Args:
        after: the last number of the page before; 0 for the first page.
    """
    return assessments_at(
        cursor,
        cursor.column(f"SELECT number FROM {CURRENT} WHERE number > $1 ORDER BY number LIMIT $2", [after, limit]),  # noqa: S608
    )


def assessments_at(cursor: Cursor, numbers: Sequence[int], text: str = "") -> list[tuple[int, Assessment]]:
    """Versions with this text in their payloads, by their numbers, ascending; texts are read by these alone."""
    rows = cursor.rows(
        f"SELECT number, payload, annotation FROM {versions()} found WHERE number = ANY($1::BIGINT[]) ORDER BY number",  # noqa: S608
        [list(numbers)],
    )
    return [(number, annotated(*texts)) for number, *texts in rows if text in texts[0]]


def run_assessments(cursor: Cursor, run_id: str, after: int = 0, limit: int = 1000) -> list[tuple[int, Assessment]]:
    """A page of a run's own newest version of each judgment and panel, paged like :func:`newest_assessments`."""
    query = f"""SELECT number FROM {versions()} found WHERE run_id = $1 AND number > $2
        AND {newest_of_its_run("found")} ORDER BY number LIMIT $3"""  # noqa: S608
    return assessments_at(cursor, cursor.column(query, [run_id, after, limit]))


def runs(cursor: Cursor, limit: int = 50) -> list[RunRecord]:
    """Newest first."""
    query = f"{_RUNS} ORDER BY r.started_at DESC, r.rowid DESC LIMIT $1"
    return [_run(row) for row in cursor.rows(query, [limit])]


def run_configs(cursor: Cursor, command: str) -> list[dict[str, Any]]:
    """The settings that the last hundred runs of a command recorded, newest first."""
    query = "SELECT config FROM runs WHERE command = $1 ORDER BY started_at DESC LIMIT 100"
    return [orjson.loads(config) for (config,) in cursor.execute(query, [command]).fetchall()]


def _run(row: Sequence[Any]) -> RunRecord:
    run_id, command, started_at, status, config, at, summary = row
    return RunRecord(
        run_id=run_id,
        command=command,
        started_at=started_at,
        status=status,
        config=hide_headers(orjson.loads(config)),  # earlier versions kept the values
        finished_at=at,
        summary=None if summary is None else orjson.loads(summary),
    )


_KEPT: Final = (
    "SELECT j.judgment_digest, j.payload, j.item_id, i.payload FROM judgments j JOIN items i USING (item_digest) "
    "WHERE NOT j.redacted AND NOT i.redacted"
)
_SUBJECT: Final = f"SELECT number, assessment_id, judgment_digest, panel_digest FROM {versions()} found WHERE"  # noqa: S608
_VERSIONS_OF: Final = f"""
    SELECT number, assessment_id,
        row_number() OVER (PARTITION BY judgment_digest, panel_digest ORDER BY assessment_id DESC, number DESC)
    FROM ({_SUBJECT} judgment_digest = ANY($2::VARCHAR[]) UNION {_SUBJECT} item_id = $1 UNION {_SUBJECT} run_id = $1
    ) named ORDER BY number
"""  # noqa: S608
_CALLS_OF: Final = """
    SELECT call_id FROM calls WHERE run_id = $1 UNION SELECT call_id FROM calls WHERE key IN (
        SELECT unnest($2::VARCHAR[])) UNION SELECT call_id FROM calls WHERE key IN (
        SELECT request_key FROM agent_scores WHERE assessment_id = ANY($3::BIGINT[])) ORDER BY call_id
"""


def show(cursor: Cursor, name: str) -> dict[str, Any] | None:
    """Everything stored under the name of a judgment, item, run, case, review, proposal or policy.

    Returns:
        ``name``; ``runs``, ``judgments`` (with their items), ``assessments``, ``history``, ``calls`` and ``reviews``
        (with their decisions) as lists of plain data, oldest first. ``assessments`` has one version for each judgment
        and panel, the current one (under a run's id, the newest of that run), and ``history`` the others: the
        panel's own assessment, and earlier annotations. ``audit_log``: the records about a case (its numbers,
        webhook deliveries), a proposal (backtests, activation) or a policy (versions, activations, snapshots);
        ``policies``: the contents of those that decided, by digest; ``calibrations``: identity, provenance and
        guarantees of those behind probabilities (in full under the digest's own name);
        ``assessments_total``, ``history_total`` and ``calls_total``, as the lists hold the newest ``MAX_SHOWN``. None
        if nothing has that name.
    """
    judgments = _judgments(cursor, name)
    audit_log = _audit_log(cursor, name)
    requests = [key for one in audit_log for key in _requests(one["payload"])]
    run = cursor.rows(f"{_RUNS} WHERE r.run_id = $1", [name])
    named = cursor.rows(_VERSIONS_OF, [name, [one["judgment_digest"] for one in judgments]])
    current, history = ([number for number, _, place in named if (place == 1) == newest] for newest in (True, False))
    calls = cursor.rows(_CALLS_OF, [name, requests, list({assessment for _, assessment, _ in named})])
    found: dict[str, Any] = {
        "runs": [_run_data(_run(row)) for row in run],
        "judgments": judgments,
        "assessments": _assessments(cursor, current),
        "history": _assessments(cursor, history),
        "calls": _newest(cursor, "calls", "call_id", [number for (number,) in calls]),
        "reviews": _reviews(cursor, name),
        "audit_log": audit_log,
    }
    vetted = [one["payload"] for one in (*found["assessments"], *found["history"])]
    decided = [*vetted, *(one["payload"] for one in audit_log)]
    found["policies"] = _policies(cursor, [one.get("decision") for one in decided])
    found["calibrations"] = _calibrations(cursor, {one.get("calibration") for one in vetted})
    if not any(found.values()):
        return None
    totals = {"assessments_total": len(current), "history_total": len(history), "calls_total": len(calls)}
    return {"name": name, **found, **totals}


def _judgments(cursor: Cursor, name: str) -> list[dict[str, Any]]:
    found = cursor.rows(
        """SELECT j.judgment_digest, j.item_id, j.redacted, j.payload, i.payload FROM judgments j JOIN items i
            ON i.item_digest = j.item_digest WHERE j.judgment_id = $1 OR j.item_id = $1 ORDER BY j.rowid""",
        [name],
    )
    return [
        {"judgment_digest": digest, "redacted": redacted, "judgment": judgment_data(payload, item_id, item)}
        for digest, item_id, redacted, payload, item in found
    ]


def find_judgment(cursor: Cursor, judgment_digest: str) -> Judgment | None:
    """A judgment with its item, None if unknown or forgotten."""
    return judgments_of(cursor, [judgment_digest]).get(judgment_digest)


def judgments_of(cursor: Cursor, digests: Sequence[str]) -> dict[str, Judgment]:
    """Those of the judgments with these digests whose texts are kept, by digest."""
    query = f"{_KEPT} AND j.judgment_digest IN (SELECT unnest($1::VARCHAR[]))"
    rows = (row for page in pages(digests) for row in cursor.rows(query, [page]))
    return {digest: Judgment.model_validate(judgment_data(*row)) for digest, *row in rows}


def judgments(cursor: Cursor) -> list[Judgment]:
    """Every judgment with its texts, in the order in which they were first kept."""
    return [Judgment.model_validate(judgment_data(*row)) for _, *row in cursor.rows(f"{_KEPT} ORDER BY j.rowid")]


def _reviews(cursor: Cursor, name: str) -> list[dict[str, Any]]:
    rows = cursor.rows(
        """SELECT review_id, payload FROM reviews WHERE subject_id = $1 OR item_id = $1 OR review_id = $1
            ORDER BY opened_at, review_id""",
        [name],
    )
    said = cursor.rows(
        """SELECT review_id, payload FROM (SELECT review_id, payload, 1 AS place, decision_id AS number
            FROM review_decisions UNION ALL SELECT review_id, payload, 2, event_id FROM review_events
            WHERE kind = 'amend') said WHERE review_id IN (SELECT unnest($1::VARCHAR[])) ORDER BY place, number""",
        [[review_id for review_id, _ in rows]],
    )
    return [
        {**orjson.loads(payload), "decisions": [orjson.loads(one) for about, one in said if about == review_id]}
        for review_id, payload in rows
    ]


def _audit_log(cursor: Cursor, name: str) -> list[dict[str, Any]]:
    """Entries about a name, and those of cases and proposals that name it in their content; oldest first."""
    rows = cursor.rows(
        """SELECT entry_id, kind, subject, recorded_at, payload FROM audit_log WHERE subject = $1
            OR strpos(payload, $2) > 0 OR strpos(payload, $3) > 0 ORDER BY entry_id""",
        [name, *(f'"{key}":{orjson.dumps(name).decode()}' for key in ("case_id", "proposal_id"))],
    )
    return [
        {"entry_id": number, "kind": kind, "subject": subject, "recorded_at": at, "payload": orjson.loads(payload)}
        for number, kind, subject, at, payload in rows
    ]


def _requests(payload: Mapping[str, Any]) -> Iterator[str]:
    """Keys of the calls named in a judged case's record."""
    stages = payload.get("stages")
    for stage in stages.values() if isinstance(stages, dict) else ():
        yield from (key for key in stage["requests"].values() if key is not None)


def case_requests(cursor: Cursor, name: str | None = None) -> list[str]:
    """Keys of the calls that judged one case, or all of them."""
    query = "SELECT payload FROM audit_log WHERE kind = 'case' AND ($1::VARCHAR IS NULL OR subject = $1)"
    return sorted({key for text in cursor.column(query, [name]) for key in _requests(orjson.loads(text))})


def _policies(cursor: Cursor, decisions: Iterable[Mapping[str, Any] | None]) -> dict[str, Any]:
    wanted = {decision["policy_digest"] for decision in decisions if decision is not None}
    if not wanted:
        return {}
    kept = cursor.column("SELECT payload FROM audit_log WHERE kind = 'policy' ORDER BY entry_id")
    known = list(map(orjson.loads, kept))
    return {one["digest"]: one["policy"] for one in known if one["digest"] in wanted}


def _calibrations(cursor: Cursor, digests: Iterable[str | None]) -> dict[str, Any]:
    rows = cursor.rows(
        """SELECT subject, payload FROM audit_log WHERE kind = 'calibration'
            AND subject IN (SELECT unnest($1::VARCHAR[])) ORDER BY entry_id""",
        [sorted(one for one in digests if one is not None)],
    )
    found = {}
    for name, payload in rows:
        whole = orjson.loads(payload)
        provenance = {key: value for key, value in whole["provenance"].items() if key != "questions"}
        found[name] = {"identity": whole["identity"], "provenance": provenance, "guarantees": whole["guarantees"]}
    return found


def _assessments(cursor: Cursor, numbers: Sequence[int]) -> list[dict[str, Any]]:
    rows = _newest(cursor, versions(), "number", numbers)
    for row in rows:
        row["payload"] = annotated_data(row["payload"], row.pop("annotation"))
    return rows


def _newest(cursor: Cursor, table: str, number: str, numbers: Sequence[int]) -> list[dict[str, Any]]:
    query = f"SELECT * FROM {table} entries WHERE {number} = ANY($1::BIGINT[]) ORDER BY {number}"  # noqa: S608
    return cursor.named(query, [list(numbers[-MAX_SHOWN:])])


def _run_data(run: RunRecord) -> Mapping[str, Any]:
    return {name: getattr(run, name) for name in RunRecord.__slots__}
