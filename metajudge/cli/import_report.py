"""What ``metajudge import`` prints: columns with what they are read as, and records as they will be read."""

import json

import typer

from metajudge.cli.inspect_report import print_record
from metajudge.readers.inspection import Inspection
from metajudge.readers.one_hot import columns_in

WIDTH = 100
_EXAMPLE = 30


def print_look(found: Inspection) -> None:
    """Each column with an example, what it is read as, and why."""
    rows = found.judgments if found.rows is None else found.rows
    typer.echo(
        f"{found.name}: {found.format.removesuffix(', mapped')}, {rows or 0:,} rows, {len(found.columns)} columns"
    )
    mapping = found.mapping
    if mapping is None:
        return
    used: dict[str, list[tuple[str, str]]] = {}
    why = {one.field: f"{one.confidence}: {one.why}" for one in found.fields}
    for field, column in mapping.columns.items():
        for name in columns_in(column):
            used.setdefault(name, []).append((field, why.get(field, "given")))
    inner = [name for name in used if name not in found.columns]
    width = min(max((len(name) for name in (*found.columns, *inner)), default=0), 28)
    typer.echo("")
    for name in found.columns:
        below = [one for one in inner if one.split(".")[0] == name]
        fields = used.get(name, [])
        if not fields and below:
            typer.echo(_line(name, _example(found, name), "", "see below", width))
        for field, reason in fields or ([] if below else [("not used", "")]):
            typer.echo(_line(name, _example(found, name), field, reason, width))
        for one in below:
            for field, reason in used[one]:
                typer.echo(_line(one, "", field, reason, width))
    typer.echo("")
    for field, text in mapping.constants.items():
        typer.echo(f"For all rows, {field} is {text}.")
    for value, meaning in mapping.values.items():
        typer.echo(f"The value {value!r} means {meaning}.")
    if found.verdicts and found.judgments is None:
        shown = ", ".join(f"{name or '(empty)'} {count:,}" for name, count in found.verdicts.most_common(8))
        typer.echo(f"Values of the verdict: {shown}")


def print_records(found: Inspection) -> None:
    """The first records as they will be read, and how often each verdict occurs."""
    if found.judgments is not None:
        shown = ", ".join(f"{name} {count:,}" for name, count in found.verdicts.most_common(8))
        judges = ", ".join(f"{name} {count:,}" for name, count in found.judges.most_common(5))
        typer.echo(f"\nThat gives {found.judgments:,} judgments by {judges}; verdicts: {shown}.")
        if found.rejects:
            typer.echo(f"{found.rejects:,} rows cannot be read.")
    if found.records:
        typer.echo("\nThe first ones, as they will be read:")
    for number, record in enumerate(found.records, start=1):
        print_record(number, record)
    if found.records:
        typer.echo("")


def _line(name: str, example: str, field: str, reason: str, width: int) -> str:
    text = f"  {name:<{width}}  {example:<{_EXAMPLE}}  {field:<12}  {reason}".rstrip()
    return text if len(text) <= WIDTH + 20 else f"{text[: WIDTH + 17]}..."


def _example(found: Inspection, name: str) -> str:
    values = found.samples.get(name, [])
    short = [json.dumps(value, ensure_ascii=False)[1:-1] for value in values]
    text = " | ".join(short) if sum(map(len, short)) < _EXAMPLE - 6 else (short[0] if short else "(empty)")
    return text if len(text) <= _EXAMPLE else f"{text[: _EXAMPLE - 3]}..."
