"""A panel's reliability as a report."""

from metajudge import __version__
from metajudge.clashes.concordance import CEILING
from metajudge.report.document import Block, Report, Section, Table

from ..figure import UNITS, UNITY, Figure, Figures, bars, classes_chart, figure_table, sections_of, without

SECTIONS = {
    "Concordance with humans": ("run", "combined.", "majority."),
    "Repeated runs": ("retest.", "stability."),
    "Targeted third run": ("third.",),
    "Judges": ("judge.", "judges.", "position.", "family.", "self."),
    "Panels": ("panels", "unanimity."),
    "Lean to stronger models": ("capability.",),
    "Answers made anew": ("cycles.",),
}
TERMINAL = (
    *("run", "combined.", "retest.", "stability.", "third.", "majority.", "judge.", "unanimity.", "cycles.", "self."),
)
"""How the ids begin of what a terminal shows."""
MOST_BARS = 12


def sentences(figures: Figures) -> tuple[str, ...]:
    """What the figures say first: agreement with people beside that of people, and what unanimity is worth."""
    found = []
    panel = figures.get("run1.concordance")
    if panel is not None and panel.value is not None:
        found.append(
            f"The panel names the human's choice in {_percent(panel)}. Others report {CEILING} for crowd and expert on "
            "Chatbot Arena: figures of the paper, not measured here."
        )
    alone, split, test = (figures.get(f"unanimity.{name}") for name in ("unanimous", "split", "fisher_p"))
    if alone is None or split is None or alone.value is None or split.value is None:
        return tuple(found)
    said = f"Unanimous verdicts name it in {_percent(alone)}, divided ones in {_percent(split)}"
    p = None if test is None else test.value
    if p is None:
        return (*found, f"{said}; the difference cannot be tested.")
    surely = p < 0.05 and alone.value > split.value
    worth = "trust unanimous verdicts more" if surely else "these data do not show that unanimity tells more"
    return (*found, f"{said} (Fisher's exact p = {p:.2g}): {worth}.")


def _percent(one: Figure) -> str:
    interval = "" if one.ends is None else f" [{one.ends[0]:.1f} to {one.ends[1]:.1f}]"
    return f"{one.value:.1f} %{interval} of {one.n}"


def report_of(figures: Figures, *, title: str, summary: tuple[str, ...], provenance: dict[str, str]) -> Report:
    """The whole report."""
    charts = _charts(figures)
    glance = [Section(title="At a glance", blocks=tuple(charts))] if charts else []
    mixed = "Ties, lost verdicts and errors are counted by themselves and are never mismatches."
    return Report(
        title=title,
        summary=(*sentences(figures), *summary, f"{UNITS} {mixed}"),
        sections=(*glance, *sections_of(SECTIONS, figures)),
        provenance={**provenance, "metajudge": __version__},
    )


def terminal_table(figures: Figures) -> Table:
    """What is worth a look at once; the report has everything."""
    mine = {
        name: one
        for name, one in figures.items()
        if name.startswith(TERMINAL)
        and not name.endswith(("_uniform", "matrix", ".cost"))
        and not (name.startswith("third.") and one.value is None)
    }
    return without(figure_table("Reliability of the panel", mine), {3})


def _charts(figures: Figures) -> list[Block]:
    blocks: list[Block] = []
    groups = {name.removeprefix("judge."): name for name in figures if name.startswith("judge.")}
    runs = {
        name.partition(".")[0]: name for name in figures if name.endswith(".concordance") and name.startswith("run")
    }
    shown = {**runs, **dict(list(groups.items())[:MOST_BARS])}
    if shown:
        description = "Share of decided evaluations that name the human's choice: the panel by run, then each judge."
        blocks.append(bars("Concordance with humans", description, figures, shown))
    if set(UNITY.values()) <= set(figures):
        description = "The same by whether all judges of a complete panel agree."
        blocks.append(bars("Unanimity as a signal", description, figures, UNITY))
    classes = figures["stability.classes"].value if "stability.classes" in figures else {}
    if any(classes.values()):
        description = "Stably right, stably wrong, stable ties, unstable, or fewer than two verdicts."
        blocks.append(classes_chart("Items by their runs", description, "all full runs", classes))
    return blocks
