"""The folder a distributed run writes: Parquet parts anyone can read, and what a rerun needs to resume.

::

    DIR/part-*.parquet       one row a judgment: the columns of SCHEMA, the whole assessment as JSON in the last one
    DIR/_calls/*.parquet     every attempt at a model
    DIR/_metajudge/          run.json (which panel), the work list and the journals of calls in flight

A part appears whole or not at all. Nothing but files is needed, so the folder may lie on any file system that all
workers share, or in an object store (:mod:`metajudge.distributed.place`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from metajudge.distributed.place import Place
from metajudge.errors import ConfigurationError, FailureKind
from metajudge.evidence.counting import Fate, fate_of
from metajudge.strategies import StrategyName
from metajudge.strategies.rule import rule_of
from metajudge.types import Assessment, Status

SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("key", pa.string()),
        ("id", pa.string()),
        ("item_id", pa.string()),
        ("judge", pa.string()),
        ("strategy", pa.string()),
        ("status", pa.string()),
        ("accepted", pa.bool_()),
        ("decided_by", pa.string()),
        ("score", pa.float64()),
        ("failure", pa.string()),
        ("renormalised", pa.bool_()),
        ("correct", pa.bool_()),
        ("probability", pa.float64()),
        ("guaranteed", pa.bool_()),
        ("decision", pa.string()),
        ("question", pa.string()),
        ("hash", pa.int64()),
        ("calls", pa.int64()),
        ("cost_usd", pa.float64()),
        ("run_id", pa.string()),
        ("finished_at", pa.float64()),
        ("panel_assessment", pa.string()),
        ("assessment", pa.string()),
    ]
)
"""Columns of a part.

``correct`` says whether the judgment agrees with its label, absent without one; ``question`` names the cluster of the
item, ``guaranteed`` whether a promise covers the judgment, and ``decided_by`` the rule in words. ``panel_assessment``
is what the panel found before calibration and policy, absent where there is neither. Parts of earlier versions lack
some columns.
"""


def _columns(*names: str) -> pa.Schema:
    return pa.schema([SCHEMA.field(name) for name in names])


_LIGHT = _columns("key", "strategy", "status", "accepted", "decided_by", "failure", "renormalised", "finished_at")
PARTS = "part-*.parquet"


@dataclass(frozen=True, slots=True)
class Earlier:
    """How a judgment ended in an earlier run, as far as counting needs it."""

    status: Status
    accepted: bool | None
    decided_by: str | None
    renormalised: bool
    failure: FailureKind | None

    @property
    def stands(self) -> bool:
        """Whether asking again is pointless."""
        return self.status is Status.ASSESSED or self.failure is FailureKind.NO_VERDICT

    @classmethod
    def of(cls, found: Assessment) -> "Earlier":
        """How an assessment ended."""
        kind = None if found.failure is None else found.failure.kind
        return cls(found.status, found.kept, _rule(found), found.renormalised, kind)


@dataclass(frozen=True, slots=True)
class PartRow:
    """A row of a part.

    Attributes:
        panel: the panel's own assessment; the same object as ``assessment`` where nothing was added.
    """

    index: int
    key: str
    panel: Assessment
    assessment: Assessment

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> "PartRow":
        """Reads the columns of the same names."""
        whole = Assessment.model_validate_json(row["assessment"])
        own = row["panel_assessment"]
        return cls(row["index"], row["key"], whole if own is None else Assessment.model_validate_json(own), whole)


class ResultsFolder:
    """The folder of one panel's results.

    Args:
        where: a path or URL; a folder is made where it is missing.

    Raises:
        ConfigurationError: a file, a folder that cannot be made, or a URL of no known kind.
    """

    def __init__(self, where: str | Path) -> None:
        self.place = Place(where)
        self.calls = self.place / "_calls"
        self.inside = self.place / "_metajudge"
        self.work = self.inside / "work"
        self.journals = self.inside / "journals"

    @property
    def panels(self) -> frozenset[str]:
        """The digest of the panel whose results these are; empty for a new folder."""
        note = self.inside.read_bytes("run.json")
        return frozenset() if note is None else frozenset([str(orjson.loads(note).get("panel_digest"))])

    def claim(self, panel_digest: str) -> None:
        """Notes whose results these are.

        Raises:
            ConfigurationError: the folder contains another panel's results, or files that are no results at all.
        """
        claimed = self.panels
        if claimed - {panel_digest}:
            raise ConfigurationError(
                f"{self.place} contains results of another panel (other agents, rubric, strategy or threshold): "
                "name another folder, or delete this one"
            )
        if claimed:
            return
        strange = self.place.names_of("*.parquet")
        if strange:
            raise ConfigurationError(
                f"{self.place} contains {strange[0]}, which no metajudge run wrote: name another folder"
            )
        self.inside.write("run.json", orjson.dumps({"version": 1, "panel_digest": panel_digest}))

    def write_part(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Writes a part in one step; one of the same name is replaced."""
        self.place.write_table(f"part-{name}.parquet", pa.Table.from_pylist(list(rows), schema=SCHEMA))

    def earlier(self) -> "EarlierResults":
        """What is known by key, the newest result of each."""
        return EarlierResults(self.place.read(pattern=PARTS, schema=_LIGHT))

    def panel_assessments(self, wanted: pc.Expression) -> dict[str, Assessment]:
        """What panels found before calibration and policy, by key, of the rows that meet an expression."""
        columns = _columns("key", "strategy", "status", "finished_at", "hash", "panel_assessment", "assessment")
        table = self.place.read(wanted, pattern=PARTS, schema=columns)
        table = table.filter(pa.array(_newest(table)))
        rows = zip(*(table[name].to_pylist() for name in ("key", "panel_assessment", "assessment")), strict=True)
        return {key: Assessment.model_validate_json(own or whole) for key, own, whole in rows}

    def supersede(self) -> int:
        """Drops results that a newer one of the same judgment replaces; returns how many were dropped."""
        columns = _columns("key", "strategy", "status", "finished_at")
        names = self.place.names_of(PARTS)
        tables = [self.place.read(pattern=name, schema=columns) for name in names]
        if not tables:
            return 0
        stays = _newest(pa.concat_tables(tables))
        dropped, start = 0, 0
        for name, count in zip(names, [table.num_rows for table in tables], strict=True):
            kept = stays[start : start + count]
            start += count
            if not kept.all():
                dropped += int((~kept).sum())
                table = self.place.read(pattern=name, schema=SCHEMA).filter(pa.array(kept))
                if table.num_rows:
                    self.place.write_table(name, table)
                else:
                    self.place.delete([name])
        return dropped

    def part(self, name: str) -> "list[PartRow]":
        """The rows of the part with this name."""
        columns = _columns("index", "key", "panel_assessment", "assessment")
        table = self.place.read(pattern=f"part-{name}.parquet", schema=columns)
        return [PartRow.read(row) for row in table.to_pylist()]

    def assessments(self) -> Iterator[tuple[int, Assessment]]:
        """Place in the input and assessment, part by part."""
        for name in self.place.names_of(PARTS):
            table = self.place.read(pattern=name, schema=_columns("index", "assessment"))
            for place, text in zip(table["index"].to_pylist(), table["assessment"].to_pylist(), strict=True):
                yield place, Assessment.model_validate_json(text)

    def fates(self) -> dict[str, Fate]:
        """Judgment id -> what became of it, by its newest result."""
        columns = _columns("id", "status", "accepted", "failure", "guaranteed", "finished_at")
        table = self.place.read(pattern=PARTS, schema=columns).sort_by("finished_at")
        return {
            row["id"]: fate_of(
                row["accepted"],
                covered=bool(row["guaranteed"]),
                failed=row["status"] == Status.FAILED and row["failure"] != FailureKind.NO_VERDICT,
            )
            for row in table.to_pylist()
        }

    def clear_work(self) -> None:
        """Removes the work list of a run that has ended."""
        self.work.clear()


