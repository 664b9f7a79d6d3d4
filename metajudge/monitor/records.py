"""Promises and their audits, from a store or from a file of labelled decisions; and the record of an alarm."""

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field

from metajudge.errors import InputError
from metajudge.monitor.drift import Audit, Decision
from metajudge.monitor.report import PromiseReport, Tally, Watched, reports_on
from metajudge.monitor.sampling import Pick
from metajudge.monitor.stored import promises
from metajudge.reading.containers.lines import Reject, Source
from metajudge.reading.containers.tables import json_lines
from metajudge.reading.reader import each, split
from metajudge.reviews.opening import Reviewed
from metajudge.reviews.review import Review, ReviewOrigin
from metajudge.store import Store
from metajudge.types import digest, text_digest
from metajudge.webhooks.webhook import Webhook, send_events

BROKEN: Final = "promise.broken"
"""The kind of alarms in the store's audit log; their subject is the promise's id."""


async def reports(store: Store, *, now: float, reviewed_only: bool = False, **asked: Any) -> list[PromiseReport]:
    """Every promise of a store, tested on its audits; broken ones first, then by most audits.

    Args:
        now: seconds since the epoch.
        reviewed_only: for the test alone; see :func:`~metajudge.monitor.stored.promises`.
        asked: see :func:`~metajudge.monitor.report.report_on`.
    """
    return reports_on(await watched_promises(store, now=now, reviewed_only=reviewed_only), **asked)


async def watched_promises(
    store: Store, *, now: float, reviewed_only: bool = False, keep: bool = False
) -> list[Watched]:
    """Every promise that was stamped on a judgment; ``keep``: with the decisions, to draw from them."""
    broken = await broken_promises(store)
    return await promises(store, now=now, broken=broken, reviewed_only=reviewed_only, keep=keep)


async def record_alarms(store: Store, found: Sequence[PromiseReport], *, now: float) -> list[PromiseReport]:
    """Records the broken promises that are not recorded yet, and returns them.

    From then on their guarantee is stamped on nothing, here and in every process that uses the store.
    """
    known = await broken_promises(store)
    new = [one for one in found if one.is_broken and one.promise_id not in known]
    for one in new:
        await store.audit_log.append(BROKEN, one.promise_id, alarm_event(one), now=now)
    return new


async def broken_promises(store: Store) -> dict[str, float]:
    """Promise -> since when it is recorded as broken, in seconds since the epoch."""
    found: dict[str, float] = {}
    for entry in await store.audit_log.entries(BROKEN):
        found.setdefault(entry.subject, entry.recorded_at)
    return found


async def send_alarms(hook: Webhook, store: Store, say: Callable[[str], None]) -> dict[str, int]:
    """Sends every recorded alarm that was not delivered to this receiver yet; counts the outcomes."""
    alarms = await store.audit_log.entries(BROKEN)
    events = [(f"promise {one.subject}", one.payload, {"promise_id": one.subject}) for one in alarms]
    return await send_events(hook, events, store, say)


async def queue_picks(store: Store, picks: Sequence[Pick], *, now: float) -> int:
    """Puts drawn judgments into the review queue with their inclusion probability; returns how many are new there.

    Their labels are for fits and estimates. The test leaves them out, as they were not drawn when they were decided.
    """
    found = []
    for one in picks:
        judgment = await store.find_judgment(one.candidate.content)
        if judgment is None:  # its texts were deleted
            continue
        found.append(
            Review(
                review_id=Review.id_for(judgment.digest, None),
                action="KEPT" if one.candidate.kept else "NOT_KEPT",
                origin=ReviewOrigin.REQUEST,
                inclusion=one.inclusion,
                probability=one.candidate.probability,
                opened_at=now,
                **Reviewed.of(judgment)._asdict(),
            )
        )
    return await store.reviews.open(found)


class BrokenPromises:
    """The broken promises of a store, for a run that stamps guarantees: read again after an alarm of this process.

    Alarms of other processes are noticed within ``every_s`` seconds.
    """

    def __init__(self, store: Store, every_s: float = 30.0) -> None:
        self._store = store
        self._every_s = every_s
        self._known: frozenset[str] = frozenset()
        self._read: tuple[int, float] | None = None
        self._turn = asyncio.Lock()

    async def now(self) -> frozenset[str]:
        """Ids of the broken promises."""
        async with self._turn:  # none may go on with an older answer while this one is read
            appended, clock = self._store.audit_log.appended(BROKEN), time.monotonic()
            if self._read is None or self._read[0] != appended or clock - self._read[1] > self._every_s:
                self._known = frozenset(await broken_promises(self._store))
                self._read = appended, clock
            return self._known


def alarm_event(report: PromiseReport) -> dict[str, Any]:
    """What is recorded and sent of a broken promise: numbers and digests, no text of a judgment."""
    estimate = report.held.precision
    return {
        "version": 1,
        "event": BROKEN,
        "promise_id": report.promise_id,
        "calibration": report.calibration,
        "judges": list(report.judges),
        "threshold": report.threshold,
        "target": report.target,
        "delta": report.delta,
        "audits": report.held.audits,
        "alarm_after": report.held.alarm,
        "alarm_at": report.alarm_at,
        "e_value": report.held.largest,
        "precision": None if estimate is None else [estimate.low, estimate.estimate, estimate.high],
        "policies": list(report.policies),
    }


class LabelledDecision(BaseModel):
    """A line of a file of labelled decisions; the order of the lines is that of the decisions."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1, description="Its id or text; judgments of one question are one observation.")
    correct: bool | None = Field(default=None, description="What people say of the verdict; null: not labelled.")
    id: str | None = Field(default=None, description="Of the judgment; default: its line.")
    judge: str = "judge"
    category: str | None = None
    kept: bool = True
    probability: float | None = Field(default=None, ge=0, le=1)
    inclusion: float = Field(default=1.0, gt=0, le=1, description="Probability with which it was drawn for a label.")
    signals: dict[str, float] = Field(default_factory=dict)
    identity: dict[str, str] = Field(default_factory=dict)


def read_decisions(path: Path | str, *, target: float, delta: float) -> tuple[Watched, list[Reject]]:
    """A file of labelled decisions, one JSON object a line, under one promise.

    Raises:
        InputError: the file cannot be read, or no line of it is a decision.
    """
    source = Source(Path(path), str(path))
    rows, rejects = split(
        each(source, json_lines(source).rows(), lambda line: (line.number, LabelledDecision.model_validate(line.data)))
    )
    if not rows:
        first = f": {rejects[0]}" if rejects else ""
        raise InputError(f"{path} has no decision{first}. Each line needs `question` and, where labelled, `correct`")
    decisions = tuple(_from_file(number, one) for number, one in rows)
    name = digest(["promise", target, delta])[:16]
    judges = tuple(sorted({one.judge for one in decisions}))
    tally = Tally(decisions, keep=True)
    return Watched(promise_id=name, target=target, delta=delta, judges=judges, tally=tally), rejects


def _from_file(number: int, one: LabelledDecision) -> Decision:
    at = float(number)
    values = dict(one.signals) if one.probability is None else {"probability": one.probability, **one.signals}
    audit = None if one.correct is None else Audit(0.0, one.inclusion, at, one.correct)
    name = one.id or f"line {number}"
    content = text_digest(orjson.dumps([name, one.judge]).decode())
    shown = (one.judge, one.category, one.question, at, values, one.identity)
    return Decision(name, content, *shown, one.kept, one.probability, audit)
