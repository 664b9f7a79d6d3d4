"""A panel of judges over labelled pairs: what is read, what it would cost, and the run."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from metajudge.clashes.record import ClashRecord
from metajudge.clashes.run import OF_CLASH, ClashTotals
from metajudge.clashes.setup import ClashSettings, build_clash
from metajudge.errors import ConfigurationError
from metajudge.panels.config import PanelConfig
from metajudge.readers import Reject
from metajudge.readers.human_preferences import read_preferences
from metajudge.runs.loop import Stop
from metajudge.runs.outputs import AttemptFile
from metajudge.session import Session
from metajudge.types import Item

from .run import PanelRun, Protocol, run_panel


@dataclass(frozen=True, slots=True)
class Pairs:
    """The labelled pairs of a study.

    Attributes:
        sentence: how many there are, by what rule, and what was left out.
    """

    items: list[Item]
    kind: str
    sentence: str
    rejects: list[Reject]


def read_pairs(path: Path, *, sample: int | None = None, limit: int | None = None) -> Pairs:
    """Reads labelled pairs.

    Args:
        path: a file that :func:`metajudge.readers.human_preferences.read_preferences` knows.
        sample: draw so many of the eligible pairs; None for all.

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
        criteria_model: names criteria for each question; None for the general ones.
        seed: of the labels; models are sent none, or every repeat would be the same.

    Raises:
        ConfigurationError: a panel without agents.
    """

    pairs: Pairs
    panel: PanelConfig
    criteria_model: str | None
    protocol: Protocol
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.panel.agents:
            raise ConfigurationError("no judge: give --judge PROVIDER:MODEL, or a --config with agents")

    def price(self) -> str:
        """How many calls the study takes, in a sentence."""
        judges, items, runs = len(self.panel.agents), len(self.pairs.items), self.protocol.runs
        each = judges + (self.criteria_model is not None)
        third = self.protocol.size_for(items) * each if self.protocol.targeted else 0
        return f"Dry run, nothing sent: {items} pairs, {runs} runs, {judges} judges: {items * runs * each:,} calls" + (
            f" and about {third:,} more for the third run." if third else "."
        )

    async def run(
        self, session: Session, records: Path | None, *, totals: ClashTotals, stop: Stop, update: Callable[[], None]
    ) -> PanelRun:
        """Asks the panel; every attempt is appended to ``records``, and those already there are not made again.

        Args:
            session: open; its agents are the judges. Votes are not weighted.
            records: JSONL of :class:`~metajudge.clashes.record.ClashRecord`; None to keep none.

        Raises:
            InputError: ``records`` contains those of another panel, seed or text.
        """
        totals.prompts = len(self.pairs.items)
        settings = ClashSettings(
            judges=session.models(), criteria_model=self.criteria_model, given=True, seed=self.seed
        )
        async with session.recording(totals, stop):
            with contextlib.ExitStack() as stack:
                file = None if records is None else stack.enter_context(AttemptFile(records, ClashRecord, OF_CLASH))

                def keep(record: ClashRecord, reused: bool) -> None:
                    totals.add(record, reused)
                    if file is not None and not reused:
                        file.append(record)
                    update()

                found = await run_panel(
                    self.pairs.items,
                    build_clash(session, settings, ()),  # names are hidden item by item
                    self.protocol,
                    earlier=() if file is None else file.earlier,
                    on_record=keep,
                    workers=session.workers,
                    stop=stop,
                    grace_s=session.grace_s,
                )
            totals.end = found.end
        return found
