"""The recomputed study as a report: ours beside the paper's, every difference explained."""

from textwrap import shorten

from metajudge import __version__
from metajudge.report.document import Absent, Block, Cell, Report, Section, Table

from ..figure import (
    UNITS,
    UNITY,
    Figure,
    Figures,
    FigureTable,
    bars,
    classes_chart,
    columns,
    sections_of,
    short,
    value_cell,
    with_ends,
    without,
)
from . import experiments, panel
from .figures import PUBLISHED, agrees, beside
from .records import Study

PARTS = (
    *(experiments.add_mtbench, experiments.add_arena, experiments.add_repeats, panel.add_self_votes, panel.add_panel),
    *(panel.add_cycles, panel.add_audit),
)


def recompute(study: Study) -> Figures:
    """Every figure of the study, by id."""
    table = FigureTable(__package__)
    for add in PARTS:
        add(table, study)
    return {name: beside(name, one) for name, one in table.found.items()}


TITLES = columns("Figure", "Ours", "Paper")
LETTERS = 44
"""Of a cell in the terminal."""

NOT_PRINTED = Absent(absent="the paper prints no such figure")
SECTIONS = {
    "Experiment 1: MT-Bench": ("exp1.", "t1.", "t2.", "t3."),
    "Experiment 2: Chatbot Arena": ("t6.", "t7.", "exp2.", "families", "elo."),
    "Repeated runs": ("t8.", "stability.", "run3.", "majority."),
    "The experiments compared": ("t9.",),
    "Candidates judging themselves": ("self.", "self_published."),
    "The panel and its judges": ("ablation.", "unanimity.", "split."),
    "End-to-end cycles": ("e2e.",),
    "Audit of the record": ("audit.", "cost."),
}


def status(name: str, figure: Figure) -> str:
    """Whether the paper's figure is reproduced, differs, or is not printed."""
    if name not in PUBLISHED:
        return "not printed"
    if figure.value is None:
        return "no data"
    return "reproduced" if agrees(figure.value, PUBLISHED[name]) else "differs"


def report_of(study: Study, figures: Figures) -> Report:
    """The whole report."""
    different = {name: one for name, one in figures.items() if status(name, one) == "differs"}
    same = sum(status(name, one) == "reproduced" for name, one in figures.items())
    reasons = Section(
        title="Where the paper's figures differ",
        paragraphs=(
            "The reasons are not guessed: where one names a computation, it was run on these rows and gives the "
            "paper's figure to its last printed digit; where it does not, the reason says so.",
        ),
        blocks=(without(_table("Figures that differ", different), {4}),),
    )
    glance = Section(title="At a glance", blocks=tuple(_charts(figures)))
    return Report(
        title="Agent Clash: a published study of a judge panel, recomputed",
        summary=(
            'Boisbouvier and Claude Opus 4.5, "Multi-Agent Judging for LLM Evaluation: Concordance with Human '
            'Preferences Across Capability Gaps". Every figure is computed from the logged evaluations.',
            f"Of {same + len(different)} figures that the paper prints and the data carry, {same} are reproduced to "
            f"the last printed digit and {len(different)} differ, each with its reason.",
            f"{len(figures) - same - len(different)} more figures are not printed in the paper, or not in the data.",
            UNITS,
            *_notes(study),
        ),
        sections=(reasons, glance, *sections_of(SECTIONS, figures, _table)),
        provenance={
            "data": study.path.name,
            "sha256": study.sha256,
            "logged evaluations": str(len(study.rows)),
            "published evaluations": str(len(study.published)),
            "metajudge": __version__,
        },
    )


def _notes(study: Study) -> tuple[str, ...]:
    notes = []
    if study.identical:
        notes.append(f"{study.identical} lines repeat another line word for word and count once.")
    if study.repeated:
        notes.append(
            f"{len(study.repeated)} published rows repeat an evaluation (experiment, run, id) and are left out: a row "
            f"with a verdict counts before one without, then the latest by time. Left out: "
            f"{', '.join(study.repeated[:10])}{' and more' if len(study.repeated) > 10 else ''}."
        )
    return tuple(notes)


def summary_table(figures: Figures) -> Table:
    """What differs, for a terminal."""
    rows = tuple(
        (name, shorten(with_ends(one, "None"), LETTERS), shorten(short(PUBLISHED[name], "None"), LETTERS))
        for name, one in figures.items()
        if status(name, one) == "differs"
    )
    return Table(caption="Figures that differ from the paper's; the report says why", columns=TITLES, rows=rows)


def _table(caption: str, figures: Figures) -> Table:
    titles = columns("Figure", "Ours", ("n", "count"), "Paper", "Comparison", "Why, and what to know")
    return Table(caption=caption, columns=titles, rows=tuple(_row(name, one) for name, one in figures.items()))


def _row(name: str, figure: Figure) -> tuple[Cell, ...]:
    paper: Cell = short(PUBLISHED[name], "None") if name in PUBLISHED else NOT_PRINTED
    return (name, value_cell(figure, "None"), figure.n, paper, status(name, figure), figure.why or "")


def _charts(figures: Figures) -> list[Block]:
    others = ("ablation.mtbench.", "ablation.arena.", "ablation.panel", "ablation.gain")
    pooled = [name for name in figures if name.startswith("ablation.") and not name.startswith(others)]
    judges = {name.removeprefix("ablation."): name for name in pooled}
    places = {judge: f"audit.position.{judge}" for judge in judges}
    names = {**judges, "majority of three": "ablation.panel"}
    united = dict(zip(("unanimous, 3-0", "split, 2-1"), UNITY.values(), strict=True))
    shares = "Share of mtbench and arena run 1 verdicts that name the human winner, in percent."
    majorities = "Share of panel majorities that are the human winner, by how united the panel is."
    firsts = "How often each panel judge ranked first what was shown as A0; without a preference for a place half."
    blocks: list[Block] = [
        bars("Judges and panel", shares, figures, names),
        bars("Unanimity as a signal", majorities, figures, united),
        bars("Place of the response ranked first", firsts, figures, places),
    ]
    classes = figures["stability.classes"].value
    if isinstance(classes, dict) and any(classes.values()):
        description = "Both runs name the human winner, neither does, or one does."
        blocks.append(classes_chart("Arena evaluations over runs 1 and 2", description, "runs 1 and 2", classes))
    return blocks