class EarlierResults:
    """Results by key, in 33 bytes a judgment: keys are kept sorted, as 32 bytes each."""

    def __init__(self, table: pa.Table) -> None:
        table = table.filter(pa.array(_newest(table)))
        keys = np.array(table["key"].to_pylist(), dtype="S32")
        order = np.argsort(keys)
        self._keys = keys[order]
        codes: dict[Earlier, int] = {}
        columns = (table[name].to_pylist() for name in ("status", "accepted", "decided_by", "renormalised", "failure"))
        outcomes = [
            Earlier(Status(status), kept, rule, bool(partial), None if failure is None else FailureKind(failure))
            for status, kept, rule, partial, failure in zip(*columns, strict=True)
        ]
        self._outcome = np.array([codes.setdefault(one, len(codes)) for one in outcomes], dtype=np.uint8)[order]
        self._outcomes = list(codes)

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, key: str) -> Earlier | None:
        """The newest result under a key."""
        wanted = np.bytes_(key, "ascii")
        place = int(np.searchsorted(self._keys, wanted))
        known = place < len(self._keys) and self._keys[place] == wanted
        return self._outcomes[int(self._outcome[place])] if known else None


@dataclass(frozen=True, slots=True)
class Found:
    """What one judgment came to.

    Attributes:
        asked: its row in the work list.
        panel: the panel's own assessment; None where nothing was added to it.
    """

    asked: Mapping[str, Any]
    assessment: Assessment
    panel: Assessment | None

    def row(self, run_id: str, now: float) -> dict[str, Any]:
        """The row of a part."""
        one, failure, decision = self.assessment, self.assessment.failure, self.assessment.decision
        return {
            "index": self.asked["index"],
            "key": self.asked["key"],
            "id": one.judgment_id,
            "item_id": one.item_id,
            "judge": one.judge,
            "strategy": one.strategy,
            "status": one.status.value,
            "accepted": one.kept,
            "decided_by": _rule(one),
            "score": one.final_score,
            "failure": None if failure is None else failure.kind.value,
            "renormalised": one.renormalised,
            "correct": self.asked["correct"],
            "probability": one.probability,
            "guaranteed": one.guarantee is not None,
            "decision": None if decision is None else decision.action.value,
            "question": self.asked["question"],
            "hash": self.asked["hash"],
            "calls": one.calls,
            "cost_usd": one.cost_usd,
            "run_id": run_id,
            "finished_at": now,
            "panel_assessment": None if self.panel is None else self.panel.model_dump_json(),
            "assessment": one.model_dump_json(),
        }


def _rule(one: Assessment) -> str | None:
    """What decided, in words."""
    rule = rule_of(one)
    return None if rule is None else str(rule)


def _newest(table: pa.Table) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which rows are the result of their judgment: of one key the assessed one, then the newest, then the first.

    Of results by free evidence it is the newest: it depends on the judgments around it, and they may have changed.
    """
    keys = table["key"].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    free = pc.fill_null(pc.equal(table["strategy"], StrategyName.SIGNALS.value), False)
    assessed = pc.or_(pc.equal(table["status"], Status.ASSESSED.value), free).to_numpy()
    finished = table["finished_at"].to_numpy()
    order = np.lexsort((-np.arange(len(keys)), finished, assessed, keys))
    last = np.ones(len(order), dtype=bool)
    last[:-1] = keys[order][1:] != keys[order][:-1]
    stays = np.zeros(len(order), dtype=bool)
    stays[order[last]] = True
    return stays
