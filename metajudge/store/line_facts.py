"""The table ``line_facts``: what figures over verdicts and labels need of each current version, in short columns.

A verdict, a label and a threshold stand in texts, which never change: forgetting an item keeps them. So they are read
once. Vetting does not wait for that: the reader of the figures calls :meth:`LineFacts.add_missing`, which adds the rows
that are missing, the newest first. A row goes with its line, so the table is complete where both have the same number
of rows.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from metajudge.evidence.units import Asked
from metajudge.store.redaction import FORGOTTEN
from metajudge.store.rows import annotated_data
from metajudge.store.sql import Asks, Connection, pages, reads, writes
from metajudge.types import AnyVerdict, Category, Grade, VerdictKind, is_right, kind_of, parse_verdict
from metajudge.types.label import labels_in, settled
from metajudge.types.right import DEFAULTS

TIE: Final = ""
"""Answer of a judgment that ranks several responses first; no response has this id."""

_BITS: Final = 16
"""A part has two to the power of so many numbers of versions."""


class Fact(NamedTuple):
    """One current version without its texts; the table's columns.

    Attributes:
        number: of the version.
        judgment: :func:`short` of its digest.
        item: :func:`short` of the item's digest; None if the judgment is missing.
        correct: whether the verdict is right by the item's label (see :attr:`metajudge.types.Judgment.correct`), None
            if unknown.
        policy: None if no policy was named.
        kind: of the verdict; None without one.
        graded: the id of the response that a grade or a category is about, None for other verdicts.
        answer: the id that the judgment ranks first, :data:`TIE` if there are several; a grade or a category as text,
            upper and lower case alike. None without a verdict.
        question: :func:`short` of the unit of the item (:mod:`metajudge.evidence.units`); of the item itself where
            its texts were forgotten.
    """

    number: int
    assessment_id: int
    judgment: int
    item: int | None
    created_at: float
    final_score: float | None
    probability: float | None
    threshold: float
    accepted: bool | None
    correct: bool | None
    panel_digest: str
    judge: str
    policy: str | None
    kind: VerdictKind | None
    graded: str | None
    answer: str | None
    question: int | None


def short(digest: str) -> int:
    """A digest as a signed number of 64 bits: two of five million share one with a probability of 7e-7."""
    return int.from_bytes(hashlib.blake2b(digest.encode(), digest_size=8).digest(), "big") - 2**63


class LineFacts(Asks):
    """Keeps the table complete."""

    async def add_missing(self) -> None:
        """Adds the rows that are missing, part by part; may be cancelled in between."""
        for part in await self._read(_incomplete):
            found = await self._found(part)
            await self._add(part, found)

    @reads
    def _found(self, connection: Connection, part: int) -> list[Fact]:
        return facts(connection, _missing(connection, part))

    @writes
    def _add(self, connection: Connection, part: int, found: Sequence[Fact]) -> None:
        connection.take_turns("facts")
        wanted = set(_missing(connection, part, connection.for_share))  # another process may have been quicker
        connection.insert("line_facts", Fact._fields, [fact for fact in found if fact.number in wanted])


def _incomplete(connection: Connection) -> list[int]:
    """The parts with lines without facts, the newest first."""
    lines, there = connection.row("SELECT (SELECT count(*) FROM lines), (SELECT count(*) FROM line_facts)")
    if lines == there:
        return []
    return connection.column(
        f"""SELECT part FROM (SELECT number >> {_BITS} AS part, 1 AS n FROM lines UNION ALL
            SELECT number >> {_BITS}, -1 FROM line_facts) counted GROUP BY part HAVING sum(n) > 0 ORDER BY part DESC"""  # noqa: S608
    )


def _missing(connection: Connection, part: int, locked: str = "") -> list[int]:
    """Numbers of a part's lines without facts."""
    return connection.column(
        f"""SELECT number FROM lines WHERE number BETWEEN $1 AND $2 AND number NOT IN
            (SELECT number FROM line_facts WHERE number BETWEEN $1 AND $2) ORDER BY number {locked}""",  # noqa: S608
        [part << _BITS, ((part + 1) << _BITS) - 1],
    )


