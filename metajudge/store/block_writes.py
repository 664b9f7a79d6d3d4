"""Rows of blocks of assessments, for both databases."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
import numpy.typing as npt
import orjson

from metajudge.errors import StoreError
from metajudge.store.annotations import annotated, annotated_data
from metajudge.store.bulk import AssessmentBlock, ItemRow, JudgmentRow, Numbers
from metajudge.store.gaps import filled, filled_annotation
from metajudge.store.known_digests import halves
from metajudge.store.lookups import key_hashes
from metajudge.store.repeats import NewRows
from metajudge.store.rows import Row, Subject
from metajudge.types import Assessment


@dataclass(frozen=True, slots=True)
class BlockWrite:
    """One assessment of a block; see :class:`~metajudge.store.repeats.Write`.

    Attributes:
        place: its row in the block.
        stored: the payload as the block has it, with gaps where the block has parts.
        said: the annotation's payload as the block has it, with gaps where it has numbers.
    """

    block: AssessmentBlock
    place: int
    key: str
    subject: Subject
    stored: str
    said: str | None

    @property
    def annotation(self) -> str | None:
        said = self.block.annotations
        row = None if self.said is None or said is None else said.at(self.place)
        if self.said is None or row is None or row.numbers is None:
            return self.said
        return filled_annotation(self.said, row.probability, row.numbers)

    @property
    def payload(self) -> str:
        block, at = self.block, self.place
        if not block.parts:
            return self.stored
        own = (block.judgment_ids[at], block.item_ids[at], block.judges[at], block.judgment_digests[at])
        return filled(self.stored, own, [part[at] for part in block.parts])

    @property
    def assessment(self) -> Assessment:
        return self._read(None)

    @property
    def completed(self) -> Assessment | None:
        return None if self.said is None else self._read(self.annotation)

    def _read(self, annotation: str | None) -> Assessment:
        try:
            return annotated(self.payload, annotation)
        except ValueError as error:  # any error but a StoreError would end the writer
            raise StoreError(f"a block cannot be stored: an assessment under {self.key} is invalid: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class CheckedBlock:
    """A block that a database takes.

    Attributes:
        hashes: [n] of the keys (:func:`metajudge.store.lookups.key_hash`).
        payloads: of the assessments, as text.
        said: of the annotations, as text; None for a row without one.
    """

    block: AssessmentBlock
    hashes: npt.NDArray[np.uint64]
    payloads: list[str]
    said: list[str | None]

    def __len__(self) -> int:
        return len(self.block)

    @classmethod
    def of(cls, block: AssessmentBlock) -> "CheckedBlock":
        """Checks a block.

        Raises:
            StoreError: a payload is not valid UTF-8, or a column has another length than the others.
        """
        _check_columns(block)
        different = list(set(block.payloads))
        texts = dict(zip(different, texts_of(different), strict=True))
        return cls(block, key_hashes(block.keys), [texts[payload] for payload in block.payloads], _said(block))

    def writes(self, places: Numbers | None = None) -> list[BlockWrite]:
        """Its assessments, or those of some of its rows."""
        block = self.block
        subjects = map(Subject, block.judgment_digests, block.panel_digests)
        own = (block.keys, subjects, self.payloads, self.said)
        found = list(map(BlockWrite, repeat(block), range(len(block)), *own))
        return found if places is None else [found[place] for place in places.tolist()]


def _check_columns(block: AssessmentBlock) -> None:
    columns = (block.judgment_digests, block.judgment_ids, block.item_ids, block.judges, block.statuses, block.payloads)
    others = (
        block.final_scores,
        block.accepted,
        block.strategies,
        block.panel_digests,
        block.keys if block.annotations is None else block.annotations.codes,
        *block.parts,
    )
    if any(len(column) != len(block) for column in (*columns, *others)):
        raise StoreError(f"the columns of a block of {len(block)} assessments must have equal lengths")
    _check(block.keys, block.judgment_digests, block.judgment_ids, block.item_ids, block.judges, block.panel_digests)


def _said(block: AssessmentBlock) -> list[str | None]:
    """The annotations' payloads as texts."""
    if block.annotations is None:
        return [None] * len(block)
    kinds = [None if one is None else texts_of([one.payload])[0] for one in block.annotations.kinds]
    return [kinds[code] for code in block.annotations.codes.tolist()]


def texts_of(payloads: Iterable[bytes]) -> list[str]:
    """Payloads as texts.

    Raises:
        StoreError: one of them is not valid UTF-8.
    """
    try:
        return [payload.decode() for payload in payloads]
    except UnicodeDecodeError as error:
        raise StoreError(f"a block cannot be stored: {error}. Texts must be valid Unicode") from error


def item_values(items: Sequence[ItemRow]) -> list[Row]:
    """The rows of items.

    Raises:
        StoreError: a digest or a text that cannot be stored.
    """
    return _values(items)


def judgment_values(judgments: Sequence[JudgmentRow]) -> list[Row]:
    """The rows of judgments.

    Raises:
        StoreError: a digest or a text that cannot be stored.
    """
    return _values(judgments)


def _values(rows: Sequence[ItemRow | JudgmentRow]) -> list[Row]:
    """Rows with texts in place of bytes: a digest, names and a payload."""
    if not rows:
        return []
    digests, *names, payloads = zip(*rows, strict=True)
    halves(digests)
    _check(*([name or "" for name in column] for column in names))
    return list(zip(digests, *names, texts_of(payloads), repeat(False, len(rows)), strict=True))


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
    said = block.annotations
    for number, of, write in new.annotations:
        one = None if said is None else said.at(write.place)
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
