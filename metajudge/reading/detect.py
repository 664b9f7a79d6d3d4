"""Which format an input has, by its content."""

import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Any

from metajudge.errors import InputError, OpenQuestionsError
from metajudge.files.secrets import without_secrets
from metajudge.reading.containers.kinds import (
    Container,
    container_of,
    read_object,
    table_of,
    whole_object,
    wrapped_table,
)
from metajudge.reading.containers.lines import NAN_IS_NULL, DamagedError, Line, Reject, Source, open_bytes
from metajudge.reading.containers.tables import LINES, Table, json_lines, json_list, records_in
from metajudge.reading.containers.typed_tables import dataset_folders, dataset_table
from metajudge.reading.formats.known import APART, OWN, Format, Part, format_of, object_reader
from metajudge.reading.formats.scored_runs import joined
from metajudge.reading.jsonl import JudgmentLines
from metajudge.reading.mapping import FieldMap, check_columns, own_columns
from metajudge.reading.reader import Reader
from metajudge.reading.saved_maps import saved_map

SNIFFED_LINES = 1_000
"""How many lines are looked at for a record of a known format."""

EXPECTED = (
    "expected metajudge JSONL (one object a line with id, item, judge, verdict), a JudgeBench output file (pair_id, "
    "response_A, response_B, judgments), a JudgeBench, LLMBar or MT-Bench folder (a file of pairs or items and one of "
    "judgments), recorded verdicts of ReaLMistake or RewardBench 2, results of Arena-Hard, AlpacaEval, FastChat, "
    "Inspect, promptfoo, DeepEval, Ragas, lm-evaluation-harness, OpenAI Evals, LangSmith, Langfuse, MLflow, Phoenix, "
    "Argilla or Label Studio, or any table with a mapping (`metajudge import FILE` asks for one)"
)


class Other(Enum):
    """What a file is whose records are of no format."""

    OBJECT = "one JSON object"
    TABLE = "a table"
    EMPTY = "nothing"
    UNKNOWN = "something else"


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
    given = FieldMap() if mapping is None else mapping
    return _folder(path, name, given) if stat.S_ISDIR(mode) else [_file(Source(path, name), given)]


def _by_itself(source: Source, container: Container) -> Callable[[Source], Reader] | None:
    """What reads a file that is no table of records, by its container and its own marks; None for any other file."""
    from metajudge.reading.formats import inspect_log, promptfoo_table

    if container is Container.ZIP and inspect_log.is_inspect_archive(source):
        return inspect_log.inspect_log
    table = container is Container.CSV and promptfoo_table.is_promptfoo_table(source)
    return promptfoo_table.promptfoo_table if table else None


def _file(source: Source, mapping: FieldMap) -> Reader:
    container = container_of(source)
    own = _by_itself(source, container) if container is Container.ZIP or not mapping.columns else None
    if own is not None:
        return own(source)
    if container is Container.ZIP:
        open_bytes(source).close()  # says what it is instead
    if container is Container.LIST and not mapping.columns:
        from metajudge.reading.formats.llmbar import ResultFile, is_result_path

        if is_result_path(source.path.resolve()):
            return ResultFile(source)
    table = table_of(source, container)
    found, said = _sniff(table)
    if found in (Other.UNKNOWN, Other.OBJECT) and (inner := wrapped_table(table, is_written_whole, mapping)):
        table, (found, said) = inner, _sniff(inner)
    if found is OWN:
        return JudgmentLines(source, _own_records(table, container))
    if isinstance(found, Format) and found.completed is not None:
        mapping = found.completed(table.columns(), mapping)
    mapped = mapping if mapping.columns else None
    plain = found in (Other.UNKNOWN, Other.TABLE)
    if mapped is None and (plain or (isinstance(found, Format) and found.by_columns)):
        kept = _kept(source, mapping)
        mapped = kept if plain or (kept is not None and _fits(kept, table)) else None
    if mapped is None and mapping.constants and plain:
        named = mapping.model_copy(update={"columns": own_columns(table.columns())})
        mapped = None if named.missing() else named
    if mapped is not None:
        return _mapped(table, mapped)
    if isinstance(found, Format):
        if found.part is not None:
            raise InputError(f"{source.name} contains {APART[found.part]}")
        if found.reader is not None:
            return found.reader(table, mapping.values)
    if found is Other.EMPTY:
        raise InputError(f"{source.name} is empty; {EXPECTED}")
    if found is not Other.OBJECT:
        return _table(table, mapping.values, said)
    data = read_object(source)
    known = object_reader(source, data, mapping.values)
    if known is None:
        keys = ", ".join(list(data)[:8])
        raise InputError(f"{source.name} is one JSON object, with the fields {keys}; {EXPECTED}")
    return known


