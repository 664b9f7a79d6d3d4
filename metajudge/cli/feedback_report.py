"""Metrics, proposals and their history, for people."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from metajudge.cli.options import advised, counted
from metajudge.feedback.backtest import Backtest, Difference
from metajudge.feedback.cases import DecidedCase, Direction
from metajudge.feedback.changes import Activation, Comparison, Draft, DraftKind, Proposal
from metajudge.feedback.loop import Report
from metajudge.feedback.metrics import Advice, Metric
from metajudge.store import AuditEntry
from metajudge.types.spent import cost_in_words


def print_reports(reports: Sequence[Report]) -> None:
    """Prints of each policy the metrics overall and by version, disagreements and patterns."""
    for number, report in enumerate(reports):
        if number:
            _say("")
        answered = report.overall["accuracy"].n
        unclear = "" if answered == report.cases else f", {report.cases - answered} of them without a clear answer"
        _say(f"Policy {report.policy}: {counted(report.cases, 'case')} decided by people{unclear}", wrapped=True)
        _print_table(report.overall.values())
        for title, groups in (
            ("version", report.by_version),
            ("category", report.by_category),
            ("judge", report.by_judge),
        ):
            for name, found in groups.items() if len(groups) > 1 else ():
                _say(f"\n{title} {name[:40]}", wrapped=True)
                _print_table(found.values())
        counts = ", ".join(f"{count} {way.value.replace('_', ' ')}" for way, count in report.disagreements.items())
        _say(f"\nDisagreements: {counts}", wrapped=True)
        for pattern in report.patterns:
            _say(f"  {pattern.text}")
        _print_advice(report.advice)


def _print_advice(advice: Sequence[Advice]) -> None:
    for one in advice:
        _say(f"Advice: {one.text}")
    if advice:
        _say(
            "New wording needs new model calls: `metajudge feedback draft` writes it down, and `metajudge feedback "
            "rejudge` tries it on reviewed records that are held out."
        )


def disagreement_rows(found: Mapping[Direction, Sequence[DecidedCase]]) -> list[dict[str, Any]]:
    """One flat row per case: the decision, the policy's version, and people's outcomes."""
    of_case = ("case_id", "judge", "category", "action", "policy", "policy_digest", "score", "probability")
    said = ("review_id", "reviewer", "outcome", "verdict", "scores", "reason", "decided_at", "blind")
    return [
        {
            "direction": way.value,
            **{name: getattr(case, name) for name in (*of_case, "confidence")},
            "decisions": [one.data(*said) for one in case.decisions],
        }
        for way, cases in found.items()
        for case in cases
    ]


def print_disagreements(found: Mapping[Direction, Sequence[DecidedCase]]) -> None:
    """Prints cases by direction, each with people's reasons."""
    for way, cases in found.items():
        _say(f"{way.value.replace('_', ' ')}: {len(cases)}", wrapped=True)
        for case in cases:
            number = case.score if case.probability is None else case.probability
            value = "" if number is None else f" at {number:.4g}"
            by = f"{case.judge or 'case'}, version {(case.policy_digest or '')[:12]}"
            _say(f"  {case.case_id} ({by}): {case.action}{value}")
            for one in case.decisions:
                why = f": {one.reason}" if one.reason else ", no reason given"
                _say(f"    {one.outcome.value} by {one.reviewer}{why}")


def print_snapshots(found: Sequence[AuditEntry]) -> None:
    """Prints the metrics of each kept report in a line."""
    if not found:
        _say("No report is stored yet: run metajudge feedback report --save", wrapped=True)
    for one in found:
        metrics = one.payload["overall"]
        metrics = ", ".join(
            f"{name.replace('_', ' ')} "
            + ("no data" if m["value"] is None else f"{100 * m['value']:.1f} % of {m['n']}")
            for name, m in metrics.items()
        )
        _say(f"{_day(one.recorded_at)}  {one.subject}, {counted(one.payload['cases'], 'case')}: {metrics}")


