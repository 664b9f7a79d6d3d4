"""Lists of assessments by filters, newest first, and the details of one.

A list has one line for each judgment and panel, its current version (:mod:`metajudge.store.versions`).
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import orjson

from metajudge.store import queries
from metajudge.store.rows import annotated, annotated_data
from metajudge.store.sql import PAGE, Connection, pages
from metajudge.store.texts import About, about, contains, excerpt, question_of, texts_in
from metajudge.store.versions import CURRENT, newest_of_its_run, versions
from metajudge.types import Assessment, Judgment, Status, parse_verdict

Outcome = Literal["kept", "not_kept", "asked", "unscored", "failed"]
"""The result of vetting: accepted, not accepted, too few answers, or no agent could be asked."""

SEARCH_S: Final = 2.0
"""Filters on texts and agents read versions from the newest on until a page is full or so many seconds have passed."""

_NUMBERS: Final = 20_000
_CHECKED: Final = 200
"""Numbers, and texts, in memory at a time."""

_NAMED: Final = 50

_OUTCOMES: Final = {
    "kept": "accepted",
    "not_kept": "NOT accepted",
    "asked": "status = 'assessed' AND accepted IS NULL",
    "unscored": "status = 'unscored'",
    "failed": "status = 'failed'",
}
_FILTERS: Final = {
    "judge": "judge = {0}",
    "decision": "action = {0}",
    "strategy": "strategy = {0}",
    "panel": "strpos(panel_digest, {0}) = 1",
    "item": "item_id = {0}",
    "judgment": "judgment_id = {0}",
    "status": "status = {0}",
    "accepted": "accepted = {0}",
    "name": "(judgment_id = {0} OR item_id = {0})",
    "run": f"run_id = {{0}} AND {newest_of_its_run('lines')}",
    "since": "created_at >= {0}",
    "until": "created_at < {0}",
}
_LINE: Final = (
    "v.number, v.created_at, v.run_id, v.judgment_id, v.item_id, v.judge, v.status, v.final_score, v.accepted, "
    "v.strategy, v.panel_digest, v.probability, v.action"
)


@dataclass(frozen=True, slots=True)
class AssessmentFilter:
    """Which of the current versions; None filters nothing.

    Attributes:
        decision: a policy's action, such as ``REVIEW``.
        agent: name of an agent on the panel.
        panel: digest of a panel, or a prefix of it.
        run: a run's id; the versions are then the newest of this run, even if others kept newer ones.
        text: searched for, ignoring case, in the ids, the judge's name, the question, the responses and the rationale.
        item, judgment: an id.
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
    judgment: str | None = None
    status: Status | None = None
    accepted: bool | None = None
    name: str | None = None
    since: float | None = None
    until: float | None = None
    without: tuple[str, ...] = ()


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
class KeptAssessment:
    """Everything about one assessment.

    Attributes:
        judgment: None if its texts were forgotten.
        attempts: the HTTP requests of its calls, oldest first, by column, including reused ones of earlier runs.
        current: number of the current version of this judgment by this panel.
        history: the other versions of this judgment by this panel, newest first.
        others: the current version of each other panel about the same judgment, newest first.
    """

    line: AssessmentLine
    assessment: Assessment
    payload: str
    judgment: Judgment | None
    attempts: tuple[dict[str, Any], ...]
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
    found, looked, searched = _search(connection, wanted, edge, limit + 1, back, clock)
    full, lines = len(found) > limit, _with_texts(connection, found[:limit])
    beyond = lines[-1].number if full else looked  # where the next page begins in this direction; None at its end
    start = lines[0].number if lines else None if edge is None else edge + (1 if back else -1)
    cut_short = looked is not None and not full
    fitting, values = _short(wanted)  # the filters on short columns
    total = f"SELECT count(*) {fitting}"
    counted = (searched, int(connection.row(total, values)[0])) if cut_short else (0, 0)
    if not back:
        return AssessmentLines(tuple(lines), beyond, None if edge is None else start, cut_short, *counted)
    return AssessmentLines(tuple(reversed(lines)), start, beyond, cut_short, *counted)


