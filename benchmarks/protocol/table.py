"""The table of vetters and judges on some items: every entry checked, measured and ranked with ties."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from metajudge.errors import InputError
from metajudge.report import Absent, Cell, Column, Measured, Report, Section, Table
from metajudge.report.text import table_to_text
from metajudge.stats.influence import Influence, mean
from metajudge.types.frozen import Finite

from ..findings import Proportion
from ..observations import IN_WORDS, Observation
from .items import Asked
from .ranking import LEVEL, Ranked, ranked
from .scores import Checked, check_entry
from .standing import MOST_LOSS, Standing, Values, standing_of

By = Literal["auc", "log_loss", "brier"]


class Scored(Finite):
    """One entry with its place."""

    standing: Standing
    place: Ranked | None


class ProtocolTable(Finite):
    """Everything of a table.

    Attributes:
        by: what entries are ranked by; those without that figure have no place.
        left_out: reason -> judgments that were asked for and are neither right nor wrong.
        refused: file -> what is wrong with it.
        judges: the judges by their share of right verdicts.
    """

    version: Literal[1] = 1
    by: By
    n: int
    questions: int
    raw: Proportion
    left_out: dict[str, int]
    entries: tuple[Scored, ...]
    judges: tuple[Ranked, ...]
    refused: dict[str, tuple[str, ...]]


def score_file(asked: Asked, path: Path) -> tuple[Checked, Standing | None]:
    """Checks one file and, where labels are known and it holds, measures it."""
    checked = check_entry(path, asked.asked, asked.known)
    if checked.entry is None or asked.observations is None:
        return checked, None
    if not asked.rows:
        raise InputError("no judgment of these items is right or wrong by its label: nothing can be measured")
    return checked, standing_of(checked.entry, asked.rows)


def make_table(asked: Asked, folder: Path, by: By = "auc") -> ProtocolTable:
    """Measures every file of scores in a folder.

    Raises:
        InputError: no such folder, no file in it, or two files by the same vetter of the same version.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of entries")
    paths = sorted(path for path in folder.glob("*.jsonl") if path.is_file())
    if not paths:
        raise InputError(f"{folder}: no files of scores (*.jsonl) here")
    rows = asked.rows
    if not rows:
        raise InputError("no judgment of these items is right or wrong by its label: nothing can be measured")
    refused: dict[str, tuple[str, ...]] = {}
    standings: dict[str, Standing] = {}
    figures: dict[str, Influence] = {}
    files: dict[str, Path] = {}
    for path in paths:
        checked = check_entry(path, asked.asked, asked.known)
        if checked.entry is None:
            refused[path.name] = tuple(checked.lines())
            continue
        title = checked.entry.title
        if title in files:
            raise InputError(
                f"{files[title].name} and {path.name} are both by {title}: give one of them another version"
            )
        files[title] = path
        standings[title] = standing_of(checked.entry, rows)
        figure = _figure(Values.of(checked.entry, rows), by)
        if figure is not None:
            figures[title] = figure
    highest = MOST_LOSS if by == "log_loss" else 1.0
    ordering = ranked(figures, best="highest" if by == "auc" else "lowest", highest=highest)
    places = {one.name: one for one in ordering}
    ordered = [*places, *sorted(standings.keys() - places.keys())]
    return ProtocolTable(
        by=by,
        n=len(rows),
        questions=len({row.question for row in rows}),
        raw=Proportion.of([row.correct for row in rows], [row.question for row in rows]),
        left_out=asked.left_out or {},
        entries=tuple(Scored(standing=standings[name], place=places.get(name)) for name in ordered),
        judges=tuple(ranked(_judges(rows))),
        refused=refused,
    )


def _figure(values: Values, by: By) -> Influence | None:
    try:
        if by == "auc":
            return values.area()
        if by == "log_loss":
            return values.log_loss()
        return values.brier()
    except InputError:
        return None


def _judges(rows: Sequence[Observation]) -> dict[str, Influence]:
    found = {}
    for judge in dict.fromkeys(row.judge for row in rows):
        mine = [row for row in rows if row.judge == judge]
        found[judge] = mean([float(row.correct) for row in mine], [row.question for row in mine])
    return found


