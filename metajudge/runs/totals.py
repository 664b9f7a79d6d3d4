"""What a run took and how it ended: one record for every task, to which a task adds its own counts."""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, ClassVar

from pydantic import BaseModel

from metajudge.providers.metering import Meter
from metajudge.runs.exit_codes import ExitCode, RunCounts, exit_code
from metajudge.runs.loop import RunEnd
from metajudge.types import Usage


@dataclass(slots=True, kw_only=True)
class RunTotals(ABC):
    """Totals of one run.

    Attributes:
        calls: HTTP requests sent in this run, retries and repairs included.
        cached_calls: replies taken from the store instead.
        failed_calls: attempts that got no reply to use, those included that reached no server.
        cost_usd: dollars of this run; None where a price or the usage was unknown.
        known_cost_usd: the part of the cost that is known.
        notices: warnings of this run, each once.
        wall_s: seconds from the first request sent to the end of the run; None where none was sent.
        total_s: seconds of the whole command.
        store, out: where the results are kept.
        bad_lines: lines of the input that could not be read.
        webhook: events sent to a receiver: delivered, known (accepted before), failed, given up; None without one.
    """

    NOUN: ClassVar[str] = "records"
    """What a progress display counts."""
    LOST: ClassVar[str] = "without a result"
    """What it says of records that are missing something."""
    DONE: ClassVar[tuple[str, ...]] = ()
    """Counts of records with a result so far."""
    MISSING: ClassVar[tuple[str, ...]] = ()
    """Of these, counts of records that are missing something: a score, a verdict, an answer."""
    HIDDEN: ClassVar[frozenset[str]] = frozenset()
    """Fields that :meth:`to_json` leaves out."""

    run_id: str | None = None
    end: RunEnd = RunEnd.FINISHED
    bad_lines: int = 0
    calls: int = 0
    cached_calls: int = 0
    failed_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0
    known_cost_usd: float = 0.0
    notices: list[str] = field(default_factory=list)
    wall_s: float | None = None
    total_s: float = 0.0
    store: str | None = None
    out: str | None = None
    webhook: dict[str, int] | None = None

    @property
    def done(self) -> int:
        """Records with a result so far."""
        return sum(getattr(self, name) for name in self.DONE)

    @property
    def taken_over(self) -> int:
        """Of the records done, those whose result an earlier run had, which took no work."""
        return 0

    @property
    def lost(self) -> int:
        """Of these, records that are missing something."""
        return sum(getattr(self, name) for name in self.MISSING)

    @property
    @abstractmethod
    def counts(self) -> RunCounts:
        """What the exit code depends on."""

    @property
    def undelivered(self) -> int:
        """Events that could not be delivered to the webhook."""
        return 0 if self.webhook is None else self.webhook["failed"]

    @property
    def webhook_sentence(self) -> str | None:
        """What became of the events, in a sentence; None without a webhook."""
        if self.webhook is None:
            return None
        sent = self.webhook
        later = "; `metajudge outcomes send` tries them again" if sent["failed"] else ""
        return f"Webhook: {sent['delivered']} delivered, {sent['known']} before, {sent['failed']} failed{later}."

    @property
    def exit_code(self) -> ExitCode:
        """See :mod:`metajudge.runs.exit_codes`."""
        return exit_code(self.counts)

    @property
    def took(self) -> str:
        """Calls, tokens, dollars and seconds in a sentence."""
        cost = f"${self.known_cost_usd:.4f}"
        if self.cost_usd is None:
            cost = f"at least {cost}, a price or the usage is unknown"
        return (
            f"{self.calls} calls ({self.cached_calls} more from the store), {self.usage.input_tokens:,} input and "
            f"{self.usage.output_tokens:,} output tokens, {cost}, {self.total_s:.1f} s."
        )

    def account(self, meter: Meter, notices: Sequence[str]) -> None:
        """Takes over calls, tokens, dollars and notices at the end of a run."""
        self.calls = meter.sent
        self.failed_calls = sum(meter.failures.values())
        self.usage = meter.usage
        self.known_cost_usd = meter.cost_usd
        self.cost_usd = None if meter.unpriced else meter.cost_usd
        self.notices = [*self.notices, *(one for one in notices if one not in self.notices)]
        if meter.first_sent_at is not None:
            self.wall_s = time.monotonic() - meter.first_sent_at

    def to_json(self) -> dict[str, Any]:
        """Plain data, as ``--json`` prints it and the store keeps it."""
        hidden = {*self.HIDDEN, "webhook"} if self.webhook is None else self.HIDDEN
        names = [one.name for one in fields(self) if one.name not in hidden and not one.name.startswith("_")]
        return {name: _plain(getattr(self, name)) for name in names}


def in_words(counts: Mapping[str, int]) -> str:
    """Counts by kind, as in ``2 refused, 1 timeout``; empty for none."""
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def _plain(value: object) -> Any:
    match value:
        case Counter():
            return dict(sorted(value.items()))
        case Mapping():
            return {name: _plain(one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case Enum():
            return value.value
        case BaseModel():
            return value.model_dump(mode="json")
        case float():
            return round(value, 6)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
    return value
