"""The table of exit codes: one rule, and every command under it."""

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
    OutputError,
    RateLimitedError,
    StoreUnavailableError,
    UnprovenError,
)
from metajudge.judging.run import JudgeTotals
from metajudge.peers.run import PeersTotals
from metajudge.runs.exit_codes import ExitCode, RunCounts, exit_code, exit_code_of
from metajudge.runs.loop import RunEnd
from metajudge.types import AgentResult, Failure, Status
from metajudge.vetting.summary import VetSummary
from tests.doubles.judgments import assessed, judgment

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
