"""``metajudge bench``: precision of judgments on a benchmark with true labels."""

import contextlib
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from metajudge.cli.fail_under import FAIL_UNDER_HELP, FAIL_UNDER_METAVAR, of_findings, parse_fail_under, tell_missed
from metajudge.cli.loop import HOW_TO_GO_ON
from metajudge.cli.options import (
    AgentOption,
    ConfigOption,
    StoreOption,
    StrictOption,
    panel_from,
    refuse_bad_lines,
    store_path,
)
from metajudge.cli.sending import (
    DEFAULT_POLL_S,
    BatchLiveBelowOption,
    BatchOption,
    BatchPollOption,
    BatchSizeOption,
    BatchWaitOption,
    BudgetCallsOption,
    BudgetFileOption,
    BudgetTokensOption,
    BudgetUsdOption,
    batches_of,
    budget_of,
)

SIGNALS_HELP = (
    "Which signals count, separated by commas: order, strength, peers, rewards, rationale, format, agents. "
    "Default: the calibration's, else all that the free-evidence score weighs."
)


def bench(
    name: Annotated[
        str,
        typer.Argument(help="judgebench, llmbar, agent_clash or reliability; `list` says more.", metavar="NAME|list"),
    ],
    data: Annotated[
        list[Path] | None,
        typer.Option("--data", help="Folder of the benchmark's records, or its repository.", metavar="DIR"),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(help="Report only this judge; for reliability: a judge, PROVIDER:MODEL. Repeatable."),
    ] = None,
    agent: AgentOption = None,
    rubric: Annotated[str | None, typer.Option(help="short, long, binary, baseline or a YAML file.")] = None,
    strategy: Annotated[str | None, typer.Option(help="How agents' scores become one, as for `vet`.")] = None,
    families: Annotated[
        str | None,
        typer.Option(help="Agents of the judge's or a candidate's family: warn (default), forbid or ignore."),
    ] = None,
    config: ConfigOption = None,
    baseline: Annotated[
        str | None,
        typer.Option(help="The judge's own model, as the single-agent baseline: PROVIDER:MODEL.", metavar="SPEC"),
    ] = None,
    grid: Annotated[
        str | None, typer.Option(help="A grid of configurations: a TOML file, or `published`.", metavar="FILE")
    ] = None,
    signals: Annotated[str | None, typer.Option(help=SIGNALS_HELP, metavar="NAMES")] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="A calibration made by `metajudge calibrate fit`.", metavar="FILE")
    ] = None,
    agent_scores: Annotated[
        Path | None,
        typer.Option(
            help="Assessments of an earlier run, for a calibration that reads agents' scores.", metavar="FILE"
        ),
    ] = None,
    allow_other_calibration: Annotated[
        bool,
        typer.Option(
            "--allow-other-calibration", help="Apply it to other judges or agents than it was fitted on; marked."
        ),
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Report only the first N judgments.", min=1)] = None,
    threshold: Annotated[float | None, typer.Option(help="Keep scores strictly above; default 4.5.")] = None,
    store: StoreOption = None,
    concurrency: Annotated[int, typer.Option(help="Calls in flight at most.", min=1)] = 64,
    budget_usd: BudgetUsdOption = None,
    budget_calls: BudgetCallsOption = None,
    budget_tokens: BudgetTokensOption = None,
    budget_file: BudgetFileOption = None,
    batch: BatchOption = False,
    batch_wait: BatchWaitOption = None,
    batch_live_below: BatchLiveBelowOption = 0,
    batch_size: BatchSizeOption = None,
    batch_poll: BatchPollOption = DEFAULT_POLL_S,
    seed: Annotated[int | None, typer.Option(help="Sent to models that take one, and recorded.")] = None,
    scores: Annotated[
        Path | None, typer.Option(help="Write one line a decided judgment (JSONL).", metavar="OUT.jsonl")
    ] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write everything found.", metavar="OUT.json")] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Write a report: .html, .md or .json by its name. Repeatable.", metavar="OUT.html"),
    ] = None,
    fail_under: Annotated[
        list[str] | None, typer.Option("--fail-under", help=FAIL_UNDER_HELP, metavar=FAIL_UNDER_METAVAR)
    ] = None,
    strict: StrictOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Estimate calls, tokens and dollars; send nothing.")
    ] = False,
    runs: Annotated[int, typer.Option(help="reliability: full runs, each with labels and replies of its own.")] = 2,
    targeted_third: Annotated[
        bool,
        typer.Option(
            "--targeted-third",
            help="reliability: one more run of all stable-wrong, all unstable and the least confident stable-right.",
        ),
    ] = False,
    third_size: Annotated[
        int | None, typer.Option(help="reliability: pairs of the third run; default 60 % of all.", metavar="N")
    ] = None,
    criteria_model: Annotated[
        str | None, typer.Option(help="reliability: names criteria for each question; default the generic four.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(help="reliability: draw N of the eligible pairs, with seed 42.", metavar="N")
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(help="reliability: append every attempt, and go on from those there.", metavar="OUT.jsonl"),
    ] = None,
) -> None:
    """Measure judges, and vetting of their judgments, on true labels.

    Without agents nothing is asked: accuracy of judges, and precision of what free evidence keeps. `agent_clash`
    recomputes a published study of a judge panel, `reliability` runs a panel of yours again and again.
    """
    from metajudge.runs.exit_codes import exit_code

    if name == "list":
        _print_list()
        return
    _check_outputs(scores, records, json_out, report or [])
    of_agents: dict[str, Any] = {
        "--agent": agent,
        "--rubric": rubric,
        "--strategy": strategy,
        "--families": families,
        "--baseline": baseline,
        "--grid": grid,
    }
    of_agents |= {"--signals": signals, "--calibration": calibration, "--agent-scores": agent_scores}
    of_agents |= {"--allow-other-calibration": allow_other_calibration}
    of_agents |= {"--threshold": threshold, "--scores": scores, "--fail-under": fail_under}
    bars = parse_fail_under(fail_under)
    of_panels: dict[str, Any] = {"--targeted-third": targeted_third, "--third-size": third_size, "--sample": sample}
    of_panels |= {"--criteria-model": criteria_model, "--records": records}
    if name in ("agent_clash", "reliability"):
        _refuse(name, {"--batch": batch, "--budget-calls": budget_calls, "--budget-tokens": budget_tokens})
        _refuse(name, {"--budget-file": budget_file})
    if name == "agent_clash":
        _refuse(name, of_agents | of_panels | {"--judge": judge, "--limit": limit, "--config": config})
        from metajudge.cli.bench_studies import agent_clash

        agent_clash(_folder(name, data), json_out, report or [])
        return
    if name == "reliability":
        _refuse(name, of_agents)
        from metajudge.cli.bench_studies import PanelOptions, reliability

        panel_options = PanelOptions(
            data=_folder(name, data),
            judges=judge or [],
            config=config,
            criteria_model=criteria_model,
            runs=runs,
            targeted_third=targeted_third,
            third_size=third_size,
            sample=sample,
            limit=limit,
            seed=seed or 0,
            records=records,
            store=store_path(store),
            concurrency=concurrency,
            budget_usd=budget_usd,
            strict=strict,
            dry_run=dry_run,
        )
        raise typer.Exit(reliability(panel_options, json_out, report or []))
    _refuse(name, of_panels)
    if calibration is None and (agent_scores is not None or allow_other_calibration):
        raise typer.BadParameter("--agent-scores and --allow-other-calibration need --calibration to use them")
    benching: Any = import_module("metajudge.benchmarks.bench")
    panel = None
    if agent or config is not None:
        panel = panel_from(
            config,
            agent,
            rubric=rubric,
            strategy=strategy,
            threshold=threshold,
            seed=seed,
            early_exit=False,
            families=families,
        )
    elif rubric is not None or strategy is not None or families is not None:
        raise typer.BadParameter("a rubric, strategy or --families needs agents to use it: give --agent or --config")
    request = benching.Request(
        benchmark=name,
        data=_folder(name, data),
        judges=tuple(judge) if judge else None,
        limit=limit,
        signals=None if signals is None else tuple(part.strip() for part in signals.split(",") if part.strip()),
        threshold=4.5 if threshold is None else threshold,
        panel=panel,
        baseline=baseline,
        grid=grid,
    )
    work = benching.Bench(request)
    refuse_bad_lines([work.first_reject] if work.first_reject is not None else [], strict)
    plan = work.plan(dry_run=dry_run)
    if dry_run:
        _print_prices(work, plan)
        return
    where = store_path(store)
    batches = batches_of(
        where, batch, wait_s=batch_wait, live_below=batch_live_below, size=batch_size, poll_s=batch_poll
    )
    with contextlib.closing(budget_of(budget_usd, budget_calls, budget_tokens, budget_file)) as budget:
        options = {"store": where, "concurrency": concurrency, "command": "bench", "budget": budget, "batch": batches}
        results = _ask(work, plan, options) if plan.rows else []
    calibrated = None
    if calibration is not None:
        loading: Any = import_module("metajudge.benchmarks.calibrated")
        calibrated = loading.load_calibrated(calibration, work, results, agent_scores, allow_other_calibration)
    findings = work.findings(plan, results, calibrated)
    _print_findings(findings)
    _write(work, findings, results, calibrated, scores, json_out, report or [])
    missed = tell_missed(of_findings(bars, findings))
    raise typer.Exit(exit_code(_counts(results, work.source.rejects), strict=strict, bar_missed=missed))


