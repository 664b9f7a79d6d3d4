"""The promises of a store and what was decided under them, read a page at a time."""

from array import array
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import orjson

from metajudge.calibration.calibration import Calibration
from metajudge.calibration.promise import Promise
from metajudge.evidence.units import ITEM
from metajudge.monitor.drift import Audit, Decision, question_code
from metajudge.monitor.report import Tally, Watched, promise_id
from metajudge.reviews.agreement import label_of
from metajudge.reviews.review import ReviewOrigin, ReviewState, ReviewStatus
from metajudge.store import Store
from metajudge.store.rows import annotated_data
from metajudge.store.run_results import SPAN, StampedVersion, newest_annotation, stamped_versions, stamped_versions_of
from metajudge.store.sql import Connection
from metajudge.store.texts import rows_of
from metajudge.types import GuaranteedThreshold, Right, parse_right, text_digest

CALIBRATION: Final = "calibration"
"""The kind of calibrations in the store's change log; their subject is the digest."""
MOST_RUNS: Final = 100_000
_MOST_ITEMS: Final = 200_000
"""Items whose questions' digests are in memory."""


async def keep_calibration(store: Store, calibration: Calibration, *, now: float) -> None:
    """Keeps a calibration's content, once a digest, so that probabilities can be explained without its file."""
    if not await store.audit_log.entries(CALIBRATION, calibration.digest, limit=1):
        content = orjson.loads(calibration.to_json())
        await store.audit_log.append(CALIBRATION, calibration.digest, content, now=now)


async def promises(
    store: Store, *, now: float, broken: Mapping[str, float], reviewed_only: bool = False, keep: bool = False
) -> list[Watched]:
    """Every promise that was stamped on a judgment; a judgment counts once for it.

    Args:
        now: seconds since the epoch.
        broken: promise -> since when it is recorded as broken.
        reviewed_only: only the judgments that were drawn for people: enough for the test, and fewer to read. Judgments
            outside the guarantee are not counted then.
        keep: whether tallies keep the decisions.
    """
    known = {entry.subject: entry.payload for entry in await store.audit_log.entries(CALIBRATION)}
    calibrations = {name: Calibration.model_validate(one) for name, one in known.items()}
    reviews = await _reviews(store, now)
    shares = {run.run_id: run.config.get("audit_share") or 0 for run in await store.runs(MOST_RUNS)}
    found = _Found(
        {name: parse_right(one["identity"].get("right", "top1")) for name, one in known.items()},
        calibrations,
        reviews,
        shares,
        defaultdict(lambda: Tally(keep=keep)),
    )
    reader = _Reader()
    async for rows in _stamped(store, sorted(reviews) if reviewed_only else None):
        found.add(rows, await store.ask(partial(reader.asked, rows=rows)))
    outside = {} if reviewed_only else found.outside()
    return [
        Watched(
            promise_id=name,
            tally=found.tallies[name],
            target=stamp.target,
            delta=stamp.delta,
            threshold=stamp.threshold,
            judges=stamp.judges,
            category=stamp.category,
            most=stamp.most_per_question,
            calibration=calibration,
            known=_known(known.get(calibration)),
            policies=tuple(sorted(found.policies.get(name, ()))),
            sentence=Promise.of_stamp(stamp).sentence(),
            outside=outside.get(calibration, {}),
            broken_since=broken.get(name),
        )
        for name, (calibration, stamp) in found.stamps.items()
    ]


async def _stamped(store: Store, only: Sequence[str] | None) -> AsyncIterator[list[StampedVersion]]:
    """Stamped versions, a page at a time, by their numbers."""
    if only is not None:
        found = await store.ask(lambda connection: stamped_versions_of(connection, only))
        for start in range(0, len(found), SPAN):
            yield found[start : start + SPAN]
        return
    for first in range(1, await store.ask(newest_annotation) + 1, SPAN):
        yield await store.ask(partial(stamped_versions, first=first))


class _Asked(NamedTuple):
    """The question of a judgment, as a digest or its item's id, and what judged."""

    question: str
    identity: Mapping[str, str]


class _Question(NamedTuple):
    """Digests of an item's question and of what a longer conversation began with, else of the question too."""

    text: str | None
    opening: str | None

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> "_Question":
        """Of an item's payload, or of the part of it that a judgment has."""
        asked = [one["content"] for one in item.get("conversation", ()) if one["role"] == "user"]
        question = item.get("question")
        text = text_digest(question) if question else None
        if len(asked) < 2:
            return cls(text, text)
        return cls(text, text_digest(asked[0]) if asked[0] else None)


