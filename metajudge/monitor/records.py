"""Promises and their audits, from a store or from a file of labelled decisions; and the record of an alarm."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field

from metajudge.calibration.promise import Promise
from metajudge.errors import InputError
from metajudge.monitor.drift import Seen
from metajudge.monitor.report import Audit, Decision, PromiseReport, Watched, promise_id, report_on, sorted_reports
from metajudge.monitor.sampling import Pick
from metajudge.readers.lines import Reject, Source
from metajudge.readers.reader import each, split
from metajudge.readers.tables import JsonLineTable
from metajudge.reviews import Review, ReviewOrigin, ReviewState, ReviewStatus
from metajudge.reviews.agreement import label_of
from metajudge.reviews.queue import ReviewFilter
from metajudge.store.annotations import annotated_data
from metajudge.store.protocol import Store
from metajudge.store.rows import judgment_data
from metajudge.store.sql import Connection
from metajudge.store.versions import versions
from metajudge.types import GuaranteedThreshold, Right, digest, parse_right, text_digest
from metajudge.webhooks.delivery import send_events
from metajudge.webhooks.webhook import Webhook

BROKEN: Final = "promise.broken"
"""The kind of alarms in the store's audit log; their subject is the promise's id."""
CALIBRATION: Final = "calibration"
PAGE: Final = 2_000
"""Versions whose texts are in memory at once."""
MOST_RUNS: Final = 100_000


_NUMBERS: Final = (
    f"SELECT number FROM {versions()} v WHERE number > $1 AND calibration IS NOT NULL "  # noqa: S608 - our own text
    "AND ($2::VARCHAR[] IS NULL OR judgment_digest IN (SELECT unnest($2::VARCHAR[]))) "
    f"ORDER BY number LIMIT {PAGE}"
)
_ROWS: Final = (
    "SELECT v.number, v.run_id, v.created_at, v.judgment_digest, v.payload, v.annotation, "  # noqa: S608 - our own text
    "j.payload, v.item_id, i.payload "
    f"FROM {versions()} v LEFT JOIN judgments j ON j.judgment_digest = v.judgment_digest "
    "LEFT JOIN items i ON i.item_digest = j.item_digest "
    "WHERE v.number BETWEEN $2 AND $3 AND v.number IN (SELECT unnest($1::BIGINT[])) ORDER BY v.number"
)


async def reports(
    store: Store,
    *,
    now: float,
    level: float = 0.05,
    confidence: float = 0.95,
    most: int | None = None,
    reviewed_only: bool = False,
) -> list[PromiseReport]:
    """Every promise of a store, tested on its audits; broken ones first, then by most audits.

    Args:
        now: seconds since the epoch.
        level, confidence, most: see :func:`~metajudge.monitor.report.report_on`.
        reviewed_only: for the test alone; see :func:`watched_promises`.
    """
    watched = await watched_promises(store, now=now, reviewed_only=reviewed_only)
    return sorted_reports(report_on(one, level=level, confidence=confidence, most=most) for one in watched)


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
                subject_id=judgment.id,
                subject_digest=judgment.digest,
                item_id=judgment.item.id,
                judge=judgment.judge,
                category=judgment.item.category,
                action="KEPT" if one.candidate.kept else "NOT_KEPT",
                origin=ReviewOrigin.REQUEST,
                inclusion=one.inclusion,
                probability=one.candidate.probability,
                opened_at=now,
                verdict=judgment.verdict,
                answer_scale=judgment.item.scale,
                truth=judgment.correct,
                question=judgment.item.digest,
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


async def watched_promises(store: Store, *, now: float, reviewed_only: bool = False) -> list[Watched]:
    """Every promise that was stamped on a judgment, with all that was decided under it.

    Args:
        reviewed_only: only the judgments that were drawn for people: enough for the test, and fewer to read. Judgments
            outside the guarantee are not counted then.
    """
    calibrations = {entry.subject: entry.payload for entry in await store.audit_log.entries(CALIBRATION)}
    reviews = await _reviews(store, now)
    broken = await broken_promises(store)
    shares = {run.run_id: run.config.get("audit_share") or 0 for run in await store.runs(MOST_RUNS)}
    stamps: dict[str, tuple[str, GuaranteedThreshold]] = {}
    decisions: dict[str, dict[str, Decision]] = {}
    policies: dict[str, set[str]] = {}
    outside: dict[str, dict[str, str]] = {}
    after = 0
    only = sorted(reviews) if reviewed_only else None
    while page := await store.ask(lambda connection, start=after: _page(connection, start, only)):  # type: ignore[misc]
        after = page[-1]["number"]
        for row in page:
            given = row["assessment"].get("guarantee")
            if given is None:
                if why := row["assessment"].get("outside_guarantee"):
                    outside.setdefault(row["assessment"]["calibration"], {})[row["content"]] = why[0]
                continue
            stamp = GuaranteedThreshold.model_validate(given)
            if stamp.population == "this_file":  # it speaks of that file alone, and nothing comes after it
                continue
            calibration = row["assessment"]["calibration"]
            name = promise_id(calibration, stamp)
            stamps.setdefault(name, (calibration, stamp))
            rule = _rule(calibrations.get(calibration))
            audit = _audit(reviews.get(row["content"], ()), rule)
            sampled = shares.get(row["run"], 0) > 0
            decisions.setdefault(name, {}).setdefault(row["content"], _decision(row, audit, sampled=sampled))
            if (decided := row["assessment"].get("decision")) is not None:
                policies.setdefault(name, set()).add(decided["policy_digest"])
    return [
        Watched(
            promise_id=name,
            target=stamp.target,
            delta=stamp.delta,
            threshold=stamp.threshold,
            judges=stamp.judges,
            category=stamp.category,
            most=stamp.most_per_question,
            calibration=calibration,
            decisions=tuple(decisions[name].values()),
            known=_known(calibrations.get(calibration)),
            policies=tuple(sorted(policies.get(name, ()))),
            sentence=Promise.of_stamp(stamp).sentence(),
            outside={} if reviewed_only else dict(Counter(outside.get(calibration, {}).values())),
            broken_since=broken.get(name),
        )
        for name, (calibration, stamp) in stamps.items()
    ]


def _page(connection: Connection, after: int, only: Sequence[str] | None) -> list[dict[str, Any]]:
    """The next versions with a calibration, by number, as plain data without the items' answers."""
    numbers = connection.execute(_NUMBERS, [after, only]).fetchall()
    if not numbers:
        return []
    chosen = [number for (number,) in numbers]
    rows = connection.execute(_ROWS, [chosen, chosen[0], chosen[-1]]).fetchall()
    return [
        {
            "number": number,
            "run": run,
            "at": at,
            "content": content,
            "assessment": annotated_data(payload, annotation),
            **_of_judgment(judgment, item_id, item),
        }
        for number, run, at, content, payload, annotation, judgment, item_id, item in rows
    ]


