"""Running a panel over labelled pairs: full runs with fresh labels and draws, then a targeted third."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from metajudge.clashes.clash import Clash, Place
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.run import OF_CLASH, ClashTotals, OnRecord, Round, run_rounds
from metajudge.clashes.setup import ClashSettings, build_clash
from metajudge.errors import ConfigurationError, InputError
from metajudge.judging.judges import templates_digest
from metajudge.panels.config import PanelConfig
from metajudge.reading.formats.human_preferences import Preferences
from metajudge.runs.loop import RunEnd, Stop
from metajudge.runs.outputs import AttemptFile
from metajudge.session import Session, note_unused
from metajudge.stats.stability import ThirdRun
from metajudge.types import Item

from .analysis import third_run
from .records import evaluations_of

THIRD_SHARE = 0.6
"""Share of the items by default: sixty of a hundred, as in the study the protocol comes from."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How often everything is judged.

    Attributes:
        runs: full runs, each with labels, criteria and replies of its own.
        targeted: whether a further run takes the most informative items.
        third_size: how many those are; None for :data:`THIRD_SHARE` of the items.

    Raises:
        ConfigurationError: fewer than one run, a targeted run after fewer than two, or a size below one.
    """

    runs: int = 2
    targeted: bool = False
    third_size: int | None = None

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ConfigurationError(f"--runs must be at least 1, not {self.runs}")
        if self.targeted and self.runs < 2:
            raise ConfigurationError(
                "--targeted-third needs --runs 2 at least: one run has no stable or unstable items"
            )
        if self.third_size is not None and self.third_size < 1:
            raise ConfigurationError(f"--third-size must be at least 1, not {self.third_size}")

    def place(self, run: int) -> Place:
        return Place(repeat=run, repeats=self.runs + 1)

    def size_for(self, items: int) -> int:
        return self.third_size if self.third_size is not None else max(1, round(THIRD_SHARE * items))


@dataclass(slots=True)
class PanelRun:
    """The result of a run.

    Attributes:
        records: every attempt, those of an earlier command included.
        third: how the targeted run's items were chosen; None where there was none.
    """

    records: list[ClashRecord]
    end: RunEnd
    third: ThirdRun | None = None


async def run_panel(
    items: Sequence[Item],
    clash: Clash,
    protocol: Protocol,
    *,
    earlier: Iterable[ClashRecord] = (),
    on_record: OnRecord = lambda record, reused: None,
    workers: int = 64,
    stop: Stop | None = None,
    grace_s: float = 10.0,
) -> PanelRun:
    """Judges every item in every run; what an earlier command finished is not asked again.

    Args:
        clash: the panel; models' names are hidden from it item by item.
        earlier: records of the same command; an evaluation in which a judge could not be asked is attempted again.
        on_record: called with each record as it comes, with True for one of an earlier command.
        workers: evaluations in flight at most.

    Raises:
        InputError: an earlier record is of another panel, seed or text.
    """
    found = PanelRun(sorted(earlier, key=lambda record: record.attempt), RunEnd.FINISHED)
    _require_same(found.records, items, clash, protocol)

    def keep(record: ClashRecord, reused: bool) -> None:
        if not reused:
            found.records.append(record)
        on_record(record, reused)

    async def judged(asked: Iterable[tuple[Item, int]]) -> RunEnd:
        rounds = (Round.of(item, hiding(clash, item), [protocol.place(run)]) for item, run in asked)
        end, _ = await run_rounds(
            rounds, earlier=list(found.records), workers=workers, on_record=keep, stop=stop, grace_s=grace_s
        )
        return end

    found.end = await judged((item, run) for run in range(1, protocol.runs + 1) for item in items)
    if found.end is RunEnd.FINISHED and protocol.targeted:
        full = [record for record in found.records if record.repeat <= protocol.runs]
        found.third = third_run(evaluations_of(full).evaluations, protocol.size_for(len(items)), seed=clash.seed)
        chosen = set(found.third.chosen)
        found.end = await judged((item, protocol.runs + 1) for item in items if item.id in chosen)
    return found


def hiding(clash: Clash, item: Item) -> Clash:
    """The panel, with the ids of this item's models among the names hidden; the key of an evaluation contains them."""
    names = {*clash.hide_names, *(item.models or {}).values()}
    return replace(clash, hide_names=tuple(sorted(names)))


def _require_same(records: Iterable[ClashRecord], items: Sequence[Item], clash: Clash, protocol: Protocol) -> None:
    wanted = {item.id: item for item in items}
    for record in records:
        item = wanted.get(record.item_id)
        if item is None or record.key != protocol.place(record.repeat).key(item, hiding(clash, item)):
            raise InputError(
                f"the file of records contains item {record.item_id} judged by another panel, with another seed, or an "
                "item that is not asked for: choose another --records, or the settings of before"
            )


@dataclass(frozen=True, slots=True)
class Study:
    """A panel, the pairs it judges and how often.

    Attributes:
        limit: takes the first pairs; None for all.
        criteria_model: names criteria for each question; None for the general ones.
        seed: of the labels; models are sent none, or every repeat would be the same.

    Raises:
        ConfigurationError: a panel without agents.
    """

    pairs: Preferences
    panel: PanelConfig
    criteria_model: str | None
    protocol: Protocol
    limit: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.panel.agents:
            raise ConfigurationError("no judge: give --judge PROVIDER:MODEL, or a --config with agents")

    @property
    def items(self) -> list[Item]:
        """The pairs that are judged."""
        return self.pairs.items[: self.limit]

    @property
    def sentence(self) -> str:
        """How many there are, by what rule, and what was left out."""
        left_out = ", ".join(f"{n} {reason}" for reason, n in self.pairs.excluded.most_common())
        said = f"{self.pairs.kind}, {len(self.items)} pairs. {self.pairs.rule}"
        return said + (f" Left out: {left_out}." if left_out else "")

    def price(self) -> str:
        """How many calls the study takes, in a sentence."""
        judges, items, runs = len(self.panel.agents), len(self.items), self.protocol.runs
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
        totals.prompts = len(self.items)
        note_unused(session, "bench reliability")
        async with session.recording(totals, stop):
            with AttemptFile(records, ClashRecord, OF_CLASH) as file:
                session.go_on_under((one.prompt_digests.get("ranking") for one in file.earlier), templates_digest)
                settings = ClashSettings(
                    judges=session.models(), criteria_model=self.criteria_model, given=True, seed=self.seed
                )

                def keep(record: ClashRecord, reused: bool) -> None:
                    totals.add(record, reused)
                    if not reused:
                        file.append(record)
                    update()

                found = await run_panel(
                    self.items,
                    build_clash(session, settings, ()),  # names are hidden item by item
                    self.protocol,
                    earlier=file.earlier,
                    on_record=keep,
                    workers=session.workers,
                    stop=stop,
                    grace_s=session.grace_s,
                )
            totals.end = found.end
        return found