def _search(
    connection: Connection,
    wanted: AssessmentFilter,
    edge: int | None,
    count: int,
    back: bool,
    clock: Callable[[], float],
) -> tuple[list[AssessmentLine], int | None, int]:
    """At most so many of the nearest lines beyond a number.

    Returns:
        The lines, the last number searched if the time was over before the end, and how many were searched.
    """
    if wanted.text is None and wanted.agent is None:
        return _lines(connection, wanted, _numbers(connection, wanted, edge, count, back), back), None, 0
    deadline = clock() + SEARCH_S
    found: list[AssessmentLine] = []
    searched = 0
    while numbers := _numbers(connection, wanted, edge, _NUMBERS, back):
        for some in pages(numbers, _CHECKED):
            edge = some[-1]
            searched += len(some)
            found += _lines(connection, wanted, some, back)
            if len(found) >= count:
                return found[:count], None, searched
            if clock() > deadline:
                return found, edge, searched
    return found, None, searched


def _numbers(connection: Connection, wanted: AssessmentFilter, edge: int | None, count: int, back: bool) -> list[int]:
    """The nearest numbers of lines whose short columns fit."""
    fitting, values = _short(wanted, "number > {0}" if back else "number < {0}", edge)
    return connection.column(
        f"SELECT number {fitting} ORDER BY number {'ASC' if back else 'DESC'} LIMIT {int(count)}", values
    )


def _lines(
    connection: Connection, wanted: AssessmentFilter, numbers: Sequence[int], back: bool
) -> list[AssessmentLine]:
    """The lines with these numbers whose agents and texts fit."""
    query = (
        f"SELECT {_LINE} FROM {versions()} v WHERE v.number = ANY($1::BIGINT[]) AND ($2::VARCHAR IS NULL OR EXISTS "  # noqa: S608
        "(SELECT 1 FROM agent_scores s WHERE s.assessment_id = v.assessment_id AND s.agent = $2)) "
        f"ORDER BY v.number {'ASC' if back else 'DESC'}"
    )
    lines = [_line(row) for row in connection.rows(query, [list(numbers), wanted.agent])]
    if wanted.text is None:
        return lines
    read = about(connection, [line.number for line in lines])
    return [line for line in lines if _contains(line, read[line.number], wanted.text)]


def _contains(line: AssessmentLine, found: About, text: str) -> bool:
    """Whether a text is in an id, the judge's name, the question, a response or the rationale."""
    item = {} if found.item is None else orjson.loads(found.item)
    said = {} if found.judgment is None else orjson.loads(found.judgment)
    places = (line.judgment_id, line.item_id, line.judge, item.get("question"), item.get("responses"))
    return any(contains(one, text) for place in (*places, said.get("rationale")) for one in texts_in(place))


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


def _short(wanted: AssessmentFilter, beyond: str = "", edge: int | None = None) -> tuple[str, list[Any]]:
    """What a query for lines whose short columns fit goes on with, and its values."""
    given = {text: value for name, text in _FILTERS.items() if (value := getattr(wanted, name)) is not None}
    if wanted.without:
        given["judgment_id NOT IN (SELECT unnest({0}::VARCHAR[]))"] = list(wanted.without)
    if edge is not None:
        given[beyond] = edge
    conditions = [text.format(f"${place}") for place, text in enumerate(given, 1)]
    if wanted.outcome is not None:
        conditions.append(_OUTCOMES[wanted.outcome])
    table = CURRENT if wanted.run is None else versions()
    return f"FROM {table} lines WHERE {' AND '.join(conditions) or 'true'}", list(given.values())


