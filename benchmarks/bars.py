"""What the selections of a benchmark reached of the bars set by ``--fail-under``."""

from collections.abc import Sequence

from metajudge.vetting.bars import Bar, Reached

from .findings import BenchFindings


def reached_by(bars: Sequence[Bar], findings: BenchFindings) -> list[Reached]:
    """What each measured selection of a benchmark reached, over all categories.

    Counted are the configurations asked (without agents: free evidence above the threshold) and guaranteed
    thresholds, for every judge; rows set by coverage or for comparison are not.
    """
    reached = []
    for judge in findings.judges:
        rows = [row for row in judge.rows if row.kind == "configuration" or row.threshold.origin.startswith("guara")]
        rows = rows or [row for row in judge.rows if row.kind == "evidence" and row.threshold.value is not None]
        for row in (row for row in rows if not row.threshold.origin.startswith("set by coverage")):
            cell = row.cells["Overall"]
            for bar in bars:
                where = f"{judge.judge}, {row.name}"
                precision = bar.measure == "precision"
                part, whole = (cell.selected_right, cell.selected) if precision else (cell.selected, cell.n)
                reached.append(Reached(bar, part, whole, where))
    return reached
