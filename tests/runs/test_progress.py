"""The line of progress: counts, rate, spend, what is left, from the totals as they grow."""

import pytest

from metajudge.errors import FailureKind
from metajudge.providers.metering import Meter
from metajudge.runs.progress import Progress
from metajudge.vetting.summary import VetSummary
from tests.doubles.waiting import Clock


@pytest.fixture
def clock(monkeypatch):
    """Ten seconds a look."""
    times = iter(range(0, 10_000, 10))
    monkeypatch.setattr("metajudge.runs.progress.time.monotonic", lambda: float(next(times)))


def test_counts_rate_calls_dollars_and_the_time_left(clock):
    totals, meter = VetSummary(judgments=20), Meter(sent=40, cost_usd=0.5)
    assert Progress(totals, meter, 60).line() == "20/60 judgments, 2.0/s, 40 calls, $0.5000, 0:20 left"


def test_a_total_that_becomes_known_while_the_input_is_read(clock):
    totals, found = VetSummary(judgments=20), [None, 60, 10]
    progress = Progress(totals, Meter(), lambda: found.pop(0))
    assert progress.line() == "20 judgments, 2.0/s, 0 calls, $0.0000"
    assert progress.line().startswith("20/60 judgments")
    assert progress.line().endswith("0:00 left")


def test_what_is_missing_and_unpriced_is_said(clock):
    totals, meter = VetSummary(judgments=20, unscored=2, failed=1), Meter(unpriced=1)
    meter.failures[FailureKind.TIMEOUT] = 7
    line = Progress(totals, meter, None).line()
    assert line.endswith("$0.0000 + unpriced, 3 without a score, 7 failed calls")


def test_a_plain_line_now_and_then(clock, capsys):
    with Progress(VetSummary(), Meter(), None) as progress:
        progress.update()
    assert capsys.readouterr().err.startswith("0 judgments, ")


def test_how_much_of_the_input_is_read_before_there_are_results(clock):
    progress = Progress(VetSummary(), Meter(), None)
    progress.heard((250_000, 1_000_000))
    assert progress.line() == "reading: 25 % of 1.0 MB, 3:30 left", "results take about as long as reading"
    progress.heard((2_000, None))
    assert progress.line() == "reading: 2,000 judgments"


def seconds_left(line):
    minutes, _, seconds = line.rpartition(", ")[2].removesuffix(" left").partition(":")
    return 60 * int(minutes) + int(seconds)


@pytest.mark.parametrize("known", [0, 900])
def test_the_time_left_is_right_within_a_factor_of_two_after_five_seconds_also_where_most_was_known(known):
    """64 calls at once, two seconds each; what an earlier run had done comes in the first instant."""
    clock, totals = Clock(), VetSummary()
    progress = Progress(totals, Meter(), 1600, clock)
    totals.judgments = totals.reused = known
    todo = 1600 - known
    for second in range(1, 12):
        clock.now = float(second)
        totals.judgments = known + 64 * (second // 2)
        line = progress.line()
        true = 2 * (todo / 64) - second
        if second >= 5:
            assert true / 2 <= seconds_left(line) <= 2 * true, (second, line)


def test_results_after_reading_have_a_pace_of_their_own():
    clock, totals = Clock(), VetSummary()
    progress = Progress(totals, Meter(), 10_000, clock)
    progress.heard((1, 10))
    clock.now = 100.0
    for count in range(0, 4000, 500):
        totals.judgments = count or 1
        line = progress.line()
        clock.now += 0.5
    assert 5 <= seconds_left(line) <= 9, f"1,000 a second, 6,500 to go: {line}"
