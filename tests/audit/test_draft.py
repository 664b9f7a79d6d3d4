import numpy as np
import pytest

from metajudge.audit.draft import Draft, Evidence, decide, from_flips, from_slope
from metajudge.stats.association import mean_of
from metajudge.stats.sign_flip import sign_flip


def draft(p_value, smallest=0.05, parts=1, name="length"):
    evidence = Evidence(0.2, (0.1, 0.3), 0.0, p_value, lambda level: smallest, 100, 100, "a test")
    return Draft(name, "Title", "labels", "unit", 0.1, evidence, 100, 100, 80, "It does.", parts)


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

    evidence = Evidence(0.2, (0.1, 0.3), 0.0, 0.01, smallest, 100, 100, "a test")
    found = decide([Draft("categories", "T", "labels", "u", 0.1, evidence, 100, 100, 100, "", parts=10), draft(0.5)])
    assert found[0].p_value == pytest.approx(0.1)
    assert found[0].status == "none"
    assert asked == [pytest.approx(0.05 / 2 / 10)]
    assert "Bonferroni over 10" in found[0].test


def test_what_cannot_be_tested_is_underpowered_without_figures():
    found = decide([Draft("drift", "T", "labels", "u", 0.1, None, 4, 2, 4, ""), draft(0.04)])
    assert (found[0].status, found[0].estimate, found[0].smallest_effect) == ("underpowered", None, None)
    assert found[1].status == "finding"  # what is not tested takes no share of the level


def test_slopes_need_observations_and_questions():
    values = np.random.default_rng(0).random(40)
    assert from_slope(mean_of(values[:9], range(9))) is None
    assert from_slope(mean_of(values, np.arange(40) % 3)) is None
    assert from_slope(mean_of(values, range(40))) is not None


def test_where_nothing_varies_the_rule_of_three_gives_the_width():
    found = from_slope(mean_of(np.zeros(100), range(100)))
    assert found.interval == pytest.approx((-0.0369, 0.0369))
    assert 0 < found.smallest(0.05) < 0.1
    flips = from_flips(sign_flip([0] * 100, range(100)))
    assert flips.interval == pytest.approx((-0.0369, 0.0369))
    assert flips.p_value == 1.0
