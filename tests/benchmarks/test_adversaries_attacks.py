"""What each attack changes of the facts, and what it leaves."""

import importlib

import numpy as np
import pytest

from metajudge.evidence.facts import collected
from tests.doubles.dependent_judges import judged

attacks = importlib.import_module("metajudge.benchmarks.adversaries_attacks")
BY_NAME = {one.name: one for one in attacks.ATTACKS}


@pytest.fixture(scope="module")
def facts():
    return collected(judged(40, rationale="word"))


def run(facts, name, strength):
    return BY_NAME[name].run(facts, np.random.default_rng(0), range(5), strength)


def said(facts, judge):
    rows = np.flatnonzero(facts.judge == judge)
    return {
        (int(facts.item[row]), int(facts.order[row])): str(facts.verdicts[facts.verdict[row]]) for row in rows.tolist()
    }


@pytest.mark.parametrize("name", BY_NAME)
def test_only_adversaries_are_changed(facts, name):
    attacked, guilty = run(facts, name, BY_NAME[name].strengths[-1])
    for judge in np.flatnonzero(~guilty).tolist():
        assert said(attacked, judge) == said(facts, judge)
    assert list(attacked.judges) == list(facts.judges)


def test_copies_say_what_the_first_judge_says(facts):
    attacked, guilty = run(facts, "copies under other names", 2)
    assert guilty.tolist() == [True, True, True, False, False]
    assert said(attacked, 1) == said(attacked, 2) == said(facts, 0)


def test_followers_follow_about_as_often_as_told(facts):
    attacked, _ = run(facts, "two judges follow a third", 0.6)
    leader, follower, own = said(facts, 0), said(attacked, 1), said(facts, 1)
    assert all(follower[cell] in (leader[cell], own[cell]) for cell in follower)
    assert follower != own
    assert follower != leader


def test_a_fallacy_is_wrong_in_the_same_way_for_three(facts):
    attacked, _ = run(facts, "three judges share a fallacy", 1.0)
    assert said(attacked, 0) == said(attacked, 1) == said(attacked, 2)
    right = attacks.right_of(attacked)
    assert right[np.isin(attacked.judge, [0, 1, 2])].max() == 0.0
    assert right[attacked.judge == 3].mean() > 0.5


def test_a_judge_that_games_the_order_repeats_itself(facts):
    attacked, _ = run(facts, "one judge games the order", 1.0)
    verdicts = said(attacked, 0)
    for item in range(40):
        assert len({verdict for (number, _), verdict in verdicts.items() if number == item}) == 1


def test_an_attacker_who_sees_the_threshold_lies_where_that_is_kept(facts):
    adversaries = importlib.import_module("metajudge.benchmarks.adversaries")
    attacked, guilty = run(facts, "the threshold is seen", 2)
    found = adversaries.vetted(attacked)
    lies = guilty[attacked.judge] & (found.right == 0) & (attacks.right_of(facts) == 1)
    assert lies.any()
    assert found.kept[lies].all()
