"""Items and judgments of stored assessments, read by their digests. SQL for both databases.

DuckDB has no index of digests: a look-up is a pass over all of them, and reads the payloads of every row group in which
one stands. So the rows' numbers are looked up first, then the payloads by these; and where ids are given, rows with
these ids are tried before a pass, as rows that came together have similar ids.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from metajudge.store.sql import Connection, among, in_file
from metajudge.store.versions import versions

_REACH: Final = 65_536
"""Rows after those read last in which the next ones are looked for."""


@dataclass(frozen=True, slots=True)
class About:
    """The item and the judgment of a version: the item's category, and both payloads."""

    category: str | None = None
    item: str | None = None
    judgment: str | None = None


def about(connection: Connection, numbers: Sequence[int]) -> dict[int, About]:
    """Items and judgments, by the number of the version."""
    if not numbers:
        return {}
    rows = connection.execute(
        f"SELECT number, judgment_digest, judgment_id FROM {versions()} v WHERE number BETWEEN $2 AND $3 "  # noqa: S608
        f"AND {among(connection, 'number', '$1')}",
        [list(numbers), min(numbers), max(numbers)],
    ).fetchall()
    digests = {number: digest for number, digest, _ in rows}
    judgments: dict[str, tuple[str, str]] = {}
    item_ids: dict[str, str] = {}
    for digest, item, item_id, text in rows_of(
        connection, "judgment", "item_digest, item_id", {digest: name for _, digest, name in rows}
    ):
        judgments[digest] = item, text
        item_ids[item] = item_id
    items = {digest: (category, text) for digest, category, text in rows_of(connection, "item", "category", item_ids)}
    found = {}
    for number in numbers:
        item, said = judgments.get(digests[number], (None, None))
        category, text = (None, None) if item is None else items.get(item, (None, None))
        found[number] = About(category, text, said)
    return found


class Neighbours:
    """Rows of ``items`` or ``judgments`` by their digests, for a reader that goes through versions in their order.

    Those asked for next stand soon after those asked for last, and DuckDB looks there before it looks at all.

    Args:
        kind: ``item`` or ``judgment``.
        columns: what is read beside the digest.
    """

    def __init__(self, kind: str, columns: str) -> None:
        self._kind = kind
        self._columns = columns
        self._last = 0, 0

    def rows(self, connection: Connection, digests: Sequence[str], fit: str = "true") -> list[Any]:
        """The rows with these different digests that meet a condition, in any order."""
        query, table = f"SELECT {self._kind}_digest, {self._columns} FROM {self._kind}s", f"{self._kind}s"  # noqa: S608
        if not in_file(connection):
            return connection.execute(
                f"{query} WHERE {self._kind}_digest = ANY($1::VARCHAR[]) AND {fit}", [digests]
            ).fetchall()
        find = f"SELECT rowid FROM {table} WHERE {self._kind}_digest IN (SELECT unnest($1::VARCHAR[]))"  # noqa: S608
        first, last = self._last
        near = f"{find} AND rowid BETWEEN $2 AND $3"
        places = connection.execute(near, [digests, first, last + _REACH]).fetchall() if digests else []
        if len(places) < len(digests):
            places = connection.execute(find, [digests]).fetchall()
        if not places:
            return []
        rows = [place for (place,) in places]
        self._last = min(rows), max(rows)
        these = "rowid BETWEEN $1 AND $2 AND rowid IN (SELECT unnest($3::BIGINT[]))"
        return connection.execute(f"{query} WHERE {these} AND {fit}", [*self._last, rows]).fetchall()


def rows_of(connection: Connection, kind: str, columns: str, wanted: Mapping[str, str | None]) -> list[Any]:
    """Rows of ``items`` or ``judgments``: the digest, these columns, the payload.

    Args:
        kind: ``item`` or ``judgment``.
        wanted: digests, each with the id under which it probably came; None if unknown.
    """
    named = {digest: name for digest, name in wanted.items() if name is not None}
    rows = _read(connection, kind, columns, named, sorted(set(named.values())))
    missing = set(wanted).difference(row[0] for row in rows)
    return rows + _read(connection, kind, columns, missing, [])


def _read(connection: Connection, kind: str, columns: str, digests: Iterable[str], ids: Sequence[str]) -> list[Any]:
    wanted = sorted(digests)
    if not wanted:
        return []
    # Values in the text of the query, not a join: DuckDB then skips row groups by them.
    condition = f"{kind}_digest IN ({_places(1, len(wanted))})"
    if ids:
        condition += f" AND {kind}_id IN ({_places(len(wanted) + 1, len(ids))})"
    values: list[Any] = [*wanted, *ids]
    rows = connection.execute(f"SELECT rowid FROM {kind}s WHERE {condition}", values).fetchall()  # noqa: S608
    numbers = [number for (number,) in rows]
    if not numbers:
        return []
    place = len(values)
    return connection.execute(
        f"SELECT {kind}_digest, {columns}, payload FROM {kind}s WHERE {condition} "  # noqa: S608 - our own names
        f"AND rowid BETWEEN ${place + 2} AND ${place + 3} AND rowid IN (SELECT unnest(${place + 1}::BIGINT[]))",
        [*values, numbers, min(numbers), max(numbers)],
    ).fetchall()


def _places(first: int, count: int) -> str:
    return ", ".join(f"${place}" for place in range(first, first + count))
