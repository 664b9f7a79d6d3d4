"""A panel of judges over labelled pairs: what is read, what it would cost, and the run."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from metajudge.clashes.clash import Clash, Judge
from metajudge.clashes.record import ClashRecord
from metajudge.errors import ConfigurationError
from metajudge.panels.config import PanelConfig
from metajudge.readers import Reject
from metajudge.readers.preferences import read_preferences
from metajudge.runs.exit_codes import RunCounts
from metajudge.runs.loop import Stop
from metajudge.runs.outputs import written_to
from metajudge.types import Item
from metajudge.types.location import StoreLocation
from metajudge.vetting.engine import Engine

from .clash_records import read_clash_records
from .run import PanelRun, Protocol, run_panel

PROGRESS_EVERY = 100
"""Evaluations between two notes."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The labelled pairs of a study.

    Attributes:
        items: two responses each, with a human winner.
        kind: what the file was taken for.
        sentence: how many there are, by what rule, and what was left out.
        rejects: lines that could not be read.
    """

    items: list[Item]
    kind: str
    sentence: str
    rejects: list[Reject]


def read_pairs(path: Path, *, sample: int | None = None, limit: int | None = None) -> Pairs:
    """Reads labelled pairs.

    Args:
        path: a file that :func:`metajudge.readers.preferences.read_preferences` knows.
        sample: draw so many of the eligible pairs; None for all.
        limit: keep only the first so many of these.

    Raises:
        InputError: no such file, no known format, or nothing eligible.
    """
    found = read_preferences(path, sample=sample)
    items = found.items[:limit]
    left_out = ", ".join(f"{n} {reason}" for reason, n in found.excluded.most_common())
    sentence = f"{found.kind}, {len(items)} pairs. {found.rule}" + (f" Left out: {left_out}." if left_out else "")
    return Pairs(items, found.kind, sentence, found.rejects)


@dataclass(frozen=True, slots=True)
class Study:
    """A panel, the pairs it judges and how often.

    Attributes:
        panel: the judges.
        criteria: its only agent names criteria for each question; None for the general ones. It is a panel of its own,
            since it may be one of the judges' models.
        seed: of the labels; models are sent none, or every repeat would be the same.

    Raises:
        ConfigurationError: a panel without agents.
    """

    pairs: Pairs
    panel: PanelConfig
    criteria: PanelConfig | None
    protocol: Protocol
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.panel.agents:
            raise ConfigurationError("no judge: give --judge PROVIDER:MODEL, or a --config with agents")

    def price(self) -> str:
        """How many calls the study takes, in a sentence."""
        judges, items, runs = len(self.panel.agents), len(self.pairs.items), self.protocol.runs
        each = judges + (self.criteria is not None)
        third = self.protocol.size_for(items) * each if self.protocol.targeted else 0
        return f"Dry run, nothing sent: {items} pairs, {runs} runs, {judges} judges: {items * runs * each:,} calls" + (
            f" and about {third:,} more for the third run." if third else "."
        )

    async def run(
        self,
        records: Path | None,
        store: StoreLocation,
        *,
        concurrency: int,
        budget_usd: float | None,
        stop: Stop,
        say: Callable[[str], None],
    ) -> PanelRun:
        """Asks the panel; every attempt is appended to ``records``, and those already there are not made again.

        Args:
            records: JSONL of :class:`~metajudge.clashes.record.ClashRecord`; None to keep none.
            store: of the calls.
            concurrency: evaluations in flight at most.
            budget_usd: dollars that may be spent; None for no limit.
            stop: lets the caller stop the run.
            say: receives notes.

        Raises:
            InputError: ``records`` holds those of another panel, seed or text.
        """
        earlier = read_clash_records(records) if records is not None and _holds_anything(records) else []
        engine = Engine(
            panel=_asked_alone(self.panel),
            store=store,
            command="bench reliability",
            notify=say,
            concurrency=concurrency,
            budget_usd=budget_usd,
        )
        done = 0
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(engine)
            clash = self._clash(engine)
            file = None if records is None else stack.enter_context(records.open("a", encoding="utf-8"))

            def keep(record: ClashRecord) -> None:
                nonlocal done
                done += 1
                if file is not None:
                    with written_to(records or Path()):
                        file.write(record.model_dump_json() + "\n")
                        file.flush()
                if done % PROGRESS_EVERY == 0:
                    say(f"{done} evaluations so far, {engine.meter.sent} calls, ${engine.meter.cost_usd:.4f}")

            found = await run_panel(
                self.pairs.items, clash, self.protocol, earlier=earlier, keep=keep, workers=concurrency, stop=stop
            )
            await engine.finish(found.end.value, {"evaluations": done, "calls": engine.meter.sent})
        return found

    def _clash(self, engine: Engine) -> Clash:
        naming = None
        if self.criteria is not None:
            naming = engine.variant(_asked_alone(self.criteria)).default.agents[0].model
        judges = (Judge(one.name, one.model, one.parameters) for one in engine.vetter.default.agents)
        return Clash(judges=tuple(judges), criteria_model=naming, seed=self.seed)


def counts_of(done: PanelRun, bad_lines: int) -> RunCounts:
    """What the exit code depends on."""
    missing = sum(not record.complete for record in done.records)
    return RunCounts(done.end, failed=missing, bad_lines=bad_lines)


def _holds_anything(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def _asked_alone(panel: PanelConfig) -> PanelConfig:
    """Agents without rubric, role or route, each asked on its own."""
    discussion = type(panel.discussion)()
    return panel.model_copy(update={"strategy": "rejudge", "routes": {}, "quorum": None, "discussion": discussion})