def _refuse(name: str, options: dict[str, Any]) -> None:
    """An option that would be ignored is a mistake worth knowing of."""
    given = [option for option, value in options.items() if value is not None and value is not False]
    if given:
        raise typer.BadParameter(f"{', '.join(given)} is not for `bench {name}`: leave it out")


def _print_list() -> None:
    catalogue: Any = import_module("metajudge.benchmarks.catalogue")
    for benchmark in catalogue.BENCHMARKS.values():
        card = benchmark.card
        typer.echo(f"{card.name:<12} {card.citation}")
        typer.echo(f"{'':<12} labels: {card.label_rule}; licence: {card.licence}")
        typer.echo(f"{'':<12} {card.repository}")
    for study in catalogue.STUDIES.values():
        typer.echo(f"{study.name:<12} {study.title}")
        typer.echo(f"{'':<12} {study.source}")


def _folder(name: str, given: list[Path] | None) -> Path:
    if given and len(given) > 1:
        raise typer.BadParameter("one at a time: put the files together in one folder", param_hint="--data")
    data = given[0] if given else None
    catalogue: Any = import_module("metajudge.benchmarks.catalogue")
    if name in catalogue.STUDIES:
        if data is None:
            raise typer.BadParameter(f"give --data: {catalogue.STUDIES[name].source}")
        return data
    catalogue.benchmark_named(name)
    if data is None:
        raise typer.BadParameter(f"give --data DIR; `metajudge data fetch {name} --out DIR` gets the public data")
    return data


