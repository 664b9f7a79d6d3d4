"""Counts of batches put together, and counts of what an earlier run has done."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Final

from metajudge.distributed.folder import Earlier
from metajudge.errors import FailureKind
from metajudge.providers.metering import Meter
from metajudge.types import CallRecord, Status
from metajudge.vetting.explanation import MOST_MESSAGES, Gathered
from metajudge.vetting.summary import VetSummary

_OF_THE_RUN: Final = frozenset({"run_id", "end", "bad_lines", "duplicates", "reviews"}) | {
    *("wall_s", "total_s", "store", "out", "webhook", "calibrated", "guarantees", "policy", "rules"),
    *("calls", "failed_calls", "usage", "cost_usd", "known_cost_usd", "results_known"),
    *("notices", "gathered", "transferred", "judges_together", "judges_not_compared"),
}
"""Fields of a summary that are not sums over batches, or are added in a way of their own."""


def meter_of(calls: Iterable[CallRecord]) -> Meter:
    """What recorded calls took."""
    meter = Meter()
    for call in calls:
        meter.sent += 1
        meter.replies += call.status == "ok"
        if call.failure_kind is not None:
            meter.failures[call.failure_kind] += 1
        if call.usage is not None or call.status == "ok":
            meter.add(call.usage, call.cost_usd)
    return meter


def add_meter(total: Meter, part: Meter) -> None:
    """Adds what the calls of one batch took to that of the run."""
    total.sent += part.sent
    total.replies += part.replies
    total.failures.update(part.failures)
    total.usage += part.usage
    total.cost_usd += part.cost_usd
    total.unpriced += part.unpriced


def add_summary(total: VetSummary, part: VetSummary) -> None:
    """Adds the counts of one batch to those of the run."""
    for one in fields(VetSummary):
        if one.name in _OF_THE_RUN:
            continue
        before, more = getattr(total, one.name), getattr(part, one.name)
        if isinstance(before, Counter):
            before.update(more)
        else:
            setattr(total, one.name, before + more)
    total.notices = list(dict.fromkeys([*total.notices, *part.notices]))
    add_gathered(total.gathered, part.gathered)


def add_gathered(total: Gathered, part: Gathered) -> None:
    """Adds what explains the outcome of one batch."""
    for one in fields(Gathered):
        before, more = getattr(total, one.name), getattr(part, one.name)
        match one.name:
            case "best":
                setattr(total, one.name, max(before, more, key=lambda best: -float("inf") if best is None else best[1]))
            case "threshold" | "needed":
                setattr(total, one.name, min((value for value in (before, more) if value is not None), default=None))
            case "reachable" | "best_probability" | "share":
                setattr(total, one.name, max((value for value in (before, more) if value is not None), default=None))
            case "promised":
                total.promised |= part.promised
            case _ if isinstance(before, Counter):
                _add_messages(before, more)
            case _ if isinstance(before, set):
                before.update(sorted(more)[: max(0, 3 - len(before))])  # more than two are told apart from two
            case _:
                setattr(total, one.name, before + more)


def _add_messages(total: Counter[Any], part: Counter[Any]) -> None:
    for message, count in part.items():
        known = message in total or len(total) < MOST_MESSAGES
        total[message if known or not isinstance(message, tuple) else (message[0], "")] += count


def count_earlier(summary: VetSummary, earlier: Earlier) -> None:
    """Counts a judgment that an earlier run has done."""
    summary.judgments += 1
    summary.reused += 1
    if earlier.decided_by is not None:
        summary.decided_by[earlier.decided_by] += 1
    match earlier.status:
        case Status.ASSESSED:
            summary.assessed += 1
            summary.accepted += earlier.accepted is True
            summary.rejected += earlier.accepted is False
            summary.renormalised += earlier.renormalised
        case Status.UNSCORED:
            summary.unscored += 1
            summary.without_evidence += earlier.failure is FailureKind.NO_EVIDENCE
        case Status.FAILED:
            silent = earlier.failure is FailureKind.NO_VERDICT
            summary.no_verdict += silent
            summary.failed += not silent
    if earlier.failure is not None:
        summary.failures[FailureKind(earlier.failure).value] += 1
