"""Response pairs: all kept verdicts on two responses, reconciled into one preference or dropped."""

from dataclasses import dataclass
from typing import Final

import duckdb

from metajudge.exports import graded
from metajudge.exports.request import ExportRequest, Format, Reconcile
from metajudge.exports.workspace import FunnelStep, make_entries, only

RULES: Final = {
    Reconcile.UNANIMOUS: "n_for = n OR n_against = n",
    Reconcile.MAJORITY: "2 * judges_for > judges OR 2 * judges_against > judges",
}
"""When several votes agree; ``n`` counts votes, ``judges`` judges, ties among both."""


@dataclass(frozen=True, slots=True)
class _Votes:
    """What differs between kinds of votes, as SQL over the table ``votes``.

    Attributes:
        margin, strength, grades: of an entry; ``grades`` are the chosen and the rejected one's.
        judgments: ids of the judgments that name the chosen response.
        refs: names of the chosen and the rejected response, and whether the chosen one is desired.
        entry_id: digest of what is compared.
    """

    margin: str
    strength: str = "NULL"
    grades: tuple[str, str] = ("NULL", "NULL")
    judgments: str = "list(judgment_id ORDER BY judgment_id) FILTER (support * side > 0)"
    refs: tuple[str, str, str] = (
        *("CASE WHEN side > 0 THEN low ELSE high END", "CASE WHEN side > 0 THEN high ELSE low END"),
        "NULL",
    )
    entry_id: str = "md5('responses' || chr(31) || item_id || chr(31) || low || chr(31) || high)[:16]"


_COMPARED: Final = _Votes("avg(support * side)", "avg(support * side) FILTER (support * side > 0)")
_GRADED: Final = _Votes(
    margin="avg(margin * side)",
    grades=(
        "avg(CASE WHEN side > 0 THEN low_grade ELSE high_grade END)",
        "avg(CASE WHEN side > 0 THEN high_grade ELSE low_grade END)",
    ),
    judgments="list_sort(list_distinct(flatten(list(ids) FILTER (support * side > 0))))",
)
_PASSED: Final = _Votes(
    margin="NULL",
    grades=("avg(value) FILTER (support * side > 0)", "NULL"),
    refs=("low", "NULL", "side > 0"),
    entry_id="md5('response' || chr(31) || item_no || chr(31) || low)[:16]",
)


