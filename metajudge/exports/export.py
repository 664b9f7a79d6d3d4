"""From vetted judgments to a folder of preference data, with a card: what the rows are, what was dropped and why."""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import yaml

from metajudge.errors import InputError
from metajudge.evidence.units import QUESTION
from metajudge.exports import cleaning, formats, selecting, splitting, verdicts
from metajudge.exports.checking import CARD, STATS, describe, pretty, write_manifest
from metajudge.exports.contamination import Benchmarks
from metajudge.exports.formats import Column, columns_of
from metajudge.exports.intake import Vetted, take_in
from metajudge.exports.judgment_pairs import pair_judgments
from metajudge.exports.request import ExportRequest, Format, Kind, Pairing, Reconcile, Rule
from metajudge.exports.responses import pair_responses
from metajudge.exports.workspace import MEMORY, FunnelStep, Noted, Work, Workspace, named_rows, only
from metajudge.installation import __version__
from metajudge.reading import FieldMap, JudgmentSource, open_judgments
from metajudge.reading.saved_maps import FILE_NAME as MAPS_FILE
from metajudge.types import Assessment, Judgment, digest
from metajudge.types.location import PostgresUrl, StoreLocation, store_location

if TYPE_CHECKING:
    from metajudge.calibration.calibration import Calibration

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_RULES = {
    Reconcile.UNANIMOUS: "**unanimous**: every kept verdict on the two responses, in either order and by every judge, "
    "names the same one; a tie among them is a conflict.",
    Reconcile.MAJORITY: "**majority**: a judge counts once, by the sum of its verdicts' signs; more than half of the "
    "judges name the response, those that come out even counted among all.",
}
_PAIRINGS = {
    Pairing.BEST_WORST: "one pair a prompt, the best kept judgment over the worst discarded one",
    Pairing.ALL: "every kept judgment over every discarded one",
    Pairing.ONE_PER_JUDGE: "one pair a prompt and judge, the judge's best kept judgment over the worst discarded one",
}


