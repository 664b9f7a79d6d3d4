"""``metajudge vet``: which of these judgments are to be trusted?"""

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from metajudge.cli.fail_under import FailUnderOption, parse_fail_under, tell_missed
from metajudge.cli.inputs import MapOption, MapValuesOption, PrefixIdsOption, open_inputs
from metajudge.cli.loop import run, say, stop_on_interrupt
from metajudge.cli.options import (
    AgentOption,
    ConfigOption,
    JsonOption,
    StoreOption,
    StrictOption,
    panel_from,
    rejects_path,
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
from metajudge.types.location import StoreLocation
from metajudge.vetting.bars import Reached, check_labels, reached_by

if TYPE_CHECKING:
    from metajudge.vetting.label_count import LabelCount

STARTED = time.monotonic()


def vet(
    inputs: Annotated[
        list[str], typer.Argument(help="Files or folders of judgments; - is standard input.", metavar="INPUT...")
    ],
    agent: AgentOption = None,
    rubric: Annotated[str | None, typer.Option(help="short, long, binary, baseline or a YAML file.")] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="single, weighted_average, majority_vote, panel_discussion, rejudge (agents judge the item blind), "
            "cascade (with a plan in the panel file), or signals (no model). Default: by the number of agents."
        ),
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="Keep scores strictly above; default 4.5.")] = None,
    config: ConfigOption = None,
    store: StoreOption = None,
    out: Annotated[Path | None, typer.Option(help="Write one assessment a line (JSONL).", metavar="FILE")] = None,
    judge: Annotated[list[str] | None, typer.Option(help="Vet only this judge's judgments. Repeatable.")] = None,
    limit: Annotated[int | None, typer.Option(help="Vet only the first N.", min=1)] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            help="A file of `calibrate fit`: adds each judgment's probability; where it holds a guaranteed threshold, "
            "that decides what is kept.",
            metavar="FILE",
        ),
    ] = None,
    allow_other_calibration: Annotated[
        bool,
        typer.Option("--allow-other-calibration", help="Apply it to other judges or agents than it was fitted on."),
    ] = False,
    policy: Annotated[
        str | None,
        typer.Option(
            help="Add a policy's decision (APPROVE, REVIEW, REVIEW_PRIORITY, REJECT) to every assessment: verdict "
            "(with --calibration), verdict_score, or a YAML file.",
            metavar="NAME",
        ),
    ] = None,
    audit_share: Annotated[
        float,
        typer.Option(help="Review so large a random share of what the policy approves or rejects.", min=0, max=1),
    ] = 0.0,
    reviewers: Annotated[int, typer.Option(help="How many people are to decide each review.", min=1, max=20)] = 1,
    families: Annotated[
        str | None,
        typer.Option(help="Meta-judges of the judge's or a candidate's family: warn (default), forbid or ignore."),
    ] = None,
    prompt_version: Annotated[
        int | None,
        typer.Option(help="Version of the prompt set; default as in the panel file, else 1.", metavar="N", min=1),
    ] = None,
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
    no_early_exit: Annotated[
        bool, typer.Option("--no-early-exit", help="Ask every agent, all at once, even when the decision is settled.")
    ] = False,
    keep_failures: Annotated[
        bool, typer.Option("--keep-failures", help="Do not try again what ended without a score before.")
    ] = False,
    maps: MapOption = None,
    map_values: MapValuesOption = None,
    prefix_ids: PrefixIdsOption = False,
    strict: StrictOption = False,
    fail_under: FailUnderOption = None,
    as_json: JsonOption = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Estimate calls, tokens and dollars of what is not stored yet; send nothing."),
    ] = False,
    engine: Annotated[
        str, typer.Option(help="local, or ray: spread over processes or a cluster, Parquet to the folder --out.")
    ] = "local",
    workers: Annotated[int | None, typer.Option(help="Ray: processes that vet; default one a CPU.", min=1)] = None,
    ray_address: Annotated[
        str | None, typer.Option(help="Ray: the cluster, auto or HOST:PORT; default one started here.")
    ] = None,
) -> None:
    """Vet judgments: score each one, and say which to keep."""
    from metajudge.report.files import check_apart
    from metajudge.runs.exit_codes import exit_code

    check_apart(inputs, [out])
    bars = parse_fail_under(fail_under)
    panel = panel_from(
        config,
        agent,
        rubric=rubric,
        strategy=strategy,
        threshold=threshold,
        seed=seed,
        early_exit=False if no_early_exit else None,
        families=families,
        prompt_version=prompt_version,
    )
    if panel.early_exit is None:
        # One agent after the other would be one batch after the other, a day each.
        panel = panel.model_copy(update={"early_exit": not batch})
    source = open_inputs(
        inputs, maps, map_values, prefix_ids=prefix_ids, strict=strict, judges=judge or None, limit=limit
    )
    if dry_run:
        from metajudge.vetting.engine import Engine

        # A policy or a calibration may need the score of every agent.
        asked = Engine(
            panel=panel, calibration=calibration, allow_other_calibration=allow_other_calibration, policy=policy
        ).config
        kept = run(_stored_keys(asked, source, store_path(store))) if engine == "local" else set()
        _print_estimate(asked, source, kept, as_json)
        return
    if engine != "local":
        from metajudge.cli.vet_ray import vet_on_ray

        given: dict[str, Any] = {"--calibration": calibration, "--policy": policy, "--store": store}
        given |= {"--fail-under": fail_under}
        given |= {"--batch": batch or None, "--budget-file": budget_file}
        spread = (concurrency, workers, ray_address, (budget_usd, budget_calls, budget_tokens))
        summary = vet_on_ray(engine, panel, source, out, spread, keep_failures, as_json, given)
        raise typer.Exit(exit_code(summary.counts, strict=strict))
    check_labels(bars, source)
    options: dict[str, Any] = {
        "concurrency": concurrency,
        "calibration": calibration,
        "allow_other_calibration": allow_other_calibration,
        "policy": policy,
        "audit_share": audit_share,
        "reviewers": reviewers,
    }
    where = store_path(store)
    batches = batches_of(
        where, batch, wait_s=batch_wait, live_below=batch_live_below, size=batch_size, poll_s=batch_poll
    )
    with contextlib.closing(budget_of(budget_usd, budget_calls, budget_tokens, budget_file)) as budget:
        options |= {"budget": budget, "batch": batches}
        summary, labels = run(_vet(panel, source, inputs, where, out, keep_failures, options))
    summary.bad_lines, summary.duplicates = source.rejects, source.duplicates
    summary.notices += source.notices
    for notice in source.notices:
        typer.echo(f"metajudge: {notice}", err=True)
    rejects = rejects_path(out, where)
    source.write_rejects(rejects)
    summary.store, summary.out = str(where), None if out is None else str(out)
    summary.total_s = time.monotonic() - STARTED
    reached = reached_by(bars, summary, labels)
    words = words_of(inputs, config, agent, store)
    if as_json:
        print_json(summary, labels, rejects, reached, words)
    else:
        from metajudge.cli.vet_report import print_report

        print_report(summary, labels, panel, rejects, words)
    raise typer.Exit(exit_code(summary.counts, strict=strict, bar_missed=tell_missed(reached)))


