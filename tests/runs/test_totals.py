"""Totals of a run: what the calls took, and the same as plain data."""

from metajudge.providers.metering import Meter
from metajudge.runs.loop import RunEnd
from metajudge.types import Usage
from metajudge.vetting.summary import VetSummary


def metered():
    return Meter(sent=3, usage=Usage(input_tokens=1200, output_tokens=30), cost_usd=0.25, first_sent_at=1.0)


def test_calls_tokens_dollars_and_notices_are_taken_from_the_session():
    totals = VetSummary(notices=["mine"], cached_calls=2, total_s=4.0)
    totals.account(metered(), ["theirs", "mine"])
    assert (totals.calls, totals.cost_usd, totals.known_cost_usd) == (3, 0.25, 0.25)
    assert totals.notices == ["mine", "theirs"]
    assert totals.wall_s > 0
    assert totals.took == ("3 calls (2 more from the store), 1,200 input and 30 output tokens, $0.2500, 4.0 s.")


def test_an_unknown_price_leaves_a_lower_bound():
    totals, meter = VetSummary(), metered()
    meter.unpriced = 1
    totals.account(meter, [])
    assert (totals.cost_usd, totals.known_cost_usd) == (None, 0.25)
    assert "at least $0.2500, a price or the usage is unknown" in totals.took


def test_plain_data_holds_every_field_but_the_hidden_ones():
    totals = VetSummary(judgments=2, end=RunEnd.BUDGET, known_cost_usd=0.123456789)
    totals.failures["b"] += 1
    totals.failures["a"] += 2
    data = totals.to_json()
    assert (data["end"], data["known_cost_usd"], list(data["failures"])) == ("budget", 0.123457, ["a", "b"])
    assert data["usage"]["input_tokens"] == 0
    assert "gathered" not in data
    assert totals.exit_code == 3
