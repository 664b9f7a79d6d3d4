"""The benchmarks of judge panels behind ``metajudge bench``: ``agent_clash`` and ``reliability``."""

import contextlib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from metajudge.runs.outputs import written_to
from metajudge.types.location import StoreLocation

if TYPE_CHECKING:
    from metajudge.panels.config import PanelConfig
    from metajudge.runs.exit_codes import RunCounts


@dataclass(frozen=True, slots=True)
class PanelOptions:
    """What ``bench reliability`` was asked for.

    Attributes:
        judges: the declared panel.
        criteria_model: names criteria for each question; None for the generic four.
        sample: draw so many of the eligible pairs.
        seed: of the labels; models are not sent one, or every repeat would be the same.
        records: where every attempt goes, and where an earlier command left off.
        strict: refuse lines that cannot be read.
    """

    data: Path
    judges: list[str]
    config: Path | None
    criteria_model: str | None
    runs: int
    targeted_third: bool
    third_size: int | None
    sample: int | None
    limit: int | None
    seed: int
    records: Path | None
    store: StoreLocation
    concurrency: int
    budget_usd: float | None
    strict: bool
    dry_run: bool


def agent_clash(data: Path, json_out: Path | None, reports: list[Path]) -> None:
    """Recomputes the published study and prints where it differs."""
    from metajudge.report.files import write_report, write_text
    from metajudge.report.text import table_to_text

    studying: Any = import_module("metajudge.benchmarks.agent_clash.study")
    reporting: Any = import_module("metajudge.benchmarks.agent_clash.report")
    study = studying.load_study(data)
    figures = studying.recompute(study)
    page = reporting.report_of(study, figures)
    if json_out is not None:
        write_text(json_out, studying.to_json(figures))
    for path in reports:
        write_report(page, path)
    typer.echo(table_to_text(reporting.summary_table(figures)))
    for sentence in page.summary[1:]:
        typer.echo(sentence)
    for path in (*([json_out] if json_out is not None else []), *reports):
        typer.echo(f"Written: {path}")


def reliability(options: PanelOptions, json_out: Path | None, reports: list[Path]) -> int:
    """Runs a panel over labelled pairs, or reads its recorded runs, and writes its reliability.

    Returns:
        The exit code.
    """
    from metajudge.cli.options import refuse_bad_lines
    from metajudge.errors import InputError
    from metajudge.runs.exit_codes import exit_code

    if options.data.is_dir():
        raise InputError(
            f"{options.data} is a folder: name one file, of labelled pairs (items as JSONL, MT-Bench human judgments "
            "or Arena-100k) or of `metajudge clash` records"
        )
    recording: Any = import_module("metajudge.benchmarks.reliability.clash_records")
    running: Any = import_module("metajudge.benchmarks.reliability.run")
    if not options.judges and options.config is None:
        if not recording.holds_clash_records(options.data):
            raise typer.BadParameter(
                "give --judge PROVIDER:MODEL for each judge, or a file of `metajudge clash` records"
            )
        records = recording.read_clash_records(options.data)
        _write_reliability(records, None, None, str(options.data), json_out, reports)
        return 0
    protocol = running.Protocol(options.runs, options.targeted_third, options.third_size)
    from metajudge.readers.preferences import read_preferences

    pairs = read_preferences(options.data, sample=options.sample)
    items = pairs.items[: options.limit]
    left_out = ", ".join(f"{n} {reason}" for reason, n in pairs.excluded.most_common())
    typer.echo(
        f"{options.data}: {pairs.kind}, {len(items)} pairs. {pairs.rule}"
        + (f" Left out: {left_out}." if left_out else "")
    )
    for reject in pairs.rejects:
        typer.echo(f"metajudge: {reject}", err=True)
    refuse_bad_lines(pairs.rejects, options.strict)
    panel, criteria = _panels(options)
    if options.dry_run:
        judges = len(panel.agents)
        each = judges + (criteria is not None)
        calls = len(items) * options.runs * each
        third = protocol.size_for(len(items)) * each if options.targeted_third else 0
        typer.echo(
            f"Dry run, nothing sent: {len(items)} pairs, {options.runs} runs, {judges} judges: {calls:,} calls"
            + (f" and about {third:,} more for the third run." if third else ".")
        )
        return 0
    from metajudge.cli.loop import run

    earlier = recording.read_clash_records(options.records) if _exists(options.records) else []
    done = run(_run_panel(options, panel, criteria, protocol, items, earlier))
    source = f"{options.data} ({pairs.kind})"
    _write_reliability(done.records, protocol, done.third, source, json_out, reports)
    if options.records is not None:
        typer.echo(f"Written: {options.records} (every attempt; the same command goes on from it)")
    return exit_code(_counts(done, len(pairs.rejects)), strict=options.strict)


