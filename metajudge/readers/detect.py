"""Which format an input has, by its content."""

import stat
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from metajudge.errors import InputError
from metajudge.readers.containers import Container, container_of, table_of
from metajudge.readers.dataset_table import DatasetTable, dataset_folders
from metajudge.readers.json_object import entries_of, read_object
from metajudge.readers.jsonl import JudgmentLines
from metajudge.readers.lines import Line, Reject, Source, open_bytes
from metajudge.readers.mapping import FieldMap, own_columns
from metajudge.readers.reader import Reader
from metajudge.readers.saved_maps import saved_map
from metajudge.readers.tables import Table

SNIFFED_LINES = 1_000
"""How many lines are looked at for a record of a known format."""

EXPECTED = (
    "expected metajudge JSONL (one object a line with id, item, judge, verdict), a JudgeBench output file (pair_id, "
    "response_A, response_B, judgments), a JudgeBench, LLMBar or MT-Bench folder (a file of pairs or items and one of "
    "judgments), recorded verdicts of ReaLMistake or RewardBench 2, results of Arena-Hard, AlpacaEval, Inspect, "
    "promptfoo, LangSmith, Langfuse, MLflow, Phoenix or Argilla, or any table with a mapping (`metajudge inspect FILE` "
    "guesses one)"
)


class Shape(Enum):
    """What a file's records are."""

    JUDGMENTS = "judgments"
    OUTPUT = "JudgeBench output"
    ARENA_HARD = "Arena-Hard judgments"
    ALPACA_EVAL = "AlpacaEval annotations"
    PROMPTFOO = "promptfoo results"
    FEEDBACK = "LangSmith feedback without its runs"
    RUNS = "LangSmith runs"
    SCORES = "Langfuse scores without their traces"
    TRACES = "Langfuse traces"
    ANNOTATIONS = "Phoenix annotations without their spans"
    SPANS = "Phoenix spans"
    MLFLOW = "MLflow traces"
    ARGILLA = "Argilla records"
    PAIRS = "pairs without judgments"
    GAMES = "judgments without their pairs (JudgeBench)"
    EVALUATIONS = "judgments without their pairs (LLMBar)"
    MTBENCH_ITEMS = "items without judgments (MT-Bench)"
    MTBENCH_VERDICTS = "judgments without their items (MT-Bench)"
    DETECTIONS = "ReaLMistake detections"
    PASSES = "RewardBench 2 passes"
    OBJECT = "one JSON object"
    TABLE = "a table"
    EMPTY = "nothing"
    UNKNOWN = "something else"


_APART = {
    Shape.GAMES: "contains judgments that name pairs by item_id, but not the pairs: give the folder with both files",
    Shape.PAIRS: "contains pairs, but no judgments: give the folder with both files",
    Shape.FEEDBACK: "contains LangSmith feedback, but not the runs it is about: give the folder with both (runs "
    "have id, inputs, outputs)",
    Shape.RUNS: "contains LangSmith runs, but no feedback: give the folder with both (feedback has run_id, key, score)",
    Shape.SCORES: "contains Langfuse scores, but not the traces they are about: give the folder with scores/ and "
    "traces/ or observations_v2/",
    Shape.TRACES: "contains Langfuse traces, but no scores: give the folder with both",
    Shape.ANNOTATIONS: "contains Phoenix annotations, but not the spans they are about: give the folder with both",
    Shape.SPANS: "contains Phoenix spans, but no annotations: give the folder with both",
}
_APART[Shape.EVALUATIONS] = _APART[Shape.GAMES]
_APART[Shape.MTBENCH_ITEMS] = "contains MT-Bench items, but no judgments: give the folder with both files"
_APART[Shape.MTBENCH_VERDICTS] = "contains MT-Bench judgments, but not the items: give the folder with both files"


