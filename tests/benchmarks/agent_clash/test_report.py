from metajudge.benchmarks.agent_clash.records import load_study
from metajudge.benchmarks.agent_clash.report import report_of
from metajudge.benchmarks.agent_clash.study import recompute

from metajudge.report.html import to_html
from tests.doubles.clash_study import row, write


def test_the_report_takes_any_text_for_data(tmp_path):
    rows = [row(n, "aab", category="<script>") for n in range(1, 5)]
    for one in rows:
        one["judges"][0]["judge"] = "<b>judge</b>"
    study_read = load_study(write(tmp_path / "data", rows))
    page = to_html(report_of(study_read, recompute(study_read)))
    assert "<b>judge" not in page
