"""What a run says of itself: exit codes, progress, estimates, totals and tables."""

import ast
from pathlib import Path

import pytest

from metajudge.cases.run import CaseTotals
from metajudge.clashes.run import ClashTotals
from metajudge.errors import (
    BadLineError,
    BatchPendingError,
    BudgetExceeded,
    ConfigurationError,
    FailureKind,
    InputError,
    OutputError,
    RateLimitedError,
    StoreUnavailableError,
    UnprovenError,
)
from metajudge.judging.run import JudgeTotals
from metajudge.panels.config import AgentConfig, Price
from metajudge.peers.run import PeersTotals
from metajudge.providers.metering import Meter
from metajudge.providers.model import Message, ModelRequest
from metajudge.runs.assessment_tables import assessment_lines
from metajudge.runs.estimate import Estimate, prices_of, size_of
from metajudge.runs.exit_codes import ExitCode, RunCounts, exit_code, exit_code_of
from metajudge.runs.loop import RunEnd
from metajudge.runs.outputs import OrderedFile, TableFile, results_file
from metajudge.runs.progress import Progress
from metajudge.types import AgentResult, Failure, Status, Usage
from metajudge.vetting.summary import VetSummary
from tests.doubles.judgments import assessed, judgment
from tests.doubles.waiting import Clock
from tests.runs.test_assessment_tables import LINES


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


CLI = Path(__file__).parents[2] / "metajudge" / "cli"
DOCS = Path(__file__).parents[2] / "docs" / "exit-codes.md"


@pytest.mark.parametrize(
    ("counts", "options", "code"),
    [
        (RunCounts(done=3), {}, 0),
        (RunCounts(done=3, without_verdict=3), {}, 0),
        (RunCounts(done=3, bad_lines=2), {}, 0),
        (RunCounts(done=3, bad_lines=2), {"strict": True}, 1),
        (RunCounts(done=3, without_verdict=1), {"strict": True}, 1),
        (RunCounts(done=3), {"strict": True}, 0),
        (RunCounts(done=0), {}, 0),
        (RunCounts(done=0, bad_lines=2), {}, 2),
        (RunCounts(done=0, bad_lines=2), {"strict": True}, 2),
        (RunCounts(bad_lines=2), {}, 0),
        (RunCounts(done=3, failed=1), {}, 1),
        (RunCounts(done=3), {"bar_missed": True}, 5),
        (RunCounts(done=3, without_verdict=1, bad_lines=1), {"bar_missed": True}, 5),
        (RunCounts(done=3, failed=1), {"bar_missed": True}, 1),
        (RunCounts(done=3, bad_lines=1), {"bar_missed": True, "strict": True}, 1),
        (RunCounts(RunEnd.BUDGET, 3, failed=1), {"bar_missed": True}, 3),
        (RunCounts(RunEnd.PENDING, 3, failed=1), {}, 4),
        (RunCounts(RunEnd.INTERRUPTED, 0, bad_lines=1), {"strict": True, "bar_missed": True}, 130),
    ],
)
def test_the_rule(counts, options, code):
    assert exit_code(counts, **options) == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigurationError("x"), 2),
        (StoreUnavailableError("x"), 1),
        (BadLineError("x"), 1),
        (OutputError("x"), 1),
        (RateLimitedError("x"), 1),
        (UnprovenError("x", cost=1, bound=0, best=()), 1),
        (BudgetExceeded("x"), 3),
        (BatchPendingError("x"), 4),
        (KeyboardInterrupt(), 130),
        (OSError(28, "No space left on device"), 1),
        (ZeroDivisionError(), 1),
    ],
)
def test_an_error_has_the_code_of_its_kind(error, code):
    assert exit_code_of(error) == code


def vetted(status, kind=None, agents=()):
    failure = None if kind is None else Failure(kind=kind, message="why")
    results = tuple(
        AgentResult(agent=name, model="m", weight=1.0, failure=Failure(kind=FailureKind.TIMEOUT, message="late"))
        for name in agents
    )
    accepted = True if status is Status.ASSESSED else None
    return assessed(judgment(), None, status=status, accepted=accepted, failure=failure, agents=results)


@pytest.mark.parametrize(
    ("assessment", "code", "strict"),
    [
        (vetted(Status.ASSESSED), 0, 0),
        (vetted(Status.FAILED, FailureKind.NO_VERDICT), 0, 1),
        (vetted(Status.UNSCORED, FailureKind.NO_EVIDENCE), 0, 0),
        (vetted(Status.UNSCORED, FailureKind.NO_EVIDENCE, ["a"]), 1, 1),
        (vetted(Status.UNSCORED, FailureKind.TIMEOUT, ["a"]), 1, 1),
        (vetted(Status.FAILED, FailureKind.AUTH, ["a"]), 1, 1),
        (vetted(Status.FAILED, FailureKind.NO_EVIDENCE), 1, 1),
    ],
    ids=["assessed", "no verdict", "no evidence", "no evidence as an agent failed", "unscored", "failed", "refused"],
)
def test_of_a_vetting_run_only_what_failed_counts(assessment, code, strict):
    summary = VetSummary()
    summary.add(assessment, reused=False)
    assert (summary.exit_code, exit_code(summary.counts, strict=True)) == (code, strict)


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        (JudgeTotals(items=2, failed=1), 1),
        (JudgeTotals(items=2, without_verdict=1), 0),
        (JudgeTotals(items=2, bad_lines=1), 0),
        (ClashTotals(prompts=2, incomplete=1), 1),
        (ClashTotals(prompts=2, bad_lines=1), 0),
        (PeersTotals(questions=2, failed=1), 1),
        (PeersTotals(questions=2, bad_lines=1), 0),
        (CaseTotals(decided=2, unscored=1), 1),
        (CaseTotals(decided=2, webhook={"failed": 1}), 1),
        (CaseTotals(decided=2, bad_lines=1), 0),
        (CaseTotals(decided=2, end=RunEnd.BUDGET), 3),
    ],
    ids=str,
)
def test_every_run_counts_by_the_same_rule(summary, code):
    assert exit_code(summary.counts) == code