def readers_of(path: Path, name: str, mapping: FieldMap | None = None) -> list[Reader]:
    """The readers for a file or a folder.

    Args:
        path: what to read.
        name: what to call it in messages.
        mapping: which column of a table is what; None for the one that is kept for this file, if any. A mapping that
            is given is used for every file but metajudge's own; its ``values`` alone only give words a meaning.

    Raises:
        InputError: there is nothing here that any reader knows, with what was looked for and what was found.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    if stat.S_ISDIR(mode):
        return _folder(path, name, mapping)
    return [_file(Source(path, name), mapping)]


def shape_of(record: Mapping[str, Any]) -> Shape:
    """What one record is, by its keys."""
    data = dict(record)
    if JudgmentLines.recognises(data):
        return Shape.JUDGMENTS
    return next((shape for shape, recognises in _other_formats().items() if recognises(data)), Shape.UNKNOWN)


@cache
def _other_formats() -> dict[Shape, Callable[[dict[str, Any]], bool]]:
    """What recognises a record of another tool's format; their modules are imported where a file is not our own."""
    from metajudge.readers import (
        alpaca_eval,
        arena_hard,
        argilla,
        judgebench,
        langfuse,
        langsmith,
        llmbar,
        mlflow,
        mtbench,
        phoenix,
        promptfoo,
        realmistake,
        rewardbench2,
    )
    from metajudge.readers.pairs import is_pair

    return {
        Shape.OUTPUT: judgebench.is_output,
        Shape.ARENA_HARD: arena_hard.is_arena_hard,
        Shape.ALPACA_EVAL: alpaca_eval.is_annotation,
        Shape.PROMPTFOO: promptfoo.is_promptfoo_result,
        Shape.EVALUATIONS: llmbar.is_evaluation,
        Shape.GAMES: judgebench.is_game,
        Shape.PAIRS: is_pair,
        Shape.MLFLOW: mlflow.is_trace,
        Shape.ARGILLA: argilla.is_record,
        Shape.ANNOTATIONS: phoenix.is_annotation,
        Shape.SPANS: phoenix.is_span,
        Shape.MTBENCH_VERDICTS: mtbench.is_verdict,
        Shape.MTBENCH_ITEMS: mtbench.is_item,
        Shape.DETECTIONS: realmistake.is_detection,
        Shape.PASSES: rewardbench2.is_pass,
        Shape.FEEDBACK: langsmith.is_feedback,
        Shape.SCORES: langfuse.is_score,
        Shape.RUNS: langsmith.is_run,
        Shape.TRACES: langfuse.is_run,
    }


def _file(source: Source, mapping: FieldMap | None) -> Reader:
    container = container_of(source)
    if container is Container.ZIP:
        from metajudge.readers import inspect_log

        if inspect_log.is_inspect_archive(source):
            return inspect_log.InspectLog(source, archive=True)
        open_bytes(source).close()  # says what it is instead
    if container is Container.LIST:
        from metajudge.readers.llmbar_results import ResultFile, is_result_path

        if is_result_path(source.path.resolve()):
            return ResultFile(source)
    table = table_of(source, container)
    shape, found = _sniff(table)
    if shape is Shape.JUDGMENTS:
        return JudgmentLines(source, table)
    mapped = mapping if mapping is not None and mapping.columns else None
    if mapped is None and shape in (Shape.UNKNOWN, Shape.TABLE):
        mapped = _kept(source, mapping)
    if mapped is not None:
        return _mapped(table, mapped)
    values = mapping.values if mapping is not None else {}
    if shape is Shape.EMPTY:
        raise InputError(f"{source.name} is empty; {EXPECTED}")
    return _of_other_format(shape, table, values, found)


def _mapped(table: Table, mapping: FieldMap) -> Reader:
    from metajudge.readers.mapped import MappedTable

    return MappedTable(table, mapping)


