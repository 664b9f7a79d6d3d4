"""The newest assessment of every judgment by every panel, by filters, a page at a time. SQL that both databases
understand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from metajudge.store.newest import is_newest
from metajudge.store.sql import Connection
from metajudge.types import Assessment, Status

WINDOW: Final = 5_000
"""Assessments whose texts are looked into by one query: a condition on texts holds them in memory."""

NUMBERS: Final = 50_000
"""Numbers of assessments found by one query where their texts have to be looked into."""

_COLUMNS: Final = ("judge", "item_id", "judgment_id", "status", "accepted")


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

    @property
    def patterns(self) -> tuple[str, ...]:
        """What stands in an assessment's JSON where these fields fit.

        Quotes within any text are escaped there, so a text cannot hold them.
        """
        wanted = (("category", self.category), ("action", self.decision))
        return tuple(f'"{name}":{orjson.dumps(value).decode()}' for name, value in wanted if value is not None)


@dataclass(frozen=True, slots=True)
class NewestPage:
    """A page, oldest first.

    Attributes:
        found: assessments with their numbers.
        next_cursor: the number after which more of them fit; None where none does.
    """

    found: tuple[tuple[int, Assessment], ...]
    next_cursor: int | None


def newest_fitting(connection: Connection, wanted: NewestFilter, after: int, limit: int) -> NewestPage:
    """A page of those that fit; it is full unless nothing more fits.

    Args:
        after: the cursor of the page before; 0 for the first page.
    """
    rows: list[tuple[int, str]] = []
    for numbers in _candidates(connection, wanted, after, limit + 1):
        rows += _rows(connection, numbers, wanted.patterns, limit + 1 - len(rows))
        if len(rows) > limit:
            break
    found = tuple((number, Assessment.model_validate_json(payload)) for number, payload in rows[:limit])
    return NewestPage(found, found[-1][0] if len(rows) > limit else None)


def _candidates(connection: Connection, wanted: NewestFilter, after: int, count: int) -> Iterator[list[int]]:
    """Numbers of those whose short columns fit, ascending, in lists of at most :data:`WINDOW`."""
    most = NUMBERS if wanted.patterns else count
    conditions, values = ["a.assessment_id > $1", is_newest("a")], []
    for name in _COLUMNS:
        value = getattr(wanted, name)
        if value is not None:
            values.append(value.value if isinstance(value, Status) else value)
            conditions.append(f"a.{name} = ${len(values) + 1}")
    query = (
        f"SELECT a.assessment_id FROM assessments a WHERE {' AND '.join(conditions)} "  # noqa: S608 - our own text
        f"ORDER BY a.assessment_id LIMIT {int(most)}"
    )
    while True:
        numbers = [number for (number,) in connection.execute(query, [after, *values]).fetchall()]
        for place in range(0, len(numbers), WINDOW):
            yield numbers[place : place + WINDOW]
        if len(numbers) < most:
            return
        after = numbers[-1]


def _rows(connection: Connection, numbers: Sequence[int], patterns: Sequence[str], count: int) -> list[tuple[int, str]]:
    """The first of these assessments whose texts hold all patterns, with their texts."""
    values: list[Any] = [list(numbers), numbers[0], numbers[-1], *patterns]
    holds = "".join(f" AND strpos(payload, ${place}) > 0" for place in range(4, 4 + len(patterns)))
    return connection.execute(
        "SELECT assessment_id, payload FROM assessments WHERE assessment_id BETWEEN $2 AND $3 "  # noqa: S608
        f"AND assessment_id IN (SELECT unnest($1::BIGINT[])){holds} ORDER BY assessment_id LIMIT {int(count)}",
        values,
    ).fetchall()
