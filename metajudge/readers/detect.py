"""Which format an input has, by its content."""

import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from metajudge.errors import InputError
from metajudge.files.secrets import without_secrets
from metajudge.readers.containers import Container, container_of, table_of
from metajudge.readers.json_object import SPREAD, entries_of, read_object, wrapped_table
from metajudge.readers.jsonl import JudgmentLines
from metajudge.readers.lines import Line, Reject, Source, open_bytes
from metajudge.readers.mapping import FieldMap, check_columns, own_columns
from metajudge.readers.reader import LineReader, Reader
from metajudge.readers.saved_maps import saved_map
from metajudge.readers.shapes import APART, Shape, shape_of
from metajudge.readers.tables import JsonLineTable, JsonListTable, RecordTable, Table
from metajudge.readers.typed_tables import DatasetTable, dataset_folders

SNIFFED_LINES = 1_000
"""How many lines are looked at for a record of a known format."""

EXPECTED = (
    "expected metajudge JSONL (one object a line with id, item, judge, verdict), a JudgeBench output file (pair_id, "
    "response_A, response_B, judgments), a JudgeBench, LLMBar or MT-Bench folder (a file of pairs or items and one of "
    "judgments), recorded verdicts of ReaLMistake or RewardBench 2, results of Arena-Hard, AlpacaEval, FastChat, "
    "Inspect, promptfoo, DeepEval, Ragas, lm-evaluation-harness, OpenAI Evals, LangSmith, Langfuse, MLflow, Phoenix, "
    "Argilla or Label Studio, or any table with a mapping (`metajudge import FILE` asks for one)"
)


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


def _file(source: Source, mapping: FieldMap | None) -> Reader:
    container = container_of(source)
    if container is Container.ZIP:
        from metajudge.readers import inspect_log

        if inspect_log.is_inspect_archive(source):
            return inspect_log.InspectLog(source, archive=True)
        open_bytes(source).close()  # says what it is instead
    if container is Container.CSV and (mapping is None or not mapping.columns):
        from metajudge.readers import promptfoo_table

        if promptfoo_table.is_promptfoo_table(source):
            return promptfoo_table.promptfoo_table(source)
    if container is Container.LIST and (mapping is None or not mapping.columns):
        from metajudge.readers.llmbar import ResultFile, is_result_path

        if is_result_path(source.path.resolve()):
            return ResultFile(source)
    table = table_of(source, container)
    shape, found = _sniff(table)
    if shape in (Shape.UNKNOWN, Shape.OBJECT) and (inner := wrapped_table(table, is_written_whole, mapping)):
        table, (shape, found) = inner, _sniff(inner)
    if shape is Shape.JUDGMENTS:
        return JudgmentLines(source, _own_records(table, container))
    mapped = mapping if mapping is not None and mapping.columns else None
    if mapped is None and shape in (Shape.UNKNOWN, Shape.TABLE, Shape.ALPACA_EVAL, Shape.ASSESSED):
        kept = _kept(source, mapping)
        mapped = kept if shape is not Shape.ASSESSED or (kept is not None and _fits(kept, table)) else None
    if mapped is None and mapping is not None and mapping.constants and shape in (Shape.UNKNOWN, Shape.TABLE):
        named = mapping.model_copy(update={"columns": own_columns(table.columns())})
        mapped = None if named.missing() else named
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
    from metajudge.readers import alpaca_eval, arena_hard, judgebench, promptfoo, realmistake, rewardbench2

    source, lines = table.source, JsonLineTable(table.source).rows
    makers: dict[Shape, Callable[[], Reader]] = {
        Shape.OUTPUT: lambda: judgebench.judgebench_output(source),
        Shape.ARENA_HARD: lambda: LineReader(arena_hard.FORMAT, source, lines, arena_hard.judgments),
        Shape.ALPACA_EVAL: lambda: LineReader(alpaca_eval.FORMAT, source, table.rows, alpaca_eval.judgments),
        Shape.PROMPTFOO: lambda: promptfoo.PromptfooResults(source, lines=True),
        Shape.ASSESSED: lambda: _assessed(table, values),
        Shape.DETECTIONS: lambda: LineReader(realmistake.FORMAT, source, lines, realmistake.judgments),
        Shape.PASSES: lambda: LineReader(rewardbench2.FORMAT, source, lines, rewardbench2.Passes().judgments),
        Shape.OBJECT: lambda: _object(source, values),
        Shape.TABLE: lambda: _table(table, values, found),
        Shape.UNKNOWN: lambda: _table(table, values, found),
    }
    if shape not in makers:
        raise InputError(f"{source.name} {APART[shape]}")
    return makers[shape]()


