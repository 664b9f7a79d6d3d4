"""The newest assessment of every judgment by every panel, by filters, a page at a time. SQL for both
databases.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from metajudge.store.annotations import annotated
from metajudge.store.sql import Connection
from metajudge.store.versions import current_page, versions
from metajudge.types import Assessment, Status

WINDOW: Final = 5_000
"""Versions whose texts one query searches: a condition on texts keeps them in memory."""

NUMBERS: Final = 50_000
"""Numbers of versions selected by one query if their texts have to be searched."""

_COLUMNS: Final = {
    "judge": "judge",
    "item_id": "item_id",
    "judgment_id": "judgment_id",
    "status": "status",
    "accepted": "accepted",
    "decision": "action",
}


@dataclass(frozen=True, slots=True)
class NewestFilter:
    """Which assessments; None filters nothing.

    Attributes:
        category: the item's, as the judgment was vetted with it.
        decision: a policy's action, such as ``REVIEW``.
    """

    judge: str | None = None
    item_id: str | None = None
    judgment_id: str | None = None
    status: Status | None = None
    accepted: bool | None = None
    category: str | None = None
    decision: str | None = None


@dataclass(frozen=True, slots=True)
class NewestPage:
    """A page, oldest first.

    Attributes:
        found: assessments with their numbers.
        next_cursor: the number after which the next page begins; None if there is none.
    """

    found: tuple[tuple[int, Assessment], ...]
    next_cursor: int | None


def newest_fitting(connection: Connection, wanted: NewestFilter, after: int, limit: int) -> NewestPage:
    """A page of matching assessments; full unless there are no more matches.

    Args:
        after: the cursor of the page before; 0 for the first page.
    """
    # Quotes within any text are escaped in JSON, so no text can contain this.
    pattern = None if wanted.category is None else f'"category":{orjson.dumps(wanted.category).decode()}'
    rows: list[tuple[int, str, str | None]] = []
    for numbers in _candidates(connection, wanted, after, limit + 1):
        rows += _rows(connection, numbers, pattern, limit + 1 - len(rows))
        if len(rows) > limit:
            break
    found = tuple((number, annotated(payload, annotation)) for number, payload, annotation in rows[:limit])
    return NewestPage(found, found[-1][0] if len(rows) > limit else None)


def _candidates(connection: Connection, wanted: NewestFilter, after: int, count: int) -> Iterator[list[int]]:
    """Numbers of those whose short columns fit, ascending, in lists of at most :data:`WINDOW`."""
    most = count if wanted.category is None else NUMBERS
    given = {column: getattr(wanted, name) for name, column in _COLUMNS.items() if getattr(wanted, name) is not None}
    conditions = ["number > $1", *(f"{column} = ${place}" for place, column in enumerate(given, 2))]
    query = current_page(" AND ".join(conditions), most)
    while True:
        numbers = [number for (number,) in connection.execute(query, [after, *given.values()]).fetchall()]
        for place in range(0, len(numbers), WINDOW):
            yield numbers[place : place + WINDOW]
        if len(numbers) < most:
            return
        after = numbers[-1]


def _rows(
    connection: Connection, numbers: Sequence[int], pattern: str | None, count: int
) -> list[tuple[int, str, str | None]]:
    """The first of these versions whose texts contain the pattern, with their texts."""
    return connection.execute(
        f"SELECT number, payload, annotation FROM {versions()} found WHERE number BETWEEN $2 AND $3 "  # noqa: S608
        "AND number IN (SELECT unnest($1::BIGINT[])) AND ($4::VARCHAR IS NULL OR strpos(payload, $4) > 0) "
        f"ORDER BY number LIMIT {int(count)}",
        [list(numbers), numbers[0], numbers[-1], pattern],
    ).fetchall()
