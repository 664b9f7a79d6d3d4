"""Bands cover every number once: gaps and overlaps are named exactly."""

import pytest

from metajudge.decision import Range, load_policy, parse_policy
from metajudge.decision.bands import Band, changes, margin
from metajudge.types.interval import UNIT, Interval
from tests.decision.policy_texts import FOLDER, RISK, band, changed, problem, small

VERIFIED = FOLDER.joinpath("risk_analysis_verified.yaml").read_text("utf-8")
REJECT = band("REJECT", {"below": 0.5})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (small(bands=[band("APPROVE", {"at_least": 0.6}), REJECT]), "gap: no band covers probability [0.5, 0.6)"),
        (
            small(bands=[band("APPROVE", {"at_least": 0.4}), REJECT]),
            "overlap: bands[0] and bands[1] both cover probability [0.4, 0.5)",
        ),
        (
            changed(RISK, ("confidence: {below: 0.85}", "confidence: {below: 0.84}")),
            "gap: no band covers score [8.5, 10] with confidence [0.84, 0.85)",
        ),
        (
            changed(RISK, ("confidence: {at_least: 0.80}", "confidence: {at_least: 0.75}")),
            "overlap: bands[2] and bands[3] both cover score [7, 8.5) with confidence [0.75, 0.8)",
        ),
        (
            small(bands=[band("APPROVE", {"at_least": 0.5, "below": 1}), REJECT]),
            "gap: no band covers probability exactly 1",
        ),
        (
            small(bands=[band("APPROVE", {"at_least": 0.5}, {"below": 1.0}), REJECT]),
            "with confidence exactly 1",
        ),
        (
            changed(VERIFIED, ("quotes: {at_least: 0.75, below: 0.9}", "quotes: {at_least: 0.8, below: 0.9}")),
            "no band covers score [8.5, 10] with confidence [0.85, 1] with a share of verified quotes in [0.75, 0.8)",
        ),
        (
            changed(VERIFIED, ("quotes: {below: 0.75}", "quotes: {below: 0.8}")),
            "overlap: bands[1] and bands[5] both cover score [8.5, 10] with confidence [0.85, 1] with a share of "
            "verified quotes in [0.75, 0.8)",
        ),
        (changed(VERIFIED, ("{at_least: 0.9}", "{at_least: 90}")), "bands[0].quotes: 90 lies outside 0..1"),
    ],
)
def test_a_gap_or_an_overlap_names_its_exact_place(text, said):
    assert said in problem(text)


def test_two_bands_that_differ_by_less_than_the_rounding_do_not_leave_a_gap():
    parse_policy(small(bands=[band("APPROVE", {"at_least": 0.5 + 1e-12}), band("REJECT", {"below": 0.5})]), "x")
    text = small(bands=[band("APPROVE", {"at_least": 0.5 + 1e-8}), band("REJECT", {"below": 0.5})])
    assert "gap" in problem(text)


def test_the_margin_is_the_smallest_change_that_leads_to_another_action():
    high = Band(action="APPROVE", value=Interval(at_least=0.5), confidence=Interval(at_least=0.8), justification="x")
    unsure = Band(action="REVIEW", value=Interval(at_least=0.5), confidence=Interval(below=0.8), justification="x")
    low = Band(action="REJECT", value=Interval(below=0.5), justification="x")
    assert margin([high, unsure, low], UNIT, 0.7, 0.95) == 0.15
    assert margin([high, unsure, low], UNIT, 0.7, 0.5) == 0.2
    assert margin([low, high.model_copy(update={"confidence": Interval()})], UNIT, 0.7, None) == 0.2
    assert margin([Band(action="REVIEW", justification="x")], UNIT, 0.7, None) is None


def test_the_nearest_change_may_be_one_of_quotes():
    bands = load_policy("risk_analysis_verified").bands
    assert margin(bands, Range(low=0, high=10), 9.9, 0.99, 0.92) == 0.02
    (near, *_) = changes(bands, Range(low=0, high=10), 9.9, 0.99, 0.92)
    assert (near.axis, near.bound, near.below, near.action) == ("quotes", 0.9, True, "REVIEW")