def card(request: ExportRequest, stats: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    """The whole of ``README.md``.

    Args:
        stats: as in ``stats.json``.
        files: data file -> its ``bytes``, ``rows`` and ``sha256``.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - Markdown, not HTML
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: "" if value is None else value,
    )
    environment.filters |= {
        "n": "{:,}".format,
        "g": "{:g}".format,
        "figure": lambda value: "-" if value is None else f"{value:,.4g}",
        "cell": lambda text: (text or "").replace("|", "\\|").replace("\n", " "),
        "words": lambda name: name.replace("_", " "),
    }
    title = f"Preferences between {request.kind}, from vetted verdicts"
    splits = defaultdict(lambda: {"rows": 0, "clusters": 0}, stats["splits"])
    template = (resources.files("metajudge.exports") / "card.md.j2").read_text("utf-8")
    return environment.from_string(template).render(
        header=_header(request, title, stats, files),
        title=title,
        request=request,
        stats={"unit": None, **stats, "splits": splits},
        columns=columns_of(request, stats.get("messages")),
        rules=_RULES,
        pairings=_PAIRINGS,
    )


def _header(
    request: ExportRequest, title: str, stats: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]
) -> str:
    rows = sum(part["rows"] for part in stats["splits"].values())
    own = {part: [file for name, file in files.items() if name.startswith(f"data/{part}-")] for part in request.parts}
    ending = "jsonl" if request.format is Format.JSONL else "parquet"
    data = {
        "pretty_name": title,
        "license": "other",
        "license_name": "see-sources",
        "task_categories": ["text-generation"],
        "tags": ["preference", "kto" if request.format is Format.KTO else "dpo", "trl", "metajudge"],
        "size_categories": [next((name for size, name in _SIZES if rows < size), "1M<n<10M")],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": part, "path": f"data/{part}-*.{ending}"} for part in request.parts],
            }
        ],
        "dataset_info": {
            "description": f"Content digest: {digest({name: file['sha256'] for name, file in files.items()})}",
            "features": [_feature(column) for column in columns_of(request, stats.get("messages"))],
            # ``datasets`` finds an earlier export in its cache by the folder's name and by these figures.
            "splits": [
                {
                    "name": part,
                    "num_bytes": sum(one["bytes"] for one in data),
                    "num_examples": sum(one["rows"] for one in data),
                }
                for part, data in own.items()
            ],
        },
    }
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=1_000)


def _feature(column: Column) -> dict[str, Any]:
    if column.kind in ("messages", "tools"):  # objects of their own: YAML would write shared ones as references
        calls = [*_texts("id", "type"), {"name": "function", "struct": _texts("name", "arguments")}]
        more = (
            [{"name": "tool_calls", "list": calls}, *_texts("tool_call_id", "name")] if column.kind == "tools" else []
        )
        return {"name": column.name, "list": [*_texts("role", "content"), *more]}
    return {"name": column.name, **({"list": "string"} if column.kind == "strings" else {"dtype": column.kind})}


def _texts(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "dtype": "string"} for name in names]


_LENGTHS = """
    SELECT count(*) AS pairs, avg(chosen_length) AS chosen_mean, avg(rejected_length) AS rejected_mean,
        median(chosen_length) AS chosen_median, median(rejected_length) AS rejected_median,
        avg((chosen_length > rejected_length)::INTEGER) FILTER (chosen_length <> rejected_length) AS chosen_longer,
        avg((chosen_length = rejected_length)::INTEGER) AS equally_long,
        avg(ln(chosen_length::DOUBLE / rejected_length)) AS mean_log_ratio
    FROM placed WHERE rejected_length > 0 AND chosen_length > 0"""
_ROWS = "ordered JOIN entries USING (entry_id) JOIN items ON items.item_no = ordered.item_no"
_COUNTS = {
    "judges": f"SELECT judge, count(*) FROM {_ROWS} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 50",
    "categories": f"SELECT coalesce(category, '(none)'), count(*) FROM {_ROWS} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 200",
    "flags": "SELECT unnest(flags) AS flag, count(*) FROM ordered GROUP BY 1 ORDER BY 1",
    "kept_by": f"SELECT coalesce(kept_by, '(none)'), count(*) FROM {_ROWS} GROUP BY 1 ORDER BY 2 DESC, 1",
}
_VETTING = """
    SELECT strategy, agents, rubric, rubric_digest, threshold, calibration, panel_digest, version,
        count(*) AS judgments
    FROM selected GROUP BY ALL ORDER BY count(*) DESC, panel_digest LIMIT 50"""


def lengths(work: Work) -> dict[str, float | int | None]:
    """Lengths in characters; ``chosen_longer`` is a share of the pairs that differ in length."""
    (row,) = named_rows(work, _LENGTHS)
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}


def figures(work: Work, request: ExportRequest) -> dict[str, Any]:
    """Rows by split, judge, category, flag and what kept them; judgments by kind of verdict and by panel."""
    parts = work.execute("SELECT part, count(*), count(DISTINCT cluster) FROM ordered GROUP BY 1 ORDER BY 1").fetchall()
    kinds = work.execute("""
        SELECT coalesce(kind_of(j.verdict), 'no_verdict'), count(*), count(*) FILTER (a.kept)
        FROM selected a JOIN judgments j USING (judgment_id) GROUP BY 1 ORDER BY 1""").fetchall()
    outside, probable = only(
        work, f"SELECT count(*) FILTER (kept_by IS NOT NULL AND NOT by_rule), count(probability) FROM {_ROWS}"
    )
    return {
        "splits": {part: {"rows": rows, "clusters": clusters} for part, rows, clusters in parts},
        **{name: dict(work.execute(query).fetchall()) for name, query in _COUNTS.items()},
        "rows_outside_guarantee": outside if request.selection.rule is Rule.GUARANTEE else None,
        "with_probability": probable,
        "kinds": {kind: {"judgments": count, "kept": kept} for kind, count, kept in kinds},
        "vetting": named_rows(work, _VETTING),
    }


Watcher = Callable[[str, int, int, Work], None]
"""Told the stage that begins, its number, how many there are, and the connection whose progress can be asked."""


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
        mapping: for files of judgments, which column is what (:func:`metajudge.reading.open_judgments`).
        prefix_ids: put a file's name before its ids, as was done when they were vetted.
        watch: called at every stage.

    Raises:
        InputError: see :mod:`metajudge.exports.intake`, an output folder that exists, a full disk, nothing left.
        StoreError: the store is missing or cannot be read.
        ConfigurationError: options that contradict each other, a split that leaves a part empty.

    Example:
        >>> from metajudge.exports import export  # doctest: +SKIP
        >>> export("pairs", store="metajudge.db").rows  # doctest: +SKIP
        {'train': 1204}
    """
    asked = request or ExportRequest()
    if run is not None:
        runs = tuple(dict.fromkeys((*asked.filters.runs, run)))
        asked = asked.model_copy(update={"filters": asked.filters.model_copy(update={"runs": runs})})
    if (store is None) == (judgments is None and assessments is None):
        raise InputError("name one source: a store, or judgments with their assessments")
    if isinstance(calibration, str | Path):
        from metajudge.calibration.files import load_calibration

        calibration = load_calibration(calibration)
    named_files = isinstance(judgments, list | tuple) and all(isinstance(one, str | Path) for one in judgments)
    files = [Path(one) for one in judgments] if named_files else []  # type: ignore[union-attr, arg-type]
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
        calibration=calibration,
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
    with Workspace(out, digest(key), memory) as workspace:
        work = workspace.database
        stages: dict[str, Callable[[], Noted]] = {
            "read": lambda: _read(work, given, request),
            "select": lambda: _select(work, request, calibration),
            "pair": lambda: _pair(work, request),
            "measure texts": lambda: (cleaning.measure(work, request), {}),
            "clean": lambda: (cleaning.clean(work, request, against), {}),
            "split": lambda: _split(work, request),
        }
        verdicts.define(work)
        notes: dict[str, Any] = {"decontaminated_against": list(against.names), "sources": list(sources)}
        steps: list[FunnelStep] = []
        for number, name in enumerate([*stages, "write"]):
            if watch is not None:
                watch(name, number, len(stages) + 1, work)
            if name in stages:
                found, facts = workspace.stage(name, stages[name])
                steps += found
                notes |= facts
        result = _write(workspace, request, steps, notes)
        workspace.publish()
    return result


def _read(work: Work, given: Vetted, request: ExportRequest) -> Noted:
    read = take_in(work, given, request)
    dropped = {"filtered_out": read["filtered_out"], "item_with_two_contents": read["conflicting_judgments"]}
    (after,) = only(work, "SELECT count(*) FROM assessments")
    step = FunnelStep("records", "judgments", read["judgments"], after, dropped)
    return [step] if any(dropped.values()) else [], {"read": read}


def _select(work: Work, request: ExportRequest, calibration: "Calibration | None") -> Noted:
    promises = selecting.select(work, request, calibration)
    before, after = only(work, "SELECT count(*), count(*) FILTER (kept) FROM selected")
    step = FunnelStep("selection", "judgments", before, after, selecting.reasons(work))
    sentences = [one["sentence"] for one in promises] + [selecting.BEFORE_FILTERS] * bool(promises)
    return [step], {"guarantees": sentences, "promises": promises, "decisions": selecting.decided(work, request)}


def _pair(work: Work, request: ExportRequest) -> Noted:
    if request.kind is Kind.RESPONSES:
        steps, graded = pair_responses(work, request)
        return steps, {"from_grades": graded}
    return pair_judgments(work, request), {"from_grades": False}


def _split(work: Work, request: ExportRequest) -> Noted:
    if not only(work, "SELECT count(*) FROM measures")[0]:
        return [], {"rows": {}}
    splitting.split_by_cluster(work, request)
    before = lengths(work)
    steps = [splitting.balance_lengths(work, request)] if request.balance_length else []
    return steps, {"lengths": {"before": before, "after": lengths(work)}, "rows": formats.order_rows(work)}


def _write(
    workspace: Workspace, request: ExportRequest, steps: Sequence[FunnelStep], notes: dict[str, Any]
) -> ExportResult:
    work, folder = workspace.database, workspace.result
    rows = {part: notes["rows"].get(part, 0) for part in request.parts}
    if not sum(rows.values()):
        raise InputError(nothing_left(steps))
    unit, spoken = splitting.unit_of(work, request), formats.spoken_in(work, request)
    stats = {
        "metajudge_version": __version__,
        "request": request.model_dump(mode="json"),
        "steps": [step.to_json() for step in steps],
        **{name: value for name, value in notes.items() if name != "rows"},
        **({} if unit == QUESTION else {"unit": unit}),
        **({} if spoken is None else {"messages": spoken}),
        **figures(work, request),
    }
    with workspace.readable_errors():
        files = formats.write_shards(work, request, folder, rows)
        described = {name: describe(folder / name, count) for name, count in files.items()}
        (folder / STATS).write_bytes(pretty(stats))
        (folder / CARD).write_text(card(request, stats, described), "utf-8")
        about = {"request": stats["request"], "sources": stats["sources"], "duckdb_version": duckdb.__version__}
        write_manifest(folder, about, described)
    return ExportResult(workspace.out, rows, tuple(steps), stats, tuple(workspace.resumed))


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
        "empty": " No texts: preference data need the question and the responses.",
        "truncated": " --truncation reported drops only what a provider reported as cut.",
        "nothing_kept_or_nothing_discarded": " Judge pairs need a kept and a discarded judgment of one prompt, in "
        "the same order: vet several judges of each item, or use --format kto.",
    }
    advice = next((text for reason, text in hint.items() if empty.dropped.get(reason)), "")
    return (
        f"nothing is left to export after the step {empty.name!r}: of {empty.before} {empty.unit} "
        f"{reasons or 'none'} {'were' if reasons else 'came through'}{' dropped' if reasons else ''}.{advice}"
    )


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
