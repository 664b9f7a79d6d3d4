"""``metajudge vet --engine ray``: the same run, distributed over processes or machines."""

import contextlib
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from metajudge.cli.loop import say
from metajudge.cli.sending import Sending
from metajudge.cli.vet_report import print_json, print_report
from metajudge.distributed.folder import ResultsFolder
from metajudge.distributed.run import RayOptions
from metajudge.distributed.run import vet_on_ray as run
from metajudge.errors import ConfigurationError
from metajudge.panels.config import PanelConfig
from metajudge.providers.metering import Meter
from metajudge.readers import JudgmentSource
from metajudge.runs.progress import Progress
from metajudge.vetting.label_count import LabelCount
from metajudge.vetting.summary import VetSummary


@dataclass(frozen=True, slots=True)
class Spread:
    """How a run is distributed: the engine, and the options of :class:`~metajudge.distributed.run.RayOptions`."""

    engine: str
    concurrency: int
    workers: int | None
    address: str | None
    sending: Sending

    @property
    def options(self) -> RayOptions:
        limits = (self.sending.budget_usd, self.sending.budget_calls, self.sending.budget_tokens)
        return RayOptions(self.address, self.workers, self.concurrency, limits)


def vet_on_ray(
    panel: PanelConfig,
    source: JudgmentSource,
    out: Path | None,
    spread: Spread,
    keep_failures: bool,
    as_json: bool,
    given: Mapping[str, object],
) -> VetSummary:
    """Runs, reports, and returns the counts.

    Args:
        given: options not supported with Ray, by name, as they were given.

    Raises:
        ConfigurationError: another engine, no folder, or an option not supported with Ray.
    """
    started = time.monotonic()
    if spread.engine != "ray":
        raise ConfigurationError(f"--engine is local or ray, not {spread.engine!r}")
    if out is None:
        raise ConfigurationError("--engine ray writes Parquet to a folder that all workers reach: give --out DIR")
    if out.is_file():
        raise ConfigurationError(f"--out {out} is a file: with --engine ray it is a folder")
    for name, value in given.items():
        if value is not None:
            raise ConfigurationError(
                f"{name} is not supported with --engine ray, whose workers open no store: leave it out"
            )
    summary, meter = VetSummary(), Meter()
    # Ray prints dead workers on standard output.
    with contextlib.redirect_stdout(sys.stderr), Progress(summary, meter, source.expected) as progress:

        def on_batch() -> None:
            meter.sent, meter.cost_usd = summary.calls, summary.known_cost_usd
            progress.update()

        run(panel, source, out, spread.options, keep_failures=keep_failures, summary=summary, on_batch=on_batch)
    summary.bad_lines, summary.duplicates = source.rejects, source.duplicates
    summary.notices += source.notices
    rejects = out / "_metajudge" / "rejects.jsonl"
    source.write_rejects(rejects)
    summary.out, summary.total_s = str(out), time.monotonic() - started
    for notice in summary.notices:
        say(notice)
    labels = _labels(out)
    if as_json:
        print_json(summary, labels, rejects)
    else:
        print_report(summary, labels, panel, rejects)
    return summary


def _labels(out: Path) -> LabelCount:
    table = ResultsFolder(out).labels()
    labels = LabelCount()
    for row in zip(*(table[column].to_pylist() for column in table.column_names), strict=True):
        labels.count(*row)  # under its item: the folder has no questions
    return labels