def _assessed(table: Table, values: Mapping[str, str]) -> Reader:
    """A reader for the format of the first record that has one; records of another format are rejects."""
    from metajudge.readers.assessed_formats import format_of
    from metajudge.readers.assessed_runs import AssessedRuns

    rows = (row.data for row in table.rows() if isinstance(row, Line))
    found = next(one for row in rows if (one := format_of(row)) is not None)
    return AssessedRuns(found.name, table.source, table.rows, found.read, values)


def _own_records(table: Table, container: Container) -> Table:
    """Records of our own, in which an infinite number is no word."""
    if container is Container.LIST:
        return JsonListTable(table.source, infinite_is_text=False)
    if isinstance(table, JsonLineTable):
        return JsonLineTable(table.source, infinite_is_text=False)
    return RecordTable(table) if container in (Container.PARQUET, Container.ARROW) else table


def _fits(mapping: FieldMap, table: Table) -> bool:
    """Whether a table has the columns of a mapping: one kept for a folder need not be meant for every file in it."""
    try:
        check_columns(mapping, table.columns(), table.source.name)
    except InputError:
        return False
    return True


def _kept(source: Source, mapping: FieldMap | None) -> FieldMap | None:
    """The mapping kept for a file, with the meanings and texts given now taking precedence."""
    kept = saved_map(source.path)
    if kept is None or mapping is None:
        return kept
    columns = {name: column for name, column in kept.columns.items() if name not in mapping.constants}
    update = {"columns": columns, "constants": {**kept.constants, **mapping.constants}}
    return kept.with_values(mapping.values).model_copy(update=update)


def _object(source: Source, values: Mapping[str, str]) -> Reader:
    from metajudge.readers import deepeval, inspect_log, langfuse, promptfoo
    from metajudge.readers.assessed_formats import assessed_formats
    from metajudge.readers.assessed_runs import AssessedRuns

    data = read_object(source)
    for one in assessed_formats():
        if (records := one.records(data)) is not None:
            return AssessedRuns(one.name, source, partial(entries_of, records), one.read, values)
    if inspect_log.is_inspect_log(data):
        return inspect_log.InspectLog(source, archive=False)
    if promptfoo.is_promptfoo_output(data):
        return promptfoo.PromptfooResults(source, lines=False)
    if langfuse.is_trace(data):
        return langfuse.LangfuseTrace(source, data, values)
    if deepeval.is_test_run(data):
        return deepeval.DeepEvalRun(source)
    keys = ", ".join(list(data)[:8])
    raise InputError(f"{source.name} is one JSON object, with the fields {keys}; {EXPECTED}")


def _table(table: Table, values: Mapping[str, str], found: str) -> Reader:
    """A reader for rows that no format claims: by names of our own, else not at all, with a guess."""
    from metajudge.readers import langsmith
    from metajudge.readers.guessing import guess_mapping
    from metajudge.readers.llmbar import ResultFile

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
    open_ = [problem for problem in guess.problems if not values or "say what each means" not in problem]
    problems = without_secrets("".join(f"\n  {problem}" for problem in open_))
    raise InputError(
        f"{name} is a table of no known format{reason}. Say which column is what, for instance\n"
        f"  {guess.mapping.with_values(values).to_flags()}{problems}\n`metajudge import {name}` asks about each."
    )


def _folder(path: Path, name: str, mapping: FieldMap | None) -> list[Reader]:
    """Readers for every file of a known format directly in a folder, or for the result files below it."""
    splits = dataset_folders(path)
    if splits:
        return [_dataset(Source(split, str(Path(name) / split.relative_to(path))), mapping) for split in splits]
    readers: list[Reader] = []
    apart: dict[Shape, list[Source]] = {shape: [] for shape in APART}
    files = _files(path, name)
    for source in files:
        shape = _sniff_quietly(source)
        if shape in apart:
            apart[shape].append(source)
        elif shape is Shape.TABLE and ((mapping is not None and mapping.columns) or _kept(source, mapping) is not None):
            readers.append(_file(source, mapping))
        elif shape not in (Shape.UNKNOWN, Shape.TABLE, Shape.EMPTY):
            with suppress(InputError):  # a format that is not known after all
                readers.append(_file(source, mapping if shape is not Shape.OBJECT else None))
    readers += _paired(name, apart)
    items, verdicts = apart[Shape.MTBENCH_ITEMS], apart[Shape.MTBENCH_VERDICTS]
    if items or verdicts:
        from metajudge.readers.mtbench import mtbench_folder

        readers.append(mtbench_folder(path, name, items, verdicts))
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
    shape = shape_of(first.data)
    if shape is Shape.JUDGMENTS:
        return JudgmentLines(source, RecordTable(table))
    if shape in (Shape.ALPACA_EVAL, Shape.ASSESSED):
        return _of_other_format(shape, table, mapping.values if mapping is not None else {}, "")
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


