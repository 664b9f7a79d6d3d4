"""A side of a comparison as it is recorded: a run in a store, a store with one panel, or a file of assessments."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from metajudge.errors import InputError
from metajudge.evidence.units import Asked
from metajudge.exports.assessment_lines import read_lines
from metajudge.store import RunRecord, Store, open_store
from metajudge.store.queries import judgments_of
from metajudge.store.run_results import RunResult, current_results, run_results
from metajudge.store.versions import CURRENT
from metajudge.types import Judgment, Status
from metajudge.types.location import StoreLocation, is_old_store
from metajudge.vetting.comparison import Labelled, Side

PAGE = 1_000
"""Judgments that are read at once."""
NEWEST_RUNS = 1000

Kept = tuple[Labelled | None, Asked | None]
Known = dict[str, dict[str, Kept]]
"""Verdicts with labels, and units of dependence, that were read: by the store, by the judgment's digest."""


async def load_sides(first: str, second: str, store: StoreLocation) -> tuple[Side, Side]:
    """Reads both sides, one after the other, as both may be in one store; see :func:`load_side`."""
    known: Known = {}
    return await load_side(first, store, known), await load_side(second, store, known)


async def load_side(name: str, store: StoreLocation, known: Known | None = None) -> Side:
    """Reads one side.

    Args:
        name: a file of assessments, a store's file, or a run's id (or its beginning) in ``store``.

    Raises:
        InputError: nothing of this name, or nothing in it.
        StoreError: a store that cannot be opened.
    """
    path = Path(name)
    if path.is_file():
        return await _of_store(path, None, name, known) if _is_store(path) else _of_file(path, name)
    if path.is_dir():
        raise InputError(f"{name} is a folder: name a run's id, a store's file, or a file of `metajudge vet --out`")
    if not store.exists():
        raise InputError(
            f"{name} is not a file, and there is no store {store} with a run of this id: name a file of "
            "`metajudge vet --out`, or the store with --store"
        )
    return await _of_store(store, name, name, known)


def labelled_by(sides: tuple[Side, Side], judgments: Iterable[Judgment]) -> tuple[Side, Side]:
    """Two sides with the labels of judgments too, where these are the ones that were vetted.

    Args:
        judgments: read once; none of their texts is kept.
    """
    given = [(dict(side.labelled), dict(side.asked)) for side in sides]
    for judgment in judgments:
        labelled, asked = Labelled.of(judgment), Asked.of(judgment.item)
        for place, side in enumerate(sides):
            result = side.results.get(judgment.id)
            if result is not None and _same(judgment, result.judgment_digest):
                given[place][1][judgment.id] = asked
                if labelled is not None:
                    given[place][0][judgment.id] = labelled
    first, second = (
        replace(side, labelled=labels, asked=units) for side, (labels, units) in zip(sides, given, strict=True)
    )
    return first, second


def _same(judgment: Judgment, digest: str) -> bool:
    """Whether it is the judgment that was vetted, perhaps before it had labels."""
    if judgment.digest == digest:
        return True
    data = judgment.model_dump()
    return Judgment.model_validate({**data, "item": {**data["item"], "label": None, "labels": ()}}).digest == digest


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(15) == b"SQLite format 3" or is_old_store(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


class _Line(BaseModel):
    """What is read of a line of assessments; the rest of the line is left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1] = 1
    judgment_id: str
    item_id: str
    judge: str
    status: Status
    accepted: bool | None = None
    final_score: float | None = None
    strategy: str
    panel_digest: str
    judgment_digest: str


def _of_file(path: Path, name: str) -> Side:
    found: dict[str, RunResult] = {}
    for line in read_lines(path, _Line):
        one = RunResult(0, 0, *(getattr(line, name) for name in RunResult._fields[2:]))
        earlier = found.setdefault(one.judgment_id, one)
        if earlier.judgment_digest != one.judgment_digest:
            raise InputError(
                f"{path} has two different judgments with the id {one.judgment_id!r}: they cannot be paired"
            )
        found[one.judgment_id] = one
    return Side(name, found)


async def _of_store(location: StoreLocation, run_id: str | None, name: str, known: Known | None) -> Side:
    notes: tuple[str, ...] = ()
    store = await open_store(location)
    try:
        if run_id is None:
            found = await _only_panel(store, name)
        else:
            found, notes = await _of_run(store, await _run(store, run_id, location))
        kept = await _kept(store, found, ({} if known is None else known).setdefault(str(location), {}))
    finally:
        await store.close()
    if not found:
        raise InputError(f"{name} contains no assessment: `metajudge runs` lists runs, and how many they assessed")
    labelled = {key: one for key, (one, _) in kept.items() if one is not None}
    asked = {key: one for key, (_, one) in kept.items() if one is not None}
    return Side(name, found, notes=notes, labelled=labelled, asked=asked)


async def _kept(store: Store, found: Mapping[str, RunResult], known: dict[str, Kept]) -> dict[str, Kept]:
    """By the judgment's id."""
    wanted = list(dict.fromkeys(one.judgment_digest for one in found.values() if one.judgment_digest not in known))
    shared: dict[Kept, Kept] = {}  # many judgments have the same
    for start in range(0, len(wanted), PAGE):
        digests = wanted[start : start + PAGE]
        there = await store.ask(partial(judgments_of, digests=digests))
        for digest in digests:
            one = there.get(digest)
            kept = (None, None) if one is None else (Labelled.of(one), Asked.of(one.item))
            known[digest] = shared.setdefault(kept, kept)
    return {key: known[one.judgment_digest] for key, one in found.items()}


async def _run(store: Store, name: str, location: StoreLocation) -> RunRecord:
    known = await store.runs(NEWEST_RUNS)
    matching = [run for run in known if run.run_id == name] or [run for run in known if run.run_id.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise InputError(f"{len(matching)} runs in {location} begin with {name!r}: give more characters of the id")
    there = ", ".join(f"{run.run_id} ({run.command})" for run in known[:5]) or "none"
    raise InputError(f"no run {name!r} in {location}, and no such file; the newest runs are: {there}")


async def _of_run(store: Store, run: RunRecord) -> tuple[dict[str, RunResult], tuple[str, ...]]:
    """The results that the run made; those it took from earlier runs are the newest of its panel."""
    found = {one.judgment_id: one for one in await store.ask(partial(run_results, run_id=run.run_id))}
    known_before = (run.summary or {}).get("judgments", 0) - len(found)
    if known_before <= 0:
        return found, ()
    panel = run.config.get("panel_digest")
    taken = {} if panel is None else await _current(store, panel)
    taken = {name: one for name, one in taken.items() if name not in found}
    taken_over = f"run {run.run_id} took {known_before} results from earlier runs"
    note = f"{taken_over}: read as the newest of its panel ({len(taken)} there)"
    return {**taken, **found}, (note,)


async def _only_panel(store: Store, name: str) -> dict[str, RunResult]:
    query = f"SELECT COUNT(DISTINCT panel_digest) FROM {CURRENT}"  # noqa: S608
    ((panels,),) = await store.ask(lambda connection: connection.execute(query).fetchall())
    if panels > 1:
        raise InputError(f"{name} has assessments by {panels} panels: name a run (--store {name} RUN)")
    return await _current(store, None)


async def _current(store: Store, panel: str | None) -> dict[str, RunResult]:
    """The newest results, of one panel or of all."""
    rows = await store.ask(partial(current_results, panel=panel))
    return {one.judgment_id: one for one in rows}
