"""Blocks of assessments: what is kept and read together where no model is asked.

A block is appended in one transaction: after a killed process all of it is there, or nothing.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

from metajudge.errors import StoreError
from metajudge.store.annotations import annotated
from metajudge.store.journal import add_rows, rows_to_add, save_texts, without
from metajudge.store.rows import Subject
from metajudge.store.sql import Ask, Connection, Dialect, Row
from metajudge.types import Assessment


class ItemRow(NamedTuple):
    """An item's row; ``payload`` is its JSON without id and without what is no part of its digest."""

    digest: str
    item_id: str
    category: str | None
    payload: bytes


class JudgmentRow(NamedTuple):
    """A judgment's row; ``payload`` is its JSON without the item's content (see :mod:`metajudge.store.rows`)."""

    digest: str
    judgment_id: str
    item_digest: str
    item_id: str
    judge: str
    payload: bytes


class AnnotationRow(NamedTuple):
    """What a calibration and a policy say of an assessment.

    Attributes:
        status, accepted: of the assessment with this annotation.
        payload: the fields that the annotation sets, as JSON with sorted names
            (:func:`metajudge.store.annotations.annotation_of`).
    """

    status: str
    accepted: bool | None
    calibration: str | None
    probability: float | None
    policy: str | None
    policy_digest: str | None
    action: str | None
    payload: bytes


@dataclass(frozen=True, slots=True, eq=False)
class AssessmentBlock:
    """Assessments by free evidence (no agents), as columns of equal length.

    Attributes:
        keys: under which they are looked up.
        payloads: the panel's own assessments as JSON, without annotation and derived fields
            (:data:`metajudge.store.annotations.DERIVED`).
        annotations: None for a row without one.
    """

    run_id: str
    keys: Sequence[str]
    judgment_digests: Sequence[str]
    judgment_ids: Sequence[str]
    item_ids: Sequence[str]
    judges: Sequence[str]
    statuses: Sequence[str]
    final_scores: Sequence[float | None]
    accepted: Sequence[bool | None]
    strategies: Sequence[str]
    panel_digests: Sequence[str]
    payloads: Sequence[bytes]
    annotations: Sequence[AnnotationRow | None]

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class BlockWrite:
    """One assessment of a block; see :class:`~metajudge.store.journal.Write`."""

    place: int
    key: str
    subject: Subject
    payload: str
    annotation: str | None

    @property
    def assessment(self) -> Assessment:
        return self._read(None)

    @property
    def completed(self) -> Assessment | None:
        return None if self.annotation is None else self._read(self.annotation)

    def _read(self, annotation: str | None) -> Assessment:
        try:
            return annotated(self.payload, annotation)
        except ValueError as error:  # any error but a StoreError would end the writer
            raise StoreError(f"a block cannot be stored: an assessment under {self.key} is invalid: {error}") from error


class BulkStore:
    """What a store does with blocks, which have some thousand rows; every change is safe to repeat.

    Rows follow the rules of :mod:`metajudge.store.repeats`: the same content again adds no row.

    Args:
        change: runs a function on a connection in a transaction.
        ask: runs a read-only function on a connection.
    """

    def __init__(self, change: Ask, ask: Ask, dialect: Dialect) -> None:
        self._change = change
        self._ask = ask
        self._dialect = dialect

    async def keep_texts(self, items: Sequence[ItemRow], judgments: Sequence[JudgmentRow]) -> int:
        """Keeps items and judgments, once per digest; of those that were forgotten the texts are restored.

        Returns:
            How many rows were added or restored.
        """
        rows = _values(items), _values(judgments)
        return await self._change(lambda connection: save_texts(connection, self._dialect, *rows))

    async def without_texts(self, items: Sequence[str], judgments: Sequence[str]) -> tuple[set[str], set[str]]:
        """Those of these digests of items and of judgments that are not stored, or whose texts were forgotten."""
        return await self._ask(
            lambda connection: (
                without(connection, "items", "item_digest", items),
                without(connection, "judgments", "judgment_digest", judgments),
            )
        )

    async def append_block(self, block: AssessmentBlock) -> int:
        """Appends assessments and annotations, all or none; in the database on return.

        The judgments' texts are kept before (:meth:`keep_texts`).

        Returns:
            How many of its rows added an assessment or an annotation.
        """
        writes = _writes(block)
        return await self._change(lambda connection: self._append(connection, block, writes))

    def _append(self, connection: Connection, block: AssessmentBlock, writes: Sequence[BlockWrite]) -> int:
        # Locks the judgments' rows until the transaction ends, as saving them does: no other process can append
        # anything about them meanwhile.
        if self._dialect.for_update:
            connection.execute(
                "SELECT 1 FROM judgments WHERE judgment_digest IN (SELECT unnest($1::VARCHAR[])) "  # noqa: S608
                f"ORDER BY judgment_digest {self._dialect.for_update}",
                [list(block.judgment_digests)],
            )
        new = rows_to_add(connection, self._dialect, writes)
        now, b = time.time(), block
        assessments = [
            (
                *(number, one.key, b.run_id, now, b.judgment_digests[i], b.judgment_ids[i], b.item_ids[i]),
                *(b.judges[i], b.statuses[i], b.final_scores[i], b.accepted[i], b.strategies[i]),
                *(b.panel_digests[i], one.payload, False),
            )
            for number, one in new.assessments
            for i in (one.place,)
        ]
        annotations = [
            (number, of, b.run_id, now, *said[:-1], one.annotation, False)
            for number, of, one in new.annotations
            if (said := b.annotations[one.place]) is not None
        ]
        add_rows(connection, self._dialect, assessments, annotations)
        return new.changed


def _writes(block: AssessmentBlock) -> list[BlockWrite]:
    """The assessments of a block.

    Raises:
        StoreError: a text is not valid Unicode, or a column has another length than the others.
    """
    own = (block.judgment_ids, block.item_ids, block.judges, block.statuses, block.final_scores, block.accepted)
    others = (block.strategies, block.panel_digests, block.judgment_digests, block.payloads, block.annotations)
    if any(len(column) != len(block) for column in (*own, *others)):
        raise StoreError(f"the columns of a block of {len(block)} assessments must have equal lengths")
    _check(block.keys, block.judgment_digests, block.judgment_ids, block.item_ids, block.judges, block.panel_digests)
    subjects = map(Subject, block.judgment_digests, block.panel_digests)
    said = [None if one is None else one.payload for one in block.annotations]
    texts = _texts(block.payloads), [None if one is None else _texts([one])[0] for one in said]
    return list(map(BlockWrite, range(len(block)), block.keys, subjects, *texts))


def _values(rows: Sequence[ItemRow | JudgmentRow]) -> list[Row]:
    """Rows with texts in place of bytes: a digest, names and a payload.

    Raises:
        StoreError: a text that cannot be stored.
    """
    if not rows:
        return []
    *names, payloads = zip(*rows, strict=True)
    _check(*([name or "" for name in column] for column in names))
    return list(zip(*names, _texts(payloads), repeat(False, len(rows)), strict=True))


def _texts(payloads: Iterable[bytes]) -> list[str]:
    try:
        return [payload.decode() for payload in payloads]
    except UnicodeDecodeError as error:
        raise StoreError(f"a block cannot be stored: {error}. Texts must be valid Unicode") from error


def _check(*columns: Iterable[str]) -> None:
    """Refuses texts that UTF-8 cannot have, before a database does."""
    try:
        for column in columns:
            "".join(column).encode()
    except UnicodeEncodeError as error:
        raise StoreError(f"a block cannot be stored: {error}. Texts must be valid Unicode") from error
