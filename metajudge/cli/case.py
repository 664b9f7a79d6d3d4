"""``metajudge case``: score the stages of cases, and decide what happens to them."""

import contextlib
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.cli.loop import run, say, stop_on_interrupt
from metajudge.cli.options import (
    JsonOption,
    StoreOption,
    StrictOption,
    panel_from,
    refuse_bad_lines,
    rejects_path,
    store_path,
)
from metajudge.types.location import StoreLocation

STARTED = time.monotonic()


def case(
    inputs: Annotated[
        list[str],
        typer.Argument(
            help="Cases: a JSON object, a list, or one object a line (`metajudge schema case`).", metavar="FILE..."
        ),
    ],
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", help="A judge: [NAME=]PROVIDER:MODEL[@BASE_URL]. Repeat for several.", metavar="SPEC"),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="Panel file (TOML) whose agents judge; --judge replaces them.", metavar="FILE"),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="A policy with a section `cases`, by name or file; default risk_analysis.", metavar="NAME"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write one result a line (JSONL).", metavar="FILE")] = None,
    store: StoreOption = None,
    limit: Annotated[int | None, typer.Option(help="Judge only the first N cases.", min=1)] = None,
    webhook: Annotated[
        str | None,
        typer.Option(
            help="POST each decision to this URL, signed with METAJUDGE_WEBHOOK_SECRET and sent again on failure.",
            metavar="URL",
        ),
    ] = None,
    audit_share: Annotated[
        float, typer.Option(help="Share of approved and rejected cases that people review as well, drawn at random.")
    ] = 0.0,
    reviewers: Annotated[int, typer.Option(help="How many people are to decide each review.", min=1, max=20)] = 1,
    concurrency: Annotated[int, typer.Option(help="Cases in work at most.", min=1)] = 16,
    budget_usd: Annotated[float | None, typer.Option(help="Stop before spending more than this.")] = None,
    seed: Annotated[int | None, typer.Option(help="Sent to models that take one, and recorded.")] = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate calls, tokens and dollars; send nothing.")
    ] = False,
) -> None:
    """Judge cases: each stage on its criteria, weighted by the case's type; then the policy decides.

    What the policy sends to people waits in `metajudge review`. Replies are kept in the store, so the same command
    again goes on where it stopped. With --json and without --out the results themselves are printed, too.

    Exit code 1 also says that the webhook could not be delivered.
    """
    from metajudge.cases.panel import CasePanel
    from metajudge.cases.reading import read_cases
    from metajudge.cases.run import CaseSummary
    from metajudge.cli.case_report import print_estimate, print_report
    from metajudge.decision import DEFAULT_CASE_POLICY
    from metajudge.errors import ConfigurationError
    from metajudge.runs.exit_codes import exit_code
    from metajudge.runs.outputs import write_lines

    if not 0 <= audit_share <= 1:
        raise ConfigurationError(f"the audited share must lie in 0..1, not {audit_share:g}; .05 audits one in twenty")
    name = policy or DEFAULT_CASE_POLICY
    opening = {"audit_share": audit_share, "seed": seed or 0, "reviewers": reviewers}
    chosen, rubric = _policy(name, store_path(store))
    panel = _judges(config, judge, seed)
    sender = _webhook(webhook)
    found = read_cases(inputs, CasePanel((), chosen, rubric), limit)
    refuse_bad_lines(found.rejects, strict)
    if dry_run:
        print_estimate(panel, chosen, rubric, found, as_json)
        return
    where = store_path(store)
    summary = CaseSummary(cases=len(found.cases), bad_lines=len(found.rejects))
    run(_run(panel, name, rubric, found.cases, where, out, summary, sender, concurrency, budget_usd, opening))
    rejects = rejects_path(out, where)
    write_lines(rejects, (asdict(reject) for reject in found.rejects))
    summary.store, summary.out = str(where), None if out is None else str(out)
    summary.total_s = time.monotonic() - STARTED
    if as_json:
        import orjson

        results = [] if out is not None else [result.model_dump(mode="json") for result in summary.results]
        typer.echo(orjson.dumps({**summary.to_json(), **({"results": results} if out is None else {})}).decode())
    else:
        print_report(summary, found.rejects, rejects)
    raise typer.Exit(exit_code(summary.counts, strict=strict))


def _policy(name: str, store: StoreLocation) -> tuple[Any, Any]:
    """A policy's file, or by name the version in force in the store, whether its file is still there or not."""
    from metajudge.decision import case_rubric, load_policy
    from metajudge.rubric.yaml_documents import looks_like_path

    if looks_like_path(name) or not store.exists():
        chosen = load_policy(name)
    else:
        chosen = run(_in_force(name, store))
    folder = Path(name).parent if looks_like_path(name) else None
    return chosen, case_rubric(chosen, folder)


async def _in_force(name: str, path: StoreLocation) -> Any:
    from metajudge.feedback.loop import FeedbackLoop
    from metajudge.store import open_store

    store = await open_store(path)
    try:
        return await FeedbackLoop(store, clock=time.time).active(name)
    finally:
        await store.close()


def _judges(config: Path | None, judges: list[str] | None, seed: int | None) -> Any:
    """The judges as a panel of agents without rubric or role, each asked on its own."""
    from metajudge.errors import ConfigurationError

    panel = panel_from(config, judges, seed=seed)
    if not panel.agents:
        raise ConfigurationError("no judge: give --judge PROVIDER:MODEL, or a --config with agents")
    discussion = type(panel.discussion)()
    return panel.model_copy(update={"strategy": "rejudge", "routes": {}, "quorum": None, "discussion": discussion})


def _webhook(url: str | None) -> Any:
    if url is None:
        return None
    from metajudge.cases.webhook import Webhook
    from metajudge.settings import Settings

    settings = Settings.load()
    return Webhook.at(url, settings.webhook_secret, allow_private=settings.webhook_private)


async def _run(
    panel: Any,
    policy_name: str,
    rubric: Any,
    cases: list[Any],
    store: StoreLocation,
    out: Path | None,
    summary: Any,
    sender: Any,
    concurrency: int,
    budget_usd: float | None,
    opening: dict[str, Any],
) -> None:
    from metajudge.cases.delivery import send_all
    from metajudge.cases.panel import CasePanel
    from metajudge.cases.run import case_judges, judge_cases
    from metajudge.decision import check_rubric
    from metajudge.runs.loop import RunEnd, Stop
    from metajudge.runs.outputs import OrderedFile
    from metajudge.runs.progress import Progress
    from metajudge.vetting.engine import Engine

    stop = Stop()
    engine = Engine(
        panel=panel, store=store, command="case", notify=say, concurrency=concurrency, budget_usd=budget_usd
    )
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(engine)
        stop_on_interrupt(stop, RunEnd.INTERRUPTED)
        policy = await engine.policy_in_force(policy_name)
        check_rubric(policy, rubric)
        file = stack.enter_context(OrderedFile(out)) if out is not None else None
        progress = stack.enter_context(Progress(summary, engine, len(cases)))
        await judge_cases(
            engine,
            CasePanel(case_judges(engine), policy, rubric),
            cases,
            file=file,
            summary=summary,
            workers=concurrency,
            progress=progress.update,
            stop=stop,
            opening=opening,
        )
        if sender is not None:
            summary.webhook = await send_all(sender, summary.results, engine.store, say)
