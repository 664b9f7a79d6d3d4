"""The summary of a judging run, for people."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from metajudge.judging.run import JudgeSummary
from metajudge.runs.loop import RunEnd


def print_report(summary: JudgeSummary) -> None:
    """Prints what each judge gave, what it took, and how to go on."""
    console = Console(highlight=False)
    console.print(f"Judged {summary.items} items: {summary.judgments} judgments", soft_wrap=True, markup=False)
    console.print(_counts(summary))
    for line in (*_problems(summary), _took(summary), *_next(summary)):
        console.print(line, soft_wrap=True, markup=False)


def _counts(summary: JudgeSummary) -> Table:
    table = Table(box=None)
    table.add_column("judge", overflow="fold")
    graded = any(count.grades for count in summary.by_judge.values())
    for heading in (*(["grades"] if graded else ["preferences", "ties"]), "no verdict", "not asked"):
        table.add_column(heading, justify="right")
    for name, count in summary.by_judge.items():
        given = (count.grades,) if graded else (count.preferences, count.ties)
        numbers = (*given, count.no_verdict, count.failed)
        table.add_row(name, *(str(number) for number in numbers))
    return table


def _problems(summary: JudgeSummary) -> list[str]:
    lines = []
    if summary.combined is not None:
        lines.append(f"{summary.combined} verdicts were made of the games of both orders.")
    if summary.no_verdict:
        lines.append(f"Without a verdict, recorded with the reason: {_kinds(summary.no_verdict)}.")
    if summary.failures:
        lines.append(
            f"Could not be asked: {_kinds(summary.failures)}; see {summary.out}.failures.jsonl. "
            "The same command asks them again."
        )
    if summary.bad_lines:
        lines.append(f"{summary.bad_lines} lines could not be judged, with reasons: {summary.out}.rejects.jsonl")
    return lines


def _took(summary: JudgeSummary) -> str:
    cost = f"${summary.known_cost_usd:.4f}"
    if summary.cost_usd is None:
        cost = f"at least {cost}, a price or the usage is unknown"
    usage = summary.usage
    return (
        f"{summary.calls} calls ({summary.cached_calls} more from the store), {usage.input_tokens:,} input and "
        f"{usage.output_tokens:,} output tokens, {cost}, {summary.total_s:.1f} s."
    )


def _next(summary: JudgeSummary) -> list[str]:
    if summary.end is RunEnd.INTERRUPTED:
        return ["Interrupted. Give the same command again to go on from here."]
    if summary.end is RunEnd.PENDING:
        return ["Batches are with their provider. Give the same command again to collect them and go on."]
    if summary.end is RunEnd.BUDGET:
        return ["The budget is reached. Give the same command with a larger budget to go on from here."]
    if not summary.judgments:
        return []
    return [f"Vet them: metajudge vet {summary.out} --agent PROVIDER:MODEL"]


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
