import html
import re
from xml.etree import ElementTree as ET

from metajudge.report.document import Column, Fold, Passage, Report, Section, Table
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
