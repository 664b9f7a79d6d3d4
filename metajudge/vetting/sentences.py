"""What a vetting run came to, in sentences: for the terminal and for the report."""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from metajudge.calibration.domain import MEANINGS, NOT_COVERED, coverage_line, none_covered_line, outside_words
from metajudge.calibration.promise import named
from metajudge.errors import FailureKind
from metajudge.evidence.counting import WORDS, Counted, Counts, without_comparison
from metajudge.panels.building import threshold_of
from metajudge.panels.config import PanelConfig
from metajudge.strategies.rule import SAME_IN_BOTH_ORDERS
from metajudge.types.right import DEFAULTS
from metajudge.vetting.summary import VetSummary

NO_VERDICT, NO_EVIDENCE = FailureKind.NO_VERDICT.value, FailureKind.NO_EVIDENCE.value

MARKS = {
    **MEANINGS,
    "undecided_verdict": "have no probability: a tie or no verdict",
    "other_kind": "have no probability: their verdicts are of another kind than the calibration's",
    "no_agent_scores": "have no probability: no agent gave a score",
}
"""The meaning of the marks of probabilities, as printed with their counts."""


def vetted_by(summary: VetSummary, panel: PanelConfig) -> str:
    """What vetted the judgments, and by which rule they are kept, from which number on and who set that."""
    if panel.chosen_strategy != "signals":
        by = f"{agents_in_words(panel)}{' and a calibration' if summary.calibrated else ''}"
        if summary.gathered.failed and not summary.assessed:
            return f"Not vetted: {by} gave no decision on any judgment"
    elif summary.transferred:
        by = "free evidence and what it was worth on other sets"
    else:
        labels = "and the input's own labels" if summary.fitted else "and a calibration"
        by = f"free evidence {labels if summary.calibrated else 'alone, uncalibrated'}"
    first, *others = [words for words, _ in summary.decided_by.most_common()] or [
        f"above {threshold_of(panel):g} by the score" if summary.kept else "nothing: no rule could decide"
    ]
    return f"Vetted by {by}; kept {first}{''.join(f'; others {one}' for one in others)}"


def agents_in_words(panel: PanelConfig) -> str:
    """A panel's strategy, its agents and their rubric."""
    names = ", ".join(agent.spec() for agent in panel.agents)
    rubric = "" if panel.chosen_strategy == "rejudge" else f" with rubric {panel.rubric}"
    return f"{panel.chosen_strategy} of {names}{rubric}"


def form_lines(summary: VetSummary) -> list[str]:
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
    if summary.mended:
        count = summary.mended
        lines.append(f"{count} {'reply was' if count == 1 else 'replies were'} read after mending what needs no guess.")
    return ["", *lines] if lines else []


def dependence_lines(summary: VetSummary) -> list[str]:
    """Which judges are not independent, or which it cannot be told of."""
    told = []
    if summary.judges_together:
        from metajudge.evidence.dependence import sentences  # what agents alone have no use for

        told = [line for group in summary.judges_together for line in sentences(group)]
    told += [summary.judges_not_compared] if summary.judges_not_compared else []
    return ["", *told] if told else []


def evidence_lines(summary: VetSummary) -> list[str]:
    """By which rule verdicts of judges agree, and what verdicts kept without labels were worth on sets of others."""
    compared = {kind: rule for kind, rule in summary.rules.items() if kind != "pairwise"}
    rules = ", ".join(f"{kind} {rule}" for kind, rule in compared.items())
    lines = ["", f"Verdicts of two judges agree by: {rules} (--right changes it)."] if rules else []
    if summary.rules and summary.kept and not summary.calibrated:
        both_orders = summary.decided_by[str(SAME_IN_BOTH_ORDERS)]
        lines += ["", *([alone_line()] if both_orders else [])]
        lines += worth_lines(summary.rules) if summary.kept > both_orders else []
    return lines


