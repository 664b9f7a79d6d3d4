"""Consensus on answers: who is worth what without labels, and what the judges say of a verdict."""

import numpy as np
import pytest

from metajudge.evidence import answer_consensus
from metajudge.evidence.answer_consensus import answer_columns, answer_reliabilities
from metajudge.evidence.consensus import Reliability
from tests.evidence.answers import answers, seen


def crowd(items=300, seed=0, copies=False):
    """Three good judges, one that guesses, one that nearly always passes; perhaps a copy of the one that guesses."""
    rng = np.random.default_rng(seed)
    found = {}
    for number in range(items):
        truth = bool(rng.random() < 0.5)
        guess = bool(rng.random() < 0.5)
        found[f"i{number}"] = [
            *(seen(name, truth if rng.random() < 0.9 else not truth) for name in ("good", "fine", "sound")),
            seen("guess", guess),
            seen("lenient", True if rng.random() < 0.8 else truth),
            *([seen("copy", guess)] if copies else []),
        ]
    return found


def test_judges_that_agree_with_others_weigh_more_and_a_guess_nothing():
    made, *_ = answers(crowd(), "category", "equal")
    weights = answer_reliabilities(made)
    assert weights["good"].plain > 1
    assert abs(weights["guess"].plain) < 0.4


def test_the_rare_answer_of_a_lenient_judge_says_more():
    made, *_ = answers(crowd(), "category", "equal")
    lenient = answer_reliabilities(made)["lenient"].sides
    assert lenient["fail"] > lenient["pass"] + 1


def test_copies_share_one_vote():
    alone = answer_reliabilities(answers(crowd(), "category", "equal")[0])
    copied = answer_reliabilities(answers(crowd(copies=True), "category", "equal")[0])
    assert alone["guess"].share > 0.9
    assert copied["guess"].share == copied["copy"].share < 0.65
    assert copied["good"].share > copied["guess"].share


def test_a_family_has_one_vote_in_the_majority():
    items = {f"i{n}": [seen("a", True), seen("b1", False), seen("b2", False), seen("c", True)] for n in range(20)}
    apart = answer_reliabilities(answers(items, "category", "equal")[0])
    kin = {"b1": "b", "b2": "b"}
    together = answer_reliabilities(answers(items, "category", "equal", kin=kin)[0])
    assert apart["a"].plain < -1, "two judges against one"
    assert together["a"].plain == pytest.approx(0), "one family against another judge"


def test_columns_are_seen_from_the_verdict():
    items = {"i": [seen("a", 3), seen("b", 3), seen("c", 5), seen("d", None)]}
    made, rows, who = answers(items, "grade", "equal")
    weights = {name: Reliability(plain=1.0, strong=1.0, share=1.0, sides={"3": 2.0, "5": 0.5}) for name in "abcd"}
    found = answer_columns(made, rows, weights)
    at = {judge: row for row, (_, judge, _) in enumerate(who)}
    one = {name: column.values[at["a"]] for name, column in found.items()}
    assert one["peers.support"] == 0  # b agrees, c does not
    assert one["peers.rival"] == 0.5
    assert one["peers.log_odds"] == 2.0 - 0.5
    assert one["consensus.sum"] == 2 - 1
    assert one["consensus.log_odds"] == 4.0 - 0.5
    assert one["consensus.missing"] == 0.25
    assert (one["voices.a"], one["voices.b"], one["voices.c"]) == (1, 1, -1)
    assert found["peers.support"].values[at["c"]] == -1
    assert not found["voices.d"].present.any()


def test_a_judge_alone_has_no_peers():
    made, rows, _ = answers({"i": [seen("a", 3), seen("a", 3)]}, "grade", "equal")
    found = answer_columns(made, rows, {})
    assert found["peers.none"].values.tolist() == [1, 1]
    assert not found["peers.support"].present.any()


def test_peers_of_ones_own_family_can_be_left_out():
    made, rows, _ = answers(
        {"i": [seen("a", 3), seen("b", 3), seen("c", 5)]}, "grade", "equal", kin={"a": "k", "b": "k"}
    )
    assert answer_columns(made, rows, {})["peers.support"].values[0] == 0
    assert answer_columns(made, rows, {}, leave_out_kin=True)["peers.support"].values[0] == -1


def test_many_judges_speak_as_models_and_too_many_not_at_all(monkeypatch):
    monkeypatch.setattr(answer_consensus, "MOST_VOICES", 2)
    items = {"i": [seen(name, 3 if name != "d" else 4) for name in "abcd"]}
    made, rows, _ = answers(items, "grade", "equal", models={"a": "m", "b": "m", "c": "n", "d": "n"})
    found = answer_columns(made, rows, {})
    assert [name for name in found if name.startswith("voices.")] == ["voices.m", "voices.n"]
    assert found["voices.n"].values[0] == 0
    made, rows, _ = answers(items, "grade", "equal")
    assert not any(name.startswith("voices.") for name in answer_columns(made, rows, {}))