def facts(connection: Connection, numbers: Sequence[int]) -> list[Fact]:
    """Verdicts of the lines with these ascending numbers, read from texts, in this order."""
    found: list[Fact] = []
    for page in pages(numbers):
        lines = connection.rows(
            """SELECT l.number, l.assessment_id, a.judgment_digest, l.created_at, a.final_score, n.probability,
                    l.accepted, l.panel_digest, l.judge, l.policy, a.payload, n.payload
                FROM lines l JOIN assessments a ON a.assessment_id = l.assessment_id
                    LEFT JOIN annotations n ON n.annotation_id = l.number
                WHERE l.number = ANY($1::BIGINT[]) ORDER BY l.number""",
            [page],
        )
        said = _said(connection, {line[2] for line in lines})
        for number, assessment_id, judgment, *numbers, accepted, panel, judge, policy, payload, annotation in lines:
            item, correct, *verdict = said.get(judgment, _UNKNOWN)
            threshold = annotated_data(payload, annotation)["threshold"]
            before = number, assessment_id, short(judgment), item, *numbers, threshold, accepted, correct
            found.append(Fact._make((*before, panel, judge, policy, *verdict)))
    return found


_UNKNOWN: Final = (None,) * 6
"""What the texts of a judgment that is missing say."""


def _said(connection: Connection, judgments: Iterable[str]) -> dict[str, tuple[Any, ...]]:
    """What judgments and the labels of their items say, by digest: item, correct, kind, graded, answer, question."""
    rows = connection.rows(
        "SELECT judgment_digest, item_digest, payload FROM judgments WHERE judgment_digest = ANY($1::VARCHAR[])",
        [list(judgments)],
    )
    items = connection.pairs(
        "SELECT item_digest, payload FROM items WHERE item_digest = ANY($1::VARCHAR[])",
        [list({item for _, item, _ in rows})],
    )
    found = {}
    for digest, item, payload in rows:
        about, content = orjson.loads(payload), orjson.loads(items.get(item, "{}"))
        beside = about.get("item", {})
        found[digest] = short(item), *_read(about, content, beside), _question(item, content, beside)
    return found


def _question(item: str, content: Mapping[str, Any], beside: Mapping[str, Any]) -> int:
    """As :meth:`metajudge.evidence.units.Asked.of`; see :class:`Fact`."""
    asked = [turn["content"] for turn in beside.get("conversation") or () if turn["role"] == "user"]
    opening = asked[0] if len(asked) > 1 else content.get("question", FORGOTTEN)
    if opening == FORGOTTEN:
        return short(item)
    return short(Asked.of_parts(item, opening, content.get("reference"), beside.get("question_id")).unit)


def _read(
    about: Mapping[str, Any], content: Mapping[str, Any], beside: Mapping[str, Any]
) -> tuple[bool | None, VerdictKind | None, str | None, str | None]:
    """Correct, kind, graded, answer; see :class:`Fact`.

    Args:
        about: the judgment.
        content: its item, with the label.
        beside: what its own record says of the item, such as labels by people.
    """
    said, order = _verdict(about.get("verdict")), about.get("order")
    if said is None:
        return None, None, None, None
    single = isinstance(said, Grade | Category)
    answer = str(said).casefold() if single else said.winner or TIE
    truth = _verdict(content.get("label"))  # as metajudge.types.Item.truth
    if truth is None:
        truth = settled(labels_in(beside.get("labels") or ()))
    right = None if truth is None else is_right(said, truth, DEFAULTS[kind_of(said)])
    return right, kind_of(said), order[0] if order and single else None, answer


def _verdict(given: Any) -> AnyVerdict | None:
    return None if given is None else parse_verdict(given)
