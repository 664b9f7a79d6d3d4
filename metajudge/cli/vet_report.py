"""The summary of a vetting run, for people."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson
import typer
from rich.console import Console
from rich.table import Table

from metajudge.calibration.domain import MEANINGS, NOT_COVERED, coverage_line, none_covered_line, outside_words
from metajudge.calibration.promise import named
from metajudge.errors import FailureKind
from metajudge.panels.building import threshold_of
from metajudge.panels.config import PanelConfig
from metajudge.providers.local_files import DEMO_MARK
from metajudge.stats.clustered import ClusteredTally
from metajudge.types.right import DEFAULTS
from metajudge.vetting.bars import Reached
from metajudge.vetting.label_count import LabelCount
from metajudge.vetting.summary import VetSummary

NO_VERDICT = FailureKind.NO_VERDICT.value

MARKS = {
    **MEANINGS,
    "undecided_verdict": "have no probability: a tie or no verdict",
    "other_kind": "have no probability: their verdicts are of another kind than the calibration's",
    "no_agent_scores": "have no probability: no agent gave a score",
}
"""The meaning of the marks of probabilities, as printed with their counts."""


def print_report(
    summary: VetSummary,
    labels: LabelCount,
    panel: PanelConfig,
    rejects: Path,
    words: Mapping[str, str] | None = None,
) -> None:
    """Prints counts, accuracy by the labels, calls and cost, and the next step."""
    console = Console(highlight=False)
    evidence = "free evidence alone" if summary.guarantees else "free evidence alone, uncalibrated"
    by = evidence if panel.chosen_strategy == "signals" else _agents(panel)
    console.print(f"Vetted by {by}; kept {_kept_by(summary, panel)}", soft_wrap=True, markup=False)
    for notice in summary.notices:
        if DEMO_MARK in notice:
            console.print(f"Note: {notice}", soft_wrap=True, markup=False)
    console.print(_counts(summary, panel))
    for line in (
        *_reason_lines(summary, words or {}),
        *_form_lines(summary),
        *_no_label_lines(summary),
        *_calibration_lines(summary),
        *_decision_lines(summary),
        *_label_lines(labels, bool(summary.guarantees)),
        *_cost_lines(summary),
        *_where(summary, rejects),
    ):
        console.print(line, soft_wrap=True, markup=False)
    for line in _next_step(summary, panel):
        console.print(line, soft_wrap=True, markup=False)


def print_json(
    summary: VetSummary,
    labels: LabelCount,
    rejects: Path,
    reached: Sequence[Reached] = (),
    words: Mapping[str, str] | None = None,
) -> None:
    """Prints the same as one JSON object."""
    data = summary.to_json()
    for reason in data["reasons"]:
        reason["next"] = None if reason["next"] is None else filled(reason["next"], words or {})
    data["labels"] = labels.to_json()
    if reached:
        data["fail_under"] = [one.to_json() for one in reached]
    data["rejects"] = str(rejects) if summary.bad_lines else None
    typer.echo(orjson.dumps(data).decode())


def words_of(inputs: list[str], config: Path | None, agents: list[str] | None, store: str | None) -> dict[str, str]:
    """Replacements for placeholders in suggested commands, from this command line."""
    given = [*(["--config", str(config)] if config else [])]
    for agent in agents or ():
        given += ["--agent", agent]
    # A database is set by METAJUDGE_STORE: its URL may contain a password, which must not be printed.
    kept = ["--store", store] if store is not None and "://" not in store else []
    return {
        "INPUT": shlex.join(inputs),
        "AGENTS": shlex.join(given) or "--agent openai:gpt-4o-mini",
        "STORE": shlex.join(kept),
    }


def filled(command: str, words: Mapping[str, str]) -> str:
    """A suggested command with this command line's inputs, agents and store in it."""
    found = " ".join(words.get(word, word) for word in command.split(" "))
    return f"{found} {words['STORE']}" if words.get("STORE") and not found.startswith("metajudge check") else found


def _kept_by(summary: VetSummary, panel: PanelConfig) -> str:
    """What the kept judgments have in common; nothing is called guaranteed that no stamp covers."""
    score = f"above {threshold_of(panel):g}"
    if not summary.guarantees:
        return score
    if not summary.under_guarantee:
        return f"{score} by the score, without a guarantee: no judgment here lies in its domain"
    rest = f"; those outside its domain {score} by the score" if summary.under_guarantee < summary.judgments else ""
    return f"from the guaranteed probability on{rest}"


