"""Response pairs: all kept verdicts on two responses, reconciled into one preference or dropped."""

from dataclasses import dataclass
from typing import Final

import duckdb

from metajudge.preferences.graded import (
    RULES,
    by_side,
    grade_votes,
    kept_by_kind,
    pass_rows,
    take_grades,
    ungraded_alone,
)
from metajudge.preferences.request import ExportRequest, Format, Reconcile
from metajudge.preferences.workspace import FunnelStep, only


@dataclass(frozen=True, slots=True)
class _Columns:
    """What differs between votes by comparison and votes by grades, as SQL over ``votes``."""

    margin: str
    judgments: str
    grades: tuple[str, str]
    strength: str


_COMPARED: Final = _Columns(
    margin="avg(support * side)",
    judgments="list(judgment_id ORDER BY judgment_id) FILTER (support * side > 0)",
    grades=("NULL::DOUBLE", "NULL::DOUBLE"),
    strength="avg(support * side) FILTER (support * side > 0)",
)
_GRADED: Final = _Columns(
    margin="avg(margin * side)",
    judgments="list_sort(list_distinct(flatten(list(ids) FILTER (support * side > 0))))",
    grades=(
        "avg(CASE WHEN side > 0 THEN low_grade ELSE high_grade END)",
        "avg(CASE WHEN side > 0 THEN high_grade ELSE low_grade END)",
    ),
    strength="NULL::DOUBLE",
)


