"""What is to be done: the input read once, checked, as Parquet for the workers, to be read by ranges of a hash.

What is compared travels as facts (:mod:`metajudge.evidence.facts`), and a judgment's text only where a model is asked
about it. The hash is that of the question where evidence is asked for, so that a range has all judgments of each of its
questions: whatever is compared with a judgment stands in the same range.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from metajudge.bulk.correctness import correctness
from metajudge.bulk.reading import Intake
from metajudge.distributed.folder import Earlier, EarlierResults
from metajudge.distributed.place import Place
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.types import Assessment, Judgment

WORK = pa.schema(
    [
        ("place", pa.int64()),
        ("index", pa.int64()),
        ("hash", pa.int64()),
        ("key", pa.string()),
        ("question", pa.string()),
        ("digest", pa.string()),
        ("done", pa.bool_()),
        ("retry", pa.bool_()),
        ("correct", pa.bool_()),
        ("facts", pa.string()),
        ("judgment", pa.string()),
        ("found", pa.string()),
    ]
)
"""Columns of the work list.

``place`` is that among all judgments of the input, ``index`` that among those to vet, -1 for those that are there as
evidence alone. ``done`` is true where an earlier run has the panel's result, and ``retry`` marks judgments that ended
without a decision before. ``correct`` says whether the verdict agrees with the label. ``judgment`` is null where no
model is asked. ``found`` is the panel's result where the store has it.
"""

ROWS_A_FILE, ROWS_A_GROUP, ROWS_A_LOOKUP = 20_000, 500, 1_000

Hashes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Range:
    """The judgments of one batch: those whose hash is at least ``low`` and below ``high``."""

    low: int
    high: int

    def filter(self) -> Any:
        """The same as an expression for reading Parquet."""
        return (pc.field("hash") >= self.low) & (pc.field("hash") < self.high)


@dataclass(slots=True)
class Stored:
    """What the store has of an input.

    Args:
        find: looks panels' assessments up by key; None without a store.

    Attributes:
        at: [count] whether the store has the assessment of each judgment, by its place among those to vet.
    """

    count: int
    find: Callable[[Sequence[str]], Mapping[str, Assessment]] | None = None
    at: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.at = np.zeros(self.count, dtype=bool)

    def look_up(self, keys: Mapping[int, str]) -> Mapping[str, Assessment]:
        """The assessments under keys, given by the place of their judgment."""
        if self.find is None or not keys:
            return {}
        found = self.find(list(keys.values()))
        for place, key in keys.items():
            self.at[place] = key in found
        return found


@dataclass(frozen=True, slots=True)
class WorkList:
    """Writes what is to be done.

    Attributes:
        keep_failures: whether what ended unscored or failed before is left so.
        whole: whether nothing is left out: more than counts is asked of what is done already.
        known: called with what is known of each judgment that is done already and left out.
    """

    intake: Intake
    vetter: Vetter
    earlier: EarlierResults
    keep_failures: bool
    evidence: bool
    whole: bool
    stored: Stored
    known: Callable[[Earlier], None]

    def write(self, place: Place) -> Hashes:
        """Writes it to an empty or missing folder; returns the hashes of its rows, sorted."""
        intake = self.intake
        index = np.full(len(intake.facts), -1, dtype=np.int64)
        index[intake.wanted] = np.arange(len(intake.wanted))
        correct = correctness(intake.facts, intake.rules())
        rows = np.arange(len(intake.facts)) if self.evidence else intake.wanted
        hashes: list[int] = []
        for start in range(0, len(rows), ROWS_A_FILE):
            part = list(self._rows(rows[start : start + ROWS_A_FILE], index, correct))
            if part:
                hashes += [one["hash"] for one in part]
                table = pa.Table.from_pylist(part, schema=WORK).sort_by("hash")
                place.write_table(f"{start:09}.parquet", table, rows_a_group=ROWS_A_GROUP)
        return np.sort(np.array(hashes, dtype=np.int64))

    def _rows(
        self, rows: NDArray[np.int64], index: NDArray[np.int64], correct: NDArray[np.int8]
    ) -> Iterator[dict[str, Any]]:
        facts = self.intake.facts
        names: dict[int, str | None] = {-1: None, **dict(enumerate(facts.categories))}
        panels = {code: self.vetter.panel_of(names[code]) for code in np.unique(facts.category[rows]).tolist()}
        for start in range(0, len(rows), ROWS_A_LOOKUP):
            part = rows[start : start + ROWS_A_LOOKUP].tolist()
            asked = {row for row in part if index[row] >= 0 and asks_models(panels[int(facts.category[row])])}
            judgments = {row: self.intake.texts.judgment(row) for row in part if row in asked}
            keys = {row: self._key(row, panels[int(facts.category[row])], judgments.get(row)) for row in part}
            # What free evidence says depends on the judgments around, so it is never taken from an earlier run.
            stored = self.stored.look_up({int(index[row]): keys[row] for row in part if row in asked})
            for row in part:
                key, judgment = keys[row], judgments.get(row)
                earlier = self.earlier.find(key) if row in asked else None
                found = stored.get(key) if row in asked else None
                if found is not None and (earlier is None or not earlier.stands):
                    earlier = Earlier.of(found)
                else:
                    found = None
                done = earlier is not None and (self.keep_failures or earlier.stands)
                if earlier is not None and done and not self.whole:
                    self.known(earlier)
                    continue
                question = facts.items[facts.item[row]].question
                yield {
                    "place": row,
                    "index": int(index[row]),
                    "hash": int((question if self.evidence else key)[:8], 16),
                    "key": key,
                    "question": question,
                    "digest": self.intake.digest(row),
                    "done": done,
                    "retry": earlier is not None,
                    "correct": None if correct[row] < 0 else bool(correct[row]),
                    "facts": orjson.dumps(facts.row(row)).decode(),
                    "judgment": None if judgment is None else judgment.model_dump_json(exclude_defaults=True),
                    "found": found.model_dump_json() if found is not None and done else None,
                }

    def _key(self, row: int, panel: Panel, judgment: Judgment | None) -> str:
        if judgment is not None:
            return self.vetter.key(judgment)
        kin: list[str] | None = [] if panel.families == "forbid" else None  # without agents there is no kinship
        return self.vetter.key_of(self.intake.facts.judgment_ids[row], self.intake.vetting_digest(row), panel, kin)


def asks_models(panel: Panel) -> bool:
    """Whether a panel asks models."""
    return panel.strategy is not StrategyName.SIGNALS


def ranges_of(hashes: Hashes, size: int) -> list[Range]:
    """Ranges of about ``size`` judgments that part no two of the same hash.

    Args:
        hashes: sorted.
        size: at least 1.
    """
    if not len(hashes):
        return []
    starts = list(dict.fromkeys(hashes[::size].tolist()))
    return [Range(low, high) for low, high in zip(starts, [*starts[1:], int(hashes[-1]) + 1], strict=True)]


def read_range(place: Place, wanted: Range) -> list[dict[str, Any]]:
    """The rows of one range, in the order of the input."""
    rows: list[dict[str, Any]] = place.read(wanted.filter(), schema=WORK).sort_by("place").to_pylist()
    return rows


def read_judgments(place: Place, wanted: Range) -> dict[int, Judgment]:
    """The judgments of one range that models are asked about, by their place in the input."""
    columns = pa.schema([WORK.field(name) for name in ("place", "hash", "judgment")])
    rows = place.read(wanted.filter(), schema=columns).to_pylist()
    found = {row["place"]: row["judgment"] for row in rows}
    return {at: Judgment.model_validate_json(text) for at, text in found.items() if text is not None}
