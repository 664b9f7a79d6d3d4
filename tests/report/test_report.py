import html
import json
import re
from xml.etree import ElementTree as ET

import pytest
from pydantic import ValidationError

from metajudge.errors import InputError
from metajudge.report import (
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
from metajudge.report.files import check_apart, check_report_path, write_report, write_text
from metajudge.report.html import to_html
from metajudge.report.markdown import escaped, to_markdown
from metajudge.report.tables import cell_text, table_of
from metajudge.report.text import table_to_text

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


def test_html_escapes_every_text_and_runs_nothing():
    page = to_html(report(NASTY))
    assert "<script" not in page
    assert "\x00" not in page
    assert "\x1b" not in page
    page.encode("utf-8")
    assert page.count("</svg>") == 12
    assert page.count("</style>") == 1
    assert not re.findall(r"""\s(?:href|src|on\w+)\s*=\s*["'][^#]""", page.replace(html.escape(NASTY), ""))


def test_html_needs_no_network():
    page = to_html(report())
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", page)
    assert "@import" not in page
    assert not re.findall(r"url\((?!#)", page)
    assert "default-src 'none'" in page


def test_the_page_is_well_formed_and_its_ids_are_unique():
    page = to_html(report())
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    used = re.findall(r"url\(#([^)]+)\)", page) + re.findall(r'aria-labelledby="([^"]+)"', page)
    assert {name for names in used for name in names.split()} <= set(ids)
    body = page[page.index("<body>") : page.index("</body>") + len("</body>")]
    ET.fromstring(body)


def test_every_chart_is_described_and_every_table_has_caption_and_scopes():
    page = ET.fromstring((page := to_html(report()))[page.index("<body>") : page.index("</body>") + 7])
    drawings = page.findall(".//svg")
    assert len(drawings) == 12
    for drawing in drawings:
        assert drawing.get("role") == "img"
        assert drawing.findtext("title")
        assert drawing.findtext("desc")
    for found in page.findall(".//table"):
        assert found.findtext("caption")
        assert all(cell.get("scope") == "col" for cell in found.findall("thead/tr/th"))
        assert all(row[0].get("scope") == "row" for row in found.findall("tbody/tr"))


def test_series_are_told_apart_without_colour():
    points = (CurvePoint(coverage=0.5, precision=0.9, low=0.8, high=1, selected=5),) * 2
    curves = tuple(Curve(name=f"c{i}", points=points) for i in range(4))
    page = to_html(
        Report(
            title="t",
            sections=(Section(title="s", blocks=(CoverageChart(title="t", description="d", curves=curves),)),),
        )
    )
    dashes = re.findall(r'class="curve s\d"(?: stroke-dasharray="([^"]*)")?', page)
    assert len(dashes) == len(set(dashes)) == 4
    labels = re.findall(r'class="direct">([^<]+)<', page)
    assert labels == ["c0", "c1", "c2", "c3"]


def test_nothing_is_drawn_outside_its_chart():
    body = to_html(report("a judge with a name that is much too long for the chart it stands in"))
    page = ET.fromstring(body[body.index("<body>") : body.index("</body>") + 7])
    for drawing in page.findall(".//svg"):
        _, _, width, height = map(float, drawing.get("viewBox").split())
        for element in drawing.iter():
            for name, limit in (
                ("x", width),
                ("x1", width),
                ("x2", width),
                ("y", height),
                ("y1", height),
                ("y2", height),
            ):
                if element.get(name) is not None:
                    assert -0.01 <= float(element.get(name)) <= limit + 0.01, (element.tag, element.attrib)


def test_absent_figures_are_a_dash_with_a_reason_in_every_format():
    page, text, marked = to_html(report()), table_to_text(table()), to_markdown(report())
    assert 'title="nothing selected"' in page
    assert "No figure: nothing selected." in page
    assert "[1] nothing selected" in text
    assert "\\[1\\] nothing selected" in marked
    for written in (page, text, marked):
        assert not re.findall(r"\bnan\b", written.lower())


def test_markdown_shows_markup_as_text():
    assert escaped("a|b *c* <d> [e](f)\n# g") == r"a\|b \*c\* \<d\> \[e\](f) \# g"
    marked = to_markdown(report(NASTY))
    assert not re.findall(r"(?<!\\)<", marked)
    assert "\x1b" not in marked
    lines = [line for line in marked.splitlines() if line.startswith("|")]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines[:4]}
    assert widths == {4}


def test_markdown_and_json_keep_every_figure_of_a_chart():
    marked = to_markdown(report())
    for block in charts():
        for row in table_of(block).rows:
            for cell, column in zip(row, table_of(block).columns, strict=True):
                if not isinstance(cell, Absent):
                    assert escaped(cell_text(cell, column.kind)) in marked


def test_the_report_survives_its_own_json():
    whole = report()
    assert Report.model_validate_json(whole.model_dump_json()) == whole


def test_not_a_number_cannot_stand_for_an_absent_figure():
    with pytest.raises(ValidationError):
        Measured(value=float("nan"), low=0, high=1)


@pytest.mark.parametrize(
    ("cell", "kind", "text"),
    [
        (0.7354, "percent", "73.5"),
        (Measured(value=0.5, low=0.25, high=0.75), "percent", "50.0 (25.0 to 75.0)"),
        (Measured(value=-0.01, low=-0.0701, high=0.05), "points", "-1.0 (-7.0 to +5.0)"),
        (-0.0001, "points", "0.0"),
        (0.1, "points", "+10.0"),
        (1234567, "count", "1,234,567"),
        (0.0123, "usd", "$0.0123"),
        (12.5, "usd", "$12.50"),
        ("as it is", "text", "as it is"),
    ],
)
def test_cells_are_rounded_to_what_they_mean(cell, kind, text):
    assert cell_text(cell, kind) == text


def test_terminal_tables_carry_no_terminal_codes():
    assert "\x1b" not in table_to_text(table("\x1b[2Jowl\nsecond"))


@pytest.mark.parametrize("name", ["r.html", "r.md", "r.json"])
def test_the_name_of_the_file_chooses_the_format(tmp_path, name):
    write_report(report(), tmp_path / name)
    text = (tmp_path / name).read_text()
    assert {"r.html": "<!DOCTYPE html>", "r.md": "# Report of owl", "r.json": "{"}[name] in text[:20]
    if name == "r.json":
        json.loads(text)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["r.pdf", "r", "nowhere/r.html", "."])
def test_a_path_that_cannot_be_written_is_refused_before_any_work(tmp_path, name):
    with pytest.raises(InputError):
        check_report_path(tmp_path / name)


def test_a_writer_that_breaks_off_leaves_the_old_file(tmp_path):
    path = tmp_path / "scores.jsonl"
    path.write_text("old\n")

    def lines():
        yield "new\n"
        raise InputError("broken")

    with pytest.raises(InputError):
        write_text(path, lines())
    assert path.read_text() == "old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["scores.jsonl"]


def test_a_file_that_is_read_is_never_written_over_by_any_of_its_names(tmp_path):
    (tmp_path / "in.jsonl").touch()
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "in.jsonl")
    for name in ("in.jsonl", "link.jsonl", "./in.jsonl"):
        with pytest.raises(InputError, match="would be overwritten"):
            check_apart([tmp_path / "in.jsonl"], [None, tmp_path / name])
    with pytest.raises(InputError, match="two outputs"):
        check_apart([], [tmp_path / "out.json", tmp_path / "." / "out.json"])
    assert check_apart([tmp_path / "in.jsonl"], [tmp_path / "out.json", None]) is None
