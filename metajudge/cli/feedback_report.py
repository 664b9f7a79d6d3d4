"""Metrics, proposals and their history, for people."""

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from metajudge.feedback.backtest import Backtest, Difference
from metajudge.feedback.loop import Report
from metajudge.feedback.metrics import Metric
from metajudge.feedback.proposals import Activation, Proposal


def print_report(report: Report) -> None:
    """Prints the metrics overall and by version, what people disagreed with, and patterns."""
    console = Console(highlight=False)
    console.print(f"Policy {report.policy}: {report.cases} cases decided by people", markup=False)
    console.print(_table("", list(report.overall.values())))
    for title, groups in (("version", report.by_version), ("category", report.by_category), ("judge", report.by_judge)):
        if len(groups) > 1:
            for name, found in groups.items():
                console.print(f"\n{title} {name[:40]}", markup=False)
                console.print(_table("", list(found.values())))
    counts = ", ".join(f"{count} {way.value.replace('_', ' ')}" for way, count in report.disagreements.items())
    console.print(f"\nDisagreements: {counts}", markup=False)
    for pattern in report.patterns:
        console.print(f"  {pattern.describe()}", markup=False, soft_wrap=True)


def _table(title: str, found: Sequence[Metric]) -> Table:
    table = Table(box=None, title=title or None)
    for name, justify in (("metric", "left"), ("value", "right"), ("95 %", "left"), ("n", "right"), ("target", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for one in found:
        sign = "<=" if one.name in ("false_approve_rate", "false_reject_rate") else ">="
        table.add_row(
            one.name.replace("_", " "),
            "no data" if one.value is None else f"{100 * one.value:.1f} %",
            "" if one.low is None or one.high is None else f"{100 * one.low:.1f} to {100 * one.high:.1f}",
            str(one.n),
            f"{sign} {100 * one.target:g} %" + {True: ", met", False: ", missed", None: ""}[one.met],
        )
    return table


def print_proposals(proposals: Sequence[Proposal]) -> None:
    """Prints each change with its backtest."""
    console = Console(highlight=False)
    if not proposals:
        console.print("No change fits: too few cases, or no disagreement to learn from.", markup=False)
    for one in proposals:
        console.print(f"{one.proposal_id}  {one.status}: {one.kind.value}, {one.change}", markup=False, soft_wrap=True)
        console.print(f"    {one.backtest.reason} ({_on(one.backtest)})", markup=False, soft_wrap=True)
    good = [one for one in proposals if one.status == "proposed"]
    if good:
        console.print(
            f"Nothing is changed. To put one in force: metajudge feedback activate {good[0].proposal_id} --by NAME",
            markup=False,
            soft_wrap=True,
        )


def print_backtest(found: Backtest) -> None:
    """Prints both rates' differences and the verdict."""
    console = Console(highlight=False)
    console.print(f"{'better' if found.better else 'not better'}: {found.reason}", markup=False, soft_wrap=True)
    for name, one in (("false approvals", found.false_approve), ("false rejections", found.false_reject)):
        console.print(f"  {name}: {_difference(one)}", markup=False)
    console.print(f"  {_on(found)}, interval {100 * found.confidence:g} %", markup=False)


def print_history(proposals: Sequence[Proposal], activations: Sequence[Activation]) -> None:
    """Prints proposals and activations, oldest first."""
    console = Console(highlight=False)
    if not proposals and not activations:
        console.print("There is no proposal yet: metajudge feedback propose", markup=False)
    active = {one.name: one.proposal_id for one in activations}
    once = {one.proposal_id for one in activations}
    for one in proposals:
        status = one.status
        word = (
            "active" if active.get(one.name) == one.proposal_id else "superseded" if one.proposal_id in once else status
        )
        console.print(f"{_day(one.created_at)}  {one.proposal_id}  {word}: {one.name}: {one.change}", markup=False)
    for done in activations:
        why = f": {done.reason}" if done.reason else ""
        console.print(
            f"{_day(done.at)}  {done.name} {done.base_digest[:12]} -> {done.digest[:12]} by {done.by}{why} "
            f"({done.backtest.reason})",
            markup=False,
            soft_wrap=True,
        )


def _on(found: Backtest) -> str:
    return f"out of fold on {found.cases} cases about {found.questions} questions"


def _difference(one: Difference) -> str:
    if one.value is None or one.low is None or one.high is None:
        return f"no figure ({one.active_n} cases now, {one.proposal_n} under the proposal)"
    return (
        f"{100 * one.value:+.1f} points ({100 * one.low:+.1f} to {100 * one.high:+.1f}), "
        f"{one.active_n} cases now, {one.proposal_n} under the proposal"
    )


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
