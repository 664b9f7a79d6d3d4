"""``metajudge calibrate plan``: which questions to label for a promise, drawn at random where labels count."""

from pathlib import Path
from typing import Annotated

import typer

from metajudge.calibration.advice import Advice
from metajudge.calibration.calibration import Calibration
from metajudge.calibration.files import locked, save_calibration
from metajudge.calibration.folds import ENOUGH_TO_SPLIT
from metajudge.calibration.looks import Ledger, Looks, Plan
from metajudge.calibration.procedures import check_promise
from metajudge.cli.calibrate_threshold import (
    AgentScoresOption,
    JudgeOption,
    KindOption,
    anytime_of,
    covered_judges,
    fitted_table,
    labelled_records,
    now,
    own_fit,
)
from metajudge.cli.inputs import AS_THEY_ARE, UNLABELLED, Labelling, Reading, reads_judgments, takes_labels
from metajudge.cli.options import ResamplingSeedOption, echo_lines
from metajudge.errors import InputError
from metajudge.files.command_line import command
from metajudge.files.output import check_apart, check_writable, write_text
from metajudge.reading import JudgmentSource
from metajudge.report.audit.published import SHEET, flags, sheet
from metajudge.types import Item, Judgment
from metajudge.vetting.drawing import Frame, plans_of
from metajudge.vetting.labelled import LabelledRecords
from metajudge.vetting.looking import LookRequest, ReferenceScores, current_of

TRIED = (25, 50, 100, 200, 400)
"""Numbers of questions of which the chance to pass is estimated."""


@takes_labels
@reads_judgments
def plan(
    data: Annotated[list[Path], typer.Argument(help="Judgments: files or folders that `vet` reads.", metavar="FILE")],
    target: Annotated[float, typer.Option("--for", help="Precision to promise, such as .9.", metavar="TARGET")],
    calibration: Annotated[
        Path | None, typer.Option(help="Draw where its probabilities make labels count.", metavar="FILE")
    ] = None,
    delta: Annotated[float, typer.Option(help="Probability that the promise may fail.")] = 0.1,
    number: Annotated[
        int | None, typer.Option("--questions", help="How many to draw. Default: by the estimate.", min=1)
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the table to fill in.", metavar="FILE")] = Path(SHEET),
    kind: KindOption = None,
    judge: JudgeOption = None,
    agent_scores: AgentScoresOption = None,
    seed: ResamplingSeedOption = 0,
    labelling: Labelling = UNLABELLED,
    reading: Reading = AS_THEY_ARE,
) -> None:
    """Draw the questions to label for a promise, and write them as a table to fill in.

    With a calibration the draw is even among the questions above a floor on its probabilities, which is fixed without
    labels and recorded in its ledger; a threshold is then sought only above it. Without one it is even among all
    questions, for a fit and a threshold. A larger draw of the same seed begins with a smaller one.
    """
    check_promise(target, delta)
    check_apart([*data, *(labelling.labels or ())], [out])
    check_writable(out)
    if out.exists():
        raise InputError(f"{out} is there, and may have labels by now: name another file with --out")
    records = labelled_records(data, reading, agent_scores, labelling)
    if calibration is None:
        fitted, table = None, records.table(None, judge, kind=kind, right=labelling.rule)
    else:
        fitted = own_fit(calibration)
        table = fitted_table(fitted, records, reading, judge)
    judges = () if fitted is None else covered_judges(fitted, table.judges, judge)
    frame = Frame.of(fitted, table, target=target, judges=judges, seed=seed)
    advice = None if fitted is None else _advice(fitted, frame, judges, target, delta)
    wanted = ENOUGH_TO_SPLIT if advice is None else advice.recommended or TRIED[-1]
    taken = min(number or wanted, len(frame.ordered))
    if calibration is not None and fitted is not None:
        _record(calibration, fitted, frame, judges, target, taken)
    items = frame.items(taken)
    write_text(out, sheet(_items(records, items), frame.drawn(taken)))
    echo_lines(
        [
            f"Drawn: {taken} of {len(frame.ordered)} questions ({len(items)} items), seed {frame.seed}"
            + ("." if frame.floor is None else f", with a judgment of probability {frame.floor:.4g} or more."),
            *([f"Below this floor lie {frame.below} questions; no threshold is sought there."] if frame.below else []),
            *([] if advice is None else advice.lines()),
            f"Written: {out}. Fill in the column `label` from the top: rows that are left out for what they are break "
            "the promise.",
            *_next(data, calibration, judge, target, out, fitted is not None),
        ]
    )


def _advice(fitted: Calibration, frame: Frame, judges: tuple[str, ...], target: float, delta: float) -> Advice | None:
    level = Looks(fitted.looks).next_share(judges) * delta
    if not level:
        return None
    scores, questions = tuple(frame.probabilities.tolist()), frame.table.questions
    request = LookRequest(
        target=target,
        delta=delta,
        judges=judges,
        anytime=anytime_of(fitted, None),
        reference=ReferenceScores(scores, questions),
    )
    return request.chances(level, frame.floor, frame.probabilities, None, questions, TRIED)


def _record(path: Path, fitted: Calibration, frame: Frame, judges: tuple[str, ...], target: float, taken: int) -> None:
    """Enters the draw in the ledger."""
    with locked(path):
        current = current_of(path, fitted)
        if (plans := plans_of(current, judges)) and (plans[0].floor, plans[0].seed) != (frame.floor, frame.seed):
            raise InputError(f"{path} got another plan while the judgments were read: run the same command again")
        made = Plan(
            fit=fitted.fit_digest,
            judges=judges,
            target=target,
            floor=frame.floor,
            seed=frame.seed,
            questions=taken,
            among=len(frame.ordered),
            time=now(),
        )
        ledger = current.looks or Ledger()
        ledger = ledger.model_copy(update={"plans": (*ledger.plans, made)})
        save_calibration(current.model_copy(update={"looks": ledger}), path)


def _items(records: LabelledRecords, wanted: list[str]) -> list[Item]:
    """The items of these ids, in their order; the records are read again for their texts."""
    found = dict[str, Item]()
    names = set(wanted)
    for one in records.records.all() if isinstance(records.records, JudgmentSource) else records.records:
        if isinstance(one, Judgment) and one.item.id in names:
            found.setdefault(one.item.id, one.item)
    return [found[name] for name in wanted]


def _next(
    data: list[Path], calibration: Path | None, judge: list[str] | None, target: float, out: Path, fitted: bool
) -> list[str]:
    about: tuple[str, ...] = (*flags("--data", [*map(str, data)]), "--labels", str(out), *flags("--judge", judge))
    file = str(calibration or "calibration.json")
    fit = [] if fitted else [f"Next: {command('calibrate', 'fit', about, '--out', file)}"]
    threshold = command("calibrate", "threshold", "--calibration", file, about, "--target", f"{target:g}")
    return [*fit, f"{'Next' if fitted else 'Then'}: {threshold}"]
