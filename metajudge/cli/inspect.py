"""``metajudge inspect``: what is this file, and how would its records be read?"""

from typing import Annotated

import typer

from metajudge.cli.inputs import (
    Labelling,
    MapOption,
    MapValuesOption,
    OneJudgeOption,
    PrefixIdsOption,
    mapping_of,
    takes_labels,
)
from metajudge.cli.options import JsonOption, echo_json, echo_lines
from metajudge.errors import ConfigurationError, InputError
from metajudge.files.command_line import command
from metajudge.reading.detect import TO_GIVE, known_formats, missing_of
from metajudge.reading.inspection import Inspection, inspect_input
from metajudge.reading.mapped_items import stem_of
from metajudge.reading.saved_maps import save_map
from metajudge.reading.seen import column_lines, counts_of, plural, record_lines, top
from metajudge.runs.exit_codes import RunCounts, exit_code
from metajudge.types import Judgment

_ORIGINS = {
    "given": "by the mapping given",
    "kept": "by the mapping saved in metajudge-inputs.toml",
    "guessed": "by this mapping, which is guessed",
}


def print_report(found: Inspection, *, saved: bool) -> None:
    """Prints one input as text: what was read first, then the columns, records, notes, problems and the next step."""
    read = f"{found.rows:,} rows, not read yet" if found.facts is None else plural("judgment", found.judgments or 0)
    typer.echo(f"{found.name}: {found.format}, {read}")
    echo_lines(found.told[:-1] if found.records else found.told)
    if found.mapping is not None:
        typer.echo(f"Read {_ORIGINS.get(found.origin, 'as it is')}:")
        reasons = {one.field: f"{one.confidence}: {one.why}" for one in found.fields}
        echo_lines(column_lines(found.columns, found.samples, found.mapping, reasons))
        echo_lines(f"  {name} is {text} for all rows" for name, text in found.mapping.constants.items())
        echo_lines(f"  the value {value!r} means {meaning}" for value, meaning in found.mapping.values.items())
    if found.facts is None:
        typer.echo(f"Values of the verdict: {top(found.verdicts) or 'no column is taken for it'}")
    echo_lines(f"Kind: {kind}; right: {rule}" for kind, rule in found.right.items())
    for number, record in enumerate(found.records, start=1):
        print_record(number, record)
    notices = (*(found.join.notices if found.join else ()), found.people.notice())
    echo_lines(f"Note: {notice}" for notice in notices if notice is not None)
    echo_lines(["Problems:", *(f"  {problem}" for problem in found.problems)] if found.problems else ())
    if found.mapping is not None and found.origin == "guessed" and not saved:
        missing = missing_of(found.mapping)
        unknown = ", with the words in capitals filled in" if missing else ""
        rest = "".join(f" --map {TO_GIVE[name]}" for name in missing)
        read = f"{command('vet', found.name)} {found.mapping.to_flags()}{rest}"
        typer.echo(f"To read it like this{unknown}: {read}")
        typer.echo(f"To be asked about each column, and save the answers: {command('import', found.name)}")


_PLAIN = ("columns", "judgments", "rejects", "duplicates", "rows", "judges", "verdicts")


def to_json(found: Inspection) -> dict[str, object]:
    """One input as plain data; absent counts are null."""
    return {
        **{name: getattr(found, name) for name in ("name", "format", "origin", "complete")},
        "mapping": None if found.mapping is None else found.mapping.model_dump(),
        "missing": [] if found.mapping is None else list(found.mapping.missing()),
        "flags": None if found.mapping is None else found.mapping.to_flags(),
        "guess": [
            {"field": one.field, "column": one.column, "confidence": one.confidence, "why": one.why}
            for one in found.fields
        ],
        **{name: getattr(found, name) for name in _PLAIN},
        "records": [record.model_dump(mode="json") for record in found.records],
        "problems": found.problems,
        "by_people": found.people.to_json(),
        **counts_of(found.facts, found.right),
        "joined": None if found.join is None else found.join.to_json(),
    }


def print_record(number: int, record: Judgment) -> None:
    """A record as it will be read, its texts cut to a line each."""
    echo_lines(record_lines(number, record))


@takes_labels
def inspect(
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Files or folders; - is standard input.", metavar="FILE...")
    ] = None,
    maps: MapOption = None,
    values: MapValuesOption = None,
    prefix_ids: PrefixIdsOption = False,
    judge: OneJudgeOption = None,
    save: Annotated[
        bool, typer.Option("--save", help="Save the mapping for this file in metajudge-inputs.toml.")
    ] = False,
    records: Annotated[int, typer.Option(help="How many records to show.", min=0)] = 3,
    formats: Annotated[bool, typer.Option("--formats", help="List the formats that are read, and leave.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 1 also if single records cannot be read.")
    ] = False,
    as_json: JsonOption = False,
    *,
    labelling: Labelling,
) -> None:
    """Show a file's format and what its columns mean; preview some records; count verdicts and people's labels.

    No model is asked; only --save writes anything. Exit code 1: the file cannot be read as judgments without further
    options (see the problems); with --strict also if single records cannot be read.
    """
    if formats:
        echo_lines([*known_formats(), "any table of verdicts, by a mapping of its columns (metajudge import FILE)"])
        return
    if not inputs:
        raise ConfigurationError("name a file or a folder, or give --formats for the list of what is read")
    mapping = mapping_of(maps, values, judge)
    right = labelling.rule
    found = [
        inspect_input(
            name,
            mapping,
            records=records,
            prefix_ids=prefix_ids,
            judge=stem_of(name),
            join=lambda source: labelling.join(source, values),
            right=right,
        )
        for name in inputs
    ]
    if as_json:
        data = [to_json(one) for one in found]
        echo_json(data[0] if len(data) == 1 else {"files": data}, indent=True)
    else:
        for number, one in enumerate(found):
            if number:
                typer.echo("")
            print_report(one, saved=save)
    for one in found if save else ():
        typer.echo(_saved(one), err=True)
    unread = sum(one.judgments is None for one in found)
    counts = RunCounts(failed=unread, bad_lines=sum(one.rejects or 0 for one in found))
    raise typer.Exit(exit_code(counts, strict=strict))


def _saved(one: Inspection) -> str:
    if one.mapping is None:
        return f"metajudge: {one.name} needs no mapping; nothing was saved"
    if one.judgments is None:
        raise InputError(f"{one.name}: the mapping was not saved, because it does not fit: {'; '.join(one.problems)}")
    file = save_map(one.name, one.mapping)
    return f"metajudge: the mapping of {one.name} is saved in {file.name}; the next run needs no --map"
