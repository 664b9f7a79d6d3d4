"""``metajudge vet --engine ray``: the same run, spread over processes or machines."""

import contextlib
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metajudge.errors import ConfigurationError
from metajudge.panels.config import PanelConfig
from metajudge.readers import JudgmentSource
from metajudge.vetting.summary import VetSummary

Spread = tuple[int, int | None, str | None, tuple[float | None, int | None, int | None]]
"""Calls in flight, workers, the cluster's address, and the budget in dollars, calls and tokens."""


def vet_on_ray(
    engine: str,
    panel: PanelConfig,
    source: JudgmentSource,
    out: Path | None,
    spread: Spread,
    keep_failures: bool,
    as_json: bool,
    given: Mapping[str, Any],
) -> VetSummary:
    """Runs, reports, and returns the counts.

    Args:
        given: options that do not go with Ray, by name, as they were given.

    Raises:
        ConfigurationError: another engine, no folder, or an option that does not go with Ray.
    """
    started = time.monotonic()
    if engine != "ray":
        raise ConfigurationError(f"--engine is local or ray, not {engine!r}")
    if out is None:
        raise ConfigurationError("--engine ray writes Parquet to a folder that all workers reach: give --out DIR")
    if out.is_file():
        raise ConfigurationError(f"--out {out} is a file: with --engine ray it is a folder")
    for name, value in given.items():
        if value is not None:
            raise ConfigurationError(f"{name} does not go with --engine ray, whose workers open no store: leave it out")
    from metajudge.distributed.run import RayOptions
    from metajudge.distributed.run import vet_on_ray as run

    concurrency, workers, address, limits = spread
    summary, total = VetSummary(), sum(1 for _ in source)
    shown = _Progress(summary, total)
    options = RayOptions(address, workers, concurrency, limits)
    with contextlib.redirect_stdout(sys.stderr):  # where Ray tells of workers that died
        run(panel, source, out, options, keep_failures=keep_failures, summary=summary, on_batch=shown.update)
    summary.bad_lines, summary.duplicates = source.rejects, source.duplicates
    summary.notices += source.notices
    rejects = out / "_metajudge" / "rejects.jsonl"
    source.write_rejects(rejects)
    summary.out, summary.total_s = str(out), time.monotonic() - started
    _report(summary, out, panel, rejects, as_json)
    return summary


class _Progress:
    def __init__(self, summary: VetSummary, total: int) -> None:
        self._summary, self._total = summary, total
        self._shown = time.monotonic()

    def update(self) -> None:
        now = time.monotonic()
        if now - self._shown < 5:
            return
        self._shown = now
        from metajudge.cli.loop import say

        done = self._summary
        say(f"{done.judgments}/{self._total} judgments, {done.calls} calls, ${done.known_cost_usd:.4f}")


def _report(summary: VetSummary, out: Path, panel: PanelConfig, rejects: Path, as_json: bool) -> None:
    from metajudge.cli.loop import say
    from metajudge.cli.vet import print_json
    from metajudge.distributed.folder import ResultsFolder
    from metajudge.vetting.label_count import LabelCount

    for notice in summary.notices:
        say(notice)
    table = ResultsFolder(out).labels()
    labels = LabelCount()
    for row in zip(*(table[column].to_pylist() for column in table.column_names), strict=True):
        labels.count(*row)  # under its item: the folder holds no questions
    if as_json:
        print_json(summary, labels, rejects)
        return
    from metajudge.cli.vet_report import print_report

    print_report(summary, labels, panel, rejects)
