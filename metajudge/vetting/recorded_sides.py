"""A side of a comparison as it is recorded: a run in a store, a store with one panel, or a file of assessments."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from metajudge.errors import InputError
from metajudge.preferences.assessment_lines import read_assessments
from metajudge.store import RunRecord, Store, open_store
from metajudge.types import Assessment, Judgment
from metajudge.types.location import StoreLocation
from metajudge.vetting.comparison import Side

PAGE = 1000
NEWEST_RUNS = 1000

_DUCKDB_MAGIC = slice(8, 12)


async def load_side(name: str, store: StoreLocation, labels: Mapping[str, Judgment]) -> Side:
    """Reads one side.

    Args:
        name: a file of assessments, a store's file, or a run's id (or its beginning) in ``store``.
        labels: judgments by id, whose labels count where the digest is the assessment's.

    Raises:
        InputError: nothing of this name, or nothing in it.
        StoreError: a store that cannot be opened.
    """
    path = Path(name)
    if path.is_file():
        side = await _of_store(path, None, name) if _is_store(path) else _of_file(path, name)
    elif path.is_dir():
        raise InputError(f"{name} is a folder: name a run's id, a store's file, or a file of `metajudge vet --out`")
    elif not store.exists():
        raise InputError(
            f"{name} is not a file, and there is no store {store} with a run of this id: name a file of "
            "`metajudge vet --out`, or the store with --store"
        )
    else:
        side = await _of_store(store, name, name)
    given = {
        key: labels[key]
        for key, one in side.assessments.items()
        if key in labels and labels[key].item.truth is not None and _same(labels[key], one.judgment_digest)
    }
    return replace(side, labelled={**side.labelled, **given})


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


def _of_file(path: Path, name: str) -> Side:
    found: dict[str, Assessment] = {}
    for assessment in read_assessments(path):
        earlier = found.setdefault(assessment.judgment_id, assessment)
        if earlier.judgment_digest != assessment.judgment_digest:
            raise InputError(
                f"{path} has two different judgments with the id {assessment.judgment_id!r}: they cannot be paired"
            )
        found[assessment.judgment_id] = assessment
    return Side(name, found)


async def _of_store(location: StoreLocation, run_id: str | None, name: str) -> Side:
    notes: tuple[str, ...] = ()
    store = await open_store(location)
    try:
        if run_id is None:
            found = await _only_panel(store, name)
        else:
            found, notes = await _of_run(store, await _run(store, run_id, location))
        judgments = {one.digest: one for one in await store.judgments()}
    finally:
        await store.close()
    if not found:
        raise InputError(f"{name} contains no assessment: `metajudge runs` lists runs, and how many they assessed")
    labelled: dict[str, Judgment] = {}
    for key, assessment in found.items():
        judgment = judgments.get(assessment.judgment_digest)
        if judgment is not None and judgment.item.truth is not None:
            labelled[key] = judgment
    return Side(name, found, notes=notes, labelled=labelled)


async def _run(store: Store, name: str, location: StoreLocation) -> RunRecord:
    known = await store.runs(NEWEST_RUNS)
    matching = [run for run in known if run.run_id == name] or [run for run in known if run.run_id.startswith(name)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise InputError(f"{len(matching)} runs in {location} begin with {name!r}: give more characters of the id")
    there = ", ".join(f"{run.run_id} ({run.command})" for run in known[:5]) or "none"
    raise InputError(f"no run {name!r} in {location}, and no such file; the newest runs are: {there}")


async def _of_run(store: Store, run: RunRecord) -> tuple[dict[str, Assessment], tuple[str, ...]]:
    """The assessments that the run made; those it took from earlier runs are the newest of its panel."""
    found: dict[str, Assessment] = {}
    after = 0
    while page := await store.run_assessments(run.run_id, after, PAGE):
        found.update((one.judgment_id, one) for _, one in page)
        after = page[-1][0]
    known_before = (run.summary or {}).get("judgments", 0) - len(found)
    if known_before <= 0:
        return found, ()
    panel = run.config.get("panel_digest")
    taken: dict[str, Assessment] = {}
    for assessment in await _newest(store):
        if assessment.panel_digest == panel and assessment.judgment_id not in found:
            taken[assessment.judgment_id] = assessment
    taken_over = f"run {run.run_id} took {known_before} results from earlier runs"
    note = f"{taken_over}: read as the newest of its panel ({len(taken)} there)"
    return {**taken, **found}, (note,)


async def _only_panel(store: Store, name: str) -> dict[str, Assessment]:
    newest = await _newest(store)
    panels = {one.panel_digest for one in newest}
    if len(panels) > 1:
        raise InputError(f"{name} has assessments by {len(panels)} panels: name a run (--store {name} RUN)")
    return {one.judgment_id: one for one in newest}


async def _newest(store: Store) -> list[Assessment]:
    found: list[Assessment] = []
    after = 0
    while page := await store.newest_assessments(after, PAGE):
        found += [one for _, one in page]
        after = page[-1][0]
    return found
