"""The text output of ``metajudge case``."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from metajudge.cases.result import CaseResult, StageResult
from metajudge.cases.run import CaseTotals
from metajudge.cases.sheet import CriterionLine, judge_sheets, stage_rows
from metajudge.cli.options import advised
from metajudge.decision import VERIFIED_POLICY
from metajudge.readers.lines import Reject
from metajudge.report.document import Column, Report, Section, Table
from metajudge.runs.totals import in_words

MOST_SHOWN = 20
"""Maximum number of cases printed; the file or the store has all of them."""


def print_report(summary: CaseTotals, rejects: Sequence[Reject], where: Path, *, details: bool = False) -> None:
    """Prints each case's stages and decision, then the run's counts.

    Args:
        details: also every criterion's comment, quotes and weaknesses, and all of what tips the decision.
    """
    console = Console(highlight=False)
    for result in summary.results[:MOST_SHOWN]:
        for line in _case_lines(result, details):
            console.print(line, soft_wrap=True, markup=False)
    if len(summary.results) > MOST_SHOWN:
        console.print(f"... and {len(summary.results) - MOST_SHOWN} more cases", markup=False)
    for line in (*_counts(summary), *_bad(rejects, where), summary.took, *filter(None, [summary.end.next_step])):
        console.print(line, soft_wrap=True, markup=False)


def _case_lines(result: CaseResult, details: bool) -> list[str]:
    lines = [f"{result.case_id} ({result.type}, weights {result.metadata.weights_used}): {result.action}"]
    for stage in result.stages:
        lines.append(f"  {_stage_line(stage)}")
        if details:
            lines += [f"    {line}" for line in _details(stage)]
    lines.append(f"  {result.reasoning}")
    lines += [f"  {tip}" for tip in (result.tips if details else result.tips[:1])]
    lines += [f"  Warning: {warning}" for warning in result.warnings]
    return lines


def _details(stage: StageResult) -> list[str]:
    """Each criterion's comment, quotes and weaknesses; where several judged, a judge's name is in its comment."""
    lines = []
    for row in stage_rows(stage):
        sure = "" if row.confidence is None else f", confidence {row.confidence:.2f}"
        score = "does not apply" if row.score is None else f"{row.score:g}"
        lines.append(f"{row.name}: {score}{sure}. {row.comment}")
        lines += [f"  quote {one.where}: {one.text}" for one in row.quotes]
        lines += [f"  weakness: {one}" for one in row.weaknesses]
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
    actions = in_words(summary.actions) or "none"
    lines = [f"Decided {summary.decided} of {counted_cases(summary.cases)}: {actions}."]
    warning = summary.quotes.warning
    if warning is not None:
        lines.append(f"{warning} Bands can look at that: policy {VERIFIED_POLICY} does, --details lists the quotes.")
    if summary.gated:
        lines.append(f"{summary.gated} of them ended at the gate.")
    if summary.reviews:
        lines.append(f"{summary.reviews} are waiting for review: {advised('review', 'next', '--reviewer', 'NAME')}")
    if summary.failures:
        lines.append(f"Judges' failures: {in_words(summary.failures)}. Run the same command again to retry them.")
    return [*lines, *filter(None, [summary.webhook_sentence])]


def report_of(summary: CaseTotals) -> Report:
    """Every case with each stage's scores, reasons and quotes, and what tips the decision."""
    warning = summary.quotes.warning
    first = summary.results[0].metadata if summary.results else None
    return Report(
        title="Cases",
        summary=(*_counts(summary), *([] if warning is None else [warning])),
        sections=tuple(_section(result) for result in summary.results),
        provenance={}
        if first is None
        else {
            "policy": f"{first.policy}, digest {first.policy_digest}",
            "rubric": f"{first.rubric}, digest {first.rubric_digest}",
            "judges": ", ".join(f"{name} ({model})" for name, model in first.judge_models.items()),
            "metajudge": first.metajudge_version,
        },
    )


_TITLES = ("criterion", "score", "confidence", "comment", "quotes", "weaknesses")
_CRITERIA = tuple(Column(title=title) for title in _TITLES)


def _section(result: CaseResult) -> Section:
    paragraphs = (result.reasoning, *(f"Warning: {one}" for one in result.warnings), *result.tips)
    blocks = []
    for stage in result.stages:
        blocks += [_table(_stage_line(stage), stage_rows(stage))] if stage.criteria else []
        for judge in judge_sheets(stage):
            if judge.rows:
                blocks.append(_table(f"{stage.name} by {judge.judge}", judge.rows))
    return Section(title=f"{result.case_id}: {result.action}", paragraphs=paragraphs, blocks=tuple(blocks))


def _table(caption: str, rows: Sequence[CriterionLine]) -> Table:
    return Table(caption=caption, columns=_CRITERIA, rows=tuple(_row(one) for one in rows))


def _row(one: CriterionLine) -> tuple[str, ...]:
    return (
        one.name,
        "does not apply" if one.score is None else f"{one.score:g}",
        "" if one.confidence is None else f"{one.confidence:.2f}",
        one.comment,
        " | ".join(f"{quote.text} ({quote.where})" for quote in one.quotes),
        " | ".join(one.weaknesses),
    )


def _bad(rejects: Sequence[Reject], where: Path) -> list[str]:
    if not rejects:
        return []
    return [f"{counted_cases(len(rejects))} could not be judged, with reasons in {where}; the first: {rejects[0]}"]


def counted_cases(count: int) -> str:
    """A number of cases as text."""
    return f"{count} case{'' if count == 1 else 's'}"