def _exists(path: Path | None) -> bool:
    return path is not None and path.is_file() and path.stat().st_size > 0


def _panels(options: PanelOptions) -> "tuple[PanelConfig, PanelConfig | None]":
    """The judges, and the model that names criteria: a panel of its own, as it may be one of the judges' models."""
    from metajudge.cli.options import panel_from
    from metajudge.errors import ConfigurationError

    judges = panel_from(options.config, options.judges or None)
    if not judges.agents:
        raise ConfigurationError("no judge: give --judge PROVIDER:MODEL, or a --config with agents")
    criteria = None if options.criteria_model is None else panel_from(None, [options.criteria_model])
    return _asked_alone(judges), None if criteria is None else _asked_alone(criteria)


def _asked_alone(panel: "PanelConfig") -> "PanelConfig":
    """Agents without rubric, role or route, each asked on its own."""
    update: dict[str, Any] = {"strategy": "rejudge", "routes": {}, "quorum": None}
    return panel.model_copy(update=update | {"discussion": type(panel.discussion)()})


async def _run_panel(
    options: PanelOptions, panel: Any, criteria: Any, protocol: Any, items: list[Any], earlier: list[Any]
) -> Any:
    from metajudge.clashes.clash import Clash, Judge
    from metajudge.cli.loop import say, stop_on_interrupt
    from metajudge.runs.loop import RunEnd, Stop
    from metajudge.vetting.engine import Engine

    running: Any = import_module("metajudge.benchmarks.reliability.run")
    stop = Stop()
    done = 0
    engine = Engine(
        panel=panel,
        store=options.store,
        command="bench reliability",
        notify=say,
        concurrency=options.concurrency,
        budget_usd=options.budget_usd,
    )
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(engine)
        stop_on_interrupt(stop, RunEnd.INTERRUPTED)
        naming = None if criteria is None else engine.variant(criteria).default.agents[0].model
        judges = (Judge(one.name, one.model, one.parameters) for one in engine.vetter.default.agents)
        clash = Clash(judges=tuple(judges), criteria_model=naming, seed=options.seed)
        file = stack.enter_context(options.records.open("a", encoding="utf-8")) if options.records is not None else None

        def keep(record: Any) -> None:
            nonlocal done
            done += 1
            if file is not None:
                with written_to(options.records or Path()):
                    file.write(record.model_dump_json() + "\n")
                    file.flush()
            if done % 100 == 0:
                say(f"{done} evaluations so far, {engine.meter.sent} calls, ${engine.meter.cost_usd:.4f}")

        found = await running.run_panel(
            items, clash, protocol, earlier=earlier, keep=keep, workers=options.concurrency, stop=stop
        )
        await engine.finish(found.end.value, {"evaluations": done, "calls": engine.meter.sent})
    return found


def _write_reliability(
    records: list[Any], protocol: Any, third: Any, source: str, json_out: Path | None, reports: list[Path]
) -> None:
    from metajudge.report.files import write_report, write_text
    from metajudge.report.text import table_to_text

    analysing: Any = import_module("metajudge.benchmarks.reliability.analyse")
    reporting: Any = import_module("metajudge.benchmarks.reliability.report")
    found = analysing.analyse_records(records, protocol, third)
    page = reporting.report_of(
        found.figures,
        title="Reliability of a judge panel",
        summary=found.summary,
        provenance={"data": source, **found.provenance},
    )
    if json_out is not None:
        write_text(json_out, analysing.to_json(found.figures))
    for path in reports:
        write_report(page, path)
    typer.echo(table_to_text(reporting.terminal_table(found.figures)))
    for sentence in found.summary:
        typer.echo(sentence)
    for path in (*([json_out] if json_out is not None else []), *reports):
        typer.echo(f"Written: {path}")


def _counts(done: Any, bad_lines: int) -> "RunCounts":
    """What the exit code depends on; says how to go on where the run stopped."""
    from metajudge.cli.loop import HOW_TO_GO_ON
    from metajudge.runs.exit_codes import RunCounts

    if done.end in HOW_TO_GO_ON:
        typer.echo(HOW_TO_GO_ON[done.end])
    missing = sum(not record.complete for record in done.records)
    return RunCounts(done.end, failed=missing, bad_lines=bad_lines)