def pair_responses(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> tuple[list[FunnelStep], bool]:
    """Fills ``entries`` from ``selected``.

    From comparisons (pairwise verdicts and rankings) the margin is the mean signed strength (2 for much better, 1 for
    better) of the kept verdicts towards the chosen response, in (0, 2]; ``strength`` is the mean over those that name
    it alone. From grades the margin is the mean difference of the two grades, and there is no strength. ``probability``
    and ``score`` are the lowest among the verdicts for the chosen one (a verdict that a person corrected has none).
    ``kept_by`` says what kept them. Answers that pass or fail make rows of their own for format ``kto``.

    Returns:
        The steps, and whether the rows are from grades: as asked, or because no kept verdict compares responses.
    """
    _, _, compared, single = graded.kept_by_kind(work)
    from_grades = request.from_grades or (single > 0 and not compared)
    if not from_grades:
        steps = [_compare(work), _reconcile(work, request.reconcile, _COMPARED)]
    else:
        steps = [graded.take_grades(work, request)]
        if graded.by_side(work, request):
            graded.side_votes(work)
            return [*steps, _reconcile(work, request.reconcile, _PASSED)], True
        steps += [graded.grade_votes(work), _reconcile(work, request.reconcile, _GRADED)]
    return ([*steps, _unpaired(work)] if request.format is Format.KTO else steps), from_grades


def _compare(work: duckdb.DuckDBPyConnection) -> FunnelStep:
    """Fills ``votes`` with every two responses that a kept verdict compares."""
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
    kept, absent, usable, single = graded.kept_by_kind(work)
    return FunnelStep("verdicts", "judgments", kept, usable, {"no_verdict": absent, "single_response": single})


def _reconcile(work: duckdb.DuckDBPyConnection, rule: Reconcile, kind: _Votes) -> FunnelStep:
    """Fills ``entries`` with what the votes on ``low`` and ``high`` of each item say together."""
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
    joined = {
        name: f"array_to_string(list(DISTINCT {name} ORDER BY {name}) FILTER (support * side > 0), '{mark}')"
        for name, mark in (("judge", ", "), ("agents", "; "), ("kept_by", ", "))
    }
    make_entries(
        work,
        f"""
        WITH decided AS (
            SELECT item_id, low, high, n, CASE WHEN judges_for > judges_against OR (judges_for = judges_against
                AND n_for > n_against) THEN 1 ELSE -1 END AS side
            FROM tallies WHERE {RULES[rule]}
        ), gathered AS (
            SELECT item_id, low, high, any_value(side) AS side, any_value(n) AS votes, {kind.margin} AS margin,
                {kind.strength} AS strength, {kind.grades[0]} AS chosen_grade, {kind.grades[1]} AS rejected_grade,
                min(probability) FILTER (support * side > 0) AS probability,
                min(score) FILTER (support * side > 0) AS score, {kind.judgments} AS judgments,
                {", ".join(f"{joint} AS {name}" for name, joint in joined.items())},
                bool_and(by_rule) FILTER (support * side > 0) AS by_rule
            FROM votes JOIN decided USING (item_id, low, high) GROUP BY item_id, low, high
        )
        SELECT {kind.entry_id} AS entry_id, i.item_no, {kind.refs[0]} AS chosen_ref, {kind.refs[1]} AS rejected_ref,
            {kind.refs[2]} AS label, gathered.* EXCLUDE (item_id, low, high, side)
        FROM gathered JOIN items i USING (item_id) WHERE margin > 0 OR margin IS NULL""",
    )
    if kind is _PASSED:
        before, after = only(work, "SELECT (SELECT count(*) FROM tallies), (SELECT count(*) FROM entries)")
        return FunnelStep("pass or fail", "responses", before, after, {"judge_conflict": before - after})
    before, after, ties, torn = only(
        work,
        f"""SELECT count(*), (SELECT count(*) FROM entries), count(*) FILTER (n_for = 0 AND n_against = 0),
            count(*) FILTER (torn > 0 AND {kind.entry_id} NOT IN (SELECT entry_id FROM entries)) FROM tallies""",
    )
    dropped = {"tie": ties, "order_conflict": torn, "judge_conflict": before - after - ties - torn}
    return FunnelStep("reconciliation", "pairs of responses", before, after, dropped)


def _unpaired(work: duckdb.DuckDBPyConnection) -> FunnelStep:
    """Each response once, desired or not; one that won here and lost there is dropped."""
    (pairs,) = only(work, "SELECT count(*) FROM entries")
    work.execute("ALTER TABLE entries RENAME TO pairs")
    make_entries(
        work,
        """
        WITH sides AS (
            SELECT chosen_ref AS name, true AS desired, * FROM pairs
            UNION ALL SELECT rejected_ref, false, * FROM pairs
        )
        SELECT md5('response' || chr(31) || item_no || chr(31) || name)[:16] AS entry_id, item_no, name AS chosen_ref,
            CASE WHEN count(DISTINCT desired) = 1 THEN any_value(desired) END AS label, min(margin) AS margin,
            min(strength) AS strength, min(probability) AS probability, min(score) AS score,
            array_to_string(list(DISTINCT judge ORDER BY judge), ', ') AS judge,
            list_sort(list_distinct(flatten(list(judgments)))) AS judgments,
            array_to_string(list(DISTINCT agents ORDER BY agents), '; ') AS agents,
            array_to_string(list_sort(list_distinct(flatten(list(string_split(kept_by, ', '))))), ', ') AS kept_by,
            bool_and(by_rule) AS by_rule, sum(votes) AS votes
        FROM sides GROUP BY item_no, name""",
    )
    work.execute("DROP TABLE pairs")
    before, mixed = only(work, "SELECT count(*), count(*) FILTER (label IS NULL) FROM entries")
    work.execute("DELETE FROM entries WHERE label IS NULL")
    return FunnelStep(f"unpaired (from {pairs} pairs)", "responses", before, before - mixed, {"won_and_lost": mixed})