def _check_outputs(scores: Path | None, records: Path | None, json_out: Path | None, reports: list[Path]) -> None:
    """Before any work: nothing is worse than an hour of calls and no place for the result."""
    from metajudge.report.files import check_report_path, check_writable

    for path in (scores, records, json_out):
        if path is not None:
            check_writable(path)
    for path in reports:
        check_report_path(path)


def _ask(work: Any, plan: Any, options: dict[str, Any]) -> list[Any]:
    from metajudge.cli.loop import run, say, stop_on_interrupt
    from metajudge.runs.loop import RunEnd, Stop
    from metajudge.vetting.engine import Engine

    runner: Any = import_module("metajudge.benchmarks.grid_run")
    done = dict.fromkeys((id(row) for row in plan.rows), 0)

    def progress(row: Any, _assessment: Any) -> None:
        done[id(row)] += 1
        if done[id(row)] % 100 == 1:
            say(f"{row.name} on {row.judge}: {done[id(row)] - 1} judgments so far")

    def engine(panel: Any, _budget_left: float | None) -> Engine:
        return Engine(panel=panel, notify=say, **options)  # one budget for all rows

    async def main() -> list[Any]:
        stop = Stop()
        with contextlib.suppress(NotImplementedError):
            stop_on_interrupt(stop, RunEnd.INTERRUPTED)
        found: list[Any] = await runner.run_grid(plan.rows, work.decided(), engine, stop=stop, progress=progress)
        return found

    return run(main())


