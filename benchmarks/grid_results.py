"""What the configurations of a grid gave, as scores and selections of the observations."""

from dataclasses import dataclass

import numpy as np

from metajudge.report import Absent
from metajudge.runs.loop import RunEnd
from metajudge.types import Assessment

from .findings import Threshold
from .grid import PlannedRow
from .observations import Observations
from .selections import Score, Selection


@dataclass(frozen=True, slots=True)
class RowResult:
    """What one configuration said: judgment id -> assessment, and how the run ended."""

    row: PlannedRow
    assessments: dict[str, Assessment]
    end: RunEnd
    spent_usd: float
    notices: tuple[str, ...]


def selection_of(result: RowResult, observations: Observations) -> Selection:
    """What a configuration kept among the observations of its judge; what it has no decision on is not kept."""
    said = [result.assessments.get(row.judgment_id) for row in observations.rows]
    spent = list(result.assessments.values())
    costs = [assessment.cost_usd for assessment in spent]
    unknown = Absent(absent="a price or the usage is unknown")
    published = result.row.published
    return Selection(
        name=result.row.name,
        kind="baseline" if result.row.baseline else "configuration",
        kept=np.array([one is not None and one.accepted is True for one in said], dtype=bool),
        scored=np.array([one is not None and one.accepted is not None for one in said], dtype=bool),
        threshold=Threshold(value=result.row.panel.threshold, origin="fixed beforehand"),
        cost_usd=unknown if None in costs else sum(cost for cost in costs if cost is not None),
        calls=sum(assessment.calls for assessment in spent),
        published=published.shares if published else {},
        published_in=f"table {published.table}" if published else "",
    )


def score_of(result: RowResult, observations: Observations) -> Score:
    """A configuration's final scores; None where it gave none."""
    said = [result.assessments.get(row.judgment_id) for row in observations.rows]
    return Score(result.row.name, [None if one is None else one.final_score for one in said])
