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
from metajudge.cli.inspect_report import print_report, to_json
from metajudge.cli.options import JsonOption, echo_json
from metajudge.errors import InputError
from metajudge.readers.inspection import Inspection, inspect_input
from metajudge.readers.saved_maps import save_map
from metajudge.runs.exit_codes import RunCounts, exit_code


@takes_labels
def inspect(
    inputs: Annotated[list[str], typer.Argument(help="Files or folders; - is standard input.", metavar="FILE...")],
    maps: MapOption = None,
    values: MapValuesOption = None,
    prefix_ids: PrefixIdsOption = False,
    judge: OneJudgeOption = None,
    save: Annotated[
        bool, typer.Option("--save", help="Save the mapping for this file in metajudge-inputs.toml.")
    ] = False,
    records: Annotated[int, typer.Option(help="How many records to show.", min=0)] = 3,
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
    mapping = mapping_of(maps, values, judge)
    right = labelling.rule
    found = [
        inspect_input(
            name,
            mapping,
            records=records,
            prefix_ids=prefix_ids,
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