def pair_responses(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> tuple[list[FunnelStep], bool]:
    """Fills ``entries`` from ``selected``.

    From comparisons (pairwise verdicts and rankings) the margin is the mean signed strength (2 for much better, 1 for
    better) of the kept verdicts towards the chosen response, in (0, 2]; ``strength`` is the mean over those that name
    it alone. From grades the margin is the mean difference of the two grades, and there is no strength. ``probability``
    and ``score`` are the lowest among the verdicts for the chosen one (a verdict that a person corrected has none).
    ``kept_by`` says what kept them.

    Returns:
        The steps, and whether the rows are from grades: as asked, or because no kept verdict compares responses.
    """
    rule, kto = request.reconcile, request.format is Format.KTO
    if not _from_grades(work, request):
        steps = [_votes(work), _reconciled(work, rule, _COMPARED)]
        return ([*steps, _unpaired(work)] if kto else steps), False
    steps = [take_grades(work, request)]
    if by_side(work, request):
        return [*steps, pass_rows(work, rule)], True
    grade_votes(work)
    (graded,) = only(work, "SELECT count(*) FROM graded")
    alone = ungraded_alone(work)
    steps.append(FunnelStep("questions", "judgments", graded, graded - alone, {"only_graded_response": alone}))
    steps.append(_reconciled(work, rule, _GRADED))
    return ([*steps, _unpaired(work)] if kto else steps), True


def _from_grades(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> bool:
    _, _, compared, single = kept_by_kind(work)
    return request.from_grades or (single > 0 and not compared)


def _votes(work: duckdb.DuckDBPyConnection) -> FunnelStep:
    columns = "j.judgment_id, j.item_id, j.judge, a.probability, a.score, a.agents, a.kept_by, a.by_rule"
    work.execute(f"""
        CREATE OR REPLACE TABLE votes AS
        WITH verdicts AS (
            SELECT {columns}, j.verdict, named(j.verdict) AS v FROM selected a JOIN judgments j USING (judgment_id)
            WHERE a.kept AND j.verdict IS NOT NULL
        ), places AS (
            SELECT * EXCLUDE (groups), unnest(groups) AS members, generate_subscripts(groups, 1) AS place FROM (
                SELECT * EXCLUDE (verdict, v), ranked(verdict) AS groups FROM verdicts WHERE verdict LIKE '[%')
        ), placed AS (SELECT * EXCLUDE (members), unnest(members) AS name FROM places)
        SELECT * EXCLUDE (verdict, v), least(v.first, v.second) AS low, greatest(v.first, v.second) AS high,
            (CASE v.sign WHEN '=' THEN 0 WHEN '>' THEN 1 ELSE 2 END)
                * (CASE WHEN v.first < v.second THEN 1 ELSE -1 END) AS support
        FROM verdicts WHERE v.sign <> ''
        UNION ALL
        SELECT x.* EXCLUDE (place, name), x.name, y.name, sign(y.place - x.place)::INTEGER
        FROM placed x JOIN placed y ON x.judgment_id = y.judgment_id AND x.name < y.name""")
    kept, absent, usable, single = kept_by_kind(work)
    return FunnelStep("verdicts", "judgments", kept, usable, {"no_verdict": absent, "single_response": single})


def _reconciled(work: duckdb.DuckDBPyConnection, rule: Reconcile, columns: _Columns) -> FunnelStep:
    work.execute("""
        CREATE OR REPLACE TABLE tallies AS
        WITH by_judge AS (
            SELECT item_id, low, high, judge, count(*) AS n, count(*) FILTER (support > 0) AS n_for,
                count(*) FILTER (support < 0) AS n_against, sum(sign(support)) AS net
            FROM votes GROUP BY ALL
        )
        SELECT item_id, low, high, sum(n) AS n, sum(n_for) AS n_for, sum(n_against) AS n_against,
            count(*) AS judges, count(*) FILTER (net > 0) AS judges_for, count(*) FILTER (net < 0) AS judges_against,
            count(*) FILTER (n_for > 0 AND n_against > 0) AS torn
        FROM by_judge GROUP BY ALL""")
    work.execute(f"""
        CREATE OR REPLACE TABLE entries AS
        WITH decided AS (
            SELECT item_id, low, high, n, CASE WHEN judges_for > judges_against OR (judges_for = judges_against
                AND n_for > n_against) THEN 1 ELSE -1 END AS side
            FROM tallies WHERE {RULES[rule]}
        ), gathered AS (
            SELECT item_id, low, high, any_value(side) AS side, any_value(n)::INTEGER AS votes,
                {columns.margin} AS margin, {columns.strength} AS strength,
                {columns.grades[0]} AS chosen_grade, {columns.grades[1]} AS rejected_grade,
                min(probability) FILTER (support * side > 0) AS probability,
                min(score) FILTER (support * side > 0) AS score,
                list(DISTINCT judge ORDER BY judge) FILTER (support * side > 0) AS judges,
                {columns.judgments} AS judgments,
                list(DISTINCT agents ORDER BY agents) FILTER (support * side > 0) AS agents,
                list(DISTINCT kept_by ORDER BY kept_by) FILTER (support * side > 0) AS kept_by,
                bool_and(by_rule) FILTER (support * side > 0) AS by_rule
            FROM votes JOIN decided USING (item_id, low, high) GROUP BY item_id, low, high
        )
        SELECT md5('responses' || chr(31) || item_id || chr(31) || low || chr(31) || high)[:16] AS entry_id,
            i.item_no, CASE WHEN side > 0 THEN low ELSE high END AS chosen_ref,
            CASE WHEN side > 0 THEN high ELSE low END AS rejected_ref, NULL::BOOLEAN AS label,
            margin, strength, probability, score, NULL::DOUBLE AS rejected_probability,
            NULL::DOUBLE AS rejected_score, array_to_string(judges, ', ') AS judge, judgments,
            array_to_string(agents, '; ') AS agents, array_to_string(kept_by, ', ') AS kept_by, by_rule, votes,
            chosen_grade, rejected_grade
        FROM gathered JOIN items i USING (item_id) WHERE margin > 0""")
    before, after, ties, torn = only(
        work,
        """SELECT count(*), (SELECT count(*) FROM entries), count(*) FILTER (n_for = 0 AND n_against = 0),
            count(*) FILTER (torn > 0 AND
                md5('responses' || chr(31) || item_id || chr(31) || low || chr(31) || high)[:16]
                NOT IN (SELECT entry_id FROM entries)) FROM tallies""",
    )
    dropped = {"tie": ties, "order_conflict": torn, "judge_conflict": before - after - ties - torn}
    return FunnelStep("reconciliation", "pairs of responses", before, after, dropped)


def _unpaired(work: duckdb.DuckDBPyConnection) -> FunnelStep:
    """Each response once, desired or not; one that won here and lost there is dropped."""
    (pairs,) = only(work, "SELECT count(*) FROM entries")
    work.execute("""
        CREATE OR REPLACE TABLE entries AS
        WITH sides AS (
            SELECT item_no, chosen_ref AS name, true AS label, * EXCLUDE (item_no, label) FROM entries
            UNION ALL SELECT item_no, rejected_ref, false, * EXCLUDE (item_no, label) FROM entries
        )
        SELECT md5('response' || chr(31) || item_no || chr(31) || name)[:16] AS entry_id, item_no, name AS chosen_ref,
            NULL::VARCHAR AS rejected_ref, any_value(label) AS label, min(margin) AS margin,
            min(strength) AS strength, min(probability) AS probability, min(score) AS score,
            NULL::DOUBLE AS rejected_probability, NULL::DOUBLE AS rejected_score,
            array_to_string(list(DISTINCT judge ORDER BY judge), ', ') AS judge,
            list_sort(list_distinct(flatten(list(judgments)))) AS judgments,
            array_to_string(list(DISTINCT agents ORDER BY agents), '; ') AS agents,
            array_to_string(list_sort(list_distinct(flatten(list(string_split(kept_by, ', '))))), ', ') AS kept_by,
            bool_and(by_rule) AS by_rule, sum(votes)::INTEGER AS votes, NULL::DOUBLE AS chosen_grade,
            NULL::DOUBLE AS rejected_grade, count(DISTINCT label) AS sides
        FROM sides GROUP BY item_no, name""")
    before, mixed = only(work, "SELECT count(*), count(*) FILTER (sides > 1) FROM entries")
    work.execute("DELETE FROM entries WHERE sides > 1")
    work.execute("ALTER TABLE entries DROP sides")
    return FunnelStep(f"unpaired (from {pairs} pairs)", "responses", before, before - mixed, {"won_and_lost": mixed})
