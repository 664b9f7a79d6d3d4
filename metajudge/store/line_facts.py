"""The table ``line_facts``: what figures over verdicts and labels need of each current version, in short columns.

A verdict, a label and a threshold stand in texts, which never change: forgetting an item keeps them. So they are read
once. Vetting does not wait for that: the reader of the figures calls :meth:`LineFacts.add_missing`, which adds the rows
that are missing, the newest first. A row goes with its line, so the table is complete where both have the same number
of rows. Reads and writes for both databases.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import orjson

from metajudge.evidence.units import Asked
from metajudge.store.annotations import annotated_data
from metajudge.store.lookups import key_hash
from metajudge.store.redaction import FORGOTTEN
from metajudge.store.sql import PAGE, Ask, Connection, Dialect, only_row
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
    return key_hash(digest) - 2**63


class LineFacts:
    """Keeps the table complete.

    Args:
        change: runs a change in one transaction; safe to repeat.
        ask: runs a read-only query, after everything acknowledged.
    """

    def __init__(self, change: Ask, ask: Ask, dialect: Dialect) -> None:
        self._change = change
        self._ask = ask
        self._dialect = dialect

    async def add_missing(self) -> None:
        """Adds the rows that are missing, part by part; may be cancelled in between."""
        for part in await self._ask(_incomplete):
            found = await self._ask(partial(self._read, part=part))
            await self._change(partial(self._add, part=part, found=found))

    def _read(self, connection: Connection, *, part: int) -> list[Fact]:
        return facts(connection, self._dialect, _missing(connection, part))

    def _add(self, connection: Connection, *, part: int, found: Sequence[Fact]) -> None:
        self._dialect.lock_facts(connection)
        wanted = set(_missing(connection, part, self._dialect.keep_lines))  # another process may have been quicker
        rows = [fact for fact in found if fact.number in wanted]
        if rows:
            self._dialect.append(connection, "line_facts", Fact._fields, rows)


def _incomplete(connection: Connection) -> list[int]:
    """The parts with lines without facts, the newest first."""
    lines, there = only_row(connection, "SELECT (SELECT count(*) FROM lines), (SELECT count(*) FROM line_facts)")
    if lines == there:
        return []
    rows = connection.execute(
        f"SELECT part FROM (SELECT number >> {_BITS} AS part, 1 AS n FROM lines UNION ALL "  # noqa: S608 - our own text
        f"SELECT number >> {_BITS}, -1 FROM line_facts) counted GROUP BY part HAVING sum(n) > 0 ORDER BY part DESC"
    ).fetchall()
    return [int(part) for (part,) in rows]


def _missing(connection: Connection, part: int, locked: str = "") -> list[int]:
    """Numbers of a part's lines without facts."""
    rows = connection.execute(
        "SELECT number FROM lines WHERE number BETWEEN $1 AND $2 AND number NOT IN "  # noqa: S608 - our own text
        f"(SELECT number FROM line_facts WHERE number BETWEEN $1 AND $2) ORDER BY number {locked}",
        [part << _BITS, ((part + 1) << _BITS) - 1],
    ).fetchall()
    return [number for (number,) in rows]


def facts(connection: Connection, dialect: Dialect, numbers: Sequence[int]) -> list[Fact]:
    """Facts of the lines with these ascending numbers, read from texts, in this order."""
    found: list[Fact] = []
    if not numbers:
        return found
    said = _said(connection, dialect, _judgments(connection, numbers))
    for start in range(0, len(numbers), PAGE):
        page = numbers[start : start + PAGE]
        lines = connection.execute(
            f"""
            SELECT l.number, l.assessment_id, a.judgment_digest, l.created_at, a.final_score, n.probability,
                l.accepted, l.panel_digest, l.judge, l.policy, a.payload, n.payload
            FROM lines l JOIN assessments a ON a.assessment_id = l.assessment_id
                LEFT JOIN annotations n ON n.annotation_id = l.number
            WHERE {_AMONG} ORDER BY l.number
            """,  # noqa: S608 - our own text
            [page, page[0], page[-1]],
        ).fetchall()
        found += [_fact(line, said.get(line[2])) for line in lines]
    return found


_AMONG: Final = "l.number BETWEEN $2 AND $3 AND l.number IN (SELECT unnest($1::BIGINT[]))"


def _judgments(connection: Connection, numbers: Sequence[int]) -> set[str]:
    """Digests of the judgments of lines."""
    rows = connection.execute(
        "SELECT a.judgment_digest FROM lines l JOIN assessments a ON a.assessment_id = l.assessment_id "  # noqa: S608
        f"WHERE {_AMONG}",
        [list(numbers), numbers[0], numbers[-1]],
    ).fetchall()
    return {digest for (digest,) in rows}


