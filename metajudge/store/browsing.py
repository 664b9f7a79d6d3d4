"""Lists of assessments by filters, newest first, and the details of one. SQL for both databases.

A list has one line for each judgment and panel, its current version (:mod:`metajudge.store.versions`).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import orjson

from metajudge.store import queries
from metajudge.store.annotations import annotated, annotated_data
from metajudge.store.counts import current_span, frequent
from metajudge.store.excerpts import as_in_json, contains, excerpt, question_of, texts_in
from metajudge.store.sql import Connection, among, in_file, only_row
from metajudge.store.texts import About, about
from metajudge.store.versions import CURRENT, newest_among, versions
from metajudge.types import Assessment, Judgment, Status, parse_verdict

Outcome = Literal["kept", "not_kept", "asked", "unscored", "failed"]
"""The result of vetting: accepted, not accepted, too few answers, or no agent could be asked."""

WINDOW: Final = 2_000
LARGEST_WINDOW: Final = 32_000
GROWTH: Final = 4
SEARCH_S: Final = 2.0
"""Filters on texts read ``WINDOW`` versions, then ``GROWTH`` times as many, and so on up to ``LARGEST_WINDOW`` at a
time, until a page is full or so many seconds have passed: a frequent text is found in the first window, and each window
may cost a pass over all texts.
"""

_CHECKED: Final = 200
"""Texts in memory at a time."""

_NAMED: Final = 50

_OUTCOMES: Final = {
    "kept": "accepted",
    "not_kept": "NOT accepted",
    "asked": "status = 'assessed' AND accepted IS NULL",
    "unscored": "status = 'unscored'",
    "failed": "status = 'failed'",
}
_LINE: Final = (
    "v.number, v.created_at, v.run_id, v.judgment_id, v.item_id, v.judge, NULL::VARCHAR, v.status, v.final_score, "
    "v.accepted, v.strategy, v.panel_digest, v.probability, v.action"
)
_STATUS: Final = 7
"""Where ``_LINE`` has the status; the category before it comes from the item."""


@dataclass(frozen=True, slots=True)
class AssessmentFilter:
    """Which of the current versions; None filters nothing.

    Attributes:
        decision: a policy's action, such as ``REVIEW``.
        agent: name of an agent on the panel.
        panel: digest of a panel, or a prefix of it.
        run: a run's id; the versions are then the newest of this run, even if others kept newer ones.
        text: searched for, ignoring case, in the ids, the judge's name, the question, the responses and the rationale.
        item: an item's id.
        name: the id of a judgment or of an item, as it is.
        since, until: seconds since the epoch; the end is excluded.
        without: ids of judgments to exclude.
    """

    judge: str | None = None
    outcome: Outcome | None = None
    decision: str | None = None
    agent: str | None = None
    panel: str | None = None
    strategy: str | None = None
    run: str | None = None
    text: str | None = None
    item: str | None = None
    name: str | None = None
    since: float | None = None
    until: float | None = None
    without: tuple[str, ...] = ()

    @property
    def reads_texts(self) -> bool:
        """Whether a filter needs more than the short columns."""
        return self.agent is not None or self.text is not None


@dataclass(frozen=True, slots=True)
class AssessmentLine:
    """One version in a list.

    Attributes:
        number: grows with time.
        action: None if no policy decided.
        question: its first words; None if the texts were deleted. ``verdict``: the judge's, None without one. Both are
            read for lists alone.
    """

    number: int
    created_at: float
    run_id: str
    judgment_id: str
    item_id: str
    judge: str
    category: str | None
    status: Status
    final_score: float | None
    accepted: bool | None
    strategy: str
    panel_digest: str
    probability: float | None
    action: str | None
    question: str | None = None
    verdict: str | None = None

    @property
    def outcome(self) -> Outcome:
        if self.status is Status.ASSESSED:
            return "asked" if self.accepted is None else "kept" if self.accepted else "not_kept"
        return "unscored" if self.status is Status.UNSCORED else "failed"


@dataclass(frozen=True, slots=True)
class AssessmentLines:
    """A page, newest first.

    Attributes:
        older: the number before which the next page begins; None if nothing is older.
        newer: the number after which the previous page begins; None on the newest page.
        cut_short: the page is not full because the time for a search was over; ``older`` continues it.
        searched: versions that this search looked at, of ``total`` that the other filters leave; 0 unless cut short.
    """

    lines: tuple[AssessmentLine, ...]
    older: int | None
    newer: int | None
    cut_short: bool = False
    searched: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One HTTP request behind an assessment."""

    call_id: int
    key: str
    run_id: str | None
    model: str
    reported_model: str | None
    draw: int
    attempt: int
    status: str
    started_at: float
    latency_s: float
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    failure_kind: str | None
    failure_message: str | None
    http_status: int | None