async def _vet(
    panel: Any,
    source: Any,
    inputs: list[str],
    store: StoreLocation,
    out: Path | None,
    keep_failures: bool,
    options: dict[str, Any],
) -> "tuple[Any, LabelCount]":
    from metajudge.runs.loop import RunEnd, Stop
    from metajudge.runs.outputs import OrderedFile
    from metajudge.runs.progress import Progress
    from metajudge.vetting.engine import Engine
    from metajudge.vetting.label_count import LabelCount
    from metajudge.vetting.summary import VetSummary

    stop, labels, summary = Stop(), LabelCount(), VetSummary()
    engine = Engine(panel=panel, store=store, command="vet", notify=say, **options)
    rewards = _rewards(inputs, engine.calibration)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(engine)
        stop_on_interrupt(stop, RunEnd.INTERRUPTED)
        file = stack.enter_context(OrderedFile(out)) if out is not None else None
        progress = stack.enter_context(Progress(summary, engine.meter, _total(source)))

        def on_result(index: int, judgment: Any, assessment: Any) -> None:
            labels.add(judgment, assessment)
            if file is not None:
                file.write(index, assessment.model_dump_json().encode() + b"\n")
            progress.update()

        await engine.vet_all(
            source, on_result=on_result, keep_failures=keep_failures, stop=stop, summary=summary, rewards=rewards
        )
    return summary, labels


