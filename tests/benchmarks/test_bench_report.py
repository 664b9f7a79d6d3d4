from metajudge.benchmarks.bench_report import report_of, terminal_tables
from metajudge.benchmarks.findings import OVERALL

from metajudge.report.html import to_html
from metajudge.report.markdown import to_markdown
from tests.benchmarks.benches import bench_of, found, rows
from tests.doubles.judgebench import game, pair


def test_nothing_selected_is_said_and_has_no_precision(small):
    findings = found(bench_of(small, judges=("owl",), threshold=5.0))
    cell = rows(findings, "owl")["free evidence above 5"]
    assert cell.selected == 0
    assert cell.precision.absent == "nothing selected"
    assert "nothing selected" in to_markdown(report_of(findings))


def test_the_same_data_give_the_same_report(small):
    first, second = (to_html(report_of(found(bench_of(small)))) for _ in range(2))
    assert first == second


def test_the_report_shows_every_judge_and_no_machine_path(small):
    page = to_html(report_of(found(bench_of(small))))
    for words in (
        "owl",
        "hawk",
        "all judges",
        "both orders agree",
        "Swap consistency",
        "by question; precision 10,000 resamples",
    ):
        assert words in page
    assert str(small.parent) not in page


def test_many_judges_get_a_line_each(folder):
    names = [f"judge-{number}" for number in range(14)]
    games = [
        game(n, order, "A>B" if order == "AB" else "B>A", judge=name, label="A>B" if order == "AB" else "B>A")
        for name in names
        for n in range(4)
        for order in ("AB", "BA")
    ]
    findings = found(bench_of(folder([pair(n) for n in range(4)], games)))
    assert list(findings.judges[1].rows[0].cells) == [OVERALL]
    table = terminal_tables(findings)[-1]
    assert [row[0] for row in table.rows] == names
    assert any("one line" in note for note in findings.notes)