def _line(row: Sequence[Any], category: str | None = None) -> AssessmentLine:
    """From the columns of ``_LINE``; the category comes from the item."""
    values: list[Any] = [*row[:6], category, Status(row[6]), *row[7:]]
    return AssessmentLine(*values)


@dataclass(frozen=True, slots=True)
class NewestPage:
    """A page, oldest first.

    Attributes:
        found: assessments with their numbers.
        next_cursor: the number after which the next page begins; None if there is none.
    """

    found: tuple[tuple[int, Assessment], ...]
    next_cursor: int | None


def newest_fitting(
    connection: Connection, wanted: AssessmentFilter, after: int, limit: int, category: str | None = None
) -> NewestPage:
    """A page of matching assessments; full unless there are no more matches.

    Args:
        after: the cursor of the page before; 0 for the first page.
        category: the item's, as the judgment was vetted with it; None for all.
    """
    # Quotes within any text are escaped in JSON, so no text can contain this.
    text = "" if category is None else f'"category":{orjson.dumps(category).decode()}'
    most = PAGE if text else limit + 1
    found: list[tuple[int, Assessment]] = []
    more = True
    while more and len(found) <= limit:
        numbers = _numbers(connection, wanted, after, most, back=True)
        found += queries.assessments_at(connection, numbers, text)
        after, more = numbers[-1] if numbers else after, len(numbers) == most
    page = tuple(found[:limit])
    return NewestPage(page, page[-1][0] if len(found) > limit else None)


def kept_assessment(connection: Connection, number: int) -> KeptAssessment | None:
    """Everything about the version with this number; None if missing."""
    own = f"{_LINE}, v.judgment_digest, v.assessment_id, v.payload, v.annotation"
    rows = connection.rows(f"SELECT {own} FROM {versions()} v WHERE v.number = $1", [number])  # noqa: S608
    if not rows:
        return None
    *row, judgment_digest, assessment_id, payload, annotation = rows[0]
    category = about(connection, [number])[number].category
    line = _line(row, category)

    def further(condition: str) -> tuple[AssessmentLine, ...]:
        query = f"SELECT {_LINE} FROM {versions()} v WHERE v.judgment_digest = $1 AND {condition} LIMIT {_NAMED}"  # noqa: S608
        return tuple(_line(row, category) for row in connection.rows(query, [judgment_digest, line.panel_digest]))

    current = f"EXISTS (SELECT 1 FROM {CURRENT} l WHERE l.number = v.number)"  # noqa: S608
    of_panel = further("v.panel_digest = $2 ORDER BY v.assessment_id DESC, v.number DESC")
    return KeptAssessment(
        line,
        annotated(payload, annotation),
        orjson.dumps(annotated_data(payload, annotation)).decode(),
        queries.find_judgment(connection, judgment_digest),
        _attempts(connection, assessment_id),
        of_panel[0].number,
        tuple(one for one in of_panel if one.number != number),
        further(f"v.panel_digest <> $2 AND {current} ORDER BY v.number DESC"),
    )


def _attempts(connection: Connection, assessment_id: int) -> tuple[dict[str, Any], ...]:
    found = connection.named(
        """SELECT key, run_id, model, reply_model AS reported_model, draw, attempt, status, started_at, latency_s,
            input_tokens, output_tokens, cost_usd, failure_kind, failure_message, http_status FROM calls WHERE key IN
            (SELECT request_key FROM agent_scores WHERE assessment_id = $1) ORDER BY call_id DESC LIMIT 500""",
        [assessment_id],
    )
    return tuple(reversed(found))


def names(connection: Connection) -> Names:
    """The judges, agents, strategies and panels in the store, the most frequent of each."""

    def frequent(column: str, table: str = CURRENT) -> tuple[str, ...]:
        query = f"SELECT {column} FROM {table} GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT {_NAMED}"  # noqa: S608
        return tuple(connection.column(query))

    return Names(frequent("judge"), frequent("agent", "agent_scores"), frequent("strategy"), frequent("panel_digest"))
