"""``metajudge vet --engine ray``: the same run, distributed over processes or machines."""

import contextlib
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from metajudge.cli.loop import say
from metajudge.cli.options import store_path
from metajudge.cli.sending import Sending
from metajudge.distributed.folder import ResultsFolder
from metajudge.distributed.options import Judging, RayOptions
from metajudge.distributed.run import vet_on_ray
from metajudge.errors import ConfigurationError
from metajudge.outcomes.sending import webhook_of
from metajudge.panels.config import PanelConfig
from metajudge.providers.metering import Meter
from metajudge.readers import JudgmentSource
from metajudge.runs.progress import Progress
from metajudge.settings import Settings
from metajudge.types.location import StoreLocation
from metajudge.vetting.results import Results
from metajudge.vetting.summary import VetSummary

if TYPE_CHECKING:
    from metajudge.providers.batch_queue import BatchSettings


@dataclass(frozen=True, slots=True)
class Spread:
    """How a run is distributed: the engine, and what goes into :class:`~metajudge.distributed.options.RayOptions`."""

    engine: str
    concurrency: int
    workers: int | None
    address: str | None
    sending: Sending
    store: str | None
    out: str | None
    webhook: str | None
    policy: str | None

    def check(self, *, review_sample: bool, reviewers: int) -> None:
        """Refuses what does not go together.

        Raises:
            ConfigurationError: another engine, no folder, or an option that needs a store without one.
        """
        if self.engine != "ray":
            raise ConfigurationError(f"--engine is local or ray, not {self.engine!r}")
        if self.out is None:
            raise ConfigurationError(
                "--engine ray writes Parquet where all workers reach it: give --out DIR, or the URL of an object store"
            )
        if Path(self.out).is_file():
            raise ConfigurationError(f"--out {self.out} is a file: with --engine ray it is a folder")
        for name, given in (
            ("--review-sample", review_sample),
            ("--reviewers", reviewers > 1),
            ("--webhook", self.webhook is not None),
        ):
            if given and self.store is None:
                raise ConfigurationError(
                    f"{name} with --engine ray needs a store, which has the queues of reviews and events: give --store"
                )

    def run(
        self, panel: PanelConfig, source: JudgmentSource, judging: Judging, results: Results, keep_failures: bool
    ) -> tuple[VetSummary, Path]:
        """Runs; returns the counts, and the file of lines that could not be read.

        Raises:
            MetajudgeError: as :func:`~metajudge.distributed.run.vet_on_ray`.
        """
        started = time.monotonic()
        assert self.out is not None, "see check"
        folder, summary, meter, said = ResultsFolder(self.out), VetSummary(), Meter(), list[str]()

        def on_batch() -> None:
            meter.sent, meter.cost_usd = summary.calls, summary.known_cost_usd
            progress.update()

        def notify(notice: str) -> None:
            said.append(notice)
            say(notice)

        where = None if self.store is None else store_path(self.store)
        options = replace(self._options(where, folder), notify=notify)
        # Ray prints dead workers on standard output.
        with contextlib.redirect_stdout(sys.stderr), Progress(summary, meter, source.expected) as progress:
            vet_on_ray(
                panel,
                source,
                self.out,
                options,
                judging,
                keep_failures=keep_failures,
                summary=summary,
                results=results,
                on_batch=on_batch,
            )
        summary.bad_lines, summary.duplicates = source.rejects, source.duplicates
        summary.notices += source.notices
        rejects = _rejects(source, folder)
        summary.store = None if where is None else str(where)
        summary.out, summary.total_s = str(folder.place), time.monotonic() - started
        for notice in summary.notices:
            if notice not in said:
                say(notice)
        return summary, rejects

    def _options(self, where: StoreLocation | None, folder: ResultsFolder) -> RayOptions:
        sending = self.sending
        return RayOptions(
            address=self.address,
            workers=self.workers,
            concurrency=self.concurrency,
            budget=(sending.budget_usd, sending.budget_calls, sending.budget_tokens),
            budget_file=sending.budget_file,
            store=where,
            batch=self._batches(where, folder),
            webhook=None if self.policy is None or where is None else webhook_of(Settings.load(), self.webhook),
        )

    def _batches(self, where: StoreLocation | None, folder: ResultsFolder) -> "BatchSettings | None":
        """As in one process; without a store, batches under way are noted down in the folder of results."""
        inside = folder.inside.path
        found = self.sending.batches(where or Path("metajudge"))
        if found is None or where is not None or inside is None:
            return found
        return replace(found, folder=inside / "batches")


def _rejects(source: JudgmentSource, folder: ResultsFolder) -> Path:
    """Writes the rejects: into the folder, or into the current one where the folder is in an object store."""
    path = folder.inside.path
    file = Path("metajudge-rejects.jsonl") if path is None else path / "rejects.jsonl"
    source.write_rejects(file)
    return file
