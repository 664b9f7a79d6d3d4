from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from metajudge.audit.card import Figure
from metajudge.audit.draft import Draft, Evidence, decide, from_flips, from_slope, untested
from metajudge.stats.association import mean_of
from metajudge.stats.sign_flip import sign_flip


def draft(p_value, smallest=0.05, parts=1, **changes):
    find = smallest if callable(smallest) else lambda level: smallest
    evidence = Evidence(0.2, 0.1, 0.3, 100, 0.95, "a test", null=0.0, p_value=p_value, smallest=find, questions=100)
    given = {"name": "length", "title": "Title", "reference": "labels", "unit": "unit", "sentence": "It does."}
    check = untested(**given | {"n": 100, "questions": 100})
    return replace(Draft(check, evidence, 80, parts), **changes)


def test_the_checks_of_a_card_share_its_level():
    statuses = [check.status for check in decide([draft(0.02), draft(0.6), draft(0.7)])]
    assert statuses == ["none", "none", "none"]
    assert decide([draft(0.01), draft(0.6), draft(0.7)])[0].status == "finding"
    assert decide([draft(0.02)])[0].status == "finding"
    assert decide([draft(0.01), draft(0.6)])[0].adjusted_p == pytest.approx(0.02)


def test_no_finding_is_underpowered_where_the_relevant_effect_would_not_have_been_seen():
    one, other = decide([draft(0.5, smallest=0.1), draft(0.5, smallest=0.2)])
    assert (one.status, other.status) == ("none", "underpowered")
    assert other.labels_needed == 320  # 80 items times (0.2 / 0.1) squared
    assert "320" in other.sentence
    assert "No finding" in one.sentence


def test_parts_of_a_check_share_its_level():
    asked = []

    def smallest(level):
        asked.append(level)
        return 0.05

    found = decide([draft(0.01, smallest, parts=10), draft(0.5)])
    assert found[0].p_value == pytest.approx(0.1)
    assert found[0].status == "none"
    assert asked == [pytest.approx(0.05 / 2 / 10)]
    assert "Bonferroni over 10" in found[0].test


def test_what_cannot_be_tested_is_underpowered_without_figures():
    found = decide([draft(0.5, evidence=None), draft(0.04)])
    assert (found[0].status, found[0].estimate, found[0].smallest_effect) == ("underpowered", None, None)
    assert found[1].status == "finding"  # what is not tested takes no share of the level


def test_slopes_need_observations_and_questions():
    values = np.random.default_rng(0).random(40)
    assert from_slope(mean_of(values[:9], range(9))) is None
    assert from_slope(mean_of(values, np.arange(40) % 3)) is None
    assert from_slope(mean_of(values, range(40))) is not None


def test_where_nothing_varies_the_rule_of_three_gives_the_width():
    found = from_slope(mean_of(np.zeros(100), range(100)))
    assert (found.low, found.high) == pytest.approx((-0.0369, 0.0369))
    assert 0 < found.smallest(0.05) < 0.1
    flips = from_flips(sign_flip([0] * 100, range(100)))
    assert (flips.low, flips.high) == pytest.approx((-0.0369, 0.0369))
    assert flips.p_value == 1.0


TOLD = {"name": "length", "title": "t", "reference": "labels", "unit": "u", "n": 1, "questions": 1, "sentence": "s"}


@pytest.mark.parametrize("wrong", [{"status": "not applicable"}, {"estimate": float("nan")}])
def test_a_status_is_one_of_a_few_and_no_number_stands_for_no_answer(wrong):
    assert untested(**TOLD).status == "underpowered"
    with pytest.raises(ValidationError):
        untested(**TOLD | wrong)
    with pytest.raises(ValidationError):
        Figure(estimate=float("inf"), interval=None, n=1, questions=1, method="m")
