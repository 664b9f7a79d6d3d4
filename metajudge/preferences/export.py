"""From vetted judgments to a folder of preference data."""

import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import orjson

from metajudge.errors import InputError
from metajudge.evidence.units import QUESTION
from metajudge.installation import __version__
from metajudge.preferences import cleaning, formats, selecting, splitting, verdicts
from metajudge.preferences.assessment_lines import to_text
from metajudge.preferences.card import card
from metajudge.preferences.checking import CARD, STATS, describe, pretty, write_manifest
from metajudge.preferences.contamination import Benchmarks
from metajudge.preferences.intake import Vetted, take_in
from metajudge.preferences.judgment_pairs import pair_judgments
from metajudge.preferences.request import ExportRequest, Format, Kind
from metajudge.preferences.responses import pair_responses
from metajudge.preferences.workspace import MEMORY, FunnelStep, Workspace, named_rows, only
from metajudge.readers import FieldMap, JudgmentSource, open_judgments
from metajudge.readers.saved_maps import FILE_NAME as MAPS_FILE
from metajudge.types import Assessment, Judgment, digest
from metajudge.types.location import PostgresUrl, StoreLocation, store_location

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration
from metajudge.preferences.request import Rule

Watcher = Callable[[str, int, int, duckdb.DuckDBPyConnection], None]
"""Told the stage that begins, its number, how many there are, and the connection whose progress can be asked."""
_LENGTHS = """
    SELECT count(*) AS pairs, avg(chosen_length) AS chosen_mean, avg(rejected_length) AS rejected_mean,
        median(chosen_length) AS chosen_median, median(rejected_length) AS rejected_median,
        avg((chosen_length > rejected_length)::INTEGER) FILTER (chosen_length <> rejected_length) AS chosen_longer,
        avg((chosen_length = rejected_length)::INTEGER) AS equally_long,
        avg(ln(chosen_length::DOUBLE / rejected_length)) AS mean_log_ratio
    FROM {table} WHERE rejected_length > 0 AND chosen_length > 0"""


def lengths(work: duckdb.DuckDBPyConnection, table: str) -> dict[str, float | int | None]:
    """Lengths in characters; ``chosen_longer`` is a share of the pairs that differ in length."""
    (row,) = named_rows(work, _LENGTHS.format(table=table))
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}


def figures(work: duckdb.DuckDBPyConnection, request: ExportRequest) -> dict[str, Any]:
    """Rows by split, judge, category and flag, and what the vetting was."""

    def counts(query: str) -> dict[str, int]:
        return {str(name): count for name, count in work.execute(query).fetchall()}

    joined = "ordered JOIN entries USING (entry_id)"
    found: dict[str, Any] = {
        "splits": {
            part: {"rows": rows, "clusters": clusters}
            for part, rows, clusters in work.execute(
                "SELECT part, count(*), count(DISTINCT cluster) FROM ordered GROUP BY 1 ORDER BY 1"
            ).fetchall()
        },
        "judges": counts(f"SELECT judge, count(*) FROM {joined} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 50"),
        "categories": counts(
            "SELECT coalesce(category, '(none)'), count(*) FROM ordered JOIN items USING (item_no) "
            "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200"
        ),
        "flags": counts("SELECT unnest(flags) AS flag, count(*) FROM ordered GROUP BY 1 ORDER BY 1"),
        "kept_by": counts(f"SELECT coalesce(kept_by, '(none)'), count(*) FROM {joined} GROUP BY 1 ORDER BY 2 DESC, 1"),
        "rows_outside_guarantee": work.execute(
            f"SELECT count(*) FILTER (kept_by IS NOT NULL AND NOT by_rule) FROM {joined}"
        ).fetchall()[0][0]
        if request.selection.rule is Rule.GUARANTEE
        else None,
        "with_probability": work.execute(f"SELECT count(probability) FROM {joined}").fetchall()[0][0],
    }
    return found


def kinds(work: duckdb.DuckDBPyConnection) -> dict[str, dict[str, int]]:
    """Kind of verdict -> how many judgments there were (``judgments``) and were kept (``kept``)."""
    rows = work.execute("""
        SELECT coalesce(kind_of(j.verdict), 'no_verdict'), count(*), count(*) FILTER (a.kept)
        FROM selected a JOIN judgments j USING (judgment_id) GROUP BY 1 ORDER BY 1""").fetchall()
    return {kind: {"judgments": count, "kept": kept} for kind, count, kept in rows}


