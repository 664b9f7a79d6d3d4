"""Which format an input has, by its content; what was seen of it where none is found."""

import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any, Final

from metajudge.errors import InputError, OpenQuestionsError
from metajudge.files.secrets import without_secrets
from metajudge.reading.containers.kinds import (
    Container,
    container_of,
    folder_table,
    read_object,
    table_of,
    whole_object,
    wrapped_table,
)
from metajudge.reading.containers.lines import NAN_IS_NULL, DamagedError, Line, Reject, Source, open_bytes
from metajudge.reading.containers.tables import LINES, Survey, Table, json_lines, json_list, records_in
from metajudge.reading.containers.typed_tables import dataset_folders, dataset_table
from metajudge.reading.conversations import text_of
from metajudge.reading.formats.known import APART, OWN, Format, Part, format_of, formats, object_reader
from metajudge.reading.formats.scored_runs import joined
from metajudge.reading.guesses import MISSING, Guess
from metajudge.reading.guessing import guess_mapping
from metajudge.reading.jsonl import JudgmentLines
from metajudge.reading.mapping import FLAGS, TEXTS, FieldMap, Wording, check_columns, own_columns, quoted
from metajudge.reading.reader import Reader
from metajudge.reading.saved_maps import saved_map
from metajudge.reading.seen import column_lines, cut, samples
from metajudge.reading.textless import completed

SNIFFED_LINES: Final = 1_000
"""How many lines are looked at for a record of a known format."""

FORMATS: Final = "`metajudge inspect --formats` lists what is read"
SHOWN_COLUMNS: Final = 40


class Other(Enum):
    """What a file is whose records are of no format."""

    OBJECT = "one JSON object"
    TABLE = "a table"
    EMPTY = "nothing"
    UNKNOWN = "something else"


def known_formats() -> list[str]:
    """What is read without a mapping, by name."""
    return sorted({JudgmentLines.format, *(one.name for one in formats() if one.part is None)}, key=str.casefold)


