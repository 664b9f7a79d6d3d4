"""Steps of an export as data."""

from metajudge.preferences.funnel import FunnelStep


def test_reasons_that_dropped_nothing_are_left_out():
    step = FunnelStep("clean", "pairs", 10, 7, {"empty": 3, "cut": 0})
    expected = {"step": "clean", "unit": "pairs", "before": 10, "after": 7, "dropped": {"empty": 3}}
    assert step.to_json() == expected
    assert FunnelStep("clean", "pairs", 7, 7).to_json()["dropped"] == {}