def standing_lines(found: Standing) -> Iterator[str]:
    """One entry for the terminal."""
    yield f"{found.vetter} {found.version}: {found.n:,} judgments of {found.questions:,} questions"
    raw = found.raw
    yield f"  right without vetting   {_percent(Measured(value=raw.share, low=raw.low, high=raw.high))}"
    for title, value, kind in (
        ("log loss", found.log_loss, "number"),
        ("Brier score", found.brier, "number"),
        ("area under the curve", found.auc, "number"),
        ("right of best 60 %", found.precision_60, "percent"),
        ("right of best 40 %", found.precision_40, "percent"),
        ("share kept at 90 %", found.coverage_90, "percent"),
    ):
        shown = value.absent if isinstance(value, Absent) else _percent(value) if kind == "percent" else _number(value)
        yield f"  {title:<23} {shown}"
    kept = found.kept
    said = kept.absent if isinstance(kept, Absent) else f"{kept.n:,} kept, right {_percent(_of(kept))}"
    yield f"  {'its own decisions':<23} {said}"
    if found.abstained:
        yield f"  {found.abstained:,} judgments without a value rank below all others."
    yield "  In brackets 95 % intervals by question."


def standing_report(found: Standing, source: str) -> Report:
    """One entry as a page."""
    one = ProtocolTable(
        by="auc",
        n=found.n,
        questions=found.questions,
        raw=found.raw,
        left_out={},
        entries=(Scored(standing=found, place=None),),
        judges=(),
        refused={},
    )
    return Report(
        title=f"{found.vetter} {found.version}",
        sections=(Section(title="Figures", blocks=(entry_table(one),)),),
        provenance={"items": source},
    )


def _percent(one: Measured) -> str:
    return f"{100 * one.value:.1f} % ({100 * one.low:.1f} to {100 * one.high:.1f})"


def _number(one: Measured) -> str:
    return f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})"


def _of(one: Proportion) -> Measured:
    return Measured(value=one.share, low=one.low, high=one.high)


def table_lines(found: ProtocolTable) -> Iterator[str]:
    """The table for the terminal."""
    yield table_to_text(entry_table(found))
    if found.judges:
        yield table_to_text(judge_table(found))
    yield from left_out_lines(found.left_out)
    for name, problems in found.refused.items():
        yield f"{name} is not in the table:"
        yield from (f"  {line}" for line in problems)


def left_out_lines(left_out: Mapping[str, int]) -> Iterator[str]:
    """Judgments that were asked for and are not measured."""
    for why, count in left_out.items():
        yield f"Note: {count:,} judgments are neither right nor wrong ({IN_WORDS.get(why, why)}): not measured."


def entry_table(found: ProtocolTable) -> Table:
    """Entries by their rank."""
    unranked = Absent(absent=f"without {found.by.replace('_', ' ')}")
    rows: list[tuple[Cell, ...]] = []
    for one in found.entries:
        own = one.standing
        rows.append(
            (
                own.vetter,
                own.version,
                unranked if one.place is None else one.place.shown,
                own.log_loss,
                own.brier,
                own.auc,
                own.precision_60,
                own.precision_40,
                own.coverage_90,
                own.abstained,
            )
        )
    return Table(
        caption=f"Vetters on {found.n:,} judgments of {found.questions:,} questions, {_percent(_of(found.raw))} right",
        columns=(
            Column(title="vetter"),
            Column(title="version"),
            Column(title="rank"),
            Column(title="log loss", kind="number"),
            Column(title="Brier", kind="number"),
            Column(title="area", kind="number"),
            Column(title="right of best 60 %", kind="percent"),
            Column(title="right of best 40 %", kind="percent"),
            Column(title="kept at 90 %", kind="percent"),
            Column(title="without a value", kind="count"),
        ),
        rows=tuple(rows),
        notes=(
            f"Ranked by {found.by.replace('_', ' ')}; a range of ranks is a tie: pairwise differences by question, "
            f"wrong orders in at most {100 * LEVEL:g} % of such tables.",
        ),
    )


def judge_table(found: ProtocolTable) -> Table:
    """Judges by their share of right verdicts."""
    return Table(
        caption="Judges by their share of right verdicts",
        columns=(Column(title="judge"), Column(title="rank"), Column(title="right", kind="percent")),
        rows=tuple((one.name, one.shown, one.figure) for one in found.judges),
        notes=("A range of ranks is a tie, as above.",),
    )


def table_report(found: ProtocolTable, source: str) -> Report:
    """The table as a page."""
    notes = list(left_out_lines(found.left_out))
    notes += [f"{name} is not in the table: {' '.join(problems)}" for name, problems in found.refused.items()]
    judges = (Section(title="Judges", blocks=(judge_table(found),)),) if found.judges else ()
    return Report(
        title="Vetters and judges",
        summary=tuple(notes),
        sections=(Section(title="Vetters", blocks=(entry_table(found),)), *judges),
        provenance={"items": source},
    )
