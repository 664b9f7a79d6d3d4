"""What reports show of figures, whichever study they belong to."""

from metajudge.report.document import Absent, Column, Measured, Table

from .figure import Figure, Figures


def definitions_table(title: str, figures: Figures) -> Table:
    """Rows, statistic and unit of each figure of a section."""
    rows = tuple((name, figure.definition) for name, figure in figures.items())
    columns = (Column(title="Figure"), Column(title="Definition"))
    return Table(caption=f"{title}: definitions", columns=columns, rows=rows)


def measured(figure: Figure | None) -> Measured | Absent:
    """A share in percent, for a bar; absent where there is no such figure, no value or no interval."""
    if figure is None or figure.value is None or figure.interval is None:
        return Absent(absent="no such rows")
    low, high = figure.interval
    return Measured(value=figure.value / 100, low=low / 100, high=high / 100)
