"""Figures over a whole store, computed by the database. SQL for both databases.

Assessments are counted once for each judgment and panel, by their current version (:mod:`metajudge.store.versions`),
over the whole period. Figures over verdicts and labels: :mod:`metajudge.store.labelled`. Attempts and their cost are
all counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from metajudge.store.counts import COUNT, DAY, DAY_S, counted, versions_of_runs
from metajudge.store.sql import Connection
from metajudge.store.versions import CURRENT, newest_among, versions


@dataclass(frozen=True, slots=True)
class PanelCount:
    """A panel and its assessments in the period."""

    panel_digest: str
    strategy: str
    n: int


@dataclass(frozen=True, slots=True)
class DayCount:
    """Assessments of one day; ``day`` counts from 1970-01-01, UTC; ``kind`` is an outcome or a policy's action."""

    day: int
    kind: str
    n: int


@dataclass(frozen=True, slots=True)
class JudgeCount:
    """Outcomes of a judge's judgments over the whole period."""

    judge: str
    n: int
    kept: int
    not_kept: int
    undecided: int


@dataclass(frozen=True, slots=True)
class Spending:
    """One model's attempts on one day; ``unpriced`` have no cost."""

    day: int
    model: str
    attempts: int
    failed: int
    cost_usd: float
    unpriced: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Failed attempts, or agents without an answer, by kind."""

    kind: str
    attempts: int
    agents: int


def panels(connection: Connection, since: float) -> list[PanelCount]:
    """The panels active since then, the most frequent first."""
    rows = connection.execute(
        f"SELECT panel_digest, min(strategy), {COUNT} AS often FROM {counted(connection)} "  # noqa: S608 - our own text
        "GROUP BY panel_digest HAVING sum(n) > 0 ORDER BY often DESC, panel_digest LIMIT 50",
        [since],
    ).fetchall()
    return [PanelCount(*row) for row in rows]


def outcomes_by_day(connection: Connection, since: float) -> list[DayCount]:
    """Assessments by day and outcome: ``kept``, ``not_kept``, ``asked``, ``unscored``, ``no_verdict``, ``failed``."""
    rows = connection.execute(
        f"SELECT day, {_OUTCOME} AS kind, {COUNT} FROM {counted(connection)} "  # noqa: S608
        "GROUP BY 1, 2 HAVING sum(n) > 0 ORDER BY 1, 2",
        [since],
    ).fetchall()
    silent = connection.execute(
        _silent(DAY.replace("created_at", "l.created_at"), "l.created_at >= $1"), [since]
    ).fetchall()
    return [DayCount(*row) for row in _apart(rows, silent)]


def actions_by_day(connection: Connection, since: float, panel: str) -> list[DayCount]:
    """Policy decisions on one panel's assessments, by day and action."""
    rows = connection.execute(
        f"SELECT day, action AS kind, {COUNT} FROM {counted(connection)} "  # noqa: S608
        "WHERE panel_digest = $2 AND action IS NOT NULL GROUP BY 1, 2 HAVING sum(n) > 0 ORDER BY 1, 2",
        [since, panel],
    ).fetchall()
    return [DayCount(*row) for row in rows]


_OUTCOME: Final = (
    "CASE WHEN status <> 'assessed' THEN status WHEN accepted THEN 'kept' WHEN NOT accepted THEN 'not_kept' "
    "ELSE 'asked' END"
)
_NO_VERDICT: Final = """strpos(payload, '"failure":{"kind":"no_verdict"') > 0"""
"""Of a failed version; quotation marks within texts are escaped."""


def _silent(group: str, condition: str) -> str:
    """A query for current versions that count as failed and have no verdict, by a column."""
    return (
        f"SELECT {group}, count(*) FROM {CURRENT} l JOIN assessments a ON a.assessment_id = l.assessment_id "  # noqa: S608
        f"WHERE l.status = 'failed' AND {_NO_VERDICT} AND {condition} GROUP BY 1"
    )


def _apart(rows: Sequence[Any], silent: Sequence[Any]) -> list[Any]:
    """Rows of (group, outcome, n) in which those without a verdict are no longer among the failed."""
    without = dict(silent)
    rest = [(one, kind, n - without.get(one, 0) if kind == "failed" else n) for one, kind, n in rows]
    return sorted([row for row in rest if row[2]] + [(one, "no_verdict", n) for one, n in silent])


def judges(connection: Connection, since: float) -> list[JudgeCount]:
    """Judges by how many of their judgments were vetted since then."""
    kept, not_kept, undecided = (
        COUNT.replace("sum(n)", f"sum(n) FILTER (WHERE {one})")
        for one in ("accepted", "NOT accepted", "accepted IS NULL")
    )
    rows = connection.execute(
        f"SELECT judge, {COUNT} AS often, {kept}, {not_kept}, {undecided} FROM {counted(connection)} "  # noqa: S608
        "GROUP BY judge HAVING sum(n) > 0 ORDER BY often DESC, judge LIMIT 100",
        [since],
    ).fetchall()
    return [JudgeCount(*row) for row in rows]