@dataclass(frozen=True, slots=True)
class KeptAssessment:
    """Everything about one assessment.

    Attributes:
        judgment: None if its texts were forgotten.
        attempts: of its calls, oldest first, including reused ones of earlier runs.
        current: number of the current version of this judgment by this panel.
        history: the other versions of this judgment by this panel, newest first.
        others: the current version of each other panel about the same judgment, newest first.
    """

    line: AssessmentLine
    assessment: Assessment
    payload: str
    judgment: Judgment | None
    attempts: tuple[Attempt, ...]
    current: int
    history: tuple[AssessmentLine, ...]
    others: tuple[AssessmentLine, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """The most frequent values of each filter."""

    judges: tuple[str, ...]
    agents: tuple[str, ...]
    strategies: tuple[str, ...]
    panels: tuple[str, ...]


class _Conditions:
    """Conditions and their values, numbered as they come."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.values: list[Any] = []

    def add(self, text: str, *values: Any) -> None:
        """Adds a condition; each ``{}`` is the place of a value."""
        places = [f"${len(self.values) + place}" for place in range(1, len(values) + 1)]
        self.texts.append(text.format(*places))
        self.values += values

    def __str__(self) -> str:
        return " AND ".join(self.texts) or "true"


def page_of_assessments(
    connection: Connection,
    wanted: AssessmentFilter,
    *,
    limit: int,
    before: int | None = None,
    after: int | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> AssessmentLines:
    """A page of assessments, newest first.

    Args:
        before: only those with smaller numbers: the older ones.
        after: only those with larger numbers, the nearest ones: a page back.
        clock: seconds; a search in texts ends :data:`SEARCH_S` after it began.
    """
    back = after is not None and before is None
    edge = after if back else before
    search = _Search(connection, wanted, back, clock)
    found, looked = search.found(edge, limit + 1)
    full, lines = len(found) > limit, _with_texts(connection, found[:limit])
    beyond = lines[-1].number if full else looked  # where the next page begins in this direction; None at its end
    start = lines[0].number if lines else None if edge is None else edge + (1 if back else -1)
    cut_short = looked is not None and not full
    counted = (search.searched, _total(connection, wanted)) if cut_short else (0, 0)
    if not back:
        return AssessmentLines(tuple(lines), beyond, None if edge is None else start, cut_short, *counted)
    return AssessmentLines(tuple(reversed(lines)), start, beyond, cut_short, *counted)


class _Search:
    """The nearest assessments beyond a number, a window at a time where texts have to be read."""

    def __init__(
        self, connection: Connection, wanted: AssessmentFilter, back: bool, clock: Callable[[], float]
    ) -> None:
        self._connection = connection
        self._wanted = wanted
        self._back = back
        self._clock = clock
        self.searched = 0

    def found(self, edge: int | None, count: int) -> tuple[list[AssessmentLine], int | None]:
        """At most ``count`` lines, and the last number searched if the time was over before the end."""
        if not self._wanted.reads_texts:
            numbers = _numbers(self._connection, self._wanted, edge, count, self._back)
            return _lines(self._connection, self._wanted, numbers, count, self._back), None
        deadline = self._clock() + SEARCH_S
        found: list[AssessmentLine] = []
        window = WINDOW
        while numbers := _numbers(self._connection, self._wanted, edge, window, self._back):
            edge, window = numbers[-1], min(window * GROWTH, max(LARGEST_WINDOW, WINDOW))
            looked = self._among(numbers, count - len(found), found, deadline)
            self.searched += len(numbers)
            if len(found) == count:
                return found, None
            if looked is not None or self._clock() > deadline:
                return found, edge if looked is None else looked
        return found, None

    def _among(self, numbers: Sequence[int], count: int, found: list[AssessmentLine], deadline: float) -> int | None:
        """Adds lines of a window; the last number checked if the time was over within it."""
        lines = _lines(self._connection, self._wanted, numbers, len(numbers), self._back)
        text = self._wanted.text
        for place in range(0, len(lines), _CHECKED):
            some = lines[place : place + _CHECKED]
            fitting = some if text is None else _containing(self._connection, some, text)
            found += fitting[:count]
            count -= min(count, len(fitting))
            if not count:
                return None
            if self._clock() > deadline and place + _CHECKED < len(lines):
                return some[-1].number
        return None


def _total(connection: Connection, wanted: AssessmentFilter) -> int:
    """How many lines meet the filters on short columns."""
    conditions, table = _short(connection, wanted)
    return int(only_row(connection, f"SELECT count(*) FROM {table} lines WHERE {conditions}", conditions.values)[0])  # noqa: S608


def _with_texts(connection: Connection, lines: Sequence[AssessmentLine]) -> list[AssessmentLine]:
    """The lines with their categories, their questions' first words and their verdicts."""
    read = about(connection, [line.number for line in lines])
    found = []
    for line in lines:
        one = read[line.number]
        question = question_of(one.item)
        verdict = None if one.judgment is None else orjson.loads(one.judgment).get("verdict")
        found.append(
            replace(
                line,
                category=one.category,
                question=None if question is None else excerpt(question),
                verdict=None if verdict is None else str(parse_verdict(verdict)),
            )
        )
    return found


def _containing(connection: Connection, lines: Sequence[AssessmentLine], text: str) -> list[AssessmentLine]:
    """The lines with a text in an id, the judge's name, the question, a response or the rationale.

    The database's condition also finds it in names of fields.
    """
    read = about(connection, [line.number for line in lines])
    return [line for line in lines if _contains(line, read[line.number], text)]


def _contains(line: AssessmentLine, found: About, text: str) -> bool:
    item = {} if found.item is None else orjson.loads(found.item)
    said = {} if found.judgment is None else orjson.loads(found.judgment)
    places = (line.judgment_id, line.item_id, line.judge, item.get("question"), item.get("responses"))
    return any(contains(one, text) for place in (*places, said.get("rationale")) for one in texts_in(place))


def _numbers(connection: Connection, wanted: AssessmentFilter, edge: int | None, count: int, back: bool) -> list[int]:
    """The nearest numbers of lines whose short columns fit."""
    conditions, table = _short(connection, wanted)
    if edge is not None:
        conditions.add("number > {}" if back else "number < {}", edge)
    order = f"ORDER BY number {'ASC' if back else 'DESC'} LIMIT {int(count)}"
    query = f"SELECT number FROM {table} lines WHERE {conditions} {order}"  # noqa: S608 - our own text
    return [number for (number,) in connection.execute(query, conditions.values).fetchall()]


def _lines(
    connection: Connection, wanted: AssessmentFilter, numbers: Sequence[int], count: int, back: bool
) -> list[AssessmentLine]:
    if not numbers:
        return []
    conditions = _Conditions()
    conditions.add("v.number BETWEEN {} AND {}", min(numbers), max(numbers))
    conditions.add(among(connection, "v.number", "{}"), list(numbers))
    _add_long(conditions, wanted)
    table = f"{versions()} v" if wanted.text is None else _with_texts_of(connection, numbers)
    query = (
        f"SELECT {_LINE} FROM {table} WHERE {conditions} "  # noqa: S608 - our own text
        f"ORDER BY v.number {'ASC' if back else 'DESC'} LIMIT {int(count)}"
    )
    return [_line(row) for row in connection.execute(query, conditions.values).fetchall()]


def _with_texts_of(connection: Connection, numbers: Sequence[int]) -> str:
    """Versions beside the rows of their judgments and items.

    DuckDB has no index of digests: to join it would read the texts of all rows. It is told between which rows these
    stand, which costs a pass over the digests: texts stand in the order in which they came, and so do versions.
    """
    judgments, items = "judgments", "items"
    if in_file(connection):
        named = connection.execute(
            f"SELECT judgment_digest FROM {versions()} v WHERE number BETWEEN $1 AND $2 "  # noqa: S608 - our own text
            "AND number IN (SELECT unnest($3::BIGINT[]))",
            [min(numbers), max(numbers), list(numbers)],
        ).fetchall()
        digests = [digest for (digest,) in named]
        judgments = _span(connection, judgments, "judgment_digest IN (SELECT unnest($1::VARCHAR[]))", [digests])
        items = _span(connection, items, f"item_digest IN (SELECT item_digest FROM {judgments} j)", [])  # noqa: S608
    return (
        f"{versions()} v LEFT JOIN {judgments} j ON j.judgment_digest = v.judgment_digest "
        f"LEFT JOIN {items} i ON i.item_digest = j.item_digest"
    )


def _span(connection: Connection, table: str, condition: str, values: Sequence[Any]) -> str:
    """The rows of a table of a DuckDB file from the first to the last that meets a condition."""
    first, last = only_row(
        connection,
        f"SELECT coalesce(min(rowid), 0), coalesce(max(rowid), -1) FROM {table} WHERE {condition}",  # noqa: S608
        values,
    )
    return f"(SELECT * FROM {table} WHERE rowid BETWEEN {int(first)} AND {int(last)})"  # noqa: S608 - numbers


def _short(connection: Connection, wanted: AssessmentFilter) -> tuple[_Conditions, str]:
    """The filters on short columns, and the versions that they are for."""
    found, table = _Conditions(), CURRENT
    if wanted.judge is not None:
        found.add("judge = {}", wanted.judge)
    if wanted.outcome is not None:
        found.add(_OUTCOMES[wanted.outcome])
    if wanted.decision is not None:
        found.add("action = {}", wanted.decision)
    if wanted.strategy is not None:
        found.add("strategy = {}", wanted.strategy)
    if wanted.panel is not None:
        found.add("strpos(panel_digest, {}) = 1", wanted.panel)
    if wanted.item is not None:
        found.add("item_id = {}", wanted.item)
    if wanted.name is not None:
        found.add("(judgment_id = {} OR item_id = {})", wanted.name, wanted.name)
    if wanted.run is not None:
        found.add("run_id = {}", wanted.run)
        if span := current_span(connection, wanted.run):
            found.add("number BETWEEN {} AND {}", *span)
        else:
            found.add(newest_among("run_id = {}"), wanted.run)
            table = versions()
    if wanted.since is not None:
        found.add("created_at >= {}", wanted.since)
    if wanted.until is not None:
        found.add("created_at < {}", wanted.until)
    if wanted.without:
        found.add("judgment_id NOT IN (SELECT unnest({}::VARCHAR[]))", list(wanted.without))
    return found, table


def _add_long(conditions: _Conditions, wanted: AssessmentFilter) -> None:
    if wanted.agent is not None:
        conditions.add(
            "EXISTS (SELECT 1 FROM agent_scores s WHERE s.assessment_id = v.assessment_id AND s.agent = {})",
            wanted.agent,
        )
    if wanted.text is not None:
        written = as_in_json(wanted.text)
        conditions.add(
            "(strpos(lower(v.judgment_id), lower({})) > 0 OR strpos(lower(v.item_id), lower({})) > 0 OR "
            "strpos(lower(v.judge), lower({})) > 0 OR strpos(lower(i.payload), lower({})) > 0 OR "
            "strpos(lower(j.payload), lower({})) > 0)",
            *(wanted.text, wanted.text, wanted.text, written, written),
        )


def _line(row: Sequence[Any]) -> AssessmentLine:
    values: list[Any] = [Status(value) if place == _STATUS else value for place, value in enumerate(row)]
    return AssessmentLine(*values)


def kept_assessment(connection: Connection, number: int) -> KeptAssessment | None:
    """Everything about the version with this number; None if missing."""
    rows = connection.execute(
        f"SELECT {_LINE}, v.judgment_digest, v.assessment_id, v.payload, v.annotation FROM {versions()} v "  # noqa: S608
        "WHERE v.number = $1",
        [number],
    ).fetchall()
    if not rows:
        return None
    *row, judgment_digest, assessment_id, payload, annotation = rows[0]
    category = about(connection, [number])[number].category
    line = replace(_line(row), category=category)
    ids = connection.execute("SELECT assessment_id FROM assessments WHERE judgment_digest = $1", [judgment_digest])
    assessments = [one for (one,) in ids.fetchall()]
    same = "assessment_id BETWEEN $3 AND $4 AND assessment_id IN (SELECT unnest($1::BIGINT[]))"

    def further(condition: str) -> tuple[AssessmentLine, ...]:
        query = f"SELECT {_LINE} FROM {versions()} v WHERE {same} AND {condition} LIMIT {_NAMED}"  # noqa: S608
        values = [assessments, line.panel_digest, min(assessments), max(assessments)]
        return tuple(replace(_line(row), category=category) for row in connection.execute(query, values).fetchall())

    of_panel = further("v.panel_digest = $2 ORDER BY v.assessment_id DESC, v.number DESC")
    return KeptAssessment(
        line,
        annotated(payload, annotation),
        orjson.dumps(annotated_data(payload, annotation)).decode(),
        queries.find_judgment(connection, judgment_digest, line.judgment_id),
        _attempts(connection, assessment_id),
        of_panel[0].number,
        tuple(one for one in of_panel if one.number != number),
        further(f"v.panel_digest <> $2 AND v.{newest_among(f'{same} AND panel_digest <> $2')} ORDER BY v.number DESC"),
    )


def _attempts(connection: Connection, assessment_id: int) -> tuple[Attempt, ...]:
    rows = connection.execute(
        "SELECT call_id, key, run_id, model, reply_model, draw, attempt, status, started_at, latency_s, input_tokens, "
        "output_tokens, cost_usd, failure_kind, failure_message, http_status FROM calls WHERE key IN "
        "(SELECT request_key FROM agent_scores WHERE assessment_id = $1) ORDER BY call_id DESC LIMIT 500",
        [assessment_id],
    ).fetchall()
    return tuple(Attempt(*row) for row in reversed(rows))


def names(connection: Connection) -> Names:
    """The judges, agents, strategies and panels in the store, the most frequent of each."""
    agents = connection.execute(
        f"SELECT agent, count(*) AS n FROM agent_scores GROUP BY agent ORDER BY n DESC, agent LIMIT {_NAMED}"  # noqa: S608
    ).fetchall()
    return Names(
        judges=frequent(connection, "judge", _NAMED),
        agents=tuple(name for name, _ in agents),
        strategies=frequent(connection, "strategy", _NAMED),
        panels=frequent(connection, "panel_digest", _NAMED),
    )