def vetting(work: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """The panels that vetted the judgments, with how many each: agents, rubric, strategy, threshold, calibration."""
    return named_rows(
        work,
        """SELECT strategy, agents, rubric, rubric_digest, threshold, calibration, panel_digest, version,
            count(*) AS judgments
        FROM selected GROUP BY ALL ORDER BY count(*) DESC, panel_digest LIMIT 50""",
    )


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What an export wrote.

    Attributes:
        out: the folder.
        rows: split -> rows.
        steps: how many came in and went out at each step.
        stats: as in ``stats.json``.
        resumed: stages taken over from an earlier try.
    """

    out: Path
    rows: dict[str, int]
    steps: tuple[FunnelStep, ...]
    stats: dict[str, Any]
    resumed: tuple[str, ...]


def export(
    out: Path | str,
    request: ExportRequest | None = None,
    *,
    store: StoreLocation | str | None = None,
    run: str | None = None,
    assessments: Path | str | Iterable[Assessment] | None = None,
    judgments: Sequence[Path | str] | JudgmentSource | Iterable[Judgment] | None = None,
    calibration: "Path | str | Calibration | None" = None,
    decontaminate: Sequence[Path | str] = (),
    mapping: FieldMap | None = None,
    prefix_ids: bool = False,
    watch: Watcher | None = None,
) -> ExportResult:
    """Writes a preference dataset from vetted judgments.

    The folder appears whole or not at all; an export that was cut off resumes where it stopped when it is asked for
    again over the same input. The same input and request give the same bytes.

    Args:
        out: the folder to make.
        request: kind, format, selection and filters; the default is response pairs of accepted judgments for TRL.
        store: a store of ``metajudge vet``, a file or a ``postgresql://`` URL; either this or ``judgments``.
        run: only what this run vetted, in a store; the same as ``request.filters.runs`` with one run.
        assessments: a file of ``metajudge vet --out``, or objects.
        judgments: files and folders, an open source, or objects: what the assessments were made from.
        calibration: for a guarantee that is stored in the calibration and not in the assessments.
        decontaminate: benchmark files; rows that share a run of words with one of their items are dropped.
        mapping: for files of judgments, which column is what (:func:`metajudge.readers.open_judgments`).
        prefix_ids: put a file's name before its ids, as was done when they were vetted.
        watch: called at every stage.

    Raises:
        InputError: see :mod:`metajudge.preferences.intake`, an output folder that exists, a full disk, nothing left.
        StoreError: the store is missing or cannot be read.
        ConfigurationError: options that contradict each other, a split that leaves a part empty.

    Example:
        >>> from metajudge.preferences import export  # doctest: +SKIP
        >>> export("pairs", store="metajudge.db").rows  # doctest: +SKIP
        {'train': 1204}
    """
    asked = _of_run(request or ExportRequest(), run)
    if (store is None) == (judgments is None and assessments is None):
        raise InputError("name one source: a store, or judgments with their assessments")
    files = _paths(judgments)
    opened = open_judgments(files, mapping=mapping, prefix_ids=prefix_ids, unit=asked.unit) if files else None
    given = Vetted(
        store=None if store is None else store_location(store),
        judgments=opened or judgments,  # type: ignore[arg-type]
        assessments=Path(assessments) if isinstance(assessments, str | Path) else assessments,
    )
    named = [*files, *(one for one in (given.store, given.assessments) if isinstance(one, Path))]
    exact = all(isinstance(one, Path) for one in (given.store, given.assessments) if one is not None)
    exact = exact and (judgments is None or bool(files)) and all(one.is_file() or one.is_dir() for one in named)
    kept_maps = [folder / MAPS_FILE for folder in dict.fromkeys((Path.cwd(), *(file.parent for file in files)))]
    written = [*named, *(one.with_name(f"{one.name}-wal") for one in named if one == given.store)]
    input_state: list[Any] = [_state(written) if exact else uuid.uuid4().hex]
    input_state += [None if mapping is None else mapping.model_dump(), str(prefix_ids), _state(kept_maps)]
    return export_vetted(
        Path(out).expanduser().absolute(),
        asked,
        given,
        input_state=input_state,
        sources=_names(named, given),
        calibration=_limits(calibration),
        decontaminate=[Path(path) for path in decontaminate],
        watch=watch,
    )


def export_vetted(
    out: Path,
    request: ExportRequest,
    given: Vetted,
    *,
    input_state: Sequence[Any],
    sources: Sequence[str],
    calibration: "Calibration | None" = None,
    decontaminate: Sequence[Path] = (),
    memory: str = MEMORY,
    watch: Watcher | None = None,
) -> ExportResult:
    """The same for an input that is open already.

    Args:
        out: an absolute path.
        input_state: changes whenever the input does; work on another one is not taken up.
        sources: what the card names as the sources.
        memory: what DuckDB may use, in its own notation.
    """
    against = Benchmarks.read(decontaminate, request.ngram)
    key: list[Any] = [request.model_dump(mode="json"), __version__, duckdb.__version__, _state(decontaminate)]
    key += [None if calibration is None else calibration.digest, *input_state]
    workspace = Workspace(out, digest(key), memory)
    try:
        with workspace.kept_for_resuming():
            result = _Export(workspace, request, given, calibration, against, list(sources), watch).make()
        workspace.publish()
    finally:
        workspace.close()
    return result


def _of_run(request: ExportRequest, run: str | None) -> ExportRequest:
    if run is None:
        return request
    filters = request.filters.model_copy(update={"runs": tuple(dict.fromkeys((*request.filters.runs, run)))})
    return request.model_copy(update={"filters": filters})


@dataclass(slots=True)
class _Export:
    """The stages, in order."""

    workspace: Workspace
    request: ExportRequest
    given: Vetted
    calibration: "Calibration | None"
    benchmarks: Benchmarks
    sources: list[str]
    watch: Watcher | None

    def make(self) -> ExportResult:
        work = self.workspace.database
        verdicts.define(work)
        notes: dict[str, Any] = {}
        stages = {
            "read": self._read,
            "select": self._select,
            "pair": self._pair,
            "measure texts": self._measure,
            "clean": self._clean,
            "split": self._split,
            "write": dict,
        }
        for number, (name, work_on) in enumerate(stages.items()):
            if self.watch is not None:
                self.watch(name, number, len(stages), work)
            if name != "write":
                notes[name] = orjson.loads(self.workspace.stage(name, lambda todo=work_on: to_text(todo())))  # type: ignore[misc]
        return self._write(notes)

    def _read(self) -> dict[str, Any]:
        read = take_in(self.workspace.database, self.given, self.request, self.workspace.folder)
        dropped = {"filtered_out": read["filtered_out"], "item_with_two_contents": read["conflicting_judgments"]}
        (after,) = only(self.workspace.database, "SELECT count(*) FROM assessments")
        step = FunnelStep("records", "judgments", read["judgments"], after, dropped)
        return {"read": read, "steps": [step.to_json()] if any(dropped.values()) else []}

    def _select(self) -> dict[str, Any]:
        work = self.workspace.database
        promises = selecting.select(work, self.request, self.calibration)
        before, after = only(work, "SELECT count(*), count(*) FILTER (kept) FROM selected")
        step = FunnelStep("selection", "judgments", before, after, selecting.reasons(work))
        sentences = [one["sentence"] for one in promises] + [selecting.BEFORE_FILTERS] * bool(promises)
        return {
            "steps": [step.to_json()],
            "guarantees": sentences,
            "promises": promises,
            "decisions": selecting.decided(work, self.request),
        }

    def _pair(self) -> dict[str, Any]:
        work = self.workspace.database
        graded = False
        if self.request.kind is Kind.RESPONSES:
            steps, graded = pair_responses(work, self.request)
        else:
            steps = pair_judgments(work, self.request)
        return {"steps": [step.to_json() for step in steps], "from_grades": graded}

    def _measure(self) -> dict[str, Any]:
        cleaning.measure(self.workspace.database, self.request)
        return {}

    def _clean(self) -> dict[str, Any]:
        work, request = self.workspace.database, self.request
        steps = [cleaning.drop_bad_texts(work, request), cleaning.drop_exact_duplicates(work)]
        if request.dedupe and request.near_threshold < 1:
            steps.append(cleaning.drop_near_duplicates(work, request))
        if self.benchmarks.names:
            steps.append(cleaning.drop_contaminated(work, request, self.benchmarks))
        return {"steps": [step.to_json() for step in steps]}

    def _split(self) -> dict[str, Any]:
        work, request = self.workspace.database, self.request
        if not only(work, "SELECT count(*) FROM measures")[0]:
            return {"steps": [], "clusters": 0, "rows": {}}
        clusters = splitting.split_by_cluster(work, request)
        before = lengths(work, "placed")
        steps = [splitting.balance_lengths(work, request)] if request.balance_length else []
        rows = formats.order_rows(work)
        return {
            "steps": [step.to_json() for step in steps],
            "clusters": clusters,
            "lengths": {"before": before, "after": lengths(work, "placed")},
            "rows": rows,
        }

    def _write(self, notes: dict[str, Any]) -> ExportResult:
        work, folder = self.workspace.database, self.workspace.result
        steps = [_step(one) for note in notes.values() for one in note.get("steps", ())]
        rows = {part: notes["split"]["rows"].get(part, 0) for part in self.request.parts}
        if not sum(rows.values()):
            raise InputError(nothing_left(steps))
        stats = {
            "metajudge_version": __version__,
            "request": self.request.model_dump(mode="json"),
            "sources": self.sources,
            "read": notes["read"]["read"],
            "steps": [step.to_json() for step in steps],
            "guarantees": notes["select"]["guarantees"],
            "promises": notes["select"]["promises"],
            "decisions": notes["select"]["decisions"],
            "lengths": notes["split"]["lengths"],
            "vetting": vetting(work),
            "kinds": kinds(work),
            **({} if (unit := splitting.unit_of(work, self.request)) == QUESTION else {"unit": unit}),
            "from_grades": notes["pair"]["from_grades"],
            "decontaminated_against": list(self.benchmarks.names),
            **figures(work, self.request),
        }
        with self.workspace.readable_errors():
            files = formats.write_shards(work, self.request, folder, rows)
            described = {name: describe(folder / name, count) for name, count in files.items()}
            (folder / STATS).write_bytes(pretty(stats))
            (folder / CARD).write_text(card(self.request, stats, steps, self.sources, described), "utf-8")
            about = {"request": stats["request"], "sources": self.sources, "duckdb_version": duckdb.__version__}
            write_manifest(folder, about, described)
        return ExportResult(self.workspace.out, rows, tuple(steps), stats, tuple(self.workspace.resumed))


def nothing_left(steps: Sequence[FunnelStep]) -> str:
    """Why no row is left, by the first step that let nothing through."""
    empty = next((step for step in steps if not step.after), steps[-1])
    reasons = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in empty.dropped.items() if count)
    hint = {
        "item_with_two_contents": " Give each content its own item id, or take one run alone (--run).",
        "waiting_for_review": " `metajudge review next` gives out what waits for a person; --ignore-decisions "
        "exports by the rule alone.",
        "rejected_by_policy": " --ignore-decisions exports by the rule alone.",
        "rejected_by_people": " --ignore-decisions exports by the rule alone.",
        "single_response": " Grades and categories are about a single response: with --kind responses, --from-grades "
        "pairs the responses of one question by them.",
        "only_graded_response": " Grades make pairs of responses to the same question that one judge graded; --format "
        "kto takes single responses.",
        "neither_pass_nor_fail": " --pass-mark says with which grade a response passes.",
        "no_order": " Categories make pairs where they say pass or fail, or where the item's scale lists them from "
        "worst to best.",
        "equal_after_truncation": " Their texts differ only behind --max-length.",
        "discarded": " Select by another rule (--min-probability, --guarantee, --all), or vet with another threshold.",
        "below_min_probability": " Ask for a lower --min-probability.",
        "truncated": " --truncation reported drops only what a provider reported as cut.",
        "nothing_kept_or_nothing_discarded": " Judge pairs need a kept and a discarded judgment of one prompt, in "
        "the same order: vet several judges of each item, or use --format kto.",
    }
    advice = next((text for reason, text in hint.items() if empty.dropped.get(reason)), "")
    return (
        f"nothing is left to export after the step {empty.name!r}: of {empty.before} {empty.unit} "
        f"{reasons or 'none'} {'were' if reasons else 'came through'}{' dropped' if reasons else ''}.{advice}"
    )


def _limits(calibration: "Path | str | Calibration | None") -> "Calibration | None":
    if not isinstance(calibration, str | Path):
        return calibration
    from metajudge.calibration.files import load_calibration

    return load_calibration(calibration)


def _paths(judgments: Any) -> list[Path]:
    if isinstance(judgments, list | tuple) and judgments and all(isinstance(one, str | Path) for one in judgments):
        return [Path(one) for one in judgments]
    return []


def _state(paths: Iterable[Path]) -> list[list[Any]]:
    """Names, sizes and times of files, so that work on other content is not taken for work on this."""
    found: list[list[Any]] = []
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in inside:
            if file.is_file():
                state = file.stat()
                found.append([str(file.absolute()), state.st_size, state.st_mtime_ns])
    return found


def _names(named: Sequence[Path], given: Vetted) -> list[str]:
    formats_of = given.judgments.formats if isinstance(given.judgments, JudgmentSource) else {}
    names = [f"{given.store} (store)"] if isinstance(given.store, PostgresUrl) else []
    for path in named:
        layout = formats_of.get(str(path))
        names.append(path.name + (f" ({layout})" if layout else " (store)" if path == given.store else ""))
    return names or ["records given in memory"]


def _step(data: dict[str, Any]) -> FunnelStep:
    return FunnelStep(data["step"], data["unit"], data["before"], data["after"], data["dropped"])


__all__ = ["ExportRequest", "ExportResult", "Format", "export"]