def spending(connection: Connection, since: float) -> list[Spending]:
    """Attempts, cost and tokens by day and model."""
    rows = connection.execute(
        f"SELECT CAST(floor(started_at / {DAY_S}) AS INTEGER) AS day, model, count(*), "  # noqa: S608
        "count(*) FILTER (WHERE status <> 'ok'), coalesce(sum(cost_usd), 0), "
        "count(*) FILTER (WHERE cost_usd IS NULL AND status = 'ok'), coalesce(sum(input_tokens), 0), "
        "coalesce(sum(output_tokens), 0) FROM calls WHERE started_at >= $1 GROUP BY 1, 2 ORDER BY 1, 2",
        [since],
    ).fetchall()
    return [
        Spending(day, model, n, failed, float(cost), unpriced, int(read), int(written))
        for day, model, n, failed, cost, unpriced, read, written in rows
    ]


def failures(connection: Connection, since: float) -> list[FailureCount]:
    """Failures by kind: of single attempts, and of agents after all attempts."""
    rows = connection.execute(
        f"""
        SELECT kind, CAST(sum(attempts) AS BIGINT), CAST(sum(agents) AS BIGINT) FROM (
            SELECT failure_kind AS kind, count(*) AS attempts, 0 AS agents FROM calls
            WHERE failure_kind IS NOT NULL AND started_at >= $1 GROUP BY failure_kind
            UNION ALL
            SELECT failure_kind, 0, count(*) FROM agent_scores
            WHERE failure_kind IS NOT NULL AND stage IN ('agent', 'summariser')
                AND assessment_id IN (SELECT assessment_id FROM {CURRENT} WHERE created_at >= $1)
            GROUP BY failure_kind
        ) counted GROUP BY kind ORDER BY 3 DESC, 2 DESC, kind
        """,  # noqa: S608 - our own text
        [since],
    ).fetchall()
    return [FailureCount(kind, attempts, agents) for kind, attempts, agents in rows]


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Counts of one run's own records.

    Attributes:
        outcomes: ``kept``, ``not_kept``, ``asked``, ``unscored``, ``no_verdict`` or ``failed`` -> judgments, each
            once for a panel, by the newest version that the run kept.
        attempts: HTTP requests; ``failures``, the failed ones by kind; ``unpriced`` have no cost.
    """

    run_id: str
    outcomes: Mapping[str, int]
    attempts: int
    failures: Mapping[str, int]
    cost_usd: float
    unpriced: int

    @property
    def assessments(self) -> int:
        return sum(self.outcomes.values())


def run_totals(connection: Connection, run_ids: Sequence[str]) -> dict[str, RunTotals]:
    """Counts of some runs, by their ids."""
    outcomes: dict[str, dict[str, int]] = {one: {} for one in run_ids}
    sent: dict[str, tuple[int, float, int]] = {}
    kinds: dict[str, dict[str, int]] = {one: {} for one in run_ids}
    for run_id, kind, n in _run_outcomes(connection, run_ids):
        outcomes[run_id][kind] = n
    for run_id, failed, n, cost, unpriced in connection.execute(
        "SELECT run_id, failure_kind, count(*), coalesce(sum(cost_usd), 0), "
        "count(*) FILTER (WHERE cost_usd IS NULL AND status = 'ok') "
        "FROM calls WHERE run_id IN (SELECT unnest($1::VARCHAR[])) GROUP BY 1, 2 ORDER BY 1, 2",
        [list(run_ids)],
    ).fetchall():
        before = sent.get(run_id, (0, 0.0, 0))
        sent[run_id] = (before[0] + n, before[1] + float(cost), before[2] + unpriced)
        if failed is not None:
            kinds[run_id][failed] = n
    return {
        one: RunTotals(one, outcomes[one], attempts, kinds[one], cost, unpriced)
        for one in run_ids
        for attempts, cost, unpriced in [sent.get(one, (0, 0.0, 0))]
    }


def _run_outcomes(connection: Connection, run_ids: Sequence[str]) -> list[Any]:
    """(run, outcome, judgments); each judgment once for a panel, by the newest version that the run kept.

    Where a run's versions are all current, the current ones are counted; else its versions are compared.
    """
    of_runs = "run_id IN (SELECT unnest($1::VARCHAR[]))"
    touched = versions_of_runs(connection, run_ids)
    current = connection.execute(
        f"SELECT run_id, {_OUTCOME}, {COUNT} FROM {counted(connection)} "  # noqa: S608 - our own text
        "WHERE run_id IN (SELECT unnest($2::VARCHAR[])) GROUP BY 1, 2 HAVING sum(n) > 0 ORDER BY 1, 2",
        [0.0, list(run_ids)],
    ).fetchall()
    silent = connection.execute(
        _silent("l.run_id", "l.run_id IN (SELECT unnest($1::VARCHAR[]))"), [list(run_ids)]
    ).fetchall()
    current = _apart(current, silent)
    there = dict.fromkeys(run_ids, 0)
    for run_id, _, n in current:
        there[run_id] += n
    partly = [run_id for run_id, n in touched.items() if n != there[run_id]]
    if not partly:
        return current
    compared = connection.execute(
        f"SELECT run_id, CASE WHEN status = 'failed' AND {_NO_VERDICT} THEN 'no_verdict' ELSE {_OUTCOME} END, "  # noqa: S608
        f"count(*) FROM {versions()} kept "
        f"WHERE {newest_among(of_runs, each_run=True)} GROUP BY 1, 2 ORDER BY 1, 2",
        [partly],
    ).fetchall()
    return [*(row for row in current if row[0] not in partly), *compared]
