"""Search over what was stored besides assessments: cases, clashes, reviews that wait, and runs.

Assessments are searched by :func:`metajudge.store.browsing.page_of_assessments`.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import orjson

from metajudge.store import texts
from metajudge.store.sql import Connection
from metajudge.store.texts import as_in_json, contains, excerpt, texts_in

SEARCH_S: Final = 1.0
"""A search of reviews ends so many seconds after it began."""

_PAGE: Final = 200
_CLASH: Final = "clash"
Kind = Literal["judgment", "clash", "case"]


@dataclass(frozen=True, slots=True)
class ReviewHit:
    """A review that was found.

    Attributes:
        about: first words of the question, or of the case's texts; the item's id if there are no texts.
        subject_id: of the judgment, clash or case; an id may name a judge.
        hidden: whether the person still has to decide it blind: only ``about`` and the category may then be shown.
    """

    review_id: str
    kind: Kind
    about: str
    subject_id: str
    judge: str | None
    category: str | None
    opened_at: float
    hidden: bool


@dataclass(frozen=True, slots=True)
class ReviewHits:
    """Reviews, newest first.

    Attributes:
        searched: how many reviews were looked at, of ``total``; fewer if the time was over or ``hits`` is full.
    """

    hits: tuple[ReviewHit, ...]
    searched: int
    total: int


@dataclass(frozen=True, slots=True)
class CaseHit:
    """A judged case that was found by its id, by its newest record; ``action`` is the policy's decision."""

    case_id: str
    recorded_at: float
    action: str | None


@dataclass(frozen=True, slots=True)
class RunHit:
    """A run that was found by its id, its command or its settings."""

    run_id: str
    command: str
    started_at: float


def search_reviews(
    connection: Connection,
    text: str,
    *,
    hidden: frozenset[str] = frozenset(),
    limit: int = 25,
    clock: Callable[[], float] = time.monotonic,
) -> ReviewHits:
    """Reviews of cases and clashes with a text, and those of judgments that are hidden.

    Of hidden subjects the texts that a reviewer sees are searched alone: a hit by a judge's name, a candidate's name or
    an id would say what the review hides.

    Args:
        hidden: ids of subjects that the person still has to decide blind. Reviews of other judgments are not
            searched, as their assessments are.
        clock: seconds; the search ends :data:`SEARCH_S` after it began.
    """
    deadline = clock() + SEARCH_S
    hits: list[ReviewHit] = []
    searched = 0
    for rows in _pages(connection):
        some = [row for row in rows if _kind(row) != "judgment" or row["subject_id"] in hidden]
        questions = _questions(connection, some)
        searched += len(rows)
        for row in some:
            is_hidden = row["subject_id"] in hidden
            if any(contains(one, text) for one in _searched(row, questions, is_hidden) if one):
                hits.append(_hit(row, questions, is_hidden))
        if len(hits) >= limit or clock() > deadline:
            break
    (total,) = connection.row("SELECT count(*) FROM reviews")
    return ReviewHits(tuple(hits[:limit]), searched, int(total))


def reviews_named(connection: Connection, name: str, *, hidden: frozenset[str] = frozenset()) -> ReviewHits:
    """The newest reviews with this id, and those of cases and clashes with it; none about hidden subjects.

    Args:
        hidden: as for :func:`search_reviews`.
    """
    query = f"""SELECT payload FROM reviews WHERE NOT redacted AND (review_id = $1 OR subject_id = $1 OR item_id = $1)
        AND subject_id NOT IN (SELECT unnest($2::VARCHAR[])) ORDER BY opened_at DESC, review_id DESC LIMIT {_PAGE}"""  # noqa: S608
    found = [orjson.loads(payload) for (payload,) in connection.rows(query, [name, sorted(hidden)])]
    reviews = [row for row in found if row["review_id"] == name or _kind(row) != "judgment"]
    questions = _questions(connection, reviews)
    hits = [_hit(row, questions, is_hidden=False) for row in reviews]
    return ReviewHits(tuple(hits), len(hits), len(hits))


def _pages(connection: Connection) -> Iterator[list[dict[str, Any]]]:
    """Reviews as plain data, newest first, some at a time."""
    before: tuple[float, str] | None = None
    while True:
        rows = connection.rows(
            f"""SELECT opened_at, review_id, payload FROM reviews WHERE NOT redacted AND ($1::FLOAT8 IS NULL OR
                opened_at < $1 OR (opened_at = $1 AND review_id < $2))
                ORDER BY opened_at DESC, review_id DESC LIMIT {_PAGE}""",  # noqa: S608
            [None, ""] if before is None else [*before],
        )
        if not rows:
            return
        before = rows[-1][0], rows[-1][1]
        yield [orjson.loads(payload) for _, _, payload in rows]