def test_no_command_has_a_code_of_its_own():
    """A number in ``typer.Exit`` or ``sys.exit`` would be a rule beside the table."""
    own = [
        f"{path.name}:{node.lineno}"
        for path in sorted(CLI.glob("*.py"))
        if path.name not in ("__init__.py", "boundary.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("Exit", "exit", "_exit")
        and any(isinstance(inner, ast.Constant) and isinstance(inner.value, int) for inner in ast.walk(node))
    ]
    assert own == []


def test_the_page_lists_every_code():
    rows = [line.split("|")[1].strip() for line in DOCS.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert [row for row in rows if row.isdigit()] == [str(int(code)) for code in ExitCode]


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


OWN = AgentConfig(name="own", model="vllm:own@http://127.0.0.1:9/v1")
PRICED = AgentConfig(name="priced", model="openai:any", price=Price(input=1.0, output=2.0))


def test_calls_and_tokens_add_up_by_agent():
    prices = prices_of([PRICED])
    estimate = Estimate.at(prices)
    for _ in range(3):
        estimate.add("priced", prices, 1_000_000, 500_000)
    assert (estimate.calls, estimate.input_tokens, estimate.output_tokens) == (3, 3_000_000, 1_500_000)
    assert estimate.cost_usd == pytest.approx(6.0)
    assert estimate.by_agent["priced"]["cost_usd"] == pytest.approx(6.0)
    assert estimate.to_json()["dry_run"] is True


def test_a_call_without_a_known_price_leaves_the_cost_unknown_whatever_comes_after():
    prices = prices_of([OWN, PRICED])
    estimate = Estimate.at(prices)
    estimate.add("own", prices, 10, 10)
    estimate.add("priced", prices, 10, 10)
    assert (estimate.cost_usd, estimate.unpriced) == (None, ["own"])
    assert estimate.by_agent["own"]["cost_usd"] is None
    assert estimate.by_agent["priced"]["cost_usd"] > 0


def test_two_runs_add_up_by_agent_and_unknown_stays_unknown():
    prices = prices_of([OWN, PRICED])
    first, second = Estimate.at(prices), Estimate.at(prices)
    first.add("priced", prices, 10, 20)
    second.add("priced", prices, 1, 2)
    first.add("own", prices, 3, 4)
    both = first + second
    assert (both.calls, both.input_tokens, both.output_tokens, both.cost_usd) == (3, 14, 26, None)
    assert both.by_agent["priced"]["cost_usd"] == pytest.approx(55e-6)
    assert both.by_agent["own"] == {"calls": 1, "input_tokens": 3, "output_tokens": 4, "cost_usd": None}
    assert first.by_agent["priced"]["calls"] == 1


def test_an_agent_that_is_not_asked_costs_nothing_known_or_not():
    prices = prices_of([OWN, PRICED])
    estimate = Estimate.at(prices)
    estimate.add("priced", prices, 10, 10)
    assert estimate.cost_usd == pytest.approx(3e-5)


def test_the_list_price_counts_where_none_is_configured():
    assert prices_of([AgentConfig(model="openai:gpt-4o-mini")])["gpt-4o-mini"] is not None


def test_four_characters_are_a_token():
    assert size_of(ModelRequest("x" * 40, (Message("user", "y" * 40),))) == 21


def test_the_ending_of_the_name_chooses(tmp_path):
    for name, kind in (("a.jsonl", OrderedFile), ("b", OrderedFile), ("c.parquet", TableFile), ("d.ARROW", TableFile)):
        with results_file(tmp_path / name) as file:
            assert type(file) is kind


@pytest.mark.parametrize("ending", ["parquet", "feather"])
def test_rows_stand_in_the_order_of_the_input(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    with results_file(path) as file:
        for index in (2, 0, 3, 1):
            file.write(index, LINES[index] + b"\n")
    assert list(assessment_lines(path)) == LINES
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_an_interrupted_run_leaves_what_there_is(tmp_path):
    path = tmp_path / "out.parquet"
    file = results_file(path)
    file.write(0, LINES[0] + b"\n")
    file.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert list(assessment_lines(path)) == LINES[:1]


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "out.parquet").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        results_file(tmp_path / "out.parquet")
