"""The summary of a vetting run, for people."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from metajudge.cli.vet import LabelCount
from metajudge.panel_file import PanelConfig
from metajudge.providers.local_files import DEMO_MARK
from metajudge.runs import RunEnd
from metajudge.stats.intervals import wilson
from metajudge.summary import VetSummary

MARKS = {
    "seen_in_fit": "were fitted on: theirs are the stored out-of-fold probabilities",
    "question_seen_in_fit": "share a question with the fit: their probabilities may be too good",
    "unknown_category": "are of a category the fit does not know: a coarser model answers",
    "other_judge": "are by a judge the fit does not know",
    "absent_signal": "lack a signal that was always there in the fit",
    "undecided_verdict": "have no probability: a tie, a ranking, a grade or no verdict",
    "no_agent_scores": "have no probability: no agent gave a score",
}
"""What the marks of probabilities mean, as counts are printed."""


def print_report(summary: VetSummary, labels: LabelCount, panel: PanelConfig, rejects: Path) -> None:
    """Prints counts, what the labels say, what it took and how to go on."""
    console = Console(highlight=False)
    evidence = "free evidence alone" if summary.guarantees else "free evidence alone, uncalibrated"
    by = evidence if panel.chosen_strategy == "signals" else _agents(panel)
    kept = "the guaranteed probability" if summary.guarantees else f"{panel.threshold:g}"
    console.print(f"Vetted by {by}; kept above {kept}", soft_wrap=True, markup=False)
    for notice in summary.notices:
        if DEMO_MARK in notice:
            console.print(f"Note: {notice}", soft_wrap=True, markup=False)
    console.print(_counts(summary))
    for line in (
        *_calibration_lines(summary),
        *_decision_lines(summary),
        *_label_lines(labels),
        *_cost_lines(summary),
        *_where(summary, rejects),
    ):
        console.print(line, soft_wrap=True, markup=False)
    for line in _how_to_go_on(summary, panel):
        console.print(line, soft_wrap=True, markup=False)


def _counts(summary: VetSummary) -> Table:
    table = Table(box=None)
    table.add_column("")
    table.add_column("judgments", justify="right")
    table.add_column("", overflow="fold")
    table.add_row("kept", str(summary.accepted), "")
    table.add_row("discarded", str(summary.rejected), "")
    why = "too few valid answers for a decision" + (", or no probability" if summary.guarantees else "")
    table.add_row("unscored", str(summary.unscored), why if summary.unscored else "")
    table.add_row("failed", str(summary.failed), _kinds(summary.failures) if summary.failed else "")
    if summary.reused:
        table.add_row("of these, known before", str(summary.reused), "taken from the store, nothing asked")
    if summary.renormalised:
        table.add_row("of these, renormalised", str(summary.renormalised), "an agent's answer is missing")
    if summary.bad_lines:
        table.add_row("bad lines", str(summary.bad_lines), "could not be read as judgments")
    if summary.duplicates:
        table.add_row("repeated lines", str(summary.duplicates), "same id and content: vetted once")
    return table


def _agents(panel: PanelConfig) -> str:
    names = ", ".join(agent.spec() for agent in panel.agents)
    rubric = "" if panel.chosen_strategy == "rejudge" else f" with rubric {panel.rubric}"
    return f"{panel.chosen_strategy} of {names}{rubric}"


def _kinds(failures: Any) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(failures.items()))


def _label_lines(labels: LabelCount) -> list[str]:
    if not labels.all:
        return []
    lines = [
        "",
        "By the labels in the input (which vetting does not see):",
        f"  kept   {_share(labels.kept_correct, labels.kept)}",
        f"  all    {_share(labels.all_correct, labels.all)}",
    ]
    if labels.wrongly_kept:
        wrong = labels.kept - labels.kept_correct
        more = " ..." if wrong > len(labels.wrongly_kept) else ""
        lines.append(f"  kept although wrong: {', '.join(labels.wrongly_kept)}{more}")
    return lines


def _calibration_lines(summary: VetSummary) -> list[str]:
    if not summary.calibrated:
        return []
    lines = ["", f"{summary.with_probability} of {summary.judgments} judgments have a calibrated probability."]
    lines += [f"  {count} {MARKS.get(mark, mark)}" for mark, count in sorted(summary.probability_marks.items())]
    lines += summary.guarantees or ["No guaranteed threshold is stored in the calibration: kept by the score alone."]
    return lines


def _decision_lines(summary: VetSummary) -> list[str]:
    if summary.policy is None:
        return []
    counts = [f"  {count} {action}" for action, count in sorted(summary.decisions.items())]
    queued = f"{summary.reviews} reviews are new in the queue: metajudge review next --reviewer NAME"
    return ["", f"Decided by policy {summary.policy}:", *counts, *([queued] if summary.reviews else [])]


def _share(correct: int, count: int) -> str:
    if count == 0:
        return "nothing"
    interval = wilson(correct, count)
    return (
        f"{correct} of {count} right, precision {100 * correct / count:.1f} % "
        f"(95 % Wilson interval {100 * interval.low:.1f} to {100 * interval.high:.1f})"
    )


def _cost_lines(summary: VetSummary) -> list[str]:
    if summary.calls == 0 and summary.cached_calls == 0:
        return ["", f"No model was asked. {summary.total_s:.1f} s."]
    cost = f"${summary.known_cost_usd:.4f}"
    if summary.cost_usd is None:
        cost = f"at least {cost}, a price or the usage is unknown"
    usage = summary.usage
    lines = [
        "",
        f"{summary.calls} calls ({summary.cached_calls} more from the store), {usage.input_tokens:,} input and "
        f"{usage.output_tokens:,} output tokens, {cost}, {summary.total_s:.1f} s.",
    ]
    if summary.agent_failures:
        lines.append(f"Agents' failures: {_kinds(summary.agent_failures)}.")
    return lines


def _where(summary: VetSummary, rejects: Path) -> list[str]:
    lines = []
    if summary.store is not None:
        lines.append(f"Kept in {summary.store}, run {summary.run_id}: `metajudge show JUDGMENT_ID` tells why.")
        lines += [f"Assessments, one a line: {summary.out}"] if summary.out else []
    elif summary.out:
        lines.append(f"Kept as Parquet in {summary.out}, run {summary.run_id}: column `assessment` holds all of it.")
    if summary.bad_lines:
        lines.append(f"Bad lines with reasons: {rejects}")
    return lines


def _how_to_go_on(summary: VetSummary, panel: PanelConfig) -> list[str]:
    if summary.end is RunEnd.INTERRUPTED:
        return ["Interrupted. Give the same command again to go on from here."]
    if summary.end is RunEnd.PENDING:
        return ["Batches are with their provider. Give the same command again to collect them and go on."]
    if summary.end is RunEnd.BUDGET:
        return ["The budget is reached. Give the same command with a larger budget to go on from here."]
    if panel.chosen_strategy == "signals" and not summary.guarantees:
        return [
            "These scores are a heuristic over free evidence, not calibrated. To have models score the judgments,",
            "add meta-judges: metajudge vet INPUT --agent openai:gpt-4o-mini --agent anthropic:claude-sonnet-4-5",
        ]
    return []