def _counts(summary: VetSummary, panel: PanelConfig) -> Table:
    table = Table(box=None)
    table.add_column("")
    table.add_column("judgments", justify="right")
    table.add_column("", overflow="fold")
    if summary.guarantees:
        table.add_row("kept", str(summary.kept_under_guarantee), "under the guarantee")
        table.add_row(
            "kept without it", str(summary.kept_without_guarantee.total()), _without_guarantee(summary, panel)
        )
    else:
        table.add_row("kept", str(summary.accepted), "")
    table.add_row("discarded", str(summary.rejected), "")
    for name, count, why in _without_score(summary):
        table.add_row(name, str(count), why)
    if summary.reused:
        table.add_row("of these, known before", str(summary.reused), "taken from the store, nothing asked")
    if summary.renormalised:
        table.add_row("of these, renormalised", str(summary.renormalised), "an agent's answer is missing")
    if summary.bad_lines:
        table.add_row("bad lines", str(summary.bad_lines), "could not be read as judgments")
    if summary.duplicates:
        table.add_row("repeated lines", str(summary.duplicates), "same id and content: vetted once")
    return table


def _without_guarantee(summary: VetSummary, panel: PanelConfig) -> str:
    """How judgments outside the guarantee were kept, and why it does not cover them."""
    reasons = dict(sorted(summary.kept_without_guarantee.items()))
    if not reasons:
        return ""
    judges = sorted(summary.judges_without_guarantee)
    parts = [f"{count} {outside_words(reason)}" for reason, count in reasons.items() if reason != NOT_COVERED]
    if NOT_COVERED in reasons:
        parts.append(f"{reasons[NOT_COVERED]} by judges it does not cover ({named(judges)})")
    return f"by the uncalibrated score above {threshold_of(panel):g}, no guarantee: {'; '.join(parts)}"


def _without_score(summary: VetSummary) -> list[tuple[str, int, str]]:
    """Rows of judgments without a decision: failed agents apart from missing verdicts and evidence."""
    no_verdict, no_evidence = summary.counts.without_verdict, summary.without_evidence
    unscored, failed = summary.unscored - no_evidence, summary.failed - no_verdict
    why = "no calibrated probability" if summary.calibrated else "free evidence cannot decide on them"
    rows = [("unscored", no_evidence, why)] if no_evidence else []
    if unscored or not rows:
        rows.append(("unscored", unscored, "too few valid answers for a decision" if unscored else ""))
    other = summary.failures - Counter({NO_VERDICT: no_verdict, FailureKind.NO_EVIDENCE.value: no_evidence})
    rows.append(("failed", failed, _kinds(other) if failed else ""))
    return rows + ([("no verdict", no_verdict, "the judge gave none: nothing to vet")] if no_verdict else [])


def _reason_lines(summary: VetSummary, words: Mapping[str, str]) -> list[str]:
    lines = []
    for reason in summary.reasons:
        lines += ["", f"Why: {reason.text.rstrip('.')}."]
        lines += [f"  Next: {filled(reason.next, words)}"] if reason.next else []
    return lines


def _form_lines(summary: VetSummary) -> list[str]:
    """What was left out by rule, and what agents left out."""
    lines = []
    if summary.without_rationale:
        names = ", ".join(sorted(summary.not_applicable))
        count = summary.without_rationale
        have = "judgment has" if count == 1 else "judgments have"
        lines.append(f"{count} {have} no rationale: criteria that judge one do not apply ({names}).")
    if summary.without_analysis:
        count = summary.without_analysis
        replies = "reply" if count == 1 else "replies"
        lines.append(f"{count} {replies} had no analysis; the scores are used.")
    return ["", *lines] if lines else []


def _agents(panel: PanelConfig) -> str:
    names = ", ".join(agent.spec() for agent in panel.agents)
    rubric = "" if panel.chosen_strategy == "rejudge" else f" with rubric {panel.rubric}"
    return f"{panel.chosen_strategy} of {names}{rubric}"


def _kinds(failures: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(failures.items()))


def _label_lines(labels: LabelCount, guaranteed: bool) -> list[str]:
    if not labels.all.n:
        return []
    kept = {"kept": labels.kept}
    if guaranteed:
        kept = {"kept under the guarantee": labels.guaranteed, "kept without it": labels.unguaranteed}
    width = max(map(len, kept))
    rules = ", ".join(sorted({str(rule) for rule in labels.rules.values()}))
    rule = f", right by {rules}" if rules != str(DEFAULTS["pairwise"]) and labels.rules is not DEFAULTS else ""
    lines = ["", f"By the labels in the input (which vetting does not see{rule}):"]
    lines += [f"  {name:<{width}}   {_share(tally)}" for name, tally in (*kept.items(), ("all", labels.all))]
    if labels.all.n > 1:
        lines.append("  (95 % intervals by question: judgments of one question are not independent)")
    if labels.wrongly_kept:
        wrong = labels.kept.n - labels.kept.successes
        more = " ..." if wrong > len(labels.wrongly_kept) else ""
        lines.append(f"  kept although wrong: {', '.join(labels.wrongly_kept)}{more}")
    return lines


