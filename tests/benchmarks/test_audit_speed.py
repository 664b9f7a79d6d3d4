from metajudge.benchmarks.audit_speed import measure


def test_measures_reading_and_auditing_beside_parsing(tmp_path):
    found = measure(verdicts=100, characters=50, runs=1, folder=tmp_path)
    assert found.verdicts == 100
    assert found.audit > found.parse > 0
    assert found.ratio > 1