@dataclass(slots=True)
class _Found:
    """What the pages read so far say.

    Attributes:
        rules: calibration -> when a verdict is right; ``calibrations``: what each promises.
        shares: run -> share of what it kept that was drawn for people.
        stamps: promise -> calibration and stamp; ``policies``: promise -> digests.
    """

    rules: Mapping[str, Right | None]
    calibrations: Mapping[str, Calibration]
    reviews: Mapping[str, ReviewState]
    shares: Mapping[str, float]
    tallies: dict[str, Tally]
    stamps: dict[str, tuple[str, GuaranteedThreshold]] = field(default_factory=dict)
    policies: dict[str, set[str]] = field(default_factory=dict)
    _taken: dict[str, set[int]] = field(default_factory=dict)
    _outside: "dict[str, tuple[array[int], array[int]]]" = field(default_factory=dict)
    _reasons: dict[str, int] = field(default_factory=dict)
    _below: "dict[tuple[object, ...], _Stamp | None]" = field(default_factory=dict)

    def add(self, rows: Sequence[StampedVersion], asked: Mapping[str, _Asked]) -> None:
        """Takes a page; ``asked`` by the judgment's digest."""
        for row in rows:
            said, content = self._covered(row, _said(row)), question_code(row.judgment_digest)
            if said.stamp is None:
                if said.outside is not None:
                    reason = self._reasons.setdefault(said.outside, len(self._reasons))
                    whose, reasons = self._outside.setdefault(row.calibration, (array("Q"), array("H")))
                    whose.append(content)
                    reasons.append(reason)
            elif said.stamp[1].population != "this_file":  # that of a file ends with it
                name, stamp = said.stamp
                self.stamps.setdefault(name, (row.calibration, stamp))
                if said.policy is not None:
                    self.policies.setdefault(name, set()).add(said.policy)
                taken = self._taken.setdefault(name, set())
                if content not in taken:
                    taken.add(content)
                    self.tallies[name].add(self._decision(row, said, stamp, asked.get(row.judgment_digest)))

    def _decision(
        self, row: StampedVersion, said: "_Said", stamp: GuaranteedThreshold, asked: _Asked | None
    ) -> Decision:
        """Without the judgment's texts its item's id stands for the question."""
        values = {"probability": row.probability, "score": row.final_score, **said.values}
        drawn = self.reviews.get(row.judgment_digest)
        return Decision(
            row.judgment_id,
            row.judgment_digest,
            row.judge,
            said.category,
            row.item_id if asked is None or stamp.counted_by == ITEM else asked.question,
            row.created_at,
            {name: value for name, value in values.items() if value is not None},
            said.identity if asked is None else {**asked.identity, **said.identity},
            stamp.keeps(row.probability or 0.0),
            row.probability,
            None if drawn is None else _audit(drawn, self.rules.get(row.calibration)),
            self.shares.get(row.run_id, 0) > 0,
        )

    def _covered(self, row: StampedVersion, said: "_Said") -> "_Said":
        """What a version says, with the promise that covers it where its probability is below the threshold."""
        if said.stamp is not None or said.outside is not None or row.probability is None:
            return said
        key = (row.calibration, row.judge, said.marks, said.category)
        if key not in self._below:
            calibration = self.calibrations.get(row.calibration)
            promise = None if calibration is None else calibration.promise_for(row.judge, said.marks, said.category)
            text = None if promise is None else promise.stamp().model_dump_json().encode()
            self._below[key] = None if text is None else _stamp(row.calibration, text)
        return replace(said, stamp=self._below[key])

    def outside(self) -> dict[str, dict[str, int]]:
        """Calibration -> reason -> judgments that no guarantee of it covers, each by its newest version."""
        names = list(self._reasons)
        found = {}
        for calibration, (contents, reasons) in self._outside.items():
            newest = np.unique(np.asarray(contents)[::-1], return_index=True)[1]
            counts = np.bincount(np.asarray(reasons)[::-1][newest], minlength=len(names)).tolist()
            found[calibration] = {name: n for name, n in zip(names, counts, strict=True) if n}
        return found


_Stamp: TypeAlias = tuple[str, GuaranteedThreshold]
"""A promise's id, and what it says."""