def _of_other_format(shape: Shape, table: Table, values: Mapping[str, str], found: str) -> Reader:
    from metajudge.readers import (
        alpaca_eval,
        arena_hard,
        argilla,
        judgebench,
        mlflow,
        promptfoo,
        realmistake,
        rewardbench2,
    )
    from metajudge.readers.assessed_runs import AssessedRuns

    source = table.source
    makers: dict[Shape, Callable[[], Reader]] = {
        Shape.OUTPUT: lambda: judgebench.judgebench_output(source),
        Shape.ARENA_HARD: lambda: arena_hard.arena_hard_judgments(source),
        Shape.ALPACA_EVAL: lambda: alpaca_eval.alpaca_eval_annotations(table),
        Shape.PROMPTFOO: lambda: promptfoo.PromptfooResults(source, lines=True),
        Shape.MLFLOW: lambda: AssessedRuns(mlflow.FORMAT, source, table.rows, mlflow.trace_of, values),
        Shape.ARGILLA: lambda: AssessedRuns(argilla.FORMAT, source, table.rows, argilla.record_of, values),
        Shape.DETECTIONS: lambda: realmistake.realmistake_detections(source),
        Shape.PASSES: lambda: rewardbench2.rewardbench2_passes(source),
        Shape.OBJECT: lambda: _object(source, values),
        Shape.TABLE: lambda: _table(table, values, found),
        Shape.UNKNOWN: lambda: _table(table, values, found),
    }
    if shape not in makers:
        raise InputError(f"{source.name} {_APART[shape]}")
    return makers[shape]()


def _kept(source: Source, mapping: FieldMap | None) -> FieldMap | None:
    """The mapping kept for a file, with the meanings given now taking precedence."""
    kept = saved_map(source.path)
    if kept is None or mapping is None:
        return kept
    return kept.with_values(mapping.values)


def _object(source: Source, values: Mapping[str, str]) -> Reader:
    from metajudge.readers import inspect_log, langfuse, mlflow, promptfoo
    from metajudge.readers.assessed_runs import AssessedRuns

    data = read_object(source)
    if mlflow.is_trace(data):
        return AssessedRuns(mlflow.FORMAT, source, lambda: entries_of([data]), mlflow.trace_of, values)
    if inspect_log.is_inspect_log(data):
        return inspect_log.InspectLog(source, archive=False)
    if promptfoo.is_promptfoo_output(data):
        return promptfoo.PromptfooResults(source, lines=False)
    if langfuse.is_trace(data):
        return langfuse.LangfuseTrace(source, values)
    keys = ", ".join(list(data)[:8])
    raise InputError(f"{source.name} is one JSON object, with the fields {keys}; {EXPECTED}")


def _table(table: Table, values: Mapping[str, str], found: str) -> Reader:
    """A reader for rows that no format claims: by names of our own, else not at all, with a guess."""
    from metajudge.readers import langsmith
    from metajudge.readers.guessing import guess_mapping
    from metajudge.readers.llmbar_results import ResultFile

    columns = table.columns()
    if langsmith.is_test_results(columns):
        return langsmith.LangSmithTestResults(table, values)
    if {"input", "output_1", "output_2", "results"} <= set(columns):
        return ResultFile(table.source)  # which says that only its folders name the judge
    own = own_columns(columns)
    direct = FieldMap(columns=own, values=dict(values))
    if own.keys() >= {"verdict", "question", "judge"} and not direct.missing():
        return _mapped(table, direct)
    name = table.source.name
    if table.format == "JSONL" and not columns:
        raise InputError(f"{name} contains no judgment that can be read: {found}; {EXPECTED}")
    rows = [row for row in islice(table.rows(), SNIFFED_LINES) if isinstance(row, Line)]
    guess = guess_mapping(columns, rows)
    reason = f": {found}" if found else ""
    if len(guess.fields) < 3:
        raise InputError(f"{name} contains no judgment that can be read{reason}; {EXPECTED}")
    problems = "".join(f"\n  {problem}" for problem in guess.problems)
    raise InputError(
        f"{name} is a table of no known format{reason}. Say which column is what, for instance\n"
        f"  {guess.mapping.to_flags()}{problems}\n`metajudge inspect {name}` shows what that gives."
    )