def _of_judgment(payload: str | None, item_id: str, item: str | None) -> dict[str, Any]:
    """Question and identity; of a judgment whose texts were deleted, its item's id stands for the question."""
    if payload is None or item is None:
        return {"question": item_id, "identity": {}}
    data = judgment_data(payload, item_id, item)
    asked = [one["content"] for one in data["item"].get("conversation", ()) if one["role"] == "user"]
    question = asked[0] if len(asked) > 1 else data["item"].get("question")
    identity = {}
    if data.get("instruction"):
        identity["instruction"] = text_digest(data["instruction"])[:12]
    if model := (data.get("meta") or {}).get("judge_model"):
        identity["judge_model"] = str(model)
    return {"question": item_id if not question else text_digest(question), "identity": identity}


def _decision(row: Mapping[str, Any], audit: Audit | None, *, sampled: bool) -> Decision:
    found = row["assessment"]
    numbers = {"probability": found.get("probability"), "score": found.get("final_score")}
    numbers |= {name: one["value"] for name, one in (found.get("signals") or {}).items()}
    identity = dict(row["identity"])
    if agents := [f"{one['agent']}: {one.get('reported_model') or one['model']}" for one in found.get("agents", ())]:
        identity["agents"] = ", ".join(sorted(agents))
    if found.get("rubric_digest"):
        identity["rubric"] = found["rubric_digest"]
    if found.get("prompt_digest"):
        identity["prompts"] = found["prompt_digest"]
    values = {name: float(value) for name, value in numbers.items() if value is not None}
    seen = Seen(found["judge"], found.get("category"), row["question"], row["at"], values, identity)
    return Decision(
        found["judgment_id"],
        row["content"],
        seen,
        bool(found.get("accepted")),
        found.get("probability"),
        audit,
        sampled,
    )