def _no_label_lines(summary: VetSummary) -> list[str]:
    """What agreement alone says, never without the words "no labels"."""
    compared = {kind: rule for kind, rule in summary.rules.items() if kind != "pairwise"}
    rules = ", ".join(f"{kind} {rule}" for kind, rule in compared.items())
    lines = ["", f"Verdicts of two judges agree by: {rules} (--right changes it)."] if rules else []
    found = summary.no_labels
    if found is None or not found.judgments:
        return lines
    lines += ["", f"P(right), no labels ({'; '.join(found.judges)}):"]
    lines.append(f"  all    {100 * found.expected_right / found.judgments:.1f} % of {found.judgments} expected right")
    if found.kept:
        lines.append(f"  kept   {100 * found.expected_right_kept / found.kept:.1f} % of {found.kept} expected right")
    lines.append(f"  At most {100 * found.most_right:.1f} % of the input's verdicts can be right: the judges disagree.")
    lines.append("  Estimated from agreement alone: not calibrated, and no guarantee.")
    return lines


def _calibration_lines(summary: VetSummary) -> list[str]:
    if not summary.calibrated:
        return []
    lines = ["", f"{summary.with_probability} of {summary.judgments} judgments have a calibrated probability."]
    lines += [f"  {count} {MARKS.get(mark, mark)}" for mark, count in sorted(summary.probability_marks.items())]
    if summary.guarantees:
        lines.append(f"The guarantee covers {summary.under_guarantee} of {summary.judgments} judgments.")
        if not summary.under_guarantee:
            return [*lines, none_covered_line(summary.outside_guarantee)]
        lines.append(coverage_line(summary.kept_under_guarantee, summary.accepted, summary.kept_without_guarantee))
    lines += summary.guarantees or ["No guaranteed threshold is stored in the calibration: kept by the score alone."]
    return lines


def _decision_lines(summary: VetSummary) -> list[str]:
    if summary.policy is None:
        return []
    counts = [f"  {count} {action}" for action, count in sorted(summary.decisions.items())]
    queued = f"{summary.reviews} reviews are new in the queue: metajudge review next --reviewer NAME"
    return ["", f"Decided by policy {summary.policy}:", *counts, *([queued] if summary.reviews else [])]


def _share(tally: ClusteredTally) -> str:
    if not tally.n:
        return "nothing"
    found = tally.proportion()
    return (
        f"{found.successes} of {found.n} right, precision {100 * found.estimate:.1f} % "
        f"({100 * found.low:.1f} to {100 * found.high:.1f}, {found.clusters} questions)"
    )


def _cost_lines(summary: VetSummary) -> list[str]:
    if summary.calls == 0 and summary.cached_calls == 0:
        known = _known(summary) if summary.lines_known or summary.results_known else None
        done = f"No model was asked. {summary.total_s:.1f} s."
        return ["", done, *filter(None, [known, summary.webhook_sentence])]
    lines = ["", summary.took, *filter(None, [summary.webhook_sentence])]
    if summary.agent_failures:
        lines.append(f"Agents' failures: {_kinds(summary.agent_failures)}.")
    return lines


def _known(summary: VetSummary) -> str:
    """What an earlier run had done already."""
    return (
        f"Known from an earlier run: {summary.lines_known:,} lines of the input, which were not parsed again, and "
        f"{summary.results_known:,} results, which were not stored again."
    )


def _where(summary: VetSummary, rejects: Path) -> list[str]:
    lines = []
    if summary.store is not None:
        lines.append(f"Kept in {summary.store}, run {summary.run_id}: `metajudge show JUDGMENT_ID` tells why.")
        lines += [f"Assessments, one a line: {summary.out}"] if summary.out else []
    elif summary.out:
        lines.append(
            f"Kept as Parquet in {summary.out}, run {summary.run_id}: column `assessment` has the full records."
        )
    if summary.bad_lines:
        lines.append(f"Bad lines with reasons: {rejects}")
    return lines


def _next_step(summary: VetSummary, panel: PanelConfig) -> list[str]:
    if summary.end.next_step is not None:
        return [summary.end.next_step]
    if panel.chosen_strategy == "signals" and not summary.guarantees and not summary.reasons:
        return [
            "These scores are a heuristic over free evidence, not calibrated. To have models score the judgments,",
            "add meta-judges: metajudge vet INPUT --agent openai:gpt-4o-mini --agent anthropic:claude-sonnet-4-5",
        ]
    return []
