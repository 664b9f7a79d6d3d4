"""The contents of a report, independent of its format: sections of tables and charts, as plain data.

A chart keeps the figures it is drawn from, and :func:`metajudge.report.tables.table_of` turns them back into a
table, so that no format loses a number.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_serializer, model_validator

from metajudge.types.figure import Figure
from metajudge.types.frozen import Finite

Kind = Literal["text", "count", "percent", "points", "number", "usd"]
"""How a column is written: shares in [0, 1] as ``percent``, their differences as ``points`` with a sign."""

Share = Annotated[float, Field(ge=0, le=1)]


class Measured(Figure):
    """A figure with its interval."""

    value: float

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low is None or self.high is None:
            raise ValueError("a measured figure has both ends of its interval")
        return self


class Absent(Finite):
    """A missing figure and the reason."""

    absent: str


Cell = str | int | float | Measured | Absent


class Column(Finite):
    """A column of a table; ``note`` explains it if the title does not."""

    title: str
    kind: Kind = "text"
    note: str = ""


class Table(Finite):
    """A captioned table; the first column names the rows."""

    block: Literal["table"] = "table"
    caption: str
    columns: tuple[Column, ...] = Field(min_length=1)
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


class Chart(Finite):
    """A drawing of figures, and its words."""

    block: str
    title: str
    description: str


class CurvePoint(Measured):
    """Precision (the value) of the best-scored share of the judgments."""

    value: Share = Field(alias="precision")
    coverage: Share
    selected: int

    @model_serializer
    def _write(self) -> dict[str, Any]:
        found = {"coverage": self.coverage, "precision": self.value, "low": self.low, "high": self.high}
        return found | {"selected": self.selected}


class Curve(Finite):
    """One score's precision at falling coverage, with a band."""

    name: str
    points: tuple[CurvePoint, ...] = Field(min_length=1)


class Mark(Finite):
    """A selection without a choice of threshold: one point."""

    name: str
    coverage: Share
    precision: Share


class CoverageChart(Chart):
    """Precision against coverage."""

    block: Literal["coverage"] = "coverage"
    curves: tuple[Curve, ...] = ()
    marks: tuple[Mark, ...] = ()
    raw: Share | None = Field(default=None, description="Precision of everything, drawn as a level line.")


class Bin(Measured):
    """Judgments of similar probability: stated probability, observed share (the value), and count."""

    value: Share = Field(alias="observed")
    predicted: Share
    n: int

    @model_serializer
    def _write(self) -> dict[str, Any]:
        found = {"predicted": self.predicted, "observed": self.value, "low": self.low, "high": self.high}
        return found | {"n": self.n}


class ReliabilitySeries(Finite):
    """One probability's bins, from low to high."""

    name: str
    bins: tuple[Bin, ...] = Field(min_length=1)


class ReliabilityChart(Chart):
    """Stated probability against the share that was right."""

    block: Literal["reliability"] = "reliability"
    series: tuple[ReliabilitySeries, ...] = Field(min_length=1)


class BarSeries(Finite):
    """One bar for each of the chart's groups."""

    name: str
    values: tuple[Measured | Absent, ...]


class BarChart(Chart):
    """Shares by group, with intervals; or amounts from 0, if ``unit`` is not percent."""

    block: Literal["bars"] = "bars"
    unit: str = "%"
    groups: tuple[str, ...] = Field(min_length=1)
    series: tuple[BarSeries, ...] = Field(min_length=1)


class ShareRow(Finite):
    """How one whole divides; ``counts`` in the order of the chart's parts."""

    name: str
    counts: tuple[Annotated[int, Field(ge=0)], ...]


class ShareChart(Chart):
    """Wholes divided into named parts."""

    block: Literal["shares"] = "shares"
    parts: tuple[str, ...] = Field(min_length=1)
    rows: tuple[ShareRow, ...] = Field(min_length=1)


class ScatterPoint(Finite):
    """A named point; ``marked`` highlights it, as the description explains."""

    name: str
    x: Annotated[float, Field(ge=0)]
    y: Annotated[float, Field(ge=0)]
    marked: bool = False