def _print_table(found: Iterable[Metric]) -> None:
    table = Table(box=None)
    for name, justify in (("metric", "left"), ("value", "right"), ("95 %", "left"), ("n", "right"), ("target", "left")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for one in found:
        sign = "<=" if one.name in ("false_approve_rate", "false_reject_rate") else ">="
        table.add_row(
            one.name.replace("_", " "),
            "no data" if one.value is None else f"{100 * one.value:.1f} %",
            "" if one.low is None or one.high is None else f"{100 * one.low:.1f} to {100 * one.high:.1f}",
            str(one.n),
            f"{sign} {100 * one.target:g} %{_met(one)}",
        )
    Console(highlight=False).print(table)


def _met(one: Metric) -> str:
    """Whether the target is met, and whether the interval leaves that open."""
    if one.met is None:
        return ""
    unsure = one.low is None or one.high is None or one.low <= one.target <= one.high
    return (", met" if one.met else ", missed") + (" (unsure)" if unsure else "")


def print_proposals(proposals: Sequence[Proposal], advice: Sequence[Advice]) -> None:
    """Prints each change with its backtest, and advice."""
    if not proposals:
        _say("No change to propose: too few cases, or no disagreement to learn from.", wrapped=True)
    for one in proposals:
        _say(f"{one.proposal_id}  {one.status}: {one.kind.value} against {_way(one)}, {one.change}")
        _say(f"    {one.backtest.reason} ({_on(one.backtest)})")
    good = [one for one in proposals if one.status == "proposed"]
    if good:
        activate = advised("feedback", "activate", good[0].proposal_id, "--by", "NAME")
        _say(f"Nothing was changed. To activate one: {activate}")
    _print_advice(advice)


def print_test(found: Backtest | Comparison) -> None:
    """Prints whether a change is better, and what it changes: both rates, or how far it agrees with people."""
    _say(f"{'better' if found.better else 'not better'}: {found.reason}")
    if isinstance(found, Comparison):
        _print_comparison(found)
        return
    for name, one in (("false approvals", found.false_approve), ("false rejections", found.false_reject)):
        _say(f"  {name}: {_difference(one)}", wrapped=True)
    _say(f"  {_on(found)}, interval {100 * found.confidence:g} %", wrapped=True)


def print_drafts(drafts: Sequence[tuple[Draft, Comparison | None]]) -> None:
    """Prints each draft's change, what it answers, and its newest comparison."""
    if not drafts:
        _say("There is no draft yet: run metajudge feedback draft")
    for one, found in drafts:
        _say(f"{one.draft_id}  {one.name}, {one.kind.value}: {one.change}")
        if one.pattern is not None:
            _say(f"    answers: {one.pattern.text}")
        _say(
            f"    made of {len(one.drafted_on)} records, {len(one.held_out)} held out; "
            f"texts by {one.written_by}, version {one.policy.digest[:12]}"
        )
        if found is not None:
            _say(f"    {'better' if found.better else 'not better'}: {found.reason}")
    waiting = [one for one, found in drafts if one.kind is DraftKind.INSTRUCTION and found is None]
    if waiting:
        judged = advised("feedback", "rejudge", waiting[0].draft_id, "--judge", "PROVIDER:MODEL", "--dry-run")
        _say(f"Nothing was changed. To try one: {judged}")


def _print_comparison(found: Comparison) -> None:
    for name, one in (
        ("agreement with people", found.agreement),
        ("score error", found.score_error),
        ("confidence error", found.confidence_error),
    ):
        if one is not None:
            low, high = one.interval
            _say(
                f"  {name}: {one.before:.3f} before, {one.after:.3f} after, difference {one.value:+.3f} "
                f"({low:+.3f} to {high:+.3f}), n = {one.n} about {one.questions} questions"
            )
            _say(f"    {one.definition}; {one.method}")
    _say(f"  intervals {100 * found.confidence:g} %, on records held out of the draft")
    for reason, count in found.left_out.items():
        _say(f"  {counted(count, 'case')} left out: {reason}")
    if found.judges:
        _say(
            f"  judged anew by {', '.join(found.judges.values())}: {found.calls} calls, {found.cached_calls} from the "
            f"store, {cost_in_words(found.cost_usd)}"
        )
    if found.better:
        _say(f"Nothing was changed. To activate it: {advised('feedback', 'activate', found.draft_id, '--by', 'NAME')}")


def print_history(proposals: Sequence[Proposal], activations: Sequence[Activation]) -> None:
    """Prints proposals and activations, oldest first."""
    if not proposals and not activations:
        _say("There is no proposal yet: run metajudge feedback propose", wrapped=True)
    active = {one.name: one.proposal_id for one in activations}
    once = {one.proposal_id for one in activations}
    for one in proposals:
        status = one.status
        word = (
            "active" if active.get(one.name) == one.proposal_id else "superseded" if one.proposal_id in once else status
        )
        what = f"{one.name} against {_way(one)}: {one.change}"
        _say(f"{_day(one.created_at)}  {one.proposal_id}  {word}: {what}")
    for done in activations:
        why = f": {done.reason}" if done.reason else ""
        _say(
            f"{_day(done.at)}  {done.name} {done.base_digest[:12]} -> {done.digest[:12]} by {done.by}{why} "
            f"({done.evidence})"
        )


def _way(one: Proposal) -> str:
    return "too lenient" if one.direction is Direction.TOO_LENIENT else "too strict"


def _on(found: Backtest) -> str:
    return f"out of fold on {counted(found.cases, 'case')} about {found.questions} questions"


def _difference(one: Difference) -> str:
    if one.value is None or one.low is None or one.high is None:
        return f"no figure ({counted(one.active_n, 'case')} now, {one.proposal_n} under the proposal)"
    return (
        f"{100 * one.value:+.1f} points ({100 * one.low:+.1f} to {100 * one.high:+.1f}), "
        f"{counted(one.active_n, 'case')} now, {one.proposal_n} under the proposal"
    )


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _say(text: str, *, wrapped: bool = False) -> None:
    """Prints a text as it stands; wrapped, in lines as wide as the terminal."""
    Console(highlight=False).print(text, markup=False, soft_wrap=not wrapped)
