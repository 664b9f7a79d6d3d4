"""The totals of a judging run, for people."""

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from metajudge.judging.run import JudgeTotals


def print_report(totals: JudgeTotals) -> None:
    """Prints verdicts by judge, calls and cost, and the next step."""
    console = Console(highlight=False)
    console.print(f"Judged {totals.items} items: {totals.judgments} judgments", soft_wrap=True, markup=False)
    console.print(_counts(totals))
    for line in (*_problems(totals), totals.took, *_next(totals)):
        console.print(line, soft_wrap=True, markup=False)


def _counts(totals: JudgeTotals) -> Table:
    table = Table(box=None)
    table.add_column("judge", overflow="fold")
    graded = any(count.grades for count in totals.by_judge.values())
    for heading in (*(["grades"] if graded else ["preferences", "ties"]), "no verdict", "not asked"):
        table.add_column(heading, justify="right")
    for name, count in totals.by_judge.items():
        given = (count.grades,) if graded else (count.preferences, count.ties)
        numbers = (*given, count.no_verdict, count.failed)
        table.add_row(name, *(str(number) for number in numbers))
    return table


def _problems(totals: JudgeTotals) -> list[str]:
    lines = []
    if totals.combined is not None:
        lines.append(f"{totals.combined} verdicts were combined from the games of both orders.")
    if totals.no_verdict:
        lines.append(f"Without a verdict, recorded with the reason: {_kinds(totals.no_verdict)}.")
    if totals.failures:
        lines.append(
            f"Failed calls: {_kinds(totals.failures)}; see {totals.out}.failures.jsonl. "
            "Run the same command again to retry them."
        )
    if totals.bad_lines:
        lines.append(f"{totals.bad_lines} lines could not be judged; the reasons are in {totals.out}.rejects.jsonl")
    return lines


def _next(totals: JudgeTotals) -> list[str]:
    if totals.end.next_step is not None:
        return [totals.end.next_step]
    if not totals.judgments:
        return []
    return [f"Vet them: metajudge vet {totals.out} --agent PROVIDER:MODEL"]


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