def _scored(path: Path, name: str, apart: Mapping[Shape, list[Source]], values: Mapping[str, str]) -> Iterator[Reader]:
    """Files of scores with the runs they are about, beside them or in the folders of Langfuse's export."""
    from metajudge.readers import langfuse, langsmith, phoenix
    from metajudge.readers.scored_runs import ScoredRuns

    def joined(
        format_name: str, part: Shape, scores: list[Source], runs: list[Source], tool: ModuleType, *, separate: bool
    ) -> Iterator[Reader]:
        for source in scores:
            if not runs:
                raise InputError(f"{name} ({source.path.name}) {APART[part]}")
            tables, rows = [table_of(one) for one in runs], table_of(source).rows
            parts = (tool.run_of, tool.score_of)
            yield ScoredRuns(format_name, tables, source, rows, *parts, values, separate=separate)

    annotations, feedback = apart[Shape.ANNOTATIONS], apart[Shape.FEEDBACK]
    yield from joined(phoenix.FORMAT, Shape.ANNOTATIONS, annotations, apart[Shape.SPANS], phoenix, separate=True)
    yield from joined("LangSmith feedback", Shape.FEEDBACK, feedback, apart[Shape.RUNS], langsmith, separate=False)
    scores = [*apart[Shape.SCORES], *_below(path, name, langfuse.SCORE_FOLDERS)]
    traces = [*apart[Shape.TRACES], *_below(path, name, langfuse.RUN_FOLDERS)] if scores else []
    yield from joined("Langfuse scores", Shape.SCORES, scores, traces, langfuse, separate=False)


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
    from metajudge.readers.llmbar import ResultFile, is_result_path

    files = [found for found in sorted(path.rglob("result.json")) if is_result_path(found.resolve())]
    return [ResultFile(Source(found, str(Path(name) / found.relative_to(path)))) for found in files]


def _sniff_quietly(source: Source) -> Shape:
    """The shape of a file in a folder: what cannot be read is no input."""
    try:
        container = container_of(source)
        if container is Container.ZIP:
            from metajudge.readers import inspect_log

            return Shape.OBJECT if inspect_log.is_inspect_archive(source) else Shape.UNKNOWN
        if container is Container.CSV:
            from metajudge.readers import promptfoo_table

            if promptfoo_table.is_promptfoo_table(source):
                return Shape.PROMPTFOO
        return _sniff(table_of(source, container))[0]
    except InputError:
        return Shape.UNKNOWN


def _sniff(table: Table) -> tuple[Shape, str]:
    """A table's shape by its first record of a known one, and what else was found."""
    found, rows = "", 0
    lines = table.format == "JSONL"
    for number, row in enumerate(table.rows()):
        if isinstance(row, Line):
            shape = shape_of(row.data)
            if lines and shape is Shape.UNKNOWN and number == 0 and is_written_whole(row.data):
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


def is_written_whole(data: dict[str, Any]) -> bool:
    """Whether another tool writes such an object as a whole file."""
    from metajudge.readers import deepeval, inspect_log, langfuse, promptfoo
    from metajudge.readers.assessed_formats import assessed_formats

    written = (inspect_log.is_inspect_log, promptfoo.is_promptfoo_output, langfuse.is_trace, deepeval.is_test_run)
    return any(recognises(data) for recognises in written) or any(
        one.records(data) is not None for one in assessed_formats()
    )


def _is_whole_object(first: Reject, table: Table) -> bool:
    """Whether a file is one object as a whole: spread over lines, or one line that another tool writes so.

    One line of another kind is a bad line, and what is wrong with it is its own reason.
    """
    spread = first.reason.startswith(SPREAD)
    if not spread and next(islice(table.rows(), 1, None), None) is not None:
        return False
    try:
        data = read_object(table.source)
    except InputError:
        return False
    return spread or is_written_whole(data)


def _description(line: Line | Reject, what: str) -> str:
    if isinstance(line, Line):
        keys = ", ".join(sorted(line.data)[:8])
        return f"{what} {line.number} has the fields {keys}" if keys else f"{what} {line.number} is an empty object"
    return f"{what} {line.line}: {line.reason}"