class ScatterChart(Chart):
    """One figure against another, one point per name."""

    block: Literal["scatter"] = "scatter"
    x_title: str
    y_title: str
    points: tuple[ScatterPoint, ...] = Field(min_length=1)


class Listing(Finite):
    """Lines to be copied, such as commands."""

    block: Literal["listing"] = "listing"
    caption: str
    lines: tuple[str, ...] = Field(min_length=1)


class Passage(Finite):
    """A text under a title, with its line breaks, such as an answer that was judged."""

    block: Literal["passage"] = "passage"
    title: str
    text: str


class Fold(Finite):
    """Texts and tables that a reader opens; ``open`` shows them at once."""

    block: Literal["fold"] = "fold"
    title: str
    paragraphs: tuple[str, ...] = ()
    blocks: tuple[Passage | Table, ...] = ()
    open: bool = False


class IntervalMark(Finite):
    """One figure of a row and its interval; ``series`` is its place among the chart's series."""

    series: Annotated[int, Field(ge=0)]
    value: Measured


class IntervalRow(Finite):
    """A named line of the chart; ``absent`` is the reason if it has no figure."""

    name: str
    marks: tuple[IntervalMark, ...] = ()
    absent: str = ""


class IntervalChart(Chart):
    """Figures with their intervals below one another, which may be negative.

    Attributes:
        kind: how figures are written: ``percent``, ``points`` or ``number``.
        reference: the value of a level line, such as 0 for no effect.
    """

    block: Literal["intervals"] = "intervals"
    kind: Literal["percent", "points", "number"] = "percent"
    series: tuple[str, ...] = Field(min_length=1)
    rows: tuple[IntervalRow, ...] = Field(min_length=1)
    reference: float | None = None


class Tile(Finite):
    """One headline figure: what it is, the figure as text, and a line about it."""

    title: str
    figure: str
    note: str = ""
    series: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="The colour of a chart's series that shows the same; None for none."
    )


class Tiles(Finite):
    """Headline figures side by side."""

    block: Literal["tiles"] = "tiles"
    caption: str
    tiles: tuple[Tile, ...] = Field(min_length=1)


class HistogramPart(Finite):
    """Counts of one part of the values, in the order of the chart's bins.

    Attributes:
        series: whose colour and pattern it has; by its place if not given.
    """

    name: str
    series: Annotated[int, Field(ge=0)] | None = None
    counts: tuple[Annotated[int, Field(ge=0)], ...]


class Histogram(Chart):
    """How often values fall between edges, the parts stacked on each other.

    Attributes:
        edges: ascending, one more than there are bins; a bin contains its lower edge, and the last one its upper, too.
        reference: a value that is drawn as an upright line, such as a threshold.
    """

    block: Literal["histogram"] = "histogram"
    x_title: str
    edges: tuple[float, ...] = Field(min_length=2)
    parts: tuple[HistogramPart, ...] = Field(min_length=1)
    reference: float | None = None


class Exhibit(Finite):
    """Texts to be read side by side, with what was found about them."""

    block: Literal["exhibit"] = "exhibit"
    title: str
    status: str = ""
    lines: tuple[str, ...] = ()
    above: tuple[Passage, ...] = ()
    beside: tuple[Passage, ...] = ()
    below: tuple[Passage, ...] = ()
    open: bool = False


Block = Annotated[
    Table
    | CoverageChart
    | ReliabilityChart
    | BarChart
    | ShareChart
    | ScatterChart
    | IntervalChart
    | Histogram
    | Tiles
    | Exhibit
    | Listing
    | Fold,
    Field(discriminator="block"),
]


class Section(Finite):
    """A heading, paragraphs and blocks."""

    title: str
    paragraphs: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()


class Report(Finite):
    """A whole report.

    Attributes:
        provenance: sources of the figures: data, versions, seeds, commands; shown at the end.
    """

    version: Literal[1] = 1
    title: str
    summary: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    provenance: dict[str, str] = Field(default_factory=dict)