@lru_cache(maxsize=256)
def _stamp(calibration: str, text: bytes) -> _Stamp:
    stamp = GuaranteedThreshold.model_validate_json(text)
    return promise_id(calibration, stamp), stamp


@dataclass(frozen=True, slots=True)
class _Said:
    """What an annotated assessment says apart from its columns.

    Attributes:
        outside: the first reason why no guarantee covers it.
        values: of the signals.
    """

    stamp: _Stamp | None
    outside: str | None
    policy: str | None
    category: str | None
    marks: tuple[str, ...]
    values: Mapping[str, float]
    identity: Mapping[str, str]


def _said(row: StampedVersion) -> _Said:
    found: dict[str, Any] = annotated_data(row.payload, row.annotation)
    given, why, decided = (found.get(name) for name in ("guarantee", "outside_guarantee", "decision"))
    identity = {}
    if agents := [f"{one['agent']}: {one.get('reported_model') or one['model']}" for one in found.get("agents", ())]:
        identity["agents"] = ", ".join(sorted(agents))
    digests = {"rubric": found.get("rubric_digest"), "prompts": found.get("prompt_digest")}
    identity |= {name: one for name, one in digests.items() if one}
    return _Said(
        None if given is None else _stamp(row.calibration, orjson.dumps(given)),
        why[0] if why else None,
        None if decided is None else decided["policy_digest"],
        found.get("category"),
        tuple(found.get("probability_marks") or ()),
        {name: float(one["value"]) for name, one in (found.get("signals") or {}).items() if one["value"] is not None},
        identity,
    )


class _Reader:
    """Reads what versions' judgments say, page after page."""

    def __init__(self) -> None:
        self._items: dict[str, _Question] = {}

    def asked(self, connection: Connection, *, rows: Sequence[StampedVersion]) -> dict[str, _Asked]:
        """What was asked, by the judgment's digest."""
        judged = rows_of(connection, "judgment", "item_digest, item_id", {row.judgment_digest for row in rows})
        if len(self._items) > _MOST_ITEMS:
            self._items.clear()
        missing = {item for _, item, *_ in judged}.difference(self._items)
        for digest, _, payload in rows_of(connection, "item", "redacted", missing):
            self._items[digest] = _Question.of(orjson.loads(payload))
        return {
            digest: _asked(payload, name, self._items[item])
            for digest, item, name, payload in judged
            if item in self._items
        }


def _asked(payload: str, item_id: str, item: _Question) -> _Asked:
    data = orjson.loads(payload)
    beside = data.get("item", {})
    question = item.opening
    if "conversation" in beside:
        own = _Question.of(beside)
        question = item.text if own.opening is None else own.opening
    identity = {}
    if data.get("instruction"):
        identity["instruction"] = text_digest(data["instruction"])[:12]
    if model := (data.get("meta") or {}).get("judge_model"):
        identity["judge_model"] = str(model)
    return _Asked(beside.get("question_id") or question or item_id, identity)


def _known(calibration: Mapping[str, Any] | None) -> dict[str, Sequence[str]]:
    if calibration is None:
        return {}
    identity = calibration["identity"]
    known = {"judge": identity["judges"], "category": [name for name in calibration.get("categories", ()) if name]}
    known |= {"rubric": identity.get("rubrics", ()), "prompts": identity.get("prompts", ())}
    return {name: tuple(values) for name, values in known.items() if values}


def _audit(drawn: ReviewState, rule: Right | None) -> Audit:
    review = drawn.review
    if drawn.status is not ReviewStatus.DECIDED:
        return Audit(review.opened_at, review.inclusion)
    at = max(one.decided_at for one in drawn.decisions)
    return Audit(review.opened_at, review.inclusion, at, label_of(drawn.decisions, review.verdict, rule))


async def _reviews(store: Store, now: float) -> dict[str, ReviewState]:
    """Judgment -> its first review; those that a person requested were not drawn, and are left out."""

    def opened(state: ReviewState) -> tuple[float, str]:
        return state.review.opened_at, state.review.review_id

    found: dict[str, ReviewState] = {}
    async for state in store.reviews.every(now=now):
        review = state.review
        if review.subject == "judgment" and review.origin is not ReviewOrigin.REQUEST:
            found[review.subject_digest] = min(found.get(review.subject_digest, state), state, key=opened)
    return found
