"""Counting: each judgment in its rows, ties by one rule, intervals by question; against figures worked out by hand."""

import itertools
import math

import numpy as np
import pytest

from metajudge.evidence.comparison import decided_verdict, signed_support, stance
from metajudge.evidence.consensus import Reliability, order_columns, peer_columns, reliabilities
from metajudge.evidence.counting import FATES, ROWS, SAID, Counts, compared, fate_of, places_of, said_by
from metajudge.evidence.games import games_of
from metajudge.evidence.peers import votes_on
from metajudge.evidence.rules import Rules
from metajudge.evidence.verdicts import collected as facts_of
from metajudge.types import Category, Grade, Right, parse_right, parse_verdict
from tests.doubles.judgments import judgment
from tests.evidence.verdicts import judged, said, table

TOP1, EQUAL = Right("top1"), Right("equal")


@pytest.mark.parametrize(
    ("verdict", "label", "rule", "found"),
    [
        ("A>B", "A>>B", TOP1, True),
        ("A=B", "A>B", TOP1, False),
        ("A=B", "A>B", EQUAL, False),
        ("A=B", "A=B", TOP1, "tied label"),
        ("A>B", "A=B", TOP1, "tied label"),
        ("A=B", "A=B", EQUAL, True),
        ("A>B", "A=B", EQUAL, False),
        ("A=B", "A>B", Right("kendall", 0.5), False),
        ([["A", "B"], ["C"]], [["A"], ["B"], ["C"]], TOP1, False),
        ([["A"], ["B"], ["C"]], [["A", "B"], ["C"]], TOP1, "tied label"),
        (None, "A>B", TOP1, "no verdict"),
        (None, None, TOP1, "no verdict"),
        ("A>B", None, TOP1, "no label"),
        ("A>B", "A>B", None, "not comparable"),
        ([["A"], ["B"]], [["A"], ["B"], ["C"]], EQUAL, "not comparable"),
    ],
)
def test_ties_are_wrong_where_people_name_a_winner_and_never_guessed(verdict, label, rule, found):
    said, true = (None if one is None else parse_verdict(one) for one in (verdict, label))
    assert compared(said, true, rule) is found or compared(said, true, rule) == found


def test_every_judgment_stands_in_all_and_in_one_row_by_verdict_and_fate_and_only_pairs_tie():
    assert [said_by(one) for one in (Grade(3.0), Category("pass"), None)] == ["decided", "decided", "no_verdict"]
    assert compared(Grade(3.0), Category("pass"), EQUAL) == "not comparable"
    for cell in places_of(SAID, FATES).ravel():
        rows = {name for name, cells in ROWS.items() if cell in cells}
        assert "all" in rows
        assert len(rows & {"decided", "undecided", "no_verdict"}) == 1
        assert len(rows & {"kept", "discarded", "asked"}) == 1
        assert ("kept" in rows) == bool(rows & {"kept_under_guarantee", "kept_without_guarantee"})
    for kept, covered, failed in itertools.product((True, False, None), (True, False), (True, False)):
        fate = fate_of(kept, covered=covered, failed=failed)
        assert fate.startswith("kept") == (kept is True)
        assert (fate in ("asked", "failed")) == (kept is None)


def test_rows_by_hand():
    """Four questions: 1 twice right and kept, 2 a tie and wrong, 3 right but undecided, 4 without label."""
    counts = Counts()
    for name, question, state, fate, code in (
        ("a", 1, "decided", "kept_without_guarantee", 1),
        ("b", 1, "decided", "kept_without_guarantee", 1),
        ("c", 2, "undecided", "discarded", 0),
        ("d", 2, "decided", "kept_under_guarantee", 0),
        ("e", 3, "decided", "asked", 1),
        ("f", 4, "decided", "asked", -2),
        ("g", 4, "no_verdict", "asked", -1),
        ("h", 3, "decided", "failed", 1),
    ):
        counts.count(name, question, state, fate, code)
    rows = counts.rows()
    assert {name: (row.n, row.compared, row.right) for name, row in rows.items()} == {
        "all": (8, 6, 4),
        "decided": (6, 5, 4),
        "undecided": (1, 1, 0),
        "no_verdict": (1, 0, 0),
        "kept": (3, 3, 2),
        "kept_under_guarantee": (1, 1, 0),
        "kept_without_guarantee": (2, 2, 2),
        "discarded": (1, 1, 0),
        "asked": (4, 2, 2),
        "failed": (1, 1, 1),
    }
    # Two right of one question are one observation: Wilson's interval of 1 of 1.
    assert (rows["kept_without_guarantee"].share.low, rows["kept_without_guarantee"].share.high) == pytest.approx(
        (0.206549, 1.0), abs=1e-6
    )
    assert rows["all"].share.clusters == 3
    assert counts.wrongly_kept == ["d"]
    assert counts.why == {"no label": 1, "no verdict": 1}
    twice = Counts()
    twice.extend(counts)
    twice.extend(counts)
    assert (twice.rows()["all"].n, twice.rows()["all"].compared, twice.rows()["all"].share.clusters) == (16, 12, 3)


