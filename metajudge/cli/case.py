"""``metajudge case``: score the stages of cases, and decide what happens to them."""

import contextlib
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import orjson
import typer

from metajudge.cases.panel import CasePanel
from metajudge.cases.reading import read_cases
from metajudge.cases.result import CaseResult
from metajudge.cases.run import CaseTotals, Reviewing, estimate_cases, judge_cases
from metajudge.cli.case_report import counted_cases, print_report, report_of
from metajudge.cli.loop import run, stop_on_interrupt
from metajudge.cli.options import (
    ConcurrencyOption,
    DryRunOption,
    JsonOption,
    JudgeOption,
    JudgesOption,
    ReportOption,
    SeedOption,
    StoreOption,
    StrictOption,
    WebhookOption,
    need_judges,
    panel_from,
    refuse_bad_lines,
    rejects_path,
    store_path,
)
from metajudge.cli.outputs import check_reports
from metajudge.cli.sending import Spending, print_estimate, takes_budget
from metajudge.cli.stored import with_store
from metajudge.decision import DEFAULT_CASE_POLICY, Policy, case_rubric, load_policy
from metajudge.feedback.in_force import policy_in_force
from metajudge.outcomes.sending import webhook_of
from metajudge.report.files import write_report
from metajudge.rubric.yaml_documents import looks_like_path
from metajudge.runs.exit_codes import exit_code
from metajudge.runs.loop import RunEnd, Stop
from metajudge.runs.outputs import OrderedFile, write_lines
from metajudge.runs.progress import Progress
from metajudge.session import Session
from metajudge.settings import Settings

STARTED = time.monotonic()


@takes_budget
def case(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Cases: a JSON object, a list, or one object a line (`metajudge schema case`).", metavar="FILE..."
        ),
    ],
    judge: JudgeOption = None,
    config: JudgesOption = None,
    policy: Annotated[
        str | None,
        typer.Option(help="A policy with a section `cases`, by name or file; default risk_analysis.", metavar="NAME"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write one result per line (JSONL).", metavar="FILE")] = None,
    store: StoreOption = None,
    limit: Annotated[int | None, typer.Option(help="Judge only the first N cases.", min=1)] = None,
    webhook: WebhookOption = None,
    audit_share: Annotated[
        float,
        typer.Option(
            "--review-sample", "--audit-share", help="Fraction of approved and rejected cases sampled for human review."
        ),
    ] = 0.0,
    reviewers: Annotated[int, typer.Option(help="Number of people who decide each review.", min=1, max=20)] = 1,
    concurrency: ConcurrencyOption = 16,
    *,
    spending: Spending,
    seed: SeedOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    dry_run: DryRunOption = False,
    details: Annotated[
        bool, typer.Option("--details", help="Print every criterion's comment, quotes and weaknesses.")
    ] = False,
    report: ReportOption = None,
) -> None:
    """Judge cases: each stage on its criteria, weighted by the case's type; then the policy decides.

    Cases that the policy sends to people are in `metajudge review`. Replies are kept in the store: run the same
    command again to resume. With --json and without --out the results themselves are printed, too.

    Exit code 1: also if the webhook could not be delivered.
    """
    reviewing = Reviewing(audit_share, seed or 0, reviewers)
    where = store_path(store)
    chosen = _policy(policy or DEFAULT_CASE_POLICY, store)
    rubric = case_rubric(chosen, Path(policy).parent if policy and looks_like_path(policy) else None)
    panel = panel_from(config, judge, seed=seed)
    need_judges(panel)
    hook = webhook_of(Settings.load(), webhook)
    found = read_cases(inputs, CasePanel((), chosen, rubric), limit)
    refuse_bad_lines(found.rejects, strict)
    check_reports(report)
    if dry_run:
        estimate = estimate_cases(panel, chosen, rubric, found.cases)
        work = f"{counted_cases(len(found.cases))}, at most {estimate.calls} calls"
        print_estimate(estimate, work, as_json, {"cases": len(found.cases)})
        return
    totals = CaseTotals(cases=len(found.cases), bad_lines=len(found.rejects))

    async def judged(session: Session) -> None:
        stop = Stop()
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(session)
            stop_on_interrupt(stop, RunEnd.INTERRUPTED)
            file = stack.enter_context(OrderedFile(out)) if out is not None else None
            progress = stack.enter_context(Progress(totals, session.meter, len(found.cases)))

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

    with spending.session(panel, where, "case", concurrency) as session:
        run(judged(session))
    rejects = rejects_path(out, where)
    write_lines(rejects, (asdict(reject) for reject in found.rejects))
    totals.store, totals.out = str(where), None if out is None else str(out)
    totals.total_s = time.monotonic() - STARTED
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
    if looks_like_path(name) or not store_path(store).exists():
        return load_policy(name)
    return with_store(store, lambda opened: policy_in_force(name, opened), maker="case")
