"""``metajudge inspect``: what is this file, and how would its records be read?"""

import json
from collections import Counter
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
from metajudge.errors import InputError
from metajudge.files.command_line import command
from metajudge.reading.inspection import Inspection, inspect_input
from metajudge.reading.saved_maps import save_map
from metajudge.runs.exit_codes import RunCounts, exit_code
from metajudge.types import Judgment

_WIDTH = 88
_MOST = 8
_ORIGINS = {
    "given": "by the mapping given",
    "kept": "by the mapping saved in metajudge-inputs.toml",
    "guessed": "by this mapping, which is guessed",
}


def print_report(found: Inspection, *, saved: bool) -> None:
    """Prints one input as text."""
    typer.echo(f"{found.name}: {found.format}, {_counts(found)}")
    if found.mapping is not None:
        typer.echo(f"Read {_ORIGINS.get(found.origin, 'as it is')}:")
        reasons = {one.field: f"{one.confidence:<6}  {one.why}" for one in found.fields}
        for name, column in found.mapping.columns.items():
            given = "given" if found.origin != "kept" else "kept"
            typer.echo(cut(f"  {name:<12} = {column:<20} {reasons.get(name, given)}", _WIDTH + 20))
        for name, text in found.mapping.constants.items():
            typer.echo(f"  {name:<12} := {text}")
        for value, meaning in found.mapping.values.items():
            typer.echo(f"  the value {value!r} means {meaning}")
        unused = [name for name in found.columns if name not in found.mapping.used_columns]
        if unused:
            typer.echo(cut(f"  not used: {', '.join(unused)}", _WIDTH + 20))
        for name in unused if found.judgments is None else ():
            typer.echo(
                cut(f"    {name:<20} {' | '.join(map(_short, found.samples.get(name, []))) or '(empty)'}", _WIDTH)
            )
    if found.judges:
        typer.echo(f"Judges: {_top(found.judges)}")
    if found.verdicts:
        typer.echo(f"{'Verdicts' if found.judgments is not None else 'Values of the verdict'}: {_top(found.verdicts)}")
    echo_lines(_kinds(found) if found.judgments is not None else ())
    for number, record in enumerate(found.records, start=1):
        print_record(number, record)
    for notice in (*(found.join.notices() if found.join else ()), found.people.notice()):
        if notice is not None:
            typer.echo(f"Note: {notice}")
    if found.problems:
        typer.echo("Problems:")
        for problem in found.problems:
            typer.echo(f"  {problem}")
    if found.mapping is not None and found.origin == "guessed" and not saved:
        missing = found.mapping.missing()
        unknown = ", with the words in capitals filled in" if missing else ""
        wanted = {"judge": "judge:=NAME", "responses.A": "responses.A=COLUMN"}
        rest = "".join(f" --map {wanted.get(name, f'{name}=COLUMN')}" for name in missing)
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
        **found.kinds.to_json(),
        "joined": None if found.join is None else found.join.to_json(),
    }


def _kinds(found: Inspection) -> list[str]:
    kinds = found.kinds
    rules = {kind: str(rule) for kind, rule in kinds.right().items()}
    lines = []
    for kind, count in kinds.kinds.most_common():
        about = f"{count:,} {_NAMES[kind]}"
        if kind == "grade" and kinds.grades is not None:
            about += f" from {kinds.grades[0]:g} to {kinds.grades[1]:g}"
        if kind == "category":
            words = [name for name, _ in kinds.words.most_common(_MOST)]
            about += f" (words: {', '.join(words)}{', ...' if len(kinds.words) > _MOST else ''})"
        if kind in ("grade", "category") and kinds.scales:
            about += f", declared scale {', '.join(kinds.scales)}"
        lines.append(f"Kind: {about}; right: {rules[kind]}" if kind in rules else f"Kind: {about}")
    if not kinds.labels:
        return [*lines, "Labels by people: none (in this file: --map label=COLUMN; in another one: --labels FILE)"]
    per_item = Counter(kinds.labels.values())
    each = ", ".join(f"{count} on {items:,}" for count, items in sorted(per_item.items()))
    people = f"{sum(kinds.annotators.values()):,} on {len(kinds.labels):,} of {len(kinds.items):,} items"
    return [*lines, f"Labels by people: {people} (labels an item: {each}), by {_top(kinds.annotators)}"]


_NAMES = {"pairwise": "pairwise verdicts", "ranking": "rankings", "grade": "grades", "category": "categories"}


def _counts(found: Inspection) -> str:
    if found.judgments is None:
        return f"{found.rows:,} rows, {len(found.columns)} columns"
    text = f"{found.judgments:,} judgments"
    if found.rejects:
        text += f", {found.rejects:,} records that cannot be read"
    return text + (f", {found.duplicates:,} repeated" if found.duplicates else "")


def print_record(number: int, record: Judgment) -> None:
    """A record as it will be read, its texts cut to a line each."""
    typer.echo(f"{number}. {record.id}")
    verdict = f"no verdict ({record.no_verdict})" if record.verdict is None else str(record.verdict)
    label = f", label {record.item.label}" if record.item.label is not None else ""
    typer.echo(f"   {record.judge} says {verdict}{label}, shown in the order {', '.join(record.order)}")
    typer.echo(f"   question   {_short(record.item.question)}")
    for name, text in record.item.responses.items():
        model = (record.item.models or {}).get(name)
        typer.echo(f"   {name:<10} {_short(text)}{f'  ({model})' if model else ''}")
    if record.rationale:
        typer.echo(f"   rationale  {_short(record.rationale)}")


def _short(text: str) -> str:
    return cut(json.dumps(text, ensure_ascii=False), _WIDTH - 14)


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _top(counts: Counter[str]) -> str:
    shown = ", ".join(f"{name or '(empty)'} {count:,}" for name, count in counts.most_common(_MOST))
    return shown + (f", and {len(counts) - _MOST} more" if len(counts) > _MOST else "")


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
