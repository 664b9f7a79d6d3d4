"""The newest assessment of every judgment by every panel, by filters, a page at a time."""

from dataclasses import asdict, dataclass

import orjson

from metajudge.store.queries import assessments_at
from metajudge.store.sql import PAGE, Connection
from metajudge.store.versions import current_page
from metajudge.types import Assessment, Status


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
    category = "" if wanted.category is None else f'"category":{orjson.dumps(wanted.category).decode()}'
    given = {
        "action" if name == "decision" else name: value
        for name, value in asdict(wanted).items()
        if value is not None and name != "category"
    }
    conditions = ["number > $1", *(f"{column} = ${place}" for place, column in enumerate(given, 2))]
    most = PAGE if category else limit + 1
    found: list[tuple[int, Assessment]] = []
    more = True
    while more and len(found) <= limit:
        rows = connection.execute(current_page(" AND ".join(conditions), most), [after, *given.values()]).fetchall()
        found += assessments_at(connection, [number for (number,) in rows], category)
        after, more = rows[-1][0] if rows else after, len(rows) == most
    page = tuple(found[:limit])
    return NewestPage(page, page[-1][0] if len(found) > limit else None)