def calibration_lines(summary: VetSummary) -> list[str]:
    """What a calibration says: how many judgments it speaks about, and what is guaranteed; empty without one."""
    if not summary.calibrated:
        return []
    kind = "transferred" if summary.transferred else "calibrated"
    lines = ["", f"{summary.with_probability} of {summary.judgments} judgments have a {kind} probability."]
    lines += [f"  {count} {MARKS.get(mark, mark)}" for mark, count in sorted(summary.probability_marks.items())]
    if summary.guarantees:
        lines.append(f"The guarantee covers {summary.under_guarantee} of {summary.judgments} judgments.")
        if not summary.under_guarantee:
            return [*lines, none_covered_line(summary.outside_guarantee)]
        lines.append(coverage_line(summary.kept_under_guarantee, summary.accepted, summary.kept_without_guarantee))
    if summary.fitted:
        return lines
    if summary.transferred:
        return [*lines, "Labels of your own make it a calibration: `metajudge calibrate fit --prior shipped`."]
    return [*lines, *(summary.guarantees or ["No promise is stored in the calibration: nothing kept is guaranteed."])]


def decision_lines(summary: VetSummary) -> list[str]:
    """What a policy decided, and what it queued for people; empty without one."""
    if summary.policy is None:
        return []
    counts = [f"  {count} {action}" for action, count in sorted(summary.decisions.items())]
    queued = f"{summary.reviews} reviews are new in the queue: metajudge review next --reviewer NAME"
    return ["", f"Decided by policy {summary.policy}:", *counts, *([queued] if summary.reviews else [])]


def cost_lines(summary: VetSummary) -> list[str]:
    """Calls, tokens, dollars and seconds, and what an earlier run had done."""
    if summary.calls == 0 and summary.cached_calls == 0:
        known = f"Known from an earlier run: {summary.results_known:,} results, which were not stored again."
        done = f"No model was asked. {summary.total_s:.1f} s."
        if count := summary.failed_calls:
            failed = f"{count:,} call{'s' if count > 1 else ''} failed"
            done = f"No model answered: {failed}. {summary.total_s:.1f} s."
        return ["", done, *filter(None, [known if summary.results_known else None, summary.webhook_sentence])]
    lines = ["", summary.took, *filter(None, [summary.webhook_sentence])]
    if summary.agent_failures:
        lines.append(f"Agents' failures: {_causes(summary, summary.agent_failures)}.")
    return lines


def next_lines(summary: VetSummary, panel: PanelConfig) -> list[str]:
    """What to do next, where the run itself suggests it."""
    if summary.end.next_step is not None:
        return [summary.end.next_step]
    if panel.chosen_strategy == "signals" and not summary.calibrated and not summary.reasons:
        return [
            "This is a heuristic over free evidence, not calibrated. To have models score the judgments,",
            "add meta-judges: metajudge vet INPUT --agent openai:gpt-4o-mini --agent anthropic:claude-sonnet-4-5",
        ]
    return []


def without_guarantee(summary: VetSummary) -> str:
    """How judgments outside the guarantee were kept, and why it does not cover them."""
    reasons = dict(sorted(summary.kept_without_guarantee.items()))
    if not reasons:
        return ""
    judges = sorted(summary.judges_without_guarantee)
    parts = [f"{count} {outside_words(reason)}" for reason, count in reasons.items() if reason != NOT_COVERED]
    if NOT_COVERED in reasons:
        parts.append(f"{reasons[NOT_COVERED]} by judges it does not cover ({named(judges)})")
    return f"no guarantee: {'; '.join(parts)}"


def share_in_words(row: Counted) -> str:
    """How many are right, with the 95 % interval by question."""
    found = row.share
    if found is None:
        return f"{row.n:,}, none of them compared with a label" if row.n else "nothing"
    questions = "1 question" if found.clusters == 1 else f"{found.clusters} questions"
    return (
        f"{found.successes} of {found.n} right, precision {100 * found.estimate:.1f} % "
        f"({100 * found.low:.1f} to {100 * found.high:.1f}, {questions})"
    )


