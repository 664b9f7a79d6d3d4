"""The text output of ``metajudge case``."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from metajudge.cases.estimate import estimate_cases
from metajudge.cases.reading import CaseInput
from metajudge.cases.result import CaseResult, StageResult
from metajudge.cases.run import CaseTotals
from metajudge.cli.estimates import print_estimate as print_it
from metajudge.decision import Policy
from metajudge.panels.config import PanelConfig
from metajudge.readers.lines import Reject
from metajudge.rubric import Rubric

MOST_SHOWN = 20
"""Maximum number of cases printed; the file or the store has all of them."""


def print_report(summary: CaseTotals, rejects: Sequence[Reject], where: Path) -> None:
    """Prints each case's stages and decision, then the run's counts."""
    console = Console(highlight=False)
    for result in summary.results[:MOST_SHOWN]:
        for line in _case_lines(result):
            console.print(line, soft_wrap=True, markup=False)
    if len(summary.results) > MOST_SHOWN:
        console.print(f"... and {len(summary.results) - MOST_SHOWN} more cases", markup=False)
    for line in (*_counts(summary), *_bad(rejects, where), summary.took, *filter(None, [summary.end.next_step])):
        console.print(line, soft_wrap=True, markup=False)


def _case_lines(result: CaseResult) -> list[str]:
    lines = [f"{result.case_id} ({result.type}, weights {result.metadata.weights_used}): {result.action}"]
    lines += [f"  {_stage_line(stage)}" for stage in result.stages]
    lines.append(f"  {result.reasoning}")
    missing = [quote for stage in result.stages for one in stage.criteria.values() for quote in one.evidence]
    absent = sum(not quote.in_output for quote in missing)
    if absent:
        lines.append(f"  {absent} of {len(missing)} quotes given as evidence do not occur in the stage's output.")
    return lines


def _stage_line(stage: StageResult) -> str:
    if stage.weighted_score is None:
        return f"{stage.name}: no score: {'' if stage.failure is None else stage.failure.message}"
    scores = ", ".join(
        f"{name} {'n/a' if one.score is None else f'{one.score:g}'}" for name, one in stage.criteria.items()
    )
    sure = "" if stage.confidence_overall is None else f", confidence {stage.confidence_overall:.2f}"
    return f"{stage.name}: {stage.weighted_score:.2f}{sure} ({scores})"


def _counts(summary: CaseTotals) -> list[str]:
    actions = ", ".join(f"{count} {action}" for action, count in sorted(summary.actions.items())) or "none"
    lines = [f"Decided {summary.decided} of {counted_cases(summary.cases)}: {actions}."]
    if summary.gated:
        lines.append(f"{summary.gated} of them ended at the gate.")
    if summary.reviews:
        lines.append(f"{summary.reviews} are waiting for review: metajudge review next --reviewer NAME")
    if summary.failures:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(summary.failures.items()))
        lines.append(f"Judges' failures: {kinds}. Run the same command again to retry them.")
    if summary.webhook is not None:
        sent = summary.webhook
        lines.append(f"Webhook: {sent['delivered']} delivered, {sent['known']} before, {sent['failed']} failed.")
    return lines


def _bad(rejects: Sequence[Reject], where: Path) -> list[str]:
    if not rejects:
        return []
    return [f"{counted_cases(len(rejects))} could not be judged, with reasons in {where}; the first: {rejects[0]}"]


def print_estimate(panel: PanelConfig, policy: Policy, rubric: Rubric, found: CaseInput, as_json: bool) -> None:
    """Prints the estimate of a run."""
    estimate = estimate_cases(panel, policy, rubric, found.cases)
    work = f"{counted_cases(len(found.cases))}, at most {estimate.calls} calls"
    print_it(estimate, work, as_json, {"cases": len(found.cases)})


def counted_cases(count: int) -> str:
    """A number of cases as text."""
    return f"{count} case{'' if count == 1 else 's'}"