def _known(calibration: Mapping[str, Any] | None) -> dict[str, Sequence[str]]:
    if calibration is None:
        return {}
    identity = calibration["identity"]
    known = {"judge": identity["judges"], "category": [name for name in calibration.get("categories", ()) if name]}
    known |= {"rubric": identity.get("rubrics", ()), "prompts": identity.get("prompts", ())}
    return {name: tuple(values) for name, values in known.items() if values}


def _rule(calibration: Mapping[str, Any] | None) -> Right | None:
    return None if calibration is None else parse_right(calibration["identity"].get("right", "top1"))


async def _reviews(store: Store, now: float) -> dict[str, list[ReviewState]]:
    """Judgment -> its reviews; those that a person requested were not drawn, and are left out."""
    found: dict[str, list[ReviewState]] = {}
    cursor = None
    while True:
        page = await store.reviews.page(ReviewFilter(), now=now, limit=1000, cursor=cursor)
        for state in page.reviews:
            if state.review.subject == "judgment" and state.review.origin is not ReviewOrigin.REQUEST:
                found.setdefault(state.review.subject_digest, []).append(state)
        cursor = page.next_cursor
        if cursor is None:
            return found


def _audit(states: Sequence[ReviewState], rule: Right | None) -> Audit | None:
    """One audit a judgment: the review that was opened first."""
    if not states:
        return None
    state = min(states, key=lambda one: (one.review.opened_at, one.review.review_id))
    review = state.review
    if state.status is not ReviewStatus.DECIDED:
        return Audit(review.opened_at, review.inclusion)
    at = max(one.decided_at for one in state.decisions)
    return Audit(review.opened_at, review.inclusion, at, label_of(state.decisions, review.verdict, rule))


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
        each(
            source, JsonLineTable(source).rows(), lambda line: (line.number, LabelledDecision.model_validate(line.data))
        )
    )
    if not rows:
        first = f": {rejects[0]}" if rejects else ""
        raise InputError(f"{path} has no decision{first}. Each line needs `question` and, where labelled, `correct`")
    decisions = tuple(_from_file(number, one) for number, one in rows)
    name = digest(["promise", target, delta])[:16]
    return Watched(name, target, delta, judges=_judges(decisions), decisions=decisions), rejects


def _from_file(number: int, one: LabelledDecision) -> Decision:
    at = float(number)
    values = dict(one.signals) if one.probability is None else {"probability": one.probability, **one.signals}
    seen = Seen(one.judge, one.category, one.question, at, values, one.identity)
    audit = None if one.correct is None else Audit(0.0, one.inclusion, at, one.correct)
    name = one.id or f"line {number}"
    return Decision(name, text_digest(orjson.dumps([name, one.judge]).decode()), seen, one.kept, one.probability, audit)


def _judges(decisions: Sequence[Decision]) -> tuple[str, ...]:
    return tuple(sorted({one.seen.judge for one in decisions}))
