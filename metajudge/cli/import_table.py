"""``metajudge import``: a conversation with a table, which ends with a mapping that is saved."""

import sys
from collections.abc import Collection
from dataclasses import dataclass
from typing import Annotated

import typer

from metajudge.cli.inputs import MapOption, MapValuesOption, OneJudgeOption, mapping_of
from metajudge.cli.inspect import print_record
from metajudge.cli.options import echo_lines
from metajudge.errors import InputError
from metajudge.files.command_line import command
from metajudge.reading.importing import Question, answered, changed, listed, questions_of
from metajudge.reading.inspection import Inspection, inspect_input
from metajudge.reading.mapping import FieldMap
from metajudge.reading.saved_maps import save_map
from metajudge.reading.seen import column_lines, top
from metajudge.runs.exit_codes import ExitCode


def print_look(found: Inspection) -> None:
    """Each column with an example, what it is read as, and why."""
    rows = found.judgments if found.rows is None else found.rows
    typer.echo(
        f"{found.name}: {found.format.removesuffix(', mapped')}, {rows or 0:,} rows, {len(found.columns)} columns"
    )
    mapping = found.mapping
    if mapping is None:
        return
    why = {one.field: f"{one.confidence}: {one.why}" for one in found.fields}
    echo_lines(["", *column_lines(found.columns, found.samples, mapping, why), ""])
    for field, text in mapping.constants.items() if any(mapping.constants.values()) else ():
        typer.echo(f"For all rows, {field} is {text}.")
    for value, meaning in mapping.values.items():
        typer.echo(f"The value {value!r} means {meaning}.")
    if found.verdicts and found.judgments is None:
        typer.echo(f"Values of the verdict: {top(found.verdicts)}")


def print_records(found: Inspection) -> None:
    """The first records as they will be read, how often each verdict occurs, and a mapping's problems."""
    if found.judgments is not None:
        echo_lines(["", f"That gives {found.judgments:,} judgments:", *found.told[:-1]])
    if found.records:
        typer.echo("\nThe first ones, as they will be read:")
    for number, record in enumerate(found.records, start=1):
        print_record(number, record)
    if found.records:
        typer.echo("")
    for problem in found.problems if found.mapping is not None else ():
        typer.echo(f"  {problem}")


RECORDS = 3


def import_table(
    file: Annotated[
        str, typer.Argument(help="A table: CSV, TSV, Excel, JSON, JSONL, Parquet, Arrow, or a dataset.", metavar="FILE")
    ],
    maps: MapOption = None,
    values: MapValuesOption = None,
    judge: OneJudgeOption = None,
    as_table: Annotated[
        bool, typer.Option("--as-table", help="Ask about the columns of a file of another tool's format, too.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask nothing: save the guesses, if nothing is left open.")
    ] = False,
) -> None:
    """Say how the columns of a table are read as judgments: guesses with reasons, questions, a preview; then save it.

    The mapping is saved in metajudge-inputs.toml, and `metajudge vet FILE` then needs no flags. In a script, give
    --yes and --map, --map-values or --judge for what the guesses leave open. No model is asked.
    """
    given = mapping_of(maps, values, judge)
    found = inspect_input(file, given, records=RECORDS, as_table=as_table)
    if found.mapping is None and given is None:
        _recognised(found)
        return
    print_look(found)
    if not yes and not sys.stdin.isatty():
        needed = "".join(f"\n  {one.text}\n    {one.flag}" for one in questions_of(found))
        rest = f" What is open:{needed}" if needed else ""
        raise InputError(
            "import asks on a terminal, and standard input is none: give --yes to save these guesses, and flags for "
            f"what they leave open.{rest}"
        )
    found = _settled(found) if yes else _talked(found)
    if found.mapping is None:
        raise InputError(f"{file}: no mapping")  # a table has one
    _saved(file, found)
    typer.echo(f"Next: {command('vet', file, '--report', 'vet.html')}")