def without_score(summary: VetSummary) -> list[tuple[str, int, str]]:
    """Rows of judgments without a decision, each with its own reasons: name, number, why."""
    no_verdict, no_evidence, failed = summary.no_verdict, summary.without_evidence, summary.failed
    unscored = summary.unscored - no_evidence
    why = "no calibrated probability" if summary.calibrated else "free evidence cannot decide on them"
    rows = [("unscored", no_evidence, why)] if no_evidence else []
    of_unscored = summary.unscored_failures - Counter({NO_EVIDENCE: no_evidence})
    if unscored or not rows:
        too_few = f"too few valid answers for a decision: {_causes(summary, of_unscored)}".rstrip(": ")
        rows.append(("unscored", unscored, too_few if unscored else ""))
    of_failed = summary.failures - summary.unscored_failures - Counter({NO_VERDICT: no_verdict})
    rows.append(("failed", failed, _causes(summary, of_failed) if failed else ""))
    return rows + ([("no verdict", no_verdict, "the judge gave none: nothing to vet")] if no_verdict else [])


def _causes(summary: VetSummary, failures: Mapping[str, int]) -> str:
    """Failures by kind, each with the cause that its calls name most often."""
    parts = []
    for kind, count in sorted(failures.items()):
        cause = summary.gathered.cause(kind)
        parts.append(f"{count:,} {kind.replace('_', ' ')}{f' ({cause})' if cause else ''}")
    return "; ".join(parts)


def label_lines(labels: Counts, guaranteed: bool) -> list[str]:
    """How many are right by the labels in each row, with intervals by question; empty without labels."""
    if not labels.labelled:
        return []
    found = labels.rows()
    kept = ("kept_under_guarantee", "kept_without_guarantee") if guaranteed else ("kept",)
    names = [*kept, *(name for name in ("discarded", "asked") if found[name].compared), "all"]
    names += ["decided", "undecided"] if found["undecided"].n else []
    width = max(len(WORDS[name]) for name in names)
    rules = ", ".join(sorted({str(rule) for rule in labels.rules.values()}))
    rule = f", right by {rules}" if rules != str(DEFAULTS["pairwise"]) and labels.rules is not DEFAULTS else ""
    lines = ["", f"By the labels in the input (which vetting does not see{rule}):"]
    lines += [f"  {WORDS[name]:<{width}}   {share_in_words(found[name])}" for name in names]
    lines += [f"  not compared: {text}" for text in without_comparison(labels)]
    if found["undecided"].compared:
        lines.append("  (a tie is wrong where the label names a winner)")
    if found["all"].compared > 1:
        lines.append("  (95 % intervals by question: judgments of one question are not independent)")
    if labels.note is not None:
        lines.append(f"  {labels.note}")
    if labels.wrongly_kept:
        wrong = found["kept"].compared - found["kept"].right
        more = " ..." if wrong > len(labels.wrongly_kept) else ""
        lines.append(f"  kept although wrong: {', '.join(labels.wrongly_kept)}{more}")
    return lines


@lru_cache(maxsize=1)
def _measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((resources.files("metajudge.vetting") / "worth.json").read_text("utf-8"))
    return found


def alone_line() -> str:
    """What verdicts that judges repeat in both orders were worth on labelled sets."""
    found = _measured()["alone"]
    ends = [(found[name], found[name]["kept_right"] / found[name]["kept"]) for name in ("lowest", "highest")]
    low, high = (f"{100 * share:.0f} % ({one['name']})" for one, share in ends)
    first, last = (f"{100 * share:.0f}" for share in found["middle_half"])
    return (
        f"Verdicts that a judge repeats in both orders were right in {low} to {high}, half of {found['judges']} judges "
        f"on sets of others between {first} and {last} %: only labels tell which yours is like."
    )


def worth_lines(kinds: Collection[str]) -> list[str]:
    """The range over sets with such verdicts, pairs and others apart."""
    lines = []
    for pairs, words in ((True, "Pairs"), (False, "Verdicts that are no pairs")):
        if not any((kind == "pairwise") == pairs for kind in kinds):
            continue
        sets = [one for one in _measured()["sets"] if (one["kind"] == "pairwise") == pairs]
        shares = sorted((100 * one["kept_right"] / one["kept"], one["name"]) for one in sets)
        low, high = (f"{share:.1f} % ({name})" for share, name in (shares[0], shares[-1]))
        lines.append(
            f"{words} kept without labels were right in {low} to {high} on {len(shares)} labelled sets of others: "
            "where judges share an error, they agree on it."
        )
    return lines
