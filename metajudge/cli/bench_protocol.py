"""``metajudge bench withhold``, ``score``, ``entries`` and ``table``: the open protocol for vetters."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.cli.inputs import Labelling, Reading, reads_judgments, takes_labels
from metajudge.cli.options import takes
from metajudge.cli.outputs import Outputs, say_written
from metajudge.errors import ConfigurationError
from metajudge.runs.exit_codes import ExitCode
from metajudge.types import parse_right

ItemsOption = Annotated[
    Path,
    typer.Option(
        "--items", help="What is scored: labelled judgments, or a folder of `bench withhold`.", metavar="PATH"
    ),
]
LabelsOption = Annotated[
    Path | None, typer.Option("--labels", help="The labels that `bench withhold` kept.", metavar="FILE")
]
RightOption = Annotated[
    str | None, typer.Option("--right", help="What counts as right, as for `bench`.", metavar="RULE")
]


@takes_labels
@reads_judgments
def withhold(
    files: Annotated[list[str], typer.Argument(help="Labelled judgments, in any format that `vet` reads.")],
    out: Annotated[Path, typer.Option("--out", help="Folder to publish: judgments and commitments.", metavar="DIR")],
    keep: Annotated[Path, typer.Option("--keep", help="File for the labels, to be revealed later.", metavar="FILE")],
    *,
    reading: Reading,
    labelling: Labelling,
) -> None:
    """Publish judgments without their labels, with a commitment to each label."""
    withholding: Any = import_module("metajudge.benchmarks.protocol.withholding")
    source = reading.open(files, labelling=labelling)
    card = withholding.withhold(source.all(), out, keep)
    typer.echo(f"{card.judgments:,} judgments of {card.items:,} items; {card.labelled:,} labels are committed to.")
    if source.rejects:
        typer.echo(f"Note: {source.rejects:,} lines cannot be read and are left out.")
    typer.echo(f"Publish {out}. Keep {keep} to yourself until labels are revealed: it cannot be made again.")


@takes("outputs", Outputs)
def score(
    file: Annotated[
        Path, typer.Argument(help="One vetter's scores (`metajudge schema vetter_score`).", metavar="FILE")
    ],
    items: ItemsOption,
    labels: LabelsOption = None,
    right: RightOption = None,
    *,
    outputs: Outputs,
) -> None:
    """Check a file of scores, and measure it where labels are known.

    Exit code 1 where the file does not hold; nothing of such a file is measured.
    """
    outputs.check()
    tables: Any = import_module("metajudge.benchmarks.protocol.table")
    asked = _asked(items, labels, right)
    checked, standing = tables.score_file(asked, file)
    for line in checked.lines():
        typer.echo(line)
    if checked.entry is None:
        raise typer.Exit(ExitCode.INCOMPLETE)
    entry = checked.entry
    typer.echo(f"{file} holds: {len(entry.scores):,} judgments scored by {entry.title}.")
    if entry.beside:
        typer.echo(f"Note: {entry.beside:,} lines are on judgments that are not asked for (no verdict or no label).")
    if standing is None:
        typer.echo("The labels are withheld: --labels FILE measures it.")
        return
    for line in (*tables.standing_lines(standing), *tables.left_out_lines(asked.left_out or {})):
        typer.echo(line)
    outputs.write(
        lambda: standing.model_dump_json(indent=1) + "\n", lambda: tables.standing_report(standing, str(items))
    )


def entries(
    items: ItemsOption,
    out: Annotated[Path, typer.Option("--out", help="Folder for the files of scores.", metavar="DIR")],
    labels: LabelsOption = None,
    right: RightOption = None,
) -> None:
    """Write our own entries and the baselines as files of scores."""
    asked = _asked(items, labels, right)
    if asked.bench is None:
        raise ConfigurationError("the labels of these items are withheld: give --labels FILE")
    written, missing = import_module("metajudge.benchmarks.protocol.entries").write_entries(asked, out)
    say_written(*written)
    for line in missing:
        typer.echo(f"Note: not written: {line}.")


@takes("outputs", Outputs)
def table(
    folder: Annotated[Path, typer.Argument(help="Folder of files of scores (*.jsonl).", metavar="FOLDER")],
    items: ItemsOption,
    labels: LabelsOption = None,
    right: RightOption = None,
    by: Annotated[str, typer.Option(help="Rank by auc, log_loss or brier.")] = "auc",
    *,
    outputs: Outputs,
) -> None:
    """Measure every file of scores in a folder, and rank vetters and judges; ties are shown as ties.

    Exit code 1 where a file does not hold: it is named with its faults and is not in the table.
    """
    outputs.check()
    if by not in ("auc", "log_loss", "brier"):
        raise typer.BadParameter(f"{by!r} is none of auc, log_loss, brier", param_hint="--by")
    tables: Any = import_module("metajudge.benchmarks.protocol.table")
    found = tables.make_table(_asked(items, labels, right), folder, by)
    for line in tables.table_lines(found):
        typer.echo(line)
    outputs.write(lambda: found.model_dump_json(indent=1) + "\n", lambda: tables.table_report(found, items.name))
    if found.refused:
        raise typer.Exit(ExitCode.INCOMPLETE)


def _asked(items: Path, labels: Path | None, right: str | None) -> Any:
    try:
        rule = None if right is None else parse_right(right)
    except ValueError as error:
        raise ConfigurationError(f"--right {error}") from None
    return import_module("metajudge.benchmarks.protocol.items").open_asked(items, labels, rule=rule)
