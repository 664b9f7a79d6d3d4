"""A report with every kind of chart, and texts that would break one."""

from metajudge.report.document import (
    Absent,
    BarChart,
    BarSeries,
    Bin,
    Column,
    CoverageChart,
    Curve,
    CurvePoint,
    Mark,
    Measured,
    ReliabilityChart,
    ReliabilitySeries,
    Report,
    Section,
    ShareChart,
    ShareRow,
    Table,
)

NASTY = '<script>alert("x")</script> & </svg></style> `a|b` [c](javascript:d) *e*\x00\x1b[31m \ud800'


def table(name="owl"):
    columns = (
        Column(title="Judge"),
        Column(title="Right", kind="percent", note="of decided"),
        Column(title="n", kind="count"),
    )
    rows = ((name, Measured(value=0.735, low=0.7, high=0.76), 1234), ("hawk", Absent(absent="nothing selected"), 0))
    return Table(caption=f"Accuracy of {name}", columns=columns, rows=rows, notes=("A note.",))


def charts(name="owl"):
    points = tuple(
        CurvePoint(coverage=c / 10, precision=1 - c / 40, low=0.7, high=1.0, selected=c * 10) for c in range(1, 11)
    )
    bins = tuple(Bin(predicted=p, observed=p, low=max(0, p - 0.1), high=min(1, p + 0.1), n=9) for p in (0.2, 0.6, 0.9))
    value = Measured(value=0.8, low=0.7, high=0.9)
    return (
        CoverageChart(
            title=f"Curve of {name}",
            description="d",
            raw=0.75,
            curves=(Curve(name=name, points=points),),
            marks=(Mark(name="both orders", coverage=0.5, precision=0.9),),
        ),
        ReliabilityChart(title="Reliability", description="d", series=(ReliabilitySeries(name=name, bins=bins),)),
        BarChart(
            title="Bars",
            description="d",
            groups=(name, "Math"),
            series=tuple(BarSeries(name=f"s{i}", values=(value, Absent(absent="nothing selected"))) for i in range(9)),
        ),
        ShareChart(
            title="Shares", description="d", parts=("right", "wrong"), rows=(ShareRow(name=name, counts=(3, 1)),)
        ),
    )


def report(name="owl"):
    sections = [Section(title=f"On {name}", paragraphs=(f"About {name}.",), blocks=(table(name), *charts(name)))] * 3
    return Report(title=f"Report of {name}", summary=(name,), sections=tuple(sections), provenance={name: name})
