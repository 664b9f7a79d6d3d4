"""Figures over the verdicts, scores and labels of one panel's current versions.

They are computed over ``line_facts`` (:mod:`metajudge.store.line_facts`): they cover the lines that have facts there.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np

from metajudge.evidence.counting import SAID, Counted, Counts, Fate, places_of
from metajudge.evidence.units import MOST_SHARE
from metajudge.store.line_facts import TIE, short
from metajudge.store.sql import Connection
from metajudge.types import VerdictKind

LabelSource = Literal["all", "people", "truth"]
"""Which truth about judgments counts: people's decision if there is one, else the item's label; or only one of them."""

Basis = Literal["score", "probability"]

STEPS: Final = 100
TENTHS: Final = 10
_STEP: Final[dict[Basis, tuple[str, str]]] = {
    "score": ("final_score", f"-floor(1e-7 - final_score * {STEPS})"),
    "probability": ("probability", f"floor(probability * {STEPS} + 1e-7)"),
}
"""The number of a basis and its step: scores in ((k - 1) / 100, k / 100], probabilities in [k / 100, (k + 1) / 100)."""

_QUESTION: Final = (
    f"CASE WHEN (SELECT sum(n) > 1 AND max(n) > {MOST_SHARE} * sum(n) FROM (SELECT count(DISTINCT item) AS n "  # noqa: S608
    "FROM line_facts WHERE created_at >= $1 AND panel_digest = $2 GROUP BY question) texts) "
    "THEN coalesce(f.item, f.judgment) ELSE coalesce(f.question, f.item, f.judgment) END AS question"
)
"""The unit of dependence, as :func:`metajudge.evidence.units.unit_of` has it."""

COMPARED: Final = 60
"""Judges whose agreement is counted, at most."""


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
        """The lines as a subquery ``f``, with ``question`` and ``correct`` by the source of labels; and its values."""
        people = {} if self.source == "truth" else self.people
        right, wrong = ([short(name) for name, said in people.items() if said is one] for one in (True, False))
        correct = (
            "CASE WHEN f.judgment IN (SELECT unnest($3::BIGINT[])) THEN true "
            "WHEN f.judgment IN (SELECT unnest($4::BIGINT[])) THEN false "
            f"ELSE {'NULL' if self.source == 'people' else 'f.correct'} END AS correct"
        )
        text = (
            f"(SELECT {columns}, {_QUESTION}, {correct} FROM line_facts f "  # noqa: S608
            "WHERE f.created_at >= $1 AND f.panel_digest = $2) f"
        )
        return text, [self.since, self.panel, right, wrong]


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
    rows = connection.rows(
        f"""SELECT CAST({step} AS INTEGER), question, count(*), count(correct), count(*) FILTER (WHERE correct)
            FROM {among} GROUP BY 1, 2 ORDER BY 1 DESC""",  # noqa: S608
        values,
    )
    found: dict[int, Counter[str]] = {}
    without = 0
    last: dict[int, tuple[int, int]] = {}
    changes: Counter[tuple[int, int, int]] = Counter()
    for value, question, n, known, right in rows:
        if value is None:
            without += n
            continue
        found.setdefault(value, Counter()).update(n=n, labelled=known, right=right)
        if known:
            before = last.get(question, (0, 0))
            last[question] = after = (before[0] + right, before[1] + known)
            changes[value, *after] += 1
            if before != (0, 0):
                changes[value, *before] -= 1
    ordered = sorted(changes.items(), key=lambda pair: (-pair[0][0], pair[0]))
    return Steps(
        tuple(Step(value, **counted) for value, counted in sorted(found.items())),
        without,
        len(last),
        tuple((*key, change) for key, change in ordered if change),
    )


def tenths(connection: Connection, scope: Scope) -> list[Tenth]:
    """Labelled judgments by tenths of their probability, ascending; empty tenths are left out."""
    among, values = scope.query("probability")
    tenth = f"CASE WHEN probability < 1 THEN CAST(floor(probability * {TENTHS}) AS INTEGER) ELSE {TENTHS - 1} END"
    rows = connection.rows(
        f"""SELECT {tenth}, count(*) FILTER (WHERE correct), count(*), sum(probability)
            FROM {among} WHERE probability IS NOT NULL AND correct IS NOT NULL GROUP BY 1, question ORDER BY 1""",  # noqa: S608
        values,
    )
    kinds: dict[int, Counter[tuple[int, int]]] = {}
    totals: Counter[int] = Counter()
    for tenth, hits, size, total in rows:
        kinds.setdefault(tenth, Counter())[hits, size] += 1
        totals[tenth] += total
    return [Tenth(place, totals[place], kinds[place]) for place in kinds]


def groups(connection: Connection, scope: Scope) -> list[Group]:
    """Counts judgments by judge, outcome, kind of verdict, threshold and policy."""
    among, values = scope.query("judge, accepted, kind, threshold, policy")
    query = f"""SELECT judge, coalesce(accepted, false), kind, threshold, policy, count(*)
        FROM {among} GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"""  # noqa: S608
    return [Group(judge, bool(accepted), *alike) for judge, accepted, *alike in connection.rows(query, values)]


_SAID: Final = (
    f"CASE WHEN kind IS NULL THEN 2 WHEN kind IN ('pairwise', 'ranking') AND answer = '{TIE}' THEN 1 ELSE 0 END"
)
_FATE: Final = "CASE WHEN accepted THEN 0 WHEN NOT accepted THEN 1 ELSE 2 END"
_FATES: Final[tuple[Fate, ...]] = ("kept_without_guarantee", "discarded", "asked")


def counts(connection: Connection, scope: Scope) -> dict[str | None, dict[str, Counted]]:
    """Judge -> the rows of :data:`metajudge.evidence.counting.ROWS`; None: all judges together.

    Whether a guarantee covers a judgment, or it failed, is not looked at: these rows say nothing.
    """
    among, values = scope.query(f"judge, {_SAID} AS said, {_FATE} AS fate")
    rows = connection.rows(
        f"SELECT said, fate, coalesce(CAST(correct AS INTEGER), -1), question, judge FROM {among}",  # noqa: S608
        values,
    )
    said, fate, correct, question = (np.array([row[at] for row in rows], dtype=np.int64) for at in range(4))
    cells = places_of(SAID, _FATES)[said, fate]
    correct[said == SAID.index("no_verdict")] = -1
    judges = np.array([row[4] for row in rows])
    found: dict[str | None, dict[str, Counted]] = {}
    for judge in (None, *sorted(set(judges.tolist()))):
        of, one = (np.ones(len(rows), dtype=bool) if judge is None else judges == judge), Counts()
        one.count_rows(cells[of], correct[of], question[of], str)
        found[judge] = one.rows()
    return found


def judge_pairs(connection: Connection, scope: Scope) -> list[PairCount]:
    """How often two judges give the same answer, over what both judged: an item, or one graded response of it.

    The same answer is the same winner, grade or category. A judge that gives several answers on the same (for example
    in different orders) counts as a tie. Of more than :data:`COMPARED` judges, those with the most judgments are
    compared.
    """
    among = "FROM line_facts WHERE created_at >= $1 AND panel_digest = $2 AND item IS NOT NULL AND answer IS NOT NULL"
    rows = connection.rows(
        f"""SELECT judge, item, graded, CASE WHEN count(DISTINCT answer) > 1 THEN '{TIE}' ELSE min(answer) END
            {among} AND judge IN (SELECT judge {among} GROUP BY judge ORDER BY count(*) DESC, judge LIMIT {COMPARED})
            GROUP BY 1, 2, 3""",
        [scope.since, scope.panel],
    )
    said: dict[str, dict[tuple[int, str | None], str]] = {}
    for judge, item, graded, answer in rows:
        said.setdefault(judge, {})[item, graded] = answer
    return [
        PairCount(one, other, n, len(said[one].items() & said[other].items()))
        for one, other in combinations(sorted(said), 2)
        if (n := len(said[one].keys() & said[other].keys()))
    ]


def agent_pairs(connection: Connection, scope: Scope) -> list[PairCount]:
    """How often two agents are on the same side of the threshold, over assessments that both scored."""
    query = """WITH said AS (
            SELECT s.assessment_id, s.agent, s.score - f.threshold > 5e-10 AS trusts
            FROM line_facts f JOIN agent_scores s ON s.assessment_id = f.assessment_id
            WHERE f.created_at >= $1 AND f.panel_digest = $2 AND s.stage = 'agent' AND s.score IS NOT NULL
        )
        SELECT a.agent, b.agent, count(*), count(*) FILTER (WHERE a.trusts = b.trusts)
        FROM said a JOIN said b ON b.assessment_id = a.assessment_id AND a.agent < b.agent
        GROUP BY a.agent, b.agent ORDER BY a.agent, b.agent"""
    return [PairCount(*row) for row in connection.rows(query, [scope.since, scope.panel])]