def readers_of(path: Path, name: str, mapping: FieldMap | None = None) -> list[Reader]:
    """The readers for a file or a folder.

    Args:
        path: what to read.
        name: what to call it in messages.
        mapping: which column of a table is what; None for the one that is kept for this file, if any. A mapping that
            is given is used for every file but metajudge's own; its ``values`` alone only give words a meaning.

    Raises:
        InputError: there is nothing here that any reader knows, with what was found, what is missing and one remedy.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    given = FieldMap() if mapping is None else mapping
    if stat.S_ISREG(found.st_mode) and not found.st_size:
        raise InputError(f"{name} is empty")
    return _folder(path, name, given) if stat.S_ISDIR(found.st_mode) else [_file(Source(path, name), given)]


def _by_itself(source: Source, container: Container) -> Callable[[Source], Reader] | None:
    """What reads a file that is no table of records, by its container, marks or place; None for any other file."""
    from metajudge.reading.formats import inspect_log, llmbar, promptfoo

    if container is Container.ZIP and inspect_log.is_inspect_archive(source):
        return inspect_log.inspect_log
    if container is Container.LIST and llmbar.is_result_path(source.path.resolve()):
        return llmbar.ResultFile
    table = container is Container.CSV and promptfoo.is_table(source)
    return promptfoo.table if table else None


def _file(source: Source, mapping: FieldMap) -> Reader:
    container = container_of(source)
    own = _by_itself(source, container) if container is Container.ZIP or not mapping.columns else None
    if own is not None:
        return own(source)
    if container is Container.ZIP:
        open_bytes(source).close()  # says what it is instead
    return reader_of(table_of(source, container), mapping, container)


def reader_of(table: Table, mapping: FieldMap, container: Container | None = None, wording: Wording = FLAGS) -> Reader:
    """The reader for a table; what is raised as for :func:`readers_of`.

    Args:
        container: of a file; None for rows that stand in no single one.
        wording: how messages name what the user gives.
    """
    found, said = _sniff(table)
    if found in (Other.UNKNOWN, Other.OBJECT) and (inner := wrapped_table(table, is_written_whole, mapping)):
        table, (found, said) = inner, _sniff(inner)
    source = table.source
    if found is OWN:
        return JudgmentLines(source, _own_records(table, container))
    if isinstance(found, Format) and found.completed is not None:
        mapping = found.completed(table.columns(), mapping)
    by_columns = isinstance(found, Format) and found.by_columns
    if (mapped := _mapping_of(table, mapping, plain=not isinstance(found, Format), by_columns=by_columns)) is not None:
        check_columns(mapped, table.columns(), source.name)
        partial = mapped.missing() and completed(mapped, table.columns(), table.survey()).missing()
        return _table(table, mapped, said, wording) if partial else _mapped(table, mapped, wording)
    if isinstance(found, Format):
        if found.part is not None:
            raise InputError(f"{source.name} contains {APART[found.part]}")
        if found.reader is not None and (container is not None or by_columns):
            return found.reader(table, mapping.values)
    if found is Other.EMPTY:
        raise InputError(f"{source.name} is empty")
    if found is not Other.OBJECT:
        return _table(table, mapping, said, wording)
    data = read_object(source)
    known = object_reader(source, data, mapping.values)
    if known is None:
        seen = ", ".join(f"{name} ({cut(text_of(value), SHOWN_COLUMNS)})" for name, value in list(data.items())[:8])
        raise InputError(f"{source.name} is one JSON object of no known tool: {without_secrets(seen)}; {FORMATS}")
    return known


def _mapping_of(table: Table, mapping: FieldMap, *, plain: bool, by_columns: bool) -> FieldMap | None:
    """The mapping that a table is read by: the one given, or the one kept.

    Args:
        plain: whether its records are of no format.
        by_columns: whether they are of one that may be any table, so that a mapping kept for the file goes before.
    """
    if mapping.columns:
        return mapping
    path = table.source.path
    kept = saved_map(path) if (plain or by_columns) and path.exists() else None
    if kept is not None:
        kept = kept.updated(constants=mapping.constants, values=mapping.values)
        if plain or _fits(kept, table):
            return kept
    return None


def _mapped(table: Table, mapping: FieldMap, wording: Wording, told: str | None = None) -> Reader:
    from metajudge.reading.mapped import MappedTable

    found = MappedTable(table, mapping, wording=wording)
    found.guessed = told is not None
    found.told = [*([told] if told else []), *found.told]
    return found


def _own_records(table: Table, container: Container | None) -> Table:
    """Records of our own, in which an infinite number is no word."""
    if container is Container.LIST:
        return json_list(table.source, NAN_IS_NULL)
    if table.format == LINES:
        return json_lines(table.source, NAN_IS_NULL)
    return records_in(table) if container in (Container.PARQUET, Container.ARROW, None) else table


def _fits(mapping: FieldMap, table: Table) -> bool:
    """Whether a table has the columns of a mapping: one kept for a folder need not be meant for every file in it."""
    try:
        check_columns(mapping, table.columns(), table.source.name)
    except InputError:
        return False
    return True


def _table(table: Table, given: FieldMap, said: str, wording: Wording) -> Reader:
    """A reader for rows that no format claims: by names of our own or usual ones; else what was seen is refused."""
    from metajudge.reading.formats import langsmith, llmbar
    from metajudge.reading.mapped_items import stem_of

    columns = table.columns()
    if langsmith.is_test_results(columns):
        return langsmith.test_results(table, given.values)
    if {"input", "output_1", "output_2", "results"} <= set(columns):
        return llmbar.ResultFile(table.source)  # which says that only its folders name the judge
    direct = FieldMap(columns=own_columns(columns)).updated(given.columns, given.constants, given.values)
    if not direct.missing():
        return _mapped(table, direct, wording)
    name, survey = table.source.name, table.survey()
    if not columns or not any(row.data for row in survey.rows):
        raise InputError(f"{name} contains no judgment that can be read: {said or 'no row has a value'}; {FORMATS}")
    guess = guess_mapping(columns, survey.rows)
    mapping = completed(guess.with_given(given), columns, survey)
    questions = [one for one in guess.questions(given) if one not in MISSING.values()]
    known = {"judge"} if wording.flags else set[str]()  # a file names its one judge, a frame does not
    if not {*mapping.missing()} - known and not questions and guess.is_sure(given):
        if "judge" in mapping.missing():
            mapping = mapping.updated(constants={"judge": stem_of(name)})
        told = f"{name} is read by the names of its columns: {mapping.to_flags(wording)}"
        return _mapped(table, mapping, wording, told)
    raise OpenQuestionsError(without_secrets(_seen(table, mapping, guess, survey, given, wording)))


TO_GIVE: Final = {
    "verdict": "verdict=COLUMN",
    "question": "question=COLUMN",
    "judge": "judge:=NAME",
    "responses.A": "responses.A=COLUMN",
}
"""A required field that no column is taken for, and what stands for it in the mapping to be given."""


def missing_of(mapping: FieldMap) -> list[str]:
    """Required fields that a mapping lacks; texts are none of them where it has neither texts nor verdicts."""
    missing = mapping.missing()
    return [one for one in missing if one not in TEXTS or mapping.verdicts or not set(TEXTS) <= set(missing)]


def _seen(table: Table, mapping: FieldMap, guess: Guess, survey: Survey, given: FieldMap, wording: Wording) -> str:
    """What was seen of a table, what is missing, and the one option to give."""
    name, columns = table.source.name, table.columns()
    shown = list(dict.fromkeys([*columns[:SHOWN_COLUMNS], *(one.column for one in guess.fields)]))
    lines = column_lines(shown, {one: samples(survey, one) for one in shown}, mapping, {})
    lines += [f"  and {len(columns) - SHOWN_COLUMNS} more columns"] * (len(columns) > SHOWN_COLUMNS)
    lines += [f"  {one}" for one in guess.questions(given) if not one.startswith("no column ")]
    missing = missing_of(mapping)
    what = f"Missing: {', '.join(missing)}." if missing else "Nothing is missing, but some of it is guessed."
    parts = [f"{field}={column}" for field, column in mapping.columns.items()]
    parts += [*(f"{field}:={text}" for field, text in mapping.constants.items()), *(TO_GIVE[one] for one in missing)]
    means = f" and {wording.meanings(mapping.values)}" if mapping.values else ""
    asks = f" (`metajudge import {quoted(name)}` asks)" if wording.flags else ""
    asks += f"; {wording.one_judge()}" if "judge" in missing and not wording.flags else ""
    give = f"{what} Give {wording.mapped(','.join(parts))}{means}{asks}"
    return "\n".join([f"{name} is a table of no known format:", *lines, give])


def _folder(path: Path, name: str, mapping: FieldMap) -> list[Reader]:
    """Readers for every file of a known format directly in a folder, or for the result files below it."""
    splits = dataset_folders(path)
    if splits:
        sources = [Source(split, str(Path(name) / split.relative_to(path))) for split in splits]
        return [reader_of(dataset_table(one), mapping) for one in sources]
    readers: list[Reader] = []
    parts: dict[Part, list[Source]] = {}
    files = _files(path, name)
    for source in files:
        found = _sniff_quietly(source)
        if isinstance(found, Format) and found.part:
            parts.setdefault(found.part, []).append(source)
            continue
        kept = found is Other.TABLE and (mapping.columns or saved_map(source.path) is not None)
        if isinstance(found, Format) or found is Other.OBJECT or kept:
            with suppress(*(() if kept else (InputError,))):  # a format that is not known after all
                readers.append(_file(source, FieldMap() if found is Other.OBJECT else mapping))
    readers += _joined(path, name, parts, mapping.values)
    if not readers and (records := folder_table(Source(path, name))) is not None:
        return [reader_of(records, mapping)]
    readers = readers or _result_files(path, name)
    if not readers:
        seen = ", ".join(source.path.name for source in files[:5]) + (", ..." if len(files) > 5 else "")
        raise InputError(f"{name} contains no file of judgments (found: {seen or 'nothing'}); {FORMATS}")
    return readers


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
    below = [one for pattern in folders for one in sorted([*path.glob(pattern), *path.glob(f"*/{pattern}")])]
    sources = [one for folder in below if folder.is_dir() for one in _files(folder, _inside(path, name, folder))]
    sniffed = ((source, _sniff_quietly(source)) for source in sources)
    return [one for one, found in sniffed if isinstance(found, Format) and found.part in ("scores", "traces", "runs")]


def _inside(path: Path, name: str, found: Path) -> str:
    return str(Path(name) / found.relative_to(path))


def _files(path: Path, name: str) -> list[Source]:
    try:
        entries = sorted(path.iterdir())
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    return [Source(entry, str(entry)) for entry in entries if entry.is_file() and not entry.name.startswith(".")]


def _result_files(path: Path, name: str) -> list[Reader]:
    from metajudge.reading.formats.llmbar import ResultFile, is_result_path

    files = [found for found in sorted(path.rglob("result.json")) if is_result_path(found.resolve())]
    return [ResultFile(Source(found, _inside(path, name, found))) for found in files]


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