def _folder(path: Path, name: str, mapping: FieldMap | None) -> list[Reader]:
    """Readers for every file of a known format directly in a folder, or for the result files below it."""
    splits = dataset_folders(path)
    if splits:
        return [_dataset(Source(split, str(Path(name) / split.relative_to(path))), mapping) for split in splits]
    readers: list[Reader] = []
    apart: dict[Shape, list[Source]] = {shape: [] for shape in _APART}
    files = _files(path, name)
    for source in files:
        shape = _sniff_quietly(source)
        if shape in apart:
            apart[shape].append(source)
        elif shape is Shape.TABLE and ((mapping is not None and mapping.columns) or _kept(source, mapping) is not None):
            readers.append(_file(source, mapping))
        elif shape not in (Shape.UNKNOWN, Shape.TABLE, Shape.EMPTY):
            found = _quietly(source, mapping if shape is not Shape.OBJECT else None)
            readers += [] if found is None else [found]
    readers += _paired(name, apart)
    readers += _mtbench(path, name, apart[Shape.MTBENCH_ITEMS], apart[Shape.MTBENCH_VERDICTS])
    readers += _scored(path, name, apart, mapping.values if mapping is not None else {})
    readers = readers or _result_files(path, name)
    if not readers:
        seen = ", ".join(source.path.name for source in files[:5]) + (", ..." if len(files) > 5 else "")
        raise InputError(f"{name} contains no file of judgments (found: {seen or 'nothing'}); {EXPECTED}")
    return readers


def _dataset(source: Source, mapping: FieldMap | None) -> Reader:
    table = DatasetTable(source)
    mapped = mapping if mapping is not None and mapping.columns else _kept(source, mapping)
    if mapped is not None:
        return _mapped(table, mapped)
    first = next((row for row in table.rows() if isinstance(row, Line)), None)
    if first is None:
        raise InputError(f"{source.name} is empty; {EXPECTED}")
    from metajudge.readers import alpaca_eval

    if alpaca_eval.is_annotation(first.data):
        return alpaca_eval.alpaca_eval_annotations(table)
    return _table(table, mapping.values if mapping is not None else {}, "")


def _paired(name: str, apart: Mapping[Shape, list[Source]]) -> Iterator[Reader]:
    """Files of judgments with the files of pairs beside them."""
    from metajudge.readers import judgebench, llmbar

    pairs = apart[Shape.PAIRS]
    games = apart[Shape.GAMES] + apart[Shape.EVALUATIONS]
    if games and not pairs:
        raise InputError(
            f"{name} contains judgments ({games[0].path.name}), but not the pairs they name (item_id, question, "
            "response_a, response_b)"
        )
    for source in sorted(games, key=lambda one: one.name):
        is_judgebench = source in apart[Shape.GAMES]
        yield judgebench.games(pairs, source) if is_judgebench else llmbar.evaluations(pairs, source)


def _mtbench(path: Path, name: str, items: list[Source], judgments: list[Source]) -> list[Reader]:
    """The recorded verdicts of MT-Bench with their items."""
    if not items and not judgments:
        return []
    from metajudge.readers.mtbench import mtbench_folder

    return [mtbench_folder(path, name, items, judgments)]


def _scored(path: Path, name: str, apart: Mapping[Shape, list[Source]], values: Mapping[str, str]) -> Iterator[Reader]:
    """Files of scores with the runs they are about, beside them or in the folders of Langfuse's export."""
    from metajudge.readers import langfuse, langsmith, phoenix
    from metajudge.readers.scored_runs import ScoredRuns

    spans = [table_of(one) for one in apart[Shape.SPANS]]
    for source in apart[Shape.ANNOTATIONS]:
        if not spans:
            raise InputError(f"{name} ({source.path.name}) {_APART[Shape.ANNOTATIONS]}")
        parts = (phoenix.run_of, phoenix.score_of)
        yield ScoredRuns(phoenix.FORMAT, spans, table_of(source), *parts, values, separate=True)

    feedback, runs = apart[Shape.FEEDBACK], [*apart[Shape.RUNS]]
    for source in feedback:
        if not runs:
            raise InputError(f"{name} ({source.path.name}) {_APART[Shape.FEEDBACK]}")
        tables = [table_of(one) for one in runs]
        yield ScoredRuns("LangSmith feedback", tables, table_of(source), langsmith.run_of, langsmith.score_of, values)
    scores = [*apart[Shape.SCORES], *_below(path, name, langfuse.SCORE_FOLDERS)]
    traces = [*apart[Shape.TRACES], *_below(path, name, langfuse.RUN_FOLDERS)] if scores else []
    for source in scores:
        if not traces:
            raise InputError(f"{name} ({source.path.name}) {_APART[Shape.SCORES]}")
        tables = [table_of(one) for one in traces]
        yield ScoredRuns("Langfuse scores", tables, table_of(source), langfuse.run_of, langfuse.score_of, values)


