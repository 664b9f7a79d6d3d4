"""Items and judgments of stored assessments, read by their digests."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from metajudge.store.excerpts import question_of
from metajudge.store.sql import Connection, pages
from metajudge.store.versions import versions


@dataclass(frozen=True, slots=True)
class About:
    """The item and the judgment of a version: the item's category, and both payloads."""

    category: str | None = None
    item: str | None = None
    judgment: str | None = None


def about(connection: Connection, numbers: Sequence[int]) -> dict[int, About]:
    """Items and judgments, by the number of the version."""
    rows = connection.execute(
        "SELECT v.number, i.category, i.payload, j.payload "  # noqa: S608 - our own text
        f"FROM {versions()} v JOIN judgments j ON j.judgment_digest = v.judgment_digest "
        "LEFT JOIN items i ON i.item_digest = j.item_digest WHERE v.number = ANY($1::BIGINT[])",
        [list(numbers)],
    ).fetchall()
    return dict.fromkeys(numbers, About()) | {number: About(*texts) for number, *texts in rows}


def questions(connection: Connection, judgment_digests: Sequence[str]) -> dict[str, str]:
    """The questions of some judgments, by the judgment's digest; deleted ones are left out."""
    rows = connection.execute(
        "SELECT j.judgment_digest, i.payload FROM judgments j JOIN items i ON i.item_digest = j.item_digest "
        "WHERE j.judgment_digest IN (SELECT unnest($1::VARCHAR[]))",
        [list(judgment_digests)],
    ).fetchall()
    return {digest: question for digest, payload in rows if (question := question_of(payload)) is not None}


def rows_of(connection: Connection, kind: str, columns: str, digests: Collection[str]) -> list[Any]:
    """Rows of ``items`` or ``judgments``: the digest, these columns, the payload.

    Args:
        kind: ``item`` or ``judgment``.
    """
    query = (
        f"SELECT {kind}_digest, {columns}, payload FROM {kind}s WHERE {kind}_digest IN (SELECT unnest($1::VARCHAR[]))"  # noqa: S608
    )
    return [row for page in pages(digests) for row in connection.execute(query, [page]).fetchall()]