def _print_prices(work: Any, plan: Any) -> None:
    from metajudge.vetting.estimate import estimate_vetting

    if not plan.rows:
        typer.echo("Dry run: no agents are given, so nothing would be asked and nothing paid.")
        return
    judgments = work.decided()
    calls, tokens_in, tokens_out, dollars, unknown = 0, 0, 0, 0.0, set()
    for row in plan.rows:
        found = estimate_vetting(row.panel, judgments[row.judge])
        cost = "unknown" if found.cost_usd is None else f"${found.cost_usd:.2f}"
        typer.echo(f"  {row.name:<45} {found.judgments:>6} judgments {found.calls:>6} calls  {cost:>10}")
        calls, tokens_in, tokens_out = (
            calls + found.calls,
            tokens_in + found.input_tokens,
            tokens_out + found.output_tokens,
        )
        dollars += found.cost_usd or 0.0
        unknown |= set(found.unpriced)
    for note in plan.notes:
        typer.echo(f"Note: {note}.")
    least = "at least " if unknown else ""
    typer.echo(
        f"Dry run, nothing sent: {len(plan.rows)} configurations, at most {calls:,} calls, about {tokens_in:,} input "
        f"and {tokens_out:,} output tokens, {least}${dollars:.2f}. Equal calls of two configurations are paid once."
    )
    if unknown:
        typer.echo(f"No price is known for {', '.join(sorted(unknown))}: give a price in the grid or panel file.")


def _print_findings(findings: Any) -> None:
    reporting: Any = import_module("metajudge.benchmarks.bench_report")
    from metajudge.report.text import table_to_text

    typer.echo(table_to_text(reporting.accuracy_table(findings)))
    tables = reporting.terminal_tables(findings)
    for table in tables:
        typer.echo("\n" + table_to_text(table))
    _print_notes(findings)


def _print_notes(findings: Any) -> None:
    for note in findings.notes:
        typer.echo(f"Note: {note}.")
    for judge in findings.judges:
        for note in judge.notes:
            typer.echo(f"Note on {judge.judge}: {note}")


def _write(
    work: Any,
    findings: Any,
    results: list[Any],
    calibrated: Any,
    scores: Path | None,
    json_out: Path | None,
    reports: list[Path],
) -> None:
    from metajudge.report.files import write_report, write_text

    if scores is not None:
        lines = import_module("metajudge.benchmarks.score_lines").score_lines(work, results, calibrated)
        write_text(scores, lines)
    if json_out is not None:
        write_text(json_out, findings.model_dump_json(indent=2) + "\n")
    if reports:
        page = import_module("metajudge.benchmarks.bench_report").report_of(findings)
        for path in reports:
            write_report(page, path)
    for written in (scores, json_out, *reports):
        if written is not None:
            typer.echo(f"Written: {written}")


def _counts(results: list[Any], bad_lines: int) -> Any:
    """What the exit code depends on, over all configurations that were asked; says how to go on where one stopped."""
    from metajudge.errors import FailureKind
    from metajudge.runs.exit_codes import RunCounts
    from metajudge.runs.loop import RunEnd

    ends = {result.end for result in results}
    # The first of these that happened is what the user can do something about.
    end = next((one for one in (RunEnd.INTERRUPTED, RunEnd.PENDING, RunEnd.BUDGET) if one in ends), RunEnd.FINISHED)
    if end in HOW_TO_GO_ON:
        typer.echo(HOW_TO_GO_ON[end])
    undecided = [said for result in results for said in result.assessments.values() if said.accepted is None]
    silent = sum(said.failure is not None and said.failure.kind is FailureKind.NO_VERDICT for said in undecided)
    return RunCounts(end, failed=len(undecided) - silent, without_verdict=silent, bad_lines=bad_lines)