def about_review(connection: Connection, review_id: str) -> str | None:
    """First words of what a reviewer reads in a review; None if it is unknown or its texts were deleted."""
    rows = connection.rows("SELECT payload FROM reviews WHERE review_id = $1 AND NOT redacted", [review_id])
    if not rows:
        return None
    row = orjson.loads(rows[0][0])
    shown = _shown_texts(row, _questions(connection, [row]))
    return excerpt(shown[0]) if shown else None


def _questions(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The questions of those that are of judgments, by the judgment's digest."""
    return texts.questions(connection, [row["subject_digest"] for row in rows if _kind(row) == "judgment"])


def _searched(row: Mapping[str, Any], questions: Mapping[str, str], is_hidden: bool) -> list[str | None]:
    """The texts of a review by which it is found."""
    named = () if is_hidden else (row["review_id"], row["subject_id"], row["item_id"], row["judge"], *_names(row))
    return [*_shown_texts(row, questions), *named]


def _hit(row: Mapping[str, Any], questions: Mapping[str, str], is_hidden: bool) -> ReviewHit:
    shown = _shown_texts(row, questions)
    about = excerpt(shown[0]) if shown else row["item_id"] if not is_hidden else row["review_id"]
    kept = (row[name] for name in ("subject_id", "judge", "category", "opened_at"))
    values: list[Any] = [row["review_id"], _kind(row), about, *kept, is_hidden]
    return ReviewHit(*values)


def _kind(row: Mapping[str, Any]) -> Kind:
    if row["subject"] == "judgment":
        return "judgment"
    return "clash" if _CLASH in (row.get("content") or {}) else "case"


def _shown_texts(row: Mapping[str, Any], questions: Mapping[str, str]) -> list[str]:
    """What is shown to everybody who may open the review."""
    kind, content = _kind(row), row.get("content") or {}
    if kind == "judgment":
        found = questions.get(row["subject_digest"])
        return [] if not found else [found]
    if kind == "clash":
        return [found] if (found := content[_CLASH].get("question")) else []
    stages = [stage for stage in content.values() if isinstance(stage, Mapping)]
    return [one for stage in stages for part in ("context", "output") for one in texts_in(stage.get(part))]


def _names(row: Mapping[str, Any]) -> list[str]:
    """Names within a clash."""
    if _kind(row) != "clash":
        return []
    clash = row["content"][_CLASH]
    return [*(one.get("name", "") for one in clash.get("candidates", ())), *clash.get("panel", ())]


def search_cases(
    connection: Connection, text: str, *, without: frozenset[str] = frozenset(), limit: int = 25
) -> list[CaseHit]:
    """Judged cases by their id, newest first, also those that no person was asked about.

    Args:
        without: ids of cases that the person still has to decide blind.
    """
    rows = connection.rows(
        f"""SELECT subject, recorded_at, payload FROM audit_log WHERE entry_id IN (SELECT max(entry_id) FROM
            audit_log WHERE kind = 'case' AND strpos(lower(subject), lower($1)) > 0 AND subject NOT IN (SELECT
            unnest($2::VARCHAR[])) GROUP BY subject) ORDER BY entry_id DESC LIMIT {int(limit)}""",  # noqa: S608
        [text, sorted(without)],
    )
    decisions = [(orjson.loads(payload).get("decision") or {}).get("action") for _, _, payload in rows]
    return [CaseHit(case_id, at, action) for (case_id, at, _), action in zip(rows, decisions, strict=True)]


def search_runs(connection: Connection, text: str, *, limit: int = 25) -> list[RunHit]:
    """Runs by their id, their command or a text in their settings, newest first."""
    query = f"""SELECT run_id, command, started_at FROM runs WHERE strpos(lower(run_id), lower($1)) > 0
        OR strpos(lower(command), lower($1)) > 0 OR strpos(lower(config), lower($2)) > 0
        ORDER BY started_at DESC, run_id DESC LIMIT {int(limit)}"""  # noqa: S608
    return [RunHit(*row) for row in connection.rows(query, [text, as_in_json(text)])]