def test_nothing_has_no_share():
    assert all((row.n, row.share) == (0, None) for row in Counts().rows().values())
    row = Counts().rows()["all"].to_json()
    assert row == dict.fromkeys(("n", "compared", "right", "clusters"), 0) | dict.fromkeys(("share", "low", "high"))


# Votes counted and consensus on hand-computed examples.
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


def test_an_unknown_judge_counts_as_an_average_one_and_many_prompts_of_a_family_as_one():
    games, rows = collected(("owl", "AB", "A>B"), ("raven", "AB", "A>B"))
    weights = {
        "owl": Reliability(plain=1.0, strong=2.0, share=1.0),
        "wren": Reliability(plain=3.0, strong=4.0, share=1.0),
    }
    assert peer_columns(games, rows, weights)["consensus.log_odds"].values[0] == pytest.approx(1.0 + 2.0)
    item = judgment("x", item_id="i").item
    judges = ("owl", "jay/a", "jay/b", "jay/c", "jay/d")
    records = [judgment(judge, judge=judge).model_copy(update={"item": item}) for judge in judges]
    games, rows = games_of(facts_of(records, texts=False), np.array([0]), lambda judge: judge.partition("/")[0])
    assert reliabilities(games)["owl"].share == pytest.approx(1 / 4)
    found = peer_columns(games, rows, reliabilities(games))
    assert found["consensus.sum"].values[0] == pytest.approx(4 / 4 + 1)


def test_repeated_games_of_one_order_are_their_mean_and_the_other_order_counts():
    games, _ = collected(("owl", "AB", "A>B"), ("wren", "AB", "A>>B"), ("wren", "AB", "B>A"), ("wren", "AB", "A>>B"))
    assert games.strength[0, list(games.judges).index("wren"), 0] == pytest.approx(1.0)
    assert games.given.sum() == 2
    games, rows = collected(("owl", "AB", "A>B"), ("owl", "BA", "A>>B"))
    columns = order_columns(games, rows)
    assert columns["order.agree"].values.tolist() == [1, 1]
    assert columns["order.signed"].values.tolist() == [2, 1]
    assert not np.any(columns["order.missing"].values)


def test_verdicts_that_differ_in_strength_alone_make_one_claim_and_items_are_kept_apart() -> None:
    given = [said("b", "AB", "A>B"), said("a", "AB", "A>>B"), said("a", "BA", "B>A"), said("c", "AB", "A=B")]
    votes = votes_on(table({"i": given}), Rules())
    assert votes.claim[0] == votes.claim[1] != votes.claim[2]
    assert (votes.claim[3], votes.reasons[votes.why[3]].state) == (-1, "own_tied")
    ((_, place, _),) = votes.on(np.array([0]))
    assert votes.vote[place].tolist() == [0.25, 0.5, 0]
    assert votes.judge[place].tolist() == [1, 0, 2]
    items = {"i": [said("a", "A", 4), said("b", "A", 5), said("b", "B", 4)], "h": [said("c", "A", 4)]}
    votes = votes_on(table(items), Rules(parse_right("equal")))
    assert len(set(votes.claim.tolist())) == 4
    ((_, place, _),) = votes.on(np.array([0]))
    assert votes.vote[place].tolist() == [1, -1]


class TestComparison:
    def test_stance_and_signed_support_of_pairs_and_of_rankings(self) -> None:
        own = parse_verdict("A>B")
        assert [stance(own, parse_verdict(v)) for v in ("A>>B", "B>A", "A=B")] == [1, -1, 0]
        assert stance(parse_verdict("A=B"), own) is None
        assert stance(own, parse_verdict(3)) is None
        own = parse_verdict([["A"], ["B"], ["C"]])
        assert stance(own, parse_verdict([["A"], ["C"], ["B"]])) == 1
        assert stance(own, parse_verdict([["B"], ["A"], ["C"]])) == -1
        assert stance(own, parse_verdict([["A", "B"], ["C"]])) == 0
        assert stance(own, parse_verdict([["C", "B"], ["A"]])) == -1
        assert stance(own, parse_verdict([["C"], ["B"]])) is None
        own = parse_verdict([["A"], ["B"], ["C"]])
        assert signed_support(own, parse_verdict([["B"], ["A"], ["C"]])) == 0
        assert signed_support(own, parse_verdict([["A"], ["B", "C"]])) == 1
        assert signed_support(own, parse_verdict("A>>B")) == 2
        assert signed_support(own, parse_verdict("B>C")) is None


def test_a_verdict_that_names_a_winner_is_itself_and_others_say_why_not() -> None:
    decided = decided_verdict(parse_verdict("A>B"))
    assert decided == parse_verdict("A>B")
    states = [decided_verdict(judged(verdict).verdict) for verdict in ("A=B", None)]
    assert [getattr(one, "state", None) for one in states] == ["own_tied", "no_verdict"]