def _mapped(table: Table, mapping: FieldMap, told: str | None = None) -> Reader:
    from metajudge.reading.mapped import MappedTable

    found = MappedTable(table, mapping)
    found.guessed = told is not None
    found.told = [*([told] if told else []), *found.told]
    return found


def _own_records(table: Table, container: Container) -> Table:
    """Records of our own, in which an infinite number is no word."""
    if container is Container.LIST:
        return json_list(table.source, NAN_IS_NULL)
    if table.format == LINES:
        return json_lines(table.source, NAN_IS_NULL)
    return records_in(table) if container in (Container.PARQUET, Container.ARROW) else table


def _fits(mapping: FieldMap, table: Table) -> bool:
    """Whether a table has the columns of a mapping: one kept for a folder need not be meant for every file in it."""
    try:
        check_columns(mapping, table.columns(), table.source.name)
    except InputError:
        return False
    return True


def _kept(source: Source, mapping: FieldMap) -> FieldMap | None:
    """The mapping kept for a file, with the meanings and texts given now taking precedence."""
    kept = saved_map(source.path)
    return None if kept is None else kept.updated(constants=mapping.constants, values=mapping.values)


def _table(table: Table, values: Mapping[str, str], found: str) -> Reader:
    """A reader for rows that no format claims: by names of our own, else not at all, with a guess."""
    from metajudge.reading.formats import langsmith
    from metajudge.reading.formats.llmbar import ResultFile
    from metajudge.reading.guessing import guess_mapping

    columns = table.columns()
    if langsmith.is_test_results(columns):
        return langsmith.test_results(table, values)
    if {"input", "output_1", "output_2", "results"} <= set(columns):
        return ResultFile(table.source)  # which says that only its folders name the judge
    own = own_columns(columns)
    direct = FieldMap(columns=own, values=dict(values))
    if own.keys() >= {"verdict", "question", "judge"} and not direct.missing():
        return _mapped(table, direct)
    name = table.source.name
    if table.format == LINES and not columns:
        raise InputError(f"{name} contains no judgment that can be read: {found}; {EXPECTED}")
    rows = [row for row in islice(table.rows(), SNIFFED_LINES) if isinstance(row, Line)]
    guess = guess_mapping(columns, rows)
    if guess.is_sure and not values and all(one.column in columns for one in guess.fields):
        return _mapped(table, guess.mapping, f"{name} is read by the names of its columns: {guess.mapping.to_flags()}")
    reason = f": {found}" if found else ""
    if len(guess.fields) < 3:
        raise InputError(f"{name} contains no judgment that can be read{reason}; {EXPECTED}")
    open_ = [problem for problem in guess.problems if not values or "say what each means" not in problem]
    problems = without_secrets("".join(f"\n  {problem}" for problem in open_))
    flags = guess.mapping.updated(values=dict(values)).to_flags()
    raise OpenQuestionsError(
        f"{name} is a table of no known format{reason}. Say which column is what, for instance\n"
        f"  {flags}{problems}\n`metajudge import {name}` asks about each."
    )


def _folder(path: Path, name: str, mapping: FieldMap) -> list[Reader]:
    """Readers for every file of a known format directly in a folder, or for the result files below it."""
    splits = dataset_folders(path)
    if splits:
        return [_dataset(Source(split, str(Path(name) / split.relative_to(path))), mapping) for split in splits]
    readers: list[Reader] = []
    parts: dict[Part, list[Source]] = {}
    files = _files(path, name)
    for source in files:
        found = _sniff_quietly(source)
        known = isinstance(found, Format)
        if isinstance(found, Format) and found.part:
            parts.setdefault(found.part, []).append(source)
        elif found is Other.TABLE and (mapping.columns or _kept(source, mapping) is not None):
            readers.append(_file(source, mapping))
        elif known or found is Other.OBJECT:
            with suppress(InputError):  # a format that is not known after all
                readers.append(_file(source, mapping if known else FieldMap()))
    readers += _joined(path, name, parts, mapping.values)
    readers = readers or _result_files(path, name)
    if not readers:
        seen = ", ".join(source.path.name for source in files[:5]) + (", ..." if len(files) > 5 else "")
        raise InputError(f"{name} contains no file of judgments (found: {seen or 'nothing'}); {EXPECTED}")
    return readers


def _dataset(source: Source, mapping: FieldMap) -> Reader:
    table = dataset_table(source)
    mapped = mapping if mapping.columns else _kept(source, mapping)
    if mapped is not None:
        return _mapped(table, mapped)
    first = next((row for row in table.rows() if isinstance(row, Line)), None)
    if first is None:
        raise InputError(f"{source.name} is empty; {EXPECTED}")
    found = format_of(first.data)
    if found is OWN:
        return JudgmentLines(source, records_in(table))
    if found is not None and found.by_columns and found.reader is not None:
        return found.reader(table, mapping.values)
    return _table(table, mapping.values, "")


