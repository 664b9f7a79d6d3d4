"""The answer of a vetting run in its first lines: what to keep, what to read first, what limits it."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from metajudge.evidence.counting import Counted, Counts
from metajudge.evidence.verdicts import Verdicts
from metajudge.evidence.words import signal_lines
from metajudge.reading.seen import lines_of
from metajudge.stats.clustered import clustered_proportion
from metajudge.strategies.rule import PROBABILITY_CUT
from metajudge.types import Assessment
from metajudge.vetting.outcomes import WEIGHED
from metajudge.vetting.picture import LOWER_CUTS, Picture
from metajudge.vetting.summary import ReadFirst, VetSummary

if TYPE_CHECKING:
    from metajudge.vetting.intake import Intake

FEW: Final = 0.1
"""Where the default cut keeps a smaller share, what lower ones would keep is told."""
SHOWN: Final = 10
"""Judgments to read that are printed."""
_TOLD: Final = (*WEIGHED, "length_ratio")


def answer_lines(summary: VetSummary, labels: Counts) -> Iterator[str]:
    """The answer: what is kept and how much of it is right, what to read first, what limits it.

    The share right is that of the kept verdicts that can be compared with a label, with its 95 % interval by question.

    Args:
        summary: of a run that has ended.
        labels: counted by what became of the judgments.

    Yields:
        A line each, without a full stop; nothing where the run decided on no judgment.
    """
    if not summary.judgments or not (summary.assessed or summary.without_evidence):
        return  # why nothing was vetted is said first
    kept = labels.rows()["kept"] if labels.labelled else None
    yield f"keep {summary.kept:,} of {summary.judgments:,}{_worth(summary, kept)}"
    if summary.lower_cuts:
        each = "; ".join(f"from P {cut} on {row.n:,}{_right(row, ', ')}" for cut, row in summary.lower_cuts.items())
        yield f"below P {PROBABILITY_CUT:g} you would keep: {each}"
    if summary.read_first:
        count = len(summary.read_first)
        yield f"read {'this 1' if count == 1 else f'these {count}'} first: the most doubtful of those not kept"
    if summary.limits is not None:
        yield f"what limits you: {summary.limits}"


def _worth(summary: VetSummary, kept: Counted | None) -> str:
    if kept is not None and summary.kept:
        return _right(kept, ": ") or ": none of them is compared with a label"
    if kept is not None or summary.calibrated:
        return ""
    if summary.kept:
        return " by agreement: without labels it is not known how many of them are right"
    if summary.alone:
        swapped = "the same pairs with the responses swapped would tell most for least"
        more = swapped if "pairwise" in summary.rules else "another judge's verdicts on the same items would tell more"
        return (
            f": one judge in one order says little about itself; {more}, and 30 labels would give each verdict a "
            "probability"
        )
    return ": there are no labels, and the evidence keeps nothing"


def _right(row: Counted, before: str) -> str:
    found = row.share
    if found is None:
        return ""
    return f"{before}{100 * found.estimate:.0f} % right ({100 * found.low:.0f} to {100 * found.high:.0f})"


def describe_input(summary: VetSummary, table: "Intake") -> None:
    """Notes in a run's summary what its input holds."""
    rows = np.isin(np.arange(len(table.facts)), table.wanted)
    summary.found, summary.alone = lines_of(table.facts, rows), is_alone(table.facts)


def is_alone(facts: Verdicts) -> bool:
    """Whether every verdict is of one judge, in one order."""
    shown = np.unique(np.stack([facts.item, facts.order]), axis=1)
    return len(np.unique(facts.judge)) == 1 and shown.shape[1] == len(np.unique(facts.item))


def read_first(picture: Picture) -> list[ReadFirst]:
    """What to read first, with the evidence in words.

    Returns:
        At most :data:`~metajudge.vetting.picture.READ_FIRST`, one of each item, the most doubtful one first; without
        those that people have to judge blind.
    """
    return [
        ReadFirst(
            judgment_id=one.assessment.judgment_id,
            judge=one.assessment.judge,
            verdict=None if one.judgment is None or one.judgment.verdict is None else str(one.judgment.verdict),
            probability=one.assessment.probability,
            action=one.assessment.do.action,
            why=tuple(evidence_of(one.assessment)),
        )
        for one in picture.doubtful.first()
        if not one.blind
    ]


def evidence_of(assessment: Assessment) -> Iterator[str]:
    """The evidence on a judgment in words.

    Yields:
        One phrase for each signal that differs from its usual state; if none does, the reason for the decision.
    """
    told = False
    for name, signal in (assessment.signals or {}).items():
        if name in _TOLD and signal.value is not None and signal.state not in ("plain", "agree", "equal"):
            line = signal_lines({name: signal})[0]
            told = True
            yield f"{line.words.rstrip('.')}{f' ({line.detail})' if line.detail else ''}"
    if not told:
        yield assessment.do.reason.removeprefix("no decision could be made: ")


def lower_cuts(picture: Picture, summary: VetSummary) -> dict[str, Counted]:
    """What lower cuts in P would keep, where the default one keeps under a tenth.

    Returns:
        Cut as written -> how many judgments reach it, and how many of those with a label are right; empty where more
        are kept, or another rule than the default cut decides.
    """
    few = summary.kept < FEW * summary.judgments and picture.by == "probability"
    if not few or picture.threshold != PROBABILITY_CUT:
        return {}
    values, right = np.array(picture.labelled.values), np.array(picture.labelled.right, dtype=np.float64)
    questions = np.array(picture.labelled.questions, dtype=np.uint64)
    found = {}
    for cut in LOWER_CUTS:
        there = values >= cut - 1e-9
        share = clustered_proportion(right[there], questions[there]) if there.any() else None
        found[f"{cut:g}"] = Counted(picture.reaching[cut], share)
    return found