@dataclass(frozen=True, slots=True)
class _Said:
    """What a judgment's texts and its item's label say; the last six fields of a fact among them."""

    item: int
    correct: bool | None
    kind: VerdictKind | None
    graded: str | None
    answer: str | None
    question: int


def _fact(line: Sequence[Any], said: _Said | None) -> Fact:
    number, assessment_id, judgment, at, score, probability, accepted, panel, judge, policy, payload, annotation = line
    threshold = annotated_data(payload, annotation)["threshold"]
    correct = kind = graded = answer = item = question = None
    if said is not None:
        item, correct, kind, graded, answer = said.item, said.correct, said.kind, said.graded, said.answer
        question = said.question
    return Fact(
        *(number, assessment_id, short(judgment), item, at, score, probability, threshold),
        *(accepted, correct, panel, judge, policy, kind, graded, answer),
        question,
    )


def _said(connection: Connection, dialect: Dialect, judgments: Iterable[str]) -> dict[str, _Said]:
    """What judgments say, by their digests."""
    said = {}
    for digest, item, payload in _rows(connection, dialect, "judgments", "judgment_digest, item_digest", judgments):
        about = orjson.loads(payload)
        order, beside = about.get("order"), about.get("item", {})
        first, people = order[0] if order else None, _text(beside.get("labels") or None)
        said[digest] = item, _text(about.get("verdict")), first, people, beside
    rows = _rows(connection, dialect, "items", "item_digest", {item for item, *_ in said.values()})
    items = {item: orjson.loads(payload) for item, payload in rows}
    found = {}
    for digest, (item, verdict, first, people, beside) in said.items():
        content = items.get(item, {})
        read = _read(verdict, first, _text(content.get("label")), people)
        found[digest] = _Said(short(item), *read, _question(item, content, beside))
    return found


def _question(item: str, content: Mapping[str, Any], beside: Mapping[str, Any]) -> int:
    """As :meth:`metajudge.evidence.units.Asked.of`; see :class:`Fact`."""
    asked = [turn["content"] for turn in beside.get("conversation") or () if turn["role"] == "user"]
    opening = asked[0] if len(asked) > 1 else content.get("question", FORGOTTEN)
    if opening == FORGOTTEN:
        return short(item)
    return short(Asked.of_parts(item, opening, content.get("reference"), beside.get("question_id")).unit)


def _rows(
    connection: Connection, dialect: Dialect, table: str, columns: str, digests: Iterable[str]
) -> Iterator[tuple[Any, ...]]:
    """Columns and payloads of the rows with these digests, which are the first column."""
    for condition, values in dialect.pages(connection, table, columns.partition(",")[0], list(digests)):
        query = f"SELECT {columns}, payload FROM {table} WHERE {condition}"  # noqa: S608 - our own text
        yield from connection.execute(query, values).fetchall()


def _text(value: Any) -> str | None:
    """A part of a text as JSON; None for none."""
    return None if value is None else orjson.dumps(value).decode()


@lru_cache(maxsize=20_000)
def _read(
    verdict: str | None, first: str | None, label: str | None, people: str | None
) -> tuple[bool | None, VerdictKind | None, str | None, str | None]:
    """Correct, kind, graded, answer; see :class:`Fact`.

    Args:
        verdict: as JSON, and so are the labels.
        first: the first response that the judgment saw.
        label: of the item.
        people: labels by people, kept with the judgment.
    """
    said = _verdict(verdict)
    if said is None:
        return None, None, None, None
    single = isinstance(said, Grade | Category)
    answer = str(said).casefold() if single else said.winner or TIE
    return _right(said, _truth(label, people)), kind_of(said), first if single else None, answer


def _verdict(text: str | None) -> AnyVerdict | None:
    given = None if text is None else orjson.loads(text)
    return None if given is None else parse_verdict(given)


def _truth(label: str | None, people: str | None) -> AnyVerdict | None:
    """As :attr:`metajudge.types.Item.truth`, computed without the texts."""
    said = _verdict(label)
    labels = orjson.loads(people) if people is not None and said is None else None
    return said if said is not None else settled(labels_in(labels or ()))


def _right(verdict: AnyVerdict, truth: AnyVerdict | None) -> bool | None:
    """As :attr:`metajudge.types.Judgment.correct`, computed without the texts."""
    return None if truth is None else is_right(verdict, truth, DEFAULTS[kind_of(verdict)])
