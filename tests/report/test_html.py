import html
import re
from xml.etree import ElementTree as ET

from metajudge.report import (
    Column,
    CoverageChart,
    Curve,
    CurvePoint,
    Fold,
    Passage,
    Report,
    Section,
    Table,
)
from metajudge.report.html import to_html
from tests.report.reports import NASTY, report


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


def test_a_fold_holds_texts_and_tables_escaped_and_closed_unless_it_is_to_be_open():
    inside = Table(caption="c", columns=(Column(title="x"),), rows=(("cell",),))
    fold = Fold(
        title="q1: <b>", paragraphs=("why",), blocks=(Passage(title="Answer", text="a\n<script>b</script>"), inside)
    )
    page = to_html(
        Report(title="t", sections=(Section(title="s", blocks=(fold, fold.model_copy(update={"open": True}))),))
    )
    assert page.count('<details class="fold">') == 1
    assert page.count('<details class="fold" open>') == 1
    assert '<div class="passage">a\n&lt;script&gt;b&lt;/script&gt;</div>' in page
    assert "<script>" not in page
    assert ">cell</th>" in page
