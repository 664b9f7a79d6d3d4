import pytest
from metajudge.benchmarks.judged_games import PairGames


@pytest.mark.parametrize(
    ("games", "correct"),
    [
        (["A", "A"], True),
        (["A", "="], True),
        (["A", None], True),
        (["A", "B"], False),
        (["=", "="], False),
        ([None, None], False),
        (["B", "="], False),
        (["B", "B"], False),
    ],
)
def test_one_right_and_one_tie_is_correct_one_right_and_one_wrong_is_not(games, correct):
    assert PairGames("Math", "A", "q", games).correct is correct
    swapped = [{"A": "B", "B": "A"}.get(game, game) for game in games]
    assert PairGames("Math", "B", "q", swapped).correct is correct


@pytest.mark.parametrize(
    ("games", "agree"), [(["A", "A"], True), (["A", "B"], False), (["=", "="], False), (["A"], False)]
)
def test_ties_and_lone_games_are_no_agreement(games, agree):
    assert PairGames("Math", "A", "q", games).agree is agree
