"""Blocks of assessments: what is kept and read together where no model is asked.

A block is appended in one transaction: after a killed process all of it is there, or nothing. It needs no frame in the
write-ahead log, as it is in the database when the call returns; what was acknowledged before it is there too.

The store also keeps what a run learned about its input, so that the next run need not learn it again: facts about each
line, and which results a block of lines had. Both are caches: whatever is missing is computed anew. They hold ids,
numbers and short details, never a text; :meth:`~metajudge.store.protocol.Store.forget` drops what names an item.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from metajudge.store.gaps import NUMBERS

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DIGEST_BYTES: Final = 16
"""Bytes of a digest of a line or a block of lines."""


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


@dataclass(frozen=True, slots=True)
class AnnotationRow:
    """What a calibration and a policy say of an assessment.

    Attributes:
        status, accepted: of the assessment with this annotation.
        payload: the fields that the annotation sets, as JSON with sorted names
            (:func:`metajudge.store.annotations.annotation_of`); with gaps where there are ``numbers``.
        numbers: what fills the gaps beside the probability (:data:`metajudge.store.gaps.NUMBERS`).
    """

    status: str
    accepted: bool | None
    calibration: str | None
    probability: float | None
    policy: str | None
    policy_digest: str | None
    action: str | None
    payload: bytes
    numbers: tuple[float | None, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Annotations:
    """Annotations of n assessments: shared values are stored once, numbers for each.

    Attributes:
        kinds: an annotation of each kind, None for none; its numbers are those of some assessment.
        codes: [n] places in ``kinds``.
        probabilities: [n] NaN where missing.
        numbers: [n, 3] what fills the gaps beside the probability (:data:`metajudge.store.gaps.NUMBERS`), NaN where
            missing; not looked at where the kind has none.
    """

    kinds: Sequence[AnnotationRow | None]
    codes: Numbers
    probabilities: Floats
    numbers: Floats

    @classmethod
    def of(cls, rows: Sequence[AnnotationRow | None]) -> "Annotations":
        """Annotations given one by one."""
        numbers = [(None,) * len(NUMBERS) if one is None or one.numbers is None else one.numbers for one in rows]
        return cls(
            rows,
            np.arange(len(rows)),
            np.array([None if one is None else one.probability for one in rows], dtype=np.float64),
            np.array(numbers, dtype=np.float64).reshape(-1, len(NUMBERS)),
        )

    def __len__(self) -> int:
        return len(self.codes)

    def at(self, place: int) -> AnnotationRow | None:
        """One of them."""
        kind = self.kinds[int(self.codes[place])]
        if kind is None:
            return None
        probability, *numbers = [
            None if one != one else one for one in (float(self.probabilities[place]), *self.numbers[place].tolist())
        ]
        return replace(kind, probability=probability, numbers=None if kind.numbers is None else tuple(numbers))

    def shared(self, name: str, places: Numbers) -> npt.NDArray[np.object_]:
        """A field that is the kind's, at these places; None where there is no annotation."""
        values = np.empty(len(self.kinds), dtype=object)
        values[:] = [getattr(kind, name, None) for kind in self.kinds]
        found: npt.NDArray[np.object_] = values[self.codes[places]]
        return found


@dataclass(frozen=True, slots=True)
class AssessmentBlock:
    """Assessments by free evidence (no agents), as columns of equal length.

    Attributes:
        keys: under which they are looked up.
        payloads: the panel's own assessments as JSON, without annotation and derived fields
            (:data:`metajudge.store.annotations.DERIVED`); with gaps where there are ``parts``.
        annotations: None if no row has one.
        parts: for each of :data:`~metajudge.store.gaps.COLUMNS` the parts of the signals, which fill the gaps of the
            payloads (:mod:`metajudge.store.gaps`); an empty sequence if the payloads have none.
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
    annotations: Annotations | None = None
    parts: Sequence[Sequence[str]] = ()

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Appended:
    """What became of a block.

    Attributes:
        numbers: of the current version of each row, in the block's order: a new one, or the one that was there.
        added: how many assessments and annotations were not there before.
        changed: how many of its rows added one of these.
    """

    numbers: Numbers
    added: int
    changed: int


@dataclass(frozen=True, slots=True, eq=False)
class FoundFacts:
    """Where the facts about n lines are.

    Attributes:
        segment: [n] numbers of segments; -1 where no facts are kept.
        place: [n] of the lines in their segments.
        facts: of each of these segments, as :meth:`BulkStore.keep_facts` got them.
    """

    segment: Numbers
    place: Numbers
    facts: Mapping[int, bytes]


class BulkStore(Protocol):
    """What a store does with blocks; both stores have it. A block has some thousand rows.

    Rows follow the rules of :mod:`metajudge.store.repeats`: the same content again adds no row.
    """

    async def keep_texts(self, items: Sequence[ItemRow], judgments: Sequence[JudgmentRow]) -> int:
        """Keeps items and judgments, once per digest; of those that were forgotten the texts are restored.

        Returns:
            How many rows were added or restored.
        """

    async def without_texts(self, items: Sequence[str], judgments: Sequence[str]) -> tuple[set[str], set[str]]:
        """Those of these digests of items and of judgments that are not stored, or whose texts were forgotten."""

    async def append_block(self, block: AssessmentBlock) -> Appended:
        """Appends assessments and annotations, all or none; in the database on return.

        The judgments' texts are kept before (:meth:`keep_texts`).
        """

    async def read_results(self, numbers: Numbers) -> list[bytes | None]:
        """Assessments with their annotations as JSON without derived fields, by the numbers of their versions.

        Returns:
            In the order asked; None where there is no such version, or its texts were forgotten.
        """

    async def keep_facts(self, lines: Sequence[bytes], facts: bytes) -> None:
        """Keeps facts about lines of an input as a segment.

        Args:
            lines: digests of :data:`DIGEST_BYTES` bytes each.
            facts: about all of them together.
        """

    async def find_facts(self, lines: Sequence[bytes]) -> FoundFacts:
        """Where the facts about lines are."""

    async def keep_results(self, blocks: Sequence[bytes], numbers: Sequence[Numbers]) -> None:
        """Keeps which versions are the results of blocks of an input.

        Args:
            blocks: digests of :data:`DIGEST_BYTES` bytes, of all that the results depend on.
        """

    async def find_results(self, blocks: Sequence[bytes]) -> list[Numbers | None]:
        """The numbers of the results of blocks, in the order asked; None where none are kept."""

    async def newest_version(self) -> int:
        """The highest number of a version so far, 0 without any: while it stays, nothing was appended."""
