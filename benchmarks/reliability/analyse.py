"""From the records of a panel's runs to everything that is reported of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from metajudge.clashes.concordance import first_shown
from metajudge.clashes.record import ClashRecord
from metajudge.clashes.tally import why_no_unanimity
from metajudge.errors import InputError
from metajudge.judging.blinding_report import blinding_totals
from metajudge.stats.stability import ThirdRun

from ..figure import Figures, to_json
from .analysis import analyse
from .clash_records import Recorded, evaluations_of
from .cycles import cycle_figures, self_figures
from .run import Protocol

__all__ = ["ReliabilityFindings", "analyse_records", "to_json"]


@dataclass(frozen=True, slots=True)
class ReliabilityFindings:
    """Figures by id, sentences about the data, and where they come from."""

    figures: Figures
    summary: tuple[str, ...]
    provenance: dict[str, str]


def analyse_records(
    records: Sequence[ClashRecord], protocol: Protocol | None = None, third: ThirdRun | None = None
) -> ReliabilityFindings:
    """Analyses the records of one panel.

    Args:
        protocol: how often everything was judged; None reads it off the records: a run of fewer items than the first is
            no full one.

    Raises:
        InputError: no record is a labelled pair and there is neither a second cycle nor a self-evaluation, or the
            records are of different panels.
    """
    recorded = evaluations_of(records)
    unlabelled = cycle_figures(records) | self_figures(records)
    if not recorded.evaluations and not unlabelled:
        left = ", ".join(f"{n} {why}" for why, n in recorded.left_out.most_common()) or "no records"
        raise InputError(f"nothing to compare with a human: {left}; concordance needs pairs whose label names a winner")
    repeats = protocol.runs if protocol is not None else _full_runs([one.run for one in recorded.evaluations])
    figures: Figures = {}
    if recorded.evaluations:  # answers made anew need no human label to see whether the winner stays
        figures = analyse(
            recorded.evaluations, recorded.panel, repeats=repeats, third=third, independent=recorded.independent
        )
    return ReliabilityFindings(
        figures=figures | unlabelled,
        summary=(
            *_summary(len(recorded.evaluations), recorded.left_out, recorded.panel, repeats, third),
            *_cautions(recorded),
        ),
        provenance={
            "panel": ", ".join(recorded.panel),
            "attempts": str(recorded.attempts),
            "seed": ", ".join(sorted({str(record.seed) for record in records})),
            "prompts": ", ".join(sorted({f"{k} {v[:12]}" for r in records for k, v in r.prompt_digests.items()})),
            "made with": ", ".join(sorted({record.metajudge_version for record in records})),
        },
    )


def _cautions(recorded: Recorded) -> list[str]:
    """How blind the judges were, and which of them follow the order shown."""
    sentences = [blinding_totals(record.blinding for record in recorded.counting).sentence()]
    alone = why_no_unanimity(2, len(recorded.panel), recorded.independent)
    if alone is not None:
        sentences.append(f"No verdict is called unanimous: {alone}.")
    sentences += [f"Careful: {one.sentence()}." for one in first_shown(recorded.counting) if one.reported]
    return [one for one in sentences if one]


def _full_runs(runs: Sequence[int]) -> int:
    sizes = Counter(runs)
    full = [run for run in sizes if sizes[run] == sizes[1]]
    return max(full, default=1)


def _summary(
    n: int, left_out: Counter[str], panel: Sequence[str], repeats: int, third: ThirdRun | None
) -> tuple[str, ...]:
    if not n:
        return (f"No evaluation by {', '.join(panel)} has a human's choice beside it: what needs none is here.",)
    sentences = [f"{n} evaluations by {len(panel)} judges ({', '.join(panel)}); full runs: {repeats}."]
    if third is not None:
        sentences.append(f"A targeted run took {len(third.chosen)} items: {third.rule}.")
    if left_out:
        sentences.append("Left out: " + ", ".join(f"{count} {why}" for why, count in left_out.most_common()) + ".")
    return tuple(sentences)
