"""All verdicts as one array: who preferred which response of which pair, in which order."""

import numpy as np

from metajudge.evidence.games import games_of
from metajudge.evidence.verdicts import collected as facts_of
from metajudge.types import Item, Judgment, parse_verdict

PAIR = {"A": "one", "B": "two"}


def judged(judge, order, verdict, item="q1", responses=PAIR, **more):
    made = Item(id=item, question="?", responses=responses)
    reason = {"no_verdict": "cut"} if verdict is None else {}
    found = None if verdict is None else parse_verdict(verdict)
    return Judgment(
        id=f"{item}/{judge}/{''.join(order)}", item=made, judge=judge, verdict=found, order=order, **reason, **more
    )


def collected(*judgments, rows=True):
    chosen = [at for at, one in enumerate(judgments) if rows and one.verdict is not None and one.verdict.winner]
    return games_of(facts_of(judgments, texts=False), np.array(chosen, dtype=np.intp), lambda judge: judge[0])


def test_strengths_are_signed_in_the_frame_of_the_pair_and_by_order():
    games, _ = collected(
        judged("owl", ("A", "B"), "A>>B"), judged("owl", ("B", "A"), "B>A"), judged("emu", ("A", "B"), "A=B")
    )
    assert (games.judges, games.kin) == (("emu", "owl"), ("e", "o"))
    assert games.strength[0].tolist() == [[0, 0], [2, -1]]
    assert games.given[0].tolist() == [[True, False], [True, True]]
    assert games.asked[0].tolist() == [[True, False], [True, True]]


def test_a_verdict_that_was_not_given_was_asked_for():
    games, _ = collected(judged("owl", ("A", "B"), None), judged("emu", ("A", "B"), "A>B"))
    assert games.asked[0].tolist() == [[True, False], [True, False]]
    assert games.given[0].tolist() == [[True, False], [False, False]]
    assert games.strength[0, 1].tolist() == [0, 0]


def test_repeated_games_are_their_mean():
    games, _ = collected(judged("owl", ("A", "B"), "A>>B"), judged("owl", ("A", "B"), "B>A"))
    assert games.strength[0, 0].tolist() == [0.5, 0]


def test_rows_say_where_their_verdict_stands():
    _, rows = collected(
        judged("owl", ("A", "B"), "A>B"), judged("emu", ("B", "A"), "B>>A"), judged("emu", ("B", "A"), "A>B", item="q2")
    )
    assert len(rows) == 3
    assert rows.pair.tolist() == [0, 0, 1]
    assert rows.judge.tolist() == [1, 0, 0]
    assert rows.order.tolist() == [0, 1, 1]
    assert rows.sign.tolist() == [1, -1, 1]
    assert rows.level.tolist() == [1, 2, 1]
    chosen = rows.select(rows.sign > 0)
    assert (len(chosen), chosen.pair.tolist(), chosen.level.tolist()) == (2, [0, 1], [1, 1])


def test_judges_that_met_at_a_pair_share_it():
    games, _ = collected(
        judged("owl", ("A", "B"), "A>B"), judged("emu", ("B", "A"), None), judged("jay", ("A", "B"), "A>B", item="q2")
    )
    assert games.judges == ("emu", "jay", "owl")
    assert games.shared.tolist() == [[True, False, True], [False, True, False], [True, False, True]]


def test_the_model_behind_a_judge_is_the_readers_or_the_judge_itself():
    games, _ = collected(
        judged("owl/cot", ("A", "B"), "A>B", meta={"judge_model": "owl"}),
        judged("emu", ("A", "B"), "A>B", meta={"judge_model": ""}),
        judged("jay", ("A", "B"), "A>B", meta={"judge_model": 3}),
    )
    assert dict(zip(games.judges, games.models, strict=True)) == {"emu": "emu", "jay": "jay", "owl/cot": "owl"}


def test_rankings_count_for_the_pairs_that_others_compare():
    three = {"A": "a", "B": "b", "C": "c"}
    games, _ = collected(
        judged("owl", ("A", "B"), "A>B", responses=three),
        judged("emu", ("C", "B", "A"), [["B"], ["C"], ["A"]], responses=three),
        judged("jay", ("A", "C"), "A>C", responses=three),
        rows=False,
    )
    assert len(games.strength) == 2
    assert games.strength[0, games.judges.index("emu")].tolist() == [0, -1]
    assert games.strength[1, games.judges.index("emu")].tolist() == [0, -1]
    assert games.asked[0, games.judges.index("jay")].tolist() == [False, False]
