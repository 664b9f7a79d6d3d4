"""The recomputed study as a report: ours beside the paper's, every difference explained."""

from textwrap import shorten

from metajudge import __version__
from metajudge.report.document import Absent, Block, Cell, Report, Section, Table

from ..columns import columns, without
from ..figure import Figure, Figures, bars, classes_chart, definitions_table, short, with_ends
from .figures import PUBLISHED, agrees
from .records import Study

TITLES = columns("Figure", "Ours", "Paper")
LETTERS = 44
"""Of a cell in the terminal."""

NOT_PRINTED = Absent(absent="the paper prints no such figure")
SECTIONS = (
    ("Experiment 1: MT-Bench", ("exp1.", "t1.", "t2.", "t3.")),
    ("Experiment 2: Chatbot Arena", ("t6.", "t7.", "exp2.", "families", "elo.")),
    ("Repeated runs", ("t8.", "stability.", "run3.", "majority.")),
    ("The experiments compared", ("t9.",)),
    ("Candidates judging themselves", ("self.", "self_published.")),
    ("The panel and its judges", ("ablation.", "unanimity.", "split.")),
    ("End-to-end cycles", ("e2e.",)),
    ("Audit of the record", ("audit.", "cost.")),
)


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
    sections = [
        Section(
            title="Where the paper's figures differ",
            paragraphs=(
                "The reasons are not guessed: where one names a computation, it was run on these rows and gives the "
                "paper's figure to its last printed digit; where it does not, the reason says so.",
            ),
            blocks=(without(_table("Figures that differ", different), {4}),),
        ),
        Section(title="At a glance", blocks=tuple(_charts(figures))),
    ]
    for title, prefixes in SECTIONS:
        mine = {name: one for name, one in figures.items() if name.startswith(prefixes)}
        sections.append(Section(title=title, blocks=(_table(title, mine), definitions_table(title, mine))))
    return Report(
        title="Agent Clash: a published study of a judge panel, recomputed",
        summary=(
            'Boisbouvier and Claude Opus 4.5, "Multi-Agent Judging for LLM Evaluation: Concordance with Human '
            'Preferences Across Capability Gaps". Every figure is computed from the logged evaluations.',
            f"Of {same + len(different)} figures that the paper prints and the data carry, {same} are reproduced to "
            f"the last printed digit and {len(different)} differ, each with its reason.",
            f"{len(figures) - same - len(different)} more figures are not printed in the paper, or not in the data.",
            "Shares are in percent, differences in percentage points, costs in US dollars; intervals are at 95 %.",
            *_notes(study),
        ),
        sections=tuple(sections),
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
    ours: Cell = Absent(absent=figure.why or "no data") if figure.value is None else with_ends(figure, "None")
    paper: Cell = short(PUBLISHED[name], "None") if name in PUBLISHED else NOT_PRINTED
    return (name, ours, figure.n, paper, status(name, figure), figure.why or "")


def _charts(figures: Figures) -> list[Block]:
    experiments = ("ablation.mtbench.", "ablation.arena.", "ablation.panel", "ablation.gain")
    judges = [
        name.removeprefix("ablation.")
        for name in figures
        if name.startswith("ablation.") and not name.startswith(experiments)
    ]
    blocks: list[Block] = []
    for title, description, names in (
        (
            "Judges and panel",
            "Share of mtbench and arena run 1 verdicts that name the human winner, in percent.",
            {**{judge: f"ablation.{judge}" for judge in judges}, "majority of three": "ablation.panel"},
        ),
        (
            "Unanimity as a signal",
            "Share of panel majorities that are the human winner, by how united the panel is.",
            {"unanimous, 3-0": "unanimity.unanimous", "split, 2-1": "unanimity.split"},
        ),
        (
            "Place of the response ranked first",
            "How often each panel judge ranked first what was shown as A0; without a preference for a place half.",
            {judge: f"audit.position.{judge}" for judge in judges},
        ),
    ):
        blocks.append(bars(title, description, figures, names))
    classes = figures["stability.classes"].value
    if isinstance(classes, dict) and any(classes.values()):
        description = "Both runs name the human winner, neither does, or one does."
        blocks.append(classes_chart("Arena evaluations over runs 1 and 2", description, "runs 1 and 2", classes))
    return blocks
