"""Figures over the verdicts, scores and labels of one panel's current versions. SQL for both databases.

They are computed over ``line_facts`` (:mod:`metajudge.store.line_facts`): they cover the lines that have facts there.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from metajudge.evidence.counting import SAID, Counted, Fate, counted_rows, places_of
from metajudge.evidence.units import MOST_SHARE
from metajudge.stats.clustered import ClusteredProportion, counted_proportion
from metajudge.store.line_facts import TIE, short
from metajudge.store.sql import Connection, only_row
from metajudge.types import VerdictKind

LabelSource = Literal["all", "people", "truth"]
"""Which truth about judgments counts: people's decision if there is one, else the item's label; or only one of them."""

Basis = Literal["score", "probability"]

STEPS: Final = 100
TENTHS: Final = 10
_ROUNDING: Final = "1e-7::FLOAT8"
_STEP: Final[dict[Basis, tuple[str, str]]] = {
    "score": ("final_score", f"ceil(final_score * {STEPS} - {_ROUNDING})"),
    "probability": ("probability", f"floor(probability * {STEPS} + {_ROUNDING})"),
}
"""The number of a basis and its step: scores in ((k - 1) / 100, k / 100], probabilities in [k / 100, (k + 1) / 100)."""

_QUESTION: Final = (
    f"CASE WHEN (SELECT sum(n) > 1 AND max(n) > {MOST_SHARE} * sum(n) FROM (SELECT count(DISTINCT item) AS n "  # noqa: S608 - our own text
    "FROM line_facts WHERE created_at >= $1 AND panel_digest = $2 GROUP BY question) texts) "
    "THEN coalesce(f.item, f.judgment) ELSE coalesce(f.question, f.item, f.judgment) END AS question"
)
"""The unit of dependence, as :func:`metajudge.evidence.units.unit_of` has it."""

COMPARED: Final = 60
"""Judges whose agreement is counted, at most."""

_SPAN: Final = 250_000
_ROWS: Final = 50_000


@dataclass(frozen=True, slots=True)
class Scope:
    """Which lines are counted, and what is known of them.

    Attributes:
        since: seconds since the epoch.
        panel: its digest.
        people: judgment digest -> people's decision whether it is correct.
        source: the source of labels; ``all``: people's decisions, else the item's label.
    """

    since: float
    panel: str
    people: Mapping[str, bool]
    source: LabelSource

    def query(self, columns: str) -> tuple[str, list[Any]]:
        """The lines as a subquery ``f``, with ``correct`` by the source of labels; and its values, $1 to $4."""
        if self.source == "truth":
            known: Mapping[str, bool] = {}
        else:
            known = self.people
        correct = "p.correct" if self.source == "people" else "coalesce(p.correct, f.correct)"
        said = (
            "LEFT JOIN (SELECT unnest($3::BIGINT[]) AS judgment, unnest($4::BOOLEAN[]) AS correct) p "
            "ON p.judgment = f.judgment"
        )
        if not known:  # without the join, which reads one more column
            correct = "CAST(NULL AS BOOLEAN)" if self.source == "people" else "f.correct"
            said = ""
        values: list[Any] = [self.since, self.panel]
        if known:
            values += [[short(one) for one in known], list(known.values())]
        text = f"(SELECT {columns}, {_QUESTION}, {correct} AS correct FROM line_facts f {said} "  # noqa: S608
        return text + "WHERE f.created_at >= $1 AND f.panel_digest = $2) f", values


@dataclass(frozen=True, slots=True)
class Step:
    """Judgments of one step; ``value`` in hundredths."""

    value: int
    n: int
    labelled: int
    right: int


@dataclass(frozen=True, slots=True)
class Steps:
    """Judgments by score or probability.

    Attributes:
        steps: ascending, without empty steps.
        without: judgments without this number.
        questions: number of distinct questions of the labelled judgments with this number.
        changes: by falling step (value, right, labelled, change): how many questions more or fewer have so many right
            and labelled judgments from this step on.
    """

    steps: tuple[Step, ...]
    without: int
    questions: int
    changes: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Tenth:
    """Labelled judgments with a probability in one tenth.

    Attributes:
        place: 0 for [0, .1) to 9 for [.9, 1].
        total: sum of the probabilities.
        kinds: (right, all) judgments of a question -> how many questions have them.
    """

    place: int
    total: float
    kinds: Mapping[tuple[int, int], int]

    @property
    def n(self) -> int:
        return sum(size * often for (_, size), often in self.kinds.items())


@dataclass(frozen=True, slots=True)
class Group:
    """Judgments that are alike in these."""

    judge: str
    accepted: bool
    kind: VerdictKind | None
    threshold: float
    policy: str | None
    n: int


@dataclass(frozen=True, slots=True)
class PairCount:
    """Agreement of a pair: agents over assessments, judges over items."""

    first: str
    second: str
    n: int
    same: int


def steps(connection: Connection, scope: Scope, basis: Basis) -> Steps:
    """Counts judgments by score or probability, in steps of one hundredth (:data:`_STEP`)."""
    column, step = _STEP[basis]
    among, values = scope.query(column)
    rows = connection.execute(
        f"SELECT CAST({step} AS INTEGER), count(*), count(correct), count(*) FILTER (WHERE correct) "  # noqa: S608
        f"FROM {among} GROUP BY 1 ORDER BY 1",
        values,
    ).fetchall()
    (questions,) = only_row(
        connection,
        f"SELECT count(*) FROM (SELECT 1 FROM {among} WHERE correct IS NOT NULL AND {column} IS NOT NULL "  # noqa: S608
        "GROUP BY question) questions",
        values,
    )
    changes = connection.execute(
        f"""
        WITH own AS (
            SELECT CAST({step} AS INTEGER) AS step, question, count(*) AS n, count(*) FILTER (WHERE correct) AS hits
            FROM {among} WHERE correct IS NOT NULL AND {column} IS NOT NULL GROUP BY 1, 2
        ),
        above AS (
            SELECT step, n, hits, CAST(sum(n) OVER later AS BIGINT) AS all_n,
                CAST(sum(hits) OVER later AS BIGINT) AS all_hits
            FROM own WINDOW later AS (PARTITION BY question ORDER BY step DESC)
        )
        SELECT step, hits, n, CAST(sum(change) AS BIGINT) FROM (
            SELECT step, all_hits AS hits, all_n AS n, 1 AS change FROM above
            UNION ALL SELECT step, all_hits - hits, all_n - n, -1 FROM above WHERE all_n > n
        ) changes GROUP BY 1, 2, 3 HAVING sum(change) <> 0 ORDER BY 1 DESC, 2, 3
        """,  # noqa: S608 - our own text
        values,
    ).fetchall()
    found = tuple(Step(*row) for row in rows if row[0] is not None)
    without = sum(row[1] for row in rows if row[0] is None)
    return Steps(found, without, questions, tuple(tuple(row) for row in changes))


def tenths(connection: Connection, scope: Scope) -> list[Tenth]:
    """Labelled judgments by tenths of their probability, ascending; empty tenths are left out."""
    among, values = scope.query("probability")
    rows = connection.execute(
        f"""
        SELECT tenth, hits, size, count(*), sum(total) FROM (
            SELECT least(CAST(floor(probability * {TENTHS}) AS INTEGER), {TENTHS - 1}) AS tenth,
                count(*) FILTER (WHERE correct) AS hits, count(*) AS size, sum(probability) AS total
            FROM {among} WHERE probability IS NOT NULL AND correct IS NOT NULL GROUP BY 1, question
        ) questions GROUP BY tenth, hits, size ORDER BY tenth, hits, size
        """,  # noqa: S608 - our own text
        values,
    ).fetchall()
    kinds: dict[int, dict[tuple[int, int], int]] = {}
    totals: dict[int, float] = {}
    for tenth, hits, size, often, total in rows:
        kinds.setdefault(tenth, {})[hits, size] = often
        totals[tenth] = totals.get(tenth, 0.0) + total
    return [Tenth(place, totals[place], kinds[place]) for place in kinds]


def groups(connection: Connection, scope: Scope) -> list[Group]:
    """Counts judgments by judge, outcome, kind of verdict, threshold and policy."""
    among, values = scope.query("judge, accepted, kind, threshold, policy")
    rows = connection.execute(
        "SELECT judge, coalesce(accepted, false), kind, threshold, policy, count(*) "  # noqa: S608 - our own text
        f"FROM {among} GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5",
        values,
    ).fetchall()
    return [Group(*row) for row in rows]


_SAID: Final = (
    f"CASE WHEN kind IS NULL THEN 2 WHEN kind IN ('pairwise', 'ranking') AND answer = '{TIE}' THEN 1 ELSE 0 END"
)
_FATE: Final = "CASE WHEN accepted THEN 0 WHEN NOT accepted THEN 1 ELSE 2 END"
_FATES: Final[tuple[Fate, ...]] = ("kept_without_guarantee", "discarded", "asked")
_ALIKE: Final = [(said, fate) for said in (0, 1) for fate in range(len(_FATES))]


def counts(connection: Connection, scope: Scope) -> dict[str | None, dict[str, Counted]]:
    """Judge -> the rows of :data:`metajudge.evidence.counting.ROWS`; None: all judges together.

    Whether a guarantee covers a judgment, or it failed, is not looked at: these rows say nothing.
    """
    among, values = scope.query(f"judge, {_SAID} AS said, {_FATE} AS fate")
    places = places_of(SAID, _FATES)
    given: dict[str | None, Counter[int]] = {None: Counter()}
    query = f"SELECT judge, said, fate, count(*) FROM {among} GROUP BY 1, 2, 3"  # noqa: S608 - our own text
    for judge, said, fate, n in connection.execute(query, values).fetchall():
        for name in (judge, None):
            given.setdefault(name, Counter())[int(places[said, fate])] += n
    each = [f"FILTER (WHERE said = {said} AND fate = {fate})" for said, fate in _ALIKE]
    columns = ", ".join(
        f"count(*) {one.replace(')', ' AND correct)')} AS r{at}, count(correct) {one} AS n{at}"
        for at, one in enumerate(each)
    )
    names = ", ".join(f"r{at}, n{at}" for at in range(len(each)))
    rows = connection.execute(
        f"SELECT judge, {names}, count(*) FROM (SELECT judge, {columns} FROM {among} WHERE correct IS NOT NULL "  # noqa: S608
        f"GROUP BY GROUPING SETS ((judge, question), (question))) questions GROUP BY judge, {names}",
        values,
    ).fetchall()
    found: dict[str | None, list[tuple[int, ...]]] = {}
    for judge, *numbers in rows:
        found.setdefault(judge, []).append(tuple(numbers))
    cells = [int(places[said, fate]) for said, fate in _ALIKE]
    return {judge: _rows_of(some, found.get(judge, []), cells) for judge, some in given.items()}


def _rows_of(
    given: Mapping[int, int], questions: Sequence[tuple[int, ...]], places: Sequence[int]
) -> dict[str, Counted]:
    """Every row, from judgments by cell and questions by (right, labelled) of each cell and how often they come."""

    def share(cells: Collection[int]) -> ClusteredProportion | None:
        kinds: Counter[tuple[int, int]] = Counter()
        chosen = [at for at, cell in enumerate(places) if cell in cells]
        for *numbers, often in questions:
            kinds[sum(numbers[2 * at] for at in chosen), sum(numbers[2 * at + 1] for at in chosen)] += often
        kinds.pop((0, 0), None)
        return counted_proportion(list(kinds), list(kinds.values())) if kinds else None

    return counted_rows(lambda cells: sum(given.get(cell, 0) for cell in cells), share)


def judge_pairs(connection: Connection, scope: Scope) -> list[PairCount]:
    """How often two judges give the same answer, over what both judged: an item, or one graded response of it.

    The same answer is the same winner, grade or category. A judge that gives several answers on the same (for example
    in different orders) counts as a tie. Of more than :data:`COMPARED` judges, those with the most judgments are
    compared.
    """
    among = "FROM line_facts f WHERE created_at >= $1 AND panel_digest = $2 AND item IS NOT NULL AND answer IS NOT NULL"
    values = [scope.since, scope.panel]
    names = connection.execute(
        f"SELECT judge FROM (SELECT judge, count(*) AS n {among} GROUP BY judge) counted "  # noqa: S608 - our own text
        f"ORDER BY n DESC, judge LIMIT {COMPARED}",
        values,
    ).fetchall()
    judges = sorted(name for (name,) in names)
    # A set of judges is a number with a bit for each. Many items have the same sets, and each pattern is counted once.
    patterns = connection.execute(
        f"""
        WITH said AS (
            SELECT item, graded, answer,
                bit_or(1::BIGINT << (array_position($3::VARCHAR[], judge) - 1)::INTEGER) AS judges
            {among} AND judge = ANY($3::VARCHAR[]) GROUP BY 1, 2, 3
        ),
        items AS (
            SELECT bool_or(answer = $4) AS tied, array_agg(judges ORDER BY answer <> $4, judges) AS sets
            FROM said GROUP BY item, graded
        )
        SELECT tied, sets, count(*) FROM items GROUP BY tied, sets
        """,  # noqa: S608 - our own text
        [*values, judges, TIE],
    ).fetchall()
    return _pairs(judges, patterns)


def _pairs(judges: Sequence[str], patterns: Iterable[tuple[bool, Sequence[int], int]]) -> list[PairCount]:
    """Counts pairs over patterns: whether an answer is a tie (then the first), sets of judges by answer, how often."""
    seen: list[tuple[int, int]] = []
    alike: list[tuple[int, int]] = []
    for tied, sets, often in patterns:
        once = several = 0
        for one in sets:
            several |= once & one
            once |= one
        ties = (sets[0] if tied else 0) | several
        seen.append((once, often))
        alike.append((ties, often))
        alike += [(one & ~several, often) for one in sets[tied:]]
    n, same = _together(seen, len(judges)), _together(alike, len(judges))
    return [
        PairCount(judges[a], judges[b], int(n[a, b]), int(same[a, b]))
        for a in range(len(judges))
        for b in range(a + 1, len(judges))
        if n[a, b]
    ]


def _together(sets: Sequence[tuple[int, int]], judges: int) -> npt.NDArray[np.float64]:
    """[judges, judges] how often two are in the same set, from sets and how often they come."""
    found = np.zeros((judges, judges))
    for start in range(0, len(sets), _ROWS):
        masks, often = np.array(sets[start : start + _ROWS], dtype=np.int64).T
        members = (masks[:, None] >> np.arange(judges) & 1).astype(np.float64)
        found += members.T @ (members * often[:, None])
    return found


def agent_pairs(connection: Connection, scope: Scope) -> list[PairCount]:
    """How often two agents are on the same side of the threshold, over assessments that both scored."""
    lowest, highest = only_row(connection, "SELECT min(assessment_id), max(assessment_id) FROM agent_scores")
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for start in range(lowest, highest + 1, _SPAN) if lowest is not None else ():
        rows = connection.execute(
            """
            WITH said AS (
                SELECT s.assessment_id, s.agent, s.score - f.threshold > 5e-10 AS trusts
                FROM agent_scores s JOIN line_facts f ON f.assessment_id = s.assessment_id
                WHERE s.assessment_id BETWEEN $3 AND $4 AND f.assessment_id BETWEEN $3 AND $4 AND f.created_at >= $1
                    AND f.panel_digest = $2 AND s.stage = 'agent' AND s.score IS NOT NULL
            )
            SELECT a.agent, b.agent, count(*), count(*) FILTER (WHERE a.trusts = b.trusts)
            FROM said a JOIN said b ON b.assessment_id = a.assessment_id AND a.agent < b.agent
            GROUP BY a.agent, b.agent ORDER BY a.agent, b.agent
            """,
            [scope.since, scope.panel, start, start + _SPAN - 1],
        ).fetchall()
        for first, second, n, same in rows:
            before = found.get((first, second), (0, 0))
            found[first, second] = (before[0] + n, before[1] + same)
    return [PairCount(first, second, n, same) for (first, second), (n, same) in sorted(found.items())]