def _rewards(inputs: list[str], calibration: Any) -> Any:
    """Reward models' scores beside the input, where the calibration reads them."""
    if calibration is None or "rewards" not in calibration.identity.signals:
        return None
    from metajudge.readers.rewards import find_reward_scores, read_reward_scores

    files = [found for found in map(find_reward_scores, map(Path, inputs)) if found is not None]
    return [score for file in files for score in read_reward_scores(file)] or None


def _total(source: Any) -> int:
    return sum(1 for _ in source)


async def _stored_keys(panel: Any, source: Any, where: StoreLocation) -> set[str]:
    """What need not be asked again; nothing where there is no store, or it cannot be read now."""
    from metajudge.errors import StoreError
    from metajudge.store import open_store
    from metajudge.vetting.estimate import stored_keys

    if not where.exists():
        return set()
    try:
        store = await open_store(where)
    except StoreError as error:
        say(f"the estimate takes nothing as stored: {error}")
        return set()
    try:
        return await stored_keys(panel, source, store)
    finally:
        await store.close()


def _print_estimate(panel: Any, source: Any, stored: set[str], as_json: bool) -> None:
    import orjson

    from metajudge.vetting.estimate import estimate_vetting

    estimate = estimate_vetting(panel, source, stored)
    if as_json:
        typer.echo(orjson.dumps(estimate.to_json()).decode())
        return
    cost = "unknown" if estimate.cost_usd is None else f"${estimate.cost_usd:.4f}"
    typer.echo(
        f"Dry run, nothing sent: {estimate.judgments} judgments ({estimate.without_verdict} without a verdict), "
        f"{estimate.stored} of them stored under prompt version {estimate.prompt_version}; for the others at most "
        f"{estimate.calls} calls, about {estimate.input_tokens:,} input and {estimate.output_tokens:,} "
        f"output tokens, cost {cost}"
    )
    if estimate.unpriced:
        typer.echo(f"No price is known for {', '.join(estimate.unpriced)}: give a price in a panel file.")


def words_of(inputs: list[str], config: Path | None, agents: list[str] | None, store: str | None) -> dict[str, str]:
    """What stands in the commands that a report suggests, for this command line."""
    import shlex

    given = [*(["--config", str(config)] if config else [])]
    for agent in agents or ():
        given += ["--agent", agent]
    # A database is found through METAJUDGE_STORE: its URL may hold a password, which is not to be printed.
    kept = ["--store", store] if store is not None and "://" not in store else []
    return {
        "INPUT": shlex.join(inputs),
        "AGENTS": shlex.join(given) or "--agent openai:gpt-4o-mini",
        "STORE": shlex.join(kept),
    }


def filled(command: str, words: dict[str, str]) -> str:
    """A suggested command with this command line's inputs, agents and store in it."""
    found = " ".join(words.get(word, word) for word in command.split(" "))
    return f"{found} {words['STORE']}" if words.get("STORE") and not found.startswith("metajudge check") else found


def print_json(
    summary: Any,
    labels: "LabelCount",
    rejects: Path,
    reached: list[Reached] | None = None,
    words: dict[str, str] | None = None,
) -> None:
    import orjson

    data = summary.to_json()
    for reason in data["reasons"]:
        reason["next"] = None if reason["next"] is None else filled(reason["next"], words or {})
    data["labels"] = labels.to_json()
    if reached:
        data["fail_under"] = [one.to_json() for one in reached]
    data["rejects"] = str(rejects) if summary.bad_lines else None
    typer.echo(orjson.dumps(data).decode())
