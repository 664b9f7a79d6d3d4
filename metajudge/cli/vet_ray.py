"""``metajudge vet --engine ray``: the same run, distributed over processes or machines."""

import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from metajudge.cli.loop import say
from metajudge.cli.sending import Sending
from metajudge.cli.vet_report import print_json, print_report
from metajudge.distributed.folder import ResultsFolder
from metajudge.distributed.run import Judging, RayOptions
from metajudge.distributed.run import vet_on_ray as run
from metajudge.errors import ConfigurationError
from metajudge.panels.config import PanelConfig
from metajudge.providers.metering import Meter
from metajudge.readers import JudgmentSource
from metajudge.runs.progress import Progress
from metajudge.vetting.bars import Bar, Reached, reached_by
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
        return RayOptions(self.address, self.workers, self.concurrency, limits, self.sending.budget_file)


def vet_on_ray(
    panel: PanelConfig,
    source: JudgmentSource,
    out: str | None,
    spread: Spread,
    judging: Judging,
    bars: Sequence[Bar],
    keep_failures: bool,
    as_json: bool,
    given: Mapping[str, object],
    words: Mapping[str, str],
) -> tuple[VetSummary, list[Reached]]:
    """Runs, reports, and returns the counts and the bars reached.

    Args:
        given: options not supported with Ray, by name, as they were given.
        words: fill in the commands that help.

    Raises:
        ConfigurationError: another engine, no folder, or an option not supported with Ray.
    """
    started = time.monotonic()
    if spread.engine != "ray":
        raise ConfigurationError(f"--engine is local or ray, not {spread.engine!r}")
    if out is None:
        raise ConfigurationError(
            "--engine ray writes Parquet where all workers reach it: give --out DIR, or the URL of an object store"
        )
    if Path(out).is_file():
        raise ConfigurationError(f"--out {out} is a file: with --engine ray it is a folder")
    for name, value in given.items():
        if value is not None:
            raise ConfigurationError(
                f"{name} is not supported with --engine ray, whose workers open no store: leave it out"
            )
    folder, summary, labels, meter = ResultsFolder(out), VetSummary(), LabelCount(), Meter()
    # Ray prints dead workers on standard output.
    with contextlib.redirect_stdout(sys.stderr), Progress(summary, meter, source.expected) as progress:

        def on_batch() -> None:
            meter.sent, meter.cost_usd = summary.calls, summary.known_cost_usd
            progress.update()

        run(
            panel,
            source,
            out,
            spread.options,
            judging,
            keep_failures=keep_failures,
            summary=summary,
            labels=labels,
            bars=bars,
            on_batch=on_batch,
        )
    summary.bad_lines, summary.duplicates = source.rejects, source.duplicates
    summary.notices += source.notices
    rejects = _rejects(source, folder)
    summary.out, summary.total_s = str(folder.place), time.monotonic() - started
    for notice in summary.notices:
        say(notice)
    reached = reached_by(bars, summary, labels)
    if as_json:
        print_json(summary, labels, rejects, reached, words)
    else:
        print_report(summary, labels, panel, rejects, words)
    return summary, reached


def _rejects(source: JudgmentSource, folder: ResultsFolder) -> Path:
    """Writes the rejects: into the folder, or into the current one where the folder is in an object store."""
    path = folder.inside.path
    file = Path("metajudge-rejects.jsonl") if path is None else path / "rejects.jsonl"
    source.write_rejects(file)
    return file
