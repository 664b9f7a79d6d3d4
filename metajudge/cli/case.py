"""``metajudge case``: score the stages of cases, and decide what happens to them."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer
from rich.console import Console

from metajudge.cases.panel import CasePanel
from metajudge.cases.result import CaseResult, CriterionResult, StageResult
from metajudge.cases.run import CaseTotals, Reviewing, estimate_cases, judge_cases, read_cases
from metajudge.cli import options
from metajudge.cli.loop import with_store
from metajudge.cli.sending import Spending, SpendingOnCases, print_estimate
from metajudge.decision import DEFAULT_CASE_POLICY, VERIFIED_POLICY, Policy, case_rubric, load_policy
from metajudge.feedback.loop import policy_in_force
from metajudge.files.yaml_documents import looks_like_path
from metajudge.outcomes.sending import webhook_of
from metajudge.reading.containers.lines import Reject
from metajudge.report.document import Report, Section, Table
from metajudge.report.files import write_report
from metajudge.report.tables import table_with
from metajudge.runs.exit_codes import exit_code
from metajudge.runs.loop import Stop
from metajudge.runs.outputs import OrderedFile, write_lines
from metajudge.runs.progress import Progress
from metajudge.runs.totals import in_words
from metajudge.session import Session
from metajudge.settings import Settings

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
    said = f"{options.counted(len(rejects), 'case')} could not be judged, with reasons in {where}; the first: "
    problems = [f"{said}{reject}" for reject in rejects[:1]]
    for line in (*_counts(summary), *problems, summary.took, *filter(None, [summary.end.next_step])):
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
    for name, one in stage.criteria.items():
        sure = "" if one.confidence is None else f", confidence {one.confidence:.2f}"
        lines.append(f"{name}: {one.score_in_words}{sure}. {one.comment}")
        lines += [f"  quote {quote.where}: {quote.quote}" for quote in one.evidence]
        lines += [f"  weakness: {weakness}" for weakness in one.weaknesses]
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
    lines = [f"Decided {summary.decided} of {options.counted(summary.cases, 'case')}: {actions}."]
    warning = summary.quotes.warning
    if warning is not None:
        lines.append(f"{warning} Bands can look at that: policy {VERIFIED_POLICY} does, --details lists the quotes.")
    if summary.gated:
        lines.append(f"{summary.gated} of them ended at the gate.")
    if summary.reviews:
        lines.append(
            f"{summary.reviews} are waiting for review: {options.advised('review', 'next', '--reviewer', 'NAME')}"
        )
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


def _section(result: CaseResult) -> Section:
    paragraphs = (result.reasoning, *(f"Warning: {one}" for one in result.warnings), *result.tips)
    blocks = []
    for stage in result.stages:
        blocks += [_table(_stage_line(stage), stage.criteria)] if stage.criteria else []
        blocks += [_table(f"{stage.name} by {one.judge}", one.criteria) for one in stage.each_judge if one.criteria]
    return Section(title=f"{result.case_id}: {result.action}", paragraphs=paragraphs, blocks=tuple(blocks))


def _table(caption: str, criteria: Mapping[str, CriterionResult]) -> Table:
    return table_with(
        caption,
        criteria.items(),
        ("criterion", lambda one: one[0]),
        ("score", lambda one: one[1].score_in_words),
        ("confidence", lambda one: "" if one[1].confidence is None else f"{one[1].confidence:.2f}"),
        ("comment", lambda one: one[1].comment),
        ("quotes", lambda one: " | ".join(f"{quote.quote} ({quote.where})" for quote in one[1].evidence)),
        ("weaknesses", lambda one: " | ".join(one[1].weaknesses)),
    )


@options.takes("spending", SpendingOnCases)
@options.takes("judges", options.Judges)
def case(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Cases: a JSON object, a list, or one object a line (`metajudge schema case`).", metavar="FILE..."
        ),
    ],
    judges: options.Judges,
    policy: Annotated[
        str | None,
        typer.Option(help="A policy with a section `cases`, by name or file; default risk_analysis.", metavar="NAME"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write one result per line (JSONL).", metavar="FILE")] = None,
    store: options.StoreOption = None,
    limit: Annotated[int | None, typer.Option(help="Judge only the first N cases.", min=1)] = None,
    webhook: options.WebhookOption = None,
    audit_share: Annotated[
        float,
        typer.Option(
            "--review-sample", "--audit-share", help="Fraction of approved and rejected cases sampled for human review."
        ),
    ] = 0.0,
    reviewers: Annotated[int, typer.Option(help="Number of people who decide each review.", min=1, max=20)] = 1,
    *,
    spending: Spending,
    seed: options.SeedOption = None,
    strict: options.StrictOption = False,
    as_json: options.JsonOption = False,
    dry_run: options.DryRunOption = False,
    details: Annotated[
        bool, typer.Option("--details", help="Print every criterion's comment, quotes and weaknesses.")
    ] = False,
    report: options.ReportOption = None,
) -> None:
    """Judge cases: each stage on its criteria, weighted by the case's type; then the policy decides.

    Cases that the policy sends to people are in `metajudge review`. Replies are kept in the store: run the same
    command again to resume. With --json and without --out the results themselves are printed, too.

    Exit code 1: also if the webhook could not be delivered.
    """
    reviewing = Reviewing(audit_share, seed or 0, reviewers)
    where = options.store_path(store)
    chosen = _policy(policy or DEFAULT_CASE_POLICY, store)
    rubric = case_rubric(chosen, Path(policy).parent if policy and looks_like_path(policy) else None)
    panel = judges.panel(seed=seed)
    hook = webhook_of(Settings.load(), webhook)
    found = read_cases(inputs, CasePanel((), chosen, rubric), limit)
    options.refuse_bad_lines(found.rejects, strict)
    options.check_reports(report)
    if dry_run:
        estimate = estimate_cases(panel, chosen, rubric, found.cases)
        work = f"{options.counted(len(found.cases), 'case')}, at most {estimate.calls} calls"
        print_estimate(estimate, work, panel, "case", as_json, {"cases": len(found.cases)})
        return
    totals = CaseTotals(cases=len(found.cases), bad_lines=len(found.rejects))

    async def judged(session: Session, stop: Stop, progress: Progress) -> None:
        with contextlib.nullcontext() if out is None else OrderedFile(out) as file:

            def on_result(index: int, result: CaseResult) -> None:
                if file is not None:
                    file.write(index, result.model_dump_json().encode() + b"\n")
                progress.update()

            await judge_cases(
                session,
                found.cases,
                policy=chosen,
                rubric=rubric,
                reviewing=reviewing,
                webhook=hook,
                on_result=on_result,
                totals=totals,
                stop=stop,
            )

    spending.run(judged, totals, len(found.cases), panel, where, "case")
    rejects = options.rejects_path(out, where)
    write_lines(rejects, (asdict(reject) for reject in found.rejects))
    totals.store, totals.out = str(where), None if out is None else str(out)
    if as_json:
        results = {} if out else {"results": [result.model_dump(mode="json") for result in totals.results]}
        typer.echo(orjson.dumps({**totals.to_json(), **results}).decode())
    else:
        print_report(totals, found.rejects, rejects, details=details)
    for path in report or ():
        write_report(report_of(totals), path)
    raise typer.Exit(exit_code(totals.counts, strict=strict))


def _policy(name: str, store: str | None) -> Policy:
    """A policy's file, or by name the version in force in the store, even if its file is gone."""
    if looks_like_path(name) or not options.store_path(store).exists():
        return load_policy(name)
    return with_store(store, lambda opened: policy_in_force(name, opened), maker="case")
