"""Which rule decides, in every combination, and at the edges of its cut."""

from itertools import product

import numpy as np
import pytest

from metajudge import Engine
from metajudge.errors import ConfigurationError
from metajudge.panels.config import panel_config
from metajudge.strategies import Panel, StrategyName, Vetter
from metajudge.strategies.outcome import Outcome
from metajudge.strategies.rule import (
    AGREEMENT_CUT,
    PROBABILITY_CUT,
    Rule,
    calibrated_rule,
    check_cut,
    own_rule,
    rule_of,
)
from metajudge.types import Assessment, GuaranteedThreshold, Status
from tests.doubles.judgments import judgment


def assessment(**fields: object) -> Assessment:
    """Of version 0.2: without the rule that decided."""
    made = Vetter(Panel((), StrategyName.SIGNALS, 4.5))
    return made.assessment(made.default, judgment(), Outcome(Status.ASSESSED)).model_copy(update=fields)


@pytest.mark.parametrize(("typed", "evidence"), [*product((False, True), repeat=2)])
def test_without_a_calibration_a_typed_threshold_is_the_scores_and_agreement_is_of_evidence_alone(typed, evidence):
    found = own_rule(4.5, typed=typed, by_agreement=evidence)
    if evidence and not typed:
        assert found == Rule("agreement", AGREEMENT_CUT, "default")
    else:
        assert found == Rule("score", 4.5, "typed" if typed else "default")


@pytest.mark.parametrize(
    ("policy", "typed", "cut", "promised"), [*product((False, True), (False, True), (None, 0.8), (None, 0.7))]
)
def test_with_a_calibration_the_order_of_the_cuts(policy, typed, cut, promised):
    found = calibrated_rule(own_rule(4.5, typed=typed), policy=policy, cut=cut, promised=promised)
    if policy:
        assert found == Rule("policy", None, "policy")
    elif typed:
        assert found == Rule("score", 4.5, "typed")
    elif cut is not None:
        assert found == Rule("probability", 0.8, "typed")
    elif promised is not None:
        assert found == Rule("probability", 0.7, "promise")
    else:
        assert found == Rule("probability", PROBABILITY_CUT, "default")


@pytest.mark.parametrize(
    ("by", "cut", "value", "kept"),
    [
        ("score", 4.5, 4.5, False),
        ("score", 4.5, 4.5 + 4e-10, False),
        ("score", 4.5, 4.5 + 6e-10, True),
        ("probability", 0.3, 0.1 + 0.2, True),
        ("probability", 0.9, 0.9 - 4e-10, True),
        ("probability", 0.9, 0.9 - 6e-10, False),
        ("probability", 0.0, 0.0, True),
        ("probability", 1.0, 1.0, True),
        ("agreement", 0.75, 3 / 4, True),
        ("agreement", 0.75, 0.7499, False),
    ],
)
def test_scores_lie_above_the_cut_and_shares_from_it_on_alone_and_in_arrays(by, cut, value, kept):
    rule = Rule(by, cut, "default")
    assert bool(rule.keeps(value)) is kept
    assert rule.keeps(np.array([value, value])).tolist() == [kept, kept]


def test_a_cut_needs_a_calibration_and_no_other_rule():
    check_cut(None, calibrated=False, policy=True)
    check_cut(0.8, calibrated=True, policy=False)
    with pytest.raises(ConfigurationError, match=r"cut 0.8 is a probability of being right, and without a calibration"):
        Engine(cut=0.8)
    with pytest.raises(ConfigurationError, match="two rules for one decision: leave one out"):
        Engine(cut=0.8, calibration="shipped", policy="verdict")
    with pytest.raises(ConfigurationError, match=r"cut 0.8 and threshold 4 are two rules for one decision"):
        Engine(cut=0.8, threshold=4, calibration="shipped")
    with pytest.raises(ConfigurationError, match="without a calibration"):
        Engine(panel=panel_config({"routes": {"maths": {"cut": 0.8}}}))
    with pytest.raises(ConfigurationError, match="less than or equal to 1"):
        panel_config({"cut": 1.5})


def test_records_of_version_0_2_name_no_rule_and_have_one():
    promised = GuaranteedThreshold(threshold=0.7, target=0.8, delta=0.1)
    assert rule_of(assessment(accepted=None)) is None
    assert rule_of(assessment(accepted=True)) == Rule("score", 4.5)
    assert rule_of(assessment(accepted=True, probability=0.8, guarantee=promised)) == Rule(
        "probability", 0.7, "promise"
    )
    assert rule_of(assessment(accepted=True, probability=0.8, probability_threshold=0.6)) == Rule("probability", 0.6)
    assert "decided_by" not in assessment().model_dump()
