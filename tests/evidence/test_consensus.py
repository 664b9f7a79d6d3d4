"""Consensus on a hand-computed example."""

import math

import numpy as np
import pytest

from metajudge.evidence.consensus import Reliability, order_columns, peer_columns, reliabilities
from metajudge.evidence.games import games_of
from metajudge.evidence.verdicts import collected as facts_of
from tests.doubles.judgments import judgment


def collected(*verdicts, rows=("owl",)):
    """(judge, order, verdict) on one item."""
    item = judgment("x", item_id="i").item
    records = [
        judgment(f"j{number}", judge=judge, order=order, verdict=verdict, no_verdict=None if verdict else "cut")
        for number, (judge, order, verdict) in enumerate(verdicts)
    ]
    decided = [
        at for at, (judge, _, verdict) in enumerate(verdicts) if judge in rows and verdict and "=" not in verdict
    ]
    facts = facts_of([one.model_copy(update={"item": item}) for one in records], texts=False)
    return games_of(facts, np.array(decided, dtype=np.intp), lambda judge: judge)


def test_reliability_is_the_log_odds_of_agreeing_with_the_others():
    games, _ = collected(
        ("owl", "AB", "A>B"), ("owl", "BA", "A>>B"), ("wren", "AB", "A>B"), ("jay", "AB", "B>A"), ("lark", "AB", "A>B")
    )
    found = reliabilities(games)
    # owl against wren + jay + lark (A by one): one plain and one strong game, both agree.
    assert found["owl"].plain == pytest.approx(math.log(3 / 2))
    assert found["owl"].strong == pytest.approx(math.log(3 / 2))
    assert found["jay"].plain == pytest.approx(math.log(2 / 3))
    # wren against owl + jay + lark: A by one again.
    assert found["wren"].plain == pytest.approx(math.log(3 / 2))
    assert found["wren"].strong == 0


def test_consensus_by_hand():
    games, rows = collected(
        ("owl", "AB", "A>>B"), ("owl", "BA", "B>A"), ("wren", "AB", "A>B"), ("wren", "BA", None), ("jay", "AB", "B>>A")
    )
    weights = {
        "owl": Reliability(plain=1.0, strong=2.0, share=1.0),
        "wren": Reliability(plain=0.5, strong=0.7, share=1.0),
        "jay": Reliability(plain=0.1, strong=-0.2, share=1.0),
    }
    first = {name: column.values[0] for name, column in peer_columns(games, rows, weights).items()}
    assert first["peers.support"] == pytest.approx((1 - 2) / 2)
    assert first["peers.votes"] == 0
    assert first["consensus.sum"] == pytest.approx(1 - 2 + 2 - 1)
    # wren .5 for, jay's strong vote weighs -(-.2), own strong 2, own other order against it at 1.
    assert first["consensus.log_odds"] == pytest.approx(0.5 + 0.2 + 2.0 - 1.0)
    assert first["consensus.missing"] == pytest.approx(1 / 5)
    assert first["consensus.strong"] == pytest.approx(2 / 4)
    assert first["peers.of:wren"] == 1
    assert first["peers.of:jay"] == -2


def test_a_judge_that_is_not_known_counts_as_an_average_one():
    games, rows = collected(("owl", "AB", "A>B"), ("raven", "AB", "A>B"))
    weights = {
        "owl": Reliability(plain=1.0, strong=2.0, share=1.0),
        "wren": Reliability(plain=3.0, strong=4.0, share=1.0),
    }
    assert peer_columns(games, rows, weights)["consensus.log_odds"].values[0] == pytest.approx(1.0 + 2.0)


def test_many_prompts_of_one_family_count_as_one_judge():
    item = judgment("x", item_id="i").item
    judges = ("owl", "jay/a", "jay/b", "jay/c", "jay/d")
    records = [judgment(judge, judge=judge).model_copy(update={"item": item}) for judge in judges]
    games, rows = games_of(facts_of(records, texts=False), np.array([0]), lambda judge: judge.partition("/")[0])
    assert reliabilities(games)["owl"].share == pytest.approx(1 / 4)
    found = peer_columns(games, rows, reliabilities(games))
    assert found["consensus.sum"].values[0] == pytest.approx(4 / 4 + 1)


def test_repeated_games_of_one_order_are_their_mean():
    games, _ = collected(("owl", "AB", "A>B"), ("wren", "AB", "A>>B"), ("wren", "AB", "B>A"), ("wren", "AB", "A>>B"))
    assert games.strength[0, list(games.judges).index("wren"), 0] == pytest.approx(1.0)
    assert games.given.sum() == 2


def test_the_other_order():
    games, rows = collected(("owl", "AB", "A>B"), ("owl", "BA", "A>>B"))
    columns = order_columns(games, rows)
    assert columns["order.agree"].values.tolist() == [1, 1]
    assert columns["order.signed"].values.tolist() == [2, 1]
    assert not np.any(columns["order.missing"].values)
