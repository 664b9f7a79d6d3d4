"""Figures over a whole store.

Assessments are counted once for each judgment and panel, by their current version (:mod:`metajudge.store.versions`),
over the whole period. Figures over verdicts and labels: :mod:`metajudge.store.labelled`. Attempts and their cost are
all counted.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from metajudge.store.sql import Connection, pages
from metajudge.store.versions import CURRENT, newest_of_its_run, versions

DAY_S: Final = 86_400
_DAY: Final = f"CAST(floor(created_at / {DAY_S}) AS INTEGER)"
_OUTCOME: Final = (
    "CASE WHEN status <> 'assessed' THEN status WHEN accepted THEN 'kept' WHEN NOT accepted THEN 'not_kept' "
    "ELSE 'asked' END"
)
_NO_VERDICT: Final = '"failure":{"kind":"no_verdict"'
"""Stands in the text of a failed assessment; quotation marks within texts are escaped."""


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
    query = f"""SELECT panel_digest, min(strategy), count(*) AS often FROM {CURRENT} WHERE created_at >= $1
        GROUP BY panel_digest ORDER BY often DESC, panel_digest LIMIT 50"""  # noqa: S608
    return [PanelCount(*row) for row in connection.rows(query, [since])]


def outcomes_by_day(connection: Connection, since: float) -> list[DayCount]:
    """Assessments by day and outcome: ``kept``, ``not_kept``, ``asked``, ``unscored``, ``no_verdict``, ``failed``."""
    found = _outcomes(connection, _DAY, CURRENT, "created_at >= $1", since).items()
    return [DayCount(day, kind, n) for (day, kind), n in sorted(found)]


def actions_by_day(connection: Connection, since: float, panel: str) -> list[DayCount]:
    """Policy decisions on one panel's assessments, by day and action."""
    query = f"""SELECT {_DAY}, action, count(*) FROM {CURRENT}
        WHERE created_at >= $1 AND panel_digest = $2 AND action IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"""  # noqa: S608
    return [DayCount(*row) for row in connection.rows(query, [since, panel])]


def _outcomes(connection: Connection, group: str, lines: str, condition: str, value: Any) -> Counter[tuple[Any, str]]:
    """(group, outcome) -> versions that fit. Those without a verdict count as failed, and only their texts say so."""
    which = f"FROM {lines} kept WHERE {condition}"
    rows = connection.rows(f"SELECT {group}, {_OUTCOME}, count(*) {which} GROUP BY 1, 2", [value])
    found = Counter({(one, kind): n for one, kind, n in rows})
    query = "SELECT assessment_id, payload FROM assessments WHERE assessment_id = ANY($1::BIGINT[])"
    for page in pages(connection.rows(f"SELECT assessment_id, {group} {which} AND status = 'failed'", [value])):
        texts = connection.pairs(query, [[number for number, _ in page]])
        for number, one in page:
            if _NO_VERDICT in texts[number]:
                found[one, "failed"] -= 1
                found[one, "no_verdict"] += 1
    return +found


def judges(connection: Connection, since: float) -> list[JudgeCount]:
    """Judges by how many of their judgments were vetted since then."""
    query = f"""SELECT judge, count(*) AS often, count(*) FILTER (WHERE accepted), count(*) FILTER (WHERE NOT accepted),
        count(*) FILTER (WHERE accepted IS NULL) FROM {CURRENT} WHERE created_at >= $1
        GROUP BY judge ORDER BY often DESC, judge LIMIT 100"""  # noqa: S608
    return [JudgeCount(*row) for row in connection.rows(query, [since])]


def spending(connection: Connection, since: float) -> list[Spending]:
    """Attempts, cost and tokens by day and model."""
    rows = connection.rows(
        f"""SELECT CAST(floor(started_at / {DAY_S}) AS INTEGER) AS day, model, count(*),
            count(*) FILTER (WHERE status <> 'ok'), coalesce(sum(cost_usd), 0),
            count(*) FILTER (WHERE cost_usd IS NULL AND status = 'ok'), coalesce(sum(input_tokens), 0),
            coalesce(sum(output_tokens), 0) FROM calls WHERE started_at >= $1 GROUP BY 1, 2 ORDER BY 1, 2""",  # noqa: S608
        [since],
    )
    return [
        Spending(day, model, n, failed, float(cost), unpriced, int(read), int(written))
        for day, model, n, failed, cost, unpriced, read, written in rows
    ]


def failures(connection: Connection, since: float) -> list[FailureCount]:
    """Failures by kind: of single attempts, and of agents after all attempts."""
    query = f"""SELECT kind, CAST(sum(attempts) AS BIGINT), CAST(sum(agents) AS BIGINT) FROM (
            SELECT failure_kind AS kind, count(*) AS attempts, 0 AS agents FROM calls
            WHERE failure_kind IS NOT NULL AND started_at >= $1 GROUP BY failure_kind
            UNION ALL
            SELECT failure_kind, 0, count(*) FROM agent_scores
            WHERE failure_kind IS NOT NULL AND stage IN ('agent', 'summariser')
                AND assessment_id IN (SELECT assessment_id FROM {CURRENT} WHERE created_at >= $1)
            GROUP BY failure_kind
        ) counted GROUP BY kind ORDER BY 3 DESC, 2 DESC, kind"""  # noqa: S608
    return [FailureCount(kind, attempts, agents) for kind, attempts, agents in connection.rows(query, [since])]


@dataclass(slots=True)
class RunTotals:
    """Counts of one run's own records.

    Attributes:
        outcomes: ``kept``, ``not_kept``, ``asked``, ``unscored``, ``no_verdict`` or ``failed`` -> judgments, each
            once for a panel, by the newest version that the run kept.
        attempts: HTTP requests; ``failures``, the failed ones by kind; ``unpriced`` have no cost.
    """

    run_id: str
    outcomes: dict[str, int] = field(default_factory=dict)
    attempts: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    cost_usd: float = 0.0
    unpriced: int = 0

    @property
    def assessments(self) -> int:
        return sum(self.outcomes.values())


def run_totals(connection: Connection, run_ids: Sequence[str]) -> dict[str, RunTotals]:
    """Counts of some runs, by their ids."""
    found = {one: RunTotals(one) for one in run_ids}
    of_runs = f"run_id IN (SELECT unnest($1::VARCHAR[])) AND {newest_of_its_run('kept')}"
    for (run_id, kind), n in sorted(_outcomes(connection, "run_id", versions(), of_runs, list(run_ids)).items()):
        found[run_id].outcomes[kind] = n
    query = """SELECT run_id, failure_kind, count(*), coalesce(sum(cost_usd), 0),
        count(*) FILTER (WHERE cost_usd IS NULL AND status = 'ok')
        FROM calls WHERE run_id IN (SELECT unnest($1::VARCHAR[])) GROUP BY 1, 2 ORDER BY 1, 2"""
    for run_id, failed, n, cost, unpriced in connection.rows(query, [list(run_ids)]):
        one = found[run_id]
        one.attempts += n
        one.cost_usd += float(cost)
        one.unpriced += unpriced
        if failed is not None:
            one.failures[failed] = n
    return found
