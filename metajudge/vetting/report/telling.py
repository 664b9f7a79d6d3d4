"""What a report says beside its figures: how it was vetted, what it cost, what to do next."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from metajudge.evidence.counting import Counts, without_comparison
from metajudge.files.command_line import command
from metajudge.installation import __version__
from metajudge.types.right import DEFAULTS
from metajudge.vetting.explanation import Reason, filled
from metajudge.vetting.report.page import Told
from metajudge.vetting.sentences import calibration_lines, cost_lines, decision_lines, evidence_lines, form_lines
from metajudge.vetting.summary import VetSummary

_USUAL: Final = {f"pairwise {DEFAULTS['pairwise']}"}
AGENT: Final = ("--agent", "openai:gpt-4o-mini")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run took place, for its commands and its provenance.

    Attributes:
        words: placeholders of suggested commands -> what stands for them; see
            :func:`metajudge.vetting.explanation.explain`.
        command: the command line, without secrets; None for a call in Python.
        at: when, in words; None to leave it out.
        note: a sentence on what was vetted, such as that it is a made-up sample.
    """

    inputs: Sequence[str] = ()
    words: Mapping[str, str] | None = None
    command: str | None = None
    at: str | None = None
    note: str = ""


def told_of(summary: VetSummary, labels: Counts, how: str, place: Place) -> Told:
    """What a report tells of a run, from its counts; ``how`` says what vetted, as
    :func:`metajudge.vetting.sentences.vetted_by` does.
    """
    words = place.words or {}
    reasons = [_filled(one, words) for one in summary.reasons]
    said = [line.strip() for line in (*form_lines(summary), *evidence_lines(summary), *calibration_lines(summary))]
    said += [filled(line.strip(), words) for line in decision_lines(summary)]
    rules = ", ".join(sorted({f"{kind} {rule}" for kind, rule in labels.rules.items()} - _USUAL))
    return Told(
        how=(f"{how}.", *([place.note] if place.note else [])),
        no_verdict=summary.counts.without_verdict,
        bad_lines=summary.bad_lines,
        repeated=summary.duplicates,
        reasons=reasons,
        said=[line for line in said if line],
        cost=[line for line in cost_lines(summary) if line],
        next=_next(summary, labels, place),
        rows=labels.rows() if labels.labelled else {},
        not_compared=without_comparison(labels),
        right="" if labels.rules is DEFAULTS else rules,
        provenance=_provenance(summary, place),
    )


def _filled(reason: Reason, words: Mapping[str, str]) -> Reason:
    return reason if reason.next is None else replace(reason, next=filled(reason.next, words))


def _next(summary: VetSummary, labels: Counts, place: Place) -> list[tuple[str, str]]:
    """What to do next, the most useful first, each as a command that can be copied."""
    if not place.inputs:
        return []
    store = shlex.split((place.words or {}).get("STORE", ""))
    found = []
    if summary.gathered.by_evidence:
        found.append(("What meta-judges would cost", command("vet", place.inputs, AGENT, "--dry-run")))
    if not summary.calibrated and labels.labelled:
        found.append(("What the labels say of the judges, and what to do next", command("audit", place.inputs)))
    if summary.store is not None and summary.gathered.pairs_kept:
        found.append(("Preference pairs of what was kept", command("export", "preferences", "--out", "pairs", store)))
    if summary.store is not None:
        found.append(("All about one judgment", command("show", "JUDGMENT_ID", store)))
    return found


def _provenance(summary: VetSummary, place: Place) -> dict[str, str]:
    found = {
        "Command": place.command,
        "Input": ", ".join(place.inputs) or None,
        "Made": place.at,
        "Run": summary.run_id,
        "Store": summary.store,
        "metajudge": __version__,
        "Intervals": "95 %, by question (metajudge.stats.clustered)",
    }
    return {name: text for name, text in found.items() if text}
