"""The folder a distributed run writes: Parquet parts anyone can read, and what a rerun needs to resume.

::

    DIR/part-*.parquet       one row a judgment: the columns of SCHEMA, the whole assessment as JSON in the last one
    DIR/_calls/*.parquet     every attempt at a model
    DIR/_metajudge/          run.json (which panel), the work list and the journals of calls in flight

A part appears whole or not at all. Nothing but files is needed, so the folder may lie on any file system that all
workers share.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metajudge.errors import ConfigurationError, FailureKind, StoreError
from metajudge.files.replacing import replacing
from metajudge.types import Assessment, Judgment, Status

SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("key", pa.string()),
        ("id", pa.string()),
        ("item_id", pa.string()),
        ("judge", pa.string()),
        ("status", pa.string()),
        ("accepted", pa.bool_()),
        ("score", pa.float64()),
        ("failure", pa.string()),
        ("renormalised", pa.bool_()),
        ("correct", pa.bool_()),
        ("calls", pa.int64()),
        ("cost_usd", pa.float64()),
        ("run_id", pa.string()),
        ("finished_at", pa.float64()),
        ("assessment", pa.string()),
    ]
)
"""Columns of a part. ``correct`` says whether the judgment agrees with its label, absent without one."""

_LIGHT = ["key", "status", "accepted", "failure", "renormalised", "finished_at"]


@dataclass(frozen=True, slots=True)
class Earlier:
    """How a judgment ended in an earlier run, as far as counting needs it."""

    status: Status
    accepted: bool | None
    renormalised: bool
    failure: FailureKind | None

    @property
    def stands(self) -> bool:
        """Whether asking again is pointless."""
        return self.status is Status.ASSESSED or self.failure is FailureKind.NO_VERDICT


class ResultsFolder:
    """The folder of one panel's results.

    Args:
        path: made where it is missing.

    Raises:
        ConfigurationError: a file, or a folder that cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls = path / "_calls"
        self.inside = path / "_metajudge"
        self.work = self.inside / "work"
        self.journals = self.inside / "journals"
        try:
            for folder in (path, self.calls, self.inside, self.journals):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"--out {path}: {error.strerror}; name a writable folder") from None

    @property
    def panels(self) -> frozenset[str]:
        """The digest of the panel whose results these are; empty for a new folder."""
        return frozenset([self._claimed]) if self._note.exists() else frozenset()

    def claim(self, panel_digest: str) -> None:
        """Notes whose results these are.

        Raises:
            ConfigurationError: the folder contains another panel's results, or files that are no results at all.
        """
        if self._note.exists():
            if self._claimed != panel_digest:
                raise ConfigurationError(
                    f"{self.path} contains results of another panel (other agents, rubric, strategy or threshold): "
                    "name another folder, or delete this one"
                )
            return
        strange = [file.name for file in self.path.glob("*.parquet")]
        if strange:
            raise ConfigurationError(
                f"{self.path} contains {strange[0]}, which no metajudge run wrote: name another folder"
            )
        replace_file(self._note, orjson.dumps({"version": 1, "panel_digest": panel_digest}))

    @property
    def _note(self) -> Path:
        return self.inside / "run.json"

    @property
    def _claimed(self) -> str:
        return str(orjson.loads(self._note.read_bytes()).get("panel_digest"))

    def parts(self) -> list[Path]:
        """The parts that are there, sorted by name."""
        return sorted(self.path.glob("part-*.parquet"))

    def write_part(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes a part in one step; one of the same name is replaced."""
        write_table(self.path / f"part-{name}.parquet", pa.Table.from_pylist(list(rows), schema=SCHEMA))

    def earlier(self) -> "EarlierResults":
        """What is known by key, the newest result of each."""
        tables = [pq.read_table(part, columns=_LIGHT) for part in self.parts()]
        return EarlierResults(pa.concat_tables(tables) if tables else SCHEMA.empty_table().select(_LIGHT))

    def supersede(self) -> int:
        """Drops results that a newer one of the same judgment replaces; returns how many were dropped."""
        parts = self.parts()
        tables = [pq.read_table(part, columns=["key", "status", "finished_at"]) for part in parts]
        if not tables:
            return 0
        counts = [table.num_rows for table in tables]
        stays = _newest(pa.concat_tables(tables))
        dropped, start = 0, 0
        for part, count in zip(parts, counts, strict=True):
            kept = stays[start : start + count]
            start += count
            if not kept.all():
                dropped += int((~kept).sum())
                table = pq.read_table(part).filter(pa.array(kept))
                if table.num_rows:
                    write_table(part, table)
                else:
                    part.unlink()
        return dropped

    def assessments(self) -> Iterator[tuple[int, Assessment]]:
        """Place in the input and assessment, part by part."""
        for part in self.parts():
            table = pq.read_table(part, columns=["index", "assessment"])
            for place, text in zip(table["index"].to_pylist(), table["assessment"].to_pylist(), strict=True):
                yield place, Assessment.model_validate_json(text)

    def labels(self) -> pa.Table:
        """``id``, ``item_id``, ``accepted`` and ``correct`` of what was decided and has a label."""
        columns = ["id", "item_id", "accepted", "correct"]
        tables = [pq.read_table(part, columns=columns) for part in self.parts()]
        table = pa.concat_tables(tables) if tables else SCHEMA.empty_table().select(columns)
        return table.filter(pc.and_(pc.is_valid(table["accepted"]), pc.is_valid(table["correct"])))

    def clear_work(self) -> None:
        """Removes the work list of a run that has ended."""
        shutil.rmtree(self.work, ignore_errors=True)


class EarlierResults:
    """Results by key, in 17 bytes a judgment: keys are 128-bit digests, kept sorted as two halves."""

    def __init__(self, table: pa.Table) -> None:
        table = table.filter(pa.array(_newest(table)))
        keys = table["key"].to_pylist()
        high = np.array([int(key[:16], 16) for key in keys], dtype=np.uint64)
        low = np.array([int(key[16:], 16) for key in keys], dtype=np.uint64)
        order = np.lexsort((low, high))
        self._high, self._low = high[order], low[order]
        codes: dict[Earlier, int] = {}
        columns = (table[name].to_pylist() for name in ("status", "accepted", "renormalised", "failure"))
        outcomes = [
            Earlier(Status(status), accepted, bool(renormalised), None if failure is None else FailureKind(failure))
            for status, accepted, renormalised, failure in zip(*columns, strict=True)
        ]
        self._outcome = np.array([codes.setdefault(one, len(codes)) for one in outcomes], dtype=np.uint8)[order]
        self._outcomes = list(codes)

    def __len__(self) -> int:
        return len(self._high)

    def find(self, key: str) -> Earlier | None:
        """The newest result under a key."""
        high, low = np.uint64(int(key[:16], 16)), np.uint64(int(key[16:], 16))
        place = int(np.searchsorted(self._high, high))
        while place < len(self._high) and self._high[place] == high:
            if self._low[place] == low:
                return self._outcomes[int(self._outcome[place])]
            place += 1
        return None


def row_of(
    index: int, key: str, judgment: Judgment, assessment: Assessment, *, run_id: str, now: float
) -> dict[str, Any]:
    """A row of a part."""
    return {
        "index": index,
        "key": key,
        "id": judgment.id,
        "item_id": judgment.item.id,
        "judge": judgment.judge,
        "status": assessment.status.value,
        "accepted": assessment.accepted,
        "score": assessment.final_score,
        "failure": None if assessment.failure is None else assessment.failure.kind.value,
        "renormalised": assessment.renormalised,
        "correct": judgment.correct,
        "calls": assessment.calls,
        "cost_usd": assessment.cost_usd,
        "run_id": run_id,
        "finished_at": now,
        "assessment": assessment.model_dump_json(),
    }


def write_table(path: Path, table: pa.Table) -> None:
    """Writes Parquet whole or not at all.

    Raises:
        StoreError: the disk is full or not writable.
    """
    with _replacing(path) as part:
        pq.write_table(table, part, compression="zstd")


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all.

    Raises:
        StoreError: the disk is full or not writable.
    """
    with _replacing(path) as part:
        part.write_bytes(content)


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    try:
        with replacing(path) as part:
            yield part
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error


def _newest(table: pa.Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows are the result of their judgment: of one key the assessed one, then the newest, then the first."""
    keys = table["key"].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    assessed = pc.equal(table["status"], Status.ASSESSED.value).to_numpy()
    finished = table["finished_at"].to_numpy()
    order = np.lexsort((-np.arange(len(keys)), finished, assessed, keys))
    last = np.ones(len(order), dtype=bool)
    last[:-1] = keys[order][1:] != keys[order][:-1]
    stays = np.zeros(len(order), dtype=bool)
    stays[order[last]] = True
    return stays