def _below(path: Path, name: str, folders: tuple[str, ...]) -> list[Source]:
    """The files of folders of these names, which may lie one folder deeper (a project's)."""
    found = [folder for pattern in folders for folder in sorted([*path.glob(pattern), *path.glob(f"*/{pattern}")])]
    sources = [
        source
        for folder in found
        if folder.is_dir()
        for source in _files(folder, str(Path(name) / folder.relative_to(path)))
    ]
    return [source for source in sources if _sniff_quietly(source) in (Shape.SCORES, Shape.TRACES, Shape.RUNS)]


def _files(path: Path, name: str) -> list[Source]:
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    return [Source(entry, str(entry)) for entry in entries if entry.is_file() and not entry.name.startswith(".")]


def _result_files(path: Path, name: str) -> list[Reader]:
    from metajudge.readers.llmbar_results import ResultFile, is_result_path

    files = [found for found in sorted(path.rglob("result.json")) if is_result_path(found.resolve())]
    return [ResultFile(Source(found, str(Path(name) / found.relative_to(path)))) for found in files]


def _sniff_quietly(source: Source) -> Shape:
    """The shape of a file in a folder: what cannot be read is no input."""
    try:
        container = container_of(source)
        if container is Container.ZIP:
            from metajudge.readers import inspect_log

            return Shape.OBJECT if inspect_log.is_inspect_archive(source) else Shape.UNKNOWN
        return _sniff(table_of(source, container))[0]
    except InputError:
        return Shape.UNKNOWN


def _quietly(source: Source, mapping: FieldMap | None) -> Reader | None:
    """The reader of a file in a folder; None if its format is unknown."""
    try:
        return _file(source, mapping)
    except InputError:
        return None


def _sniff(table: Table) -> tuple[Shape, str]:
    """A table's shape by its first record of a known one, and what else was found."""
    found, rows = "", 0
    lines = table.format == "JSONL"
    for number, row in enumerate(table.rows()):
        if isinstance(row, Line):
            shape = shape_of(row.data)
            if lines and shape is Shape.UNKNOWN and number == 0 and _is_object(row.data):
                return Shape.OBJECT, ""
            if shape is not Shape.UNKNOWN:
                return shape, ""
            rows += bool(row.data)
        elif lines and number == 0 and row.line == 1 and _is_whole_object(row, table):
            return Shape.OBJECT, ""
        found = found or _description(row, "line" if lines else "row")
        if number >= SNIFFED_LINES:
            break
    if rows and not lines:
        return Shape.TABLE, ""
    return (Shape.UNKNOWN, found) if found else (Shape.EMPTY, "")


_SPREAD = "half a JSON object"


def _is_object(data: dict[str, Any]) -> bool:
    """Whether another tool writes such an object as a whole file."""
    from metajudge.readers import inspect_log, langfuse, mlflow, promptfoo

    written = (inspect_log.is_inspect_log, promptfoo.is_promptfoo_output, langfuse.is_trace, mlflow.is_trace)
    return any(recognises(data) for recognises in written)


def _is_whole_object(first: Reject, table: Table) -> bool:
    """Whether a file is one object as a whole: spread over lines, or one line that another tool writes so.

    One line of another kind is a bad line, and what is wrong with it is its own reason.
    """
    spread = first.reason.startswith(_SPREAD)
    if not spread and next(islice(table.rows(), 1, None), None) is not None:
        return False
    try:
        data = read_object(table.source)
    except InputError:
        return False
    return spread or _is_object(data)


def _description(line: Line | Reject, what: str) -> str:
    if isinstance(line, Line):
        keys = ", ".join(sorted(line.data)[:8])
        return f"{what} {line.number} has the fields {keys}" if keys else f"{what} {line.number} is an empty object"
    return f"{what} {line.line}: {line.reason}"
