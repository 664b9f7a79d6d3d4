"""Rows of blocks of assessments, for both databases."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import orjson

from metajudge.errors import StoreError
from metajudge.store.annotations import annotated, annotated_data
from metajudge.store.bulk import AssessmentBlock, ItemRow, JudgmentRow
from metajudge.store.known_digests import halves
from metajudge.store.lookups import key_hash
from metajudge.store.repeats import NewRows
from metajudge.store.rows import Row, Subject
from metajudge.types import Assessment


@dataclass(frozen=True, slots=True)
class BlockWrite:
    """One assessment of a block; see :class:`~metajudge.store.repeats.Write`.

    Attributes:
        place: its row in the block.
        hashed: of its key.
    """

    place: int
    key: str
    hashed: int
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


def block_writes(block: AssessmentBlock) -> list[BlockWrite]:
    """The assessments of a block.

    Raises:
        StoreError: a payload is not valid UTF-8, or a column has another length than the others.
    """
    columns = (block.judgment_digests, block.judgment_ids, block.item_ids, block.judges, block.statuses, block.payloads)
    others = (
        block.final_scores,
        block.accepted,
        block.strategies,
        block.panel_digests,
        block.annotations or block.keys,
    )
    if any(len(column) != len(block) for column in (*columns, *others)):
        raise StoreError(f"the columns of a block of {len(block)} assessments must have equal lengths")
    _check(block.keys, block.judgment_digests, block.judgment_ids, block.item_ids, block.judges, block.panel_digests)
    said = [None if one is None else text(one.payload) for one in block.annotations] or [None] * len(block)
    hashes = map(key_hash, block.keys)
    subjects = map(Subject, block.judgment_digests, block.panel_digests)
    return list(map(BlockWrite, range(len(block)), block.keys, hashes, subjects, map(text, block.payloads), said))


def text(payload: bytes) -> str:
    """A payload as text.

    Raises:
        StoreError: it is not valid UTF-8.
    """
    try:
        return payload.decode()
    except UnicodeDecodeError as error:
        raise StoreError(f"a block cannot be stored: {error}. Texts must be valid Unicode") from error


def item_values(items: Sequence[ItemRow]) -> list[Row]:
    """The rows of items.

    Raises:
        StoreError: a digest or a text that cannot be stored.
    """
    halves([one.digest for one in items])
    _check((one.item_id for one in items), (one.category or "" for one in items))
    return [(one.digest, one.item_id, one.category, text(one.payload), False) for one in items]


def judgment_values(judgments: Sequence[JudgmentRow]) -> list[Row]:
    """The rows of judgments.

    Raises:
        StoreError: a digest or a text that cannot be stored.
    """
    halves([one.digest for one in judgments])
    _check((one.judgment_id for one in judgments), (one.item_id for one in judgments), (one.judge for one in judgments))
    return [
        (one.digest, one.judgment_id, one.item_digest, one.item_id, one.judge, text(one.payload), False)
        for one in judgments
    ]


def _check(*columns: Iterable[str]) -> None:
    """Refuses texts that UTF-8 cannot have, before a database does: its error would end the writer."""
    try:
        for column in columns:
            "".join(column).encode()
    except UnicodeEncodeError as error:
        raise StoreError(f"a block cannot be stored: {error}. Texts must be valid Unicode") from error


def annotation_values(block: AssessmentBlock, new: NewRows[BlockWrite], created_at: float) -> list[Row]:
    """The new rows of ``annotations``; see :func:`metajudge.store.rows.annotation_row`."""
    rows: list[Row] = []
    for number, of, write in new.annotations:
        one = block.annotations[write.place]
        assert one is not None
        decided = (one.policy, one.policy_digest, one.action)
        rows.append(
            (
                *(number, of, block.run_id, created_at, one.status, one.accepted, one.calibration, one.probability),
                *(*decided, write.annotation, False),
            )
        )
    return rows


def merged(payload: str | None, annotation: "tuple[int, str] | None") -> bytes | None:
    """A payload with its annotation (assessment number, JSON) as JSON; None without a payload."""
    if payload is None or annotation is None:
        return None if payload is None else payload.encode()
    return orjson.dumps(annotated_data(payload, annotation[1]))
