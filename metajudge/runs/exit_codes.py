"""The exit codes of every command: one table, one function.

====  ===========  ====================================================================================
code  name         meaning
====  ===========  ====================================================================================
0     DONE         the command did what it was asked; judgments without a verdict and bad lines are
                   counted and printed
1     INCOMPLETE   what was asked could not be done in full: an agent or model failed for good, output is
                   incomplete, a call was not delivered, a check found something wrong; with ``--strict``
                   also a judgment without a verdict or a bad line
2     USAGE        something the user must fix first: options, files, keys; also input of which no line
                   could be read
3     BUDGET       the budget is spent; the same command with a larger one resumes
4     PENDING      batches are with their provider; the same command collects them
5     BAR_MISSED   everything was done, and a bar was missed (``--fail-under``) or a promise is broken
130   INTERRUPTED  Ctrl-C; the same command resumes
====  ===========  ====================================================================================
"""

from dataclasses import dataclass
from enum import IntEnum

from metajudge.errors import BadLineError, BatchPendingError, BudgetExceeded, StoreUnavailableError, UserError
from metajudge.runs.loop import RunEnd

EPILOG = (
    "Exit codes: 0 done, 1 not done in full, 2 usage, 3 budget spent, 4 batches pending, 5 a bar was missed, "
    "130 interrupted (docs/exit-codes.md)."
)
"""The table in a line, at the end of every command's help."""


class ExitCode(IntEnum):
    """How a command ended, as the shell sees it; see the table above."""

    DONE = 0
    INCOMPLETE = 1
    USAGE = 2
    BUDGET = 3
    PENDING = 4
    BAR_MISSED = 5
    INTERRUPTED = 130


_STOPPED = {RunEnd.INTERRUPTED: ExitCode.INTERRUPTED, RunEnd.BUDGET: ExitCode.BUDGET, RunEnd.PENDING: ExitCode.PENDING}


@dataclass(frozen=True, slots=True)
class RunCounts:
    """What a command's exit code depends on.

    Attributes:
        done: records that were read and processed, whatever the result; None where the command does not count.
        failed: records or parts of them that are missing because an agent, a model or a delivery failed for good.
        without_verdict: recorded judgments without a verdict: nothing failed, but there is nothing to vet.
        bad_lines: lines that could not be read.
    """

    end: RunEnd = RunEnd.FINISHED
    done: int | None = None
    failed: int = 0
    without_verdict: int = 0
    bad_lines: int = 0


def exit_code(counts: RunCounts, *, strict: bool = False, bar_missed: bool = False) -> ExitCode:
    """The one rule: a run that stopped says why; then what is missing; then a missed bar.

    Missing output comes before a missed bar, because a bar measured on an incomplete result is not a measurement: the
    same command again completes the result first.

    Args:
        counts: how the run ended and what is missing.
        strict: whether judgments without a verdict and bad lines count as missing.
        bar_missed: whether a bar (``--fail-under``) was missed.
    """
    if counts.end in _STOPPED:
        return _STOPPED[counts.end]
    if counts.bad_lines and counts.done == 0:
        return ExitCode.USAGE
    if counts.failed or (strict and (counts.without_verdict or counts.bad_lines)):
        return ExitCode.INCOMPLETE
    return ExitCode.BAR_MISSED if bar_missed else ExitCode.DONE


def exit_code_of(error: BaseException) -> ExitCode:
    """The code for an error that ended a command."""
    match error:
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case BudgetExceeded():
            return ExitCode.BUDGET
        case BatchPendingError():
            return ExitCode.PENDING
        case BadLineError() | StoreUnavailableError():  # of the latter the same command may succeed later
            return ExitCode.INCOMPLETE
        case UserError():
            return ExitCode.USAGE
        case _:
            return ExitCode.INCOMPLETE
