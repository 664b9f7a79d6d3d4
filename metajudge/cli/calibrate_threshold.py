"""``metajudge calibrate threshold``: a promise about what a calibration keeps, as one look at labels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from metajudge.calibration.advice import Advice
from metajudge.calibration.calibration import Calibration
from metajudge.calibration.files import load_calibration
from metajudge.calibration.guarantee import Abstention, Guarantee
from metajudge.calibration.looks import Schedule, ScheduleName
from metajudge.calibration.procedures import ProcedureName, check_procedure, check_promise
from metajudge.cli.inputs import AS_THEY_ARE, UNLABELLED, Labelling, Reading, reads_judgments, takes_labels
from metajudge.cli.options import JsonOption, OtherCalibrationOption, tell
from metajudge.errors import InputError
from metajudge.files.output import check_apart, check_writable
from metajudge.runs.exit_codes import ExitCode
from metajudge.types import Judgment, Right, VerdictKind
from metajudge.vetting.labelled import LabelledRecords, threshold_rows
from metajudge.vetting.looking import GroupedBy, LookRequest, LookResult, ReferenceScores, advice_after, look

NO_LOOK_LEFT = "No look is left in the ledger: nothing more can be promised about these judges by this schedule."
DataOption = Annotated[
    list[Path], typer.Option(help="Labelled judgments: a file or folder that `vet` reads. Repeatable.", metavar="DIR")
]
JudgeOption = Annotated[list[str] | None, typer.Option(help="Only this judge. Repeatable.", metavar="NAME")]
AgentScoresOption = Annotated[
    Path | None, typer.Option(help="Assessments with agents' scores (`vet --out`).", metavar="FILE")
]
KindOption = Annotated[
    VerdictKind | None,
    typer.Option(help="Only verdicts of this kind; needed where the data have several.", show_choices=True),
]


def right_line(kind: str, rule: str) -> str:
    """What was vetted, and what counts as right."""
    return f"Verdicts: {kind}; right by the rule {rule}"


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


@takes_labels
@reads_judgments
def threshold(
    calibration: Annotated[Path, typer.Option(help="A calibration file.", metavar="FILE")],
    data: DataOption,
    target: Annotated[float, typer.Option(help="Precision to guarantee, such as .9.")],
    delta: Annotated[float, typer.Option(help="Probability that the guarantee may fail.")] = 0.1,
    or_lower: Annotated[
        bool,
        typer.Option(
            "--or-lower",
            help="What can be promised from these labels? One look over targets from .5 up to --target; the highest "
            "that passes is stored.",
        ),
    ] = False,
    kind: KindOption = None,
    judge: JudgeOption = None,
    agent_scores: AgentScoresOption = None,
    questions: Annotated[
        Literal["new", "all"] | None,
        typer.Option(
            help="`new`: only questions not used in the fit; `all`: approximate. Default: new if there are any."
        ),
    ] = None,
    procedure: Annotated[
        str | None,
        typer.Option(
            help="How thresholds are tested: `ranks`, by an exact test, or `e_process`, by bets that may be read after "
            "any label. Default: ranks; e_process with --schedule anytime.",
            metavar="NAME",
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(
            "--most-per-question",
            help="Judgments of one question the promise is to cover at most. Default: the most there are.",
            min=1,
        ),
    ] = None,
    allow_other: OtherCalibrationOption = False,
    schedule: Annotated[
        ScheduleName | None,
        typer.Option(
            help="How delta is divided over looks, declared at the first one: `declining` (3/4 for the first), `even` "
            "(over --looks) or `anytime` (an e-process, read after any label)."
        ),
    ] = None,
    planned_looks: Annotated[
        int | None, typer.Option("--looks", help="With --schedule even: how many looks there may be.", min=1)
    ] = None,
    accept_changes: Annotated[
        bool,
        typer.Option(
            "--accept-changed-labels",
            help="Allow a look in which earlier questions are missing or have other labels; it is recorded as such.",
        ),
    ] = False,
    by: Annotated[
        GroupedBy | None,
        typer.Option(
            help="A promise for each judge or each category, all of them together at delta (Holm). Default: one for "
            "all together."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the threshold here; the look is recorded in the calibration all the same.", metavar="FILE"
        ),
    ] = None,
    as_json: JsonOption = False,
    labelling: Labelling = UNLABELLED,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Find the least selective threshold whose precision is guaranteed, and store it in the calibration.

    With --judge the guarantee is for these judges' judgments together, else for all. Every look at labels spends a part
    of delta: the calibration file records it, and later looks, such as after adding labels, get what is left by the
    declared schedule. The same look again spends nothing. Exit code 1: no threshold passes; only the look is stored.
    """
    check_promise(target, delta)
    check_files(data, agent_scores, out or calibration)
    procedure = check_procedure(procedure)
    fitted = load_calibration(calibration)
    if fitted.is_shipped:
        raise InputError(
            "--calibration shipped: no guarantee is made from transferred probabilities; fit a calibration to labels "
            "of your own with `metajudge calibrate fit --prior shipped`, and find a threshold for that"
        )
    _check_same(fitted, kind, labelling.rule)
    fitted.check_unit(reading.unit)
    table = labelled_records(data, reading, agent_scores, labelling).table(
        fitted.identity.signals, judge, known=fitted.identity.judges, kind=fitted.kind, right=fitted.right
    )
    only_new = None if questions is None else questions == "new"
    rows = threshold_rows(fitted, table, only_new=only_new, allow_other=allow_other)
    for note in rows.notes:
        typer.echo(note, err=True)
    labelled = set(rows.table.judges)
    # The guarantee covers the judges with labels; empty if these are all judges.
    judges = sorted(judge or (() if labelled >= set(fitted.identity.judges) else labelled))
    chosen = _procedure(procedure, schedule, fitted)
    request = LookRequest(
        target=target,
        delta=delta,
        or_lower=or_lower,
        judges=tuple(judges),
        by=by,
        procedure=chosen,
        most_per_question=most,
        reference=ReferenceScores.of_fit(fitted, judges)
        if chosen == "e_process"  # its thresholds stay the same while labels are added
        else ReferenceScores.of_file(fitted, judges, table, rows, allow_other),
        schedule=Schedule(name=schedule or "even", looks=planned_looks) if schedule or planned_looks else None,
        accept_changes=accept_changes,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    result = look(calibration, fitted, rows, request, out=out)
    advised = not result.passed and by is None
    shown = _Shown(fitted, result, advice_after(result, rows, request) if advised else None, advised)
    tell(as_json, shown.plain(), [*shown.lines(), *([f"Written: {out or calibration}"] if result.passed else [])])
    if not result.passed:
        raise typer.Exit(ExitCode.INCOMPLETE)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A look as it is printed; ``advised`` says whether advice was sought."""

    fitted: Calibration
    result: LookResult
    advice: Advice | None
    advised: bool

    def lines(self) -> Iterator[str]:
        yield from self.result.lines()
        for name, one in self.result.found.items():
            yield (f"{name}: " if name else "") + self._meaning(one)
        if self.result.passed:
            yield right_line(self.fitted.kind, self.fitted.identity.right)
        if self.advised:
            yield from [NO_LOOK_LEFT] if self.advice is None else self.advice.lines()

    def plain(self) -> dict[str, object]:
        """The same as plain data."""
        found = {
            name: {**one.model_dump(mode="json"), "sentence": self._meaning(one)}
            for name, one in self.result.found.items()
        }
        return {
            "look": self.result.mine.model_dump(mode="json", exclude={"result"}),
            "repeated": self.result.repeated,
            "results": found,
            "advice": None if self.advice is None else self.advice.model_dump(mode="json"),
        }

    def _meaning(self, one: Guarantee | Abstention) -> str:
        if isinstance(one, Abstention):
            return one.meaning()
        together = f" This holds for all {one.among} promises together." if one.among > 1 else ""
        return one.meaning(self.fitted.identity.judges) + together


def _procedure(given: ProcedureName | None, schedule: ScheduleName | None, fitted: Calibration) -> ProcedureName | None:
    if given is not None:
        return given
    declared = fitted.looks.schedule.name if fitted.looks is not None else schedule
    return "e_process" if declared == "anytime" else None


def _check_same(fitted: Calibration, kind: VerdictKind | None, right: Right | None) -> None:
    """A threshold is for the verdicts and the rule of the fit; another one needs another fit."""
    for flag, given, known in (("--kind", kind, fitted.kind), ("--right", right, fitted.right)):
        if given is not None and given != known:
            raise InputError(
                f"{flag} {given}: this calibration was fitted with {flag} {known}; leave the option out, or fit "
                "another calibration with `metajudge calibrate fit`"
            )
