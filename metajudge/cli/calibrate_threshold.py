"""``metajudge calibrate threshold``: a promise about what a calibration keeps, as one look at labels."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from metajudge.calibration.advice import Advice
from metajudge.calibration.calibration import Calibration
from metajudge.calibration.files import load_calibration
from metajudge.calibration.guarantee import Abstention
from metajudge.calibration.looks import Schedule, ScheduleName
from metajudge.calibration.procedures import check_promise
from metajudge.calibration.table import SignalTable
from metajudge.cli.inputs import AS_THEY_ARE, UNLABELLED, Labelling, Reading, reads_judgments, takes_labels
from metajudge.cli.options import JsonOption, OtherCalibrationOption, tell
from metajudge.errors import InputError
from metajudge.files.command_line import command
from metajudge.files.output import check_apart, check_writable
from metajudge.report.audit.published import flags
from metajudge.runs.exit_codes import ExitCode
from metajudge.types import Judgment, Right, VerdictKind
from metajudge.vetting.labelled import LabelledRecords, threshold_rows
from metajudge.vetting.looking import LookRequest, LookResult, ReferenceScores, advice_after, look

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
    labels_drawn: Annotated[
        Literal["random"] | None,
        typer.Option(
            help="`random`: treat labels that do not record how their rows were chosen as a random draw; the promise "
            "states this assumption."
        ),
    ] = None,
    kind: KindOption = None,
    judge: JudgeOption = None,
    agent_scores: AgentScoresOption = None,
    questions: Annotated[
        Literal["new", "all"] | None,
        typer.Option(
            help="`new`: only questions not used in the fit; `all`: approximate. Default: new if there are any."
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
            "(over --looks) or `anytime` (bets, read after any label; the target alone)."
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

    Only labels of questions drawn at random carry a promise (`calibrate plan` draws them). Where the target is not
    reached, the highest lower one that is, is promised. With --judge the guarantee is for these judges' judgments
    together, else for all. Every look at labels spends a part of delta: the calibration file records it. The same look
    again spends nothing. Exit code 1: nothing can be promised; only the look is stored.
    """
    check_promise(target, delta)
    check_files(data, agent_scores, out or calibration)
    fitted = own_fit(calibration)
    _check_same(fitted, kind, labelling.rule)
    table = fitted_table(fitted, labelled_records(data, reading, agent_scores, labelling), reading, judge)
    only_new = None if questions is None else questions == "new"
    judges = covered_judges(fitted, table.select(table.labelled).judges, judge)
    rows = threshold_rows(
        fitted, table, only_new=only_new, allow_other=allow_other, stated_random=labels_drawn is not None, judges=judges
    )
    for note in rows.notes:
        typer.echo(note, err=True)
    anytime = anytime_of(fitted, schedule)
    request = LookRequest(
        target=target,
        delta=delta,
        judges=judges,
        anytime=anytime,
        most_per_question=most,
        reference=ReferenceScores.of_fit(fitted, judges)
        if anytime  # its thresholds stay the same while labels are added
        else ReferenceScores.of_file(fitted, judges, table, rows, allow_other),
        schedule=Schedule(name=schedule or "even", looks=planned_looks) if schedule or planned_looks else None,
        accept_changes=accept_changes,
        time=now(),
    )
    result = look(calibration, fitted, rows, request, out=out)
    advice = advice_after(result, rows, request)
    new = {*table.by(fitted.unit).select(~table.labelled).questions} - fitted.provenance.questions.keys()
    shown = _Shown(fitted, result, advice, target)
    lines = [*shown.lines(), *([f"Written: {out or calibration}"] if result.passed else [])]
    if advice is not None and new:
        number = str(advice.questions + (advice.recommended or advice.chances[-1].further))
        told = (
            *("calibrate", "plan", map(str, data), "--for", f"{target:g}", "--calibration", str(calibration)),
            *flags("--judge", judge),
            *flags("--labels", [*map(str, labelling.labels or ())]),
            *("--questions", number, "--out", "more-to-label.csv"),
        )
        lines.append(f"Next: {command(*told)}")
    tell(as_json, shown.plain(), lines)
    if not result.passed:
        raise typer.Exit(ExitCode.INCOMPLETE)


def now() -> str:
    """The time as looks and plans record it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def own_fit(calibration: Path) -> Calibration:
    """The calibration of a file, for a promise.

    Raises:
        InputError: it is the shipped default.
    """
    fitted = load_calibration(calibration)
    if fitted.is_shipped:
        raise InputError(
            "--calibration shipped: no guarantee is made from transferred probabilities; fit a calibration to labels "
            "of your own with `metajudge calibrate fit --prior shipped`, and find a threshold for that"
        )
    return fitted


def fitted_table(
    fitted: Calibration, records: LabelledRecords, reading: Reading, judge: list[str] | None
) -> SignalTable:
    """The rows of a calibration's judges, or of those asked for."""
    fitted.check_unit(reading.unit)
    known = fitted.identity.judges
    return records.table(fitted.identity.signals, judge, known=known, kind=fitted.kind, right=fitted.right)


def covered_judges(fitted: Calibration, there: Iterable[str], judge: list[str] | None) -> tuple[str, ...]:
    """The judges asked for, else those there are; none if these are all judges of the calibration."""
    return tuple(sorted(judge or (() if {*there} >= {*fitted.identity.judges} else {*there})))


def anytime_of(fitted: Calibration, schedule: ScheduleName | None) -> bool:
    """Whether looks are read at any time: as declared at the first look, else by the schedule given."""
    declared = None if fitted.looks is None or not fitted.looks.entries else fitted.looks.schedule.name
    return (declared or schedule) == "anytime"


@dataclass(frozen=True, slots=True)
class _Shown:
    """A look as it is printed, with what further labels can do for the target."""

    fitted: Calibration
    result: LookResult
    advice: Advice | None
    target: float

    def lines(self) -> Iterator[str]:
        yield from self.result.lines()
        yield self._meaning
        if self.result.passed:
            yield right_line(self.fitted.kind, self.fitted.identity.right)
        if self.advice is not None:
            yield from self.advice.lines()
        elif not self.result.left:
            yield NO_LOOK_LEFT

    def plain(self) -> dict[str, object]:
        """The same as plain data."""
        return {
            "look": self.result.mine.model_dump(mode="json", exclude={"result"}),
            "repeated": self.result.repeated,
            "results": {"": {**self.result.found.model_dump(mode="json"), "sentence": self._meaning}},
            "advice": None if self.advice is None else self.advice.model_dump(mode="json"),
        }

    @property
    def _meaning(self) -> str:
        found = self.result.found
        if isinstance(found, Abstention):
            return found.meaning()
        short = f"{100 * self.target:g} % is not reached. " if found.target < self.target else ""
        return short + found.meaning(self.fitted.identity.judges)


def _check_same(fitted: Calibration, kind: VerdictKind | None, right: Right | None) -> None:
    """A threshold is for the verdicts and the rule of the fit; another one needs another fit."""
    for flag, given, known in (("--kind", kind, fitted.kind), ("--right", right, fitted.right)):
        if given is not None and given != known:
            raise InputError(
                f"{flag} {given}: this calibration was fitted with {flag} {known}; leave the option out, or fit "
                "another calibration with `metajudge calibrate fit`"
            )
