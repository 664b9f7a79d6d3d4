"""What the commands of ``metajudge calibrate`` read: their common options and the labelled judgments."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from metajudge.cli.inputs import UNLABELLED, Labelling, Reading
from metajudge.files.output import check_apart, check_writable
from metajudge.types import Judgment, VerdictKind
from metajudge.vetting.labelled import LabelledRecords

DataOption = Annotated[
    list[Path],
    typer.Option("--data", help="Labelled judgments: a file or folder that `vet` reads. Repeatable.", metavar="DIR"),
]
JudgeOption = Annotated[list[str] | None, typer.Option("--judge", help="Only this judge. Repeatable.", metavar="NAME")]
AgentScoresOption = Annotated[
    Path | None,
    typer.Option("--agent-scores", help="Assessments with agents' scores (`vet --out`).", metavar="FILE"),
]
KindOption = Annotated[
    VerdictKind | None,
    typer.Option(help="Only verdicts of this kind; needed where the data have several.", show_choices=True),
]
FoldsOption = Annotated[int, typer.Option(help="Number of folds, by question.", min=2)]
CalibrationOption = Annotated[Path, typer.Option("--calibration", help="A calibration file.", metavar="FILE")]


def labelled_records(
    data: list[Path],
    reading: Reading,
    agent_scores: Path | None,
    labelling: Labelling = UNLABELLED,
    stored: Sequence[Judgment] = (),
) -> LabelledRecords:
    """The judgments to read; those of the store if no data are given."""
    source = reading.open([str(path) for path in data], labelling=labelling) if data else stored
    return LabelledRecords(source, data, agent_scores, lambda notice: typer.echo(f"metajudge: {notice}", err=True))


def check_files(data: list[Path], agent_scores: Path | None, out: Path | None) -> None:
    if out is not None:
        check_writable(out)
    check_apart([*data, *((agent_scores,) if agent_scores else ())], [out])
