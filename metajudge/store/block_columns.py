"""New rows of a block of assessments as columns for DuckDB."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt

from metajudge.store.block_writes import BlockWrite, CheckedBlock
from metajudge.store.bulk import AssessmentBlock, Numbers
from metajudge.store.gaps import COLUMNS, NUMBERS
from metajudge.store.repeats import NewRows
from metajudge.store.rows import Row

Columns: TypeAlias = dict[str, npt.NDArray[Any]]
"""Values of new rows by the names of a table's columns."""

_VIEW: Final = "new_rows"
_TEXTS: Final = {
    "items": ("item_digest", "item_id", "category", "payload"),
    "judgments": ("judgment_digest", "judgment_id", "item_digest", "item_id", "judge", "payload"),
}
_A_FAILURE: Final = b'{"failure"'


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """What a block adds, in the order of its rows.

    Attributes:
        places: of the rows with a new assessment.
        numbers: of these assessments, ascending.
        noted: places of the rows with a new annotation.
        note_numbers: of these annotations, ascending.
        note_of: the assessments that they belong to.
        versions: number of the current version of each row.
        changed: how many rows added something.
    """

    places: Numbers
    numbers: Numbers
    noted: Numbers
    note_numbers: Numbers
    note_of: Numbers
    versions: Numbers
    changed: int

    @classmethod
    def of(cls, new: NewRows[BlockWrite]) -> "Added":
        """The same as arrays."""
        made = np.array([(write.place, number) for number, write in new.assessments], dtype=np.int64).reshape(-1, 2)
        said = [(write.place, number, of) for number, of, write in new.annotations]
        noted, note_numbers, note_of = np.array(said, dtype=np.int64).reshape(-1, 3).T
        versions = np.array(new.versions, dtype=np.int64)
        return cls(made[:, 0], made[:, 1], noted, note_numbers, note_of, versions, new.changed)

    @classmethod
    def all_of(cls, block: AssessmentBlock, rest: Numbers, first: int) -> "Added | None":
        """What :func:`~metajudge.store.repeats.new_rows` finds where none of the keys of rows is stored.

        Args:
            rest: the rows, ascending.
            first: number of their first version.

        Returns:
            None where the rows must be compared one by one: a key comes twice, or an annotation is a failure.
        """
        said = block.annotations
        kinds = () if said is None else said.kinds
        failed = any(one is not None and one.payload.startswith(_A_FAILURE) for one in kinds)
        if failed or len({block.keys[place] for place in rest.tolist()}) < len(rest):
            return None
        with_note = np.zeros(len(rest), dtype=bool)
        if said is not None:
            with_note = np.array([one is not None for one in kinds], dtype=bool)[said.codes[rest]]
        counts = 1 + with_note
        numbers = first + np.cumsum(counts) - counts
        of = numbers[with_note]
        return cls(rest, numbers, rest[with_note], of + 1, of, numbers + with_note, len(rest))

    def beside(self, known: Numbers) -> "Added":
        """The same of a whole block.

        Args:
            known: [n] current versions of the other rows; 0 for these.
        """
        versions = known.copy()
        versions[known == 0] = self.versions
        return replace(self, versions=versions)

    @property
    def count(self) -> int:
        """How many assessments and annotations are new."""
        return len(self.numbers) + len(self.note_numbers)


def insert_assessments(
    connection: duckdb.DuckDBPyConnection, checked: CheckedBlock, added: Added, created_at: float
) -> None:
    """Adds the new rows of ``assessments``, column by column."""
    if not len(added.places):
        return
    block, at = checked.block, added.places
    columns = {
        "assessment_id": added.numbers,
        "key_hash": checked.hashes[at],
        "key": _texts(block.keys, at),
        "judgment_digest": _texts(block.judgment_digests, at),
        "judgment_id": _texts(block.judgment_ids, at),
        "item_id": _texts(block.item_ids, at),
        "judge": _texts(block.judges, at),
        "status": _texts(block.statuses, at),
        "final_score": np.ma.masked_invalid([np.nan if one is None else one for one in block.final_scores])[at],
        "accepted": _truths(block.accepted)[at],
        "strategy": _texts(block.strategies, at),
        "panel_digest": _texts(block.panel_digests, at),
        "payload": _texts(checked.payloads, at),
    }
    if block.parts:
        columns |= {name: _texts(part, at) for name, part in zip(COLUMNS, block.parts, strict=True)}
    _insert(connection, "assessment_rows", columns, run_id=block.run_id, created_at=created_at, redacted=False)


