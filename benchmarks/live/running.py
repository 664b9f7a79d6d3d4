"""Asking the agents: block after block of judgments, each block by every agent, resumable, within a budget."""

import platform
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from metajudge.runs.loop import RunEnd, Stop
from metajudge.types import Judgment

from ..grid_costs import exchanges
from ..grid_plan import PlannedRow
from ..grid_run import EngineFactory, RowResult, run_grid
from .records import End, RunRecord, ScoreLine, score_line
from .setup import LiveSetup

BLOCK = 20
"""Judgments that every agent is asked about before the next ones: a run that stops early has whole blocks."""

PACKAGES = ("metajudge-vet", "numpy", "scipy", "openai", "anthropic", "genai-prices")

ENDS: dict[RunEnd, End] = {
    RunEnd.FINISHED: "finished",
    RunEnd.BUDGET: "budget",
    RunEnd.INTERRUPTED: "interrupted",
}


async def ask(
    setup: LiveSetup,
    judgments: Sequence[Judgment],
    engines: EngineFactory,
    *,
    stop: Stop,
    say: Callable[[str], None],
) -> tuple[list[ScoreLine], RunEnd, tuple[str, ...]]:
    """Has every agent vet every judgment.

    Args:
        setup: whose agents are asked.
        judgments: the sample.
        engines: share one store, which has what earlier commands asked, and one budget.
        stop: lets the caller stop the run.
        say: receives a note after each block.

    Returns:
        The scores, how it ended, and notices.
    """
    blocks = [judgments[start : start + BLOCK] for start in range(0, len(judgments), BLOCK)]
    named: Mapping[str, Sequence[Judgment]] = {str(place): block for place, block in enumerate(blocks)}
    lines: list[ScoreLine] = []
    notices: list[str] = []
    end, done = RunEnd.FINISHED, 0
    for place, block in named.items():
        rows = [PlannedRow(name, place, setup.panel_of(name)) for name in setup.agents]
        results = await run_grid(rows, named, engines, stop=stop)
        for result in results:
            lines += _lines(result, block)
            notices += result.notices
        end, done = results[-1].end, done + len(block)
        if end is not RunEnd.FINISHED:
            break
        say(f"{done:,} of {len(judgments):,} judgments by {len(setup.agents)} agents")
    return lines, end, tuple(dict.fromkeys(notices))


def _lines(result: RowResult, block: Sequence[Judgment]) -> list[ScoreLine]:
    found = []
    for judgment in block:
        assessment = result.assessments.get(judgment.id)
        if assessment is not None:
            keys = [one.key for one in exchanges(assessment) if one.stored and one.key is not None]
            stored = [result.stored_usd.get(key) for key in keys]
            known = None if None in stored else sum(usd for usd in stored if usd is not None)
            found.append(score_line(result.row.name, judgment, assessment, known))
    return found


def environment() -> dict[str, str]:
    """Versions of Python and the packages that matter, and the system; nothing that names a machine or a person."""
    found = {"python": platform.python_version(), "system": platform.system(), "architecture": platform.machine()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def ended(
    run: RunRecord, end: RunEnd, *, budget_usd: float | None, spent_usd: float, notices: tuple[str, ...]
) -> RunRecord:
    """The run's record at the end of a command."""
    return run.model_copy(
        update={
            "ended_at": now(),
            "end": ENDS.get(end, "interrupted"),
            "budget_usd": budget_usd,
            "spent_usd": round(spent_usd, 9),
            "notices": tuple(dict.fromkeys((*run.notices, *notices))),
            "environment": environment(),
        }
    )


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def work_folder(out: Path) -> Path:
    """Beside the result: the store with prompts and replies, and the budget's ledger. Not to be published."""
    return out.with_name(out.name + ".work")
