"""Items and judgments of stored assessments, read by their digests; what a text begins with and contains."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from metajudge.store.redaction import FORGOTTEN
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
    rows = connection.rows(
        f"""SELECT v.number, i.category, i.payload, j.payload
            FROM {versions()} v JOIN judgments j ON j.judgment_digest = v.judgment_digest
            LEFT JOIN items i ON i.item_digest = j.item_digest WHERE v.number = ANY($1::BIGINT[])""",  # noqa: S608
        [list(numbers)],
    )
    return dict.fromkeys(numbers, About()) | {number: About(*texts) for number, *texts in rows}


def questions(connection: Connection, judgment_digests: Sequence[str]) -> dict[str, str]:
    """The questions of some judgments, by the judgment's digest; deleted ones are left out."""
    rows = connection.rows(
        """SELECT j.judgment_digest, i.payload FROM judgments j JOIN items i ON i.item_digest = j.item_digest
            WHERE j.judgment_digest IN (SELECT unnest($1::VARCHAR[]))""",
        [list(judgment_digests)],
    )
    return {digest: question for digest, payload in rows if (question := question_of(payload)) is not None}


def rows_of(connection: Connection, kind: str, columns: str, digests: Collection[str]) -> list[Any]:
    """Rows of ``items`` or ``judgments``: the digest, these columns, the payload.

    Args:
        kind: ``item`` or ``judgment``.
    """
    query = (
        f"SELECT {kind}_digest, {columns}, payload FROM {kind}s WHERE {kind}_digest IN (SELECT unnest($1::VARCHAR[]))"  # noqa: S608
    )
    return [row for page in pages(digests) for row in connection.rows(query, [page])]


LONGEST: Final = 160
"""Characters of an excerpt."""


def excerpt(text: str, longest: int = LONGEST) -> str:
    """The first words of a text on one line, with an ellipsis if there are more."""
    words = " ".join(text[: 4 * longest].split())
    if len(words) <= longest and len(text) <= 4 * longest:
        return words
    cut = words[:longest]
    return f"{cut.rpartition(' ')[0] or cut}…"


def plain(text: str) -> str:
    """A text without JSON around it: of plain data the texts within, one after the other; any other text unchanged."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return ", ".join(texts_in(orjson.loads(text))) or text
    except orjson.JSONDecodeError:
        return text


def question_of(item: str | None) -> str | None:
    """The question in an item's payload; None if it is missing or was deleted."""
    found = None if item is None else orjson.loads(item).get("question")
    return found if isinstance(found, str) and found.strip() and found != FORGOTTEN else None


def as_in_json(text: str) -> str:
    """A text as it is written within JSON."""
    return orjson.dumps(text).decode()[1:-1]


def contains(text: str, wanted: str) -> bool:
    """Whether a text contains another one, upper and lower case alike."""
    return wanted.casefold() in text.casefold()


def texts_in(data: Any) -> Iterator[str]:
    """Every text within plain data; names of fields are none."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from texts_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from texts_in(value)