def insert_annotations(
    connection: duckdb.DuckDBPyConnection, checked: CheckedBlock, added: Added, created_at: float
) -> None:
    """Adds the new rows of ``annotations``, column by column."""
    if not len(added.noted):
        return
    block, at, said = checked.block, added.noted, checked.block.annotations
    assert said is not None
    columns = {
        "annotation_id": added.note_numbers,
        "assessment_id": added.note_of,
        "status": said.shared("status", at),
        "accepted": _truths(said.shared("accepted", at).tolist()),
        "calibration": said.shared("calibration", at),
        "probability": np.ma.masked_invalid(said.probabilities[at]),
        "policy": said.shared("policy", at),
        "policy_digest": said.shared("policy_digest", at),
        "action": said.shared("action", at),
        "payload": _texts(checked.said, at),
        "gaps": np.array([own is not None for own in said.shared("numbers", at).tolist()], dtype=bool),
    }
    columns |= {name: np.ma.masked_invalid(own) for name, own in zip(NUMBERS, said.numbers[at].T, strict=True)}
    _insert(connection, "annotation_rows", columns, run_id=block.run_id, created_at=created_at, redacted=False)


def insert_lines(
    connection: duckdb.DuckDBPyConnection, block: AssessmentBlock, added: Added, created_at: float
) -> None:
    """Adds the lines of new assessments, column by column."""
    at = added.places
    ended = {"status": _column(block.statuses), "accepted": _column(block.accepted)}
    ended |= {name: np.full(len(block), None, dtype=object) for name in ("policy", "action")}
    if block.annotations is not None:
        for name, values in ended.items():
            values[added.noted] = block.annotations.shared(name, added.noted)
    columns = {
        "number": added.versions[at],
        "assessment_id": added.numbers,
        "judgment_id": _texts(block.judgment_ids, at),
        "item_id": _texts(block.item_ids, at),
        "judge": _texts(block.judges, at),
        "status": ended["status"][at],
        "accepted": _truths(ended["accepted"][at].tolist()),
        "strategy": _texts(block.strategies, at),
        "panel_digest": _texts(block.panel_digests, at),
        "policy": ended["policy"][at],
        "action": ended["action"][at],
    }
    _insert(connection, "lines", columns, run_id=block.run_id, created_at=created_at)


def insert_texts(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Row]) -> None:
    """Adds rows of ``items`` or ``judgments``, which are not redacted, column by column."""
    *columns, _ = zip(*rows, strict=True)
    _insert(connection, table, dict(zip(_TEXTS[table], map(_column, columns), strict=True)), redacted=False)


def _insert(connection: duckdb.DuckDBPyConnection, table: str, columns: Columns, **same: object) -> None:
    """Adds rows.

    Args:
        same: columns with one value.
    """
    constant = "".join(f", ${place} AS {name}" for place, name in enumerate(same, 1))
    connection.register(_VIEW, columns)
    try:
        query = f"INSERT INTO {table} BY NAME SELECT *{constant} FROM {_VIEW}"  # noqa: S608 - our own names
        connection.execute(query, list(same.values()))
    finally:
        connection.unregister(_VIEW)


def _texts(values: Sequence[str | None], at: Numbers) -> npt.NDArray[Any]:
    return _column(values if len(at) == len(values) else [values[place] for place in at.tolist()])


def _column(values: Sequence[Any]) -> npt.NDArray[Any]:
    return np.array(values, dtype=object)


def _truths(values: Sequence[bool | None]) -> npt.NDArray[Any]:
    return np.ma.masked_array([bool(one) for one in values], [one is None for one in values])