def ask_about(file: str) -> None:
    """Asks what a table leaves open, and saves the answers."""
    found = inspect_input(file, None, records=RECORDS)
    print_look(found)
    _saved(file, _talked(found))


def _saved(file: str, found: Inspection) -> None:
    assert found.mapping is not None
    saved = save_map(file, found.mapping)
    typer.echo(
        f"Saved in {saved.name}: {found.judgments:,} judgments, {found.rejects or 0:,} rows that cannot be read."
    )


def _recognised(found: Inspection) -> None:
    typer.echo(f"{found.name}: {found.format}, {found.judgments or 0:,} judgments. It is read as it is.")
    print_records(found)
    none = found.verdicts.get("(none)", 0)
    if none > 0.5 * (found.judgments or 0):
        typer.echo(f"{none:,} have no verdict. If its columns mean something else: --as-table asks about them.")
    typer.echo(f"Next: {command('vet', found.name, '--report', 'vet.html')}")


def _settled(found: Inspection) -> Inspection:
    """The look at a table that leaves nothing open. Raises typer.Exit: something is open; each with its flag."""
    asked = questions_of(found)
    if [one for one in asked if one.kind != "turn"] or found.judgments is None:
        for one in asked:
            typer.echo(f"metajudge: {one.text} Give {one.flag}", err=True)
        for problem in found.problems if not asked else ():
            typer.echo(f"metajudge: {problem}", err=True)
        raise typer.Exit(ExitCode.USAGE)
    print_records(found)
    return found


@dataclass(frozen=True, slots=True)
class _Step:
    """Where a conversation stands: the last look, what is still to be asked, and what was answered since."""

    found: Inspection
    asked: list[Question]
    mapping: FieldMap
    dropped: frozenset[str] = frozenset()

    def answered(self, mapping: FieldMap, told: Collection[str] = ()) -> "_Step":
        """The next step. A column that is no longer used is not guessed to be anything again."""
        gone = {one for one in self.mapping.used_columns - mapping.used_columns if one in self.found.columns}
        dropped = (self.dropped | gone) - mapping.used_columns
        if len(self.asked) > 1 and dropped == self.dropped:
            return _Step(self.found, self.asked[1:], mapping, dropped)
        found = inspect_input(self.found.name, mapping, records=RECORDS, dropped=dropped)
        return _Step.at(found, dropped, told)

    @classmethod
    def at(cls, found: Inspection, dropped: frozenset[str] = frozenset(), told: Collection[str] = ()) -> "_Step":
        """The step that a look leads to; ``told`` has what is not asked again."""
        asked = [one for one in questions_of(found) if one.about not in told]
        return cls(found, asked, found.mapping or FieldMap(), dropped)


def _talked(found: Inspection) -> Inspection:
    """Asks what is open, shows what that gives, and takes changes until it is accepted; ``b`` goes back a step."""
    step, before, told = _Step.at(found), list[_Step](), set[str]()
    while True:
        question = step.asked[0] if step.asked else None
        if question is None:
            print_records(step.found)
            asked = "Enter saves this; FIELD=COLUMN or VALUE=MEANING changes it, FIELD= drops it; b goes back, q leaves"
            text = typer.prompt(asked, default="", show_default=False).strip()
        else:
            if question.choices:
                typer.echo(f"  By number: {listed(question)}; b goes back.")
            text = typer.prompt(question.text, default=question.default).strip()
        if text in ("q", "quit", "exit"):
            typer.echo("Nothing was saved.")
            raise typer.Exit(ExitCode.USAGE)
        if text == "b":
            step = before.pop() if before else step
            told.clear()
        elif question is None and not text and step.found.judgments:
            return step.found
        elif text:
            try:
                columns = step.found.columns
                mapping = (
                    answered(step.mapping, question, text, columns)
                    if question
                    else changed(step.mapping, text, columns)
                )
                told |= {question.about} if question is not None and question.kind == "turn" else set()
                step, before = step.answered(mapping, told), [*before, step]
            except InputError as error:
                typer.echo(f"  {error}")
