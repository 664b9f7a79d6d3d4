"""Response pairs: all kept verdicts on two responses, reconciled into one preference or dropped.

Grades and categories of single responses are votes, too: which response of a question is graded higher, which passes. A
judge's answer on one response has a value: the grade; the place of an ordered category on the item's declared scale; 1
or 0 for a category that says pass or fail. Several kept answers of one judge on one response count as their mean.
Answers of different kinds are not compared with each other.
"""

from dataclasses import dataclass
from typing import Final

import orjson

from metajudge.errors import InputError
from metajudge.exports.request import ExportRequest, Format, Reconcile
from metajudge.exports.workspace import FunnelStep, Work, make_entries, only
from metajudge.types import Category, parse_verdict
from metajudge.types.label import passing

MOST_PAIRS: Final = 20_000_000
"""Pairs of graded responses that an export makes at most."""


def take_grades(work: Work, request: ExportRequest) -> FunnelStep:
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


def kept_by_kind(work: Work) -> tuple[int, int, int, int]:
    """Numbers of kept judgments: all, those without a verdict, comparisons, and answers on single responses."""
    kept, absent, compared = only(
        work,
        """SELECT count(*), count(*) FILTER (j.verdict IS NULL), count(*) FILTER (comparable(j.verdict))
            FROM selected a JOIN judgments j USING (judgment_id) WHERE a.kept""",
    )
    return kept, absent, compared, kept - absent - compared


def by_side(work: Work, request: ExportRequest) -> bool:
    """Whether rows are single responses that pass or fail, and not responses of which one is graded higher."""
    (sides,) = only(work, "SELECT count(side) FROM graded")
    return request.format is Format.KTO and sides > 0


def grade_votes(work: Work) -> FunnelStep:
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


def _categories(work: Work) -> None:
    """Fills ``category_values``: few different categories and scales, read by the record's own rules."""
    work.execute("CREATE OR REPLACE TABLE category_values (verdict VARCHAR, scale VARCHAR, value DOUBLE, side BOOLEAN)")
    rows = work.execute("""
        SELECT DISTINCT j.verdict, i.scale FROM judgments j JOIN items i USING (item_id)
        WHERE kind_of(j.verdict) = 'category' ORDER BY ALL""").fetchall()
    for verdict, scale in rows:
        found = parse_verdict(orjson.loads(verdict))
        side, names = passing(found), [] if scale is None else orjson.loads(scale)
        place = None if side is None else float(side)
        if isinstance(found, Category) and found.value in names:
            place = float(names.index(found.value))
        work.execute("INSERT INTO category_values VALUES ($1, $2, $3, $4)", [verdict, scale, place, side])


def _gather(work: Work) -> None:
    """Makes one item of those with a single response and the same question, under the first one's id and number.

    A response is then named by the id of its item: characters that a path in JSON cannot have become a digest.
    """
    work.execute("""
        CREATE OR REPLACE TABLE pooled AS
        WITH single AS (
            SELECT i.item_no, i.item_id, i.question, i.responses, i.models, i.replies,
                json_keys(i.responses)[1] AS response,
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
            json_group_object(name, json_extract_string(models, {path}))::VARCHAR AS models,
            CASE WHEN bool_or(replies IS NOT NULL) THEN
                json_group_object(name, json_extract(replies, {path}))::VARCHAR END AS replies
        FROM (SELECT * FROM pooled ORDER BY item_no) p JOIN (SELECT item_no AS head, item_id FROM items) h USING (head)
        GROUP BY p.head""")
    work.execute("""
        UPDATE items SET responses = c.responses, models = c.models, replies = c.replies
        FROM combined c WHERE items.item_no = c.head""")
    work.execute(f"""
        UPDATE judgments SET item_id = c.item_id, response_finish = CASE WHEN response_finish IS NULL THEN NULL ELSE
            json_object(p.name, json_extract_string(response_finish, {path}))::VARCHAR END
        FROM pooled p JOIN combined c USING (head) WHERE judgments.item_id = p.item_id""")
    work.execute("""
        UPDATE graded SET item_no = p.head, response = p.name FROM pooled p WHERE graded.item_no = p.item_no""")
    for table in ("pooled", "combined"):
        work.execute(f"DROP TABLE {table}")


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


def pair_responses(work: Work, request: ExportRequest) -> tuple[list[FunnelStep], bool]:
    """Fills ``entries`` from ``selected``.

    From comparisons (pairwise verdicts and rankings) the margin is the mean signed strength (2 for much better, 1 for
    better) of the kept verdicts towards the chosen response, in (0, 2]; ``strength`` is the mean over those that name
    it alone. From grades the margin is the mean difference of the two grades, and there is no strength. ``probability``
    and ``score`` are the lowest among the verdicts for the chosen one (a verdict that a person corrected has none).
    ``kept_by`` says what kept them. Answers that pass or fail make rows of their own for format ``kto``.

    Returns:
        The steps, and whether the rows are from grades: as asked, or because no kept verdict compares responses.
    """
    _, _, compared, single = kept_by_kind(work)
    from_grades = request.from_grades or (single > 0 and not compared)
    if not from_grades:
        steps = [_compare(work), _reconcile(work, request.reconcile, _COMPARED)]
    else:
        steps = [take_grades(work, request)]
        if by_side(work, request):
            # ``low`` is the response answered on; ``support`` is 1 where it passes, else -1.
            work.execute("""
                CREATE OR REPLACE TABLE votes AS
                SELECT item_id, response AS low, '' AS high, if(side, 1, -1) AS support, graded.* EXCLUDE (side)
                FROM graded JOIN items USING (item_no)""")
            return [*steps, _reconcile(work, request.reconcile, _PASSED)], True
        steps += [grade_votes(work), _reconcile(work, request.reconcile, _GRADED)]
    return ([*steps, _unpaired(work)] if request.format is Format.KTO else steps), from_grades


def _compare(work: Work) -> FunnelStep:
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
    kept, absent, usable, single = kept_by_kind(work)
    return FunnelStep("verdicts", "judgments", kept, usable, {"no_verdict": absent, "single_response": single})


def _reconcile(work: Work, rule: Reconcile, kind: _Votes) -> FunnelStep:
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


def _unpaired(work: Work) -> FunnelStep:
    """Each response once, desired or not; one that won here and lost there is dropped."""
    (pairs,) = only(work, "SELECT count(*) FROM entries")
    work.execute("ALTER TABLE entries RENAME TO pairs")
    make_entries(
        work,
        """WITH sides AS (
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
