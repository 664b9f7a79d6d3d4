from metajudge.benchmarks.bench_report import report_of

from metajudge.report.markdown import to_markdown
from tests.benchmarks.benches import bench_of, found, rows


def test_nothing_selected_is_said_and_has_no_precision(small):
    findings = found(bench_of(small, judges=("owl",), threshold=5.0))
    cell = rows(findings, "owl")["free evidence above 5"]
    assert cell.selected == 0
    assert cell.precision.absent == "nothing selected"
    assert "nothing selected" in to_markdown(report_of(findings))
