"""Grades and categories of single responses as votes: which response of a question is graded higher, which passes.

A judge's answer on one response has a value: the grade; the place of an ordered category on the item's declared scale;
1 or 0 for a category that says pass or fail. Several kept answers of one judge on one response count as their mean.
Answers of different kinds are not compared with each other.
"""

from typing import Final

import duckdb
import orjson

from metajudge.errors import InputError
from metajudge.exports.request import ExportRequest, Format
from metajudge.exports.workspace import FunnelStep, only
from metajudge.types import Category, parse_verdict
from metajudge.types.label import passing

MOST_PAIRS: Final = 20_000_000
"""Pairs of graded responses that an export makes at most."""


def take_grades(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> FunnelStep:
    """Fills ``graded``: kept grades and categories with ``value`` and ``side`` (whether the response passes).

    For pairs, items with one response and the same question become one item (:func:`_gather`). Answers without a value
    are dropped: categories in no declared order that say neither pass nor fail. So are, for format ``kto`` where any
    answer has a side, those without one: grades without a pass mark among them.
    """
    _categories(work)
    mark = "NULL" if request.pass_mark is None else f"round(grade_of(k.verdict) - {request.pass_mark!r}, 9) >= 0"
    work.execute(f"""
        CREATE OR REPLACE TABLE graded AS
        SELECT judgment_id, judge, item_no, kind_of(k.verdict) AS kind, shown[1] AS response,
            coalesce(grade_of(k.verdict), c.value) AS value, coalesce({mark}, c.side) AS side,
            probability, score, agents, kept_by, by_rule
        FROM (
            SELECT j.judgment_id, j.judge, j.verdict, j.shown, i.item_no, i.scale, a.probability, a.score, a.agents,
                a.kept_by, a.by_rule
            FROM selected a JOIN judgments j USING (judgment_id) JOIN items i ON i.item_id = j.item_id WHERE a.kept
        ) k LEFT JOIN category_values c ON c.verdict = k.verdict AND c.scale IS NOT DISTINCT FROM k.scale
        WHERE kind_of(k.verdict) IN ('grade', 'category')""")
    kept, absent, compared, _ = kept_by_kind(work)
    sided = by_side(work, request)
    lost = "side" if sided else "value"
    (without,) = only(work, f"SELECT count(*) FROM graded WHERE {lost} IS NULL")
    work.execute(f"DELETE FROM graded WHERE {lost} IS NULL")
    if not sided:
        _gather(work)
    dropped = {"no_verdict": absent, "comparison": compared, "neither_pass_nor_fail" if sided else "no_order": without}
    return FunnelStep("verdicts", "judgments", kept, kept - absent - compared - without, dropped)


def kept_by_kind(work: duckdb.DuckDBPyConnection) -> tuple[int, int, int, int]:
    """Numbers of kept judgments: all, those without a verdict, comparisons, and answers on single responses."""
    kept, absent, compared = only(
        work,
        """SELECT count(*), count(*) FILTER (j.verdict IS NULL), count(*) FILTER (comparable(j.verdict))
        FROM selected a JOIN judgments j USING (judgment_id) WHERE a.kept""",
    )
    return kept, absent, compared, kept - absent - compared


def by_side(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> bool:
    """Whether rows are single responses that pass or fail, and not responses of which one is graded higher."""
    (sides,) = only(work, "SELECT count(side) FROM graded")
    return request.format is Format.KTO and sides > 0


def grade_votes(work: duckdb.DuckDBPyConnection) -> FunnelStep:
    """Fills ``votes`` with every two responses of an item that one judge graded; grades in no pair are dropped.

    ``support`` is 1 where the first is graded higher, -1 where the second is, 0 where both are equal; ``margin`` the
    difference of the grades.

    Raises:
        InputError: more pairs than :data:`MOST_PAIRS`.
    """
    (pairs,) = only(
        work,
        """SELECT coalesce(sum(n * (n - 1) // 2), 0) FROM (
            SELECT count(DISTINCT response) AS n FROM graded GROUP BY item_no, judge, kind)""",
    )
    if pairs > MOST_PAIRS:
        raise InputError(
            f"the kept grades make {pairs:,} pairs of responses to the same question, more than {MOST_PAIRS:,}: items "
            "with the same question are responses to one question, so give each item its own question, narrow the "
            "export with a filter, or use --format kto with --pass-mark"
        )
    work.execute("""
        CREATE OR REPLACE TABLE votes AS
        WITH sides AS (
            SELECT item_no, judge, kind, response, avg(value) AS grade, min(probability) AS probability,
                min(score) AS score, list(judgment_id ORDER BY judgment_id) AS ids, any_value(agents) AS agents,
                array_to_string(list_sort(list(DISTINCT kept_by)), ', ') AS kept_by, bool_and(by_rule) AS by_rule
            FROM graded GROUP BY ALL
        )
        SELECT i.item_id, x.judge, least(x.probability, y.probability) AS probability, least(x.score, y.score) AS score,
            x.agents, CASE WHEN x.kept_by = y.kept_by THEN x.kept_by ELSE x.kept_by || ', ' || y.kept_by END AS kept_by,
            x.by_rule AND y.by_rule AS by_rule, x.response AS low, y.response AS high,
            sign(round(x.grade - y.grade, 9))::INTEGER AS support, x.grade - y.grade AS margin,
            x.grade AS low_grade, y.grade AS high_grade, list_concat(x.ids, y.ids) AS ids
        FROM sides x JOIN sides y ON x.item_no = y.item_no AND x.judge = y.judge AND x.kind = y.kind
            AND x.response < y.response JOIN items i ON i.item_no = x.item_no""")
    count, alone = only(
        work,
        """SELECT coalesce(sum(n), 0)::BIGINT, coalesce(sum(n) FILTER (responses = 1), 0)::BIGINT FROM (
            SELECT count(*) AS n, count(DISTINCT response) AS responses FROM graded GROUP BY item_no, judge, kind)""",
    )
    return FunnelStep("questions", "judgments", count, count - alone, {"only_graded_response": alone})


def side_votes(work: duckdb.DuckDBPyConnection) -> None:
    """Fills ``votes`` with answers on each response (``low``); ``support`` is 1 where it passes, else -1."""
    work.execute("""
        CREATE OR REPLACE TABLE votes AS
        SELECT item_id, response AS low, '' AS high, if(side, 1, -1) AS support, graded.* EXCLUDE (side)
        FROM graded JOIN items USING (item_no)""")


def _categories(work: duckdb.DuckDBPyConnection) -> None:
    """Fills ``category_values``: few different categories and scales, read by the record's own rules."""
    work.execute("CREATE OR REPLACE TABLE category_values (verdict VARCHAR, scale VARCHAR, value DOUBLE, side BOOLEAN)")
    rows = work.execute("""
        SELECT DISTINCT j.verdict, i.scale FROM judgments j JOIN items i USING (item_id)
        WHERE kind_of(j.verdict) = 'category' ORDER BY ALL""").fetchall()
    for verdict, scale in rows:
        found = parse_verdict(orjson.loads(verdict))
        side = passing(found)
        values = (verdict, scale, _place(found, scale, side), side)
        work.execute("INSERT INTO category_values VALUES ($1, $2, $3, $4)", list(values))


def _place(verdict: object, scale: str | None, side: bool | None) -> float | None:
    names = [] if scale is None else orjson.loads(scale)
    if isinstance(verdict, Category) and verdict.value in names:
        return float(names.index(verdict.value))
    return None if side is None else float(side)


def _gather(work: duckdb.DuckDBPyConnection) -> None:
    """Makes one item of those with a single response and the same question, under the first one's id and number.

    A response is then named by the id of its item: characters that a path in JSON cannot have become a digest.
    """
    work.execute("""
        CREATE OR REPLACE TABLE pooled AS
        WITH single AS (
            SELECT i.item_no, i.item_id, i.question, i.responses, i.models, json_keys(i.responses)[1] AS response,
                CASE WHEN regexp_matches(i.item_id, '^[A-Za-z0-9 _.:/|#@-]+$') THEN i.item_id
                    ELSE md5(i.item_id)[:16] END AS name
            FROM items i SEMI JOIN graded USING (item_no) WHERE len(json_keys(i.responses)) = 1
        ), heads AS (SELECT question, min(item_no) AS head FROM single GROUP BY 1 HAVING count(*) > 1)
        SELECT s.* EXCLUDE (question), head FROM single s JOIN heads USING (question)""")
    path = "'$.\"' || response || '\"'"
    work.execute(f"""
        CREATE OR REPLACE TABLE combined AS
        SELECT p.head, any_value(h.item_id) AS item_id,
            json_group_object(name, json_extract_string(responses, {path}))::VARCHAR AS responses,
            json_group_object(name, json_extract_string(models, {path}))::VARCHAR AS models
        FROM (SELECT * FROM pooled ORDER BY item_no) p JOIN (SELECT item_no AS head, item_id FROM items) h USING (head)
        GROUP BY p.head""")
    work.execute("""
        UPDATE items SET responses = c.responses, models = c.models FROM combined c WHERE items.item_no = c.head""")
    work.execute(f"""
        UPDATE judgments SET item_id = c.item_id, response_finish = CASE WHEN response_finish IS NULL THEN NULL ELSE
            json_object(p.name, json_extract_string(response_finish, {path}))::VARCHAR END
        FROM pooled p JOIN combined c USING (head) WHERE judgments.item_id = p.item_id""")
    work.execute("""
        UPDATE graded SET item_no = p.head, response = p.name FROM pooled p WHERE graded.item_no = p.item_no""")
    for table in ("pooled", "combined"):
        work.execute(f"DROP TABLE {table}")
