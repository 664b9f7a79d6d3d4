"""A side of a comparison as it is recorded: a run in a store, a store with one panel, or a file of assessments."""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from metajudge.errors import InputError
from metajudge.preferences.assessment_lines import read_lines
from metajudge.store import RunRecord, Store, open_to_read
from metajudge.store.queries import KeptJudgments
from metajudge.types import Judgment, Status
from metajudge.types.location import StoreLocation
from metajudge.vetting.comparison import Labelled, Result, Side

PAGE = 20_000
_TEXTS = 2_000
NEWEST_RUNS = 1000

_DUCKDB_MAGIC = slice(8, 12)


async def load_side(name: str, store: StoreLocation) -> Side:
    """Reads one side.

    Args:
        name: a file of assessments, a store's file, or a run's id (or its beginning) in ``store``.

    Raises:
        InputError: nothing of this name, or nothing in it.
        StoreError: a store that cannot be opened.
    """
    path = Path(name)
    if path.is_file():
        return await _of_store(path, None, name) if _is_store(path) else _of_file(path, name)
    if path.is_dir():
        raise InputError(f"{name} is a folder: name a run's id, a store's file, or a file of `metajudge vet --out`")
    if not store.exists():
        raise InputError(
            f"{name} is not a file, and there is no store {store} with a run of this id: name a file of "
            "`metajudge vet --out`, or the store with --store"
        )
    return await _of_store(store, name, name)


def labelled_by(sides: tuple[Side, Side], judgments: Iterable[Judgment]) -> tuple[Side, Side]:
    """Two sides with the labels of judgments too, where these are the ones that were vetted.

    Args:
        judgments: read once; none of their texts is kept.
    """
    found: tuple[dict[str, Labelled], ...] = tuple({} for _ in sides)
    for judgment in judgments:
        labelled = Labelled.of(judgment)
        for side, given in zip(sides, found, strict=True):
            result = side.results.get(judgment.id)
            if labelled is not None and result is not None and _same(judgment, result.judgment_digest):
                given[judgment.id] = labelled
    first, second = (
        replace(side, labelled={**side.labelled, **given}) for side, given in zip(sides, found, strict=True)
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
            return stream.read(12)[_DUCKDB_MAGIC] == b"DUCK"
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
    found: dict[str, Result] = {}
    for line in read_lines(path, _Line):
        one = Result(line.judgment_id, line.item_id, line.judgment_digest, line.accepted, line.final_score)
        earlier = found.setdefault(one.judgment_id, one)
        if earlier.judgment_digest != one.judgment_digest:
            raise InputError(
                f"{path} has two different judgments with the id {one.judgment_id!r}: they cannot be paired"
            )
        found[one.judgment_id] = one
    return Side(name, found)


async def _of_store(location: StoreLocation, run_id: str | None, name: str) -> Side:
    notes: tuple[str, ...] = ()
    store = await open_to_read(location)
    try:
        if run_id is None:
            found = await _only_panel(store, name)
        else:
            found, notes = await _of_run(store, await _run(store, run_id, location))
        labelled = await _labelled(store, found)
    finally:
        await store.close()
    if not found:
        raise InputError(f"{name} contains no assessment: `metajudge runs` lists runs, and how many they assessed")
    return Side(name, found, notes=notes, labelled=labelled)


async def _labelled(store: Store, found: Mapping[str, Result]) -> dict[str, Labelled]:
    """By the judgment's id; texts of one page are in memory at a time."""
    labelled: dict[str, Labelled] = {}
    kept, results = KeptJudgments(), list(found.items())
    for start in range(0, len(results), _TEXTS):
        page = results[start : start + _TEXTS]
        digests = sorted({one.judgment_digest for _, one in page})
        judgments = await store.ask(partial(kept.among, digests=digests))
        for key, one in page:
            judgment = judgments.get(one.judgment_digest)
            given = None if judgment is None else Labelled.of(judgment)
            if given is not None:
                labelled[key] = given
    return labelled


async def _run(store: Store, name: str, location: StoreLocation) -> RunRecord:
    known = await store.runs(NEWEST_RUNS)
    matching = [run for run in known if run.run_id == name] or [run for run in known if run.run_id.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise InputError(f"{len(matching)} runs in {location} begin with {name!r}: give more characters of the id")
    there = ", ".join(f"{run.run_id} ({run.command})" for run in known[:5]) or "none"
    raise InputError(f"no run {name!r} in {location}, and no such file; the newest runs are: {there}")


async def _of_run(store: Store, run: RunRecord) -> tuple[dict[str, Result], tuple[str, ...]]:
    """The results that the run made; those it took from earlier runs are the newest of its panel."""
    found: dict[str, Result] = {}
    after = 0
    while page := await store.run_assessments(run.run_id, after, PAGE):
        found.update((one.judgment_id, Result.of(one)) for _, one in page)
        after = page[-1][0]
    known_before = (run.summary or {}).get("judgments", 0) - len(found)
    if known_before <= 0:
        return found, ()
    panel = run.config.get("panel_digest")
    taken: dict[str, Result] = {}
    async for by, one in _newest(store):
        if by == panel and one.judgment_id not in found:
            taken[one.judgment_id] = one
    taken_over = f"run {run.run_id} took {known_before} results from earlier runs"
    note = f"{taken_over}: read as the newest of its panel ({len(taken)} there)"
    return {**taken, **found}, (note,)


async def _only_panel(store: Store, name: str) -> dict[str, Result]:
    found: dict[str, Result] = {}
    panels: set[str] = set()
    async for panel, one in _newest(store):
        found[one.judgment_id] = one
        panels.add(panel)
    if len(panels) > 1:
        raise InputError(f"{name} has assessments by {len(panels)} panels: name a run (--store {name} RUN)")
    return found


async def _newest(store: Store) -> AsyncIterator[tuple[str, Result]]:
    """The newest results, each with its panel."""
    after = 0
    while page := await store.newest_assessments(after, PAGE):
        for _, one in page:
            yield one.panel_digest, Result.of(one)
        after = page[-1][0]
