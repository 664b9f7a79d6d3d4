"""Plans of cascades: curves, the band of doubt, files."""

import numpy as np

from metajudge.calibration.cascade import CascadePlan, CascadeStage
from metajudge.calibration.cascade_fit import (
    run_cascade,
)
from tests.calibration.staged import STAGES, made


def test_the_array_path_decides_as_the_plan_does_one_by_one():
    plan = CascadePlan(
        stages=tuple(CascadeStage(agents=names, intercept=-6.0, slope=2.0) for names in STAGES),
        band=(0.2, 0.8),
        cut=0.5,
    )
    scores = made().scores.round(1)
    p = np.array([[stage.probability(one) for stage, one in zip(plan.stages, row, strict=True)] for row in scores])
    run = run_cascade(p, np.ones_like(p), plan.band, plan.cut)
    for number, row in enumerate(p):
        first = plan.step(0, row[0])
        word = first if first != "escalate" else plan.step(1, row[1])
        assert (word == "accept", first == "escalate") == (run.accepted[number], run.decided_by[number] == 1)
        assert run.cost[number] == 1 + run.decided_by[number]