def _joined(path: Path, name: str, parts: Mapping[Part, list[Source]], values: Mapping[str, str]) -> Iterator[Reader]:
    """Readers of formats of which each record needs one in another file of a folder."""
    from metajudge.reading.formats import judgebench, langfuse, langsmith, llmbar, mtbench, phoenix

    def of(part: Part) -> list[Source]:
        return parts.get(part, [])

    games = of("games") + of("evaluations")
    if games and not of("pairs"):
        raise InputError(
            f"{name} contains judgments ({games[0].path.name}), but not the pairs they name (item_id, question, "
            "response_a, response_b)"
        )
    for source in sorted(games, key=lambda one: one.name):
        yield (judgebench.games if source in of("games") else llmbar.evaluations)(of("pairs"), source)
    if of("items") or of("verdicts"):
        yield mtbench.mtbench_folder(path, name, of("items"), of("verdicts"))
    if scores := of("scores") + _below(path, name, langfuse.SCORE_FOLDERS):
        parts = {**parts, "scores": scores, "traces": of("traces") + _below(path, name, langfuse.RUN_FOLDERS)}
    joins: tuple[tuple[Any, str, Part, Part], ...] = (
        (phoenix, phoenix.FORMAT, "annotations", "spans"),
        (langsmith, "LangSmith feedback", "feedback", "runs"),
        (langfuse, "Langfuse scores", "scores", "traces"),
    )
    for tool, title, part, runs in joins:
        for source in of(part):
            if not of(runs):
                raise InputError(f"{name} ({source.path.name}) contains {APART[part]}")
            tables, separate = [table_of(one) for one in of(runs)], tool is phoenix
            yield joined(title, tables, tool.run_of, table_of(source), tool.score_of, values, separate=separate)


def _below(path: Path, name: str, folders: tuple[str, ...]) -> list[Source]:
    """The files of folders of these names, which may lie one folder deeper (a project's)."""
    found = [folder for pattern in folders for folder in sorted([*path.glob(pattern), *path.glob(f"*/{pattern}")])]
    sources = [
        source
        for folder in found
        if folder.is_dir()
        for source in _files(folder, str(Path(name) / folder.relative_to(path)))
    ]
    sniffed = ((source, _sniff_quietly(source)) for source in sources)
    return [one for one, found in sniffed if isinstance(found, Format) and found.part in ("scores", "traces", "runs")]


def _files(path: Path, name: str) -> list[Source]:
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    return [Source(entry, str(entry)) for entry in entries if entry.is_file() and not entry.name.startswith(".")]


def _result_files(path: Path, name: str) -> list[Reader]:
    from metajudge.reading.formats.llmbar import ResultFile, is_result_path

    files = [found for found in sorted(path.rglob("result.json")) if is_result_path(found.resolve())]
    return [ResultFile(Source(found, str(Path(name) / found.relative_to(path)))) for found in files]


def _sniff_quietly(source: Source) -> Format | Other:
    """What a file in a folder is: one of another kind is no input, a damaged one is not left out."""
    try:
        container = container_of(source)
        if _by_itself(source, container) is not None:
            return Other.OBJECT
        return Other.UNKNOWN if container is Container.ZIP else _sniff(table_of(source, container))[0]
    except DamagedError:
        raise
    except InputError:
        return Other.UNKNOWN


def _sniff(table: Table) -> tuple[Format | Other, str]:
    """What a table is by its first record of a known format, and what else was found."""
    said, rows = "", 0
    lines = table.format == LINES
    for number, row in enumerate(table.rows()):
        if isinstance(row, Line):
            found = format_of(row.data)
            if found is not None:
                return found, ""
            if lines and number == 0 and is_written_whole(table.source, row.data):
                return Other.OBJECT, ""
            rows += bool(row.data)
        elif lines and number == 0 and row.line == 1:
            # One line of another kind is a bad line, and what is wrong with it is its own reason.
            data, spread = whole_object(table) or ({}, False)
            if spread or is_written_whole(table.source, data):
                return Other.OBJECT, ""
        said = said or _description(row, "line" if lines else "row")
        if number >= SNIFFED_LINES:
            break
    if rows and not lines:
        return Other.TABLE, ""
    return (Other.UNKNOWN, said) if said else (Other.EMPTY, "")


def is_written_whole(source: Source, data: Mapping[str, Any]) -> bool:
    """Whether another tool writes such an object as a whole file."""
    return object_reader(source, data, {}) is not None


def _description(line: Line | Reject, what: str) -> str:
    if isinstance(line, Line):
        keys = ", ".join(sorted(line.data)[:8])
        return f"{what} {line.number} has the fields {keys}" if keys else f"{what} {line.number} is an empty object"
    return f"{what} {line.line}: {line.reason}"
