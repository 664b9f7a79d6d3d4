"""The report of a run that is over, from its store."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Final

from metajudge.decision import Policy
from metajudge.errors import InputError
from metajudge.evidence.counting import Counts
from metajudge.evidence.units import Clusters
from metajudge.panels.config import RECORDED, PanelConfig
from metajudge.reading.right_rules import right_of, rules_of
from metajudge.report.document import Report
from metajudge.store import RunRecord, Store
from metajudge.strategies.panel import THRESHOLD
from metajudge.types import Assessment
from metajudge.vetting.picture import Picture
from metajudge.vetting.report.page import Place, page, told_of
from metajudge.vetting.sentences import vetted_by
from metajudge.vetting.summary import VetSummary

MOST_READ: Final = 5_000
"""Judgments of a run whose texts are read; of a larger run labels are not counted and no texts are shown."""
PAGE: Final = 1_000


async def report_of_run(store: Store, run: RunRecord, place: Place) -> Report:
    """The report of a run of ``metajudge vet``, from the results that it stored.

    Results that an earlier run on the same store had stored belong to that one.

    Raises:
        InputError: the run stored no results of vetting.
    """
    first = await store.run_assessments(run.run_id, 0, 1)
    if not first:
        raise InputError(
            f"run {run.run_id} ({run.command}) stored no results of vetting of its own: `metajudge runs` lists others"
        )
    picture = Picture(await _policy(store, first[0][1]), sampled=True)
    summary, labels = VetSummary(run_id=run.run_id), Counts()
    _account(summary, run)
    small = int((run.summary or {}).get("judgments") or 0) <= MOST_READ
    if small:
        found = [await store.find_judgment(one.judgment_digest) async for one in _assessments(store, run.run_id)]
        every = [one for one in found if one is not None]
        labels.rules, labels.clusters = rules_of(every, None), Clusters(every)
        labels.note = labels.clusters.note
    async for one in _assessments(store, run.run_id):
        summary.add(one, reused=False)
        judgment = await store.find_judgment(one.judgment_digest) if small else None
        if judgment is None:
            picture.count(one)
            continue
        right = right_of(judgment, labels.rules)
        labels.add(judgment, one)
        picture.add(judgment, one, right, question=labels.clusters.name(judgment.item))
    told = told_of(summary, labels, vetted_by(summary, _panel(run)), place)
    if not small:
        told.said = [*told.said, f"Labels and texts of more than {MOST_READ:,} judgments are in `vet --report` alone."]
    return page(picture, told)


async def _assessments(store: Store, run_id: str) -> AsyncIterator[Assessment]:
    """The run's own assessments, read page by page."""
    after = 0
    while rows := await store.run_assessments(run_id, after, PAGE):
        for after, one in rows:  # noqa: B007 - the last one's number is where the next page begins
            yield one


async def _policy(store: Store, assessment: Assessment) -> Policy | None:
    """The policy that decided, for how people review what it sends to them."""
    if assessment.decision is None:
        return None
    shown = await store.show(assessment.judgment_id) or {}
    found = shown.get("policies", {}).get(assessment.decision.policy_digest)
    return None if found is None else Policy.model_validate(found)


def _panel(run: RunRecord) -> PanelConfig:
    recorded = run.config.get("panel") or {}
    panel = PanelConfig.model_validate(recorded, context=RECORDED)
    if recorded.get("strategy") != "cascade":
        return panel
    threshold = THRESHOLD if panel.threshold is None else panel.threshold
    return panel.model_copy(update={"strategy": "cascade", "threshold": threshold})


def _account(summary: VetSummary, run: RunRecord) -> None:
    """Takes over what the run recorded of its calls, its cost and its end."""
    recorded = run.summary or {}
    summary.calls = int(recorded.get("calls") or 0)
    summary.cached_calls = int(recorded.get("cached_calls") or 0)
    summary.failed_calls = int(recorded.get("failed_calls") or 0)
    summary.known_cost_usd = float(recorded.get("known_cost_usd") or 0.0)
    summary.cost_usd = recorded.get("cost_usd", 0.0)
    summary.guarantees = list(recorded.get("guarantees") or ())
    summary.calibrated, summary.policy = bool(recorded.get("calibrated")), recorded.get("policy")
    summary.bad_lines, summary.duplicates = recorded.get("bad_lines") or 0, recorded.get("duplicates") or 0
    if run.finished_at is not None:
        summary.total_s = run.finished_at - run.started_at


def when(seconds: float) -> str:
    """A time in words."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
